#include "caudal/ops/softmax.h"

#include <numeric>
#include <vector>

#include "caudal/autodiff/gradient.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/kernels/softmax.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/reduction.h"
#include "caudal/ops/transpose_ops.h"

namespace caudal::inline v0 {
namespace {

// --- Shape function ---

void softmax_shape(ShapeContext& c) { c.set_output(0, c.with_rank_at_least(0, 1)); }

// --- Kernels ---

using SoftmaxFunction = void (*)(ThreadPool&, DType, const void*, int64_t, int64_t, void*);

template <SoftmaxFunction function>
class SoftmaxKernel final : public Kernel {
 public:
  void run(RunContext& c) const override {
    const Tensor& logits = c.input(0);
    if (logits.rank() == 0) throw invalid_argument("logits need at least one dimension, not ", logits.describe());
    const void* in = logits.raw();
    const DType dtype = logits.dtype();
    const std::int64_t classes = logits.dim(logits.rank() - 1);
    const std::int64_t rows = classes == 0 ? 0 : logits.num_elements() / classes;
    Tensor& out = c.allocate_output(0, logits.shape());
    if (rows > 0) function(c.pool(), dtype, in, rows, classes, out.raw());
  }
};

template <SoftmaxFunction function>
std::unique_ptr<Kernel> prepare_softmax(PrepareContext& c) {
  c.allow_in_place(0, 0);
  return std::make_unique<SoftmaxKernel<function>>();
}

// --- Gradients ---

void softmax_gradient(GradientContext& c) {
  const Output softmax = c.output(0);
  c.set_input_grad(0, (c.grad(0) - reduce_sum(c.grad(0) * softmax, {.axis = -1, .keepdims = true})) * softmax);
}

void log_softmax_gradient(GradientContext& c) {
  c.set_input_grad(0, c.grad(0) - reduce_sum(c.grad(0), {.axis = -1, .keepdims = true}) * exp(c.output(0)));
}

}  // namespace

// --- Registrations ---

CAUDAL_REGISTER_OP({.name = "Softmax",
                    .inputs = "logits: T",
                    .outputs = "softmax: T",
                    .attrs = "T: {half, bfloat16, float, double}",
                    .shape = softmax_shape,
                    .gradient = softmax_gradient,
                    .cpu = prepare_softmax<kernels::softmax>});
CAUDAL_REGISTER_OP({.name = "LogSoftmax",
                    .inputs = "logits: T",
                    .outputs = "logsoftmax: T",
                    .attrs = "T: {half, bfloat16, float, double}",
                    .shape = softmax_shape,
                    .gradient = log_softmax_gradient,
                    .cpu = prepare_softmax<kernels::log_softmax>});

// --- Public functions ---

namespace {

Output along_axis(std::string_view op, const Operand& logits, const nn::SoftmaxOptions& options) {
  const LocationScope where(options.where);
  const Output x = logits.to_output(DType::kFloat);
  const OpOptions last = {.name = options.name};
  if (options.axis == -1) return OpBuilder(op, last).input(x).build();
  const int rank = x.shape().rank();
  if (rank < 0) {
    throw invalid_argument(op, " along axis ", options.axis, " of a tensor of unknown rank")
        .made_at(short_location(options.where))
        .hint("Set the shape of '" + x.name() + "' first.");
  }
  const int axis = normalized_axis(options.axis, rank);
  if (axis == rank - 1) return OpBuilder(op, last).input(x).build();
  std::vector<int> swapped(static_cast<std::size_t>(rank));
  std::iota(swapped.begin(), swapped.end(), 0);
  std::swap(swapped[static_cast<std::size_t>(axis)], swapped.back());
  return transpose(OpBuilder(op, {}).input(transpose(x, swapped)).build(), swapped, last);
}

}  // namespace

namespace nn {

Output softmax(const Operand& logits, const SoftmaxOptions& options) { return along_axis("Softmax", logits, options); }

Output log_softmax(const Operand& logits, const SoftmaxOptions& options) {
  return along_axis("LogSoftmax", logits, options);
}

}  // namespace nn
}  // namespace caudal::inline v0
