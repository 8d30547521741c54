#include "caudal/ops/linalg_banded.h"

#include <algorithm>

#include "caudal/autodiff/gradient.h"
#include "caudal/core/op_registry.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/joining.h"
#include "caudal/ops/linalg_transpose.h"
#include "caudal/ops/linalg_util.h"
#include "caudal/ops/matmul.h"
#include "caudal/ops/matrix_diag_ops.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/reduction.h"
#include "caudal/ops/shape_ops.h"
#include "caudal/ops/slicing.h"

namespace caudal::inline v0 {
namespace {

// --- Shapes ---

void tridiagonal_solve_shape(ShapeContext& c) {
  const PartialShape diagonals = c.with_rank_at_least(0, 2), rhs = c.with_rank_at_least(1, 2);
  if (!diagonals.has_rank() || !rhs.has_rank()) return c.set_output(0, rhs);
  const auto batch = batch_dims(diagonals).merge(batch_dims(rhs));
  if (!batch) throw invalid_argument("batch dimensions differ: diagonals ", diagonals, ", rhs ", rhs);
  ShapeContext::merge_dim(diagonals[-2], 3, "number of diagonals");
  const std::int64_t n = ShapeContext::merge_dim(diagonals[-1], rhs[-2], "number of rows of diagonals and rhs");
  c.set_output(0, with_dims(*batch, {n, rhs[-1]}));
}

void tridiagonal_matmul_shape(ShapeContext& c) {
  const PartialShape rhs = c.with_rank_at_least(3, 2);
  for (int i = 0; i < 3; ++i) {
    const PartialShape diagonal = c.with_rank_at_least(i, 2);
    if (!diagonal.has_rank() || !rhs.has_rank()) continue;
    if (!batch_dims(diagonal).merge(batch_dims(rhs))) {
      throw invalid_argument("batch dimensions differ: ", c.input_name(i), ' ', diagonal, ", rhs ", rhs);
    }
    ShapeContext::merge_dim(diagonal[-2], 1, "number of rows of a diagonal");
    ShapeContext::merge_dim(diagonal[-1], rhs[-2], "number of rows of diagonals and rhs");
  }
  c.set_output(0, rhs);
}

void banded_solve_shape(ShapeContext& c) {
  const PartialShape bands = c.with_rank_at_least(0, 2), rhs = c.with_rank_at_least(1, 2);
  if (!bands.has_rank() || !rhs.has_rank()) return c.set_output(0, PartialShape::unknown());
  const std::int64_t n = ShapeContext::merge_dim(bands[-1], rhs[-2], "number of rows of bands and rhs");
  c.set_output(0, with_dims(broadcast(batch_dims(bands), batch_dims(rhs)), {n, rhs[-1]}));
}

// --- Kernels ---

template <class T>
void check_pivot(const T& pivot, const char* hint) {
  if (pivot == T{}) throw invalid_argument("the matrix is not invertible").hint(hint);
}

// y -= factor x, of rows of k elements.
template <class T>
void subtract_row(T* y, const T& factor, const T* x, std::int64_t k) {
  for (std::int64_t i = 0; i < k; ++i) y[i] -= factor * x[i];
}

struct TridiagonalSolve {
  template <class T>
  static void run(RunContext& c) {
    const Tensor &diagonals = c.input(0), &rhs = c.input(1);
    const MatrixBatch d(diagonals, "diagonals"), r(rhs, "rhs");
    if (!(d.batch == r.batch) || d.rows != 3 || d.cols != r.rows) {
      throw invalid_argument("diagonals ", diagonals.describe(), " and rhs ", rhs.describe(), " do not fit");
    }
    const bool pivoting = c.node().attr<bool>("partial_pivoting");
    T* out = c.allocate_output(0, rhs.shape()).template data<T>();
    const std::int64_t n = d.cols, k = r.cols;
    if (n == 0 || k == 0) return;
    for_each_matrix(c, d.count, n * k, [&](std::int64_t b) {
      const T* above = diagonals.data<T>() + b * 3 * n;
      T* x = out + b * n * k;
      std::copy_n(rhs.data<T>() + b * n * k, n * k, x);
      // u: the three diagonals of the triangle that elimination leaves.
      std::vector<T> u(static_cast<std::size_t>(3 * n));
      pivoting ? eliminate(above, n, k, u.data(), x) : eliminate_in_order(above, n, k, u.data(), x);
      substitute(u.data(), n, k, x);
    });
  }

 private:
  template <class T>
  static void eliminate(const T* above, std::int64_t n, std::int64_t k, T* u, T* x) {
    const char* hint = "Only regular matrices have a solution.";
    const T *main = above + n, *below = above + 2 * n;
    u[0] = main[0];
    u[1] = n > 1 ? above[0] : T{};
    for (std::int64_t i = 0; i + 1 < n; ++i) {
      T *own = u + 3 * i, *next = own + 3;
      const T last = i + 2 < n ? above[i + 1] : T{};
      T *row = x + i * k, *next_row = row + k;
      if (std::abs(own[0]) >= std::abs(below[i + 1])) {
        check_pivot(own[0], hint);
        const T factor = below[i + 1] / own[0];
        next[0] = main[i + 1] - factor * own[1];
        next[1] = last;
        subtract_row(next_row, factor, row, k);
      } else {
        // The rows change places.
        const T factor = own[0] / below[i + 1];
        next[0] = own[1] - factor * main[i + 1];
        next[1] = -factor * last;
        own[0] = below[i + 1];
        own[1] = main[i + 1];
        own[2] = last;
        std::swap_ranges(row, next_row, next_row);
        subtract_row(next_row, factor, row, k);
      }
    }
    check_pivot(u[3 * (n - 1)], hint);
  }

  template <class T>
  static void eliminate_in_order(const T* above, std::int64_t n, std::int64_t k, T* u, T* x) {
    const char* hint = "It may still have a solution with partial_pivoting = true.";
    const T *main = above + n, *below = above + 2 * n;
    for (std::int64_t i = 0; i < n; ++i) {
      T* own = u + 3 * i;
      own[0] = main[i];
      if (i + 1 < n) own[1] = above[i];
      if (i > 0) {
        const T factor = below[i] / own[-3];
        own[0] -= factor * own[-2];
        subtract_row(x + i * k, factor, x + (i - 1) * k, k);
      }
      check_pivot(own[0], hint);
    }
  }

  template <class T>
  static void substitute(const T* u, std::int64_t n, std::int64_t k, T* x) {
    for (std::int64_t i = n - 1; i >= 0; --i) {
      if (i + 1 < n) subtract_row(x + i * k, u[3 * i + 1], x + (i + 1) * k, k);
      if (i + 2 < n) subtract_row(x + i * k, u[3 * i + 2], x + (i + 2) * k, k);
      for (std::int64_t j = 0; j < k; ++j) x[i * k + j] /= u[3 * i];
    }
  }
};

struct TridiagonalMatMul {
  template <class T>
  static void run(RunContext& c) {
    const Tensor& rhs = c.input(3);
    const MatrixBatch r(rhs, "rhs");
    for (int i = 0; i < 3; ++i) {
      if (!(c.input(i).shape() == r.batch.append(1).append(r.rows))) {
        throw invalid_argument("a diagonal is ", c.input(i).describe(), ", for rhs ", rhs.describe(),
                               " it must have shape ", r.batch.append(1).append(r.rows));
      }
    }
    T* out = c.allocate_output(0, rhs.shape()).template data<T>();
    const std::int64_t n = r.rows, k = r.cols;
    for_each_matrix(c, r.count, n * k, [&](std::int64_t b) {
      const T *x = rhs.data<T>() + b * n * k, *above = c.input(0).data<T>() + b * n;
      const T *main = c.input(1).data<T>() + b * n, *below = c.input(2).data<T>() + b * n;
      for (std::int64_t i = 0; i < n; ++i) {
        T* y = out + (b * n + i) * k;
        for (std::int64_t j = 0; j < k; ++j) y[j] = main[i] * x[i * k + j];
        if (i + 1 < n) subtract_row(y, -above[i], x + (i + 1) * k, k);
        if (i > 0) subtract_row(y, -below[i], x + (i - 1) * k, k);
      }
    });
  }
};

struct BandedSolve {
  template <class T>
  static void run(RunContext& c) {
    const Tensor bands = wide_input(c, 0), rhs = wide_input(c, 1);
    const MatrixBatch a(bands, "bands"), r(rhs, "rhs");
    if (a.cols != r.rows || a.rows < 1 || a.rows > std::max<std::int64_t>(a.cols, 1)) {
      throw invalid_argument("bands ", bands.describe(), " and rhs ", rhs.describe(), " do not fit");
    }
    const Shape batch = broadcast(a.batch, r.batch);
    Tensor output = wide_output(c, 0, batch.append(r.rows).append(r.cols));
    const bool lower = c.node().attr<bool>("lower"), adjoint = c.node().attr<bool>("adjoint");
    if (output.num_elements() > 0) {
      for_each_matrix(c, batch.num_elements(), a.cols * r.cols, [&](std::int64_t b) {
        const T* own = bands.data<T>() + batch_position(batch, a.batch, b) * a.rows * a.cols;
        T* x = output.data<T>() + b * r.rows * r.cols;
        std::copy_n(rhs.data<T>() + batch_position(batch, r.batch, b) * r.rows * r.cols, r.rows * r.cols, x);
        solve(own, a.rows, a.cols, lower, adjoint, x, r.cols);
      });
    }
    finish_output(c, 0, output);
  }

 private:
  template <class T>
  static void solve(const T* bands, std::int64_t count, std::int64_t n, bool lower, bool adjoint, T* x,
                    std::int64_t k) {
    // Element (i, j) of the triangle.
    const auto element = [&](std::int64_t i, std::int64_t j) {
      if (adjoint) std::swap(i, j);
      const T value = bands[(lower ? i - j : count - 1 - (j - i)) * n + i];
      if constexpr (std::is_floating_point_v<T>) {
        return value;
      } else {
        return adjoint ? std::conj(value) : value;
      }
    };
    const bool forward = lower != adjoint;
    for (std::int64_t step = 0; step < n; ++step) {
      const std::int64_t i = forward ? step : n - 1 - step;
      for (std::int64_t d = 1; d < count; ++d) {
        const std::int64_t j = forward ? i - d : i + d;
        if (j >= 0 && j < n) subtract_row(x + i * k, element(i, j), x + j * k, k);
      }
      const T pivot = element(i, i);
      check_pivot(pivot, "The main diagonal must not hold a zero.");
      for (std::int64_t j = 0; j < k; ++j) x[i * k + j] /= pivot;
    }
  }
};

std::unique_ptr<Kernel> prepare_tridiagonal_solve(PrepareContext& c) {
  if (c.attr<bool>("perturb_singular")) throw unimplemented("perturb_singular is not supported");
  return prepare_factor<TridiagonalSolve>(c);
}

// --- Gradients ---

Output row(const Output& x, int i) { return index(x, {kEllipsis, i, kAll}); }
Output zeros_before(const Output& x) { return zeros_like(index(x, {kEllipsis, Slice{0, 1}})); }
// Elements of the last dimension one place up or down; zero comes in.
Output later(const Output& x) { return concat({index(x, {kEllipsis, Slice{1, {}}}), zeros_before(x)}, -1); }
Output earlier(const Output& x) { return concat({zeros_before(x), index(x, {kEllipsis, Slice{0, -1}})}, -1); }
// The same of rows.
Output later_rows(const Output& x) { return linalg::matrix_transpose(later(linalg::matrix_transpose(x))); }
Output earlier_rows(const Output& x) { return linalg::matrix_transpose(earlier(linalg::matrix_transpose(x))); }
Output row_products(const Output& x, const Output& y) { return reduce_sum(x * y, {.axis = -1}); }

void tridiagonal_solve_gradient(GradientContext& c) {
  const Output diagonals = c.input(0), x = c.output(0);
  const Output transposed = stack({later(row(diagonals, 2)), row(diagonals, 1), earlier(row(diagonals, 0))}, -2);
  const Output for_rhs =
      linalg::tridiagonal_solve(transposed, c.grad(0), {.partial_pivoting = c.attr<bool>("partial_pivoting")});
  c.set_input_grad(0, -stack({row_products(for_rhs, later_rows(x)), row_products(for_rhs, x),
                              row_products(for_rhs, earlier_rows(x))},
                             -2));
  c.set_input_grad(1, for_rhs);
}

void tridiagonal_matmul_gradient(GradientContext& c) {
  const Output rhs = conj_if_complex(c.input(3)), grad = c.grad(0);
  const auto column = [&](int i) { return linalg::adjoint(c.input(i)); };
  const auto diagonal = [&](const Output& x) { return expand_dims(row_products(x, grad), -2); };
  c.set_input_grad(0, diagonal(later_rows(rhs)));
  c.set_input_grad(1, diagonal(rhs));
  c.set_input_grad(2, diagonal(earlier_rows(rhs)));
  c.set_input_grad(3, earlier_rows(column(0) * grad) + column(1) * grad + later_rows(column(2) * grad));
}

void banded_solve_gradient(GradientContext& c) {
  const bool lower = c.attr<bool>("lower"), adjoint = c.attr<bool>("adjoint");
  const Output bands = c.input(0), x = c.output(0);
  const Output for_rhs = linalg::banded_triangular_solve(bands, c.grad(0), {.lower = lower, .adjoint = !adjoint});
  const Output full = adjoint ? matmul(x, for_rhs, {.adjoint_b = true}) : matmul(for_rhs, x, {.adjoint_b = true});
  const Output outermost = index(shape_of(bands), {-2}) - 1;
  const Output k = lower ? stack({-outermost, 0}) : stack({0, outermost});
  // One diagonal alone comes without its own dimension.
  const Output part = reshape(linalg::diag_part(-full, {.k = k, .align = "LEFT_RIGHT"}),
                              concat({index(shape_of(full), {Slice{{}, -2}}), index(shape_of(bands), {Slice{-2}})}, 0));
  c.set_input_grad(0, sum_to_shape_of(part, bands, part));
  c.set_input_grad(1, sum_to_shape_of(for_rhs, c.input(1), for_rhs));
}

}  // namespace

// --- Registrations ---

CAUDAL_REGISTER_OP({.name = "TridiagonalSolve",
                    .inputs = "diagonals: T; rhs: T",
                    .outputs = "output: T",
                    .attrs = "partial_pivoting: bool = true; perturb_singular: bool = false; "
                             "T: {double, float, complex64, complex128}",
                    .shape = tridiagonal_solve_shape,
                    .gradient = tridiagonal_solve_gradient,
                    .cpu = prepare_tridiagonal_solve});
CAUDAL_REGISTER_OP({.name = "TridiagonalMatMul",
                    .inputs = "superdiag: T; maindiag: T; subdiag: T; rhs: T",
                    .outputs = "output: T",
                    .attrs = "T: {double, float, complex64, complex128}",
                    .shape = tridiagonal_matmul_shape,
                    .gradient = tridiagonal_matmul_gradient,
                    .cpu = prepare_factor<TridiagonalMatMul>});
CAUDAL_REGISTER_OP({.name = "BandedTriangularSolve",
                    .inputs = "matrix: T; rhs: T",
                    .outputs = "output: T",
                    .attrs = "lower: bool = true; adjoint: bool = false; "
                             "T: {double, float, half, complex64, complex128}",
                    .shape = banded_solve_shape,
                    .gradient = banded_solve_gradient,
                    .cpu = prepare_factor<BandedSolve>});

// --- Functions ---

namespace linalg {

Output tridiagonal_solve(const Operand& diagonals, const Operand& rhs, const TridiagonalSolveOptions& options) {
  const DType dtype = common_dtype({&diagonals, &rhs});
  return OpBuilder("TridiagonalSolve", {.name = options.name, .where = options.where})
      .input(diagonals, dtype)
      .input(rhs, dtype)
      .attr("partial_pivoting", options.partial_pivoting)
      .build();
}

Output tridiagonal_matmul(const Operand& diagonals, const Operand& rhs, const OpOptions& options) {
  const LocationScope location(options.where);
  const DType dtype = common_dtype({&diagonals, &rhs});
  const Output x = diagonals.to_output(dtype);
  const auto diagonal = [&](int i) { return index(x, {kEllipsis, Slice{i, i + 1}, kAll}); };
  return OpBuilder("TridiagonalMatMul", options)
      .input(diagonal(0))
      .input(diagonal(1))
      .input(diagonal(2))
      .input(rhs, dtype)
      .build();
}

Output banded_triangular_solve(const Operand& bands, const Operand& rhs, const BandedTriangularSolveOptions& options) {
  const DType dtype = common_dtype({&bands, &rhs});
  return OpBuilder("BandedTriangularSolve", {.name = options.name, .where = options.where})
      .input(bands, dtype)
      .input(rhs, dtype)
      .attr("lower", options.lower)
      .attr("adjoint", options.adjoint)
      .build();
}

}  // namespace linalg
}  // namespace caudal::inline v0
