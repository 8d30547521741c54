// Matrix products with what follows them, which plan/fusion_patterns.cc makes and TensorFlow's optimiser leaves in
// graphs.
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/kernels/gemm.h"
#include "caudal/ops/fused_tail.h"
#include "caudal/ops/matmul_form.h"

namespace caudal::inline v0 {
namespace {

ProductSize checked_size(const MatMulForm& form, const Tensor& a, const Tensor& b) {
  check_is_matrix(form.a, a.dtype(), a.shape().dims());
  check_is_matrix(form.b, b.dtype(), b.shape().dims());
  return product_size(form, a.dtype(), a.shape().dims(), b.shape().dims());
}

ProductSize inferred_size(ShapeContext& c) {
  return product_size(MatMulForm(c.node()), c.node().input_types[0], c.with_rank(0, 2).dims(),
                      c.with_rank(1, 2).dims());
}

// --- Bias and activation ---

void fused_shape(ShapeContext& c) {
  const ProductSize size = inferred_size(c);
  check_bias(c, size.n);
  c.set_output(0, PartialShape({size.m, size.n}));
}

class FusedMatMulKernel final : public Kernel {
 public:
  explicit FusedMatMulKernel(const NodeInfo& node) : form_(node), tail_(node) {}
  void run(RunContext& c) const override {
    const Tensor &a = c.input(0), &b = c.input(1);
    const ProductSize size = checked_size(form_, a, b);
    const Tensor& bias = tail_.bias(c, size.n);
    Tensor& product = c.allocate_output(0, Shape({size.m, size.n}));
    kernels::gemm(c.pool(), a.dtype(), gemm_shape(form_, size), a.raw(), b.raw(), product.raw(),
                  {.bias = bias.raw(), .relu = tail_.relu()});
    tail_.finish(c, product);
  }

 private:
  MatMulForm form_;
  FusedTail tail_;
};

// --- The gradient of a ReLU ---

void relu_grad_shape(ShapeContext& c) {
  const ProductSize size = inferred_size(c);
  const PartialShape& features = c.input(2);
  const std::int64_t wanted = PartialShape({size.m, size.n}).num_elements(), given = features.num_elements();
  if (wanted >= 0 && given >= 0 && wanted != given) {
    throw invalid_argument("features ", features, " must hold the ", wanted, " elements of the product");
  }
  c.set_output(0, features);
}

// (a b) where features > 0, else 0, in the shape of the features.
class MatMulReluGradKernel final : public Kernel {
 public:
  explicit MatMulReluGradKernel(const NodeInfo& node) : form_(node) {}
  void run(RunContext& c) const override {
    const Tensor &a = c.input(0), &b = c.input(1), &features = c.input(2);
    const ProductSize size = checked_size(form_, a, b);
    if (features.num_elements() != Shape({size.m, size.n}).num_elements()) {
      throw invalid_argument("features ", features.describe(), " must hold the elements of the product [", size.m, ',',
                             size.n, ']');
    }
    Tensor& product = c.allocate_output(0, features.shape());
    kernels::gemm(c.pool(), a.dtype(), gemm_shape(form_, size), a.raw(), b.raw(), product.raw(),
                  {.gate = features.raw()});
  }

 private:
  MatMulForm form_;
};

template <class FusedKernel>
std::unique_ptr<Kernel> prepare(PrepareContext& c) {
  return std::make_unique<FusedKernel>(c.node());
}

CAUDAL_REGISTER_OP({.name = "_FusedMatMul",
                    .inputs = "a: T; b: T; args: num_args * T",
                    .outputs = "product: T",
                    .attrs = "transpose_a: bool = false; transpose_b: bool = false; T: {bfloat16, half, float}; "
                             "num_args: int >= 0; fused_ops: list(string) = []; epsilon: float = 0.0001; "
                             "leakyrelu_alpha: float = 0.2",
                    .shape = fused_shape,
                    .gradient = no_gradient,
                    .cpu = prepare<FusedMatMulKernel>});
CAUDAL_REGISTER_OP({.name = "_CaudalMatMulReluGrad",
                    .inputs = "a: T; b: T; features: T",
                    .outputs = "product: T",
                    .attrs = "transpose_a: bool = false; transpose_b: bool = false; T: {float}",
                    .shape = relu_grad_shape,
                    .gradient = no_gradient,
                    .cpu = prepare<MatMulReluGradKernel>});

}  // namespace
}  // namespace caudal::inline v0
