// Decompositions of matrices: QR, singular values, eigenvalues. LAPACK's, by the module linalg: without it they are
// UNIMPLEMENTED and say which package to install.
//
// Everything works on the last two dimensions; leading ones are a batch. float, double, complex64, complex128. Vectors
// are unique only up to a sign (a factor of size 1), so those of another library may differ by it. Thread safety: as
// building a graph.
#pragma once

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0::linalg {

struct QrOptions {
  bool full_matrices = false;
  std::string name = {};
  std::source_location where = std::source_location::current();
};
struct QrFactors {
  Output q, r;
};
// input [..., m, n] = q r with unitary columns q and an upper triangle r. With p = min(m, n): q [..., m, p],
// r [..., p, n]; or q [..., m, m], r [..., m, n]. half too. Differentiable but for full matrices of more rows than
// columns.
CAUDAL_API QrFactors qr(const Operand& input, const QrOptions& options = {});

struct SvdOptions {
  bool full_matrices = false;
  std::string name = {};
  std::source_location where = std::source_location::current();
};
struct SvdFactors {
  Output s, u, v;
};
// input [..., m, n] = u diag(s) v^H, s descending and real. u [..., m, p], v [..., n, p]; with full matrices
// u [..., m, m], v [..., n, n]. Differentiable where singular values differ.
CAUDAL_API SvdFactors svd(const Operand& tensor, const SvdOptions& options = {});
// The singular values alone.
CAUDAL_API Output singular_values(const Operand& tensor, const OpOptions& options = {});

struct EigenSystem {
  Output e, v;
};
// Eigenvalues (ascending) and, as columns, eigenvectors of Hermitian matrices, of which the lower triangle is read.
CAUDAL_API EigenSystem eigh(const Operand& tensor, const OpOptions& options = {});
CAUDAL_API Output eigvalsh(const Operand& tensor, const OpOptions& options = {});
// Of general square matrices; always complex, in no particular order.
CAUDAL_API EigenSystem eig(const Operand& tensor, const OpOptions& options = {});
CAUDAL_API Output eigvals(const Operand& tensor, const OpOptions& options = {});

}  // namespace caudal::inline v0::linalg
