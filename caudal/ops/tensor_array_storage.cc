#include "caudal/ops/tensor_array_storage.h"

#include <algorithm>
#include <utility>

#include "caudal/base/error.h"
#include "caudal/kernels/elementwise.h"
#include "caudal/ops/op_util.h"

namespace caudal::inline v0 {
namespace {

PartialShape joined(const Shape& front, const PartialShape& back) {
  if (!back.has_rank()) return PartialShape::unknown();
  auto dims = front.to_vector();
  dims.insert(dims.end(), back.dims().begin(), back.dims().end());
  return PartialShape(std::move(dims));
}

}  // namespace

TensorArrayStorage::TensorArrayStorage(Config config) : config_(std::move(config)), size_(config_.size) {}

std::string TensorArrayStorage::describe() const { return "TensorArray '" + config_.name + "'"; }

void TensorArrayStorage::check_open() const {
  if (closed_) throw invalid_argument("TensorArray ", config_.name, " has already been closed.");
}

// ---- Writing

void TensorArrayStorage::write(ThreadPool& pool, std::span<const std::int32_t> indices,
                               std::span<const Tensor> values) {
  std::lock_guard lock(mutex_);
  check_open();
  for (std::size_t i = 0; i < indices.size(); ++i) write_one(pool, indices[i], values[i]);
}

void TensorArrayStorage::write_one(ThreadPool& pool, std::int32_t index, const Tensor& value) {
  if (index < 0 || (!config_.dynamic_size && index >= size_)) {
    throw invalid_argument("TensorArray ", config_.name, ": Tried to write to index ", index,
                           " but array is not resizeable and size is: ", size_);
  }
  if (index == INT32_MAX) throw invalid_argument("TensorArray ", config_.name, ": index ", index, " is too large");
  check_value(index, value);
  size_ = std::max(size_, index + 1);
  Element& element = elements_[index];
  if (element.written) return add(pool, index, value);
  element.tensor = value;
  element.shape = value.shape();
  element.written = true;
}

void TensorArrayStorage::check_value(std::int32_t index, const Tensor& value) {
  const auto refuse = [&](const auto&... why) {
    throw invalid_argument("TensorArray ", config_.name, ": Could not write to TensorArray index ", index, " because ",
                           why...);
  };
  if (value.dtype() != config_.dtype) {
    refuse("the value dtype is ", kernel_type_name(value.dtype()), " but TensorArray dtype is ",
           kernel_type_name(config_.dtype), ".");
  }
  if (!config_.element_shape.compatible(value.shape())) {
    refuse("the value shape is ", value.shape(),
           " which is incompatible with the TensorArray's inferred element shape: ", config_.element_shape,
           " (consider setting infer_shape=False).");
  }
  if (config_.identical_element_shapes) config_.element_shape = value.shape();
  const auto there = elements_.find(index);
  if (there == elements_.end()) return;
  if (there->second.read) refuse("it has already been read.");
  if (there->second.written && !config_.is_grad) refuse("it has already been written to.");
}

void TensorArrayStorage::add(ThreadPool& pool, std::int32_t index, const Tensor& value) {
  Element& element = elements_[index];
  if (value.shape() != element.shape) {
    throw invalid_argument("TensorArray ", config_.name, ": Could not aggregate to TensorArray index ", index,
                           " because the existing shape is ", element.shape, " but the new input shape is ",
                           value.shape(), ".");
  }
  if (!element.tensor.valid() || element.tensor.num_elements() == 0) {
    element.tensor = value;
    return;
  }
  const auto loop = kernels::find_binary(kernels::BinaryOp::kAdd, config_.dtype);
  if (!loop || config_.dtype == DType::kString) {
    throw invalid_argument("tensor_array::AddToTensor type not supported: ", kernel_type_name(config_.dtype));
  }
  Tensor sum = element.own_sum ? element.tensor : Tensor(config_.dtype, element.shape);
  const auto dims = sum.shape().dims();
  const bool ok = kernels::broadcast_binary(pool, loop, element.tensor.raw(), dims, value.raw(), dims, sum.raw(), dims);
  if (!ok) throw internal_error("adding to TensorArray ", config_.name, " failed");
  element.tensor = std::move(sum);
  element.own_sum = true;
  summed_ = true;
}

// ---- Reading

std::vector<Tensor> TensorArrayStorage::read(std::span<const std::int32_t> indices) {
  std::lock_guard lock(mutex_);
  check_open();
  std::vector<Tensor> values;
  values.reserve(indices.size());
  for (const std::int32_t index : indices) values.push_back(read_one(index));
  return values;
}

Tensor TensorArrayStorage::read_one(std::int32_t index) {
  if (index < 0 || index == INT32_MAX || (!config_.is_grad && index >= size_)) {
    throw invalid_argument("Tried to read from index ", index, " but array size is: ", size_);
  }
  Element& element = elements_[index];
  if (!element.written) assume_zeros(index, element);
  if (element.cleared) {
    throw invalid_argument("TensorArray ", config_.name, ": Could not read index ", index,
                           " twice because it was cleared after a previous read (perhaps try setting "
                           "clear_after_read = false?).");
  }
  if (!element.tensor.valid()) {
    if (config_.dtype == DType::kString || config_.dtype == DType::kResource || config_.dtype == DType::kVariant) {
      throw invalid_argument("tensor_array::TensorSetZero type not supported: ", kernel_type_name(config_.dtype));
    }
    element.tensor = Tensor::zeros(config_.dtype, element.shape);
  }
  element.read = true;
  if (!config_.clear_after_read) return element.tensor;
  element.cleared = true;
  return std::exchange(element.tensor, Tensor());
}

// Where stop_gradient() let nothing arrive at a place, its gradient is read all the same.
void TensorArrayStorage::assume_zeros(std::int32_t index, Element& element) {
  const bool knows_its_shape = config_.is_grad && element.shape.rank() > 0;
  const auto common = config_.element_shape.to_shape();
  if (!knows_its_shape && !common) {
    throw invalid_argument(
        "TensorArray ", config_.name, ": Could not read from TensorArray index ", index,
        ".  Furthermore, the element shape is not fully defined: ", config_.element_shape,
        ".  It is possible you are working with a resizeable TensorArray and stop_gradients is not "
        "allowing the gradients to be written.  If you set the full element_shape property on the "
        "forward TensorArray, the proper all-zeros tensor will be returned instead of incurring this "
        "error.");
  }
  if (!knows_its_shape) element.shape = *common;
  size_ = std::max(size_, index + 1);
  element.written = true;
}

// ---- The whole

std::int32_t TensorArrayStorage::size() const {
  std::lock_guard lock(mutex_);
  check_open();
  return size_;
}

std::int32_t TensorArrayStorage::pack_size() const {
  std::lock_guard lock(mutex_);
  check_open();
  return config_.is_grad ? config_.marked_size : size_;
}

void TensorArrayStorage::set_marked_size(std::int32_t size) {
  std::lock_guard lock(mutex_);
  check_open();
  if (!config_.is_grad) config_.marked_size = size;
}

bool TensorArrayStorage::has_dynamic_size() const {
  std::lock_guard lock(mutex_);
  return config_.dynamic_size;
}

void TensorArrayStorage::merge_element_shape(const PartialShape& shape) {
  std::lock_guard lock(mutex_);
  config_.element_shape = merge_shapes(config_.element_shape, shape);
}

void TensorArrayStorage::close() {
  std::lock_guard lock(mutex_);
  elements_.clear();
  closed_ = true;
}

std::unordered_map<std::int32_t, TensorArrayStorage::Element> TensorArrayStorage::zeros_like_elements(
    const Shape& prepend) const {
  std::unordered_map<std::int32_t, Element> zeros;
  for (const auto& [index, element] : elements_) {
    if (!element.written) continue;
    auto dims = prepend.to_vector();
    const auto own = element.shape.dims();
    dims.insert(dims.end(), own.begin(), own.end());
    zeros[index].shape = Shape(dims);
    zeros[index].written = true;
  }
  return zeros;
}

std::shared_ptr<TensorArrayStorage> TensorArrayStorage::gradient(const std::string& source, const Shape& prepend) {
  std::lock_guard lock(mutex_);
  config_.dynamic_size = false;
  check_open();
  if (summed_) {
    throw invalid_argument("Unable to create a gradients TensorArray for ", config_.name,
                           ".  Perhaps you used the multiple_writes_aggregate flag on a previous write?  Gradient "
                           "calculation is impossible when multiple writes are performed to the same index.");
  }
  auto& gradient = gradients_[source];
  if (gradient != nullptr) return gradient;
  gradient = std::make_shared<TensorArrayStorage>(Config{.name = config_.name + "@" + source,
                                                         .dtype = config_.dtype,
                                                         .size = size_,
                                                         .element_shape = joined(prepend, config_.element_shape),
                                                         .identical_element_shapes = config_.identical_element_shapes,
                                                         .is_grad = true,
                                                         .marked_size = config_.marked_size});
  gradient->elements_ = zeros_like_elements(prepend);
  return gradient;
}

}  // namespace caudal::inline v0
