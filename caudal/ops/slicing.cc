#include "caudal/ops/slicing.h"

#include <algorithm>
#include <cstring>

#include "caudal/autodiff/gradient.h"
#include "caudal/core/kernel.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/constant_value.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/elementwise.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/slice_kernel.h"
#include "caudal/ops/slice_spec.h"
#include "caudal/ops/strided_copy.h"

namespace caudal::inline v0 {
namespace {

// Shape functions.

// One dimension of a Slice; -1 for what is not known.
std::int64_t slice_size(std::int64_t dim, std::int64_t begin, std::int64_t size, bool size_known, int i) {
  if (!size_known && size < 0) return -1;
  if (size < -1) throw invalid_argument("size[", i, "] is ", size);
  if (size >= 0) return size;
  if (dim < 0 || begin < 0) return -1;
  if (begin > dim) throw invalid_argument("begin[", i, "] is ", begin, ", outside the dimension's ", dim);
  return dim - begin;
}

void slice_shape(ShapeContext& c) {
  const std::int64_t length =
      ShapeContext::merge_dim(c.with_rank(1, 1)[0], c.with_rank(2, 1)[0], "lengths of begin and size");
  const PartialShape in = length >= 0 ? c.with_rank(0, static_cast<int>(length)) : c.input(0);
  if (!in.has_rank()) return;
  const Tensor* begin_value = c.constant_input(1);
  const Tensor* size_value = c.constant_input(2);
  std::vector<std::int64_t> begin(in.rank(), -1), size(in.rank(), -1);
  if (begin_value != nullptr) begin = begin_value->to_int64s();
  if (size_value != nullptr) {
    size = size_value->to_int64s();
  } else if (const PartialShape known = c.input_as_shape(2); known.rank() == in.rank()) {
    size = known.dims();
  }
  if (static_cast<int>(begin.size()) != in.rank() || static_cast<int>(size.size()) != in.rank()) {
    throw invalid_argument("begin and size need one entry for each dimension of ", in);
  }
  std::vector<std::int64_t> dims;
  for (int i = 0; i < in.rank(); ++i) {
    dims.push_back(slice_size(in[i], begin[i], size[i], size_value != nullptr, i));
  }
  c.set_output(0, PartialShape(std::move(dims)));
}

// The sliced shape of `input`; nothing is known of it where the strides are not.
PartialShape sliced(ShapeContext& c, const PartialShape& input, int first) {
  std::int64_t length = -1;
  for (int i = first; i < first + 3; ++i) {
    length = ShapeContext::merge_dim(length, c.with_rank(i, 1)[0], "lengths of begin, end and strides");
  }
  const Tensor* strides = c.constant_input(first + 2);
  if (!input.has_rank() || strides == nullptr) return PartialShape::unknown();
  SliceBounds bounds{nullptr, nullptr, strides->to_int64s()};
  std::vector<std::int64_t> begin, end;
  if (const Tensor* value = c.constant_input(first)) {
    begin = value->to_int64s();
    bounds.begin = &begin;
  }
  if (const Tensor* value = c.constant_input(first + 1)) {
    end = value->to_int64s();
    bounds.end = &end;
  }
  return resolve_slice(input, bounds, SliceMasks::from(c.node().attrs)).shape;
}

void strided_slice_shape(ShapeContext& c) {
  c.set_output(0, sliced(c, c.input(0), 1));
  c.set_output_handle(0, c.input_handle(0));
}

void strided_slice_grad_shape(ShapeContext& c) {
  c.with_rank(0, 1);
  c.set_output(0, c.input_as_shape(0));
}

// Kernels.

const char* at(const Tensor& tensor, std::int64_t offset) {
  return tensor.raw() + offset * static_cast<std::int64_t>(dtype_size(tensor.dtype()));
}

void run_slice(RunContext& c) {
  const Tensor& x = c.input(0);
  const Tensor &begin_value = c.input(1), &size_value = c.input(2);
  if (begin_value.rank() != 1 || size_value.rank() != 1 || begin_value.dim(0) != x.rank() ||
      size_value.dim(0) != x.rank()) {
    throw invalid_argument("begin and size must be vectors of ", x.rank(), " entries for ", x.describe(), ", not ",
                           begin_value.describe(), " and ", size_value.describe());
  }
  const auto begin = begin_value.to_int64s();
  auto size = size_value.to_int64s();
  const auto strides = x.shape().strides();
  std::int64_t offset = 0;
  for (int i = 0; i < x.rank(); ++i) {
    if (begin[i] < 0 || begin[i] > x.dim(i)) {
      throw invalid_argument("begin[", i, "] is ", begin[i], ", outside [0, ", x.dim(i), "] of ", x.describe());
    }
    if (size[i] == -1) size[i] = x.dim(i) - begin[i];
    if (size[i] < 0 || size[i] > x.dim(i) - begin[i]) {
      throw invalid_argument("size[", i, "] is ", size[i], ", outside [0, ", x.dim(i) - begin[i], "] of ", x.describe(),
                             " from ", begin[i]);
    }
    offset += begin[i] * strides[i];
  }
  Tensor& y = c.allocate_output(0, Shape(size));
  if (y.num_elements() == 0) return;
  strided_copy(c.pool(), x.dtype(), size, at(x, offset), strides, y.raw(), y.shape().strides());
}

void run_strided_slice(RunContext& c) {
  const Tensor& x = c.input(0);
  const ResolvedSlice slice =
      resolve_slice(x.shape(), c.input(1), c.input(2), c.input(3), SliceMasks::from(c.node().attrs));
  Tensor& y = c.allocate_output(0, *slice.shape.to_shape());
  if (y.num_elements() == 0) return;
  const SliceLayout layout = layout_of(slice, x.shape());
  const Shape sizes(slice.sizes());
  strided_copy(c.pool(), x.dtype(), sizes.dims(), at(x, layout.offset), layout.strides, y.raw(), sizes.strides());
}

// Writes `value` where the slice of `y` lies.
void assign_slice(RunContext& c, const Tensor& value, Tensor& y, const ResolvedSlice& slice) {
  if (*slice.shape.to_shape() != value.shape()) {
    throw invalid_argument("the slice has shape ", slice.shape, ", its value ", value.shape());
  }
  if (value.num_elements() == 0) return;
  const SliceLayout layout = layout_of(slice, y.shape());
  const Shape sizes(slice.sizes());
  char* to = y.raw() + layout.offset * static_cast<std::int64_t>(dtype_size(y.dtype()));
  strided_copy(c.pool(), y.dtype(), sizes.dims(), value.raw(), sizes.strides(), to, layout.strides);
}

// `value` repeated to fill `shape`, by numpy's rule; itself where it has that shape.
Tensor repeated(RunContext& c, const Tensor& value, const Shape& shape) {
  if (value.shape() == shape) return value;
  std::vector<std::int64_t> strides(shape.rank());
  const std::vector<std::int64_t> own = value.shape().strides();
  bool fits = value.rank() <= shape.rank();
  for (int i = 1; i <= value.rank() && fits; ++i) {
    fits = value.shape()[-i] == shape[-i] || value.shape()[-i] == 1;
    strides[shape.rank() - i] = value.shape()[-i] == 1 ? 0 : own[value.rank() - i];
  }
  if (!fits)
    throw invalid_argument("the slice has shape ", shape, ", to which its value ", value.shape(),
                           " does not broadcast");
  Tensor result(value.dtype(), shape);
  if (result.num_elements() == 0) return result;
  strided_copy(c.pool(), value.dtype(), shape.dims(), value.raw(), strides, result.raw(), shape.strides());
  return result;
}

}  // namespace

void internal::assign_slice_of(RunContext& c, const Tensor& value, Tensor& target, const ResolvedSlice& slice) {
  assign_slice(c, repeated(c, value, *slice.shape.to_shape()), target, slice);
}

namespace {

void run_strided_slice_grad(RunContext& c) {
  const Shape shape = shape_from(c.input(0), "shape");
  const ResolvedSlice slice =
      resolve_slice(shape, c.input(1), c.input(2), c.input(3), SliceMasks::from(c.node().attrs));
  Tensor& y = c.allocate_output(0, shape);
  if (is_plain(y.dtype()) && y.num_elements() > 0) std::memset(y.raw(), 0, y.byte_size());
  assign_slice(c, c.input(4), y, slice);
}

void run_tensor_strided_slice_update(RunContext& c) {
  const Tensor& x = c.input(0);
  const ResolvedSlice slice =
      resolve_slice(x.shape(), c.input(1), c.input(2), c.input(3), SliceMasks::from(c.node().attrs));
  Tensor& y = c.allocate_output(0, x.shape());
  if (y.raw() != x.raw()) copy_elements(c.pool(), x.dtype(), x.raw(), y.raw(), x.num_elements());
  internal::assign_slice_of(c, c.input(4), y, slice);
}

std::unique_ptr<Kernel> prepare_tensor_strided_slice_update(PrepareContext& c) {
  c.allow_in_place(0, 0);
  return kernel_of<run_tensor_strided_slice_update>(c);
}

// Gradients.

// The gradient padded with zeros to the input's place.
void slice_gradient(GradientContext& c) {
  const Output &x = c.input(0), &begin = c.input(1), &grad = c.grad(0);
  const Tensor* from = constant_value(begin);
  const PartialShape &whole = x.shape(), &part = c.output(0).shape();
  if (from != nullptr && whole.is_fully_known() && part.is_fully_known()) {
    const auto before = from->to_int64s();
    Tensor paddings(DType::kInt64, {whole.rank(), 2});
    for (int i = 0; i < whole.rank(); ++i) {
      paddings.data<std::int64_t>()[2 * i] = before[i];
      paddings.data<std::int64_t>()[2 * i + 1] = whole[i] - before[i] - part[i];
    }
    c.set_input_grad(0, OpBuilder("Pad", {}).input(grad).input(paddings).build());
    return;
  }
  const auto op = [](std::string_view name, const Output& a, const Output& b) {
    return OpBuilder(name, {}).input(a).input(b).build();
  };
  const Output left = op("Sub", shape_of(x, begin.dtype()), shape_of(c.output(0), begin.dtype()));
  const Output columns = OpBuilder("Pack", {}).inputs({begin, op("Sub", left, begin)}).attr("axis", 1).build();
  c.set_input_grad(0, op("Pad", grad, columns));
}

StridedSliceOptions options_of(GradientContext& c) {
  const SliceMasks masks = SliceMasks::from(c.node().info().attrs);
  return {masks.begin, masks.end, masks.ellipsis, masks.new_axis, masks.shrink_axis};
}

void strided_slice_gradient(GradientContext& c) {
  Output bounds[3];
  for (int i = 0; i < 3; ++i) {
    bounds[i] = c.input(i + 1);
    if (bounds[i].dtype() == DType::kInt16) {
      bounds[i] = OpBuilder("Cast", {}).input(bounds[i]).attr("DstT", DType::kInt32).build();
    }
  }
  const Output shape = shape_of(c.input(0), bounds[0].dtype());
  c.set_input_grad(0, raw_ops::strided_slice_grad(shape, bounds[0], bounds[1], bounds[2], c.grad(0), options_of(c)));
}

void strided_slice_grad_gradient(GradientContext& c) {
  c.set_input_grad(4, strided_slice(c.grad(0), c.input(1), c.input(2), c.input(3), options_of(c)));
}

void tensor_strided_slice_update_gradient(GradientContext& c) {
  const Output& grad = c.grad(0);
  const Output zeros = OpBuilder("ZerosLike", {}).input(c.input(4)).build();
  c.set_input_grad(0, tensor_strided_slice_update(grad, c.input(1), c.input(2), c.input(3), zeros, options_of(c)));
  const Output taken = strided_slice(grad, c.input(1), c.input(2), c.input(3), options_of(c));
  c.set_input_grad(4, sum_to_shape_of(taken, c.input(4), taken));
}

}  // namespace

CAUDAL_REGISTER_OP({.name = "Slice",
                    .inputs = "input: T; begin: Index; size: Index",
                    .outputs = "output: T",
                    .attrs = "T: type; Index: {int32, int64}",
                    .shape = slice_shape,
                    .gradient = slice_gradient,
                    .cpu = kernel_of<run_slice>});
CAUDAL_REGISTER_OP({.name = "StridedSlice",
                    .inputs = "input: T; begin: Index; end: Index; strides: Index",
                    .outputs = "output: T",
                    .attrs = "T: type; Index: {int16, int32, int64}; begin_mask: int = 0; end_mask: int = 0; "
                             "ellipsis_mask: int = 0; new_axis_mask: int = 0; shrink_axis_mask: int = 0",
                    .shape = strided_slice_shape,
                    .gradient = strided_slice_gradient,
                    .cpu = kernel_of<run_strided_slice>});
CAUDAL_REGISTER_OP({.name = "StridedSliceGrad",
                    .inputs = "shape: Index; begin: Index; end: Index; strides: Index; dy: T",
                    .outputs = "output: T",
                    .attrs = "T: type; Index: {int32, int64}; begin_mask: int = 0; end_mask: int = 0; "
                             "ellipsis_mask: int = 0; new_axis_mask: int = 0; shrink_axis_mask: int = 0",
                    .shape = strided_slice_grad_shape,
                    .gradient = strided_slice_grad_gradient,
                    .cpu = kernel_of<run_strided_slice_grad>});
CAUDAL_REGISTER_OP({.name = "TensorStridedSliceUpdate",
                    .inputs = "input: T; begin: Index; end: Index; strides: Index; value: T",
                    .outputs = "output: T",
                    .attrs = "T: type; Index: {int32, int64}; begin_mask: int = 0; end_mask: int = 0; "
                             "ellipsis_mask: int = 0; new_axis_mask: int = 0; shrink_axis_mask: int = 0",
                    .shape = unchanged_shape,
                    .gradient = tensor_strided_slice_update_gradient,
                    .cpu = prepare_tensor_strided_slice_update});

namespace {

OpBuilder& with_masks(OpBuilder& builder, const StridedSliceOptions& options) {
  return builder.attr("begin_mask", options.begin_mask)
      .attr("end_mask", options.end_mask)
      .attr("ellipsis_mask", options.ellipsis_mask)
      .attr("new_axis_mask", options.new_axis_mask)
      .attr("shrink_axis_mask", options.shrink_axis_mask);
}

// A vector of bounds: a constant if all are numbers, else packed at run time.
Output bounds_vector(const std::vector<SliceBound>& bounds, DType dtype) {
  const auto is_number = [](const SliceBound& bound) { return !bound.tensor(); };
  std::vector<std::int64_t> numbers;
  for (const SliceBound& bound : bounds) numbers.push_back(bound.number().value_or(0));
  if (std::ranges::all_of(bounds, is_number)) {
    return dtype == DType::kInt64 ? int64_vector(numbers) : int32_vector(numbers);
  }
  std::vector<Output> parts;
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    parts.push_back(bounds[i].tensor() ? bounds[i].tensor()
                                       : Operand(convert_number(Tensor(numbers[i]), dtype)).to_output());
  }
  return OpBuilder("Pack", {}).inputs(parts).build();
}

// The arguments of StridedSlice, collected item by item.
struct Specification {
  std::vector<SliceBound> begin, end, strides;
  StridedSliceOptions options;
  DType dtype = DType::kInt32;

  void add(const IndexItem& item) {
    const std::int64_t bit = std::int64_t{1} << begin.size();
    const Slice& slice = item.slice();
    switch (item.kind()) {
      case IndexItem::Kind::kNewAxis:
        options.new_axis_mask |= bit;
        return push(0, 0, 1);
      case IndexItem::Kind::kEllipsis:
        options.ellipsis_mask |= bit;
        return push(0, 0, 1);
      case IndexItem::Kind::kIndex:
        options.shrink_axis_mask |= bit;
        return push(slice.begin, next(slice.begin), 1);
      case IndexItem::Kind::kSlice:
        if (!slice.begin.is_set()) options.begin_mask |= bit;
        if (!slice.end.is_set()) options.end_mask |= bit;
        return push(slice.begin, slice.end, slice.step);
    }
  }

  void push(const SliceBound& from, const SliceBound& to, const SliceBound& step) {
    for (const SliceBound* bound : {&from, &to, &step}) {
      const bool wide_tensor = bound->tensor() && bound->tensor().dtype() == DType::kInt64;
      const auto number = bound->number().value_or(0);
      if (wide_tensor || number != static_cast<std::int32_t>(number)) dtype = DType::kInt64;
    }
    begin.push_back(from);
    end.push_back(to);
    strides.push_back(step);
  }

  static SliceBound next(const SliceBound& index) {
    if (!index.tensor()) return *index.number() + 1;
    const DType dtype = index.tensor().dtype();
    return OpBuilder("Add", {}).input(index.tensor()).input(1, dtype).build();
  }
};

}  // namespace

Output slice(const Operand& input, const Operand& begin, const Operand& size, const OpOptions& options) {
  DType index = common_dtype({&begin, &size});
  return OpBuilder("Slice", options).input(input).input(begin, index).input(size, index).build();
}

Output strided_slice(const Operand& input, const Operand& begin, const Operand& end, const Operand& strides,
                     const StridedSliceOptions& options) {
  const DType index = common_dtype({&begin, &end, &strides});
  OpBuilder builder("StridedSlice", {.name = options.name, .where = options.where});
  builder.input(input).input(begin, index).input(end, index).input(strides, index);
  return with_masks(builder, options).build();
}

Output index(const Operand& x, const std::vector<IndexItem>& items, const OpOptions& options) {
  const LocationScope where(options.where);
  constexpr std::size_t kMaxItems = 32;
  if (items.size() > kMaxItems) {
    throw invalid_argument("index of ", items.size(), " items; ", kMaxItems, " are possible")
        .made_at(current_location(options.where));
  }
  const Output input = x.to_output();
  Specification spec;
  for (const IndexItem& item : items) spec.add(item);
  spec.options.name = options.name.empty() ? "strided_slice" : options.name;
  spec.options.where = options.where;
  return strided_slice(input, bounds_vector(spec.begin, spec.dtype), bounds_vector(spec.end, spec.dtype),
                       bounds_vector(spec.strides, spec.dtype), spec.options);
}

Output raw_ops::strided_slice_grad(const Operand& shape, const Operand& begin, const Operand& end,
                                   const Operand& strides, const Operand& dy, const StridedSliceOptions& options) {
  const DType index = common_dtype({&shape, &begin, &end, &strides});
  OpBuilder builder("StridedSliceGrad", {.name = options.name, .where = options.where});
  builder.input(shape, index).input(begin, index).input(end, index).input(strides, index).input(dy);
  return with_masks(builder, options).build();
}

Output tensor_strided_slice_update(const Operand& input, const Operand& begin, const Operand& end,
                                   const Operand& strides, const Operand& value, const StridedSliceOptions& options) {
  const DType index = common_dtype({&begin, &end, &strides});
  const DType dtype = common_dtype({&input, &value});
  OpBuilder builder("TensorStridedSliceUpdate", {.name = options.name, .where = options.where});
  builder.input(input, dtype).input(begin, index).input(end, index).input(strides, index).input(value, dtype);
  return with_masks(builder, options).build();
}

}  // namespace caudal::inline v0
