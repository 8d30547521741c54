#include "caudal/ops/image_adjust.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/kernels/dispatch.h"
#include "caudal/ops/cast.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/image_codec.h"
#include "caudal/ops/image_color.h"
#include "caudal/ops/joining.h"
#include "caudal/ops/matmul.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/random.h"
#include "caudal/ops/reduction.h"
#include "caudal/ops/selection.h"
#include "caudal/ops/shape_ops.h"
#include "caudal/ops/stateless_random.h"

namespace caudal::inline v0::image {
namespace {

// ---- Types

struct Limits {
  double low, high;
};

Limits limits_of(DType dtype) {
  Limits limits{};
  if (dtype == DType::kHalf) return {-65504, 65504};
  if (dtype == DType::kBFloat16) return {-3.3895313892515355e38, 3.3895313892515355e38};
  using Types = kernels::TypeList<float, double, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                                  std::uint16_t, std::uint32_t, std::uint64_t>;
  kernels::dispatch(Types(), dtype, "a picture", [&]<class T>() {
    limits = {static_cast<double>(std::numeric_limits<T>::lowest()),
              static_cast<double>(std::numeric_limits<T>::max())};
  });
  return limits;
}

// Of an integer type, exactly.
std::uint64_t greatest(DType dtype) {
  switch (dtype) {
    case DType::kInt64:
      return std::numeric_limits<std::int64_t>::max();
    case DType::kUint64:
      return std::numeric_limits<std::uint64_t>::max();
    default:
      return static_cast<std::uint64_t>(limits_of(dtype).high);
  }
}

// A bound of `out` as the nearest float of type `in` inside it.
double inner_bound(double bound, DType in) {
  if (in == DType::kDouble) {
    const bool too_far = bound == 0x1p63 || bound == 0x1p64;
    return too_far ? std::nextafter(bound, 0.0) : bound;
  }
  const auto nearest = static_cast<float>(bound);
  if (in == DType::kFloat)
    return std::abs(nearest) > std::abs(bound) || nearest == 0x1p63F || nearest == 0x1p64F
               ? std::nextafter(nearest, 0.0F)
               : nearest;
  const Limits limits = limits_of(in);
  if (bound > limits.high || bound < limits.low) return bound > 0 ? limits.high : limits.low;
  // half and bfloat16: one step of their last bit towards zero where rounding went outside.
  const double scale = in == DType::kHalf ? 0x1p-11 : 0x1p-8;
  const double rounded = static_cast<double>(static_cast<float>(
      in == DType::kHalf ? static_cast<float>(Half(nearest)) : static_cast<float>(BFloat16(nearest))));
  return std::abs(rounded) > std::abs(bound) ? rounded * (1 - scale) : rounded;
}

Output saturated(const Output& x, DType dtype) {
  const Limits in = limits_of(x.dtype()), out = limits_of(dtype);
  if (in.low >= out.low && in.high <= out.high) return cast(x, dtype);
  if (is_floating(x.dtype())) {
    const auto bound = [&](double value) { return convert_number(Tensor(inner_bound(value, x.dtype())), x.dtype()); };
    return cast(clip_by_value(x, bound(std::max(in.low, out.low)), bound(std::min(in.high, out.high))), dtype);
  }
  const auto bound = [&](double value) { return convert_number(Tensor(static_cast<std::int64_t>(value)), x.dtype()); };
  Output y = x;
  if (in.low < out.low) y = maximum(y, bound(out.low));
  if (in.high > out.high) y = minimum(y, bound(out.high));
  return cast(y, dtype);
}

Operand number(std::uint64_t value, DType dtype) {
  return convert_number(Tensor(static_cast<std::int64_t>(value)), dtype);
}

Output converted(const Output& image, DType dtype, bool saturate) {
  const DType from = image.dtype();
  const bool from_float = is_floating(from), to_float_type = is_floating(dtype);
  if ((!from_float && !is_integer(from)) || (!to_float_type && !is_integer(dtype))) {
    throw invalid_argument("pictures are of floating or integer types, not ", from, " or ", dtype);
  }
  if (from == dtype) return image;
  const auto as_type = [&](const Output& x) { return saturate ? saturated(x, dtype) : cast(x, dtype); };
  if (from_float && to_float_type) return cast(image, dtype);
  if (from_float) {
    const double scale = static_cast<double>(greatest(dtype)) + 0.5;
    return as_type(image * convert_number(Tensor(scale), from));
  }
  if (to_float_type) {
    return cast(image, dtype) * convert_number(Tensor(1.0 / static_cast<double>(greatest(from))), dtype);
  }
  const std::uint64_t in = greatest(from), out = greatest(dtype);
  const auto half = [](std::uint64_t value) { return value / 2 + 1; };  // (value + 1) / 2, which does not overflow
  if (in > out) return as_type(floordiv(image, number(half(in) / half(out), from)));
  return as_type(image) * number(half(out) / half(in), dtype);
}

// fn of the picture in half or float32, and its result in the picture's own type.
template <class Fn>
Output in_own_type(const Operand& image, bool saturate, const Fn& fn) {
  const Output x = image.to_output();
  const bool as_it_is = x.dtype() == DType::kHalf || x.dtype() == DType::kFloat;
  return converted(fn(as_it_is ? x : converted(x, DType::kFloat, false)), x.dtype(), saturate);
}

Output draw(float lower, float upper, const RandomImageOptions& options) {
  return random_uniform(Tensor(DType::kInt32, {0}), {.minval = lower, .maxval = upper, .seed = options.seed});
}

Output draw(float lower, float upper, const Operand& seed) {
  return random::stateless_uniform(Tensor(DType::kInt32, {0}), seed, {.minval = lower, .maxval = upper});
}

void check_range(float lower, float upper) {
  if (!(lower >= 0 && upper > lower)) {
    throw invalid_argument("the factors from ", lower, " to ", upper, " must not be negative and leave some to draw");
  }
}

void check_delta(float max_delta, float most) {
  if (!(max_delta >= 0 && max_delta <= most)) {
    throw invalid_argument("max_delta is ", max_delta, "; 0 to ", most, " is wanted");
  }
}

void check_qualities(std::int64_t least, std::int64_t most) {
  if (least < 0 || most > 100 || least >= most) {
    throw invalid_argument("qualities from ", least, " to ", most, " must be from 0 to 100 and leave some to draw");
  }
}

// ---- Colour spaces

// x [..., 3] times a matrix [3, n], by rows.
Output times(const Output& x, const std::vector<double>& matrix) {
  const auto columns = static_cast<std::int64_t>(matrix.size()) / 3;
  const Output kernel = Operand(convert_number(Tensor::from<double>({3, columns}, matrix), x.dtype())).to_output();
  const Output flat = reshape(x, {-1, 3});
  const Output product = matmul(flat, kernel);
  const Output shape = shape_of(x);
  const Output outer = OpBuilder("StridedSlice", {}).input(shape).input({0}).input({-1}).input({1}).build();
  const Output result = reshape(product, concat({outer, int32_vector({columns})}, 0));
  if (x.shape().has_rank()) result.set_shape(x.shape().with_dim(x.shape().rank() - 1, columns));
  return result;
}

Output in_space(const Operand& images, const OpOptions& options, const std::vector<double>& matrix) {
  const LocationScope where(options.where);
  return times(images.to_output(), matrix);
}

}  // namespace

// ---- Public functions

Output convert_image_dtype(const Operand& image, DType dtype, const ConvertImageDtypeOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope(options.name.empty() ? "convert_image" : options.name);
  return converted(image.to_output(), dtype, options.saturate);
}

Output adjust_brightness(const Operand& image, const Operand& delta, const OpOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope("adjust_brightness");
  return in_own_type(image, true, [&](const Output& x) { return x + cast(delta.to_output(DType::kFloat), x.dtype()); });
}

Output adjust_contrast(const Operand& images, const Operand& contrast_factor, const OpOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope("adjust_contrast");
  return in_own_type(images, true, [&](const Output& x) { return raw_ops::adjust_contrast_v2(x, contrast_factor); });
}

Output adjust_gamma(const Operand& image, float gamma, float gain, const OpOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope("adjust_gamma");
  if (!(gamma >= 0)) throw invalid_argument("gamma is ", gamma, "; it must not be negative");
  return in_own_type(image, true, [&](const Output& x) { return gain * pow(x, gamma); });
}

Output adjust_hue(const Operand& image, const Operand& delta, const OpOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope("adjust_hue");
  return in_own_type(image, false, [&](const Output& x) { return raw_ops::adjust_hue(x, delta); });
}

Output adjust_saturation(const Operand& image, const Operand& saturation_factor, const OpOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope("adjust_saturation");
  return in_own_type(image, false, [&](const Output& x) { return raw_ops::adjust_saturation(x, saturation_factor); });
}

Output adjust_jpeg_quality(const Operand& image, const Operand& jpeg_quality, const OpOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope("adjust_jpeg_quality");
  const Output x = image.to_output();
  const PartialShape shape = x.shape();
  const Output file = encode_jpeg_variable_quality(converted(x, DType::kUint8, true), jpeg_quality);
  const std::int64_t channels = shape.has_rank() && shape.rank() == 3 && shape.dim(2) > 0 ? shape.dim(2) : 0;
  return converted(decode_jpeg(file, {.channels = channels}), x.dtype(), true);
}

Output random_brightness(const Operand& image, float max_delta, const RandomImageOptions& options) {
  const LocationScope where(options.where);
  check_delta(max_delta, std::numeric_limits<float>::max());
  return adjust_brightness(image, draw(-max_delta, max_delta, options));
}

Output random_contrast(const Operand& image, float lower, float upper, const RandomImageOptions& options) {
  const LocationScope where(options.where);
  check_range(lower, upper);
  return adjust_contrast(image, draw(lower, upper, options));
}

Output random_hue(const Operand& image, float max_delta, const RandomImageOptions& options) {
  const LocationScope where(options.where);
  check_delta(max_delta, 0.5F);
  return adjust_hue(image, draw(-max_delta, max_delta, options));
}

Output random_saturation(const Operand& image, float lower, float upper, const RandomImageOptions& options) {
  const LocationScope where(options.where);
  check_range(lower, upper);
  return adjust_saturation(image, draw(lower, upper, options));
}

Output random_jpeg_quality(const Operand& image, std::int64_t min_jpeg_quality, std::int64_t max_jpeg_quality,
                           const RandomImageOptions& options) {
  const LocationScope where(options.where);
  check_qualities(min_jpeg_quality, max_jpeg_quality);
  return adjust_jpeg_quality(image,
                             random_uniform(Tensor(DType::kInt32, {0}), {.minval = static_cast<int>(min_jpeg_quality),
                                                                         .maxval = static_cast<int>(max_jpeg_quality),
                                                                         .dtype = DType::kInt32,
                                                                         .seed = options.seed}));
}

Output stateless_random_brightness(const Operand& image, float max_delta, const Operand& seed,
                                   const OpOptions& options) {
  const LocationScope where(options.where);
  check_delta(max_delta, std::numeric_limits<float>::max());
  return adjust_brightness(image, draw(-max_delta, max_delta, seed));
}

Output stateless_random_contrast(const Operand& image, float lower, float upper, const Operand& seed,
                                 const OpOptions& options) {
  const LocationScope where(options.where);
  check_range(lower, upper);
  return adjust_contrast(image, draw(lower, upper, seed));
}

Output stateless_random_hue(const Operand& image, float max_delta, const Operand& seed, const OpOptions& options) {
  const LocationScope where(options.where);
  check_delta(max_delta, 0.5F);
  return adjust_hue(image, draw(-max_delta, max_delta, seed));
}

Output stateless_random_saturation(const Operand& image, float lower, float upper, const Operand& seed,
                                   const OpOptions& options) {
  const LocationScope where(options.where);
  check_range(lower, upper);
  return adjust_saturation(image, draw(lower, upper, seed));
}

Output stateless_random_jpeg_quality(const Operand& image, std::int64_t min_jpeg_quality, std::int64_t max_jpeg_quality,
                                     const Operand& seed, const OpOptions& options) {
  const LocationScope where(options.where);
  check_qualities(min_jpeg_quality, max_jpeg_quality);
  return adjust_jpeg_quality(image, random::stateless_uniform(Tensor(DType::kInt32, {0}), seed,
                                                              {.minval = static_cast<int>(min_jpeg_quality),
                                                               .maxval = static_cast<int>(max_jpeg_quality),
                                                               .dtype = DType::kInt32}));
}

Output gaussian_noise(const Operand& image, float stddev, const RandomImageOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope("gaussian_noise");
  const Output x = image.to_output();
  return x + random_normal(shape_of(x), {.stddev = stddev, .dtype = x.dtype(), .seed = options.seed});
}

Output per_image_standardization(const Operand& image, const OpOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope("per_image_standardization");
  const Output x = cast(image.to_output(), DType::kFloat);
  const Output sizes = OpBuilder("StridedSlice", {})
                           .input(shape_of(x))
                           .input({-3})
                           .input({0})
                           .input({1})
                           .attr("end_mask", std::int64_t{1})
                           .build();
  const Axes axes = {-1, -2, -3};
  const Output mean = reduce_mean(x, {.axis = axes, .keepdims = true});
  const Output deviation = sqrt(reduce_mean(square(x - mean), {.axis = axes, .keepdims = true}));
  return (x - mean) / maximum(deviation, rsqrt(to_float(reduce_prod(sizes))));
}

Output rgb_to_grayscale(const Operand& images, const OpOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope("rgb_to_grayscale");
  const Output x = images.to_output();
  return converted(times(converted(x, DType::kFloat, false), {0.2989, 0.587, 0.114}), x.dtype(), false);
}

Output grayscale_to_rgb(const Operand& images, const OpOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope("grayscale_to_rgb");
  const Output x = images.to_output();
  const PartialShape shape = x.shape();
  if (shape.has_rank() && (shape.rank() < 1 || (shape.dim(-1) >= 0 && shape.dim(-1) != 1))) {
    throw invalid_argument("a gray picture has one channel, not the shape ", shape);
  }
  return concat({x, x, x}, -1);
}

Output rgb_to_yiq(const Operand& images, const OpOptions& options) {
  return in_space(images, options,
                  {0.299, 0.59590059, 0.2115, 0.587, -0.27455667, -0.52273617, 0.114, -0.32134392, 0.31119955});
}

Output yiq_to_rgb(const Operand& images, const OpOptions& options) {
  return in_space(images, options, {1, 1, 1, 0.95598634, -0.27201283, -1.10674021, 0.6208248, -0.64720424, 1.70423049});
}

Output rgb_to_yuv(const Operand& images, const OpOptions& options) {
  return in_space(images, options,
                  {0.299, -0.14714119, 0.61497538, 0.587, -0.28886916, -0.51496512, 0.114, 0.43601035, -0.10001026});
}

Output yuv_to_rgb(const Operand& images, const OpOptions& options) {
  return in_space(images, options, {1, 1, 1, 0, -0.394642334, 2.03206185, 1.13988303, -0.58062185, 0});
}

}  // namespace caudal::inline v0::image
