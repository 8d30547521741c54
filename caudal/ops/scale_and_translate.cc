#include "caudal/ops/scale_and_translate.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <limits>
#include <vector>

#include "caudal/autodiff/gradient.h"
#include "caudal/base/error.h"
#include "caudal/base/thread_pool.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/ops/image_util.h"

namespace caudal::inline v0 {
namespace {

// ---- Shape functions

void scale_shape(ShapeContext& c) {
  const PartialShape images = c.with_rank(0, 4);
  set_sized_image(c, 1, images.dim(0), images.dim(3));
}

void like_original_shape(ShapeContext& c) { c.set_output(0, c.input(1)); }

// ---- Filters, as functions of the distance from the centre

float lanczos(float x, float radius) {
  constexpr float kPi = 3.14159265359F;
  if (x > radius) return 0.0F;
  if (x <= 1e-3F) return 1.0F;  // the limit of sin(x) / x
  return radius * std::sin(kPi * x) * std::sin(kPi * x / radius) / (kPi * kPi * x * x);
}

// K. Turkowski, "Filters for common resampling tasks", 1990: sigma 0.5, cut at three sigma.
float gaussian(float x, float radius) {
  const float sigma = radius / 3.0F;
  return x >= radius ? 0.0F : static_cast<float>(std::exp(-x * x / (2.0 * sigma * sigma)));
}

float box(float x, float) { return x < 0.5F ? 1.0F : x == 0.5F ? 0.5F : 0.0F; }

float triangle(float x, float) { return x < 1.0F ? 1.0F - x : 0.0F; }

// R. G. Keys, "Cubic convolution interpolation for digital image processing", 1981.
float keys_cubic(float x, float) {
  if (x >= 2.0F) return 0.0F;
  return x >= 1.0F ? ((-0.5F * x + 2.5F) * x - 4.0F) * x + 2.0F : ((1.5F * x - 2.5F) * x) * x + 1.0F;
}

// D. P. Mitchell and A. N. Netravali, "Reconstruction filters in computer graphics", 1988.
float mitchell_cubic(float x, float) {
  if (x >= 2.0F) return 0.0F;
  return x >= 1.0F ? (((-7.0F / 18.0F) * x + 2.0F) * x - 10.0F / 3.0F) * x + 16.0F / 9.0F
                   : (((7.0F / 6.0F) * x - 2.0F) * x) * x + 8.0F / 9.0F;
}

struct Filter {
  std::string_view name;
  float (*weight)(float x, float radius);
  float radius;
};

const Filter& filter_named(const std::string& name) {
  static constexpr Filter kFilters[] = {
      {"lanczos1", lanczos, 1.0F},
      {"lanczos3", lanczos, 3.0F},
      {"lanczos5", lanczos, 5.0F},
      {"gaussian", gaussian, 1.5F},
      {"box", box, 1.0F},
      {"triangle", triangle, 1.0F},
      {"keyscubic", keys_cubic, 2.0F},
      {"mitchellcubic", mitchell_cubic, 2.0F},
  };
  std::string lower;
  for (const char letter : name) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  for (const Filter& filter : kFilters) {
    if (filter.name == lower) return filter;
  }
  throw invalid_argument("kernel_type '", name, "' is unknown")
      .hint("Known are lanczos1, lanczos3, lanczos5, gaussian, box, triangle, keyscubic and mitchellcubic.");
}

// ---- Spans: which inputs an output is made of, along one axis

struct Spans {
  std::int64_t size = 0;             // weights of each output
  std::vector<std::int64_t> starts;  // the first input of each output
  std::vector<float> weights;        // [output, size]
};

struct Axis {
  std::int64_t in = 0, out = 0;
  float scale = 1, translation = 0;
};

Spans make_spans(const Filter& filter, const Axis& axis, bool antialias) {
  const auto inverse = static_cast<float>(1.0 / axis.scale);
  const float shift = -inverse * axis.translation;
  const float width = antialias ? std::max(inverse, 1.0F) : 1.0F;
  const auto in = static_cast<float>(axis.in);
  Spans spans;
  spans.size = std::min(2 * static_cast<std::int64_t>(std::min(std::ceil(filter.radius * width), in)) + 1, axis.in);
  spans.starts.assign(static_cast<std::size_t>(axis.out), 0);
  spans.weights.assign(static_cast<std::size_t>(axis.out * spans.size), 0.0F);
  const float narrowed = 1.0F / width;
  for (std::int64_t x = 0; x < axis.out; ++x) {
    const float place = (static_cast<float>(x) + 0.5F) * inverse + shift;
    if (!(place >= 0 && place <= in)) continue;  // also for a place that is no number
    const float first = std::ceil(place - filter.radius * width - 0.5F);
    const float last = std::floor(place + filter.radius * width - 0.5F);
    const auto begin = static_cast<std::int64_t>(std::clamp(first, 0.0F, in - 1));
    const auto end = std::min(static_cast<std::int64_t>(std::clamp(last, 0.0F, in - 1)) + 1, begin + spans.size);
    float* weights = spans.weights.data() + x * spans.size;
    float sum = 0;
    for (std::int64_t source = begin; source < end; ++source) {
      const float distance = static_cast<float>(source) + 0.5F - place;
      weights[source - begin] = filter.weight(std::abs(distance * narrowed), filter.radius);
      sum += weights[source - begin];
    }
    spans.starts[x] = begin;
    const bool usable = std::abs(sum) >= 1000.0F * std::numeric_limits<float>::min();
    const float factor = usable ? 1.0F / sum : 0.0F;
    for (std::int64_t i = 0; i < end - begin; ++i) weights[i] = usable ? weights[i] * factor : 0.0F;
  }
  return spans;
}

// The transposed spans: which outputs an input went into.
Spans transposed(const Spans& spans, const Axis& axis) {
  struct Range {
    std::int64_t begin = std::numeric_limits<std::int64_t>::max(), end = 0;
  };
  std::vector<Range> ranges(static_cast<std::size_t>(axis.in));
  const auto for_each = [&](const auto& fn) {
    for (std::int64_t x = 0; x < axis.out; ++x) {
      for (std::int64_t i = 0; i < spans.size && spans.starts[x] + i < axis.in; ++i) {
        if (const float weight = spans.weights[x * spans.size + i]; weight != 0) fn(spans.starts[x] + i, x, weight);
      }
    }
  };
  for_each([&](std::int64_t input, std::int64_t output, float) {
    ranges[input].begin = std::min(ranges[input].begin, output);
    ranges[input].end = output + 1;
  });
  Spans out;
  out.starts.assign(ranges.size(), 0);
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (ranges[i].end == 0) continue;
    out.size = std::max(out.size, ranges[i].end - ranges[i].begin);
    out.starts[i] = ranges[i].begin;
  }
  out.weights.assign(ranges.size() * static_cast<std::size_t>(out.size), 0.0F);
  for_each([&](std::int64_t input, std::int64_t output, float weight) {
    out.weights[input * out.size + output - out.starts[input]] += weight;
  });
  return out;
}

// ---- Kernels

struct Plane {
  std::int64_t rows, columns, channels;
  std::int64_t row_size() const { return columns * channels; }
};

void gather_rows(const Spans& spans, const float* in, const Plane& from, std::int64_t row, float* out) {
  const std::int64_t start = spans.starts[row], count = std::min(spans.size, from.rows - start);
  std::fill_n(out, from.row_size(), 0.0F);
  for (std::int64_t i = 0; i < count; ++i) {
    const float weight = spans.weights[row * spans.size + i];
    const float* line = in + (start + i) * from.row_size();
    for (std::int64_t k = 0; k < from.row_size(); ++k) out[k] += weight * line[k];
  }
}

void gather_columns(const Spans& spans, const float* in, const Plane& from, std::int64_t columns, float* out) {
  for (std::int64_t x = 0; x < columns; ++x, out += from.channels) {
    const std::int64_t start = spans.starts[x], count = std::min(spans.size, from.columns - start);
    std::fill_n(out, from.channels, 0.0F);
    const float* pixel = in + start * from.channels;
    for (std::int64_t i = 0; i < count; ++i, pixel += from.channels) {
      const float weight = spans.weights[x * spans.size + i];
      for (std::int64_t k = 0; k < from.channels; ++k) out[k] += weight * pixel[k];
    }
  }
}

void gather(RunContext& c, const Spans& rows, const Spans& columns, const Tensor& in, Tensor& out) {
  const Plane from{in.dim(1), in.dim(2), in.dim(3)};
  const std::int64_t out_rows = out.dim(1), out_columns = out.dim(2);
  const auto* pixels = in.data<float>();
  auto* result = out.data<float>();
  c.pool().parallel_for(in.dim(0) * out_rows, 4, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> line(static_cast<std::size_t>(from.row_size()));
    for (; begin < end; ++begin) {
      gather_rows(rows, pixels + begin / out_rows * from.rows * from.row_size(), from, begin % out_rows, line.data());
      gather_columns(columns, line.data(), from, out_columns, result + begin * out_columns * from.channels);
    }
  });
}

std::array<float, 2> pair_from(const Tensor& values, std::string_view what) {
  if (values.rank() != 1 || values.dim(0) != 2) {
    throw invalid_argument(what, " must be two numbers (rows, columns), not ", values.describe());
  }
  return {values.data<float>()[0], values.data<float>()[1]};
}

struct Move {
  Axis rows, columns;
};

Move move_of(const Tensor& scale, const Tensor& translation, std::array<std::int64_t, 2> in,
             std::array<std::int64_t, 2> out) {
  const auto scales = pair_from(scale, "scale"), translations = pair_from(translation, "translation");
  if (!(scales[0] > 0 && scales[1] > 0)) throw invalid_argument("scale ", scale, " must be positive");
  return {{in[0], out[0], scales[0], translations[0]}, {in[1], out[1], scales[1], translations[1]}};
}

void check_picture(const Tensor& image, std::string_view what) {
  check_rank(image, 4, what);
  for (int i = 1; i < 4; ++i) {
    if (image.dim(i) <= 0 || image.dim(i) >= std::numeric_limits<std::int32_t>::max()) {
      throw invalid_argument(what, " ", image.describe(), " must have rows, columns and channels");
    }
  }
}

void run_scale(RunContext& c) {
  const Tensor& images = c.input(0);
  const Filter& filter = filter_named(c.node().attr<std::string>("kernel_type"));
  check_rank(images, 4, "images");
  const auto size = image_size_from(c.input(1), "size");
  check_picture(images, "images");
  const Move move = move_of(c.input(2), c.input(3), {images.dim(1), images.dim(2)}, size);
  Tensor& out = c.allocate_output(0, Shape{images.dim(0), size[0], size[1], images.dim(3)});
  if (out.num_elements() == 0) return;
  const bool antialias = c.node().attr<bool>("antialias");
  gather(c, make_spans(filter, move.rows, antialias), make_spans(filter, move.columns, antialias),
         as_float32(c, images), out);
}

void run_scale_grad(RunContext& c) {
  const Tensor& grads = c.input(0);
  const Tensor& original = c.input(1);
  const Filter& filter = filter_named(c.node().attr<std::string>("kernel_type"));
  check_picture(grads, "grads");
  check_picture(original, "original_image");
  if (original.dim(0) != grads.dim(0) || original.dim(3) != grads.dim(3)) {
    throw invalid_argument("grads ", grads.describe(), " are none of pictures ", original.describe());
  }
  const Move move = move_of(c.input(2), c.input(3), {original.dim(1), original.dim(2)}, {grads.dim(1), grads.dim(2)});
  Tensor& out = c.allocate_output(0, original.shape());
  if (out.num_elements() == 0) return;
  const bool antialias = c.node().attr<bool>("antialias");
  gather(c, transposed(make_spans(filter, move.rows, antialias), move.rows),
         transposed(make_spans(filter, move.columns, antialias), move.columns), grads, out);
}

// ---- Gradients

void scale_gradient(GradientContext& c) {
  if (c.input(0).dtype() != DType::kFloat) {
    throw unimplemented("ScaleAndTranslate has a gradient towards float32 pictures only, not ", c.input(0).dtype())
        .hint("Cast the pictures to float32 first.");
  }
  c.set_input_grad(0, raw_ops::scale_and_translate_grad(
                          c.grad(0), c.input(0), c.input(2), c.input(3),
                          {.kernel_type = c.attr<std::string>("kernel_type"), .antialias = c.attr<bool>("antialias")}));
}

// ---- Registrations

CAUDAL_REGISTER_OP({
    .name = "ScaleAndTranslate",
    .inputs = "images: T; size: int32; scale: float; translation: float",
    .outputs = "resized_images: float",
    .attrs = "T: {int8, uint8, int16, uint16, int32, int64, bfloat16, half, float, double};"
             "kernel_type: string = 'lanczos3'; antialias: bool = true",
    .shape = scale_shape,
    .gradient = scale_gradient,
    .cpu = kernel_of<run_scale>,
});
CAUDAL_REGISTER_OP({
    .name = "ScaleAndTranslateGrad",
    .inputs = "grads: T; original_image: T; scale: float; translation: float",
    .outputs = "output: T",
    .attrs = "T: {float}; kernel_type: string = 'lanczos3'; antialias: bool = true",
    .shape = like_original_shape,
    .gradient = no_gradient,
    .cpu = kernel_of<run_scale_grad>,
});

OpBuilder& with_options(OpBuilder& builder, const Operand& scale, const Operand& translation,
                        const image::ScaleAndTranslateOptions& options) {
  return builder.input(scale, DType::kFloat)
      .input(translation, DType::kFloat)
      .attr("kernel_type", options.kernel_type)
      .attr("antialias", options.antialias);
}

}  // namespace

// ---- Public functions

Output image::scale_and_translate(const Operand& images, const Operand& size, const Operand& scale,
                                  const Operand& translation, const ScaleAndTranslateOptions& options) {
  OpBuilder builder("ScaleAndTranslate", {.name = options.name, .where = options.where});
  builder.input(images).input(size, DType::kInt32);
  return with_options(builder, scale, translation, options).build();
}

Output raw_ops::scale_and_translate_grad(const Operand& grads, const Operand& original_image, const Operand& scale,
                                         const Operand& translation, const image::ScaleAndTranslateOptions& options) {
  OpBuilder builder("ScaleAndTranslateGrad", {.name = options.name, .where = options.where});
  builder.input(grads).input(original_image);
  return with_options(builder, scale, translation, options).build();
}

}  // namespace caudal::inline v0
