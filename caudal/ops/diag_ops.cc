#include "caudal/ops/diag_ops.h"

#include <cstring>

#include "caudal/autodiff/gradient.h"
#include "caudal/base/thread_pool.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/kernels/dispatch.h"
#include "caudal/kernels/numeric.h"

namespace caudal::inline v0 {
namespace {

constexpr std::int64_t kUnknown = PartialShape::kUnknown;

// --- Shapes ---

void diag_shape(ShapeContext& c) {
  const PartialShape diagonal = c.with_rank_at_least(0, 1);
  if (!diagonal.has_rank()) return c.set_output(0, PartialShape::unknown());
  std::vector<std::int64_t> dims = diagonal.dims();
  dims.insert(dims.end(), diagonal.dims().begin(), diagonal.dims().end());
  c.set_output(0, PartialShape(std::move(dims)));
}

template <class AnyShape>
void check_even(const AnyShape& shape) {
  if (shape.rank() == 0 || shape.rank() % 2 != 0) {
    throw invalid_argument("the rank must be even and positive, the shape is ", shape);
  }
}

void diag_part_shape(ShapeContext& c) {
  const PartialShape& input = c.input(0);
  if (!input.has_rank()) return c.set_output(0, PartialShape::unknown());
  check_even(input);
  const int half = input.rank() / 2;
  std::vector<std::int64_t> dims;
  for (int i = 0; i < half; ++i) {
    dims.push_back(ShapeContext::merge_dim(input[i], input[half + i], "size of both halves of the shape"));
  }
  c.set_output(0, PartialShape(std::move(dims)));
}

void cross_shape(ShapeContext& c) {
  c.with_rank_at_least(0, 1);
  c.with_rank_at_least(1, 1);
  const PartialShape shape = c.merged(0, 1);
  if (shape.has_rank() && shape[-1] != kUnknown && shape[-1] != 3) {
    throw invalid_argument("the last dimension must have size 3, the shape is ", shape);
  }
  c.set_output(0, shape.has_rank() ? shape.with_dim(shape.rank() - 1, 3) : shape);
}

// --- Kernels ---

void run_diag(RunContext& c) {
  const Tensor& diagonal = c.input(0);
  if (diagonal.rank() == 0) throw invalid_argument("the diagonal must have at least one dimension");
  std::vector<std::int64_t> dims = diagonal.shape().to_vector();
  dims.insert(dims.end(), diagonal.shape().dims().begin(), diagonal.shape().dims().end());
  Tensor& output = c.allocate_output(0, Shape(dims));
  if (output.num_elements() == 0) return;
  const std::size_t size = dtype_size(output.dtype());
  const auto n = static_cast<std::size_t>(diagonal.num_elements());
  std::memset(output.raw(), 0, output.byte_size());
  for (std::size_t i = 0; i < n; ++i) {
    std::memcpy(output.raw() + i * (n + 1) * size, diagonal.raw() + i * size, size);
  }
}

void run_diag_part(RunContext& c) {
  const Tensor& input = c.input(0);
  check_even(input.shape());
  const auto half = static_cast<std::size_t>(input.rank() / 2);
  const Shape first(input.shape().dims().first(half)), second(input.shape().dims().subspan(half));
  if (!(first == second)) throw invalid_argument("both halves of the shape must agree, it is ", input.shape());
  Tensor& output = c.allocate_output(0, first);
  const std::size_t size = dtype_size(output.dtype());
  const auto n = static_cast<std::size_t>(output.num_elements());
  for (std::size_t i = 0; i < n; ++i) {
    std::memcpy(output.raw() + i * size, input.raw() + i * (n + 1) * size, size);
  }
}

template <class T>
T difference_of_products(T a, T b, T c, T d) {
  using W = kernels::Wide<T>;
  const auto product = [](T x, T y) { return T(kernels::wrap_mul(W(x), W(y))); };
  return T(kernels::wrap_sub(W(product(a, b)), W(product(c, d))));
}

void run_cross(RunContext& c) {
  const Tensor &a = c.input(0), &b = c.input(1);
  if (!(a.shape() == b.shape()))
    throw invalid_argument("a ", a.describe(), " and b ", b.describe(), " differ in shape");
  if (a.rank() == 0 || a.shape()[-1] != 3) {
    throw invalid_argument("the last dimension must have size 3, the shape is ", a.shape());
  }
  Tensor& product = c.allocate_output(0, a.shape());
  kernels::dispatch(kernels::RealTypes{}, a.dtype(), "Cross", [&]<class T>() {
    const T *x = a.data<T>(), *y = b.data<T>();
    T* z = product.data<T>();
    c.pool().parallel_for(product.num_elements() / 3, 4096, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = 3 * begin; i < 3 * end; i += 3) {
        z[i] = difference_of_products(x[i + 1], y[i + 2], x[i + 2], y[i + 1]);
        z[i + 1] = difference_of_products(x[i + 2], y[i], x[i], y[i + 2]);
        z[i + 2] = difference_of_products(x[i], y[i + 1], x[i + 1], y[i]);
      }
    });
  });
}

// --- Gradients ---

void diag_gradient(GradientContext& c) { c.set_input_grad(0, linalg::tensor_diag_part(c.grad(0))); }
void diag_part_gradient(GradientContext& c) { c.set_input_grad(0, linalg::tensor_diag(c.grad(0))); }
void cross_gradient(GradientContext& c) {
  c.set_input_grad(0, linalg::cross(c.input(1), c.grad(0)));
  c.set_input_grad(1, linalg::cross(c.grad(0), c.input(0)));
}

}  // namespace

// --- Registrations ---

#define CAUDAL_DIAG_TYPES "T: {bfloat16, half, float, double, int32, int64, complex64, complex128}"
CAUDAL_REGISTER_OP({.name = "Diag",
                    .inputs = "diagonal: T",
                    .outputs = "output: T",
                    .attrs = CAUDAL_DIAG_TYPES,
                    .shape = diag_shape,
                    .gradient = diag_gradient,
                    .cpu = kernel_of<run_diag>});
CAUDAL_REGISTER_OP({.name = "DiagPart",
                    .inputs = "input: T",
                    .outputs = "diagonal: T",
                    .attrs = CAUDAL_DIAG_TYPES,
                    .shape = diag_part_shape,
                    .gradient = diag_part_gradient,
                    .cpu = kernel_of<run_diag_part>});
CAUDAL_REGISTER_OP({.name = "Cross",
                    .inputs = "a: T; b: T",
                    .outputs = "product: T",
                    .attrs = "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, "
                             "uint64}",
                    .shape = cross_shape,
                    .gradient = cross_gradient,
                    .cpu = kernel_of<run_cross>});

// --- Functions ---

namespace linalg {

Output tensor_diag(const Operand& diagonal, const OpOptions& options) {
  return OpBuilder("Diag", options).input(diagonal).build();
}
Output tensor_diag_part(const Operand& input, const OpOptions& options) {
  return OpBuilder("DiagPart", options).input(input).build();
}
Output cross(const Operand& a, const Operand& b, const OpOptions& options) {
  const DType dtype = common_dtype({&a, &b});
  return OpBuilder("Cross", options).input(a, dtype).input(b, dtype).build();
}

}  // namespace linalg
}  // namespace caudal::inline v0
