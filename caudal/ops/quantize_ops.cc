#include "caudal/ops/quantize_ops.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/kernels/convert.h"
#include "caudal/ops/op_util.h"

namespace caudal::inline v0 {
namespace {

// --- Shape functions ---

PartialShape bounds_shape(ShapeContext& c) {
  const auto axis = c.attr<std::int64_t>("axis");
  if (axis < -1) throw invalid_argument("axis is ", axis, "; it must be at least -1");
  PartialShape bounds = c.with_rank(1, axis == -1 ? 0 : 1);
  bounds = merge_shapes(bounds, c.with_rank(2, axis == -1 ? 0 : 1));
  if (axis == -1) return bounds;
  const PartialShape input = c.with_rank_at_least(0, static_cast<int>(std::min<std::int64_t>(axis, kMaxRank)) + 1);
  if (!input.has_rank()) return bounds;
  return PartialShape({ShapeContext::merge_dim(bounds.dim(0), input.dim(static_cast<int>(axis)), "min_range")});
}

void quantize_shape(ShapeContext& c) {
  const PartialShape bounds = bounds_shape(c);
  c.set_output(0, c.input(0));
  c.set_output(1, bounds);
  c.set_output(2, bounds);
}

void dequantize_shape(ShapeContext& c) {
  bounds_shape(c);
  c.set_output(0, c.input(0));
}

// --- Kernels ---

enum class Mode { kMinCombined, kMinFirst, kScaled };

Mode mode_of(const NodeInfo& node) {
  const auto& mode = node.attr<std::string>("mode");
  return mode == "MIN_COMBINED" ? Mode::kMinCombined : mode == "MIN_FIRST" ? Mode::kMinFirst : Mode::kScaled;
}

// The slices along an axis; one without.
struct Slices {
  std::int64_t outer = 1, count = 1, inner = 1;
  Slices(const Tensor& tensor, std::int64_t axis, const Tensor& low, const Tensor& high) {
    if (axis < -1 || axis >= tensor.rank()) throw invalid_argument("axis ", axis, " is none of ", tensor.describe());
    for (int d = 0; d < tensor.rank(); ++d) {
      (axis == -1 || d > axis ? inner : d == axis ? count : outer) *= tensor.dim(d);
    }
    for (const Tensor* bound : {&low, &high}) {
      if (bound->num_elements() == count && (axis == -1 || bound->rank() == 1)) continue;
      throw invalid_argument("min_range and max_range must have ", count, " entries, not ", bound->describe());
    }
  }
  template <class Fn>
  void for_each(std::int64_t k, const Fn& fn) const {
    for (std::int64_t o = 0; o < outer; ++o) {
      const std::int64_t first = (o * count + k) * inner;
      for (std::int64_t i = first; i < first + inner; ++i) fn(i);
    }
  }
};

// Calls fn<Int>(): the integers behind a quantised type.
template <class Fn>
void with_integers(DType dtype, const Fn& fn) {
  switch (dtype) {
    case DType::kQint8:
      return fn.template operator()<std::int8_t>();
    case DType::kQuint8:
      return fn.template operator()<std::uint8_t>();
    case DType::kQint16:
      return fn.template operator()<std::int16_t>();
    case DType::kQuint16:
      return fn.template operator()<std::uint16_t>();
    case DType::kQint32:
      return fn.template operator()<std::int32_t>();
    default:
      throw unimplemented("no kernel for ", dtype, " on CPU");
  }
}

template <class Int>
constexpr float kLeast = static_cast<float>(std::numeric_limits<Int>::min());
template <class Int>
constexpr float kGreatest = static_cast<float>(std::numeric_limits<Int>::max());
// Half of the integers, where they are signed.
template <class Int>
constexpr float kHalf = std::numeric_limits<Int>::is_signed
                            ? static_cast<float>((static_cast<double>(std::numeric_limits<Int>::max()) -
                                                  static_cast<double>(std::numeric_limits<Int>::min()) + 1) /
                                                 2)
                            : 0;

// The last float that is an int32.
constexpr float kLastFloat = 2147483520;

// To the nearest integer of the type: floats beyond it become its ends.
template <class Int>
Int saturated(float value) {
  constexpr double kLow = std::numeric_limits<Int>::min(), kHigh = std::numeric_limits<Int>::max();
  return static_cast<Int>(std::clamp(static_cast<double>(value), kLow, kHigh));
}

struct Range {
  float low, high;
};

// With 0 inside, and wide enough.
Range usable_range(float low, float high, float least_width) {
  if (high < low) throw invalid_argument("min_range ", low, " must not be greater than max_range ", high);
  const float epsilon = std::max(1.0F, std::max(std::abs(low), std::abs(high))) * least_width;
  const float from = std::min(0.0F, low);
  return {from, std::max(0.0F, std::max(high, from + epsilon))};
}

class QuantizeKernel final : public Kernel {
 public:
  explicit QuantizeKernel(const NodeInfo& node)
      : mode_(mode_of(node)),
        to_even_(node.attr<std::string>("round_mode") == "HALF_TO_EVEN"),
        narrow_(node.attr<bool>("narrow_range")),
        axis_(node.attr<std::int64_t>("axis")),
        least_width_(node.attr<float>("ensure_minimum_range")) {
    if (to_even_ && mode_ != Mode::kScaled) {
      throw invalid_argument("round_mode HALF_TO_EVEN is only for mode SCALED, not ", node.attr<std::string>("mode"));
    }
  }

  void run(RunContext& c) const override {
    const Tensor &in = c.input(0), &low = c.input(1), &high = c.input(2);
    const Slices slices(in, axis_, low, high);
    if (slices.count > 1 && mode_ == Mode::kMinFirst) throw unimplemented("MIN_FIRST along an axis");
    Tensor& out = c.allocate_output(0, in.shape());
    const Shape bounds = axis_ == -1 ? Shape{} : Shape{slices.count};
    float *out_low = c.allocate_output(1, bounds).data<float>(), *out_high = c.allocate_output(2, bounds).data<float>();
    with_integers(out.dtype(), [&]<class Int>() {
      for (std::int64_t k = 0; k < slices.count; ++k) {
        const Range range = usable_range(low.data<float>()[k], high.data<float>()[k], least_width_);
        const Range used = quantize<Int>(range, slices, k, in.data<float>(), reinterpret_cast<Int*>(out.raw()));
        out_low[k] = used.low;
        out_high[k] = used.high;
      }
    });
  }

 private:
  // Returns the range that the integers stand for.
  template <class Int>
  Range quantize(const Range& range, const Slices& slices, std::int64_t k, const float* in, Int* out) const {
    if (mode_ == Mode::kScaled) return quantize_scaled<Int>(range, slices, k, in, out);
    const double steps =
        static_cast<double>(std::numeric_limits<Int>::max()) - static_cast<double>(std::numeric_limits<Int>::min());
    const auto scale = static_cast<float>(steps / static_cast<double>(range.high - range.low));
    if (mode_ == Mode::kMinFirst) {
      const float offset = std::round(range.low * scale) - kLeast<Int>;
      slices.for_each(k, [&](std::int64_t i) {
        out[i] = saturated<Int>(std::min(std::round(in[i] * scale) - offset, kLastFloat));
      });
      return range;
    }
    slices.for_each(k, [&](std::int64_t i) {
      const float place = (std::max(std::min(in[i], range.high), range.low) - range.low) * scale;
      out[i] = saturated<Int>(std::numeric_limits<Int>::is_signed ? std::round(place - kHalf<Int>)
                                                                  : std::floor(place + 0.5F));
    });
    return range;
  }

  template <class Int>
  Range quantize_scaled(const Range& range, const Slices& slices, std::int64_t k, const float* in, Int* out) const {
    const float least = kLeast<Int> + (narrow_ ? 1.0F : 0.0F), greatest = kGreatest<Int>;
    constexpr float kUnlimited = std::numeric_limits<float>::max();
    const float scale = std::min(least * range.low > 0 ? least / range.low : kUnlimited,
                                 greatest * range.high > 0 ? greatest / range.high : kUnlimited);
    const Range used = {least / scale, greatest / scale};
    slices.for_each(k, [&](std::int64_t i) {
      const float place = std::max(std::min(in[i], used.high), used.low) * scale;
      out[i] = saturated<Int>(to_even_ ? std::nearbyint(place) : std::round(place));
    });
    return used;
  }

  Mode mode_;
  bool to_even_, narrow_;
  std::int64_t axis_;
  float least_width_;
};

class DequantizeKernel final : public Kernel {
 public:
  explicit DequantizeKernel(const NodeInfo& node)
      : mode_(mode_of(node)), narrow_(node.attr<bool>("narrow_range")), axis_(node.attr<std::int64_t>("axis")) {
    if (node.output_types[0] != DType::kFloat && mode_ != Mode::kMinCombined) {
      throw invalid_argument("with dtype bfloat16 the mode must be MIN_COMBINED");
    }
  }

  void run(RunContext& c) const override {
    const Tensor &in = c.input(0), &low = c.input(1), &high = c.input(2);
    const Slices slices(in, axis_, low, high);
    if (slices.count > 1 && mode_ == Mode::kMinFirst) throw unimplemented("MIN_FIRST along an axis");
    Tensor& out = c.allocate_output(0, in.shape());
    const bool narrow_float = out.dtype() != DType::kFloat;
    Tensor wide = narrow_float ? c.allocate_temporary(DType::kFloat, in.shape()) : out;
    with_integers(in.dtype(), [&]<class Int>() {
      for (std::int64_t k = 0; k < slices.count; ++k) {
        dequantize<Int>({low.data<float>()[k], high.data<float>()[k]}, slices, k,
                        reinterpret_cast<const Int*>(in.raw()), wide.data<float>());
      }
    });
    if (narrow_float) kernels::narrow(c.pool(), out.dtype(), wide.data<float>(), out.raw(), out.num_elements());
  }

 private:
  template <class Int>
  void dequantize(const Range& range, const Slices& slices, std::int64_t k, const Int* in, float* out) const {
    const auto value = [&](std::int64_t i) { return static_cast<float>(in[i]); };
    if (mode_ == Mode::kScaled) {
      const float least = kLeast<Int> + (narrow_ ? 1.0F : 0.0F);
      const float scale = std::numeric_limits<Int>::is_signed ? std::max(range.low / least, range.high / kGreatest<Int>)
                                                              : range.high / kGreatest<Int>;
      slices.for_each(k, [&](std::int64_t i) { out[i] = value(i) * scale; });
    } else if (mode_ == Mode::kMinCombined) {
      const float scale = (range.high - range.low) / (kGreatest<Int> - kLeast<Int>);
      slices.for_each(k, [&](std::int64_t i) { out[i] = (value(i) + kHalf<Int>)*scale + range.low; });
    } else {
      const double steps = std::ldexp(1.0, 8 * static_cast<int>(sizeof(Int))) - 1;
      const auto scale = static_cast<float>(static_cast<double>(range.high - range.low) / steps);
      const float start = range.high == range.low ? range.low : std::round(range.low / scale) * scale;
      slices.for_each(k, [&](std::int64_t i) { out[i] = (start - kLeast<Int> * scale) + value(i) * scale; });
    }
  }

  Mode mode_;
  bool narrow_;
  std::int64_t axis_;
};

template <class K>
std::unique_ptr<Kernel> prepare(PrepareContext& c) {
  return std::make_unique<K>(c.node());
}

}  // namespace

// --- Registrations ---

CAUDAL_REGISTER_OP({.name = "QuantizeV2",
                    .inputs = "input: float; min_range: float; max_range: float",
                    .outputs = "output: T; output_min: float; output_max: float",
                    .attrs = "T: quantizedtype; mode: {'MIN_COMBINED', 'MIN_FIRST', 'SCALED'} = 'MIN_COMBINED'; "
                             "round_mode: {'HALF_AWAY_FROM_ZERO', 'HALF_TO_EVEN'} = 'HALF_AWAY_FROM_ZERO'; "
                             "narrow_range: bool = false; axis: int = -1; ensure_minimum_range: float = 0.01",
                    .shape = quantize_shape,
                    .gradient = no_gradient,
                    .cpu = prepare<QuantizeKernel>});
CAUDAL_REGISTER_OP({.name = "Dequantize",
                    .inputs = "input: T; min_range: float; max_range: float",
                    .outputs = "output: dtype",
                    .attrs = "T: quantizedtype; mode: {'MIN_COMBINED', 'MIN_FIRST', 'SCALED'} = 'MIN_COMBINED'; "
                             "narrow_range: bool = false; axis: int = -1; dtype: {bfloat16, float} = DT_FLOAT",
                    .shape = dequantize_shape,
                    .gradient = no_gradient,
                    .cpu = prepare<DequantizeKernel>});

// --- Public functions ---

namespace quantization {

Quantized quantize(const Operand& input, const Operand& min_range, const Operand& max_range, DType dtype,
                   const QuantizeOptions& options) {
  Node& node = OpBuilder("QuantizeV2", {.name = options.name, .where = options.where})
                   .input(input, DType::kFloat)
                   .input(min_range, DType::kFloat)
                   .input(max_range, DType::kFloat)
                   .attr("T", dtype)
                   .attr("mode", options.mode)
                   .attr("round_mode", options.round_mode)
                   .attr("narrow_range", options.narrow_range)
                   .attr("axis", options.axis)
                   .attr("ensure_minimum_range", options.ensure_minimum_range)
                   .build_node();
  return {node.output(0), node.output(1), node.output(2)};
}

Output dequantize(const Operand& input, const Operand& min_range, const Operand& max_range,
                  const DequantizeOptions& options) {
  return OpBuilder("Dequantize", {.name = options.name, .where = options.where})
      .input(input)
      .input(min_range, DType::kFloat)
      .input(max_range, DType::kFloat)
      .attr("mode", options.mode)
      .attr("narrow_range", options.narrow_range)
      .attr("axis", options.axis)
      .attr("dtype", options.dtype)
      .build();
}

}  // namespace quantization
}  // namespace caudal::inline v0
