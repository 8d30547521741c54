#include "caudal/ops/projective_transform.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "caudal/autodiff/gradient.h"
#include "caudal/base/error.h"
#include "caudal/base/thread_pool.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/kernels/dispatch.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/image_util.h"
#include "caudal/ops/joining.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/shape_ops.h"
#include "caudal/ops/slicing.h"

namespace caudal::inline v0 {
namespace {

// ---- Shape functions

void transform_shape(ShapeContext& c) {
  const PartialShape images = c.with_rank(0, 4);
  set_sized_image(c, 2, images.dim(0), images.dim(3));
}

// ---- Kernels

enum class Fill { kConstant, kReflect, kWrap, kNearest };

// The place in [0, size - 1] whose colour a place outside has; scipy.ndimage's rules.
float reflected(float at, std::int64_t size) {
  if (size <= 1) return 0;
  const auto n = static_cast<float>(size), period = 2 * n;
  if (at < 0) {
    at = period * std::trunc(-at / period) + at;
    return at < -n ? at + period : -at - 1;
  }
  if (at > n - 1) {
    at -= period * std::trunc(at / period);
    if (at >= n) at = period - at - 1;
  }
  return at;
}

float wrapped(float at, std::int64_t size) {
  if (size <= 1) return at < 0 || at > 0 ? 0 : at;
  const auto n = static_cast<float>(size), steps = n - 1;
  if (at < 0) return at + n * (std::trunc(-at / steps) + 1);
  if (at > steps) return at - n * std::trunc(at / steps);
  return at;
}

float mapped(Fill fill, float at, std::int64_t size) {
  if (fill == Fill::kConstant) return at;
  if (fill == Fill::kReflect) at = reflected(at, size);
  if (fill == Fill::kWrap) at = wrapped(at, size);
  return std::clamp(at, 0.0F, static_cast<float>(size - 1));
}

template <class T>
struct Picture {
  const T* pixels;
  std::int64_t height, width, channels;
  T outside;

  T read(float y, float x, std::int64_t channel) const {
    // Written so that a place that is no number is outside.
    if (!(y >= 0 && y < static_cast<float>(height) && x >= 0 && x < static_cast<float>(width))) return outside;
    return pixels[(static_cast<std::int64_t>(y) * width + static_cast<std::int64_t>(x)) * channels + channel];
  }

  void nearest(float y, float x, T* out) const {
    for (std::int64_t k = 0; k < channels; ++k) out[k] = read(std::round(y), std::round(x), k);
  }

  void bilinear(float y, float x, T* out) const {
    const float top = std::floor(y), left = std::floor(x), bottom = top + 1, right = left + 1;
    for (std::int64_t k = 0; k < channels; ++k) {
      const auto line = [&](float row) {
        return (right - x) * static_cast<float>(read(row, left, k)) +
               (x - left) * static_cast<float>(read(row, right, k));
      };
      out[k] = to_pixel((bottom - y) * line(top) + (y - top) * line(bottom));
    }
  }

  static T to_pixel(float value) {
    if constexpr (std::is_integral_v<T>) {
      // Beyond the type's range C++ leaves the result open.
      constexpr auto kLow = static_cast<float>(std::numeric_limits<T>::min());
      constexpr auto kHigh = static_cast<float>(std::numeric_limits<T>::max());
      if (!(value >= kLow)) return std::numeric_limits<T>::min();
      return value >= kHigh ? std::numeric_limits<T>::max() : static_cast<T>(value);
    } else {
      return static_cast<T>(value);
    }
  }
};

struct Mode {
  Fill fill;
  bool bilinear;
};

Mode mode_of(const NodeInfo& node) {
  const auto& interpolation = node.attr<std::string>("interpolation");
  if (interpolation != "NEAREST" && interpolation != "BILINEAR") {
    throw invalid_argument("interpolation '", interpolation, "' is unknown; NEAREST or BILINEAR is wanted");
  }
  const bool bilinear = interpolation == "BILINEAR";
  const auto& fill = node.attr<std::string>("fill_mode");
  if (fill == "CONSTANT") return {Fill::kConstant, bilinear};
  if (fill == "REFLECT") return {Fill::kReflect, bilinear};
  if (fill == "WRAP") return {Fill::kWrap, bilinear};
  if (fill == "NEAREST") return {Fill::kNearest, bilinear};
  throw invalid_argument("fill_mode '", fill, "' is unknown; CONSTANT, REFLECT, WRAP or NEAREST is wanted");
}

template <class T>
void transform_row(const Picture<T>& picture, const Mode& mode, const float* t, std::int64_t row, std::int64_t width,
                   T* out) {
  const auto y = static_cast<float>(row);
  for (std::int64_t column = 0; column < width; ++column, out += picture.channels) {
    const auto x = static_cast<float>(column);
    const float projection = t[6] * x + t[7] * y + 1.0F;
    if (projection == 0) {  // infinitely far
      std::fill_n(out, picture.channels, picture.outside);
      continue;
    }
    const float in_x = mapped(mode.fill, (t[0] * x + t[1] * y + t[2]) / projection, picture.width);
    const float in_y = mapped(mode.fill, (t[3] * x + t[4] * y + t[5]) / projection, picture.height);
    mode.bilinear ? picture.bilinear(in_y, in_x, out) : picture.nearest(in_y, in_x, out);
  }
}

void run_transform(RunContext& c) {
  const Tensor& images = c.input(0);
  const Tensor& transforms = c.input(1);
  const Mode mode = mode_of(c.node());
  check_rank(images, 4, "images");
  if (transforms.rank() != 2 || transforms.dim(1) != 8 ||
      (transforms.dim(0) != images.dim(0) && transforms.dim(0) != 1)) {
    throw invalid_argument("transforms ", transforms.describe(), " must be [1 or batch, 8] for images ",
                           images.describe());
  }
  const auto [height, width] = image_size_from(c.input(2), "output_shape");
  float outside = 0;
  if (c.num_inputs() > 3) {
    if (c.input(3).rank() != 0) throw invalid_argument("fill_value must be a scalar, not ", c.input(3).describe());
    outside = c.input(3).item<float>();
  }
  Tensor& out = c.allocate_output(0, Shape{images.dim(0), height, width, images.dim(3)});
  if (out.num_elements() == 0) return;
  const std::int64_t picture_size = images.dim(1) * images.dim(2) * images.dim(3), row_size = width * images.dim(3);
  using Types = kernels::TypeList<std::uint8_t, std::int32_t, std::int64_t, Half, BFloat16, float, double>;
  kernels::dispatch(
      Types(), images.dtype(), "ImageProjectiveTransform", [&, height = height, width = width]<class T>() {
        const std::int64_t grain = std::max<std::int64_t>(1, 4096 / row_size);
        c.pool().parallel_for(images.dim(0) * height, grain, [&](std::int64_t begin, std::int64_t end) {
          for (; begin < end; ++begin) {
            const std::int64_t i = begin / height;
            const Picture<T> picture{images.data<T>() + i * picture_size, images.dim(1), images.dim(2), images.dim(3),
                                     Picture<T>::to_pixel(outside)};
            const float* transform = transforms.data<float>() + (transforms.dim(0) == 1 ? 0 : 8 * i);
            transform_row(picture, mode, transform, begin % height, width, out.data<T>() + begin * row_size);
          }
        });
      });
}

// ---- Gradients

// The inverse maps: adjugates, divided by their last entry (so that the determinants cancel).
Output inverse_transforms(const Output& transforms) {
  const std::vector<Output> t = split(transforms, 8, 1);
  const Output &a = t[0], &b = t[1], &c = t[2], &d = t[3], &e = t[4], &f = t[5], &g = t[6], &h = t[7];
  const std::vector<Output> adjugate = {e - f * h, c * h - b,     b * f - c * e, f * g - d,
                                        a - c * g, c * d - a * f, d * h - e * g, b * g - a * h};
  return concat(adjugate, 1) / (a * e - b * d);
}

void transform_gradient(GradientContext& c) {
  const Output images = c.input(0);
  const PartialShape shape = images.shape();
  const Output size = shape.has_rank() && shape.dim(1) >= 0 && shape.dim(2) >= 0
                          ? int32_vector({shape.dim(1), shape.dim(2)})
                          : slice(shape_of(images), {1}, {2});
  const bool third = c.num_inputs() == 4;
  OpBuilder builder(third ? "ImageProjectiveTransformV3" : "ImageProjectiveTransformV2", {});
  builder.input(c.grad(0)).input(inverse_transforms(c.input(1))).input(size);
  if (third) builder.input(0.0F, DType::kFloat);
  c.set_input_grad(0, builder.attr("interpolation", c.attr<std::string>("interpolation"))
                          .attr("fill_mode", c.attr<std::string>("fill_mode"))
                          .build());
}

// ---- Registrations

CAUDAL_REGISTER_OP({
    .name = "ImageProjectiveTransformV2",
    .inputs = "images: dtype; transforms: float; output_shape: int32",
    .outputs = "transformed_images: dtype",
    .attrs = "dtype: {uint8, int32, int64, half, bfloat16, float, double}; interpolation: string;"
             "fill_mode: string = 'CONSTANT'",
    .shape = transform_shape,
    .gradient = transform_gradient,
    .cpu = kernel_of<run_transform>,
});
CAUDAL_REGISTER_OP({
    .name = "ImageProjectiveTransformV3",
    .inputs = "images: dtype; transforms: float; output_shape: int32; fill_value: float",
    .outputs = "transformed_images: dtype",
    .attrs = "dtype: {uint8, int32, int64, half, bfloat16, float, double}; interpolation: string;"
             "fill_mode: string = 'CONSTANT'",
    .shape = transform_shape,
    .gradient = transform_gradient,
    .cpu = kernel_of<run_transform>,
});

}  // namespace

// ---- Public functions

Output image::projective_transform(const Operand& images, const Operand& transforms, const Operand& output_shape,
                                   const ProjectiveTransformOptions& options) {
  const LocationScope where(options.where);
  Output maps = transforms.to_output(DType::kFloat);
  if (maps.shape().rank() == 1) maps = expand_dims(maps, 0);
  return OpBuilder("ImageProjectiveTransformV3", {.name = options.name, .where = options.where})
      .input(images)
      .input(maps, DType::kFloat)
      .input(output_shape, DType::kInt32)
      .input(options.fill_value, DType::kFloat)
      .attr("interpolation", options.interpolation)
      .attr("fill_mode", options.fill_mode)
      .build();
}

}  // namespace caudal::inline v0
