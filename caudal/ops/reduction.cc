#include "caudal/ops/reduction.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/core/variant_registry.h"
#include "caudal/graph/scope.h"
#include "caudal/kernels/convert.h"
#include "caudal/kernels/dispatch.h"
#include "caudal/kernels/elementwise.h"
#include "caudal/kernels/numeric.h"
#include "caudal/kernels/reduce.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/reduction_gradients.h"
#include "caudal/ops/selection.h"

namespace caudal::inline v0 {
namespace {

using kernels::ReduceOp;

// --- Shapes ---

void reduce_shape(ShapeContext& c) {
  const PartialShape& input = c.input(0);
  const Tensor* axes = c.constant_input(1);
  const bool keep = c.attr<bool>("keep_dims");
  if (!input.has_rank()) return c.set_output(0, PartialShape::unknown());
  if (axes == nullptr) {
    return c.set_output(0, keep ? PartialShape::unknown_of_rank(input.rank()) : PartialShape::unknown());
  }
  c.set_output(0, reduced_shape(input, *axes, keep));
}

void arg_shape(ShapeContext& c) {
  const PartialShape& input = c.input(0);
  const Tensor* axis = c.constant_input(1);
  c.with_rank(1, 0);
  if (!input.has_rank()) return c.set_output(0, PartialShape::unknown());
  if (axis == nullptr) return c.set_output(0, PartialShape::unknown_of_rank(std::max(0, input.rank() - 1)));
  std::vector<std::int64_t> dims = input.dims();
  dims.erase(dims.begin() + normalized_axis(axis->to_int64s()[0], input.rank()));
  c.set_output(0, PartialShape(std::move(dims)));
}

void accumulate_shape(ShapeContext& c) {
  merged_inputs_shape(c);
  const auto merged = c.outputs()[0].merge(c.attr<PartialShape>("shape"));
  if (!merged)
    throw invalid_argument("inputs ", c.outputs()[0], " differ from the shape ", c.attr<PartialShape>("shape"));
  c.set_output(0, *merged);
}

// --- Kernels ---

// The reduced axes of a run, in ascending order, and the result's shape.
struct Reduction {
  std::array<std::int64_t, kMaxRank> axes;
  std::size_t count = 0;
  Shape shape;

  Reduction(const Tensor& input, const Tensor& axis, bool keep_dims) {
    std::array<bool, kMaxRank> reduced{};
    mark_axes(axis, input.rank(), reduced);
    std::array<std::int64_t, kMaxRank> dims{};
    std::size_t rank = 0;
    for (int d = 0; d < input.rank(); ++d) {
      if (reduced[static_cast<std::size_t>(d)]) axes[count++] = d;
      if (keep_dims || !reduced[static_cast<std::size_t>(d)]) {
        dims[rank++] = reduced[static_cast<std::size_t>(d)] ? 1 : input.dim(d);
      }
    }
    shape = Shape(std::span<const std::int64_t>(dims.data(), rank));
  }
  kernels::Dims dims() const { return {axes.data(), count}; }
};

template <ReduceOp op>
void run_reduce(RunContext& c) {
  const Tensor& input = c.input(0);
  const Reduction reduction(input, c.input(1), c.node().attr<bool>("keep_dims"));
  Tensor& output = c.allocate_output(0, reduction.shape);
  kernels::reduce(c.pool(), op, input.dtype(), input.raw(), input.shape().dims(), reduction.dims(), output.raw());
}

// sqrt of every element, of any number type.
void take_roots(ThreadPool& pool, Tensor& x) {
  const auto size = static_cast<std::int64_t>(dtype_size(x.dtype()));
  if (const auto loop = kernels::find_unary(kernels::UnaryOp::kSqrt, x.dtype())) {
    return kernels::run_unary(pool, loop, x.raw(), size, x.raw(), size, x.num_elements());
  }
  kernels::dispatch(kernels::IntegerTypes{}, x.dtype(), "EuclideanNorm", [&]<class T>() {
    // A sum below 0 has wrapped around: it has no root.
    for (T& value : x.flat<T>()) value = value > T(0) ? static_cast<T>(std::sqrt(static_cast<double>(value))) : T(0);
  });
}

void run_euclidean_norm(RunContext& c) {
  const Tensor& input = c.input(0);
  const DType dtype = input.dtype();
  const Reduction reduction(input, c.input(1), c.node().attr<bool>("keep_dims"));
  const bool narrow = dtype == DType::kHalf || dtype == DType::kBFloat16;  // squares would overflow
  const DType wide = narrow ? DType::kFloat : dtype;
  Tensor squares = c.allocate_temporary(wide, input.shape());
  if (narrow) kernels::widen(c.pool(), dtype, input.raw(), squares.data<float>(), input.num_elements());
  const void* source = narrow ? squares.raw() : input.raw();
  const Tensor zero = Tensor::zeros(wide, {});
  const auto square = kernels::find_binary(kernels::BinaryOp::kSquaredDifference, wide);  // |x - 0|^2
  (void)kernels::broadcast_binary(c.pool(), square, source, input.shape().dims(), zero.raw(), {}, squares.raw(),
                                  input.shape().dims());
  Tensor& output = c.allocate_output(0, reduction.shape);
  Tensor total = narrow ? c.allocate_temporary(wide, reduction.shape) : output;
  kernels::reduce(c.pool(), ReduceOp::kSum, wide, squares.raw(), input.shape().dims(), reduction.dims(), total.raw());
  take_roots(c.pool(), total);
  if (narrow) kernels::narrow(c.pool(), dtype, total.data<float>(), output.raw(), output.num_elements());
}

template <bool greatest>
void run_arg(RunContext& c) {
  const Tensor& input = c.input(0);
  if (c.input(1).rank() != 0) throw invalid_argument("the axis must be a scalar, not ", c.input(1).describe());
  const int axis = normalized_axis(scalar_int(c.input(1), "the axis"), input.rank());
  std::int64_t outer = 1, inner = 1;
  for (int d = 0; d < axis; ++d) outer *= input.dim(d);
  for (int d = axis + 1; d < input.rank(); ++d) inner *= input.dim(d);
  if (input.dim(axis) == 0) throw invalid_argument("axis ", axis, " of the input ", input.describe(), " is empty");
  Tensor& output = c.allocate_output(0, input.shape().remove(axis));
  kernels::arg_reduce(c.pool(), greatest, input.dtype(), input.raw(), outer, input.dim(axis), inner, output.dtype(),
                      output.raw());
}

// Block by block, so that a block is summed in cache, and aside, so that the result may lie over any input.
class AddNKernel final : public Kernel {
 public:
  explicit AddNKernel(kernels::BinaryLoop loop) : loop_(loop) {}
  void run(RunContext& c) const override {
    constexpr std::int64_t kBlockBytes = 4096, kGrainBytes = 65536;
    const Tensor& first = c.input(0);
    for (int i = 1; i < c.num_inputs(); ++i) {
      if (!(c.input(i).shape() == first.shape())) {
        throw invalid_argument("shapes differ: inputs[0] ", first.shape(), ", inputs[", i, "] ", c.input(i).shape());
      }
    }
    Tensor& sum = c.allocate_output(0, first.shape());
    const auto size = static_cast<std::int64_t>(dtype_size(first.dtype()));
    c.pool().parallel_for(first.num_elements(), kGrainBytes / size, [&](std::int64_t begin, std::int64_t end) {
      alignas(64) std::array<char, kBlockBytes> block;
      for (; begin < end; begin += kBlockBytes / size) {
        const std::int64_t n = std::min(kBlockBytes / size, end - begin);
        const char* total = c.input(0).raw() + begin * size;
        for (int i = 1; i < c.num_inputs(); ++i) {
          (void)loop_(total, 1, c.input(i).raw() + begin * size, 1, block.data(), n);  // additions have no faults
          total = block.data();
        }
        std::copy_n(total, n * size, sum.raw() + begin * size);
      }
    });
  }

 private:
  kernels::BinaryLoop loop_;
};

Variant sum(const Variant& a, const Variant& b) {
  if (a.empty() || b.empty()) return a.empty() ? b : a;
  if (a.get()->type_name() != b.get()->type_name()) {
    throw invalid_argument("variants of types ", a.get()->type_name(), " and ", b.get()->type_name(), " do not add");
  }
  return variant_ops(a.get()->type_name()).add(a, b);
}

void run_variant_add_n(RunContext& c) {
  const Tensor& first = c.input(0);
  Tensor& y = c.allocate_output(0, first.shape());
  std::ranges::copy(first.flat<Variant>(), y.data<Variant>());
  for (int i = 1; i < c.num_inputs(); ++i) {
    const Tensor& term = c.input(i);
    if (term.shape() != first.shape()) {
      throw invalid_argument("shapes differ: inputs[0] ", first.shape(), ", inputs[", i, "] ", term.shape());
    }
    std::ranges::transform(y.flat<Variant>(), term.flat<Variant>(), y.data<Variant>(), sum);
  }
}

std::unique_ptr<Kernel> prepare_add_n(PrepareContext& c) {
  if (c.input_type(0) == DType::kVariant) return kernel_of<run_variant_add_n>(c);
  const auto loop = kernels::find_binary(kernels::BinaryOp::kAdd, c.input_type(0));
  if (!loop) throw unimplemented("no kernel for ", c.input_type(0), " on CPU");
  for (int i = 0; i < c.num_inputs(); ++i) c.allow_in_place(i, 0);
  return std::make_unique<AddNKernel>(loop);
}

void run_l2_loss(RunContext& c) {
  constexpr std::int64_t kGrain = 16384;
  const Tensor& t = c.input(0);
  Tensor& output = c.allocate_output(0, {});
  kernels::dispatch(kernels::FloatTypes{}, t.dtype(), "L2Loss", [&]<class T>() {
    const T* x = t.data<T>();
    std::vector<double> partial(static_cast<std::size_t>(ThreadPool::num_chunks(t.num_elements(), kGrain)));
    c.pool().parallel_chunks(t.num_elements(), kGrain, [&](std::int64_t chunk, std::int64_t begin, std::int64_t end) {
      std::array<double, 8> lanes{};
      for (; begin + 8 <= end; begin += 8) {
        for (int lane = 0; lane < 8; ++lane) {
          const auto value = static_cast<double>(static_cast<kernels::Wide<T>>(x[begin + lane]));
          lanes[static_cast<std::size_t>(lane)] += value * value;
        }
      }
      for (int lane = 0; begin < end; ++begin, ++lane) {
        const auto value = static_cast<double>(static_cast<kernels::Wide<T>>(x[begin]));
        lanes[static_cast<std::size_t>(lane)] += value * value;
      }
      double sum = 0;
      for (const double lane : lanes) sum += lane;
      partial[static_cast<std::size_t>(chunk)] = sum;
    });
    double sum = 0;
    for (const double part : partial) sum += part;
    *output.data<T>() = static_cast<T>(static_cast<kernels::Wide<T>>(sum / 2));
  });
}

}  // namespace

// --- Registrations ---

#define CAUDAL_NUMBER_LIST                                                                                          \
  "{float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, " \
  "uint16, complex128, half, uint32, uint64}"
#define CAUDAL_REAL_LIST                                                                                              \
  "{float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64, qint8, quint8, qint32, " \
  "qint16, quint16}"
#define CAUDAL_REDUCTION(op, types, gradient_function, kernel)                                           \
  CAUDAL_REGISTER_OP({.name = op,                                                                        \
                      .inputs = "input: T; reduction_indices: Tidx",                                     \
                      .outputs = "output: T",                                                            \
                      .attrs = "keep_dims: bool = false; T: " types "; Tidx: {int32, int64} = DT_INT32", \
                      .shape = reduce_shape,                                                             \
                      .gradient = gradient_function,                                                     \
                      .cpu = kernel_of<kernel>})
#define CAUDAL_BOOL_REDUCTION(op, kernel)                                                  \
  CAUDAL_REGISTER_OP({.name = op,                                                          \
                      .inputs = "input: bool; reduction_indices: Tidx",                    \
                      .outputs = "output: bool",                                           \
                      .attrs = "keep_dims: bool = false; Tidx: {int32, int64} = DT_INT32", \
                      .shape = reduce_shape,                                               \
                      .gradient = no_gradient,                                             \
                      .cpu = kernel_of<kernel>})

CAUDAL_REDUCTION("Sum", CAUDAL_NUMBER_LIST, sum_gradient, run_reduce<ReduceOp::kSum>);
CAUDAL_REDUCTION("Mean", CAUDAL_NUMBER_LIST, mean_gradient, run_reduce<ReduceOp::kMean>);
CAUDAL_REDUCTION("Prod", CAUDAL_NUMBER_LIST, prod_gradient, run_reduce<ReduceOp::kProd>);
CAUDAL_REDUCTION("Max", CAUDAL_REAL_LIST, extreme_gradient, run_reduce<ReduceOp::kMax>);
CAUDAL_REDUCTION("Min", CAUDAL_REAL_LIST, extreme_gradient, run_reduce<ReduceOp::kMin>);
CAUDAL_REDUCTION("EuclideanNorm", CAUDAL_NUMBER_LIST, euclidean_norm_gradient, run_euclidean_norm);
CAUDAL_BOOL_REDUCTION("All", run_reduce<ReduceOp::kAll>);
CAUDAL_BOOL_REDUCTION("Any", run_reduce<ReduceOp::kAny>);

#define CAUDAL_ARG_TYPES                                                                                         \
  "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64, qint8, quint8, " \
  "qint32, "                                                                                                     \
  "qint16, quint16, bool}; "
CAUDAL_REGISTER_OP({.name = "ArgMax",
                    .inputs = "input: T; dimension: Tidx",
                    .outputs = "output: output_type",
                    .attrs = CAUDAL_ARG_TYPES "Tidx: {int16, int32, int64} = DT_INT32; "
                                              "output_type: {int16, uint16, int32, int64} = DT_INT64",
                    .shape = arg_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_arg<true>>});
CAUDAL_REGISTER_OP({.name = "ArgMin",
                    .inputs = "input: T; dimension: Tidx",
                    .outputs = "output: output_type",
                    .attrs = CAUDAL_ARG_TYPES "Tidx: {int32, int64} = DT_INT32; "
                                              "output_type: {int32, int64} = DT_INT64",
                    .shape = arg_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_arg<false>>});
CAUDAL_REGISTER_OP({.name = "AddN",
                    .inputs = "inputs: N * T",
                    .outputs = "sum: T",
                    .attrs = "N: int >= 1; T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, "
                             "quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64, "
                             "variant}",
                    .commutative = true,
                    .aggregate = true,
                    .shape = merged_inputs_shape,
                    .gradient = add_n_gradient,
                    .cpu = prepare_add_n});
CAUDAL_REGISTER_OP({.name = "AccumulateNV2",
                    .inputs = "inputs: N * T",
                    .outputs = "sum: T",
                    .attrs = "N: int >= 1; T: " CAUDAL_NUMBER_LIST "; shape: shape",
                    .commutative = true,
                    .aggregate = true,
                    .shape = accumulate_shape,
                    .gradient = add_n_gradient,
                    .cpu = prepare_add_n});
CAUDAL_REGISTER_OP({.name = "L2Loss",
                    .inputs = "t: T",
                    .outputs = "output: T",
                    .attrs = "T: {half, bfloat16, float, double}",
                    .shape = scalar_shape,
                    .gradient = l2_loss_gradient,
                    .cpu = kernel_of<run_l2_loss>});

// --- Functions ---

namespace {

Output reduce(std::string_view op, const Operand& input, const ReduceOptions& options) {
  const LocationScope location(options.where);
  const Output x = input.to_output();
  return OpBuilder(op, {.name = options.name, .where = options.where})
      .input(x)
      .input(options.axis.of(x))
      .attr("keep_dims", options.keepdims)
      .build();
}

Output arg(std::string_view op, const Operand& input, const Operand& axis, const ArgOptions& options) {
  return OpBuilder(op, {.name = options.name, .where = options.where})
      .input(input)
      .input(axis, DType::kInt32)
      .attr("output_type", options.output_type)
      .build();
}

}  // namespace

Output Axes::of(const Output& x) const { return axes_ ? axes_->to_output(DType::kInt32) : all_axes(x); }

Output reduce_sum(const Operand& input, const ReduceOptions& options) { return reduce("Sum", input, options); }
Output reduce_mean(const Operand& input, const ReduceOptions& options) { return reduce("Mean", input, options); }
Output reduce_prod(const Operand& input, const ReduceOptions& options) { return reduce("Prod", input, options); }
Output reduce_max(const Operand& input, const ReduceOptions& options) { return reduce("Max", input, options); }
Output reduce_min(const Operand& input, const ReduceOptions& options) { return reduce("Min", input, options); }
Output reduce_all(const Operand& input, const ReduceOptions& options) { return reduce("All", input, options); }
Output reduce_any(const Operand& input, const ReduceOptions& options) { return reduce("Any", input, options); }
Output reduce_euclidean_norm(const Operand& input, const ReduceOptions& options) {
  return reduce("EuclideanNorm", input, options);
}

Output reduce_logsumexp(const Operand& input, const ReduceOptions& options) {
  const LocationScope location(options.where);
  const NameScope scope(options.name.empty() ? "ReduceLogSumExp" : options.name);
  const Output x = input.to_output();
  const Output axes = options.axis.of(x);
  const Output greatest = reduce_max(x, {.axis = axes, .keepdims = true});
  // An infinite maximum would give inf - inf.
  const Output shift = OpBuilder("StopGradient", {}).input(where(is_finite(greatest), greatest, 0)).build();
  const Output kept = log(reduce_sum(exp(x - shift), {.axis = axes, .keepdims = true})) + shift;
  if (options.keepdims) return kept;
  return reduce_sum(kept, {.axis = axes, .name = scope.prefix()});  // over axes of size 1: only drops them
}

Output argmax(const Operand& input, const Operand& axis, const ArgOptions& options) {
  return arg("ArgMax", input, axis, options);
}
Output argmin(const Operand& input, const Operand& axis, const ArgOptions& options) {
  return arg("ArgMin", input, axis, options);
}

Output add_n(const std::vector<Output>& inputs, const OpOptions& options) {
  return OpBuilder("AddN", options).inputs(inputs).build();
}

Output accumulate_n(const std::vector<Output>& inputs, const OpOptions& options) {
  PartialShape shape;
  for (const Output& input : inputs) shape = shape.merge(input.shape()).value_or(shape);
  return OpBuilder("AccumulateNV2", options).inputs(inputs).attr("shape", shape).build();
}

Output nn::l2_loss(const Operand& t, const OpOptions& options) { return OpBuilder("L2Loss", options).input(t).build(); }

}  // namespace caudal::inline v0
