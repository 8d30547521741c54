#include "caudal/ops/linalg_solve.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "caudal/autodiff/gradient.h"
#include "caudal/core/op_registry.h"
#include "caudal/graph/scope.h"
#include "caudal/kernels/factor.h"
#include "caudal/kernels/gemm.h"
#include "caudal/kernels/numeric.h"
#include "caudal/ops/complex_ops.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/linalg_transpose.h"
#include "caudal/ops/linalg_util.h"
#include "caudal/ops/matmul.h"
#include "caudal/ops/matrix_diag_ops.h"
#include "caudal/ops/reduction.h"
#include "caudal/ops/shape_ops.h"

namespace caudal::inline v0 {
namespace {

constexpr std::int64_t kUnknown = PartialShape::kUnknown;

// --- Shapes ---

void solve_shape(ShapeContext& c) {
  const PartialShape matrix = square_matrices(c, 0), rhs = c.with_rank_at_least(1, 2);
  if (!matrix.has_rank() || !rhs.has_rank()) return c.set_output(0, PartialShape::unknown());
  const auto batch = batch_dims(matrix).merge(batch_dims(rhs));
  if (!batch) throw invalid_argument("batch dimensions differ: matrix ", matrix, ", rhs ", rhs);
  const std::int64_t n = ShapeContext::merge_dim(matrix[-1], rhs[-2], "number of rows of matrix and rhs");
  c.set_output(0, with_dims(*batch, {n, rhs[-1]}));
}

void triangular_solve_shape(ShapeContext& c) {
  const PartialShape matrix = square_matrices(c, 0), rhs = c.with_rank_at_least(1, 2);
  if (!matrix.has_rank() || !rhs.has_rank()) return c.set_output(0, PartialShape::unknown());
  const std::int64_t n = ShapeContext::merge_dim(matrix[-1], rhs[-2], "number of rows of matrix and rhs");
  c.set_output(0, with_dims(broadcast(batch_dims(matrix), batch_dims(rhs)), {n, rhs[-1]}));
}

void lu_shape(ShapeContext& c) {
  const PartialShape input = square_matrices(c, 0);
  c.set_output(0, input);
  c.set_output(1, input.has_rank() ? batch_dims(input, 1) : input);
}

void cholesky_grad_shape(ShapeContext& c) { c.set_output(0, square_matrices(c, 0)); }

// --- Kernels ---

// The factors of one matrix. Throws INVALID_ARGUMENT if it is singular.
template <class T>
struct Factors {
  Factors(ThreadPool& pool, const T* a, std::int64_t n)
      : lu(a, a + n * n), rows(static_cast<std::size_t>(n)), sign(kernels::lu(pool, lu.data(), n, rows.data())), n(n) {}
  void check() const {
    for (std::int64_t i = 0; i < n; ++i) {
      // A NaN passes, as in TensorFlow.
      if (std::abs(diagonal(i)) <= 0) throw invalid_argument("the matrix is not invertible");
    }
  }
  const T& diagonal(std::int64_t i) const { return lu[static_cast<std::size_t>(i * n + i)]; }

  std::vector<T> lu;
  std::vector<std::int64_t> rows;
  int sign;
  std::int64_t n;
};

struct Inverse {
  template <class T>
  static void run(RunContext& c) {
    const Tensor input = wide_input(c, 0);
    const MatrixBatch m = MatrixBatch::square(input, "the input");
    const bool adjoint = c.node().attr<bool>("adjoint");
    Tensor output = wide_output(c, 0, input.shape());
    const T* in = input.data<T>();
    T* out = output.data<T>();
    const std::int64_t n = m.rows;
    std::vector<T> identity(static_cast<std::size_t>(n * n));
    for (std::int64_t i = 0; i < n; ++i) identity[static_cast<std::size_t>(i * n + i)] = 1;
    for_each_matrix(c, m.count, n * n * n, [&](std::int64_t b) {
      const Factors<T> factors(c.pool(), in + b * n * n, n);
      factors.check();
      kernels::lu_solve(c.pool(), adjoint, factors.lu.data(), factors.rows.data(), n, identity.data(), out + b * n * n,
                        n);
    });
    finish_output(c, 0, output);
  }
};

struct Determinant {
  template <class T>
  static void run(RunContext& c) {
    const Tensor& input = c.input(0);
    const MatrixBatch m = MatrixBatch::square(input, "the input");
    T* out = c.allocate_output(0, m.batch).template data<T>();
    const std::int64_t n = m.rows;
    for_each_matrix(c, m.count, n * n * n, [&](std::int64_t b) {
      const Factors<T> factors(c.pool(), input.data<T>() + b * n * n, n);
      T product = 1;
      for (std::int64_t i = 0; i < n; ++i) product = kernels::wrap_mul(product, factors.diagonal(i));
      out[b] = factors.sign < 0 ? -product : product;
    });
  }
};

struct LogDeterminant {
  template <class T>
  static void run(RunContext& c) {
    const Tensor& input = c.input(0);
    const MatrixBatch m = MatrixBatch::square(input, "the input");
    T* sign = c.allocate_output(0, m.batch).template data<T>();
    T* log_abs = c.allocate_output(1, m.batch).template data<T>();
    const std::int64_t n = m.rows;
    for_each_matrix(c, m.count, n * n * n, [&](std::int64_t b) {
      const Factors<T> factors(c.pool(), input.data<T>() + b * n * n, n);
      using Real = decltype(std::abs(T{}));
      Real sum = 0;
      T direction = static_cast<Real>(factors.sign);
      for (std::int64_t i = 0; i < n; ++i) {
        const Real size = std::abs(factors.diagonal(i));
        sum += std::log(size);
        direction = kernels::wrap_mul(direction, factors.diagonal(i) / size);
      }
      if (!std::isfinite(sum)) {
        direction = 0;
        if (sum > 0) sum = -std::numeric_limits<Real>::infinity();
      }
      sign[b] = direction;
      log_abs[b] = sum;
    });
  }
};

struct Solve {
  template <class T>
  static void run(RunContext& c) {
    const Tensor &matrix = c.input(0), &rhs = c.input(1);
    const MatrixBatch a = MatrixBatch::square(matrix, "matrix"), r(rhs, "rhs");
    if (!(a.batch == r.batch) || a.rows != r.rows) {
      throw invalid_argument("matrix ", matrix.describe(), " and rhs ", rhs.describe(), " do not fit");
    }
    const bool adjoint = c.node().attr<bool>("adjoint");
    T* out = c.allocate_output(0, rhs.shape()).template data<T>();
    const std::int64_t n = a.rows, k = r.cols;
    if (rhs.num_elements() == 0) return;
    for_each_matrix(c, a.count, n * n * n, [&](std::int64_t b) {
      const Factors<T> factors(c.pool(), matrix.data<T>() + b * n * n, n);
      factors.check();
      kernels::lu_solve(c.pool(), adjoint, factors.lu.data(), factors.rows.data(), n, rhs.data<T>() + b * n * k,
                        out + b * n * k, k);
    });
  }
};

struct TriangularSolve {
  template <class T>
  static void run(RunContext& c) {
    const Tensor matrix = wide_input(c, 0), rhs = wide_input(c, 1);
    const MatrixBatch a = MatrixBatch::square(matrix, "matrix"), r(rhs, "rhs");
    if (a.rows != r.rows) {
      throw invalid_argument("matrix ", matrix.describe(), " and rhs ", rhs.describe(), " do not fit");
    }
    const Shape batch = broadcast(a.batch, r.batch);
    const std::int64_t n = a.rows, k = r.cols;
    Tensor output = wide_output(c, 0, batch.append(n).append(k));
    const kernels::Triangle triangle{.lower = c.node().attr<bool>("lower"), .adjoint = c.node().attr<bool>("adjoint")};
    const T *in = matrix.data<T>(), *right = rhs.data<T>();
    T* out = output.data<T>();
    if (output.num_elements() > 0) {
      for_each_matrix(c, batch.num_elements(), n * n * k, [&](std::int64_t b) {
        const T* own = in + batch_position(batch, a.batch, b) * n * n;
        for (std::int64_t i = 0; i < n; ++i) {
          if (std::abs(own[i * n + i]) <= 0) throw invalid_argument("the matrix is not invertible");
        }
        std::copy_n(right + batch_position(batch, r.batch, b) * n * k, n * k, out + b * n * k);
        kernels::triangular_solve(c.pool(), triangle, own, n, out + b * n * k, k);
      });
    }
    finish_output(c, 0, output);
  }
};

struct Cholesky {
  template <class T>
  static void run(RunContext& c) {
    const Tensor& input = c.input(0);
    const MatrixBatch m = MatrixBatch::square(input, "the input");
    const T* in = input.data<T>();
    T* out = c.allocate_output(0, input.shape()).template data<T>();
    const std::int64_t n = m.rows;
    for_each_matrix(c, m.count, n * n * n, [&](std::int64_t b) {
      T* own = out + b * n * n;
      if (own != in + b * n * n) std::copy_n(in + b * n * n, n * n, own);
      const bool positive = kernels::cholesky(c.pool(), own, n);
      for (std::int64_t i = 0; i < n; ++i) {
        if (!positive) std::fill_n(own + i * n, i + 1, std::numeric_limits<decltype(std::abs(T{}))>::quiet_NaN());
        std::fill(own + i * n + i + 1, own + (i + 1) * n, T{});
      }
    });
  }
};

// With P the lower triangle of L^H grad, its diagonal halved: L^-H P L^-1, made Hermitian (I. Murray,
// "Differentiation of the Cholesky decomposition", 2016).
struct CholeskyGrad {
  template <class T>
  static void run(RunContext& c) {
    const Tensor &l = c.input(0), &grad = c.input(1);
    const MatrixBatch m = MatrixBatch::square(l, "l");
    if (!(l.shape() == grad.shape())) {
      throw invalid_argument("l ", l.describe(), " and grad ", grad.describe(), " must have one shape");
    }
    T* out = c.allocate_output(0, l.shape()).template data<T>();
    const std::int64_t n = m.rows;
    for_each_matrix(c, m.count, n * n * n, [&](std::int64_t b) {
      const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
      std::vector<T> lower(l.data<T>() + b * n * n, l.data<T>() + (b + 1) * n * n);
      std::vector<T> bar(grad.data<T>() + b * n * n, grad.data<T>() + (b + 1) * n * n), p(at(n * n)), q(at(n * n));
      for (std::int64_t i = 0; i < n; ++i) {
        std::fill(lower.begin() + i * n + i + 1, lower.begin() + (i + 1) * n, T{});
        std::fill(bar.begin() + i * n + i + 1, bar.begin() + (i + 1) * n, T{});
      }
      kernels::gemm(c.pool(), dtype_of<T>(), {.m = n, .n = n, .k = n, .transpose_a = true}, lower.data(), bar.data(),
                    p.data());
      for (std::int64_t i = 0; i < n; ++i) {
        p[at(i * n + i)] *= T(0.5);
        std::fill(p.begin() + i * n + i + 1, p.begin() + (i + 1) * n, T{});
      }
      const kernels::Triangle transposed{.lower = true, .adjoint = true};
      kernels::triangular_solve(c.pool(), transposed, lower.data(), n, p.data(), n);
      adjoint_into(p.data(), n, n, q.data());
      kernels::triangular_solve(c.pool(), transposed, lower.data(), n, q.data(), n);
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < n; ++j)
          out[b * n * n + i * n + j] = T(0.5) * (q[at(i * n + j)] + q[at(j * n + i)]);
      }
    });
  }
};

struct Lu {
  template <class T>
  static void run(RunContext& c) {
    const Tensor& input = c.input(0);
    const MatrixBatch m = MatrixBatch::square(input, "the input");
    const std::int64_t n = m.rows;
    T* out = c.allocate_output(0, input.shape()).template data<T>();
    Tensor& rows = c.allocate_output(1, m.batch.append(n));
    for_each_matrix(c, m.count, n * n * n, [&](std::int64_t b) {
      const Factors<T> factors(c.pool(), input.data<T>() + b * n * n, n);
      factors.check();
      std::copy(factors.lu.begin(), factors.lu.end(), out + b * n * n);
      for (std::int64_t i = 0; i < n; ++i) {
        const std::int64_t row = factors.rows[static_cast<std::size_t>(i)];
        if (rows.dtype() == DType::kInt64) {
          rows.data<std::int64_t>()[b * n + i] = row;
        } else {
          rows.data<std::int32_t>()[b * n + i] = static_cast<std::int32_t>(row);
        }
      }
    });
  }
};

// --- Gradients ---

Output inverse_adjoint(const Output& x) { return linalg::inv(x, {.adjoint = true}); }

// A number for each matrix, as [..., 1, 1].
Output per_matrix(const Output& x) { return expand_dims(expand_dims(x, -1), -1); }

void inverse_gradient(GradientContext& c) {
  const bool adjoint = c.attr<bool>("adjoint");
  const Output inverse = c.output(0);
  const Output inner = matmul(c.grad(0), inverse, {.adjoint_a = adjoint, .adjoint_b = !adjoint});
  c.set_input_grad(0, -matmul(inverse, inner, {.adjoint_a = !adjoint}));
}

void determinant_gradient(GradientContext& c) {
  c.set_input_grad(0, per_matrix(c.grad(0) * c.output(0)) * inverse_adjoint(c.input(0)));
}

void log_determinant_gradient(GradientContext& c) {
  c.set_input_grad(0, per_matrix(c.grad(1)) * inverse_adjoint(c.input(0)));
}

void solve_gradient(GradientContext& c) {
  const bool adjoint = c.attr<bool>("adjoint");
  const Output x = c.output(0);
  const Output for_rhs = linalg::solve(c.input(0), c.grad(0), {.adjoint = !adjoint});
  c.set_input_grad(0, adjoint ? -matmul(x, for_rhs, {.adjoint_b = true}) : -matmul(for_rhs, x, {.adjoint_b = true}));
  c.set_input_grad(1, for_rhs);
}

// Like sum_to_shape_of(), for operands that broadcast but for their last two dimensions, which are in place already.
void triangular_solve_gradient(GradientContext& c) {
  const bool adjoint = c.attr<bool>("adjoint"), lower = c.attr<bool>("lower");
  const Output a = c.input(0), x = c.output(0);
  const Output for_rhs = linalg::triangular_solve(a, c.grad(0), {.lower = lower, .adjoint = !adjoint});
  const Output product = adjoint ? matmul(x, for_rhs, {.adjoint_b = true}) : matmul(for_rhs, x, {.adjoint_b = true});
  const Output for_matrix = lower ? linalg::band_part(-product, -1, 0) : linalg::band_part(-product, 0, -1);
  c.set_input_grad(0, sum_to_shape_of(for_matrix, a, for_matrix));
  c.set_input_grad(1, sum_to_shape_of(for_rhs, c.input(1), for_rhs));
}

void cholesky_gradient(GradientContext& c) {
  const Output l = c.output(0);
  Output middle = matmul(l, c.grad(0), {.adjoint_a = true});
  middle = linalg::set_diag(middle, 0.5 * linalg::diag_part(middle));
  middle = linalg::band_part(middle, -1, 0);
  // L^-H middle L^-1 by two triangular systems.
  const Output left = linalg::triangular_solve(l, middle, {.lower = true, .adjoint = true});
  const Output right = linalg::triangular_solve(l, linalg::adjoint(left), {.lower = true, .adjoint = true});
  c.set_input_grad(0, (right + linalg::adjoint(right)) * 0.5);
}

}  // namespace

// --- Registrations ---

#define CAUDAL_LINALG(op, in, out, attributes, since, shape_function, gradient_function, prepare) \
  CAUDAL_REGISTER_OP({.name = op,                                                                 \
                      .inputs = in,                                                               \
                      .outputs = out,                                                             \
                      .attrs = attributes,                                                        \
                      .deprecated_version = since,                                                \
                      .shape = shape_function,                                                    \
                      .gradient = gradient_function,                                              \
                      .cpu = prepare})
#define CAUDAL_FACTOR_ATTR "T: {double, float, half, complex64, complex128}"
#define CAUDAL_OLD_ATTR "T: {double, float}"
#define CAUDAL_ADJOINT "adjoint: bool = false; "
#define CAUDAL_TRIANGLE "lower: bool = true; adjoint: bool = false; "

CAUDAL_LINALG("MatrixInverse", "input: T", "output: T", CAUDAL_ADJOINT CAUDAL_FACTOR_ATTR, 0, square_matrices_shape,
              inverse_gradient, (prepare_factor<Inverse, true>));
CAUDAL_LINALG("BatchMatrixInverse", "input: T", "output: T", CAUDAL_ADJOINT CAUDAL_OLD_ATTR, 13, square_matrices_shape,
              no_gradient, (prepare_factor<Inverse, true>));
CAUDAL_LINALG("MatrixDeterminant", "input: T", "output: T", CAUDAL_FACTOR_ATTR, 0, batch_of_square_shape,
              determinant_gradient, prepare_factor<Determinant>);
CAUDAL_LINALG("BatchMatrixDeterminant", "input: T", "output: T", "T: {float, double, complex64, complex128}", 13,
              batch_of_square_shape, no_gradient, prepare_factor<Determinant>);
CAUDAL_LINALG("LogMatrixDeterminant", "input: T", "sign: T; log_abs_determinant: T", CAUDAL_FACTOR_ATTR, 0,
              batch_of_square_shape, log_determinant_gradient, prepare_factor<LogDeterminant>);
CAUDAL_LINALG("MatrixSolve", "matrix: T; rhs: T", "output: T", CAUDAL_ADJOINT CAUDAL_FACTOR_ATTR, 0, solve_shape,
              solve_gradient, prepare_factor<Solve>);
CAUDAL_LINALG("BatchMatrixSolve", "matrix: T; rhs: T", "output: T", CAUDAL_ADJOINT CAUDAL_OLD_ATTR, 13, solve_shape,
              no_gradient, prepare_factor<Solve>);
CAUDAL_LINALG("MatrixTriangularSolve", "matrix: T; rhs: T", "output: T",
              CAUDAL_TRIANGLE "T: {bfloat16, double, float, half, complex64, complex128}", 0, triangular_solve_shape,
              triangular_solve_gradient, (prepare_factor<TriangularSolve, true>));
CAUDAL_LINALG("BatchMatrixTriangularSolve", "matrix: T; rhs: T", "output: T", CAUDAL_TRIANGLE CAUDAL_OLD_ATTR, 13,
              triangular_solve_shape, no_gradient, prepare_factor<TriangularSolve>);
CAUDAL_LINALG("Cholesky", "input: T", "output: T", CAUDAL_FACTOR_ATTR, 0, square_matrices_shape, cholesky_gradient,
              prepare_factor<Cholesky>);
CAUDAL_LINALG("BatchCholesky", "input: T", "output: T", CAUDAL_OLD_ATTR, 13, square_matrices_shape, no_gradient,
              prepare_factor<Cholesky>);
CAUDAL_LINALG("CholeskyGrad", "l: T; grad: T", "output: T", "T: {half, float, double}", 0, cholesky_grad_shape,
              no_gradient, prepare_factor<CholeskyGrad>);
CAUDAL_LINALG("BatchCholeskyGrad", "l: T; grad: T", "output: T", CAUDAL_OLD_ATTR, 13, cholesky_grad_shape, no_gradient,
              prepare_factor<CholeskyGrad>);
CAUDAL_LINALG("Lu", "input: T", "lu: T; p: output_idx_type",
              CAUDAL_FACTOR_ATTR "; output_idx_type: {int32, int64} = DT_INT32", 0, lu_shape, no_gradient,
              prepare_factor<Lu>);

// --- Functions ---

namespace linalg {

Output inv(const Operand& input, const InverseOptions& options) {
  return OpBuilder("MatrixInverse", {.name = options.name, .where = options.where})
      .input(input)
      .attr("adjoint", options.adjoint)
      .build();
}

Output det(const Operand& input, const OpOptions& options) {
  return OpBuilder("MatrixDeterminant", options).input(input).build();
}

SignAndLogDet slogdet(const Operand& input, const OpOptions& options) {
  Node& node = OpBuilder("LogMatrixDeterminant", options).input(input).build_node();
  return {node.output(0), node.output(1)};
}

Output logdet(const Operand& matrix, const OpOptions& options) {
  const LocationScope location(options.where);
  const Output logs = log(math::real(diag_part(cholesky(matrix))));
  return multiply(reduce_sum(logs, {.axis = -1}), 2, options);
}

Output solve(const Operand& matrix, const Operand& rhs, const SolveOptions& options) {
  const DType dtype = common_dtype({&matrix, &rhs});
  return OpBuilder("MatrixSolve", {.name = options.name, .where = options.where})
      .input(matrix, dtype)
      .input(rhs, dtype)
      .attr("adjoint", options.adjoint)
      .build();
}

Output triangular_solve(const Operand& matrix, const Operand& rhs, const TriangularSolveOptions& options) {
  const DType dtype = common_dtype({&matrix, &rhs});
  return OpBuilder("MatrixTriangularSolve", {.name = options.name, .where = options.where})
      .input(matrix, dtype)
      .input(rhs, dtype)
      .attr("lower", options.lower)
      .attr("adjoint", options.adjoint)
      .build();
}

Output cholesky(const Operand& input, const OpOptions& options) {
  return OpBuilder("Cholesky", options).input(input).build();
}

Output cholesky_solve(const Operand& chol, const Operand& rhs, const OpOptions& options) {
  const LocationScope location(options.where);
  const Output y = triangular_solve(chol, rhs, {.lower = true});
  return triangular_solve(chol, y, {.lower = true, .adjoint = true, .name = options.name, .where = options.where});
}

LuFactors lu(const Operand& input, const LuOptions& options) {
  Node& node = OpBuilder("Lu", {.name = options.name, .where = options.where})
                   .input(input)
                   .attr("output_idx_type", options.output_idx_type)
                   .build_node();
  return {node.output(0), node.output(1)};
}

}  // namespace linalg

namespace raw_ops {
Output cholesky_grad(const Operand& l, const Operand& grad, const OpOptions& options) {
  const DType dtype = common_dtype({&l, &grad});
  return OpBuilder("CholeskyGrad", options).input(l, dtype).input(grad, dtype).build();
}
}  // namespace raw_ops

}  // namespace caudal::inline v0
