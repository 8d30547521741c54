#include "caudal/ops/image_color.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "caudal/autodiff/gradient.h"
#include "caudal/base/error.h"
#include "caudal/base/thread_pool.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/kernels/dispatch.h"
#include "caudal/kernels/numeric.h"
#include "caudal/ops/cast.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/joining.h"

namespace caudal::inline v0 {
namespace {

constexpr std::int64_t kGrain = 2048;  // pixels

// ---- Shape functions

void colors_shape(ShapeContext& c) {
  PartialShape images = c.with_rank_at_least(0, 1);
  if (images.has_rank()) {
    ShapeContext::merge_dim(images.dim(-1), 3, "the channels");
    images = images.with_dim(images.rank() - 1, 3);
  }
  c.set_output(0, images);
}

void adjusted_shape(ShapeContext& c) {
  c.with_rank(1, 0);
  c.set_output(0, c.with_rank_at_least(0, 3));
}

// ---- Kernels of RGB and HSV

// Arithmetic in which every result is rounded to T.
template <class T>
struct Rounding {
  using Wide = kernels::Wide<T>;
  static Wide r(Wide x) { return static_cast<Wide>(static_cast<T>(x)); }
  static Wide third(int i) { return r(static_cast<Wide>(i) / 6); }
};

template <class T>
struct ToHsv : Rounding<T> {
  using typename Rounding<T>::Wide;
  using Rounding<T>::r;
  using Rounding<T>::third;

  static void pixel(const T* in, T* out) {
    const auto red = static_cast<Wide>(in[0]), green = static_cast<Wide>(in[1]), blue = static_cast<Wide>(in[2]);
    const Wide value = std::max({red, green, blue}), range = r(value - std::min({red, green, blue}));
    const Wide norm = r(r(1 / range) * third(1));
    Wide hue = 0;
    if (range > 0) {
      if (red == value) {
        hue = r(norm * r(green - blue));
      } else if (green == value) {
        hue = r(r(norm * r(blue - red)) + third(2));
      } else {
        hue = r(r(norm * r(red - green)) + third(4));
      }
    }
    if (hue < 0) hue = r(hue + 1);
    out[0] = static_cast<T>(hue);
    out[1] = static_cast<T>(value > 0 ? range / value : Wide(0));
    out[2] = static_cast<T>(value);
  }
};

template <class T>
struct ToRgb : Rounding<T> {
  using typename Rounding<T>::Wide;
  using Rounding<T>::r;

  static void pixel(const T* in, T* out) {
    const auto saturation = static_cast<Wide>(in[1]), value = static_cast<Wide>(in[2]);
    const Wide hue = r(static_cast<Wide>(in[0]) * 6), rest = r(1 - saturation);
    const auto share = [](Wide x) { return std::min(std::max(x, Wide(0)), Wide(1)); };
    const Wide red = share(r(std::abs(r(hue - 3)) - 1));
    const Wide green = share(r(2 - std::abs(r(hue - 2)))), blue = share(r(2 - std::abs(r(hue - 4))));
    int k = 0;
    for (const Wide color : {red, green, blue}) out[k++] = static_cast<T>(r(rest + r(saturation * color)) * value);
  }
};

template <template <class> class Conversion>
void run_colors(RunContext& c) {
  const Tensor& images = c.input(0);
  if (images.rank() < 1) throw invalid_argument("pictures must have at least 1 dimension, not ", images.describe());
  if (images.shape()[-1] != 3) {
    throw failed_precondition("the pictures ", images.describe(), " must have 3 channels");
  }
  Tensor& out = c.allocate_output(0, images.shape());
  kernels::dispatch(kernels::FloatTypes(), images.dtype(), "a colour conversion", [&]<class T>() {
    const T* from = images.data<T>();
    T* to = out.data<T>();
    c.pool().parallel_for(images.num_elements() / 3, kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (; begin < end; ++begin) Conversion<T>::pixel(from + 3 * begin, to + 3 * begin);
    });
  });
}

// ---- Kernels of the adjustments

void check_adjusted(const Tensor& images, const Tensor& amount, std::string_view what, bool three_channels) {
  if (images.dtype() != DType::kFloat) throw unimplemented("no kernel for ", images.dtype(), " on CPU");
  if (images.rank() < 3) {
    throw invalid_argument("the pictures must have at least 3 dimensions, not ", images.describe());
  }
  if (amount.rank() != 0) throw invalid_argument(what, " must be a scalar, not ", amount.describe());
  if (three_channels && images.shape()[-1] != 3) {
    throw invalid_argument("the pictures ", images.describe(), " must have 3 channels");
  }
}

// The means of the channels, summed as TensorFlow does: halves of the picture onto each other.
std::vector<float> channel_means(const float* picture, std::int64_t pixels, std::int64_t channels) {
  std::int64_t left = pixels - pixels / 2;
  std::vector<float> sums(picture, picture + left * channels);
  for (std::int64_t i = 0; i < pixels / 2 * channels; ++i) sums[i] = picture[left * channels + i] + picture[i];
  while (left > 1) {
    const std::int64_t right = left / 2;
    left -= right;
    for (std::int64_t i = 0; i < right * channels; ++i) sums[i] += sums[left * channels + i];
  }
  const float scale = 1.0F / static_cast<float>(pixels);
  sums.resize(static_cast<std::size_t>(channels));
  for (float& sum : sums) sum *= scale;
  return sums;
}

void run_contrast(RunContext& c) {
  const Tensor& images = c.input(0);
  check_adjusted(images, c.input(1), "contrast_factor", false);
  const float factor = c.input(1).item<float>();
  Tensor& out = c.allocate_output(0, images.shape());
  if (images.num_elements() == 0) return;
  const std::int64_t channels = images.shape()[-1], pixels = images.shape()[-2] * images.shape()[-3];
  const auto* from = images.data<float>();
  auto* to = out.data<float>();
  c.pool().parallel_for(images.num_elements() / (pixels * channels), 1, [&](std::int64_t begin, std::int64_t end) {
    for (; begin < end; ++begin) {
      const std::int64_t first = begin * pixels * channels;
      const std::vector<float> means = channel_means(from + first, pixels, channels);
      for (std::int64_t i = 0; i < pixels * channels; ++i) {
        const float mean = means[i % channels];
        to[first + i] = mean + factor * (from[first + i] - mean);
      }
    }
  });
}

// Which of the six sectors of the colour circle: red to yellow, yellow to green, ...
struct Sector {
  int strongest, middle, weakest;  // channels
};
constexpr std::array<Sector, 6> kSectors = {{{0, 1, 2}, {1, 0, 2}, {1, 2, 0}, {2, 1, 0}, {2, 0, 1}, {0, 2, 1}}};

// Colours that are equally strong may count either way; these choices are TensorFlow's.
int sector_of(const float* p) {
  const float r = p[0], g = p[1], b = p[2];
  if (r < g) return b < r ? 1 : b > g ? 3 : 2;
  return b < g ? 0 : b > r ? 4 : 5;
}

// Into [0, circle).
float wrapped(float x, float circle) {
  if (!std::isfinite(x)) return x;
  if (std::abs(x) > 16 * circle) x = std::fmod(x, circle);  // else subtracting is what TensorFlow does
  while (x < 0) x += circle;
  while (x >= circle) x -= circle;
  return x;
}

void turn_hue(const float* in, float delta, float* out) {
  const int sector = sector_of(in);
  const Sector& from = kSectors[sector];
  const float high = in[from.strongest], low = in[from.weakest];
  float hue = 0;
  if (high != low) {
    const float ratio = (in[from.middle] - low) / (high - low);
    hue = static_cast<float>(sector) + (sector % 2 == 0 ? ratio : 1 - ratio);
  }
  hue = wrapped(hue + delta * 6, 6.0F);
  const int target = hue >= 0 && hue < 6 ? static_cast<int>(hue) : 5;  // 5 also for what is no number
  float ratio = hue - static_cast<float>(target);
  if (target % 2 != 0) ratio = 1 - ratio;
  const float middle = low + ratio * (high - low);
  const Sector& to = kSectors[target];
  out[to.strongest] = high;
  out[to.middle] = middle;
  out[to.weakest] = low;
}

void scale_saturation(const float* in, float scale, float* out) {
  const float value = std::max(in[0], std::max(in[1], in[2]));
  const float range = value - std::min(in[0], std::min(in[1], in[2]));
  float saturation = value > 0 ? range / value : 0.0F;
  const float norm = 1.0F / (6.0F * range);
  float hue;
  if (in[0] == value) {
    hue = norm * (in[1] - in[2]);
  } else if (in[1] == value) {
    hue = static_cast<float>(norm * (in[2] - in[0]) + 2.0 / 6.0);
  } else {
    hue = static_cast<float>(norm * (in[0] - in[1]) + 4.0 / 6.0);
  }
  if (range <= 0) hue = 0;
  if (hue < 0) hue += 1;
  saturation = std::min(1.0F, std::max(0.0F, saturation * scale));

  const float chroma = saturation * value, base = value - chroma, place = hue * 6;
  float even = place;  // the place within a pair of sectors
  if (std::isfinite(even)) {
    if (even <= 0) even += 2;
    even = wrapped(even, 2.0F);
  }
  const float middle = chroma * (1 - std::abs(even - 1));
  out[0] = out[1] = out[2] = base;
  if (!(place >= 0 && place < 6)) return;
  const Sector& to = kSectors[static_cast<int>(place)];
  out[to.strongest] = chroma + base;
  out[to.middle] = middle + base;
  out[to.weakest] = 0 + base;
}

template <void (*pixel)(const float*, float, float*)>
void run_adjust(RunContext& c) {
  const Tensor& images = c.input(0);
  check_adjusted(images, c.input(1), "the amount", true);
  const float amount = c.input(1).item<float>();
  Tensor& out = c.allocate_output(0, images.shape());
  const auto* from = images.data<float>();
  auto* to = out.data<float>();
  c.pool().parallel_for(images.num_elements() / 3, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (; begin < end; ++begin) pixel(from + 3 * begin, amount, to + 3 * begin);
  });
}

// ---- Gradients

// One colour x as seen in the circle x, y, z (red, green, blue and around).
struct Color {
  Output value, positive, biggest, smallest;
};

Output reciprocal_or_zero(const Output& x) { return div_no_nan(convert_number(Tensor(1.0F), x.dtype()), x); }

// d saturation / d x.
Output saturation_slope(const Color& x, const Color& y, const Color& z) {
  const Output as_biggest =
      x.biggest * (y.smallest * y.value + z.smallest * z.value) * reciprocal_or_zero(square(x.value));
  const Output as_smallest = x.smallest * -1 * reciprocal_or_zero(y.biggest * y.value + z.biggest * z.value);
  return x.positive * (as_biggest + as_smallest);
}

// d hue / d x: five cases by which colour is the strongest and which the weakest, in degrees, then in circles.
Output hue_slope(const Color& x, const Color& y, const Color& z, const Output& saturation, const Output& value) {
  const Output next = z.value - y.value;
  const Output biggest =
      x.positive * x.biggest * next * reciprocal_or_zero(square(saturation)) * reciprocal_or_zero(square(value));
  const Output y_then_z = y.positive * y.biggest * x.smallest * next * reciprocal_or_zero(square(x.value - y.value));
  const Output y_over_z = y.positive * y.biggest * z.smallest * reciprocal_or_zero(next);
  const Output z_then_y = z.positive * z.biggest * x.smallest * next * reciprocal_or_zero(square(z.value - x.value));
  const Output z_over_y = z.positive * z.biggest * y.smallest * reciprocal_or_zero(next);
  return (60 * biggest + 60 * y_then_z + 60 * y_over_z + 60 * z_then_y + 60 * z_over_y) / 360;
}

void rgb_to_hsv_gradient(GradientContext& c) {
  const DType dtype = c.input(0).dtype();
  const auto rgb = split(c.input(0), 3, -1), hsv = split(c.output(0), 3, -1), grads = split(c.grad(0), 3, -1);
  const auto flag = [&](const Output& condition) { return cast(condition, dtype); };
  const Output &r = rgb[0], &g = rgb[1], &b = rgb[2];
  const std::array<Color, 3> colors = {{
      {r, flag(greater(r, 0)), flag(logical_and(greater_equal(r, b), greater_equal(r, g))),
       flag(logical_and(less(r, b), less(r, g)))},
      {g, flag(greater(g, 0)), flag(logical_and(greater(g, r), greater_equal(g, b))),
       flag(logical_and(less_equal(g, r), less(g, b)))},
      {b, flag(greater(b, 0)), flag(logical_and(greater(b, r), greater(b, g))),
       flag(logical_and(less_equal(b, r), less_equal(b, g)))},
  }};
  std::vector<Output> parts;
  for (int i = 0; i < 3; ++i) {
    const Color &x = colors[i], &y = colors[(i + 1) % 3], &z = colors[(i + 2) % 3];
    parts.push_back(grads[2] * x.biggest + grads[1] * saturation_slope(x, y, z) +
                    grads[0] * hue_slope(x, y, z, hsv[1], hsv[2]));
  }
  c.set_input_grad(0, concat(parts, -1));
}

// ---- Registrations

CAUDAL_REGISTER_OP({
    .name = "RGBToHSV",
    .inputs = "images: T",
    .outputs = "output: T",
    .attrs = "T: {half, bfloat16, float, double} = DT_FLOAT",
    .shape = colors_shape,
    .gradient = rgb_to_hsv_gradient,
    .cpu = kernel_of<run_colors<ToHsv>>,
});
CAUDAL_REGISTER_OP({
    .name = "HSVToRGB",
    .inputs = "images: T",
    .outputs = "output: T",
    .attrs = "T: {half, bfloat16, float, double} = DT_FLOAT",
    .shape = colors_shape,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_colors<ToRgb>>,
});
CAUDAL_REGISTER_OP({
    .name = "AdjustContrastv2",
    .inputs = "images: T; contrast_factor: float",
    .outputs = "output: T",
    .attrs = "T: {half, float} = DT_FLOAT",
    .shape = adjusted_shape,
    .gradient = no_gradient,
    .cpu = kernel_of<run_contrast>,
});
CAUDAL_REGISTER_OP({
    .name = "AdjustHue",
    .inputs = "images: T; delta: float",
    .outputs = "output: T",
    .attrs = "T: {half, float} = DT_FLOAT",
    .shape = adjusted_shape,
    .gradient = no_gradient,
    .cpu = kernel_of<run_adjust<turn_hue>>,
});
CAUDAL_REGISTER_OP({
    .name = "AdjustSaturation",
    .inputs = "images: T; scale: float",
    .outputs = "output: T",
    .attrs = "T: {half, float} = DT_FLOAT",
    .shape = adjusted_shape,
    .gradient = no_gradient,
    .cpu = kernel_of<run_adjust<scale_saturation>>,
});

Output adjusted(std::string_view op, const Operand& images, const Operand& amount, const OpOptions& options) {
  return OpBuilder(op, options).input(images, DType::kFloat).input(amount, DType::kFloat).build();
}

}  // namespace

// ---- Public functions

Output image::rgb_to_hsv(const Operand& images, const OpOptions& options) {
  return OpBuilder("RGBToHSV", options).input(images).build();
}

Output image::hsv_to_rgb(const Operand& images, const OpOptions& options) {
  return OpBuilder("HSVToRGB", options).input(images).build();
}

Output raw_ops::adjust_contrast_v2(const Operand& images, const Operand& contrast_factor, const OpOptions& options) {
  return adjusted("AdjustContrastv2", images, contrast_factor, options);
}

Output raw_ops::adjust_hue(const Operand& images, const Operand& delta, const OpOptions& options) {
  return adjusted("AdjustHue", images, delta, options);
}

Output raw_ops::adjust_saturation(const Operand& images, const Operand& scale, const OpOptions& options) {
  return adjusted("AdjustSaturation", images, scale, options);
}

}  // namespace caudal::inline v0
