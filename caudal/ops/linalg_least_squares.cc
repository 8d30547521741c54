#include "caudal/ops/linalg_least_squares.h"

#include <algorithm>
#include <limits>

#include "caudal/autodiff/gradient.h"
#include "caudal/core/op_registry.h"
#include "caudal/graph/scope.h"
#include "caudal/kernels/factor.h"
#include "caudal/kernels/gemm.h"
#include "caudal/kernels/numeric.h"
#include "caudal/ops/cast.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/control_flow.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/linalg_lapack.h"
#include "caudal/ops/linalg_solve.h"
#include "caudal/ops/linalg_transpose.h"
#include "caudal/ops/linalg_util.h"
#include "caudal/ops/matmul.h"
#include "caudal/ops/matrix_diag_ops.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/slicing.h"

namespace caudal::inline v0 {
namespace {

constexpr std::int64_t kUnknown = PartialShape::kUnknown;

// --- Shape ---

void solve_ls_shape(ShapeContext& c) {
  c.with_rank(2, 0);
  const PartialShape matrix = c.with_rank_at_least(0, 2), rhs = c.with_rank_at_least(1, 2);
  if (!matrix.has_rank() || !rhs.has_rank()) return c.set_output(0, PartialShape::unknown());
  const auto batch = batch_dims(matrix).merge(batch_dims(rhs));
  if (!batch) throw invalid_argument("batch dimensions differ: matrix ", matrix, ", rhs ", rhs);
  ShapeContext::merge_dim(matrix[-2], rhs[-2], "number of rows of matrix and rhs");
  c.set_output(0, with_dims(*batch, {matrix[-1], rhs[-1]}));
}

// --- Kernel ---

template <class T>
using RealOf = decltype(std::abs(T{}));

struct SolveLs {
  template <class T>
  static void run(RunContext& c) {
    const Tensor &matrix = c.input(0), &rhs = c.input(1);
    const MatrixBatch a(matrix, "matrix"), b(rhs, "rhs");
    if (!(a.batch == b.batch) || a.rows != b.rows) {
      throw invalid_argument("matrix ", matrix.describe(), " and rhs ", rhs.describe(), " do not fit");
    }
    if (c.input(2).rank() != 0) throw invalid_argument("l2_regularizer must be a scalar, not ", c.input(2).describe());
    const double l2 = c.input(2).item<double>();
    if (l2 < 0) throw invalid_argument("l2_regularizer is ", l2, ", it must not be negative");
    T* out = c.allocate_output(0, a.batch.append(a.cols).append(b.cols)).template data<T>();
    const bool fast = c.node().attr<bool>("fast");
    const std::int64_t x_size = a.cols * b.cols;
    for_each_matrix(c, a.count, a.rows * a.cols * std::min(a.rows, a.cols), [&](std::int64_t i) {
      const T *own = matrix.data<T>() + i * a.rows * a.cols, *right = rhs.data<T>() + i * b.rows * b.cols;
      T* x = out + i * x_size;
      if (x_size == 0) return;
      if (a.rows == 0) {
        std::fill_n(x, x_size, T{});
      } else if (fast) {
        by_normal_equations(c.pool(), own, a.rows, a.cols, right, b.cols, static_cast<RealOf<T>>(l2), x);
      } else {
        by_orthogonal_factors(own, a.rows, a.cols, right, b.cols, x);
      }
    });
  }

 private:
  // (A^H A + l2)^-1 A^H b, or A^H (A A^H + l2)^-1 b for more columns than rows.
  template <class T>
  static void by_normal_equations(ThreadPool& pool, const T* a, std::int64_t m, std::int64_t n, const T* b,
                                  std::int64_t k, RealOf<T> l2, T* x) {
    const bool tall = m >= n;
    const std::int64_t size = tall ? n : m, inner = tall ? m : n;
    std::vector<T> gramian(static_cast<std::size_t>(size * size)), half(static_cast<std::size_t>(size * k));
    kernels::GemmShape square{.m = size, .n = size, .k = inner, .transpose_a = tall, .transpose_b = !tall};
    square.conjugate_a = square.transpose_a;
    square.conjugate_b = square.transpose_b;
    kernels::gemm(pool, dtype_of<T>(), square, a, a, gramian.data());
    for (std::int64_t i = 0; i < size; ++i) gramian[static_cast<std::size_t>(i * size + i)] += l2;
    if (!kernels::cholesky(pool, gramian.data(), size)) {
      throw invalid_argument("the matrix lacks full rank or is ill-conditioned")
          .hint("Say fast = false, or give a larger l2_regularizer.");
    }
    const kernels::GemmShape adjoint{.m = n, .n = k, .k = m, .transpose_a = true, .conjugate_a = true};
    T* solution = tall ? x : half.data();
    if (tall) {
      kernels::gemm(pool, dtype_of<T>(), adjoint, a, b, x);
    } else {
      std::copy_n(b, m * k, half.data());
    }
    kernels::triangular_solve(pool, {.lower = true}, gramian.data(), size, solution, k);
    kernels::triangular_solve(pool, {.lower = true, .adjoint = true}, gramian.data(), size, solution, k);
    if (!tall) kernels::gemm(pool, dtype_of<T>(), adjoint, a, half.data(), x);
  }

  template <class T>
  static void by_orthogonal_factors(const T* a, std::int64_t rows, std::int64_t cols, const T* b, std::int64_t k,
                                    T* x) {
    const int m = lapack_size(rows), n = lapack_size(cols), count = lapack_size(k);
    std::vector<T> matrix(a, a + rows * cols), right(static_cast<std::size_t>(std::max(rows, cols) * k));
    std::copy_n(b, rows * k, right.begin());
    const double tolerance = static_cast<double>(std::numeric_limits<RealOf<T>>::epsilon()) * std::min(m, n);
    if (lapack().least_squares(lapack_type<T>(), m, n, count, matrix.data(), right.data(), tolerance) != 0) {
      std::fill_n(x, cols * k, std::numeric_limits<RealOf<T>>::quiet_NaN());
      return;
    }
    std::copy_n(right.begin(), cols * k, x);
  }
};

// --- Gradient ---

Output plus_regularizer(const Output& gramian, const Output& l2) {
  const Output diagonal = linalg::diag_part(gramian);
  return linalg::set_diag(gramian, diagonal + cast(l2, gramian.dtype()));
}

struct LsGradient {
  Output matrix, rhs;
};

LsGradient tall_gradient(const Output& a, const Output& b, const Output& l2, const Output& x, const Output& grad) {
  const Output factor = linalg::cholesky(plus_regularizer(matmul(a, a, {.adjoint_a = true}), l2));
  const Output z = linalg::cholesky_solve(factor, grad);
  const Output xzt = matmul(x, z, {.adjoint_b = true});
  const Output symmetric = xzt + linalg::adjoint(xzt);
  return {matmul(b, z, {.adjoint_b = true}) - matmul(a, symmetric), matmul(a, z)};
}

LsGradient wide_gradient(const Output& a, const Output& b, const Output& l2, const Output& grad) {
  const Output factor = linalg::cholesky(plus_regularizer(matmul(a, a, {.adjoint_b = true}), l2));
  const Output for_rhs = linalg::cholesky_solve(factor, matmul(a, grad));
  const Output y = linalg::cholesky_solve(factor, b);
  const Output first = matmul(for_rhs, matmul(y, a, {.adjoint_a = true}));
  const Output second = matmul(y, grad - matmul(a, for_rhs, {.adjoint_a = true}), {.adjoint_b = true});
  return {second - first, for_rhs};
}

void solve_ls_gradient(GradientContext& c) {
  if (!c.attr<bool>("fast")) throw unimplemented("the gradient of MatrixSolveLs is defined for fast = true only");
  const Output a = c.input(0), b = c.input(1), l2 = c.input(2), x = c.output(0), grad = c.grad(0);
  const PartialShape& shape = a.shape();
  LsGradient gradient;
  if (shape.has_rank() && shape[-2] != kUnknown && shape[-1] != kUnknown) {
    gradient = shape[-2] >= shape[-1] ? tall_gradient(a, b, l2, x, grad) : wide_gradient(a, b, l2, grad);
  } else {
    const Output sizes = shape_of(a);
    const auto both = [](const LsGradient& g) { return std::vector<Output>{g.matrix, g.rhs}; };
    const std::vector<Output> chosen = cond(
        greater_equal(index(sizes, {-2}), index(sizes, {-1})), [&] { return both(tall_gradient(a, b, l2, x, grad)); },
        [&] { return both(wide_gradient(a, b, l2, grad)); });
    gradient = {chosen[0], chosen[1]};
  }
  c.set_input_grad(0, gradient.matrix);
  c.set_input_grad(1, gradient.rhs);
}

}  // namespace

// --- Registrations ---

CAUDAL_REGISTER_OP({.name = "MatrixSolveLs",
                    .inputs = "matrix: T; rhs: T; l2_regularizer: double",
                    .outputs = "output: T",
                    .attrs = "T: {double, float, half, complex64, complex128}; fast: bool = true",
                    .shape = solve_ls_shape,
                    .gradient = solve_ls_gradient,
                    .cpu = prepare_factor<SolveLs>});
CAUDAL_REGISTER_OP({.name = "BatchMatrixSolveLs",
                    .inputs = "matrix: T; rhs: T; l2_regularizer: double",
                    .outputs = "output: T",
                    .attrs = "T: {double, float}; fast: bool = true",
                    .deprecated_version = 13,
                    .shape = solve_ls_shape,
                    .gradient = no_gradient,
                    .cpu = prepare_factor<SolveLs>});

// --- Functions ---

namespace linalg {

Output lstsq(const Operand& matrix, const Operand& rhs, const LstsqOptions& options) {
  const DType dtype = common_dtype({&matrix, &rhs});
  return OpBuilder("MatrixSolveLs", {.name = options.name, .where = options.where})
      .input(matrix, dtype)
      .input(rhs, dtype)
      .input(Tensor(options.l2_regularizer))
      .attr("fast", options.fast)
      .build();
}

}  // namespace linalg
}  // namespace caudal::inline v0
