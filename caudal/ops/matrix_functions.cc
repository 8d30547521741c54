#include "caudal/ops/matrix_functions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "caudal/autodiff/gradient.h"
#include "caudal/core/op_registry.h"
#include "caudal/kernels/factor.h"
#include "caudal/kernels/gemm.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/einsum.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/joining.h"
#include "caudal/ops/linalg_lapack.h"
#include "caudal/ops/linalg_solve.h"
#include "caudal/ops/linalg_transpose.h"
#include "caudal/ops/linalg_util.h"
#include "caudal/ops/matrix_diag_ops.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/reduction.h"
#include "caudal/ops/shape_ops.h"
#include "caudal/ops/slicing.h"

namespace caudal::inline v0 {
namespace {

using Z = std::complex<double>;
using Matrix = std::vector<Z>;

// --- Kernels ---

// Square matrices of one size.
class Algebra {
 public:
  Algebra(ThreadPool& pool, std::int64_t n) : pool_(pool), n_(n) {}
  std::int64_t n() const { return n_; }
  std::size_t at(std::int64_t i, std::int64_t j) const { return static_cast<std::size_t>(i * n_ + j); }

  Matrix product(const Matrix& a, const Matrix& b, bool adjoint_b = false) const {
    Matrix c(a.size());
    kernels::gemm(pool_, DType::kComplex128,
                  {.m = n_, .n = n_, .k = n_, .transpose_b = adjoint_b, .conjugate_b = adjoint_b}, a.data(), b.data(),
                  c.data());
    return c;
  }
  // a^-1 b.
  Matrix quotient(Matrix a, const Matrix& b) const {
    std::vector<std::int64_t> rows(static_cast<std::size_t>(n_));
    Matrix x(b.size());
    kernels::lu(pool_, a.data(), n_, rows.data());
    kernels::lu_solve(pool_, false, a.data(), rows.data(), n_, b.data(), x.data(), n_);
    return x;
  }
  // a += factor b.
  static void add_scaled(Matrix& a, Z factor, const Matrix& b) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] += factor * b[i];
  }
  void add_to_diagonal(Matrix& a, Z value) const {
    for (std::int64_t i = 0; i < n_; ++i) a[at(i, i)] += value;
  }
  // The greatest sum of absolute values of a column.
  double norm(const Matrix& a) const {
    double greatest = 0;
    for (std::int64_t j = 0; j < n_; ++j) {
      double sum = 0;
      for (std::int64_t i = 0; i < n_; ++i) sum += std::abs(a[at(i, j)]);
      greatest = std::max(greatest, sum);
      if (std::isnan(sum)) return sum;
    }
    return greatest;
  }

  // a = v t v^H, t upper triangular. False for matrices that are not finite.
  bool schur(const Matrix& a, Matrix& t, Matrix& v) const {
    t = a;
    v.resize(a.size());
    Matrix eigenvalues(static_cast<std::size_t>(n_));
    return lapack().schur('z', lapack_size(n_), t.data(), eigenvalues.data(), v.data()) == 0;
  }
  // Of an upper triangle, column by column (Higham, algorithm 6.3).
  Matrix triangle_root(const Matrix& t) const {
    Matrix r(t.size());
    for (std::int64_t j = 0; j < n_; ++j) {
      r[at(j, j)] = std::sqrt(t[at(j, j)]);
      for (std::int64_t i = j - 1; i >= 0; --i) {
        Z sum = t[at(i, j)];
        for (std::int64_t k = i + 1; k < j; ++k) sum -= r[at(i, k)] * r[at(k, j)];
        const Z divisor = r[at(i, i)] + r[at(j, j)];
        r[at(i, j)] = sum == Z(0) ? Z(0) : sum / divisor;
      }
    }
    return r;
  }

 private:
  ThreadPool& pool_;
  std::int64_t n_;
};

// Scaling and squaring with the diagonal approximant of degree 13 (Higham, algorithm 10.20).
Matrix exponential(const Algebra& algebra, Matrix a) {
  static constexpr std::array<double, 14> kPade = {64764752532480000.0,
                                                   32382376266240000.0,
                                                   7771770303897600.0,
                                                   1187353796428800.0,
                                                   129060195264000.0,
                                                   10559470521600.0,
                                                   670442572800.0,
                                                   33522128640.0,
                                                   1323241920.0,
                                                   40840800.0,
                                                   960960.0,
                                                   16380.0,
                                                   182.0,
                                                   1.0};
  const double norm = algebra.norm(a);
  if (!std::isfinite(norm)) return Matrix(a.size(), std::numeric_limits<double>::quiet_NaN());
  const int squarings = norm > 5.37 ? static_cast<int>(std::ceil(std::log2(norm / 5.37))) : 0;
  for (Z& x : a) x *= std::ldexp(1.0, -squarings);
  Matrix even(a.size()), odd(a.size()), power(a.size());
  algebra.add_to_diagonal(power, 1);
  const Matrix square = algebra.product(a, a);
  for (std::size_t k = 0; k < 14; k += 2) {
    Algebra::add_scaled(even, kPade[k], power);
    Algebra::add_scaled(odd, kPade[k + 1], power);
    power = algebra.product(power, square);
  }
  odd = algebra.product(a, odd);
  Matrix numerator = even, denominator = even;
  Algebra::add_scaled(numerator, 1, odd);
  Algebra::add_scaled(denominator, -1, odd);
  Matrix result = algebra.quotient(denominator, numerator);
  for (int i = 0; i < squarings; ++i) result = algebra.product(result, result);
  return result;
}

// Nodes and weights of Gauss and Legendre's rule on [0, 1].
struct GaussRule {
  static constexpr int kPoints = 10;
  std::array<double, kPoints> nodes, weights;
  GaussRule() {
    for (int i = 0; i < kPoints; ++i) {
      double x = std::cos(std::numbers::pi * (i + 0.75) / (kPoints + 0.5)), slope = 1;
      for (int step = 0; step < 20; ++step) {
        double p = 1, before = 0;
        for (int k = 1; k <= kPoints; ++k) {
          const double next = ((2 * k - 1) * x * p - (k - 1) * before) / k;
          before = p;
          p = next;
        }
        slope = kPoints * (x * p - before) / (x * x - 1);
        x -= p / slope;
      }
      nodes[static_cast<std::size_t>(i)] = (1 + x) / 2;
      weights[static_cast<std::size_t>(i)] = 1 / ((1 - x * x) * slope * slope);
    }
  }
};

// Roots of Schur's form until it is near 1, then the approximant as partial fractions (Higham, algorithm 11.9).
Matrix logarithm(const Algebra& algebra, const Matrix& a) {
  static const GaussRule rule;
  Matrix t, v;
  if (!algebra.schur(a, t, v)) return Matrix(a.size(), std::numeric_limits<double>::quiet_NaN());
  int roots = 0;
  Matrix x = t;
  algebra.add_to_diagonal(x, -1);
  while (algebra.norm(x) > 0.25 && roots < 100) {
    t = algebra.triangle_root(t);
    ++roots;
    x = t;
    algebra.add_to_diagonal(x, -1);
  }
  Matrix sum(a.size());
  for (std::size_t i = 0; i < rule.nodes.size(); ++i) {
    Matrix divisor(a.size());
    Algebra::add_scaled(divisor, rule.nodes[i], x);
    algebra.add_to_diagonal(divisor, 1);
    Algebra::add_scaled(sum, rule.weights[i] * std::ldexp(1.0, roots), algebra.quotient(divisor, x));
  }
  return algebra.product(algebra.product(v, sum), v, true);
}

Matrix square_root(const Algebra& algebra, const Matrix& a) {
  Matrix t, v;
  if (!algebra.schur(a, t, v)) return Matrix(a.size(), std::numeric_limits<double>::quiet_NaN());
  return algebra.product(algebra.product(v, algebra.triangle_root(t)), v, true);
}

template <Matrix (*function)(const Algebra&, Matrix)>
struct OfMatrix {
  template <class T>
  static void run(RunContext& c) {
    const Tensor& input = c.input(0);
    const MatrixBatch m = MatrixBatch::square(input, "the input");
    T* out = c.allocate_output(0, input.shape()).template data<T>();
    const std::int64_t n = m.rows;
    if (n == 0) return;
    for_each_matrix(c, m.count, n * n * n, [&](std::int64_t b) {
      const T* in = input.data<T>() + b * n * n;
      const Algebra algebra(c.pool(), n);
      const Matrix result = function(algebra, Matrix(in, in + n * n));
      store(algebra, result, out + b * n * n);
    });
  }

 private:
  template <class T>
  static void store(const Algebra& algebra, const Matrix& result, T* out) {
    if constexpr (std::is_floating_point_v<T>) {
      // A real function of a real matrix has no imaginary part but for rounding.
      double imaginary = 0;
      for (const Z& x : result) imaginary = std::max(imaginary, std::abs(x.imag()));
      const bool real = imaginary <= 1e-6 * algebra.norm(result);
      for (std::size_t i = 0; i < result.size(); ++i) {
        out[i] = real ? static_cast<T>(result[i].real()) : std::numeric_limits<T>::quiet_NaN();
      }
    } else {
      for (std::size_t i = 0; i < result.size(); ++i) out[i] = T(result[i]);
    }
  }
};

Matrix logarithm_of(const Algebra& algebra, Matrix a) { return logarithm(algebra, a); }
Matrix square_root_of(const Algebra& algebra, Matrix a) { return square_root(algebra, a); }

// --- Gradient ---

// X with S^H X + X S^H = grad, for the root S: a linear system of n^2 unknowns, by Kronecker's products.
void square_root_gradient(GradientContext& c) {
  const Output s = linalg::adjoint(c.output(0)), grad = c.grad(0);
  const Output one = linalg::diag(ones_like(linalg::diag_part(s)));
  const Output shape = shape_of(grad), n = index(shape, {-1});
  const Output batch = index(shape, {Slice{{}, -2}});
  const Output left = einsum("...ik,...jl->...ijkl", {s, one}), right = einsum("...ik,...lj->...ijkl", {one, s});
  const Output system = reshape(left + right, concat({batch, stack({n * n, n * n})}, 0));
  const Output vector = reshape(grad, concat({batch, stack({n * n, 1})}, 0));
  c.set_input_grad(0, reshape(linalg::solve(system, vector), shape));
}

}  // namespace

// --- Registrations ---

CAUDAL_REGISTER_OP({.name = "MatrixExponential",
                    .inputs = "input: T",
                    .outputs = "output: T",
                    .attrs = "T: {double, float, half, complex64, complex128}",
                    .deprecated_version = 27,
                    .shape = square_matrices_shape,
                    .gradient = no_gradient,
                    .cpu = prepare_factor<OfMatrix<exponential>>});
CAUDAL_REGISTER_OP({.name = "MatrixLogarithm",
                    .inputs = "input: T",
                    .outputs = "output: T",
                    .attrs = "T: {complex64, complex128}",
                    .shape = square_matrices_shape,
                    .gradient = no_gradient,
                    .cpu = prepare_factor<OfMatrix<logarithm_of>>});
CAUDAL_REGISTER_OP({.name = "MatrixSquareRoot",
                    .inputs = "input: T",
                    .outputs = "output: T",
                    .attrs = "T: {double, float, half, complex64, complex128}",
                    .shape = square_matrices_shape,
                    .gradient = square_root_gradient,
                    .cpu = prepare_factor<OfMatrix<square_root_of>>});

// --- Functions ---

namespace linalg {

Output expm(const Operand& input, const OpOptions& options) {
  return OpBuilder("MatrixExponential", options).input(input).build();
}
Output logm(const Operand& input, const OpOptions& options) {
  return OpBuilder("MatrixLogarithm", options).input(input).build();
}
Output sqrtm(const Operand& input, const OpOptions& options) {
  return OpBuilder("MatrixSquareRoot", options).input(input).build();
}

}  // namespace linalg
}  // namespace caudal::inline v0
