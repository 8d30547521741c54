#include "caudal/ops/quantized_math.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/kernels/gemm.h"
#include "caudal/ops/op_util.h"

namespace caudal::inline v0 {
namespace {

// --- Shape functions ---

void scalars_from(ShapeContext& c, int first) {
  for (int i = first; i < c.num_inputs(); ++i) c.with_rank(i, 0);
}

void unchanged_with_range(ShapeContext& c) {
  scalars_from(c, 1);
  c.set_output(0, c.input(0));
  c.set_output(1, PartialShape({}));
  c.set_output(2, PartialShape({}));
}

void range_shape(ShapeContext& c) {
  scalars_from(c, 1);
  c.set_output(0, PartialShape({}));
  c.set_output(1, PartialShape({}));
}

void mat_mul_shape(ShapeContext& c) {
  scalars_from(c, 2);
  const PartialShape a = c.with_rank(0, 2), b = c.with_rank(1, 2);
  const int ta = c.attr<bool>("transpose_a") ? 1 : 0, tb = c.attr<bool>("transpose_b") ? 1 : 0;
  ShapeContext::merge_dim(a.dim(1 - ta), b.dim(tb), "the inner size of the product");
  c.set_output(0, PartialShape({a.dim(ta), b.dim(1 - tb)}));
  c.set_output(1, PartialShape({}));
  c.set_output(2, PartialShape({}));
}

// --- Kernels ---

struct Range {
  float low, high;
};

Range range_of(RunContext& c, int first) {
  for (const int i : {first, first + 1}) {
    const Tensor& bound = c.input(i);
    if (bound.rank() != 0) throw invalid_argument("a range must have scalars, not ", bound.describe());
  }
  return {c.input(first).data<float>()[0], c.input(first + 1).data<float>()[0]};
}

void put_range(RunContext& c, int first, const Range& range) {
  c.allocate_output(first, {}).data<float>()[0] = range.low;
  c.allocate_output(first + 1, {}).data<float>()[0] = range.high;
}

template <class Int>
constexpr std::int64_t kLowest = std::numeric_limits<Int>::min();
template <class Int>
constexpr std::int64_t kHighest = std::numeric_limits<Int>::max();
// One less than the number of integers.
template <class Int>
constexpr std::int64_t kSteps = kHighest<Int> - kLowest<Int>;

// The integer for a number, perhaps outside the type.
template <class Int>
std::int64_t place_of(float number, const Range& range) {
  if (range.low == range.high) return kLowest<Int>;
  const double steps = static_cast<double>(kSteps<Int>) + 1;
  const double width = static_cast<double>(range.high - range.low) * (steps / (steps - 1));
  const double scale = steps / width;
  return static_cast<std::int64_t>(std::round(number * scale) - std::round(range.low * scale)) + kLowest<Int>;
}

template <class Int>
Int nearest(float number, const Range& range) {
  return static_cast<Int>(std::clamp(place_of<Int>(number, range), kLowest<Int>, kHighest<Int>));
}

template <class Int>
float number_at(Int place, const Range& range) {
  if (range.low == range.high) return range.low;
  const double steps = static_cast<double>(kSteps<Int>) + 1;
  const double scale = static_cast<double>(range.high - range.low) * (steps / (steps - 1)) / steps;
  const auto rounded = static_cast<float>(scale);
  const double start = static_cast<double>(std::round(range.low / rounded) * rounded);
  return static_cast<float>(start + static_cast<double>(static_cast<std::int64_t>(place) - kLowest<Int>) * scale);
}

template <class Int>
const Int* integers(const Tensor& tensor) {
  return reinterpret_cast<const Int*>(tensor.raw());
}

template <class Int>
Int* integers(Tensor& tensor) {
  return reinterpret_cast<Int*>(tensor.raw());
}

[[noreturn]] void no_kernel(DType from, DType to) {
  throw unimplemented("no kernel for ", from, " to ", to, " on CPU");
}

template <class Int>
void clamp(RunContext& c, bool to_six) {
  const Range range = range_of(c, 1);
  const Tensor& in = c.input(0);
  Tensor& out = c.allocate_output(0, in.shape());
  const Int low = nearest<Int>(0, range);
  const Int high = to_six ? nearest<Int>(6, range) : std::numeric_limits<Int>::max();
  const Int* from = integers<Int>(in);
  std::transform(from, from + in.num_elements(), integers<Int>(out),
                 [=](Int v) { return std::min(std::max(v, low), high); });
  put_range(c, 1, range);
}

template <bool kToSix>
void run_relu(RunContext& c) {
  const DType from = c.input(0).dtype(), to = c.node().output_types[0];
  if (from != to) no_kernel(from, to);
  if (from == DType::kQuint8) return clamp<std::uint8_t>(c, kToSix);
  if (from == DType::kQint32) return clamp<std::int32_t>(c, kToSix);
  no_kernel(from, to);
}

// The range that the values fill, from 0 or below.
Range used_range(const Tensor& in, const Range& range) {
  if (in.dtype() != DType::kQint32) no_kernel(in.dtype(), in.dtype());
  const std::int32_t* from = integers<std::int32_t>(in);
  std::int32_t least = std::numeric_limits<std::int32_t>::max(), greatest = std::numeric_limits<std::int32_t>::min();
  for (std::int64_t i = 0; i < in.num_elements(); ++i) {
    least = std::min(least, from[i]);
    greatest = std::max(greatest, from[i]);
  }
  return {std::min(0.0F, number_at(least, range)), number_at(greatest, range)};
}

void run_requantization_range(RunContext& c) { put_range(c, 0, used_range(c.input(0), range_of(c, 1))); }

// TensorFlow's arithmetic in fixed point, with 16 bits behind the point.
void requantize_fixed(const Tensor& in, const Range& from, const Range& to, Tensor& out) {
  constexpr int kShift = 16;
  constexpr double kOne = 1 << kShift;
  const float input_range = from.high - from.low, output_range = to.high - to.low;
  const bool empty = output_range == 0;
  const float per_step = empty ? 0.0F : static_cast<float>(255.0 / static_cast<double>(output_range));
  const auto middle = static_cast<float>(static_cast<double>(from.low + from.high) / 2.0);
  const std::int64_t scale = empty ? 0
                                   : static_cast<std::int64_t>(255.0 * kOne * static_cast<double>(input_range) /
                                                               static_cast<double>(output_range));
  const auto in_offset = static_cast<std::int64_t>(middle * per_step * static_cast<float>(kOne));
  const std::int64_t out_offset =
      empty ? 0 : std::lround(kOne * (static_cast<double>(to.low) * 255.0) / static_cast<double>(output_range));
  const std::int64_t offset = in_offset - out_offset + (1 << (kShift - 1));
  const std::int32_t* values = integers<std::int32_t>(in);
  std::transform(values, values + in.num_elements(), integers<std::uint8_t>(out), [=](std::int32_t v) {
    const std::int64_t place = (((v * scale) >> 32) + offset) >> kShift;
    return static_cast<std::uint8_t>(std::clamp<std::int64_t>(place, 0, 255));
  });
}

// The same in floating point.
void requantize_float(const Tensor& in, const Range& from, const Range& to, Tensor& out) {
  const auto in_steps = static_cast<double>(kSteps<std::int32_t>), out_steps = static_cast<double>(kSteps<std::int8_t>);
  const auto in_scale = static_cast<float>(static_cast<double>(from.high - from.low) / in_steps);
  const float start = from.high == from.low ? from.low : std::round(from.low / in_scale) * in_scale;
  const float lowest = start - static_cast<float>(kLowest<std::int32_t>) * in_scale;
  const float out_scale =
      to.high == to.low ? 0.0F : static_cast<float>(out_steps / static_cast<double>(to.high - to.low));
  const float offset = std::round(to.low * out_scale) - static_cast<float>(kLowest<std::int8_t>);
  const std::int32_t* values = integers<std::int32_t>(in);
  std::transform(values, values + in.num_elements(), integers<std::int8_t>(out), [=](std::int32_t v) {
    const float number = lowest + static_cast<float>(v) * in_scale;
    return static_cast<std::int8_t>(std::clamp(std::round(number * out_scale) - offset, -128.0F, 127.0F));
  });
}

void requantize_to(RunContext& c, const Range& from, const Range& to) {
  const Tensor& in = c.input(0);
  Tensor& out = c.allocate_output(0, in.shape());
  if (in.dtype() == DType::kQint32 && out.dtype() == DType::kQuint8) {
    requantize_fixed(in, from, to, out);
  } else if (in.dtype() == DType::kQint32 && out.dtype() == DType::kQint8) {
    requantize_float(in, from, to, out);
  } else {
    no_kernel(in.dtype(), out.dtype());
  }
  put_range(c, 1, to);
}

void run_requantize(RunContext& c) {
  const Range from = range_of(c, 1), to = range_of(c, 3);
  if (!(to.low <= 0)) throw invalid_argument("requested_output_min must not be above 0, but is ", to.low);
  if (!(to.high >= to.low)) {
    throw invalid_argument("requested_output_max ", to.high, " must not be below requested_output_min ", to.low);
  }
  requantize_to(c, from, to);
}

void run_shrink(RunContext& c) {
  const Range from = range_of(c, 1);
  requantize_to(c, from, used_range(c.input(0), from));
}

// The values less what stands for 0.
Tensor centred(RunContext& c, int index, const Range& range) {
  const Tensor& in = c.input(index);
  if (in.dtype() != DType::kQuint8) no_kernel(in.dtype(), c.node().output_types[0]);
  const auto zero = static_cast<std::int32_t>(place_of<std::uint8_t>(0, range));
  Tensor out = c.allocate_temporary(DType::kInt32, in.shape());
  const std::uint8_t* from = integers<std::uint8_t>(in);
  std::transform(from, from + in.num_elements(), out.data<std::int32_t>(), [=](std::uint8_t v) { return v - zero; });
  return out;
}

void run_mat_mul(RunContext& c) {
  const Range a_range = range_of(c, 2), b_range = range_of(c, 4);
  for (const Range& range : {a_range, b_range}) {
    if (!(range.high > range.low)) throw invalid_argument("the range ", range.low, " to ", range.high, " is empty");
  }
  if (c.input(0).rank() != 2 || c.input(1).rank() != 2) {
    throw invalid_argument("a and b must be matrices, not ", c.input(0).describe(), " and ", c.input(1).describe());
  }
  const Tensor a = centred(c, 0, a_range), b = centred(c, 1, b_range);
  kernels::GemmShape shape;
  shape.transpose_a = c.node().attr<bool>("transpose_a");
  shape.transpose_b = c.node().attr<bool>("transpose_b");
  shape.m = a.dim(shape.transpose_a ? 1 : 0);
  shape.k = a.dim(shape.transpose_a ? 0 : 1);
  shape.n = b.dim(shape.transpose_b ? 0 : 1);
  if (b.dim(shape.transpose_b ? 1 : 0) != shape.k) {
    throw invalid_argument("a ", a.describe(), " and b ", b.describe(), " do not fit");
  }
  if (c.node().output_types[0] != DType::kQint32) no_kernel(DType::kQuint8, c.node().output_types[0]);
  Tensor& out = c.allocate_output(0, {shape.m, shape.n});
  kernels::gemm(c.pool(), DType::kInt32, shape, a.raw(), b.raw(), out.raw());
  const auto level = [](const Range& range) {
    return (range.high - range.low) / static_cast<float>(kSteps<std::uint8_t>);
  };
  const float one = level(a_range) * level(b_range);
  put_range(c, 1, {one * static_cast<float>(kLowest<std::int32_t>), one * static_cast<float>(kHighest<std::int32_t>)});
}

}  // namespace

// --- Registrations ---

CAUDAL_REGISTER_OP({.name = "QuantizedMatMul",
                    .inputs = "a: T1; b: T2; min_a: float; max_a: float; min_b: float; max_b: float",
                    .outputs = "out: Toutput; min_out: float; max_out: float",
                    .attrs = "T1: quantizedtype; T2: quantizedtype; Toutput: quantizedtype = DT_QINT32; "
                             "transpose_a: bool = false; transpose_b: bool = false; "
                             "Tactivation: quantizedtype = DT_QUINT8",
                    .shape = mat_mul_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_mat_mul>});
CAUDAL_REGISTER_OP({.name = "QuantizedRelu",
                    .inputs = "features: Tinput; min_features: float; max_features: float",
                    .outputs = "activations: out_type; min_activations: float; max_activations: float",
                    .attrs = "Tinput: quantizedtype; out_type: quantizedtype = DT_QUINT8",
                    .shape = unchanged_with_range,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_relu<false>>});
CAUDAL_REGISTER_OP({.name = "QuantizedRelu6",
                    .inputs = "features: Tinput; min_features: float; max_features: float",
                    .outputs = "activations: out_type; min_activations: float; max_activations: float",
                    .attrs = "Tinput: quantizedtype; out_type: quantizedtype = DT_QUINT8",
                    .shape = unchanged_with_range,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_relu<true>>});
CAUDAL_REGISTER_OP({.name = "RequantizationRange",
                    .inputs = "input: Tinput; input_min: float; input_max: float",
                    .outputs = "output_min: float; output_max: float",
                    .attrs = "Tinput: quantizedtype",
                    .shape = range_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_requantization_range>});
CAUDAL_REGISTER_OP({.name = "Requantize",
                    .inputs = "input: Tinput; input_min: float; input_max: float; requested_output_min: float; "
                              "requested_output_max: float",
                    .outputs = "output: out_type; output_min: float; output_max: float",
                    .attrs = "Tinput: quantizedtype; out_type: quantizedtype",
                    .shape = unchanged_with_range,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_requantize>});
CAUDAL_REGISTER_OP({.name = "QuantizeDownAndShrinkRange",
                    .inputs = "input: Tinput; input_min: float; input_max: float",
                    .outputs = "output: out_type; output_min: float; output_max: float",
                    .attrs = "Tinput: quantizedtype; out_type: quantizedtype",
                    .shape = unchanged_with_range,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_shrink>});

// --- Public functions ---

namespace quantization {
namespace {

Quantized quantized_of(Node& node) { return {node.output(0), node.output(1), node.output(2)}; }

}  // namespace

Quantized quantized_mat_mul(const Operand& a, const Operand& b, const Operand& min_a, const Operand& max_a,
                            const Operand& min_b, const Operand& max_b, bool transpose_a, bool transpose_b,
                            const OpOptions& options) {
  OpBuilder builder("QuantizedMatMul", options);
  builder.input(a).input(b);
  for (const Operand* bound : {&min_a, &max_a, &min_b, &max_b}) builder.input(*bound, DType::kFloat);
  return quantized_of(builder.attr("transpose_a", transpose_a).attr("transpose_b", transpose_b).build_node());
}

Quantized quantized_relu(const Operand& features, const Operand& min_features, const Operand& max_features,
                         const OpOptions& options) {
  return quantized_of(OpBuilder("QuantizedRelu", options)
                          .input(features)
                          .input(min_features, DType::kFloat)
                          .input(max_features, DType::kFloat)
                          .attr("out_type", common_dtype({&features}))
                          .build_node());
}

QuantizedRange requantization_range(const Operand& input, const Operand& input_min, const Operand& input_max,
                                    const OpOptions& options) {
  Node& node = OpBuilder("RequantizationRange", options)
                   .input(input)
                   .input(input_min, DType::kFloat)
                   .input(input_max, DType::kFloat)
                   .build_node();
  return {node.output(0), node.output(1)};
}

Quantized requantize(const Operand& input, const Operand& input_min, const Operand& input_max,
                     const Operand& requested_output_min, const Operand& requested_output_max, DType out_type,
                     const OpOptions& options) {
  OpBuilder builder("Requantize", options);
  builder.input(input);
  for (const Operand* bound : {&input_min, &input_max, &requested_output_min, &requested_output_max}) {
    builder.input(*bound, DType::kFloat);
  }
  return quantized_of(builder.attr("out_type", out_type).build_node());
}

}  // namespace quantization
}  // namespace caudal::inline v0
