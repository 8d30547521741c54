#include "caudal/ops/tensor_array_kernels.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "caudal/ops/op_util.h"
#include "caudal/ops/step_resource.h"
#include "caudal/ops/strided_copy.h"
#include "caudal/ops/tensor_array_storage.h"

namespace caudal::inline v0::internal {
namespace {

constexpr const char* kContainer = "_tensor_arrays";
constexpr const char* kGradContainer = "_tensor_array_grads";

using Array = std::shared_ptr<TensorArrayStorage>;

Array array_of(const RunContext& c) { return step_resource<TensorArrayStorage>(c, 0, "Tensor array handle"); }

// "flow" only orders; its value means nothing.
void pass_flow(RunContext& c, int output, const Tensor& flow) {
  c.allocate_output(output, {}).data<float>()[0] = flow.num_elements() == 1 ? flow.item<float>() : 0.0F;
}

void set_flow(RunContext& c, int output) { c.allocate_output(output, {}).data<float>()[0] = 0; }

void check_read_type(const RunContext& c, const TensorArrayStorage& array) {
  const DType wanted = c.node().output_types[0];
  if (wanted == array.dtype()) return;
  throw invalid_argument("TensorArray dtype is ", kernel_type_name(array.dtype()), " but Op requested dtype ",
                         kernel_type_name(wanted), ".");
}

void check_write_type(const TensorArrayStorage& array, const Tensor& value) {
  if (value.dtype() == array.dtype()) return;
  throw invalid_argument("TensorArray dtype is ", kernel_type_name(array.dtype()), " but Op is trying to write dtype ",
                         kernel_type_name(value.dtype()), ".");
}

std::int32_t index_of(const Tensor& index) {
  if (index.rank() != 0) {
    throw invalid_argument("TensorArray index must be scalar, but had shape: ", index.shape());
  }
  return index.item<std::int32_t>();
}

std::vector<std::int32_t> indices_of(const Tensor& indices) {
  if (indices.rank() != 1) {
    throw invalid_argument("Expected indices to be a vector, but received shape: ", indices.shape());
  }
  return indices.to_vector<std::int32_t>();
}

std::vector<std::int32_t> first_indices(std::int64_t n) {
  constexpr std::int64_t kMost = 1 << 26;
  if (n > kMost) throw resource_exhausted("a TensorArray of ", n, " elements is too long to be taken whole");
  std::vector<std::int32_t> indices(n);
  std::iota(indices.begin(), indices.end(), 0);
  return indices;
}

// Element k of the first dimension as a tensor of its own, in the same memory.
Tensor slice(const Tensor& value, std::int64_t k) { return value.rows(k, k + 1).reshape(value.shape().remove(0)); }

// Copies the elements of `values` one after the other.
void append_all(RunContext& c, const std::vector<Tensor>& values, Tensor& to) {
  char* place = to.raw();
  for (const Tensor& value : values) {
    copy_elements(c.pool(), value.dtype(), value.raw(), place, value.num_elements());
    place += value.byte_size();
  }
}

// ---- Gather and Pack

void check_same_shapes(const std::vector<Tensor>& values, const PartialShape& wanted) {
  if (!wanted.compatible(values[0].shape())) {
    throw invalid_argument("TensorArray was passed element_shape ", wanted,
                           " which does not match the Tensor at index 0: ", values[0].shape());
  }
  for (std::size_t i = 1; i < values.size(); ++i) {
    if (values[i].shape() == values[0].shape()) continue;
    throw invalid_argument("TensorArray has inconsistent shapes.  Index 0 has shape: ", values[0].shape(),
                           " but index ", i, " has shape: ", values[i].shape());
  }
}

void gather(RunContext& c, const Array& array, const std::vector<std::int32_t>& indices) {
  const auto& element_shape = c.node().attr<PartialShape>("element_shape");
  if (indices.empty()) {
    const auto shape = element_shape.to_shape();
    if (!shape) {
      throw unimplemented("TensorArray has size zero, but element shape ", element_shape,
                          " is not fully defined. Currently only static shapes are supported when packing zero-size "
                          "TensorArrays.");
    }
    c.allocate_output(0, shape->insert(0, 0));
    return;
  }
  const auto values = array->read(indices);
  check_same_shapes(values, element_shape);
  append_all(c, values, c.allocate_output(0, values[0].shape().insert(0, static_cast<std::int64_t>(values.size()))));
}

// ---- Scatter and Unpack

void scatter(RunContext& c, const Array& array, const std::vector<std::int32_t>& indices, const Tensor& value) {
  const Tensor kept = value.keep();
  std::vector<Tensor> slices;
  slices.reserve(indices.size());
  for (std::size_t i = 0; i < indices.size(); ++i) slices.push_back(slice(kept, static_cast<std::int64_t>(i)));
  array->write(c.pool(), indices, slices);
}

void check_unpackable(const Tensor& value) {
  if (value.rank() == 0) {
    throw invalid_argument("Input value for unpack must be at least a vector but received shape: ", value.shape());
  }
  if (value.dim(0) >= INT32_MAX) throw invalid_argument("tensor dim0 too large to unpack");
}

// ---- Concat

struct Joined {
  Shape shape;
  std::vector<std::int64_t> lengths;
};

Joined check_joinable(const std::vector<Tensor>& values, const PartialShape& wanted) {
  Joined joined;
  Shape except0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Shape& shape = values[i].shape();
    if (shape.rank() == 0) {
      throw invalid_argument("Concat saw a scalar shape at index ", i,
                             " but requires at least vectors.  Did you mean to call pack?");
    }
    joined.lengths.push_back(shape[0]);
    const Shape rest = shape.remove(0);
    if (i == 0) {
      if (!wanted.compatible(rest)) {
        throw invalid_argument("TensorArray was passed element_shape_except0 ", wanted,
                               " but index 0 has (excepting dimension 0) shape: ", rest, " which does not match.");
      }
      joined.shape = shape;
      except0 = rest;
    } else if (rest != except0) {
      throw invalid_argument("TensorArray has inconsistent shapes.  Index 0 has (excepting dimension 0) shape: ",
                             except0, " but index ", i, " has (excepting dimension 0) shape: ", rest);
    } else {
      joined.shape = joined.shape.with_dim(0, joined.shape[0] + shape[0]);
    }
  }
  return joined;
}

// ---- Split

std::vector<std::int64_t> lengths_of(const Tensor& lengths) {
  if (lengths.rank() != 1) {
    throw invalid_argument("Expected lengths to be a vector, received shape: ", lengths.shape());
  }
  if (lengths.num_elements() >= INT32_MAX) throw invalid_argument("Expected lengths to have < max int32 entries");
  return lengths.to_vector<std::int64_t>();
}

void check_split(const TensorArrayStorage& array, const Tensor& value, const std::vector<std::int64_t>& lengths) {
  std::int64_t total = 0;
  for (const std::int64_t length : lengths) {
    if (length < 0) throw invalid_argument("Expected lengths to be at least 0, but one is ", length);
    if (__builtin_add_overflow(total, length, &total)) throw invalid_argument("the sum of lengths is beyond int64");
  }
  if (value.rank() == 0) {
    throw invalid_argument("Expected value to be at least a vector, but received shape: ", value.shape());
  }
  if (total != value.dim(0)) {
    throw invalid_argument("Expected sum of lengths to be equal to values.shape[0], but sum of lengths is ", total,
                           " and value's shape is: ", value.shape());
  }
  const auto count = static_cast<std::int32_t>(lengths.size());
  const std::int32_t size = array.has_dynamic_size() ? std::max(array.size(), count) : array.size();
  if (size != count) {
    throw invalid_argument("TensorArray's size is not equal to the size of lengths (", size, " vs. ", count,
                           "), and the TensorArray is not marked as dynamically resizeable");
  }
  check_write_type(array, value);
}

}  // namespace

void run_tensor_array(RunContext& c) {
  const Tensor& size = c.input(0);
  if (size.rank() != 0) throw invalid_argument("TensorArray size must be scalar, but had shape: ", size.shape());
  if (size.item<std::int32_t>() < 0) throw invalid_argument("Size should be >= 0.");
  const NodeInfo& node = c.node();
  const auto& array_name = node.attr<std::string>("tensor_array_name");
  TensorArrayStorage::Config config;
  config.name = unique_step_name(array_name.empty() ? node.name : array_name);
  config.dtype = node.attr<DType>("dtype");
  config.size = size.item<std::int32_t>();
  config.element_shape = node.attr<PartialShape>("element_shape");
  const AttrValue* identical = find_attr(node.attrs, "identical_element_shapes");  // older versions have none
  config.identical_element_shapes = identical != nullptr && *identical->get_if<bool>();
  config.dynamic_size = node.attr<bool>("dynamic_size");
  config.clear_after_read = node.attr<bool>("clear_after_read");
  const std::string name = config.name;
  set_step_handle(c, kContainer, name, std::make_shared<TensorArrayStorage>(std::move(config)));
  if (c.num_outputs() > 1) set_flow(c, 1);
}

void run_tensor_array_grad(RunContext& c) {
  const Array array = array_of(c);
  const auto& source = c.node().attr<std::string>("source");
  const Shape prepend = c.num_inputs() > 2 ? shape_from(c.input(2), "shape_to_prepend") : Shape{};
  const Array gradient = array->gradient(source, prepend);
  set_step_handle(c, kGradContainer, gradient->name(), gradient);
  if (c.num_outputs() > 1) set_flow(c, 1);
}

void run_tensor_array_write(RunContext& c) {
  const std::int32_t index = index_of(c.input(1));
  const Array array = array_of(c);
  check_write_type(*array, c.input(2));
  const Tensor value = c.take_input(2);
  array->write(c.pool(), {&index, 1}, {&value, 1});
  pass_flow(c, 0, c.input(3));
}

void run_tensor_array_read(RunContext& c) {
  const std::int32_t index = index_of(c.input(1));
  const Array array = array_of(c);
  check_read_type(c, *array);
  c.set_output(0, array->read({&index, 1})[0]);
}

void run_tensor_array_gather(RunContext& c) {
  const Array array = array_of(c);
  check_read_type(c, *array);
  array->merge_element_shape(c.node().attr<PartialShape>("element_shape"));
  gather(c, array, indices_of(c.input(1)));
}

void run_tensor_array_pack(RunContext& c) {
  const Array array = array_of(c);
  check_read_type(c, *array);
  array->merge_element_shape(c.node().attr<PartialShape>("element_shape"));
  gather(c, array, first_indices(std::max(array->pack_size(), 0)));
}

void run_tensor_array_scatter(RunContext& c) {
  const Array array = array_of(c);
  const Tensor& value = c.input(2);
  check_write_type(*array, value);
  check_unpackable(value);
  const auto indices = indices_of(c.input(1));
  if (static_cast<std::int64_t>(indices.size()) != value.dim(0)) {
    throw invalid_argument("Expected len(indices) == values.shape[0], but saw: ", indices.size(), " vs. ",
                           value.dim(0));
  }
  const std::int32_t highest = indices.empty() ? -1 : *std::ranges::max_element(indices);
  const std::int32_t size = array->size();
  if (highest >= size && !array->has_dynamic_size()) {
    throw invalid_argument("Max scatter index must be < array size (", highest, " vs. ", size, ")");
  }
  scatter(c, array, indices, value);
  pass_flow(c, 0, c.input(3));
}

void run_tensor_array_unpack(RunContext& c) {
  const Array array = array_of(c);
  const Tensor& value = c.input(1);
  check_write_type(*array, value);
  check_unpackable(value);
  const auto count = static_cast<std::int32_t>(value.dim(0));
  const std::int32_t size = array->has_dynamic_size() ? std::max(array->size(), count) : array->size();
  if (count != size) {
    throw invalid_argument("Input value must have first dimension equal to the array size (", count, " vs. ", size,
                           ")");
  }
  array->set_marked_size(size);
  scatter(c, array, first_indices(count), value);
  pass_flow(c, 0, c.input(2));
}

void run_tensor_array_concat(RunContext& c) {
  const Array array = array_of(c);
  check_read_type(c, *array);
  const auto& except0 = c.node().attr<PartialShape>("element_shape_except0");
  const std::int32_t size = std::max(array->pack_size(), 0);
  if (size == 0) {
    const auto shape = except0.to_shape();
    if (!shape) {
      throw unimplemented("TensorArray has size zero, but element_shape_except0 ", except0,
                          " is not fully defined. Currently only static shapes are supported when concatenating "
                          "zero-size TensorArrays.");
    }
    c.allocate_output(0, shape->insert(0, 0));
    c.allocate_output(1, {0});
    return;
  }
  const auto values = array->read(first_indices(size));
  const Joined joined = check_joinable(values, except0);
  append_all(c, values, c.allocate_output(0, joined.shape));
  std::ranges::copy(joined.lengths, c.allocate_output(1, {size}).data<std::int64_t>());
}

void run_tensor_array_split(RunContext& c) {
  const Array array = array_of(c);
  const auto lengths = lengths_of(c.input(2));
  check_split(*array, c.input(1), lengths);
  const Tensor value = c.take_input(1);
  std::vector<Tensor> parts;
  parts.reserve(lengths.size());
  std::int64_t begin = 0;
  for (const std::int64_t length : lengths) {
    parts.push_back(value.rows(begin, begin + length));
    begin += length;
  }
  array->set_marked_size(static_cast<std::int32_t>(lengths.size()));
  array->write(c.pool(), first_indices(static_cast<std::int64_t>(lengths.size())), parts);
  pass_flow(c, 0, c.input(3));
}

void run_tensor_array_size(RunContext& c) {
  const std::int32_t size = array_of(c)->size();
  c.allocate_output(0, {}).data<std::int32_t>()[0] = size;
}

void run_tensor_array_close(RunContext& c) { array_of(c)->close(); }

}  // namespace caudal::inline v0::internal
