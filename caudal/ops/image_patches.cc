#include "caudal/ops/image_patches.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "caudal/autodiff/gradient.h"
#include "caudal/base/error.h"
#include "caudal/base/philox.h"
#include "caudal/base/thread_pool.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/ops/image_util.h"
#include "caudal/ops/op_util.h"

namespace caudal::inline v0 {
namespace {

using List = std::vector<std::int64_t>;

// ---- Geometry of windows: pictures are volumes of one plane

constexpr int kAxes = 3;

struct Window {
  std::int64_t size = 1, stride = 1, rate = 1;
  std::int64_t extent() const { return size + (size - 1) * (rate - 1); }
};

struct Windows {
  std::array<Window, kAxes> axes;
  int axis_count = 2;  // of the op: 2 for pictures, 3 for volumes
  bool same = false;
};

void check_list(const List& values, int axes, std::string_view what) {
  if (static_cast<int>(values.size()) != axes + 2) {
    throw invalid_argument(what, " has ", values.size(), " numbers; ", axes + 2, " are wanted");
  }
}

void check_values(const List& values, std::string_view what) {
  if (values.front() != 1 || values.back() != 1) {
    throw unimplemented(what, " must be 1 over the batch and the depth: windows are over space only");
  }
  for (const std::int64_t value : values) {
    if (value < 1) throw out_of_range(what, " ", value, " is out of range; at least 1 is wanted");
    if (value > std::numeric_limits<std::int32_t>::max()) throw invalid_argument(what, " ", value, " is too large");
  }
}

Windows windows_of(const NodeInfo& node) {
  Windows windows;
  const List& sizes = node.attr<List>("ksizes");
  const List& strides = node.attr<List>("strides");
  const bool has_rates = node.op->def.find_attr("rates") != nullptr;
  windows.axis_count = has_rates ? 2 : 3;
  const List rates = has_rates ? node.attr<List>("rates") : List(5, 1);
  check_list(sizes, windows.axis_count, "ksizes");
  check_list(strides, windows.axis_count, "strides");
  check_list(rates, windows.axis_count, "rates");
  windows.same = node.attr<std::string>("padding") == "SAME";
  const int first = kAxes - windows.axis_count;
  for (int i = 0; i < windows.axis_count; ++i) {
    windows.axes[first + i] = {sizes[1 + i], strides[1 + i], rates[1 + i]};
  }
  return windows;
}

void check_windows(const NodeInfo& node) {
  check_values(node.attr<List>("ksizes"), "ksizes");
  check_values(node.attr<List>("strides"), "strides");
  if (node.op->def.find_attr("rates") != nullptr) check_values(node.attr<List>("rates"), "rates");
}

struct Along {
  std::int64_t count = 0;   // windows
  std::int64_t before = 0;  // padding
};

Along along(const Window& window, bool same, std::int64_t in) {
  if (!same) {
    const std::int64_t room = in - window.extent() + window.stride;
    if (room < 0 && -room >= window.stride) {
      throw invalid_argument("a window of ", window.extent(), " pixels does not fit into ", in);
    }
    return {std::max<std::int64_t>(room, 0) / window.stride, 0};
  }
  const std::int64_t count = (in + window.stride - 1) / window.stride;
  const std::int64_t padding = (count - 1) * window.stride + window.extent() - in;
  return {count, std::max<std::int64_t>(padding, 0) / 2};
}

// ---- Shape functions

void patches_shape(ShapeContext& c) {
  const Windows windows = windows_of(c.node());
  const PartialShape input = c.with_rank(0, windows.axis_count + 2);
  std::vector<std::int64_t> sizes = {input.dim(0)};
  std::int64_t depth = input.dim(-1);
  const int first = kAxes - windows.axis_count;
  bool all_known = true;
  for (int i = 0; i < windows.axis_count; ++i) {
    const Window& window = windows.axes[first + i];
    if (depth >= 0) depth *= window.size;
    all_known &= input.dim(1 + i) >= 0;
    if (window.stride < 1) throw invalid_argument("the stride ", window.stride, " must be positive");
  }
  for (int i = 0; i < windows.axis_count; ++i) {
    sizes.push_back(all_known ? along(windows.axes[first + i], windows.same, input.dim(1 + i)).count : -1);
  }
  sizes.push_back(depth);
  c.set_output(0, PartialShape(sizes));
}

void glimpse_shape(ShapeContext& c) {
  const PartialShape input = c.with_rank(0, 4), offsets = c.with_rank(2, 2);
  const std::int64_t batch = ShapeContext::merge_dim(input.dim(0), offsets.dim(0), "the batches of input and offsets");
  ShapeContext::merge_dim(offsets.dim(1), 2, "the columns of offsets");
  const auto& noise = c.attr<std::string>("noise");
  if (c.attr<bool>("uniform_noise") && !noise.empty() && noise != "uniform") {
    throw invalid_argument("uniform_noise and noise '", noise, "' exclude each other")
        .hint("Set uniform_noise to false.");
  }
  set_sized_image(c, 1, batch, input.dim(3));
}

// ---- Kernels

struct PatchCopy {
  const char* in;
  char* out;
  std::array<std::int64_t, kAxes> sizes;  // of the input
  std::array<Along, kAxes> windows;
  std::int64_t pixel;  // bytes

  // The patch whose windows begin at `at`.
  void copy(const Windows& w, std::int64_t image, const std::array<std::int64_t, kAxes>& at, char* to) const {
    const auto source = [&](int axis, std::int64_t i) { return at[axis] + i * w.axes[axis].rate; };
    for (std::int64_t p = 0; p < w.axes[0].size; ++p) {
      for (std::int64_t r = 0; r < w.axes[1].size; ++r) {
        const std::int64_t plane = source(0, p), row = source(1, r);
        const bool inside = plane >= 0 && plane < sizes[0] && row >= 0 && row < sizes[1];
        const char* line = inside ? in + ((image * sizes[0] + plane) * sizes[1] + row) * sizes[2] * pixel : nullptr;
        for (std::int64_t k = 0; k < w.axes[2].size; ++k, to += pixel) {
          const std::int64_t column = source(2, k);
          if (inside && column >= 0 && column < sizes[2]) {
            std::memcpy(to, line + column * pixel, static_cast<std::size_t>(pixel));
          } else {
            std::memset(to, 0, static_cast<std::size_t>(pixel));
          }
        }
      }
    }
  }
};

void run_patches(RunContext& c) {
  const Tensor& input = c.input(0);
  const Windows windows = windows_of(c.node());
  check_windows(c.node());
  check_rank(input, windows.axis_count + 2, "the input");
  PatchCopy job{};
  std::vector<std::int64_t> sizes = {input.dim(0)};
  std::int64_t values = input.dim(windows.axis_count + 1), count = input.dim(0);
  job.pixel = values * static_cast<std::int64_t>(dtype_size(input.dtype()));
  const int first = kAxes - windows.axis_count;
  for (int axis = 0; axis < kAxes; ++axis) {
    job.sizes[axis] = axis < first ? 1 : input.dim(1 + axis - first);
    job.windows[axis] = along(windows.axes[axis], windows.same, job.sizes[axis]);
    count *= job.windows[axis].count;
    const std::vector<std::int64_t> product = {values, windows.axes[axis].size};
    if (!checked_num_elements(product)) throw invalid_argument("the windows are too large");
    values *= windows.axes[axis].size;
    if (axis >= first) sizes.push_back(job.windows[axis].count);
  }
  sizes.push_back(values);
  Tensor& out = c.allocate_output(0, Shape(sizes));
  if (out.num_elements() == 0) return;
  job.in = input.raw();
  job.out = out.raw();
  const std::int64_t patch = values * static_cast<std::int64_t>(dtype_size(input.dtype()));
  c.pool().parallel_for(count, std::max<std::int64_t>(1, 16384 / patch), [&](std::int64_t begin, std::int64_t end) {
    for (; begin < end; ++begin) {
      std::array<std::int64_t, kAxes> at{};
      std::int64_t rest = begin;
      for (int axis = kAxes - 1; axis >= 0; --axis) {
        at[axis] = rest % job.windows[axis].count * windows.axes[axis].stride - job.windows[axis].before;
        rest /= job.windows[axis].count;
      }
      job.copy(windows, rest, at, job.out + begin * patch);
    }
  });
}

// One side of a glimpse: which part of the picture comes where.
struct Overlap {
  std::int64_t from = 0, to = 0, count = 0;
  bool partial = false;
};

Overlap overlap(float offset, std::int64_t in, std::int64_t size) {
  // Places this far off show nothing, wherever exactly they lie; NaN counts as such.
  const auto limit = static_cast<float>(in + size + 1);
  const auto at = static_cast<std::int64_t>(offset >= -limit && offset <= limit ? offset : limit);
  Overlap out{std::max<std::int64_t>(at, 0), 0, size, false};
  if (at < 0) {
    out.count = std::max<std::int64_t>(0, size + at);
    out.to = size - out.count;
    out.partial = true;
  } else if (at + size >= in) {
    out.count = std::max<std::int64_t>(0, in - at);
    out.partial = true;
  }
  out.count = std::min(out.count, in);
  return out;
}

struct GlimpseStyle {
  bool centered, normalized, first_version;

  float place(float offset, std::int64_t in, std::int64_t size) const {
    const auto side = static_cast<float>(in);
    const float half_size = static_cast<float>(size) / 2.0F;
    if (normalized) offset *= side;
    const bool halved = centered && (first_version || normalized);
    if (halved) offset /= 2.0F;
    if (centered) offset += side / 2.0F;
    return first_version || halved ? offset - half_size : offset;
  }
};

// Fills with noise in the range (uniform) or by the mean and deviation of each channel (gaussian) of the picture.
void fill_noise(RunContext& c, const std::string& noise, const float* picture, std::int64_t pixels,
                std::int64_t channels, std::span<float> out) {
  if (noise == "zero" || pixels == 0 || channels == 0) {
    std::ranges::fill(out, 0.0F);
    return;
  }
  const PhiloxRandom generator = PhiloxState(0, 0).reserve_outputs(out.size(), 1);
  if (noise == "uniform") {
    const auto [low, high] = std::minmax_element(picture, picture + pixels * channels);
    fill_uniform(generator, out, c.pool());
    for (float& value : out) value = *low + value * (*high - *low);
    return;
  }
  fill_normal(generator, out, c.pool());
  for (std::int64_t k = 0; k < channels; ++k) {
    double sum = 0, squares = 0;
    float low = picture[k], high = picture[k];
    for (std::int64_t i = 0; i < pixels; ++i) {
      const float value = picture[i * channels + k];
      sum += value;
      low = std::min(low, value);
      high = std::max(high, value);
    }
    const double mean = sum / static_cast<double>(pixels);
    for (std::int64_t i = 0; i < pixels; ++i) {
      const double difference = picture[i * channels + k] - mean;
      squares += difference * difference;
    }
    const double sigma = std::sqrt(squares / static_cast<double>(pixels));
    for (std::size_t i = k; i < out.size(); i += channels) {
      out[i] = std::max(std::min(static_cast<float>(mean + sigma * out[i]), high), low);
    }
  }
}

std::string noise_of(const NodeInfo& node) {
  const auto& noise = node.attr<std::string>("noise");
  if (noise.empty()) return node.attr<bool>("uniform_noise") ? "uniform" : "gaussian";
  if (noise != "uniform" && noise != "gaussian" && noise != "zero") {
    throw invalid_argument("noise '", noise, "' is unknown; uniform, gaussian or zero is wanted");
  }
  return noise;
}

template <bool first_version>
void run_glimpse(RunContext& c) {
  const Tensor& input = c.input(0);
  const Tensor& offsets = c.input(2);
  check_rank(input, 4, "input");
  check_rank(offsets, 2, "offsets");
  if (c.input(1).rank() != 1 || c.input(1).dim(0) != 2) {
    throw invalid_argument("size must be a vector of height and width, not ", c.input(1).describe());
  }
  if (offsets.dim(0) != input.dim(0) || offsets.dim(1) != 2) {
    throw invalid_argument("offsets ", offsets.describe(), " must be (y, x) for each picture of ", input.describe());
  }
  const Shape size = shape_from(c.input(1), "size");
  const std::int64_t height = input.dim(1), width = input.dim(2), channels = input.dim(3);
  const std::string noise = noise_of(c.node());
  Tensor& out = c.allocate_output(0, Shape{input.dim(0), size[0], size[1], channels});
  if (out.num_elements() == 0) return;
  const GlimpseStyle style{c.node().attr<bool>("centered"), c.node().attr<bool>("normalized"), first_version};
  const std::int64_t in_size = height * width * channels, out_size = size[0] * size[1] * channels;
  for (std::int64_t i = 0; i < input.dim(0); ++i) {
    const float* at = offsets.data<float>() + 2 * i;
    const float* picture = input.data<float>() + i * in_size;
    float* to = out.data<float>() + i * out_size;
    const Overlap rows = overlap(style.place(at[0], height, size[0]), height, size[0]);
    const Overlap columns = overlap(style.place(at[1], width, size[1]), width, size[1]);
    if (rows.partial || columns.partial) {
      fill_noise(c, noise, picture, height * width, channels, std::span(to, static_cast<std::size_t>(out_size)));
    }
    for (std::int64_t r = 0; r < rows.count && columns.count > 0; ++r) {
      std::copy_n(picture + ((rows.from + r) * width + columns.from) * channels, columns.count * channels,
                  to + ((rows.to + r) * size[1] + columns.to) * channels);
    }
  }
}

// ---- Gradients

// Sums each pixel's share of all patches: the patches of the pixels' numbers tell where each value came from.
void patches_gradient(GradientContext& c) {
  const Output x = c.input(0);
  const bool volume = c.node().info().type() == "ExtractVolumePatches";
  const int axes = volume ? 3 : 2;
  const Output shape = shape_of(x);
  const auto part = [&](int begin, int count) {
    return OpBuilder("Slice", {}).input(shape).input({begin}).input({count}).build();
  };
  const auto joined = [](std::vector<Output> parts) {
    return OpBuilder("ConcatV2", {}).inputs(std::move(parts)).input(0).build();
  };
  const auto reshape = [](const Output& value, const Output& to) {
    return OpBuilder("Reshape", {}).input(value).input(to).build();
  };
  const Output batch = part(0, 1), space = part(1, axes), depth = part(axes + 1, 1), one = int32_vector({1});
  const Output pixels = OpBuilder("Prod", {}).input(space).input({0}).build();
  const Output end = OpBuilder("AddV2", {}).input(pixels).input(1).build();
  const Output numbers = OpBuilder("Range", {}).input(1).input(end).input(1).build();
  OpBuilder again(c.node().info().type(), {});
  again.input(reshape(numbers, joined({one, space, one})))
      .attr("ksizes", c.attr<List>("ksizes"))
      .attr("strides", c.attr<List>("strides"))
      .attr("padding", c.attr<std::string>("padding"));
  if (!volume) again.attr("rates", c.attr<List>("rates"));
  const Output ids = OpBuilder("Sub", {}).input(reshape(again.build(), int32_vector({-1}))).input(1).build();
  const Output count = OpBuilder("Shape", {}).input(ids).build();
  const Output order = int32_vector({1, 0, 2});
  const Output grads =
      OpBuilder("Transpose", {}).input(reshape(c.grad(0), joined({batch, count, depth}))).input(order).build();
  const Output sums = OpBuilder("UnsortedSegmentSum", {}).input(grads).input(ids).input(pixels).build();
  c.set_input_grad(0, reshape(OpBuilder("Transpose", {}).input(sums).input(order).build(), shape));
}

// ---- Registrations

CAUDAL_REGISTER_OP({
    .name = "ExtractImagePatches",
    .inputs = "images: T",
    .outputs = "patches: T",
    .attrs = "ksizes: list(int) >= 4; strides: list(int) >= 4; rates: list(int) >= 4;"
             "T: {bfloat16, half, float, double, int8, int16, int32, int64, uint8, uint16, uint32, uint64, complex64,"
             "complex128, bool}; padding: {'SAME', 'VALID'}",
    .shape = patches_shape,
    .gradient = patches_gradient,
    .cpu = kernel_of<run_patches>,
});
CAUDAL_REGISTER_OP({
    .name = "ExtractVolumePatches",
    .inputs = "input: T",
    .outputs = "patches: T",
    .attrs = "ksizes: list(int) >= 5; strides: list(int) >= 5;"
             "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64};"
             "padding: {'SAME', 'VALID'}",
    .shape = patches_shape,
    .gradient = patches_gradient,
    .cpu = kernel_of<run_patches>,
});
CAUDAL_REGISTER_OP({
    .name = "ExtractGlimpse",
    .inputs = "input: float; size: int32; offsets: float",
    .outputs = "glimpse: float",
    .attrs = "centered: bool = true; normalized: bool = true; uniform_noise: bool = true; noise: string = 'uniform'",
    .shape = glimpse_shape,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_glimpse<true>>,
});
CAUDAL_REGISTER_OP({
    .name = "ExtractGlimpseV2",
    .inputs = "input: float; size: int32; offsets: float",
    .outputs = "glimpse: float",
    .attrs = "centered: bool = true; normalized: bool = true; uniform_noise: bool = true; noise: string = 'uniform'",
    .shape = glimpse_shape,
    .gradient = no_gradient,
    .cpu = kernel_of<run_glimpse<false>>,
});

Output build_glimpse(std::string_view op, const Operand& input, const Operand& size, const Operand& offsets,
                     const image::ExtractGlimpseOptions& options) {
  return OpBuilder(op, {.name = options.name, .where = options.where})
      .input(input, DType::kFloat)
      .input(size, DType::kInt32)
      .input(offsets, DType::kFloat)
      .attr("centered", options.centered)
      .attr("normalized", options.normalized)
      .attr("uniform_noise", false)
      .attr("noise", options.noise)
      .build();
}

}  // namespace

// ---- Public functions

Output image::extract_patches(const Operand& images, const ExtractPatchesOptions& options) {
  return OpBuilder("ExtractImagePatches", {.name = options.name, .where = options.where})
      .input(images)
      .attr("ksizes", options.sizes)
      .attr("strides", options.strides)
      .attr("rates", options.rates)
      .attr("padding", options.padding)
      .build();
}

Output image::extract_glimpse(const Operand& input, const Operand& size, const Operand& offsets,
                              const ExtractGlimpseOptions& options) {
  return build_glimpse("ExtractGlimpseV2", input, size, offsets, options);
}

Output image::extract_glimpse_v1(const Operand& input, const Operand& size, const Operand& offsets,
                                 const ExtractGlimpseOptions& options) {
  return build_glimpse("ExtractGlimpse", input, size, offsets, options);
}

Output extract_volume_patches(const Operand& input, const ExtractVolumePatchesOptions& options) {
  return OpBuilder("ExtractVolumePatches", {.name = options.name, .where = options.where})
      .input(input)
      .attr("ksizes", options.ksizes)
      .attr("strides", options.strides)
      .attr("padding", options.padding)
      .build();
}

}  // namespace caudal::inline v0
