#include "caudal/ops/linalg_decompositions.h"

#include <algorithm>
#include <limits>

#include "caudal/autodiff/gradient.h"
#include "caudal/core/op_registry.h"
#include "caudal/ops/complex_ops.h"
#include "caudal/ops/linalg_gradients.h"
#include "caudal/ops/linalg_lapack.h"
#include "caudal/ops/linalg_util.h"

namespace caudal::inline v0 {
namespace {

constexpr std::int64_t kUnknown = PartialShape::kUnknown;

// --- Shapes ---

void qr_shape(ShapeContext& c) {
  const PartialShape input = c.with_rank_at_least(0, 2);
  if (!input.has_rank()) {
    c.set_output(0, PartialShape::unknown());
    return c.set_output(1, PartialShape::unknown());
  }
  const PartialShape batch = batch_dims(input);
  const std::int64_t m = input[-2], n = input[-1], p = c.attr<bool>("full_matrices") ? m : least_dim(m, n);
  c.set_output(0, with_dims(batch, {m, p}));
  c.set_output(1, with_dims(batch, {p, n}));
}

void svd_shape(ShapeContext& c) {
  const PartialShape input = c.with_rank_at_least(0, 2);
  const bool vectors = c.attr<bool>("compute_uv");
  if (!input.has_rank()) {
    c.set_output(0, PartialShape::unknown());
    for (int i : {1, 2}) c.set_output(i, vectors ? PartialShape::unknown() : PartialShape({0}));
    return;
  }
  const PartialShape batch = batch_dims(input);
  const std::int64_t m = input[-2], n = input[-1], p = least_dim(m, n);
  const bool full = c.attr<bool>("full_matrices");
  c.set_output(0, with_dims(batch, {p}));
  c.set_output(1, vectors ? with_dims(batch, {m, full ? m : p}) : PartialShape({0}));
  c.set_output(2, vectors ? with_dims(batch, {n, full ? n : p}) : PartialShape({0}));
}

void eigen_shape(ShapeContext& c) {
  const PartialShape input = square_matrices(c, 0);
  c.set_output(0, input.has_rank() ? batch_dims(input, 1) : input);
  c.set_output(1, c.attr<bool>("compute_v") ? input : PartialShape({0}));
}

// [..., n + 1, n]: the eigenvalues as a row above the vectors.
void packed_eigen_shape(ShapeContext& c) {
  const PartialShape input = square_matrices(c, 0);
  if (!input.has_rank()) return c.set_output(0, input);
  const std::int64_t n = input[-1];
  c.set_output(0, with_dims(batch_dims(input), {n == kUnknown ? n : n + 1, n}));
}

// --- Kernels ---

template <class T>
using RealOf = decltype(std::abs(T{}));

struct Qr {
  template <class T>
  static void run(RunContext& c) {
    const Tensor input = wide_input(c, 0);
    const MatrixBatch a(input, "the input");
    const int m = lapack_size(a.rows), n = lapack_size(a.cols), least = std::min(m, n);
    const int p = c.node().attr<bool>("full_matrices") ? m : least;
    Tensor q = wide_output(c, 0, a.batch.append(m).append(p)), r = wide_output(c, 1, a.batch.append(p).append(n));
    for_each_matrix(c, a.count, a.rows * a.cols * least, [&](std::int64_t b) {
      const T* in = input.data<T>() + b * m * n;
      factor(in, m, n, p, q.data<T>() + b * m * p, r.data<T>() + b * p * n);
    });
    finish_output(c, 0, q);
    finish_output(c, 1, r);
  }

 private:
  template <class T>
  static void factor(const T* in, int m, int n, int p, T* q, T* r) {
    const int least = std::min(m, n);
    std::vector<T> packed(in, in + static_cast<std::size_t>(m) * static_cast<std::size_t>(n));
    std::vector<T> tau(static_cast<std::size_t>(std::max(least, 1)));
    std::fill_n(q, static_cast<std::size_t>(m) * static_cast<std::size_t>(p), T{});
    std::fill_n(r, static_cast<std::size_t>(p) * static_cast<std::size_t>(n), T{});
    for (int i = 0; i < std::min(m, p); ++i) q[i * p + i] = 1;
    if (least == 0) return;
    if (lapack().qr(lapack_type<T>(), m, n, packed.data(), tau.data()) != 0) return fill_nan(q, m * p, r, p * n);
    for (int i = 0; i < least; ++i) std::copy_n(packed.begin() + i * n + i, n - i, r + i * n + i);
    for (int i = 0; i < m; ++i) std::copy_n(packed.begin() + i * n, least, q + i * p);
    lapack().form_q(lapack_type<T>(), m, p, least, q, tau.data());
  }
  // LAPACK refuses a NaN.
  template <class T>
  static void fill_nan(T* q, int q_size, T* r, int r_size) {
    std::fill_n(q, q_size, std::numeric_limits<RealOf<T>>::quiet_NaN());
    std::fill_n(r, r_size, std::numeric_limits<RealOf<T>>::quiet_NaN());
  }
};

struct Svd {
  template <class T>
  static void run(RunContext& c) {
    const Tensor& input = c.input(0);
    const MatrixBatch a(input, "the input");
    const int m = lapack_size(a.rows), n = lapack_size(a.cols), p = std::min(m, n);
    const bool vectors = c.node().attr<bool>("compute_uv"), full = c.node().attr<bool>("full_matrices");
    const int u_columns = full ? m : p, v_columns = full ? n : p;
    T* s = c.allocate_output(0, a.batch.append(p)).template data<T>();
    T* u = c.allocate_output(1, vectors ? a.batch.append(m).append(u_columns) : Shape({0})).template data<T>();
    T* v = c.allocate_output(2, vectors ? a.batch.append(n).append(v_columns) : Shape({0})).template data<T>();
    const char job = !vectors ? 'N' : full ? 'A' : 'S';
    for_each_matrix(c, a.count, a.rows * a.cols * p, [&](std::int64_t b) {
      T* own_u = vectors ? u + b * m * u_columns : nullptr;
      T* own_v = vectors ? v + b * n * v_columns : nullptr;
      decompose(input.data<T>() + b * m * n, m, n, job, s + b * p, own_u, own_v, u_columns, v_columns);
    });
  }

 private:
  template <class T>
  static void decompose(const T* in, int m, int n, char job, T* s, T* u, T* v, int u_columns, int v_columns) {
    const int p = std::min(m, n);
    if (p == 0) {
      // Of an empty matrix: the unit matrix, where it has elements.
      for (int i = 0; u != nullptr && i < m * u_columns; ++i) u[i] = static_cast<T>(i % (u_columns + 1) == 0);
      for (int i = 0; v != nullptr && i < n * v_columns; ++i) v[i] = static_cast<T>(i % (v_columns + 1) == 0);
      return;
    }
    std::vector<T> a(in, in + static_cast<std::size_t>(m) * static_cast<std::size_t>(n));
    std::vector<RealOf<T>> values(static_cast<std::size_t>(p));
    std::vector<T> vt(v != nullptr ? static_cast<std::size_t>(n) * static_cast<std::size_t>(v_columns) : 0);
    const int info = lapack().svd(lapack_type<T>(), job, m, n, a.data(), values.data(), u, vt.data());
    if (info > 0) throw invalid_argument("the singular values of the input did not converge");
    if (info < 0) {
      constexpr auto kNan = std::numeric_limits<RealOf<T>>::quiet_NaN();
      std::fill_n(s, p, kNan);
      if (u != nullptr) std::fill_n(u, m * u_columns, kNan);
      if (v != nullptr) std::fill_n(v, n * v_columns, kNan);
      return;
    }
    std::copy(values.begin(), values.end(), s);
    if (v != nullptr) adjoint_into(vt.data(), v_columns, n, v);
  }
};

// Eigenvalues and vectors of one Hermitian matrix; `v` may be null.
template <class T>
void eigh_into(const T* in, int n, T* e, T* v) {
  if (n == 0) return;
  std::vector<T> a(in, in + static_cast<std::size_t>(n) * static_cast<std::size_t>(n));
  std::vector<RealOf<T>> values(static_cast<std::size_t>(n));
  if (lapack().eigh(lapack_type<T>(), v != nullptr, n, a.data(), values.data()) != 0) {
    throw invalid_argument("the eigenvalues of the input did not converge; is it finite?");
  }
  std::copy(values.begin(), values.end(), e);
  if (v != nullptr) std::copy(a.begin(), a.end(), v);
}

struct Eigh {
  template <class T>
  static void run(RunContext& c) {
    const Tensor& input = c.input(0);
    const MatrixBatch a = MatrixBatch::square(input, "the input");
    const int n = lapack_size(a.rows);
    const bool vectors = c.node().attr<bool>("compute_v");
    T* e = c.allocate_output(0, a.batch.append(n)).template data<T>();
    T* v = c.allocate_output(1, vectors ? input.shape() : Shape({0})).template data<T>();
    for_each_matrix(c, a.count, a.rows * a.rows * a.rows, [&](std::int64_t b) {
      eigh_into(input.data<T>() + b * n * n, n, e + b * n, vectors ? v + b * n * n : nullptr);
    });
  }
};

struct PackedEigh {
  template <class T>
  static void run(RunContext& c) {
    const Tensor& input = c.input(0);
    const MatrixBatch a = MatrixBatch::square(input, "the input");
    const int n = lapack_size(a.rows);
    T* out = c.allocate_output(0, a.batch.append(n + 1).append(n)).template data<T>();
    for_each_matrix(c, a.count, a.rows * a.rows * a.rows, [&](std::int64_t b) {
      T* own = out + b * (n + 1) * n;
      eigh_into(input.data<T>() + b * n * n, n, own, own + n);
    });
  }
};

struct Eig {
  template <class T>
  static void run(RunContext& c) {
    const Tensor& input = c.input(0);
    const MatrixBatch a = MatrixBatch::square(input, "the input");
    const int n = lapack_size(a.rows);
    const bool vectors = c.node().attr<bool>("compute_v");
    using C = std::complex<RealOf<T>>;
    C* e = c.allocate_output(0, a.batch.append(n)).template data<C>();
    C* v = c.allocate_output(1, vectors ? input.shape() : Shape({0})).template data<C>();
    if (n == 0) return;
    for_each_matrix(c, a.count, a.rows * a.rows * a.rows, [&](std::int64_t b) {
      const T* in = input.data<T>() + b * n * n;
      std::vector<T> own(in, in + n * n);
      if (lapack().eig(lapack_type<T>(), n, own.data(), e + b * n, vectors ? v + b * n * n : nullptr) != 0) {
        throw invalid_argument("the eigenvalues of the input did not converge; is it finite?");
      }
    });
  }
};

DType complex_of(DType dtype) {
  return dtype == DType::kDouble || dtype == DType::kComplex128 ? DType::kComplex128 : DType::kComplex64;
}

std::unique_ptr<Kernel> prepare_eig(PrepareContext& c) {
  if (c.output_type(0) != complex_of(c.input_type(0))) {
    throw unimplemented("no kernel for ", c.input_type(0), " and ", c.output_type(0), " on CPU");
  }
  return prepare_factor<Eig>(c);
}

}  // namespace

// --- Registrations ---

#define CAUDAL_DECOMPOSITION(op, out, attributes, since, shape_function, gradient_function, prepare) \
  CAUDAL_REGISTER_OP({.name = op,                                                                    \
                      .inputs = "input: T",                                                          \
                      .outputs = out,                                                                \
                      .attrs = attributes,                                                           \
                      .deprecated_version = since,                                                   \
                      .shape = shape_function,                                                       \
                      .gradient = gradient_function,                                                 \
                      .cpu = prepare})
#define CAUDAL_FACTOR_ATTR "T: {double, float, half, complex64, complex128}"
#define CAUDAL_SVD_ATTRS "compute_uv: bool = true; full_matrices: bool = false; "

CAUDAL_DECOMPOSITION("Qr", "q: T; r: T", "full_matrices: bool = false; " CAUDAL_FACTOR_ATTR, 0, qr_shape, qr_gradient,
                     (prepare_factor<Qr, true>));
CAUDAL_DECOMPOSITION("Svd", "s: T; u: T; v: T", CAUDAL_SVD_ATTRS CAUDAL_FACTOR_ATTR, 0, svd_shape, svd_gradient,
                     prepare_factor<Svd>);
CAUDAL_DECOMPOSITION("BatchSvd", "s: T; u: T; v: T", CAUDAL_SVD_ATTRS "T: {double, float, complex64, complex128}", 13,
                     svd_shape, no_gradient, prepare_factor<Svd>);
CAUDAL_DECOMPOSITION("SelfAdjointEigV2", "e: T; v: T", "compute_v: bool = true; " CAUDAL_FACTOR_ATTR, 0, eigen_shape,
                     eigh_gradient, prepare_factor<Eigh>);
CAUDAL_DECOMPOSITION("BatchSelfAdjointEigV2", "e: T; v: T", "compute_v: bool = true; T: {double, float}", 13,
                     eigen_shape, no_gradient, prepare_factor<Eigh>);
CAUDAL_DECOMPOSITION("SelfAdjointEig", "output: T", "T: {double, float, half}", 11, packed_eigen_shape, no_gradient,
                     prepare_factor<PackedEigh>);
CAUDAL_DECOMPOSITION("BatchSelfAdjointEig", "output: T", "T: {double, float}", 11, packed_eigen_shape, no_gradient,
                     prepare_factor<PackedEigh>);
CAUDAL_DECOMPOSITION("Eig", "e: Tout; v: Tout",
                     "compute_v: bool = true; T: {float, double, complex64, complex128}; Tout: {complex64, complex128}",
                     0, eigen_shape, eig_gradient, prepare_eig);

// --- Functions ---

namespace linalg {

QrFactors qr(const Operand& input, const QrOptions& options) {
  Node& node = OpBuilder("Qr", {.name = options.name, .where = options.where})
                   .input(input)
                   .attr("full_matrices", options.full_matrices)
                   .build_node();
  return {node.output(0), node.output(1)};
}

SvdFactors svd(const Operand& tensor, const SvdOptions& options) {
  Node& node = OpBuilder("Svd", {.name = options.name, .where = options.where})
                   .input(tensor)
                   .attr("compute_uv", true)
                   .attr("full_matrices", options.full_matrices)
                   .build_node();
  return {math::real(node.output(0)), node.output(1), node.output(2)};
}

Output singular_values(const Operand& tensor, const OpOptions& options) {
  return math::real(OpBuilder("Svd", options).input(tensor).attr("compute_uv", false).build());
}

EigenSystem eigh(const Operand& tensor, const OpOptions& options) {
  Node& node = OpBuilder("SelfAdjointEigV2", options).input(tensor).attr("compute_v", true).build_node();
  return {node.output(0), node.output(1)};
}

Output eigvalsh(const Operand& tensor, const OpOptions& options) {
  return OpBuilder("SelfAdjointEigV2", options).input(tensor).attr("compute_v", false).build();
}

EigenSystem eig(const Operand& tensor, const OpOptions& options) {
  const Output x = tensor.to_output();
  Node& node =
      OpBuilder("Eig", options).input(x).attr("compute_v", true).attr("Tout", complex_of(x.dtype())).build_node();
  return {node.output(0), node.output(1)};
}

Output eigvals(const Operand& tensor, const OpOptions& options) {
  const Output x = tensor.to_output();
  return OpBuilder("Eig", options).input(x).attr("compute_v", false).attr("Tout", complex_of(x.dtype())).build();
}

}  // namespace linalg
}  // namespace caudal::inline v0
