#include "caudal/ops/quantize_dequantize.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "caudal/autodiff/gradient.h"
#include "caudal/base/thread_pool.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/kernels/dispatch.h"
#include "caudal/ops/op_util.h"

namespace caudal::inline v0 {
namespace {

using Types = kernels::TypeList<float, double>;

// --- Shape functions ---

// The shape of the bounds, the two inputs behind input `at`.
PartialShape bounds_shape(ShapeContext& c, int at) {
  const auto axis = c.attr<std::int64_t>("axis");
  if (axis < -1) throw invalid_argument("axis is ", axis, "; it must be at least -1");
  PartialShape bounds = c.with_rank(at + 1, axis == -1 ? 0 : 1);
  bounds = merge_shapes(bounds, c.input(at + 2));
  if (axis == -1) return bounds;
  const PartialShape input = c.with_rank_at_least(at, static_cast<int>(axis) + 1);
  if (input.has_rank()) {
    ShapeContext::merge_dim(bounds.dim(0), input.dim(static_cast<int>(axis)), "input_min and the axis of input");
  }
  return bounds;
}

void quantize_shape(ShapeContext& c) {
  bounds_shape(c, 0);
  c.set_output(0, c.input(0));
}

void quantize_v3_shape(ShapeContext& c) {
  bounds_shape(c, 0);
  c.with_rank(3, 0);
  c.set_output(0, c.input(0));
}

void quantize_grad_shape(ShapeContext& c) {
  const PartialShape bounds = bounds_shape(c, 1);
  c.set_output(0, c.merged(0, 1));
  c.set_output(1, bounds);
  c.set_output(2, bounds);
}

// --- Kernels ---

// A tensor as [outer, slices, inner] along an axis; one slice without.
struct Slices {
  std::int64_t outer = 1, count = 1, inner = 1;

  Slices(const Tensor& tensor, std::int64_t axis) {
    if (axis < -1 || axis >= tensor.rank()) {
      throw invalid_argument("axis ", axis, " is none of ", tensor.describe());
    }
    for (int d = 0; d < tensor.rank(); ++d) {
      (axis == -1 || d > axis ? inner : d == axis ? count : outer) *= tensor.dim(d);
    }
  }
  // fn(index of an element) for the elements of slice k.
  template <class Fn>
  void for_each(std::int64_t k, const Fn& fn) const {
    for (std::int64_t o = 0; o < outer; ++o) {
      const std::int64_t first = (o * count + k) * inner;
      for (std::int64_t i = first; i < first + inner; ++i) fn(i);
    }
  }
};

void check_bounds(const Tensor& bounds, std::int64_t axis, std::int64_t count, std::string_view what) {
  if (axis == -1 ? bounds.rank() == 0 : bounds.rank() == 1 && bounds.dim(0) == count) return;
  throw invalid_argument(what, " must ", axis == -1 ? "be a scalar" : "have one entry for each slice", ", not ",
                         bounds.describe());
}

struct Settings {
  bool is_signed, range_given, narrow_range, half_up;
  std::int64_t axis;

  static Settings of(const NodeInfo& node) {
    const auto flag = [&](std::string_view name) { return find_attr(node.attrs, name) && node.attr<bool>(name); };
    return {node.attr<bool>("signed_input"), node.attr<bool>("range_given"), flag("narrow_range"),
            find_attr(node.attrs, "round_mode") && node.attr<std::string>("round_mode") == "HALF_UP",
            find_attr(node.attrs, "axis") ? node.attr<std::int64_t>("axis") : -1};
  }
  void check_bits(std::int64_t bits) const {
    if (bits < 1 || bits >= (is_signed ? 62 : 63)) throw invalid_argument("num_bits is ", bits, ", out of range");
  }
};

// Rounds one slice. The range that is not given is that of the values, which then need no clamping.
template <class T>
void round_slice(const Settings& s, std::int64_t bits, T low, T high, const Slices& slices, std::int64_t k, const T* in,
                 T* out) {
  if (!s.range_given) {
    low = std::numeric_limits<T>::infinity();
    high = -low;
    slices.for_each(k, [&](std::int64_t i) { low = std::min(low, in[i]), high = std::max(high, in[i]); });
  }
  const std::int64_t span = std::int64_t{1} << (s.is_signed ? bits - 1 : bits);
  const T least = static_cast<T>(s.is_signed ? (s.narrow_range ? 1 - span : -span) : 0);
  const T greatest = static_cast<T>(span - 1);
  const T low_scale = least * low > 0 ? least / low : std::numeric_limits<T>::max();
  const T high_scale = greatest * high > 0 ? greatest / high : std::numeric_limits<T>::max();
  T scale, step;
  if (low_scale < high_scale) {
    scale = low_scale;
    step = low / least;
    high = greatest * step;
  } else {
    scale = high_scale;
    step = high / greatest;
    low = least * step;
  }
  slices.for_each(k, [&](std::int64_t i) {
    const T value = (s.range_given ? std::max(std::min(in[i], high), low) : in[i]) * scale;
    out[i] = (s.half_up ? std::floor(value + T(0.5)) : std::nearbyint(value)) * step;
  });
}

void round_all(RunContext& c, const Settings& s, std::int64_t bits, const Tensor& low, const Tensor& high) {
  const Tensor& in = c.input(0);
  const Slices slices(in, s.axis);
  if (s.range_given) {
    check_bounds(low, s.axis, slices.count, "input_min");
    check_bounds(high, s.axis, slices.count, "input_max");
  }
  Tensor& out = c.allocate_output(0, in.shape());
  kernels::dispatch(Types(), in.dtype(), "quantisation", [&]<class T>() {
    if (s.range_given && s.axis == -1 && !(low.item<T>() <= high.item<T>())) {
      throw invalid_argument("input_min ", low, " must not be greater than input_max ", high);
    }
    if (in.num_elements() == 0) return;
    c.pool().parallel_for(slices.count, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t k = begin; k < end; ++k) {
        const T least = s.range_given ? low.data<T>()[k] : T{0}, greatest = s.range_given ? high.data<T>()[k] : T{0};
        round_slice(s, bits, least, greatest, slices, k, in.data<T>(), out.data<T>());
      }
    });
  });
}

void run_v1(RunContext& c) {
  const Settings s = Settings::of(c.node());
  const auto bits = c.node().attr<std::int64_t>("num_bits");
  s.check_bits(bits);
  const Tensor low(c.node().attr<float>("input_min")), high(c.node().attr<float>("input_max"));
  round_all(c, s, bits, convert_number(low, c.input(0).dtype()), convert_number(high, c.input(0).dtype()));
}

void run_v2(RunContext& c) {
  const Settings s = Settings::of(c.node());
  const auto bits = c.node().attr<std::int64_t>("num_bits");
  s.check_bits(bits);
  round_all(c, s, bits, c.input(1), c.input(2));
}

void run_v3(RunContext& c) {
  const Settings s = Settings::of(c.node());
  if (c.input(3).rank() != 0) throw invalid_argument("num_bits must be a scalar, not ", c.input(3).describe());
  const std::int64_t bits = c.input(3).item<std::int32_t>();
  s.check_bits(bits);
  round_all(c, s, bits, c.input(1), c.input(2));
}

void run_grad(RunContext& c) {
  const Tensor &grad = c.input(0), &in = c.input(1), &low = c.input(2), &high = c.input(3);
  const auto axis = c.node().attr<std::int64_t>("axis");
  if (!(grad.shape() == in.shape())) {
    throw invalid_argument("gradients ", grad.describe(), " and input ", in.describe(), " must have one shape");
  }
  const Slices slices(in, axis);
  check_bounds(low, axis, slices.count, "input_min");
  check_bounds(high, axis, slices.count, "input_max");
  Tensor& out = c.allocate_output(0, in.shape());
  Tensor* bounds[] = {&c.allocate_output(1, low.shape()), &c.allocate_output(2, high.shape())};
  kernels::dispatch(Types(), in.dtype(), "quantisation", [&]<class T>() {
    for (Tensor* bound : bounds) std::fill_n(bound->data<T>(), bound->num_elements(), T{0});
    for (std::int64_t k = 0; k < slices.count; ++k) {
      const T least = low.data<T>()[k], greatest = high.data<T>()[k];
      slices.for_each(k, [&](std::int64_t i) {
        const T x = in.data<T>()[i];
        out.data<T>()[i] = grad.data<T>()[i] * (x >= least && x <= greatest ? T{1} : T{0});
      });
    }
  });
}

// --- Gradients ---

void straight_gradient(GradientContext& c) { c.set_input_grad(0, c.grad(0)); }

Node& clamped(GradientContext& c, const Output& grad, int input) {
  return OpBuilder("QuantizeAndDequantizeV4Grad", {})
      .input(grad)
      .input(c.input(input))
      .input(c.input(input + 1))
      .input(c.input(input + 2))
      .attr("axis", c.attr<std::int64_t>("axis"))
      .build_node();
}

void v4_gradient(GradientContext& c) {
  Node& node = clamped(c, c.grad(0), 0);
  for (int i = 0; i < 3; ++i) c.set_input_grad(i, node.output(i));
}

// Linear in the gradient, constant in everything else.
void v4_grad_gradient(GradientContext& c) { c.set_input_grad(0, clamped(c, c.grad(0), 1).output(0)); }

}  // namespace

// --- Registrations ---

CAUDAL_REGISTER_OP({.name = "QuantizeAndDequantize",
                    .inputs = "input: T",
                    .outputs = "output: T",
                    .attrs = "signed_input: bool = true; num_bits: int = 8; range_given: bool = false; "
                             "input_min: float = 0.0; input_max: float = 0.0; T: {bfloat16, half, float, double}",
                    .deprecated_version = 22,
                    .shape = unchanged_shape,
                    .gradient = straight_gradient,
                    .cpu = kernel_of<run_v1>});
CAUDAL_REGISTER_OP({.name = "QuantizeAndDequantizeV2",
                    .inputs = "input: T; input_min: T; input_max: T",
                    .outputs = "output: T",
                    .attrs = "signed_input: bool = true; num_bits: int = 8; range_given: bool = false; "
                             "T: {bfloat16, half, float, double}; "
                             "round_mode: {'HALF_TO_EVEN', 'HALF_UP'} = 'HALF_TO_EVEN'; narrow_range: bool = false; "
                             "axis: int = -1",
                    .shape = quantize_shape,
                    .gradient = straight_gradient,
                    .cpu = kernel_of<run_v2>});
CAUDAL_REGISTER_OP({.name = "QuantizeAndDequantizeV3",
                    .inputs = "input: T; input_min: T; input_max: T; num_bits: int32",
                    .outputs = "output: T",
                    .attrs = "signed_input: bool = true; range_given: bool = true; "
                             "T: {bfloat16, half, float, double}; narrow_range: bool = false; axis: int = -1",
                    .shape = quantize_v3_shape,
                    .gradient = straight_gradient,
                    .cpu = kernel_of<run_v3>});
CAUDAL_REGISTER_OP({.name = "QuantizeAndDequantizeV4",
                    .inputs = "input: T; input_min: T; input_max: T",
                    .outputs = "output: T",
                    .attrs = "signed_input: bool = true; num_bits: int = 8; range_given: bool = false; "
                             "T: {bfloat16, half, float, double}; "
                             "round_mode: {'HALF_TO_EVEN', 'HALF_UP'} = 'HALF_TO_EVEN'; narrow_range: bool = false; "
                             "axis: int = -1",
                    .shape = quantize_shape,
                    .gradient = v4_gradient,
                    .cpu = kernel_of<run_v2>});
CAUDAL_REGISTER_OP({.name = "QuantizeAndDequantizeV4Grad",
                    .inputs = "gradients: T; input: T; input_min: T; input_max: T",
                    .outputs = "input_backprop: T; input_min_backprop: T; input_max_backprop: T",
                    .attrs = "T: {bfloat16, half, float, double}; axis: int = -1",
                    .shape = quantize_grad_shape,
                    .gradient = v4_grad_gradient,
                    .cpu = kernel_of<run_grad>});

// --- Public functions ---

namespace quantization {
namespace {

Output rounded(std::string_view op, const Operand& input, const Operand& input_min, const Operand& input_max,
               const QuantizeAndDequantizeOptions& options) {
  DType dtype = common_dtype({&input, &input_min, &input_max});
  if (!is_floating(dtype)) dtype = DType::kFloat;
  return OpBuilder(op, {.name = options.name, .where = options.where})
      .input(input, dtype)
      .input(input_min, dtype)
      .input(input_max, dtype)
      .attr("signed_input", options.signed_input)
      .attr("num_bits", options.num_bits)
      .attr("range_given", options.range_given)
      .attr("round_mode", options.round_mode)
      .attr("narrow_range", options.narrow_range)
      .attr("axis", options.axis)
      .build();
}

}  // namespace

Output quantize_and_dequantize(const Operand& input, const Operand& input_min, const Operand& input_max,
                               const QuantizeAndDequantizeOptions& options) {
  return rounded("QuantizeAndDequantizeV2", input, input_min, input_max, options);
}

Output quantize_and_dequantize_v2(const Operand& input, const Operand& input_min, const Operand& input_max,
                                  const QuantizeAndDequantizeOptions& options) {
  return rounded("QuantizeAndDequantizeV4", input, input_min, input_max, options);
}

}  // namespace quantization
}  // namespace caudal::inline v0
