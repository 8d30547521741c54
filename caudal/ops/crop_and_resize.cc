#include "caudal/ops/crop_and_resize.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "caudal/autodiff/gradient.h"
#include "caudal/base/error.h"
#include "caudal/base/thread_pool.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/kernels/dispatch.h"
#include "caudal/kernels/numeric.h"
#include "caudal/ops/image_util.h"
#include "caudal/ops/op_util.h"

namespace caudal::inline v0 {
namespace {

// ---- Shape functions

void crop_shape(ShapeContext& c) {
  const PartialShape image = c.with_rank(0, 4), boxes = c.with_rank(1, 2), indices = c.with_rank(2, 1);
  const std::int64_t count = ShapeContext::merge_dim(boxes.dim(0), indices.dim(0), "the numbers of boxes and indices");
  ShapeContext::merge_dim(boxes.dim(1), 4, "the columns of boxes");
  set_sized_image(c, 3, count, image.dim(3));
}

void grad_image_shape(ShapeContext& c) {
  const PartialShape shape = c.input_as_shape(3);
  if (shape.has_rank() && shape.rank() != 4) throw invalid_argument("image_size has ", shape.rank(), " sizes, not 4");
  c.set_output(0, shape.has_rank() ? shape : PartialShape::unknown_of_rank(4));
}

void grad_boxes_shape(ShapeContext& c) { c.set_output(0, c.input(2)); }

// ---- Geometry

struct Sizes {
  std::int64_t batch, height, width, depth;
};

// One side of a crop: where its pixels lie in the picture.
struct Track {
  Track(float from, float to, std::int64_t in, std::int64_t out, bool scale_by_ratio)
      : last_(static_cast<float>(in - 1)), single_(out <= 1) {
    const auto steps = static_cast<float>(out - 1);
    if (single_) {
      first_ = static_cast<float>(0.5 * (from + to) * static_cast<double>(in - 1));
    } else {
      ratio_ = last_ / steps;
      first_ = from * last_;
      // TensorFlow's forward and image gradients multiply first, its gradient towards boxes divides first.
      step_ = scale_by_ratio ? (to - from) * ratio_ : (to - from) * last_ / steps;
    }
  }

  float at(std::int64_t i) const { return single_ ? first_ : first_ + static_cast<float>(i) * step_; }
  bool outside(float place) const { return place < 0 || place > last_; }
  bool single() const { return single_; }
  float last() const { return last_; }
  float ratio() const { return ratio_; }

 private:
  float last_;
  bool single_;
  float first_ = 0, step_ = 0, ratio_ = 0;
};

struct Between {
  explicit Between(float place)
      : lower(static_cast<std::int64_t>(std::floor(place))),
        upper(static_cast<std::int64_t>(std::ceil(place))),
        share(place - static_cast<float>(lower)) {}
  std::int64_t lower, upper;
  float share;
};

std::int64_t nearest(float place) { return static_cast<std::int64_t>(std::round(place)); }

// The number of boxes.
std::int64_t check_boxes(const Tensor& boxes, const Tensor& indices) {
  if (boxes.num_elements() == 0 && indices.num_elements() == 0) return 0;
  check_rank(boxes, 2, "boxes");
  check_rank(indices, 1, "box_ind");
  if (boxes.dim(1) != 4 || boxes.dim(0) != indices.dim(0)) {
    throw invalid_argument("boxes ", boxes.describe(), " must be [n, 4] with an index each, not ", indices.describe());
  }
  return boxes.dim(0);
}

void check_indices(const Tensor& indices, std::int64_t batch) {
  for (const std::int32_t index : indices.flat<std::int32_t>()) {
    if (index < 0 || index >= batch) {
      throw out_of_range("box_ind ", index, " is none of the ", batch, " pictures of the batch");
    }
  }
}

void check_finite(const Tensor& boxes) {
  for (const float value : boxes.flat<float>()) {
    if (!std::isfinite(value)) throw invalid_argument("the boxes contain ", value, "; they must be finite");
  }
}

Sizes sizes_of(const Tensor& image, std::string_view what) {
  check_rank(image, 4, what);
  if (image.dim(1) <= 0 || image.dim(2) <= 0) {
    throw invalid_argument(what, " ", image.describe(), " must have a positive height and width");
  }
  return {image.dim(0), image.dim(1), image.dim(2), image.dim(3)};
}

struct Box {
  Box(const Tensor& boxes, std::int64_t i, const Sizes& image, const Sizes& crop, bool scale_by_ratio)
      : at(boxes.data<float>() + 4 * i),
        rows(at[0], at[2], image.height, crop.height, scale_by_ratio),
        columns(at[1], at[3], image.width, crop.width, scale_by_ratio) {}
  const float* at;
  Track rows, columns;
};

// ---- Kernels

void crop_row_bilinear(const float* picture, const Sizes& image, const Sizes& crop, float y, const Track& columns,
                       float outside, float* out) {
  const Between row(y);
  const float* top = picture + row.lower * image.width * image.depth;
  const float* bottom = picture + row.upper * image.width * image.depth;
  for (std::int64_t x = 0; x < crop.width; ++x, out += crop.depth) {
    const float place = columns.at(x);
    if (columns.outside(place)) {
      std::fill_n(out, crop.depth, outside);
      continue;
    }
    const Between column(place);
    const std::int64_t left = column.lower * image.depth, right = column.upper * image.depth;
    for (std::int64_t k = 0; k < crop.depth; ++k) {
      const float above = top[left + k] + (top[right + k] - top[left + k]) * column.share;
      const float below = bottom[left + k] + (bottom[right + k] - bottom[left + k]) * column.share;
      out[k] = above + (below - above) * row.share;
    }
  }
}

void crop_row_nearest(const float* picture, const Sizes& image, const Sizes& crop, float y, const Track& columns,
                      float outside, float* out) {
  const float* row = picture + nearest(y) * image.width * image.depth;
  for (std::int64_t x = 0; x < crop.width; ++x, out += crop.depth) {
    const float place = columns.at(x);
    if (columns.outside(place)) {
      std::fill_n(out, crop.depth, outside);
    } else {
      std::copy_n(row + nearest(place) * image.depth, crop.depth, out);
    }
  }
}

void run_crop(RunContext& c) {
  const Tensor& boxes = c.input(1);
  const Tensor& indices = c.input(2);
  const Sizes image = sizes_of(c.input(0), "image");
  check_rank(boxes, 2, "boxes");
  check_rank(indices, 1, "box_ind");
  const std::int64_t count = check_boxes(boxes, indices);
  const auto [height, width] = image_size_from(c.input(3), "crop_size");
  const Sizes crop{count, height, width, image.depth};
  check_indices(indices, image.batch);
  check_finite(boxes);
  Tensor& out = c.allocate_output(0, Shape{count, height, width, image.depth});
  if (out.num_elements() == 0) return;
  const Tensor in = as_float32(c, c.input(0));
  const float outside = c.node().attr<float>("extrapolation_value");
  const bool bilinear = c.node().attr<std::string>("method") == "bilinear";
  const auto* pixels = in.data<float>();
  auto* result = out.data<float>();
  c.pool().parallel_for(count, 1, [&](std::int64_t begin, std::int64_t end) {
    for (; begin < end; ++begin) {
      const Box box(boxes, begin, image, crop, false);
      const float* picture = pixels + indices.data<std::int32_t>()[begin] * image.height * image.width * image.depth;
      for (std::int64_t y = 0; y < crop.height; ++y) {
        float* row = result + (begin * crop.height + y) * crop.width * crop.depth;
        const float place = box.rows.at(y);
        if (box.rows.outside(place)) {
          std::fill_n(row, crop.width * crop.depth, outside);
        } else {
          (bilinear ? crop_row_bilinear : crop_row_nearest)(picture, image, crop, place, box.columns, outside, row);
        }
      }
    }
  });
}

template <class T>
void add_to(T* place, float value) {
  // Each term is rounded to T before it is added.
  using Wide = kernels::Wide<T>;
  *place = static_cast<T>(static_cast<Wide>(*place) + static_cast<Wide>(static_cast<T>(value)));
}

template <class T>
void scatter_pixel(T* picture, const Sizes& image, float y, float x, const float* grads, bool bilinear) {
  const auto pixel = [&](std::int64_t row, std::int64_t column) {
    return picture + (row * image.width + column) * image.depth;
  };
  if (!bilinear) {
    T* to = pixel(nearest(y), nearest(x));
    for (std::int64_t k = 0; k < image.depth; ++k) add_to(to + k, grads[k]);
    return;
  }
  const Between row(y), column(x);
  for (std::int64_t k = 0; k < image.depth; ++k) {
    const float top = (1 - row.share) * grads[k], bottom = row.share * grads[k];
    add_to(pixel(row.lower, column.lower) + k, (1 - column.share) * top);
    add_to(pixel(row.lower, column.upper) + k, column.share * top);
    add_to(pixel(row.upper, column.lower) + k, (1 - column.share) * bottom);
    add_to(pixel(row.upper, column.upper) + k, column.share * bottom);
  }
}

void run_grad_image(RunContext& c) {
  const Tensor& grads = c.input(0);
  const Tensor& boxes = c.input(1);
  const Tensor& indices = c.input(2);
  const Sizes crop = sizes_of(grads, "grads");
  if (check_boxes(boxes, indices) != crop.batch) {
    throw invalid_argument("grads ", grads.describe(), " must be one crop for each of boxes ", boxes.describe());
  }
  const Shape shape = shape_from(c.input(3), "image_size");
  if (shape.rank() != 4 || shape[1] <= 0 || shape[2] <= 0 || shape[3] != crop.depth) {
    throw invalid_argument("image_size ", c.input(3), " is none of crops ", grads.describe());
  }
  const Sizes image{shape[0], shape[1], shape[2], shape[3]};
  check_indices(indices, image.batch);
  check_finite(boxes);
  Tensor& out = c.allocate_output(0, shape);
  const bool bilinear = c.node().attr<std::string>("method") == "bilinear";
  kernels::dispatch(kernels::TypeList<float, double, Half>(), out.dtype(), "CropAndResizeGradImage", [&]<class T>() {
    std::fill_n(out.data<T>(), out.num_elements(), T{});
    // Crops overlap, so that they are added one after another.
    for (std::int64_t i = 0; i < crop.batch; ++i) {
      const Box box(boxes, i, image, crop, false);
      T* picture = out.data<T>() + indices.data<std::int32_t>()[i] * image.height * image.width * image.depth;
      for (std::int64_t y = 0; y < crop.height; ++y) {
        const float row = box.rows.at(y);
        if (box.rows.outside(row)) continue;
        const float* from = grads.data<float>() + (i * crop.height + y) * crop.width * crop.depth;
        for (std::int64_t x = 0; x < crop.width; ++x, from += crop.depth) {
          const float column = box.columns.at(x);
          if (!box.columns.outside(column)) scatter_pixel(picture, image, row, column, from, bilinear);
        }
      }
    }
  });
}

// Adds the gradient towards both ends of a track.
void add_ends(const Track& track, std::int64_t i, float slope, float* first, float* last) {
  if (track.single()) {
    const double half = slope * 0.5 * static_cast<double>(track.last());
    *first = static_cast<float>(*first + half);
    *last = static_cast<float>(*last + half);
  } else {
    const float moved = static_cast<float>(i) * track.ratio();
    *first += slope * (track.last() - moved);
    *last += slope * moved;
  }
}

void run_grad_boxes(RunContext& c) {
  const Tensor& grads = c.input(0);
  const Tensor& boxes = c.input(2);
  const Tensor& indices = c.input(3);
  const Sizes crop = sizes_of(grads, "grads"), image = sizes_of(c.input(1), "image");
  if (image.depth != crop.depth) {
    throw invalid_argument("grads ", grads.describe(), " are none of image ", c.input(1).describe());
  }
  if (check_boxes(boxes, indices) != crop.batch) {
    throw invalid_argument("grads ", grads.describe(), " must be one crop for each of boxes ", boxes.describe());
  }
  check_indices(indices, image.batch);
  check_finite(boxes);
  Tensor& out = c.allocate_output(0, Shape{crop.batch, 4});
  const Tensor in = as_float32(c, c.input(1));
  c.pool().parallel_for(crop.batch, 1, [&](std::int64_t begin, std::int64_t end) {
    for (; begin < end; ++begin) {
      const Box box(boxes, begin, image, crop, true);
      float* to = out.data<float>() + 4 * begin;
      std::fill_n(to, 4, 0.0F);
      const float* picture =
          in.data<float>() + indices.data<std::int32_t>()[begin] * image.height * image.width * image.depth;
      for (std::int64_t y = 0; y < crop.height; ++y) {
        const float y_place = box.rows.at(y);
        if (box.rows.outside(y_place)) continue;
        const Between row(y_place);
        for (std::int64_t x = 0; x < crop.width; ++x) {
          const float x_place = box.columns.at(x);
          if (box.columns.outside(x_place)) continue;
          const Between column(x_place);
          const float* grad = grads.data<float>() + ((begin * crop.height + y) * crop.width + x) * crop.depth;
          for (std::int64_t k = 0; k < crop.depth; ++k) {
            const auto pixel = [&](std::int64_t r, std::int64_t s) {
              return picture[(r * image.width + s) * image.depth + k];
            };
            const float top_left = pixel(row.lower, column.lower), top_right = pixel(row.lower, column.upper);
            const float bottom_left = pixel(row.upper, column.lower), bottom_right = pixel(row.upper, column.upper);
            const float down =
                (1 - column.share) * (bottom_left - top_left) + column.share * (bottom_right - top_right);
            const float right = (1 - row.share) * (top_right - top_left) + row.share * (bottom_right - bottom_left);
            add_ends(box.rows, y, down * grad[k], to, to + 2);
            add_ends(box.columns, x, right * grad[k], to + 1, to + 3);
          }
        }
      }
    }
  });
}

// ---- Gradients

void crop_gradient(GradientContext& c) {
  const DType dtype = c.input(0).dtype();
  if (dtype == DType::kHalf || dtype == DType::kFloat || dtype == DType::kDouble) {
    c.set_input_grad(0, raw_ops::crop_and_resize_grad_image(c.grad(0), c.input(1), c.input(2), shape_of(c.input(0)),
                                                            {.T = dtype, .method = c.attr<std::string>("method")}));
  }
  // As TensorFlow: that of the bilinear method even where the nearest pixels were taken.
  c.set_input_grad(1, raw_ops::crop_and_resize_grad_boxes(c.grad(0), c.input(0), c.input(1), c.input(2)));
}

// ---- Registrations

CAUDAL_REGISTER_OP({
    .name = "CropAndResize",
    .inputs = "image: T; boxes: float; box_ind: int32; crop_size: int32",
    .outputs = "crops: float",
    .attrs = "T: {uint8, uint16, int8, int16, int32, int64, half, float, double};"
             "method: {'bilinear', 'nearest'} = 'bilinear'; extrapolation_value: float = 0",
    .shape = crop_shape,
    .gradient = crop_gradient,
    .cpu = kernel_of<run_crop>,
});
CAUDAL_REGISTER_OP({
    .name = "CropAndResizeGradImage",
    .inputs = "grads: float; boxes: float; box_ind: int32; image_size: int32",
    .outputs = "output: T",
    .attrs = "T: {float, half, double}; method: {'bilinear', 'nearest'} = 'bilinear'",
    .shape = grad_image_shape,
    .gradient = no_gradient,
    .cpu = kernel_of<run_grad_image>,
});
CAUDAL_REGISTER_OP({
    .name = "CropAndResizeGradBoxes",
    .inputs = "grads: float; image: T; boxes: float; box_ind: int32",
    .outputs = "output: float",
    .attrs = "T: {uint8, uint16, int8, int16, int32, int64, half, float, double};"
             "method: {'bilinear'} = 'bilinear'",
    .shape = grad_boxes_shape,
    .gradient = no_gradient,
    .cpu = kernel_of<run_grad_boxes>,
});

}  // namespace

// ---- Public functions

Output image::crop_and_resize(const Operand& image, const Operand& boxes, const Operand& box_indices,
                              const Operand& crop_size, const CropAndResizeOptions& options) {
  return OpBuilder("CropAndResize", {.name = options.name, .where = options.where})
      .input(image)
      .input(boxes, DType::kFloat)
      .input(box_indices, DType::kInt32)
      .input(crop_size, DType::kInt32)
      .attr("method", options.method)
      .attr("extrapolation_value", options.extrapolation_value)
      .build();
}

Output raw_ops::crop_and_resize_grad_image(const Operand& grads, const Operand& boxes, const Operand& box_ind,
                                           const Operand& image_size, const CropAndResizeGradImageOptions& options) {
  return OpBuilder("CropAndResizeGradImage", {.name = options.name, .where = options.where})
      .input(grads, DType::kFloat)
      .input(boxes, DType::kFloat)
      .input(box_ind, DType::kInt32)
      .input(image_size, DType::kInt32)
      .attr("T", options.T)
      .attr("method", options.method)
      .build();
}

Output raw_ops::crop_and_resize_grad_boxes(const Operand& grads, const Operand& image, const Operand& boxes,
                                           const Operand& box_ind, const OpOptions& options) {
  return OpBuilder("CropAndResizeGradBoxes", options)
      .input(grads, DType::kFloat)
      .input(image)
      .input(boxes, DType::kFloat)
      .input(box_ind, DType::kInt32)
      .build();
}

}  // namespace caudal::inline v0
