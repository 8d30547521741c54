#include "caudal/ops/padding.h"

#include <algorithm>
#include <functional>

#include "caudal/autodiff/gradient.h"
#include "caudal/core/kernel.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/constant_value.h"
#include "caudal/graph/scope.h"
#include "caudal/kernels/dispatch.h"
#include "caudal/kernels/numeric.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/strided_copy.h"

namespace caudal::inline v0 {
namespace {

using kernels::Wide;

// Shape functions.

// Reads paddings [rank, 2]; each of at least 0.
std::vector<std::int64_t> checked_paddings(const Tensor& paddings, int rank) {
  if (paddings.rank() != 2 || paddings.dim(0) != rank || paddings.dim(1) != 2) {
    throw invalid_argument("paddings must have shape [", rank, ",2], not ", paddings.shape());
  }
  auto values = paddings.to_int64s();
  for (const auto value : values) {
    if (value < 0) throw invalid_argument("paddings ", paddings, " has a negative entry");
  }
  return values;
}

// How far from the border a mirror may reach: REFLECT does not repeat the border itself.
std::int64_t mirror_offset(const AttrMap& attrs) { return attr_as<std::string>(attrs, "mode") == "REFLECT" ? 1 : 0; }

void check_mirror(const std::vector<std::int64_t>& paddings, int dim, std::int64_t size, std::int64_t offset) {
  if (std::max(paddings[2 * dim], paddings[2 * dim + 1]) > size - offset) {
    throw invalid_argument("paddings ", paddings[2 * dim], ", ", paddings[2 * dim + 1], " of dimension ", dim,
                           " are wider than its ", size, " elements", offset == 1 ? " without the border" : "");
  }
}

// sign 1: shapes grow (Pad); sign -1: they shrink (MirrorPadGrad).
void padded_shape(ShapeContext& c, int sign) {
  const PartialShape paddings = c.with_rank(1, 2);
  ShapeContext::merge_dim(paddings[1], 2, "second sizes of paddings and wanted");
  const PartialShape in = paddings[0] >= 0 ? c.with_rank(0, static_cast<int>(paddings[0])) : c.input(0);
  const Tensor* value = c.constant_input(1);
  if (!in.has_rank()) return;
  c.set_output(0, PartialShape::unknown_of_rank(in.rank()));
  if (value == nullptr) return;
  const auto amounts = checked_paddings(*value, in.rank());
  std::vector<std::int64_t> dims(in.rank(), -1);
  for (int i = 0; i < in.rank(); ++i) {
    if (in[i] < 0) continue;
    dims[i] = in[i] + sign * (amounts[2 * i] + amounts[2 * i + 1]);
    if (dims[i] < 0) throw invalid_argument("dimension ", i, " of ", in, " is smaller than its paddings");
  }
  c.set_output(0, PartialShape(std::move(dims)));
}

void pad_shape(ShapeContext& c) {
  if (c.num_inputs() > 2) c.with_rank(2, 0);
  padded_shape(c, 1);
}

void mirror_pad_grad_shape(ShapeContext& c) {
  if (c.with_rank(1, 2)[0] >= 0) padded_shape(c, -1);
}

// Kernels.

Shape grown(const Shape& shape, const std::vector<std::int64_t>& paddings) {
  std::vector<std::int64_t> dims = shape.to_vector();
  for (int i = 0; i < shape.rank(); ++i) {
    const auto most = std::numeric_limits<std::int64_t>::max() / 4;
    if (paddings[2 * i] > most || paddings[2 * i + 1] > most || dims[i] > most) {
      throw invalid_argument("paddings of dimension ", i, " are too large");
    }
    dims[i] += paddings[2 * i] + paddings[2 * i + 1];
  }
  return Shape(dims);
}

// Offset of the inner block in the padded tensor.
std::int64_t inner_offset(const std::vector<std::int64_t>& paddings, const std::vector<std::int64_t>& strides) {
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < strides.size(); ++i) offset += paddings[2 * i] * strides[i];
  return offset;
}

void copy_inner(RunContext& c, const Tensor& x, Tensor& y, const std::vector<std::int64_t>& paddings) {
  if (x.num_elements() == 0) return;
  const auto strides = y.shape().strides();
  strided_copy(c.pool(), x.dtype(), x.shape().dims(), x.raw(), x.shape().strides(),
               y.raw() + inner_offset(paddings, strides) * static_cast<std::int64_t>(dtype_size(y.dtype())), strides);
}

void pad_with(RunContext& c, const Tensor& value) {
  const Tensor& x = c.input(0);
  const auto paddings = checked_paddings(c.input(1), x.rank());
  Tensor& y = c.allocate_output(0, grown(x.shape(), paddings));
  if (y.num_elements() != x.num_elements()) fill_elements(c.pool(), y.dtype(), value.raw(), y.raw(), y.num_elements());
  copy_inner(c, x, y, paddings);
}

class PadKernel final : public Kernel {
 public:
  explicit PadKernel(DType dtype) : zero_(Tensor::zeros(dtype, Shape{})) {}
  void run(RunContext& c) const override { pad_with(c, zero_); }

 private:
  Tensor zero_;
};

std::unique_ptr<Kernel> prepare_pad(PrepareContext& c) { return std::make_unique<PadKernel>(c.input_type(0)); }

void run_pad_v2(RunContext& c) {
  if (c.input(2).rank() != 0) throw invalid_argument("constant_values must be a scalar, not ", c.input(2).describe());
  pad_with(c, c.input(2));
}

// The two mirrored borders of one dimension: `count` elements that are written from `to` on in steps of `stride`, each
// a copy of the element that is written from `from` on in steps of -stride.
struct Border {
  std::int64_t count, to, from;
};

std::array<Border, 2> borders(std::int64_t before, std::int64_t after, std::int64_t size, std::int64_t offset,
                              std::int64_t stride) {
  const std::int64_t end = before + size;
  return {Border{before, 0, (2 * before - 1 + offset) * stride},
          Border{after, end * stride, (end - 1 - offset) * stride}};
}

// Dimension by dimension: those before it are complete already, of those after it only the inner part is there.
void run_mirror_pad(RunContext& c) {
  const Tensor& x = c.input(0);
  const auto paddings = checked_paddings(c.input(1), x.rank());
  const std::int64_t offset = mirror_offset(c.node().attrs);
  for (int i = 0; i < x.rank(); ++i) check_mirror(paddings, i, x.dim(i), offset);
  Tensor& y = c.allocate_output(0, grown(x.shape(), paddings));
  copy_inner(c, x, y, paddings);
  if (y.num_elements() == 0) return;
  const auto strides = y.shape().strides();
  const auto size = static_cast<std::int64_t>(dtype_size(y.dtype()));
  std::vector<std::int64_t> dims = x.shape().to_vector();
  std::int64_t start = inner_offset(paddings, strides);
  for (int i = 0; i < x.rank(); ++i) {
    start -= paddings[2 * i] * strides[i];
    auto back = strides;
    back[i] = -back[i];
    for (const Border& border : borders(paddings[2 * i], paddings[2 * i + 1], x.dim(i), offset, strides[i])) {
      dims[i] = border.count;
      strided_copy(c.pool(), y.dtype(), dims, y.raw() + (start + border.from) * size, back,
                   y.raw() + (start + border.to) * size, strides);
    }
    dims[i] = y.dim(i);
  }
}

// to[i * to_strides] += from[i * from_strides] for all indices below dims.
template <class T>
void add_strided(std::span<const std::int64_t> dims, const T* from, std::span<const std::int64_t> from_strides, T* to,
                 std::span<const std::int64_t> to_strides) {
  if (dims.empty()) {
    *to = T(kernels::wrap_add(static_cast<Wide<T>>(*to), static_cast<Wide<T>>(*from)));
    return;
  }
  for (std::int64_t i = 0; i < dims[0]; ++i) {
    add_strided<T>(dims.subspan(1), from + i * from_strides[0], from_strides.subspan(1), to + i * to_strides[0],
                   to_strides.subspan(1));
  }
}

// The way of run_mirror_pad backwards: borders are added to what they were copied from.
template <class T>
void fold_borders(Tensor& whole, const std::vector<std::int64_t>& paddings, const Shape& inner, std::int64_t offset) {
  const auto strides = whole.shape().strides();
  std::vector<std::int64_t> dims = whole.shape().to_vector();
  std::int64_t start = 0;
  for (int i = inner.rank() - 1; i >= 0; --i) {
    auto back = strides;
    back[i] = -back[i];
    for (const Border& border : borders(paddings[2 * i], paddings[2 * i + 1], inner[i], offset, strides[i])) {
      dims[i] = border.count;
      T* data = whole.data<T>() + start;
      add_strided<T>(dims, data + border.to, strides, data + border.from, back);
    }
    dims[i] = inner[i];
    start += paddings[2 * i] * strides[i];
  }
}

void run_mirror_pad_grad(RunContext& c) {
  const Tensor& grad = c.input(0);
  const auto paddings = checked_paddings(c.input(1), grad.rank());
  const std::int64_t offset = mirror_offset(c.node().attrs);
  std::vector<std::int64_t> dims = grad.shape().to_vector();
  for (int i = 0; i < grad.rank(); ++i) {
    dims[i] -= std::min(paddings[2 * i], dims[i]);
    dims[i] -= std::min(paddings[2 * i + 1], dims[i]);
    check_mirror(paddings, i, dims[i], offset);
  }
  Tensor& y = c.allocate_output(0, Shape(dims));
  if (y.num_elements() == 0) return;
  Tensor whole = c.allocate_temporary(grad.dtype(), grad.shape());
  copy_elements(c.pool(), grad.dtype(), grad.raw(), whole.raw(), grad.num_elements());
  kernels::dispatch(kernels::NumberTypes{}, y.dtype(), "MirrorPadGrad",
                    [&]<class T>() { fold_borders<T>(whole, paddings, y.shape(), offset); });
  const auto strides = whole.shape().strides();
  const auto start = inner_offset(paddings, strides) * static_cast<std::int64_t>(dtype_size(y.dtype()));
  strided_copy(c.pool(), y.dtype(), y.shape().dims(), whole.raw() + start, strides, y.raw(), y.shape().strides());
}

// Gradients.

// The inner part; the constant gets none.
void pad_gradient(GradientContext& c) {
  const Output &x = c.input(0), &paddings = c.input(1);
  Output begin;
  if (const Tensor* value = constant_value(paddings)) {
    const auto amounts = value->to_int64s();
    std::vector<std::int64_t> before;
    for (std::size_t i = 0; i < amounts.size(); i += 2) before.push_back(amounts[i]);
    begin = paddings.dtype() == DType::kInt64 ? int64_vector(before) : int32_vector(before);
  } else {
    begin = OpBuilder("StridedSlice", {})
                .input(paddings)
                .input({0, 0})
                .input({0, 1})
                .input({1, 1})
                .attr("begin_mask", 1)
                .attr("end_mask", 1)
                .attr("shrink_axis_mask", 2)
                .build();
  }
  const Output size = shape_of(x, paddings.dtype());
  c.set_input_grad(0, OpBuilder("Slice", {}).input(c.grad(0)).input(begin).input(size).build());
}

template <bool is_gradient>
void mirror_pad_gradient(GradientContext& c) {
  c.set_input_grad(0, OpBuilder(is_gradient ? "MirrorPad" : "MirrorPadGrad", {})
                          .input(c.grad(0))
                          .input(c.input(1))
                          .attr("mode", c.attr<std::string>("mode"))
                          .build());
}

}  // namespace

CAUDAL_REGISTER_OP({.name = "Pad",
                    .inputs = "input: T; paddings: Tpaddings",
                    .outputs = "output: T",
                    .attrs = "T: type; Tpaddings: {int32, int64} = DT_INT32",
                    .shape = pad_shape,
                    .gradient = pad_gradient,
                    .cpu = prepare_pad});
CAUDAL_REGISTER_OP({.name = "PadV2",
                    .inputs = "input: T; paddings: Tpaddings; constant_values: T",
                    .outputs = "output: T",
                    .attrs = "T: type; Tpaddings: {int32, int64} = DT_INT32",
                    .shape = pad_shape,
                    .gradient = pad_gradient,
                    .cpu = kernel_of<run_pad_v2>});
CAUDAL_REGISTER_OP({.name = "MirrorPad",
                    .inputs = "input: T; paddings: Tpaddings",
                    .outputs = "output: T",
                    .attrs = "T: type; Tpaddings: {int32, int64} = DT_INT32; mode: {'REFLECT', 'SYMMETRIC'}",
                    .shape = pad_shape,
                    .gradient = mirror_pad_gradient<false>,
                    .cpu = kernel_of<run_mirror_pad>});
CAUDAL_REGISTER_OP({.name = "MirrorPadGrad",
                    .inputs = "input: T; paddings: Tpaddings",
                    .outputs = "output: T",
                    .attrs = "T: type; Tpaddings: {int32, int64} = DT_INT32; mode: {'REFLECT', 'SYMMETRIC'}",
                    .shape = mirror_pad_grad_shape,
                    .gradient = mirror_pad_gradient<true>,
                    .cpu = kernel_of<run_mirror_pad_grad>});

Output pad(const Operand& tensor, const Operand& paddings, const PadOptions& options) {
  const OpOptions where{.name = options.name, .where = options.where};
  if (options.mode != PadMode::kConstant) {
    return OpBuilder("MirrorPad", where)
        .input(tensor)
        .input(paddings, DType::kInt32)
        .attr("mode", options.mode == PadMode::kReflect ? "REFLECT" : "SYMMETRIC")
        .build();
  }
  const Operand& value = options.constant_values;
  const bool is_zero =
      value.fixed_dtype() == DType::kInvalid && value.value()->num_elements() == 1 && value.value()->to_double() == 0;
  if (is_zero) return OpBuilder("Pad", where).input(tensor).input(paddings, DType::kInt32).build();
  const DType dtype = common_dtype({&tensor, &value});
  return OpBuilder("PadV2", where).input(tensor, dtype).input(paddings, DType::kInt32).input(value, dtype).build();
}

}  // namespace caudal::inline v0
