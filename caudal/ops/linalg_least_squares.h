// Linear least squares.
// Thread safety: as building a graph.
#pragma once

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0::linalg {

struct LstsqOptions {
  double l2_regularizer = 0;
  // By Cholesky's factorisation of the normal equations: quick, but it needs full rank and no large condition number.
  // Else by complete orthogonal decomposition (LAPACK's, by the module linalg), for any rank; the regulariser is then
  // ignored and there is no gradient.
  bool fast = true;
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// x [..., n, k] that makes |matrix x - rhs|^2 + l2_regularizer |x|^2 least, for matrix [..., m, n], rhs [..., m, k]; of
// many such x the shortest. float, double, complex64, complex128. INVALID_ARGUMENT where the normal equations have no
// factorisation.
CAUDAL_API Output lstsq(const Operand& matrix, const Operand& rhs, const LstsqOptions& options = {});

}  // namespace caudal::inline v0::linalg
