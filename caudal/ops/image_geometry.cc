#include "caudal/ops/image_geometry.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "caudal/base/error.h"
#include "caudal/base/function_ref.h"
#include "caudal/graph/constant_value.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/cast.h"
#include "caudal/ops/control_flow.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/joining.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/padding.h"
#include "caudal/ops/projective_transform.h"
#include "caudal/ops/random.h"
#include "caudal/ops/resize.h"
#include "caudal/ops/scale_and_translate.h"
#include "caudal/ops/shape_ops.h"
#include "caudal/ops/slicing.h"
#include "caudal/ops/stateless_random.h"
#include "caudal/ops/transpose_ops.h"

namespace caudal::inline v0::image {
namespace {

// A size or an offset: a number where it is known now, else a scalar int32.
class Number {
 public:
  Number(std::int64_t value) : known_(value) {}  // NOLINT: mixes with numbers
  explicit Number(Output value) : value_(value) {}

  const std::optional<std::int64_t>& known() const { return known_; }
  Output to_output() const { return known_ ? Operand(static_cast<int>(*known_)).to_output(DType::kInt32) : value_; }

 private:
  std::optional<std::int64_t> known_;
  Output value_;
};

template <class Known, class Computed>
Number combine(const Number& a, const Number& b, const Known& known, const Computed& computed) {
  if (a.known() && b.known()) return known(*a.known(), *b.known());
  return Number(computed(a.to_output(), b.to_output()));
}
Number operator-(const Number& a, const Number& b) {
  return combine(
      a, b, [](auto x, auto y) { return x - y; }, [](const Output& x, const Output& y) { return x - y; });
}
Number max_of(const Number& a, const Number& b) {
  return combine(
      a, b, [](auto x, auto y) { return std::max(x, y); },
      [](const Output& x, const Output& y) { return maximum(x, y); });
}
Number min_of(const Number& a, const Number& b) {
  return combine(
      a, b, [](auto x, auto y) { return std::min(x, y); },
      [](const Output& x, const Output& y) { return minimum(x, y); });
}
// Rounded down.
Number half_of(const Number& a) {
  return combine(
      a, 2, [](auto x, auto y) { return x >= 0 ? x / y : -((-x + 1) / y); },
      [](const Output& x, const Output& y) { return floordiv(x, y); });
}

void require(const Number& number, std::int64_t least, std::string_view what) {
  if (number.known() && *number.known() < least) {
    throw invalid_argument(what, " is ", *number.known(), "; at least ", least, " is wanted");
  }
}

// An int32 vector.
Output vector_of(const std::vector<Number>& numbers) {
  if (std::ranges::all_of(numbers, [](const Number& number) { return number.known().has_value(); })) {
    std::vector<std::int64_t> values;
    for (const Number& number : numbers) values.push_back(*number.known());
    return int32_vector(values);
  }
  std::vector<Output> parts;
  for (const Number& number : numbers) parts.push_back(number.to_output());
  return stack(parts);
}

// A picture or a batch of them.
class Picture {
 public:
  explicit Picture(const Operand& image, std::string_view what = "image") : value_(image.to_output()) {
    const PartialShape& shape = value_.shape();
    if (!shape.has_rank() || (shape.rank() != 3 && shape.rank() != 4)) {
      throw invalid_argument(what, " has shape ", shape, "; [height, width, channels] or a batch of such is wanted")
          .hint("Say the rank with ensure_shape or Output::set_shape if it is not known.");
    }
    row_axis_ = shape.rank() - 3;
  }

  const Output& value() const { return value_; }
  bool is_batch() const { return row_axis_ == 1; }
  int row_axis() const { return row_axis_; }
  Number height() const { return size(row_axis_); }
  Number width() const { return size(row_axis_ + 1); }

  // Of numbers for rows and columns, one for each dimension.
  std::vector<Number> per_dimension(const Number& rows, const Number& columns, std::int64_t others) const {
    std::vector<Number> out(static_cast<std::size_t>(row_axis_) + 3, others);
    out[row_axis_] = rows;
    out[row_axis_ + 1] = columns;
    return out;
  }

  Output cropped(const Number& top, const Number& left, const Number& height, const Number& width) const {
    return slice(value_, vector_of(per_dimension(top, left, 0)), vector_of(per_dimension(height, width, -1)));
  }

  Output padded(const Number& top, const Number& bottom, const Number& left, const Number& right) const {
    std::vector<Number> amounts(2 * static_cast<std::size_t>(row_axis_), 0);
    amounts.insert(amounts.end(), {top, bottom, left, right, 0, 0});
    return pad(value_, reshape(vector_of(amounts), {row_axis_ + 3, 2}));
  }

  // fn of a batch; its result as this picture is, alone or a batch.
  template <class Fn>
  Output as_batch(const Fn& fn) const {
    return is_batch() ? fn(value_) : squeeze(fn(expand_dims(value_, 0)), {0});
  }

 private:
  Number size(int axis) const {
    const std::int64_t size = value_.shape().dim(axis);
    return size >= 0 ? Number(size) : Number(index(shape_of(value_), {axis}));
  }

  Output value_;
  int row_axis_ = 0;
};

Output in_float(const Number& number) {
  return number.known() ? Operand(static_cast<float>(*number.known())).to_output(DType::kFloat)
                        : to_float(number.to_output());
}

// ---- Resizing

Output resized_by(const Output& images, const Output& size, std::string_view kernel, bool antialias) {
  const Output scale = to_float(size) / to_float(slice(shape_of(images), {1}, {2}));
  return scale_and_translate(images, size, scale, std::vector<float>{0, 0},
                             {.kernel_type = std::string(kernel), .antialias = antialias});
}

Output resized_batch(const Output& images, const Output& size, ResizeMethod method, bool antialias) {
  const ResizeOptions half_pixels = {.half_pixel_centers = true};
  switch (method) {
    case ResizeMethod::kBilinear:
      return antialias ? resized_by(images, size, "triangle", true) : resize_bilinear(images, size, half_pixels);
    case ResizeMethod::kBicubic:
      return antialias ? resized_by(images, size, "keyscubic", true) : resize_bicubic(images, size, half_pixels);
    case ResizeMethod::kNearestNeighbor:
      return resize_nearest_neighbor(images, size, half_pixels);
    case ResizeMethod::kArea:
      return resize_area(images, size);
    case ResizeMethod::kLanczos3:
      return resized_by(images, size, "lanczos3", antialias);
    case ResizeMethod::kLanczos5:
      return resized_by(images, size, "lanczos5", antialias);
    case ResizeMethod::kGaussian:
      return resized_by(images, size, "gaussian", antialias);
    case ResizeMethod::kMitchellCubic:
      return resized_by(images, size, "mitchellcubic", antialias);
  }
  throw invalid_argument("the resize method ", static_cast<int>(method), " is unknown");
}

// The largest size within `size` that keeps the picture's proportions.
Output proportional_size(const Picture& picture, const Output& size) {
  const Number height = picture.height(), width = picture.width();
  const Tensor* wanted = constant_value(size);
  if (wanted != nullptr && wanted->num_elements() == 2 && height.known() && width.known()) {
    const auto sides = wanted->to_int64s();
    const auto h = static_cast<float>(*height.known()), w = static_cast<float>(*width.known());
    const float scale = std::min(static_cast<float>(sides[0]) / h, static_cast<float>(sides[1]) / w);
    return int32_vector({std::lrint(scale * h), std::lrint(scale * w)});
  }
  const Output sizes = to_float(size), h = in_float(height), w = in_float(width);
  const Output scale = minimum(index(sizes, {0}) / h, index(sizes, {1}) / w);
  return to_int32(stack({round(scale * h), round(scale * w)}));
}

// ---- Moving

// Columns [n, 1] of the eight numbers of transforms; those that are not given are 0.
Output transforms_of(std::initializer_list<Output> columns) {
  std::vector<Output> parts(columns);
  const Output zero = OpBuilder("ZerosLike", {}).input(parts.front()).build();
  while (parts.size() < 8) parts.push_back(zero);
  return concat(parts, 1);
}

Output moved(const Picture& picture, const Output& transforms, const MoveOptions& options) {
  const Output size = vector_of({picture.height(), picture.width()});
  return picture.as_batch([&](const Output& images) {
    return projective_transform(
        images, transforms, size,
        {.interpolation = options.interpolation, .fill_mode = options.fill_mode, .fill_value = options.fill_value});
  });
}

Output flipped(const Operand& image, int axis) {
  const Picture picture(image);
  return reverse(picture.value(), {picture.row_axis() + axis});
}

// Uniform numbers of [0, 1), of a shape.
using Draw = FunctionRef<Output(const Operand& shape)>;

Output randomly_flipped(const Operand& image, int axis, Draw draw) {
  const Picture picture(image);
  const Output& value = picture.value();
  const Output mirrored = reverse(value, {picture.row_axis() + axis});
  if (!picture.is_batch()) {
    const Output drawn = draw(Tensor(DType::kInt32, {0}));
    return cond(
        less(drawn, 0.5F), [&] { return mirrored; }, [&] { return value; });
  }
  const Output count = slice(shape_of(value), {0}, {1});
  const Output drawn = draw(count);
  const Output flips = cast(round(reshape(drawn, {-1, 1, 1, 1})), value.dtype());
  return flips * mirrored + (1 - flips) * value;
}

constexpr std::int32_t kMostInt = std::numeric_limits<std::int32_t>::max();

// `draw`: integers of [0, kMostInt).
Output randomly_cropped(const Operand& value, const Operand& size, Draw draw) {
  const Output x = value.to_output(), sizes = size.to_output(DType::kInt32);
  const Output all = shape_of(x);
  // A size that does not fit leaves no place; the slice then says so.
  const Output places = maximum(all - sizes + 1, 1);
  return slice(x, draw(shape_of(all)) % places, sizes);
}

}  // namespace

// ---- Public functions

Output resize(const Operand& images, const Operand& size, const ImageResizeOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope(options.name.empty() ? "resize" : options.name);
  const Picture picture(images, "images");
  Output wanted = size.to_output(DType::kInt32);
  if (options.preserve_aspect_ratio) wanted = proportional_size(picture, wanted);
  return picture.as_batch(
      [&](const Output& batch) { return resized_batch(batch, wanted, options.method, options.antialias); });
}

Output resize_with_pad(const Operand& image, std::int64_t target_height, std::int64_t target_width,
                       const ResizeWithPadOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope("resize_image_with_pad");
  const Picture picture(image);
  require(target_height, 1, "target_height");
  require(target_width, 1, "target_width");
  const Number height = picture.height(), width = picture.width();
  Number resized_height = 0, resized_width = 0, top = 0, left = 0;
  if (height.known() && width.known()) {
    const auto h = static_cast<float>(*height.known()), w = static_cast<float>(*width.known());
    const auto th = static_cast<float>(target_height), tw = static_cast<float>(target_width);
    const float ratio = std::max(w / tw, h / th);
    resized_height = static_cast<std::int64_t>(std::floor(h / ratio));
    resized_width = static_cast<std::int64_t>(std::floor(w / ratio));
    top = std::max<std::int64_t>(0, static_cast<std::int64_t>(std::floor((th - h / ratio) / 2)));
    left = std::max<std::int64_t>(0, static_cast<std::int64_t>(std::floor((tw - w / ratio) / 2)));
  } else {
    const Output h = in_float(height), w = in_float(width);
    const Output th = in_float(target_height), tw = in_float(target_width);
    const Output ratio = maximum(w / tw, h / th);
    resized_height = Number(to_int32(floor(h / ratio)));
    resized_width = Number(to_int32(floor(w / ratio)));
    top = max_of(0, Number(to_int32(floor((th - h / ratio) / 2))));
    left = max_of(0, Number(to_int32(floor((tw - w / ratio) / 2))));
  }
  const Output size = vector_of({resized_height, resized_width});
  const Picture resized(picture.as_batch(
      [&](const Output& batch) { return resized_batch(batch, size, options.method, options.antialias); }));
  return resized.padded(top, Number(target_height) - top - resized.height(), left,
                        Number(target_width) - left - resized.width());
}

Output resize_with_crop_or_pad(const Operand& image, std::int64_t target_height, std::int64_t target_width,
                               const OpOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope("resize_image_with_crop_or_pad");
  const Picture picture(image);
  require(target_height, 1, "target_height");
  require(target_width, 1, "target_width");
  const Number height = picture.height(), width = picture.width();
  const Picture cropped(picture.cropped(max_of(half_of(height - target_height), 0),
                                        max_of(half_of(width - target_width), 0), min_of(target_height, height),
                                        min_of(target_width, width)));
  const Number top = max_of(half_of(Number(target_height) - height), 0);
  const Number left = max_of(half_of(Number(target_width) - width), 0);
  return cropped.padded(top, Number(target_height) - top - cropped.height(), left,
                        Number(target_width) - left - cropped.width());
}

Output central_crop(const Operand& image, double central_fraction, const OpOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope("central_crop");
  if (!(central_fraction > 0 && central_fraction <= 1)) {
    throw invalid_argument("central_fraction is ", central_fraction, "; (0, 1] is wanted");
  }
  const Picture picture(image);
  if (central_fraction == 1) return picture.value();
  const auto start = [&](const Number& size) {
    if (size.known()) {
      const auto side = static_cast<double>(*size.known());
      return Number(static_cast<std::int64_t>((side - side * central_fraction) / 2));
    }
    const Output side = to_double(size.to_output());
    return Number(to_int32((side - side * central_fraction) / 2));
  };
  const Number height = picture.height(), width = picture.width();
  const Number top = start(height), left = start(width);
  return picture.cropped(top, left, height - top - top, width - left - left);
}

Output crop_to_bounding_box(const Operand& image, std::int64_t offset_height, std::int64_t offset_width,
                            std::int64_t target_height, std::int64_t target_width, const OpOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope("crop_to_bounding_box");
  const Picture picture(image);
  require(offset_height, 0, "offset_height");
  require(offset_width, 0, "offset_width");
  require(target_height, 1, "target_height");
  require(target_width, 1, "target_width");
  require(picture.height() - offset_height, target_height, "what is left of the height");
  require(picture.width() - offset_width, target_width, "what is left of the width");
  return picture.cropped(offset_height, offset_width, target_height, target_width);
}

Output pad_to_bounding_box(const Operand& image, std::int64_t offset_height, std::int64_t offset_width,
                           std::int64_t target_height, std::int64_t target_width, const OpOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope("pad_to_bounding_box");
  const Picture picture(image);
  require(offset_height, 0, "offset_height");
  require(offset_width, 0, "offset_width");
  const Number bottom = Number(target_height) - offset_height - picture.height();
  const Number right = Number(target_width) - offset_width - picture.width();
  require(bottom, 0, "the padding after the height");
  require(right, 0, "the padding after the width");
  return picture.padded(offset_height, bottom, offset_width, right);
}

Output random_crop(const Operand& value, const Operand& size, const RandomImageOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope(options.name.empty() ? "random_crop" : options.name);
  return randomly_cropped(value, size, [&](const Operand& shape) {
    return random_uniform(shape, {.maxval = kMostInt, .dtype = DType::kInt32, .seed = options.seed});
  });
}

Output stateless_random_crop(const Operand& value, const Operand& size, const Operand& seed, const OpOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope("stateless_random_crop");
  return randomly_cropped(value, size, [&](const Operand& shape) {
    return random::stateless_uniform(shape, seed, {.maxval = kMostInt, .dtype = DType::kInt32});
  });
}

Output flip_left_right(const Operand& image, const OpOptions& options) {
  const LocationScope where(options.where);
  return flipped(image, 1);
}

Output flip_up_down(const Operand& image, const OpOptions& options) {
  const LocationScope where(options.where);
  return flipped(image, 0);
}

Output transpose(const Operand& image, const OpOptions& options) {
  const LocationScope where(options.where);
  const Picture picture(image);
  return picture.is_batch() ? caudal::transpose(picture.value(), {0, 2, 1, 3})
                            : caudal::transpose(picture.value(), {1, 0, 2});
}

Output rot90(const Operand& image, std::int64_t k, const OpOptions& options) {
  const LocationScope where(options.where);
  switch ((k % 4 + 4) % 4) {
    case 1:
      return image::transpose(flipped(image, 1), options);
    case 2:
      return flipped(flipped(image, 0), 1);
    case 3:
      return flipped(image::transpose(image, options), 1);
    default:
      return Picture(image).value();
  }
}

Output random_flip_left_right(const Operand& image, const RandomImageOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope(options.name.empty() ? "random_flip_left_right" : options.name);
  return randomly_flipped(image, 1,
                          [&](const Operand& shape) { return random_uniform(shape, {.seed = options.seed}); });
}

Output random_flip_up_down(const Operand& image, const RandomImageOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope(options.name.empty() ? "random_flip_up_down" : options.name);
  return randomly_flipped(image, 0,
                          [&](const Operand& shape) { return random_uniform(shape, {.seed = options.seed}); });
}

Output stateless_random_flip_left_right(const Operand& image, const Operand& seed, const OpOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope("stateless_random_flip_left_right");
  return randomly_flipped(image, 1, [&](const Operand& shape) { return random::stateless_uniform(shape, seed); });
}

Output stateless_random_flip_up_down(const Operand& image, const Operand& seed, const OpOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope("stateless_random_flip_up_down");
  return randomly_flipped(image, 0, [&](const Operand& shape) { return random::stateless_uniform(shape, seed); });
}

Output rotate(const Operand& images, const Operand& angles, const MoveOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope("rotate");
  const Picture picture(images, "images");
  const Output angle = reshape(angles.to_output(DType::kFloat), {-1, 1});
  const Output cosine = cos(angle), sine = sin(angle);
  const Output right = in_float(picture.width() - 1), bottom = in_float(picture.height() - 1);
  // So that the middle stays where it is.
  const Output x = (right - (cosine * right - sine * bottom)) / 2, y = (bottom - (sine * right + cosine * bottom)) / 2;
  return moved(picture, transforms_of({cosine, -sine, x, sine, cosine, y}), options);
}

Output translate(const Operand& images, const Operand& translations, const MoveOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope("translate");
  const Picture picture(images, "images");
  const std::vector<Output> moves = split(-reshape(translations.to_output(DType::kFloat), {-1, 2}), 2, 1);
  const Output zero = OpBuilder("ZerosLike", {}).input(moves[0]).build(), one = zero + 1;
  return moved(picture, transforms_of({one, zero, moves[0], zero, one, moves[1]}), options);
}

}  // namespace caudal::inline v0::image
