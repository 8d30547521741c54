#include "caudal/ops/dilation.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "caudal/autodiff/gradient.h"
#include "caudal/base/thread_pool.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/kernels/dispatch.h"
#include "caudal/kernels/numeric.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/sliding_window.h"

namespace caudal::inline v0 {
namespace {

SlidingWindow window_of(const NodeInfo& node) {
  SlidingWindow window = SlidingWindow::of(node);
  window.dilation = window.sizes(node.attr<std::vector<std::int64_t>>("rates"), "rates");
  return window;
}

// --- Shape functions ---

void dilation_shape(ShapeContext& c) {
  const SlidingWindow window = window_of(c.node());
  const PartialShape input = c.with_rank(0, 4), filter = c.with_rank(1, 3);
  const bool known = input.dim(1) >= 0 && input.dim(2) >= 0 && filter.dim(0) >= 0 && filter.dim(1) >= 0;
  if (known) ShapeContext::merge_dim(input.dim(3), filter.dim(2), "the channels of input and filter");
  const auto size = [&](int d) {
    return known ? window.output_size(d, input.dim(d), filter.dim(d - 1)) : PartialShape::kUnknown;
  };
  c.set_output(0, PartialShape({input.dim(0), size(1), size(2), filter.dim(2)}));
}

template <int input>
void like_input_shape(ShapeContext& c) {
  c.set_output(0, c.input(input));
}

// --- Kernels ---

// A tap: where it lies in the image and in the filter, in pixels.
struct Tap {
  std::int64_t pixel, place;
};

// Calls fn(output pixel, taps of its window) for the output rows [begin, end) of the whole batch.
template <class Fn>
void for_each_window(const kernels::Window2d& w, std::int64_t begin, std::int64_t end, const Fn& fn) {
  std::vector<Tap> taps;
  for (std::int64_t row = begin; row < end; ++row) {
    const std::int64_t entry = row / w.out_height(), top = row % w.out_height() * w.stride_height - w.rows.before;
    for (std::int64_t x = 0; x < w.out_width(); ++x) {
      const std::int64_t left = x * w.stride_width - w.columns.before;
      taps.clear();
      for (std::int64_t i = 0; i < w.window_height; ++i) {
        const std::int64_t y = top + i * w.dilation_height;
        if (y < 0 || y >= w.height) continue;
        for (std::int64_t j = 0; j < w.window_width; ++j) {
          const std::int64_t column = left + j * w.dilation_width;
          if (column < 0 || column >= w.width) continue;
          taps.push_back({(entry * w.height + y) * w.width + column, i * w.window_width + j});
        }
      }
      fn(row * w.out_width() + x, taps);
    }
  }
}

template <class T>
T lowest() {
  if constexpr (std::is_same_v<T, Half>)
    return Half(-65504.0F);
  else if constexpr (std::is_same_v<T, BFloat16>)
    return BFloat16(-3.38953139e38F);
  else
    return std::numeric_limits<T>::lowest();
}

template <class T>
T sum_of(T a, T b) {
  using W = kernels::Wide<T>;
  if constexpr (kernels::kIsNarrowFloat<T>)
    return T(static_cast<W>(a) + static_cast<W>(b));
  else
    return kernels::wrap_add(a, b);
}

template <class T>
bool greater_than(T a, T b) {
  return static_cast<kernels::Wide<T>>(a) > static_cast<kernels::Wide<T>>(b);
}

template <class T>
void forward(ThreadPool& pool, const kernels::Window2d& w, const T* in, const T* filter, T* out) {
  pool.parallel_for(w.batch * w.out_height(), 1, [&](std::int64_t begin, std::int64_t end) {
    for_each_window(w, begin, end, [&](std::int64_t pixel, const std::vector<Tap>& taps) {
      T* best = out + pixel * w.channels;
      std::fill_n(best, w.channels, lowest<T>());
      for (const Tap& tap : taps) {
        const T *values = in + tap.pixel * w.channels, *weights = filter + tap.place * w.channels;
        for (std::int64_t c = 0; c < w.channels; ++c) {
          const T value = sum_of(values[c], weights[c]);
          if (greater_than(value, best[c])) best[c] = value;
        }
      }
    });
  });
}

// Adds each gradient where the maximum came from: of_input: in the image, else in the filter. Threads share the
// channels, so that each sum has one writer and one order.
template <class T, bool of_input>
void backward(ThreadPool& pool, const kernels::Window2d& w, const T* in, const T* filter, const T* grad, T* result,
              std::int64_t result_pixels) {
  pool.parallel_for(w.channels, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = 0; i < result_pixels; ++i) {
      std::fill(result + i * w.channels + first, result + i * w.channels + last, T());
    }
    for_each_window(w, 0, w.batch * w.out_height(), [&](std::int64_t pixel, const std::vector<Tap>& taps) {
      for (std::int64_t c = first; c < last && !taps.empty(); ++c) {
        T best = lowest<T>();
        const Tap* winner = taps.data();
        for (const Tap& tap : taps) {
          const T value = sum_of(in[tap.pixel * w.channels + c], filter[tap.place * w.channels + c]);
          if (!greater_than(value, best)) continue;
          best = value;
          winner = &tap;
        }
        T& sum = result[(of_input ? winner->pixel : winner->place) * w.channels + c];
        sum = sum_of(sum, grad[pixel * w.channels + c]);
      }
    });
  });
}

class DilationKernel : public Kernel {
 public:
  explicit DilationKernel(const SlidingWindow& window) : window_(window) {}

 protected:
  kernels::Window2d over(const Tensor& input, const Tensor& filter) const {
    if (filter.rank() != 3) throw invalid_argument("the filter must have 3 dimensions, not ", filter.describe());
    if (filter.num_elements() == 0) throw invalid_argument("the filter ", filter.describe(), " is empty");
    const kernels::Window2d w = window_.over(input.shape(), filter.dim(0), filter.dim(1));
    if (w.channels != filter.dim(2)) {
      throw invalid_argument("input ", input.describe(), " and filter ", filter.describe(), " differ in channels");
    }
    return w;
  }
  static Shape output_of(const kernels::Window2d& w) { return {w.batch, w.out_height(), w.out_width(), w.channels}; }

 private:
  SlidingWindow window_;
};

class ForwardKernel final : public DilationKernel {
 public:
  using DilationKernel::DilationKernel;
  void run(RunContext& c) const override {
    const Tensor &in = c.input(0), &filter = c.input(1);
    const kernels::Window2d w = over(in, filter);
    Tensor& out = c.allocate_output(0, output_of(w));
    if (out.num_elements() == 0) return;
    kernels::dispatch(kernels::RealTypes(), in.dtype(), "a dilation",
                      [&]<class T>() { forward(c.pool(), w, in.data<T>(), filter.data<T>(), out.data<T>()); });
  }
};

template <bool of_input>
class BackwardKernel final : public DilationKernel {
 public:
  using DilationKernel::DilationKernel;
  void run(RunContext& c) const override {
    const Tensor &in = c.input(0), &filter = c.input(1), &grad = c.input(2);
    const kernels::Window2d w = over(in, filter);
    if (!(grad.shape() == output_of(w))) {
      throw invalid_argument("out_backprop ", grad.describe(), " must be ", output_of(w));
    }
    Tensor& out = c.allocate_output(0, (of_input ? in : filter).shape());
    const std::int64_t pixels = w.channels == 0 ? 0 : out.num_elements() / w.channels;
    kernels::dispatch(kernels::RealTypes(), in.dtype(), "a dilation", [&]<class T>() {
      backward<T, of_input>(c.pool(), w, in.data<T>(), filter.data<T>(), grad.data<T>(), out.data<T>(), pixels);
    });
  }
};

template <class K>
std::unique_ptr<Kernel> prepare(PrepareContext& c) {
  const SlidingWindow window = window_of(c.node());
  window.check_cpu();
  return std::make_unique<K>(window);
}

// --- Gradient ---

void dilation_gradient(GradientContext& c) {
  for (int i = 0; i < 2; ++i) {
    OpBuilder builder(i == 0 ? "Dilation2DBackpropInput" : "Dilation2DBackpropFilter", {});
    copy_attrs(c.node().info(), {"strides", "rates", "padding"}, builder);
    c.set_input_grad(i, builder.input(c.input(0)).input(c.input(1)).input(c.grad(0)).build());
  }
}

}  // namespace

// --- Registrations ---

CAUDAL_REGISTER_OP({.name = "Dilation2D",
                    .inputs = "input: T; filter: T",
                    .outputs = "output: T",
                    .attrs = "T: realnumbertype; strides: list(int) >= 4; rates: list(int) >= 4; "
                             "padding: {'SAME', 'VALID'}",
                    .shape = dilation_shape,
                    .gradient = dilation_gradient,
                    .cpu = prepare<ForwardKernel>});
CAUDAL_REGISTER_OP({.name = "Dilation2DBackpropInput",
                    .inputs = "input: T; filter: T; out_backprop: T",
                    .outputs = "in_backprop: T",
                    .attrs = "T: realnumbertype; strides: list(int) >= 4; rates: list(int) >= 4; "
                             "padding: {'SAME', 'VALID'}",
                    .shape = like_input_shape<0>,
                    .gradient = no_gradient,
                    .cpu = prepare<BackwardKernel<true>>});
CAUDAL_REGISTER_OP({.name = "Dilation2DBackpropFilter",
                    .inputs = "input: T; filter: T; out_backprop: T",
                    .outputs = "filter_backprop: T",
                    .attrs = "T: realnumbertype; strides: list(int) >= 4; rates: list(int) >= 4; "
                             "padding: {'SAME', 'VALID'}",
                    .shape = like_input_shape<1>,
                    .gradient = no_gradient,
                    .cpu = prepare<BackwardKernel<false>>});

// --- Public functions ---

namespace nn {

Output dilation2d(const Operand& input, const Operand& filter, const MorphologyOptions& options) {
  const DType dtype = common_dtype({&input, &filter});
  OpBuilder builder("Dilation2D", {.name = options.name, .where = options.where});
  try {
    builder.attr("strides", per_dimension(options.strides, "NHWC", "strides"))
        .attr("rates", per_dimension(options.rates, "NHWC", "rates"))
        .attr("padding", options.padding);
  } catch (const Error& error) {
    throw error.made_at(short_location(options.where));
  }
  return builder.input(input, dtype).input(filter, dtype).build();
}

Output erosion2d(const Operand& value, const Operand& kernel, const MorphologyOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope(options.name.empty() ? "erosion2d" : options.name);
  const DType dtype = common_dtype({&value, &kernel});
  const Output turned = OpBuilder("ReverseV2", {}).input(kernel, dtype).input({0, 1}).build();
  MorphologyOptions inner = options;
  inner.name.clear();
  return negative(dilation2d(negative(value.to_output(dtype)), turned, inner), {.name = scope.prefix()});
}

}  // namespace nn
}  // namespace caudal::inline v0
