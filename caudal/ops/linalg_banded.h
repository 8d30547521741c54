// Matrices that are zero but for a few diagonals.
//
// Leading dimensions are a batch. float, double, complex64, complex128. Thread safety: as building a graph.
#pragma once

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0::linalg {

struct TridiagonalSolveOptions {
  bool partial_pivoting = true;  // else by Thomas' algorithm: quicker, and unstable unless the diagonal is large
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// x [..., m, k] with T x = rhs [..., m, k]. diagonals [..., 3, m]: what stands above the main diagonal (the last
// element is not used), the main diagonal, what stands below (the first is not used). INVALID_ARGUMENT for singular
// matrices.
CAUDAL_API Output tridiagonal_solve(const Operand& diagonals, const Operand& rhs,
                                    const TridiagonalSolveOptions& options = {});
// T rhs, for diagonals in the same form.
CAUDAL_API Output tridiagonal_matmul(const Operand& diagonals, const Operand& rhs, const OpOptions& options = {});

struct BandedTriangularSolveOptions {
  bool lower = true;  // bands: the main diagonal first and those below it; else those above, the main diagonal last
  bool adjoint = false;
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// x with the triangle of the bands [..., k, m] times x = rhs [..., m, n]. Element i of a band stands in row i; what
// would lie outside is not used.
CAUDAL_API Output banded_triangular_solve(const Operand& bands, const Operand& rhs,
                                          const BandedTriangularSolveOptions& options = {});

}  // namespace caudal::inline v0::linalg
