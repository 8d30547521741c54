// Systems of linear equations and what they are solved with: inverses, determinants, triangles, Cholesky and LU.
//
// Everything works on the last two dimensions; leading ones are a batch. float, double, complex64, complex128; half
// where said. Singular matrices are INVALID_ARGUMENT where they must be divided by. Thread safety: as building a graph.
#pragma once

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0::linalg {

struct InverseOptions {
  bool adjoint = false;  // of the conjugate transpose
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// The inverse of square matrices; half too.
CAUDAL_API Output inv(const Operand& input, const InverseOptions& options = {});

CAUDAL_API Output det(const Operand& input, const OpOptions& options = {});
struct SignAndLogDet {
  Output sign, log_abs_determinant;
};
// det = sign * exp(log_abs_determinant), which neither overflows nor underflows. Of singular matrices 0 and -inf.
CAUDAL_API SignAndLogDet slogdet(const Operand& input, const OpOptions& options = {});
// log(det) of Hermitian positive definite matrices.
CAUDAL_API Output logdet(const Operand& matrix, const OpOptions& options = {});

struct SolveOptions {
  bool adjoint = false;  // solve matrix^H x = rhs
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// x [..., n, k] with matrix [..., n, n] x = rhs [..., n, k].
CAUDAL_API Output solve(const Operand& matrix, const Operand& rhs, const SolveOptions& options = {});

struct TriangularSolveOptions {
  bool lower = true;  // which triangle is read; the other may hold anything
  bool adjoint = false;
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// The same with triangular matrices; leading dimensions broadcast. half and bfloat16 too.
CAUDAL_API Output triangular_solve(const Operand& matrix, const Operand& rhs,
                                   const TriangularSolveOptions& options = {});

// Lower triangles L with L L^H = input, a Hermitian positive definite matrix of which the lower triangle is read.
// Matrices that are not positive definite give NaN.
CAUDAL_API Output cholesky(const Operand& input, const OpOptions& options = {});
// x with (chol chol^H) x = rhs.
CAUDAL_API Output cholesky_solve(const Operand& chol, const Operand& rhs, const OpOptions& options = {});

struct LuOptions {
  DType output_idx_type = DType::kInt32;
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// Both triangles in one matrix (L has ones on its diagonal, which are not stored): row i of L U is row p[i] of the
// input. INVALID_ARGUMENT for singular matrices. No gradient.
struct LuFactors {
  Output lu, p;
};
CAUDAL_API LuFactors lu(const Operand& input, const LuOptions& options = {});

}  // namespace caudal::inline v0::linalg

namespace caudal::inline v0::raw_ops {
// The gradient of cholesky() with L = cholesky(a) and the gradient of L; symmetric.
CAUDAL_API Output cholesky_grad(const Operand& l, const Operand& grad, const OpOptions& options = {});
}  // namespace caudal::inline v0::raw_ops
