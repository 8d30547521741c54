#include "caudal/ops/cross.h"

#include "caudal/autodiff/gradient.h"
#include "caudal/base/thread_pool.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/kernels/dispatch.h"
#include "caudal/kernels/numeric.h"

namespace caudal::inline v0 {
namespace {

constexpr std::int64_t kSpace = 3;

void cross_shape(ShapeContext& c) {
  c.with_rank_at_least(0, 1);
  c.with_rank_at_least(1, 1);
  const PartialShape shape = c.merged(0, 1);
  if (!shape.has_rank()) return c.set_output(0, shape);
  ShapeContext::merge_dim(shape[-1], kSpace, "last dimension");
  c.set_output(0, shape.with_dim(shape.rank() - 1, kSpace));
}

// d(a x b) . g = (b x g) . da + (g x a) . db
void cross_gradient(GradientContext& c) {
  c.set_input_grad(0, linalg::cross(c.input(1), c.grad(0)));
  c.set_input_grad(1, linalg::cross(c.grad(0), c.input(0)));
}

// Each product is rounded to T, as in TensorFlow; integers wrap.
template <class T>
T difference_of_products(T a, T b, T c, T d) {
  using W = kernels::Wide<T>;
  const auto product = [](T x, T y) { return static_cast<T>(kernels::wrap_mul(W(x), W(y))); };
  return static_cast<T>(kernels::wrap_sub(W(product(a, b)), W(product(c, d))));
}

template <class T>
void cross_of(const T* a, const T* b, T* product) {
  for (int i = 0; i < kSpace; ++i) {
    const int j = (i + 1) % kSpace, k = (i + 2) % kSpace;
    product[i] = difference_of_products(a[j], b[k], a[k], b[j]);
  }
}

void run_cross(RunContext& c) {
  const Tensor &a = c.input(0), &b = c.input(1);
  if (a.shape() != b.shape() || a.rank() == 0 || a.shape()[-1] != kSpace)
    throw invalid_argument("a and b must both be [..., 3], not ", a.describe(), " and ", b.describe());
  Tensor& product = c.allocate_output(0, a.shape());
  kernels::dispatch(kernels::RealTypes{}, a.dtype(), "cross product", [&]<class T>() {
    const T *x = a.data<T>(), *y = b.data<T>();
    T* z = product.data<T>();
    c.pool().parallel_for(product.num_elements() / kSpace, 4096, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = kSpace * begin; i < kSpace * end; i += kSpace) cross_of(x + i, y + i, z + i);
    });
  });
}

CAUDAL_REGISTER_OP({.name = "Cross",
                    .inputs = "a: T; b: T",
                    .outputs = "product: T",
                    .attrs = "T: realnumbertype",
                    .shape = cross_shape,
                    .gradient = cross_gradient,
                    .cpu = kernel_of<run_cross>});

}  // namespace

Output linalg::cross(const Operand& a, const Operand& b, const OpOptions& options) {
  const DType dtype = common_dtype({&a, &b});
  return OpBuilder("Cross", options).input(a, dtype).input(b, dtype).build();
}

}  // namespace caudal::inline v0
