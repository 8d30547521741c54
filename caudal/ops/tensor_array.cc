#include "caudal/ops/tensor_array.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "caudal/base/error.h"
#include "caudal/graph/constant_value.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/cast.h"
#include "caudal/ops/tensor_array_ops.h"
#include "caudal/ops/variable_ops.h"

namespace caudal::inline v0 {
namespace {

std::string scope_name(const OpOptions& options, const char* fallback) {
  return options.name.empty() ? fallback : options.name;
}

PartialShape without_first(const PartialShape& shape) {
  if (!shape.has_rank() || shape.rank() == 0) return PartialShape::unknown();
  return PartialShape(std::vector<std::int64_t>(shape.dims().begin() + 1, shape.dims().end()));
}

PartialShape with_front(std::int64_t size, const PartialShape& rest) {
  std::vector<std::int64_t> dims{size};
  dims.insert(dims.end(), rest.dims().begin(), rest.dims().end());
  return PartialShape(std::move(dims));
}

std::int64_t constant_size(const Output& size) {
  const auto value = constant_value(size);
  return value && value->num_elements() == 1 ? value->to_int64s()[0] : -1;
}

// The common length of the pieces, or -1.
std::int64_t equal_lengths(const Output& lengths) {
  const auto value = constant_value(lengths);
  if (!value || value->num_elements() == 0) return -1;
  const auto all = value->to_int64s();
  return std::ranges::count(all, all[0]) == static_cast<std::ptrdiff_t>(all.size()) ? all[0] : -1;
}

}  // namespace

TensorArray::TensorArray(DType dtype, const Operand& size, const TensorArrayOptions& options)
    : dtype_(dtype), dynamic_size_(options.dynamic_size), infer_shape_(options.infer_shape) {
  const LocationScope where(options.where);
  const NameScope scope(options.name.empty() ? "TensorArray" : options.name);
  size_ = size.to_output(int32, "size");
  element_shape_ = std::make_shared<PartialShape>(options.element_shape);
  const auto array = raw_ops::tensor_array_v3(size_, dtype,
                                              {.element_shape = options.element_shape,
                                               .dynamic_size = options.dynamic_size,
                                               .clear_after_read = options.clear_after_read,
                                               .identical_element_shapes = options.infer_shape,
                                               .tensor_array_name = options.tensor_array_name,
                                               .name = scope.prefix()});
  handle_ = array.handle;
  flow_ = array.flow;
}

TensorArray::TensorArray(DType dtype, const Output& handle, const Output& flow, bool infer_shape)
    : dtype_(dtype),
      handle_(handle),
      flow_(flow),
      infer_shape_(infer_shape),
      element_shape_(std::make_shared<PartialShape>()) {}

TensorArray TensorArray::with_flow(const Output& flow) const {
  TensorArray other = *this;
  other.flow_ = flow;
  return other;
}

void TensorArray::note_shape(const PartialShape& shape, const OpOptions& options) const {
  const auto merged = element_shape_->merge(shape);
  if (!merged) {
    throw invalid_argument("Inconsistent shapes: saw ", shape, " but expected ", *element_shape_)
        .made_at(current_location(options.where))
        .hint("If elements differ in shape, make the TensorArray with {.infer_shape = false}.");
  }
  if (infer_shape_) *element_shape_ = *merged;
}

TensorArray TensorArray::identity(const OpOptions& options) const {
  return with_flow(OpBuilder("Identity", options).input(flow_).build());
}

TensorArray TensorArray::grad(const std::string& source, const OpOptions& options) const {
  const LocationScope where(options.where);
  const NameScope scope(scope_name(options, "TensorArrayGrad"));
  OpBuilder builder("TensorArrayGradV3", {});
  builder.input(handle_).input(flow_).attr("source", source);
  const Output handle = internal::colocate(builder, handle_).build();
  const ControlDependencies after({Operation(handle)});
  const Output flow = OpBuilder("Identity", {.name = "gradient_flow"}).input(flow_).build();
  TensorArray gradient(dtype_, handle, flow, infer_shape_);
  gradient.element_shape_ = element_shape_;
  return gradient;
}

// ---- Writing

TensorArray TensorArray::write(const Operand& index, const Operand& value, const OpOptions& options) const {
  const LocationScope where(options.where);
  const NameScope scope(scope_name(options, "TensorArrayWrite"));
  const Output element = value.to_output(dtype_, "value");
  if (element.dtype() != dtype_) {
    throw invalid_argument("TensorArray dtype is ", dtype_, " but the value to write is ", element.describe())
        .made_at(current_location(options.where));
  }
  note_shape(element.shape(), options);
  OpBuilder builder("TensorArrayWriteV3", {});
  return with_flow(builder.input(handle_).input(index, int32).input(element).input(flow_).build());
}

TensorArray TensorArray::unstack(const Operand& value, const OpOptions& options) const {
  const LocationScope where(options.where);
  const NameScope scope(scope_name(options, "TensorArrayUnstack"));
  const Output all = value.to_output(dtype_, "value");
  const Output shape = OpBuilder("Shape", {}).input(all).build();
  const Output first =
      OpBuilder("StridedSlice", {}).input(shape).input({0}).input({1}).input({1}).attr("shrink_axis_mask", 1).build();
  const Output indices = OpBuilder("Range", {.name = "range"}).input(0).input(first).input(1).build();
  return scatter(indices, all, {.where = options.where});
}

TensorArray TensorArray::scatter(const Operand& indices, const Operand& value, const OpOptions& options) const {
  const LocationScope where(options.where);
  const NameScope scope(scope_name(options, "TensorArrayScatter"));
  const Output all = value.to_output(dtype_, "value");
  note_shape(without_first(all.shape()), options);
  OpBuilder builder("TensorArrayScatterV3", {});
  return with_flow(builder.input(handle_).input(indices, int32).input(all).input(flow_).build());
}

TensorArray TensorArray::split(const Operand& value, const Operand& lengths, const OpOptions& options) const {
  const LocationScope where(options.where);
  const NameScope scope(scope_name(options, "TensorArraySplit"));
  const Output all = value.to_output(dtype_, "value");
  Output wide = lengths.to_output(int64, "lengths");
  if (wide.dtype() != int64) wide = cast(wide, int64);
  if (const std::int64_t length = equal_lengths(wide); length >= 0 && all.shape().has_rank()) {
    note_shape(with_front(length, without_first(all.shape())), options);
  }
  OpBuilder builder("TensorArraySplitV3", {});
  return with_flow(builder.input(handle_).input(all).input(wide).input(flow_).build());
}

// ---- Reading

Output TensorArray::read(const Operand& index, const OpOptions& options) const {
  OpBuilder builder("TensorArrayReadV3", options);
  const Output value = builder.input(handle_).input(index, int32).input(flow_).attr("dtype", dtype_).build();
  value.set_shape(*element_shape_);
  return value;
}

Output TensorArray::stack(const OpOptions& options) const {
  const LocationScope where(options.where);
  const NameScope scope(scope_name(options, "TensorArrayStack"));
  const Output count = size();
  const Output indices = OpBuilder("Range", {.name = "range"}).input(0).input(count).input(1).build();
  const Output value = gather(indices, {.where = options.where});
  if (element_shape_->has_rank() && !dynamic_size_ && size_) {
    value.set_shape(with_front(constant_size(size_), *element_shape_));
  }
  return value;
}

Output TensorArray::gather(const Operand& indices, const OpOptions& options) const {
  OpBuilder builder("TensorArrayGatherV3", options);
  builder.input(handle_).input(indices, int32).input(flow_);
  const Output value = builder.attr("dtype", dtype_).attr("element_shape", *element_shape_).build();
  if (element_shape_->has_rank()) value.set_shape(with_front(-1, *element_shape_));
  return value;
}

Output TensorArray::concat(const OpOptions& options) const {
  OpBuilder builder("TensorArrayConcatV3", options);
  builder.input(handle_).input(flow_).attr("dtype", dtype_);
  const Output value = builder.attr("element_shape_except0", without_first(*element_shape_)).build();
  if (element_shape_->has_rank() && element_shape_->rank() > 0) {
    std::int64_t rows = -1;
    if (infer_shape_ && !dynamic_size_ && size_ && element_shape_->dim(0) >= 0) {
      const std::int64_t count = constant_size(size_);
      if (count >= 0) rows = count * element_shape_->dim(0);
    }
    value.set_shape(with_front(rows, without_first(*element_shape_)));
  }
  return value;
}

Output TensorArray::size(const OpOptions& options) const {
  if (!dynamic_size_ && size_) return size_;
  return OpBuilder("TensorArraySizeV3", options).input(handle_).input(flow_).build();
}

Operation TensorArray::close(const OpOptions& options) const {
  return OpBuilder("TensorArrayCloseV3", options).input(handle_).build_operation();
}

}  // namespace caudal::inline v0
