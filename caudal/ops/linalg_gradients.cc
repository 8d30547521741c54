#include "caudal/ops/linalg_gradients.h"

#include <cstdlib>

#include "caudal/autodiff/gradient.h"
#include "caudal/ops/cast.h"
#include "caudal/ops/complex_ops.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/control_flow.h"
#include "caudal/ops/elementwise.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/joining.h"
#include "caudal/ops/linalg_decompositions.h"
#include "caudal/ops/linalg_solve.h"
#include "caudal/ops/linalg_transpose.h"
#include "caudal/ops/matmul.h"
#include "caudal/ops/matrix_diag_ops.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/shape_ops.h"
#include "caudal/ops/slicing.h"

namespace caudal::inline v0 {
namespace {

using linalg::adjoint;

constexpr std::int64_t kUnknown = PartialShape::kUnknown;

Output adjoint_times(const Output& a, const Output& b) { return matmul(a, b, {.adjoint_a = true}); }
Output times_adjoint(const Output& a, const Output& b) { return matmul(a, b, {.adjoint_b = true}); }

// 1 / x, and 0 where x is 0.
Output safe_reciprocal(const Output& x) { return x * reciprocal(x * x + 1e-20); }

// 1 / (x_j - x_i) off the diagonal.
Output inverse_differences(const Output& x) {
  return linalg::set_diag(safe_reciprocal(expand_dims(x, -2) - expand_dims(x, -1)), zeros_like(x));
}

// Columns [0, count) and the rest, of a value or count that the run knows.
Output first_columns(const Output& x, const SliceBound& count) {
  Slice part;
  part.end = count;
  return index(x, {kEllipsis, part});
}
Output later_columns(const Output& x, const SliceBound& count) {
  Slice part;
  part.begin = count;
  return index(x, {kEllipsis, part});
}

// x r^-H.
Output divided_by_adjoint(const Output& x, const Output& r) {
  return adjoint(linalg::triangular_solve(r, adjoint(x), {.lower = false}));
}

// Of matrices with at least as many rows as columns.
Output qr_gradient_of_tall(const Output& q, const Output& r, const Output& dq, const Output& dr) {
  const Output qdq = adjoint_times(q, dq), rdr = times_adjoint(r, dr);
  const Output tril = linalg::band_part((qdq - adjoint(qdq)) + (rdr - adjoint(rdr)), -1, 0);
  Output result = matmul(q, dr + divided_by_adjoint(tril, r)) + divided_by_adjoint(dq - matmul(q, qdq), r);
  if (is_complex(q.dtype())) {
    const Output m = rdr - adjoint(qdq);
    const Output diagonal = linalg::set_diag(zeros_like(m), linalg::diag_part(m));
    const Output imaginary = diagonal - cast(math::real(diagonal), q.dtype());
    result = result + divided_by_adjoint(matmul(q, adjoint(imaginary)), r);
  }
  return result;
}

std::int64_t known_dim(const Output& x, int from_end) { return x.shape().has_rank() ? x.shape()[from_end] : kUnknown; }

// The size of a dimension counted from the end, as a number if it is known.
SliceBound dim_of(const Output& x, int from_end) {
  const std::int64_t known = known_dim(x, from_end);
  if (known != kUnknown) return known;
  return index(shape_of(x), {from_end});
}

// tall() for matrices with at least as many rows as columns, else wide(); decided by the run where sizes are unknown.
template <class Tall, class Wide>
Output by_form(const Output& a, Tall&& tall, Wide&& wide) {
  const std::int64_t rows = known_dim(a, -2), cols = known_dim(a, -1);
  if (rows != kUnknown && cols != kUnknown) return rows >= cols ? tall() : wide();
  const Output shape = shape_of(a);
  return cond(greater_equal(index(shape, {-2}), index(shape, {-1})), tall, wide);
}

}  // namespace

void qr_gradient(GradientContext& c) {
  const Output q = c.output(0), r = c.output(1), dq = c.grad(0), dr = c.grad(1), a = c.input(0);
  const std::int64_t rows = known_dim(a, -2), cols = known_dim(a, -1);
  if (c.attr<bool>("full_matrices") && rows != kUnknown && cols != kUnknown && rows > cols) {
    throw unimplemented("the gradient of Qr is not defined for full matrices of more rows than columns");
  }
  const auto tall = [&] { return qr_gradient_of_tall(q, r, dq, dr); };
  // a = [x, y] and r = [u, v] with x square: the square case, and y = q v.
  const auto wide = [&] {
    const SliceBound square = dim_of(a, -2);
    const Output y = later_columns(a, square), u = first_columns(r, square), du = first_columns(dr, square),
                 dv = later_columns(dr, square);
    const Output dy = matmul(q, dv), dx = qr_gradient_of_tall(q, u, dq + times_adjoint(y, dv), du);
    return concat({dx, dy}, -1);
  };
  c.set_input_grad(0, by_form(a, tall, wide));
}

void eigh_gradient(GradientContext& c) {
  Output gradient;
  if (c.attr<bool>("compute_v")) {
    const Output e = c.output(0), v = c.output(1);
    const Output inner = linalg::diag(c.grad(0)) + inverse_differences(e) * adjoint_times(v, c.grad(1));
    gradient = matmul(v, times_adjoint(inner, v));
  } else {
    const Output v = linalg::eigh(c.input(0)).v;
    gradient = matmul(v, times_adjoint(linalg::diag(c.grad(0)), v));
  }
  // The op reads the lower triangle only.
  gradient = linalg::band_part(gradient + adjoint(gradient), -1, 0);
  c.set_input_grad(0, linalg::set_diag(gradient, 0.5 * linalg::diag_part(gradient)));
}

namespace {

struct SvdParts {
  Output s, u, v, grad_s, grad_u, grad_v;  // grad_s as a diagonal matrix
};

// Of matrices with at least as many columns as rows; `full`: v is square.
Output svd_gradient_of_wide(const SvdParts& x, bool full) {
  const DType dtype = x.u.dtype();
  const Output s_matrix = linalg::diag(x.s), s_inverse = linalg::diag(safe_reciprocal(x.s));
  const Output f = inverse_differences(square(x.s));
  const SliceBound m = dim_of(x.s, -1);
  const Output v1 = first_columns(x.v, m), grad_v1 = first_columns(x.grad_v, m);
  const Output v_gv = adjoint_times(v1, grad_v1);
  const Output f_u = f * adjoint_times(x.u, x.grad_u), f_v = f * v_gv;
  const Output inner = x.grad_s + matmul(f_u + adjoint(f_u), s_matrix) + matmul(s_matrix, f_v + adjoint(f_v));
  Output gradient = matmul(x.u, times_adjoint(inner, v1));
  // What leaves the space of the rows; nothing for square matrices.
  const Output gv1t = adjoint(grad_v1);
  Output rest = gv1t - times_adjoint(matmul(gv1t, v1), v1);
  if (full) {
    const Output v2 = later_columns(x.v, m), grad_v2 = later_columns(x.grad_v, m);
    rest = rest - times_adjoint(adjoint_times(v1, grad_v2), v2);
  }
  gradient = gradient + matmul(matmul(x.u, s_inverse), rest);
  if (is_complex(dtype)) {
    // The phases of the vectors (Z. Wan, S. Zhang, "Automatic differentiation for complex valued SVD", 2019).
    const Output phase = linalg::set_diag(zeros_like(v_gv), linalg::diag_part(v_gv));
    const Output turned = matmul(s_inverse, adjoint(phase) - phase);
    gradient = gradient + 0.5 * matmul(x.u, times_adjoint(turned, v1));
  }
  return gradient;
}

}  // namespace

void svd_gradient(GradientContext& c) {
  const Output a = c.input(0);
  const Output grad_s = linalg::diag(cast(c.grad(0), a.dtype()));
  if (!c.attr<bool>("compute_uv")) {
    const auto [s, u, v] = linalg::svd(a);
    return c.set_input_grad(0, matmul(u, times_adjoint(grad_s, v)));
  }
  const std::int64_t rows = known_dim(a, -2), cols = known_dim(a, -1);
  const bool full = c.attr<bool>("full_matrices");
  if (full && rows != kUnknown && cols != kUnknown && std::abs(rows - cols) > 1) {
    throw unimplemented("the gradient of Svd is not defined for full matrices whose sides differ by more than 1");
  }
  const Output s = c.output(0), u = c.output(1), v = c.output(2), grad_u = c.grad(1), grad_v = c.grad(2);
  // A matrix with more rows than columns is taken as its adjoint, v s u^H.
  const auto tall = [&] { return adjoint(svd_gradient_of_wide({s, v, u, grad_s, grad_v, grad_u}, full)); };
  const auto wide = [&] { return svd_gradient_of_wide({s, u, v, grad_s, grad_u, grad_v}, full); };
  c.set_input_grad(0, by_form(a, tall, wide));
}

void eig_gradient(GradientContext& c) {
  Output gradient;
  if (c.attr<bool>("compute_v")) {
    const Output e = c.output(0), v = c.output(1), vt = adjoint(v);
    const Output f = conj_if_complex(inverse_differences(e));
    const Output vgv = matmul(vt, c.grad(1));
    const Output diagonal = linalg::diag(linalg::diag_part(cast(math::real(vgv), vgv.dtype())));
    const Output middle = linalg::diag(c.grad(0)) + f * (vgv - matmul(matmul(vt, v), diagonal));
    gradient = linalg::solve(vt, matmul(middle, vt));
  } else {
    const Output vt = adjoint(linalg::eig(c.input(0)).v);
    gradient = linalg::solve(vt, matmul(linalg::diag(c.grad(0)), vt));
  }
  c.set_input_grad(0, cast(gradient, c.input(0).dtype()));
}

}  // namespace caudal::inline v0
