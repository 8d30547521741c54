#include "caudal/ops/resize.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "caudal/autodiff/gradient.h"
#include "caudal/base/error.h"
#include "caudal/base/thread_pool.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/kernels/convert.h"
#include "caudal/kernels/dispatch.h"
#include "caudal/kernels/numeric.h"
#include "caudal/ops/image_util.h"
#include "caudal/ops/op_util.h"

namespace caudal::inline v0 {
namespace {

// ---- Shape functions

void resize_shape(ShapeContext& c) {
  const PartialShape images = c.with_rank(0, 4);
  set_sized_image(c, 1, images.dim(0), images.dim(3));
}

void like_original_shape(ShapeContext& c) { c.set_output(0, c.input(1)); }

// ---- Geometry

enum class Grid { kLegacy, kHalfPixel };

struct Axis {
  std::int64_t in = 0, out = 0;
  float scale = 1;  // input pixels per output pixel
};

struct Geometry {
  std::int64_t batch = 0, channels = 0;
  Axis rows, columns;
  Grid grid = Grid::kLegacy;
  bool align_corners = false;

  std::int64_t in_row() const { return columns.in * channels; }
  std::int64_t out_row() const { return columns.out * channels; }
};

Axis make_axis(std::int64_t in, std::int64_t out, bool align_corners) {
  Axis axis{in, out, 1};
  axis.scale = align_corners && in > 1 && out > 1 ? static_cast<float>(in - 1) / static_cast<float>(out - 1)
                                                  : static_cast<float>(in) / static_cast<float>(out);
  return axis;
}

void check_side(std::int64_t side, std::string_view what) {
  if (side <= 0 || side >= std::numeric_limits<std::int32_t>::max()) {
    throw invalid_argument(what, " must have a positive height and width below 2^31, not ", side);
  }
}

Grid grid_of(const NodeInfo& node, bool* align_corners) {
  *align_corners = node.attr<bool>("align_corners");
  const bool half = node.op->def.find_attr("half_pixel_centers") != nullptr && node.attr<bool>("half_pixel_centers");
  return half ? Grid::kHalfPixel : Grid::kLegacy;
}

void check_grid(const Geometry& g) {
  if (g.grid == Grid::kHalfPixel && g.align_corners) {
    throw invalid_argument("align_corners and half_pixel_centers exclude each other").hint("Set one of them to false.");
  }
}

// From pictures [batch, height, width, channels] to `size`.
Geometry geometry_of(const NodeInfo& node, const Tensor& images, const Tensor& size) {
  Geometry g;
  g.grid = grid_of(node, &g.align_corners);
  check_grid(g);
  check_rank(images, 4, "images");
  g.batch = images.dim(0);
  g.channels = images.dim(3);
  if (g.channels <= 0) throw invalid_argument("the pictures ", images.describe(), " have no channel");
  check_side(images.dim(1), "the pictures");
  check_side(images.dim(2), "the pictures");
  const auto [height, width] = image_size_from(size, "size");
  g.rows = make_axis(images.dim(1), height, g.align_corners);
  g.columns = make_axis(images.dim(2), width, g.align_corners);
  return g;
}

// The same of a gradient of the resized pictures and the original's size.
Geometry gradient_geometry(const NodeInfo& node, const Tensor& grads, std::int64_t height, std::int64_t width) {
  Geometry g;
  g.grid = grid_of(node, &g.align_corners);
  check_rank(grads, 4, "grads");
  g.batch = grads.dim(0);
  g.channels = grads.dim(3);
  g.rows = make_axis(height, grads.dim(1), g.align_corners);
  g.columns = make_axis(width, grads.dim(2), g.align_corners);
  return g;
}

Geometry gradient_geometry(const NodeInfo& node, const Tensor& grads, const Tensor& original) {
  check_rank(grads, 4, "grads");
  check_rank(original, 4, "original_image");
  check_side(grads.dim(1), "grads");
  check_side(grads.dim(2), "grads");
  check_side(original.dim(1), "original_image");
  check_side(original.dim(2), "original_image");
  Geometry g = gradient_geometry(node, grads, original.dim(1), original.dim(2));
  check_grid(g);
  if (original.dim(0) != g.batch || original.dim(3) != g.channels) {
    throw invalid_argument("grads ", grads.describe(), " are none of pictures ", original.describe());
  }
  return g;
}

float source_position(Grid grid, std::int64_t i, float scale) {
  const auto at = static_cast<float>(i);
  return grid == Grid::kHalfPixel ? (at + 0.5F) * scale - 0.5F : at * scale;
}

std::int64_t clamped(std::int64_t i, std::int64_t size) { return std::clamp<std::int64_t>(i, 0, size - 1); }

Shape output_shape(const Geometry& g) { return Shape{g.batch, g.rows.out, g.columns.out, g.channels}; }

// Calls fn(image, y) for every row of the output.
template <class Fn>
void for_each_row(RunContext& c, const Geometry& g, const Fn& fn) {
  const std::int64_t grain = std::max<std::int64_t>(1, 4096 / std::max<std::int64_t>(1, g.out_row()));
  c.pool().parallel_for(g.batch * g.rows.out, grain, [&](std::int64_t begin, std::int64_t end) {
    for (; begin < end; ++begin) fn(begin / g.rows.out, begin % g.rows.out);
  });
}

// ---- Bilinear

struct Between {
  std::int64_t lower = 0, upper = 0;
  float share = 0;  // of the upper one
};

Between between(Grid grid, const Axis& axis, std::int64_t i) {
  const float at = source_position(grid, i, axis.scale);
  const float floor = std::floor(at);
  return {std::max<std::int64_t>(static_cast<std::int64_t>(floor), 0),
          std::min<std::int64_t>(static_cast<std::int64_t>(std::ceil(at)), axis.in - 1), at - floor};
}

std::vector<Between> between_all(Grid grid, const Axis& axis) {
  std::vector<Between> out(static_cast<std::size_t>(axis.out));
  for (std::int64_t i = 0; i < axis.out; ++i) out[i] = between(grid, axis, i);
  return out;
}

void bilinear_row(const float* top, const float* bottom, const std::vector<Between>& columns, float share,
                  std::int64_t channels, float* out) {
  for (const Between& x : columns) {
    const std::int64_t left = x.lower * channels, right = x.upper * channels;
    for (std::int64_t k = 0; k < channels; ++k) {
      const float above = top[left + k] + (top[right + k] - top[left + k]) * x.share;
      const float below = bottom[left + k] + (bottom[right + k] - bottom[left + k]) * x.share;
      *out++ = above + (below - above) * share;
    }
  }
}

void run_bilinear(RunContext& c) {
  const Geometry g = geometry_of(c.node(), c.input(0), c.input(1));
  const Tensor in = as_float32(c, c.input(0));
  if (g.rows.in == g.rows.out && g.columns.in == g.columns.out) {
    Tensor& same = c.allocate_output(0, in.shape());
    if (in.num_elements() > 0) std::memcpy(same.raw(), in.raw(), in.byte_size());
    return;
  }
  Tensor& out = c.allocate_output(0, output_shape(g));
  const std::vector<Between> columns = between_all(g.grid, g.columns);
  const auto* pixels = in.data<float>();
  auto* result = out.data<float>();
  for_each_row(c, g, [&](std::int64_t image, std::int64_t y) {
    const Between row = between(g.grid, g.rows, y);
    const float* picture = pixels + image * g.rows.in * g.in_row();
    bilinear_row(picture + row.lower * g.in_row(), picture + row.upper * g.in_row(), columns, row.share, g.channels,
                 result + (image * g.rows.out + y) * g.out_row());
  });
}

template <class T>
void bilinear_backward(RunContext& c, const Geometry& g, const float* grads, T* out) {
  const std::vector<Between> columns = between_all(g.grid, g.columns);
  c.pool().parallel_for(g.batch, 1, [&](std::int64_t begin, std::int64_t end) {
    for (; begin < end; ++begin) {
      T* picture = out + begin * g.rows.in * g.in_row();
      std::fill_n(picture, g.rows.in * g.in_row(), T(0));
      const float* from = grads + begin * g.rows.out * g.out_row();
      for (std::int64_t y = 0; y < g.rows.out; ++y) {
        const Between row = between(g.grid, g.rows, y);
        T* top = picture + row.lower * g.in_row();
        T* bottom = picture + row.upper * g.in_row();
        for (const Between& x : columns) {
          const std::int64_t left = x.lower * g.channels, right = x.upper * g.channels;
          for (std::int64_t k = 0; k < g.channels; ++k, ++from) {
            const float above = *from * (1.0F - row.share), below = *from * row.share;
            top[left + k] += T(above * (1.0F - x.share));
            top[right + k] += T(above * x.share);
            bottom[left + k] += T(below * (1.0F - x.share));
            bottom[right + k] += T(below * x.share);
          }
        }
      }
    }
  });
}

void run_bilinear_grad(RunContext& c) {
  const Geometry g = gradient_geometry(c.node(), c.input(0), c.input(1));
  Tensor& out = c.allocate_output(0, c.input(1).shape());
  const auto* grads = c.input(0).data<float>();
  if (out.dtype() == DType::kFloat) return bilinear_backward(c, g, grads, out.data<float>());
  if (out.dtype() == DType::kDouble) return bilinear_backward(c, g, grads, out.data<double>());
  Tensor sums = c.allocate_temporary(DType::kFloat, out.shape());  // half and bfloat16 are summed in float
  bilinear_backward(c, g, grads, sums.data<float>());
  kernels::narrow(c.pool(), out.dtype(), sums.data<float>(), out.raw(), out.num_elements());
}

// ---- Nearest neighbour

std::int64_t nearest(const Geometry& g, const Axis& axis, std::int64_t i) {
  const auto at = static_cast<float>(i);
  const float source = g.grid == Grid::kHalfPixel ? (at + 0.5F) * axis.scale : at * axis.scale;
  return clamped(static_cast<std::int64_t>(g.align_corners ? std::round(source) : std::floor(source)), axis.in);
}

std::vector<std::int64_t> nearest_all(const Geometry& g, const Axis& axis) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(axis.out));
  for (std::int64_t i = 0; i < axis.out; ++i) out[i] = nearest(g, axis, i);
  return out;
}

void run_nearest(RunContext& c) {
  const Tensor& in = c.input(0);
  const Geometry g = geometry_of(c.node(), in, c.input(1));
  // Beyond that float32 positions skip pixels.
  if (g.rows.in >= 1 << 24 || g.columns.in >= 1 << 24) {
    throw invalid_argument("nearest neighbours are found in pictures of sides below 2^24, not ", in.describe());
  }
  Tensor& out = c.allocate_output(0, output_shape(g));
  const std::vector<std::int64_t> columns = nearest_all(g, g.columns);
  const std::size_t pixel = static_cast<std::size_t>(g.channels) * dtype_size(in.dtype());
  for_each_row(c, g, [&](std::int64_t image, std::int64_t y) {
    const char* from = in.raw() + (image * g.rows.in + nearest(g, g.rows, y)) * g.columns.in * pixel;
    char* to = out.raw() + (image * g.rows.out + y) * g.columns.out * pixel;
    for (const std::int64_t x : columns) {
      std::memcpy(to, from + x * pixel, pixel);
      to += pixel;
    }
  });
}

template <class T>
void nearest_backward(RunContext& c, const Geometry& g, const T* grads, T* out) {
  const std::vector<std::int64_t> columns = nearest_all(g, g.columns);
  c.pool().parallel_for(g.batch, 1, [&](std::int64_t begin, std::int64_t end) {
    for (; begin < end; ++begin) {
      T* picture = out + begin * g.rows.in * g.in_row();
      std::fill_n(picture, g.rows.in * g.in_row(), T{});
      const T* from = grads + begin * g.rows.out * g.out_row();
      for (std::int64_t y = 0; y < g.rows.out; ++y) {
        T* row = picture + nearest(g, g.rows, y) * g.in_row();
        for (const std::int64_t x : columns) {
          T* to = row + x * g.channels;
          for (std::int64_t k = 0; k < g.channels; ++k, ++to, ++from) {
            using Wide = kernels::Wide<T>;
            *to = static_cast<T>(kernels::wrap_add(static_cast<Wide>(*to), static_cast<Wide>(*from)));
          }
        }
      }
    }
  });
}

void run_nearest_grad(RunContext& c) {
  const Tensor& grads = c.input(0);
  check_rank(grads, 4, "grads");
  const auto [height, width] = image_size_from(c.input(1), "size");
  const Geometry g = gradient_geometry(c.node(), grads, height, width);
  Tensor& out = c.allocate_output(0, Shape{g.batch, height, width, g.channels});
  if (out.num_elements() == 0) return;
  if (grads.num_elements() == 0) {
    std::memset(out.raw(), 0, out.byte_size());
    return;
  }
  using Types = kernels::TypeList<float, double, Half, BFloat16, std::int8_t, std::uint8_t, std::int32_t>;
  kernels::dispatch(Types(), out.dtype(), "ResizeNearestNeighborGrad",
                    [&]<class T>() { nearest_backward(c, g, grads.data<T>(), out.data<T>()); });
}

// ---- Bicubic

constexpr std::int64_t kCubicSteps = 1024;

// Weights of the two nearer and the two farther pixels at offsets i / kCubicSteps, for one `a`.
struct CubicTable {
  explicit CubicTable(double a) : near(kCubicSteps + 1), far(kCubicSteps + 1) {
    for (std::int64_t i = 0; i <= kCubicSteps; ++i) {
      float x = static_cast<float>(static_cast<double>(i) / kCubicSteps);
      near[i] = static_cast<float>(((a + 2) * x - (a + 3)) * x * x + 1);
      x = static_cast<float>(x + 1.0);
      far[i] = static_cast<float>(((a * x - 5 * a) * x + 8 * a) * x - 4 * a);
    }
  }
  std::vector<float> near, far;
};

struct Cubic {
  std::array<std::int64_t, 4> index = {};
  std::array<float, 4> weight = {};
};

Cubic cubic_at(Grid grid, const Axis& axis, std::int64_t i) {
  static const CubicTable kPlain(-0.75), kKeys(-0.5);
  const CubicTable& table = grid == Grid::kHalfPixel ? kKeys : kPlain;
  const float at = source_position(grid, i, axis.scale);
  const auto left = static_cast<std::int64_t>(std::floor(at));
  const std::int64_t offset = std::lrint((at - static_cast<float>(left)) * static_cast<float>(kCubicSteps));
  Cubic out;
  out.weight = {table.far[offset], table.near[offset], table.near[kCubicSteps - offset],
                table.far[kCubicSteps - offset]};
  float sum = 0;
  for (int k = 0; k < 4; ++k) {
    out.index[k] = clamped(left - 1 + k, axis.in);
    if (grid == Grid::kHalfPixel && out.index[k] != left - 1 + k) out.weight[k] = 0;
    sum = k == 0 ? out.weight[0] : sum + out.weight[k];
  }
  if (grid == Grid::kHalfPixel && std::abs(sum) >= 1000.0F * std::numeric_limits<float>::min()) {
    const float factor = 1.0F / sum;
    for (float& weight : out.weight) weight *= factor;
  }
  return out;
}

std::vector<Cubic> cubic_all(Grid grid, const Axis& axis) {
  std::vector<Cubic> out(static_cast<std::size_t>(axis.out));
  for (std::int64_t i = 0; i < axis.out; ++i) out[i] = cubic_at(grid, axis, i);
  return out;
}

void run_bicubic(RunContext& c) {
  const Geometry g = geometry_of(c.node(), c.input(0), c.input(1));
  const Tensor in = as_float32(c, c.input(0));
  Tensor& out = c.allocate_output(0, output_shape(g));
  const std::vector<Cubic> columns = cubic_all(g.grid, g.columns);
  const auto* pixels = in.data<float>();
  auto* result = out.data<float>();
  for_each_row(c, g, [&](std::int64_t image, std::int64_t y) {
    const Cubic row = cubic_at(g.grid, g.rows, y);
    const float* from[4];
    for (int k = 0; k < 4; ++k) from[k] = pixels + (image * g.rows.in + row.index[k]) * g.in_row();
    std::vector<float> line(static_cast<std::size_t>(g.in_row()));
    for (std::int64_t i = 0; i < g.in_row(); ++i) {
      line[i] = from[0][i] * row.weight[0] + from[1][i] * row.weight[1] + from[2][i] * row.weight[2] +
                from[3][i] * row.weight[3];
    }
    float* to = result + (image * g.rows.out + y) * g.out_row();
    for (const Cubic& x : columns) {
      for (std::int64_t k = 0; k < g.channels; ++k) {
        const auto value = [&](int i) { return line[x.index[i] * g.channels + k] * x.weight[i]; };
        *to++ = value(0) + value(1) + value(2) + value(3);
      }
    }
  });
}

template <class T>
void bicubic_backward(RunContext& c, const Geometry& g, const float* grads, T* out) {
  const std::vector<Cubic> columns = cubic_all(g.grid, g.columns);
  c.pool().parallel_for(g.batch, 1, [&](std::int64_t begin, std::int64_t end) {
    for (; begin < end; ++begin) {
      T* picture = out + begin * g.rows.in * g.in_row();
      std::fill_n(picture, g.rows.in * g.in_row(), T(0));
      const float* from = grads + begin * g.rows.out * g.out_row();
      for (std::int64_t y = 0; y < g.rows.out; ++y) {
        const Cubic row = cubic_at(g.grid, g.rows, y);
        for (const Cubic& x : columns) {
          for (std::int64_t k = 0; k < g.channels; ++k) {
            const T grad = static_cast<T>(*from++);
            for (int i = 0; i < 4; ++i) {
              T* line = picture + row.index[i] * g.in_row() + k;
              for (int j = 0; j < 4; ++j) line[x.index[j] * g.channels] += T(grad * row.weight[i] * x.weight[j]);
            }
          }
        }
      }
    }
  });
}

void run_bicubic_grad(RunContext& c) {
  const Geometry g = gradient_geometry(c.node(), c.input(0), c.input(1));
  Tensor& out = c.allocate_output(0, c.input(1).shape());
  const auto* grads = c.input(0).data<float>();
  kernels::dispatch(kernels::TypeList<float, double>(), out.dtype(), "ResizeBicubicGrad",
                    [&]<class T>() { bicubic_backward(c, g, grads, out.data<T>()); });
}

// ---- Area

// The input pixels under an output pixel: all count whole but for the first and the last.
struct Span {
  std::int64_t begin = 0, end = 0;
  float in = 0, in1 = 0, scale = 0;  // where the output pixel begins and ends

  float weight(std::int64_t i) const {
    const auto next = static_cast<float>(i + 1);
    if (static_cast<float>(i) < in) return next > in1 ? scale : next - in;
    return next > in1 ? in1 - static_cast<float>(i) : 1.0F;
  }
};

Span span_at(const Axis& axis, std::int64_t i) {
  Span span;
  span.in = static_cast<float>(i) * axis.scale;
  span.in1 = static_cast<float>(i + 1) * axis.scale;
  span.scale = axis.scale;
  span.begin = static_cast<std::int64_t>(std::floor(span.in));
  span.end = static_cast<std::int64_t>(std::ceil(span.in1));
  return span;
}

void run_area(RunContext& c) {
  const Geometry g = geometry_of(c.node(), c.input(0), c.input(1));
  const Tensor in = as_float32(c, c.input(0));
  Tensor& out = c.allocate_output(0, output_shape(g));
  std::vector<Span> columns(static_cast<std::size_t>(g.columns.out));
  for (std::int64_t x = 0; x < g.columns.out; ++x) columns[x] = span_at(g.columns, x);
  const auto factor = static_cast<float>(1.0 / (g.rows.scale * g.columns.scale));
  const auto* pixels = in.data<float>();
  auto* result = out.data<float>();
  for_each_row(c, g, [&](std::int64_t image, std::int64_t y) {
    const Span row = span_at(g.rows, y);
    float* to = result + (image * g.rows.out + y) * g.out_row();
    for (const Span& x : columns) {
      for (std::int64_t k = 0; k < g.channels; ++k) {
        float sum = 0;
        for (std::int64_t i = row.begin; i < row.end; ++i) {
          const float* line = pixels + (image * g.rows.in + clamped(i, g.rows.in)) * g.in_row() + k;
          const auto pixel = [&](std::int64_t j) { return line[clamped(j, g.columns.in) * g.channels]; };
          float line_sum = pixel(x.begin) * x.weight(x.begin);
          if (x.begin + 1 != x.end) {
            for (std::int64_t j = x.begin + 1; j < x.end - 1; ++j) line_sum += pixel(j);
            line_sum += pixel(x.end - 1) * x.weight(x.end - 1);
          }
          sum += line_sum * row.weight(i);
        }
        *to++ = sum * factor;
      }
    }
  });
}

// ---- Gradients

image::ResizeOptions options_of(GradientContext& c) {
  return {.align_corners = c.attr<bool>("align_corners"), .half_pixel_centers = c.attr<bool>("half_pixel_centers")};
}

void bilinear_gradient(GradientContext& c) {
  c.set_input_grad(0, raw_ops::resize_bilinear_grad(c.grad(0), c.input(0), options_of(c)));
}

void bicubic_gradient(GradientContext& c) {
  const DType dtype = c.input(0).dtype();
  if (dtype != DType::kFloat && dtype != DType::kDouble) return;
  c.set_input_grad(0, raw_ops::resize_bicubic_grad(c.grad(0), c.input(0), options_of(c)));
}

void nearest_gradient(GradientContext& c) {
  const Output image = c.input(0);
  const PartialShape shape = image.shape();
  Output size;
  if (shape.has_rank() && shape.dim(1) >= 0 && shape.dim(2) >= 0) {
    size = int32_vector({shape.dim(1), shape.dim(2)});
  } else {
    size = OpBuilder("Slice", {}).input(shape_of(image)).input({1}).input({2}).build();
  }
  c.set_input_grad(0, raw_ops::resize_nearest_neighbor_grad(c.grad(0), size, options_of(c)));
}

void nearest_grad_shape(ShapeContext& c) {
  const PartialShape grads = c.with_rank(0, 4);
  set_sized_image(c, 1, grads.dim(0), grads.dim(3));
}

// ---- Registrations

CAUDAL_REGISTER_OP({
    .name = "ResizeBilinear",
    .inputs = "images: T; size: int32",
    .outputs = "resized_images: float",
    .attrs = "T: {int8, uint8, int16, uint16, int32, int64, bfloat16, half, float, double};"
             "align_corners: bool = false; half_pixel_centers: bool = false",
    .shape = resize_shape,
    .gradient = bilinear_gradient,
    .cpu = kernel_of<run_bilinear>,
});
CAUDAL_REGISTER_OP({
    .name = "ResizeBilinearGrad",
    .inputs = "grads: float; original_image: T",
    .outputs = "output: T",
    .attrs = "T: {float, bfloat16, half, double}; align_corners: bool = false; half_pixel_centers: bool = false",
    .shape = like_original_shape,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_bilinear_grad>,
});
CAUDAL_REGISTER_OP({
    .name = "ResizeNearestNeighbor",
    .inputs = "images: T; size: int32",
    .outputs = "resized_images: T",
    .attrs = "T: {int8, uint8, int16, uint16, int32, int64, half, float, double, bfloat16};"
             "align_corners: bool = false; half_pixel_centers: bool = false",
    .shape = resize_shape,
    .gradient = nearest_gradient,
    .cpu = kernel_of<run_nearest>,
});
CAUDAL_REGISTER_OP({
    .name = "ResizeNearestNeighborGrad",
    .inputs = "grads: T; size: int32",
    .outputs = "output: T",
    .attrs = "T: {uint8, int8, int32, half, float, double, bfloat16};"
             "align_corners: bool = false; half_pixel_centers: bool = false",
    .shape = nearest_grad_shape,
    .gradient = no_gradient,
    .cpu = kernel_of<run_nearest_grad>,
});
CAUDAL_REGISTER_OP({
    .name = "ResizeBicubic",
    .inputs = "images: T; size: int32",
    .outputs = "resized_images: float",
    .attrs = "T: {int8, uint8, int16, uint16, int32, int64, half, float, double, bfloat16};"
             "align_corners: bool = false; half_pixel_centers: bool = false",
    .shape = resize_shape,
    .gradient = bicubic_gradient,
    .cpu = kernel_of<run_bicubic>,
});
CAUDAL_REGISTER_OP({
    .name = "ResizeBicubicGrad",
    .inputs = "grads: float; original_image: T",
    .outputs = "output: T",
    .attrs = "T: {float, double}; align_corners: bool = false; half_pixel_centers: bool = false",
    .shape = like_original_shape,
    .gradient = no_gradient,
    .cpu = kernel_of<run_bicubic_grad>,
});
CAUDAL_REGISTER_OP({
    .name = "ResizeArea",
    .inputs = "images: T; size: int32",
    .outputs = "resized_images: float",
    .attrs = "T: {int8, uint8, int16, uint16, int32, int64, half, float, double, bfloat16};"
             "align_corners: bool = false",
    .shape = resize_shape,
    .gradient = no_gradient,
    .cpu = kernel_of<run_area>,
});

Output build(std::string_view op, const Operand& a, const Operand& b, DType b_type,
             const image::ResizeOptions& options) {
  return OpBuilder(op, {.name = options.name, .where = options.where})
      .input(a)
      .input(b, b_type)
      .attr("align_corners", options.align_corners)
      .attr("half_pixel_centers", options.half_pixel_centers)
      .build();
}

}  // namespace

// ---- Public functions

namespace image {

Output resize_bilinear(const Operand& images, const Operand& size, const ResizeOptions& options) {
  return build("ResizeBilinear", images, size, DType::kInt32, options);
}

Output resize_bicubic(const Operand& images, const Operand& size, const ResizeOptions& options) {
  return build("ResizeBicubic", images, size, DType::kInt32, options);
}

Output resize_nearest_neighbor(const Operand& images, const Operand& size, const ResizeOptions& options) {
  return build("ResizeNearestNeighbor", images, size, DType::kInt32, options);
}

Output resize_area(const Operand& images, const Operand& size, const ResizeAreaOptions& options) {
  return OpBuilder("ResizeArea", {.name = options.name, .where = options.where})
      .input(images)
      .input(size, DType::kInt32)
      .attr("align_corners", options.align_corners)
      .build();
}

}  // namespace image

namespace raw_ops {

Output resize_bilinear_grad(const Operand& grads, const Operand& original_image, const image::ResizeOptions& options) {
  return build("ResizeBilinearGrad", grads, original_image, DType::kInvalid, options);
}

Output resize_bicubic_grad(const Operand& grads, const Operand& original_image, const image::ResizeOptions& options) {
  return build("ResizeBicubicGrad", grads, original_image, DType::kInvalid, options);
}

Output resize_nearest_neighbor_grad(const Operand& grads, const Operand& size, const image::ResizeOptions& options) {
  return build("ResizeNearestNeighborGrad", grads, size, DType::kInt32, options);
}

}  // namespace raw_ops
}  // namespace caudal::inline v0
