#include "caudal/ops/fractional_pool.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "caudal/autodiff/gradient.h"
#include "caudal/base/philox.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/kernels/dispatch.h"
#include "caudal/kernels/numeric.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/random.h"

namespace caudal::inline v0 {
namespace {

using List = std::vector<std::int64_t>;
using Ratios = std::vector<float>;
using Types = kernels::TypeList<float, double, std::int32_t, std::int64_t>;

// --- Geometry ---

const Ratios& ratios_of(const NodeInfo& node) {
  const auto& ratios = node.attr<Ratios>("pooling_ratio");
  if (ratios.size() != 4) throw invalid_argument("pooling_ratio must hold 4 numbers, not ", ratios.size());
  for (const float ratio : ratios) {
    if (!(ratio >= 1)) throw invalid_argument("pooling_ratio holds ", ratio, "; ratios must be at least 1");
  }
  return ratios;
}

std::int64_t pooled_size(std::int64_t n, float ratio) {
  return static_cast<std::int64_t>(std::floor(static_cast<float>(n) / ratio));
}

// Lengths of stretches: as equal as possible, shuffled.
List shuffled_lengths(std::int64_t in, std::int64_t out, PhiloxState& generator) {
  List lengths(static_cast<std::size_t>(out), in / out);
  std::fill_n(lengths.begin(), in % out, in / out + 1);
  PhiloxSingles singles(generator.reserve_samples(static_cast<std::uint64_t>(out + 3) / 4));
  for (std::int64_t i = 0; i + 1 < out; ++i) {
    std::swap(lengths[static_cast<std::size_t>(i)],
              lengths[static_cast<std::size_t>(i + singles() % static_cast<std::uint32_t>(out - i))]);
  }
  return lengths;
}

// a[i] = ceil(ratio * (i + u)) with one random u, small enough that no stretch is longer or shorter than the two
// lengths.
List regular_lengths(std::int64_t in, std::int64_t out, PhiloxState& generator) {
  const double alpha = static_cast<double>(in) / static_cast<double>(out);
  const std::int64_t k = in / out;
  const double at_start = static_cast<double>(k + 2) / alpha - 1;
  const double at_end = static_cast<double>(in + 1 - k) / alpha - static_cast<double>(out - 1);
  PhiloxSingles singles(generator.reserve_samples(1));
  const std::uint32_t first = singles(), second = singles();
  const double u = uniform_double(first, second) * std::min(at_start, at_end);
  List lengths;
  std::int64_t last = 1;
  for (std::int64_t i = 1; i < out; ++i) {
    const auto next = static_cast<std::int64_t>(std::ceil(alpha * (static_cast<double>(i) + u)));
    lengths.push_back(next - last);
    last = next;
  }
  lengths.push_back(in + 1 - last);
  return lengths;
}

// Where stretches begin, and the end.
List pooling_sequence(std::int64_t in, std::int64_t out, bool pseudo_random, PhiloxState& generator) {
  const List lengths = (pseudo_random ? regular_lengths : shuffled_lengths)(in, out, generator);
  List sequence = {0};
  for (const std::int64_t length : lengths) sequence.push_back(sequence.back() + length);
  return sequence;
}

// The stretches of one axis of `size` elements: [begin, end] with both included.
class Stretches {
 public:
  // Throws INVALID_ARGUMENT for stretches outside the axis or fewer than `count`.
  Stretches(List sequence, std::int64_t size, std::int64_t count, bool overlapping, std::string_view what)
      : sequence_(std::move(sequence)), size_(size), overlapping_(overlapping) {
    if (std::ssize(sequence_) <= count) {
      throw invalid_argument(what, " has ", sequence_.size(), " entries; ", count + 1, " are wanted");
    }
    for (std::int64_t i = 0; i < count; ++i) {
      if (begin(i) < 0 || begin(i) >= size || last(i) < begin(i)) {
        throw invalid_argument(what, " must rise within [0, ", size, "]");
      }
    }
  }
  std::int64_t begin(std::int64_t i) const { return sequence_[static_cast<std::size_t>(i)]; }
  std::int64_t last(std::int64_t i) const {
    return std::min(sequence_[static_cast<std::size_t>(i + 1)] - (overlapping_ ? 0 : 1), size_ - 1);
  }

 private:
  List sequence_;
  std::int64_t size_;
  bool overlapping_;
};

struct Regions {
  Shape in, out;
  Stretches rows, columns;

  // fn(output pixel, number of its inputs, each): each(fn2) calls fn2(input pixel).
  template <class Fn>
  void for_each(const Fn& fn) const {
    for (std::int64_t b = 0; b < out[0]; ++b) {
      for (std::int64_t y = 0; y < out[1]; ++y) {
        for (std::int64_t x = 0; x < out[2]; ++x) {
          const std::int64_t count = (rows.last(y) - rows.begin(y) + 1) * (columns.last(x) - columns.begin(x) + 1);
          fn((b * out[1] + y) * out[2] + x, count, [&](const auto& inner) {
            for (std::int64_t i = rows.begin(y); i <= rows.last(y); ++i) {
              for (std::int64_t j = columns.begin(x); j <= columns.last(x); ++j) inner((b * in[1] + i) * in[2] + j);
            }
          });
        }
      }
    }
  }
};

// --- Shape functions ---

void fractional_shape(ShapeContext& c) {
  const PartialShape input = c.with_rank(0, 4);
  const Ratios& ratios = ratios_of(c.node());
  List dims;
  for (int i = 0; i < 4; ++i) {
    dims.push_back(input.dim(i) < 0 ? input.dim(i) : pooled_size(input.dim(i), ratios[static_cast<std::size_t>(i)]));
  }
  const auto sequence = [&](std::size_t d) {
    return PartialShape({dims[d] < 0 ? PartialShape::kUnknown : dims[d] + 1});
  };
  c.set_output(1, sequence(1));
  c.set_output(2, sequence(2));
  c.set_output(0, PartialShape(dims));
}

void max_grad_shape(ShapeContext& c) { c.set_output(0, c.with_rank(0, 4)); }

void avg_grad_shape(ShapeContext& c) {
  const auto shape = c.input_as_shape(0).merge(PartialShape::unknown_of_rank(4));
  if (!shape) throw invalid_argument("orig_input_tensor_shape must hold 4 numbers");
  c.set_output(0, *shape);
}

// --- Kernels ---

class FractionalKernel final : public Kernel {
 public:
  FractionalKernel(const NodeInfo& node, bool max)
      : max_(max),
        ratios_(ratios_of(node)),
        pseudo_random_(node.attr<bool>("pseudo_random")),
        overlapping_(node.attr<bool>("overlapping")),
        seed_(static_cast<std::uint64_t>(node.attr<std::int64_t>("seed"))),
        seed2_(static_cast<std::uint64_t>(node.attr<std::int64_t>("seed2"))) {
    if (ratios_[0] != 1 || ratios_[3] != 1) throw unimplemented("fractional pooling over the batch or the channels");
    if (!node.attr<bool>("deterministic")) {
      if (seed_ != 0 || seed2_ != 0) throw invalid_argument("seed and seed2 must be 0 unless deterministic");
    } else if (seed_ == 0 && seed2_ == 0) {
      const PhiloxRandom drawn = PhiloxState(0, 0).generator();  // the same at every run
      seed_ = drawn.key()[0] | std::uint64_t{1};
      seed2_ = drawn.counter()[2];
    }
  }

  void run(RunContext& c) const override {
    const Tensor& in = c.input(0);
    if (in.rank() != 4) throw invalid_argument("images must be [batch, rows, columns, channels], not ", in.describe());
    List dims;
    for (int i = 0; i < 4; ++i) {
      const float ratio = ratios_[static_cast<std::size_t>(i)];
      if (static_cast<float>(in.dim(i)) < ratio) {
        throw invalid_argument("dimension ", i, " of ", in.describe(), " is smaller than its pooling ratio ", ratio);
      }
      dims.push_back(pooled_size(in.dim(i), ratio));
    }
    PhiloxState generator(seed_, seed2_);
    const List rows = pooling_sequence(in.dim(1), dims[1], pseudo_random_, generator);
    const List columns = pooling_sequence(in.dim(2), dims[2], pseudo_random_, generator);
    const Regions regions{in.shape(),
                          Shape(dims),
                          {rows, in.dim(1), dims[1], overlapping_, "rows"},
                          {columns, in.dim(2), dims[2], overlapping_, "columns"}};
    Tensor& out = c.allocate_output(0, regions.out);
    c.set_output(1, Tensor(rows));
    c.set_output(2, Tensor(columns));
    kernels::dispatch(Types(), in.dtype(), "fractional pooling", [&]<class T>() {
      max_ ? pool_max(regions, in.data<T>(), out.data<T>()) : pool_avg(regions, in.data<T>(), out.data<T>());
    });
  }

 private:
  template <class T>
  static void pool_max(const Regions& regions, const T* in, T* out) {
    const std::int64_t channels = regions.in[3];
    regions.for_each([&](std::int64_t pixel, std::int64_t, const auto& each) {
      T* best = out + pixel * channels;
      std::fill_n(best, channels, std::numeric_limits<T>::lowest());
      each([&](std::int64_t from) {
        for (std::int64_t c = 0; c < channels; ++c) best[c] = std::max(best[c], in[from * channels + c]);
      });
    });
  }
  template <class T>
  static void pool_avg(const Regions& regions, const T* in, T* out) {
    const std::int64_t channels = regions.in[3];
    regions.for_each([&](std::int64_t pixel, std::int64_t count, const auto& each) {
      T* sum = out + pixel * channels;
      std::fill_n(sum, channels, T{0});
      each([&](std::int64_t from) {
        for (std::int64_t c = 0; c < channels; ++c) sum[c] = kernels::wrap_add(sum[c], in[from * channels + c]);
      });
      for (std::int64_t c = 0; c < channels; ++c) sum[c] = static_cast<T>(sum[c] / static_cast<T>(count));
    });
  }

  bool max_;
  Ratios ratios_;
  bool pseudo_random_, overlapping_;
  std::uint64_t seed_, seed2_;
};

template <bool max>
std::unique_ptr<Kernel> prepare(PrepareContext& c) {
  return std::make_unique<FractionalKernel>(c.node(), max);
}

// Of a gradient op: inputs `first` and the next are the sequences.
Regions regions_of(const RunContext& c, const Shape& in, const Tensor& grad, int first) {
  if (in.rank() != 4 || grad.rank() != 4 || in[0] != grad.dim(0) || in[3] != grad.dim(3)) {
    throw invalid_argument("gradients ", grad.describe(), " do not fit images of shape ", in);
  }
  const bool overlapping = c.node().attr<bool>("overlapping");
  const auto stretches = [&](int i, int d, std::string_view what) {
    if (c.input(i).rank() != 1) throw invalid_argument(what, " must be a vector, not ", c.input(i).describe());
    return Stretches(c.input(i).to_int64s(), in[d], grad.dim(d), overlapping, what);
  };
  return {in, grad.shape(), stretches(first, 1, "row_pooling_sequence"),
          stretches(first + 1, 2, "col_pooling_sequence")};
}

void run_max_grad(RunContext& c) {
  const Tensor &in = c.input(0), &best = c.input(1), &grad = c.input(2);
  if (!(best.shape() == grad.shape())) {
    throw invalid_argument("orig_output ", best.describe(), " and out_backprop ", grad.describe(), " differ in shape");
  }
  const Regions regions = regions_of(c, in.shape(), grad, 3);
  Tensor& out = c.allocate_output(0, in.shape());
  const std::int64_t channels = in.dim(3);
  kernels::dispatch(Types(), in.dtype(), "fractional pooling", [&]<class T>() {
    const T *x = in.data<T>(), *slope = grad.data<T>();
    T* sums = out.data<T>();
    std::fill_n(sums, out.num_elements(), T{0});
    regions.for_each([&](std::int64_t pixel, std::int64_t, const auto& each) {
      for (std::int64_t c = 0; c < channels; ++c) {
        std::int64_t winner = -1;
        each([&](std::int64_t from) {
          const std::int64_t at = from * channels + c;
          if (winner < 0 || x[at] > x[winner]) winner = at;
        });
        const std::int64_t at = pixel * channels + c;
        if (x[winner] != best.data<T>()[at]) {
          throw invalid_argument("orig_output is not the pooled orig_input")
              .hint("Use the output, the sequences and `overlapping` of the op whose gradient this is.");
        }
        sums[winner] = kernels::wrap_add(sums[winner], slope[at]);
      }
    });
  });
}

void run_avg_grad(RunContext& c) {
  const Tensor& grad = c.input(1);
  const Shape in = shape_from(c.input(0), "orig_input_tensor_shape");
  const Regions regions = regions_of(c, in, grad, 2);
  Tensor& out = c.allocate_output(0, in);
  const std::int64_t channels = in[3];
  kernels::dispatch(Types(), grad.dtype(), "fractional pooling", [&]<class T>() {
    std::vector<double> sums(static_cast<std::size_t>(out.num_elements()), 0);
    regions.for_each([&](std::int64_t pixel, std::int64_t count, const auto& each) {
      each([&](std::int64_t from) {
        for (std::int64_t c = 0; c < channels; ++c) {
          sums[static_cast<std::size_t>(from * channels + c)] +=
              static_cast<double>(grad.data<T>()[pixel * channels + c]) / static_cast<double>(count);
        }
      });
    });
    std::ranges::transform(sums, out.data<T>(), [](double sum) { return static_cast<T>(sum); });
  });
}

// --- Gradients ---

void max_gradient(GradientContext& c) {
  c.set_input_grad(0, OpBuilder("FractionalMaxPoolGrad", {})
                          .input(c.input(0))
                          .input(c.output(0))
                          .input(c.grad(0))
                          .input(c.output(1))
                          .input(c.output(2))
                          .attr("overlapping", c.attr<bool>("overlapping"))
                          .build());
}

void avg_gradient(GradientContext& c) {
  c.set_input_grad(0, OpBuilder("FractionalAvgPoolGrad", {})
                          .input(shape_of(c.input(0), DType::kInt64))
                          .input(c.grad(0))
                          .input(c.output(1))
                          .input(c.output(2))
                          .attr("overlapping", c.attr<bool>("overlapping"))
                          .build());
}

}  // namespace

// --- Registrations ---

CAUDAL_REGISTER_OP({.name = "FractionalMaxPool",
                    .inputs = "value: T",
                    .outputs = "output: T; row_pooling_sequence: int64; col_pooling_sequence: int64",
                    .attrs = "pooling_ratio: list(float) >= 4; pseudo_random: bool = false; "
                             "overlapping: bool = false; deterministic: bool = false; seed: int = 0; seed2: int = 0; "
                             "T: {float, double, int32, int64}",
                    .shape = fractional_shape,
                    .gradient = max_gradient,
                    .cpu = prepare<true>});
CAUDAL_REGISTER_OP({.name = "FractionalAvgPool",
                    .inputs = "value: T",
                    .outputs = "output: T; row_pooling_sequence: int64; col_pooling_sequence: int64",
                    .attrs = "pooling_ratio: list(float) >= 4; pseudo_random: bool = false; "
                             "overlapping: bool = false; deterministic: bool = false; seed: int = 0; seed2: int = 0; "
                             "T: {float, double, int32, int64}",
                    .shape = fractional_shape,
                    .gradient = avg_gradient,
                    .cpu = prepare<false>});
CAUDAL_REGISTER_OP({.name = "FractionalMaxPoolGrad",
                    .inputs = "orig_input: T; orig_output: T; out_backprop: T; row_pooling_sequence: int64; "
                              "col_pooling_sequence: int64",
                    .outputs = "output: T",
                    .attrs = "overlapping: bool = false; T: {float, double, int32, int64}",
                    .shape = max_grad_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_max_grad>});
CAUDAL_REGISTER_OP({.name = "FractionalAvgPoolGrad",
                    .inputs = "orig_input_tensor_shape: int64; out_backprop: T; row_pooling_sequence: int64; "
                              "col_pooling_sequence: int64",
                    .outputs = "output: T",
                    .attrs = "overlapping: bool = false; T: {float, double, int32, int64}",
                    .shape = avg_grad_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_avg_grad>});

// --- Public functions ---

namespace nn {
namespace {

FractionalPool pooled(std::string_view op, const Operand& value, Ratios ratios, const FractionalPoolOptions& options) {
  const LocationScope where(options.where);
  if (ratios.size() == 1) ratios.push_back(ratios[0]);
  if (ratios.size() == 2) ratios = {1, ratios[0], ratios[1], 1};
  const Output in = value.to_output(DType::kFloat);
  RandomSeeds seeds;
  if (options.seed != 0) seeds = get_seed(in.graph(), options.seed);
  Node& node = OpBuilder(op, {.name = options.name, .where = options.where})
                   .input(in)
                   .attr("pooling_ratio", std::move(ratios))
                   .attr("pseudo_random", options.pseudo_random)
                   .attr("overlapping", options.overlapping)
                   .attr("deterministic", options.seed != 0)
                   .attr("seed", seeds.seed)
                   .attr("seed2", seeds.seed2)
                   .build_node();
  return {node.output(0), node.output(1), node.output(2)};
}

}  // namespace

FractionalPool fractional_max_pool(const Operand& value, const Ratios& pooling_ratio,
                                   const FractionalPoolOptions& options) {
  return pooled("FractionalMaxPool", value, pooling_ratio, options);
}

FractionalPool fractional_avg_pool(const Operand& value, const Ratios& pooling_ratio,
                                   const FractionalPoolOptions& options) {
  return pooled("FractionalAvgPool", value, pooling_ratio, options);
}

}  // namespace nn
}  // namespace caudal::inline v0
