// Functions of tf.linalg that are made of other ops.
// Thread safety: as building a graph.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0 {

namespace linalg {

struct EyeOptions {
  std::optional<int> num_columns;         // default: as many as rows
  std::vector<std::int64_t> batch_shape;  // leading dimensions
  DType dtype = DType::kFloat;
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// Unit matrices.
CAUDAL_API Output eye(int num_rows, const EyeOptions& options = {});

struct MatvecOptions {
  bool transpose_a = false, adjoint_a = false;
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// a [..., m, n] times b [..., n]: [..., m].
CAUDAL_API Output matvec(const Operand& a, const Operand& b, const MatvecOptions& options = {});

struct NormOptions {
  // "euclidean" (Frobenius' of matrices), "1", "2", "inf" or a number as text ("3").
  std::string ord = "euclidean";
  // None: of all elements as one vector. One: of vectors. Two: of matrices, for euclidean, 1, 2 and inf.
  std::vector<int> axis;
  bool keepdims = false;
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// Norms of vectors and matrices. INVALID_ARGUMENT for an order that is none.
CAUDAL_API Output norm(const Operand& tensor, const NormOptions& options = {});

struct PinvOptions {
  std::optional<double> rcond;  // singular values below rcond times the greatest count as 0; default: 10 max(m, n) eps
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// Moore and Penrose's inverse of real matrices [..., m, n]: [..., n, m].
CAUDAL_API Output pinv(const Operand& a, const PinvOptions& options = {});
// The number of singular values above tol (default: the greatest times max(m, n) eps), int32.
CAUDAL_API Output matrix_rank(const Operand& a, const std::optional<double>& tol = {}, const OpOptions& options = {});

// From the factors of lu(): the matrix itself, the solution of a system, the inverse.
CAUDAL_API Output lu_reconstruct(const Operand& lower_upper, const Operand& perm, const OpOptions& options = {});
CAUDAL_API Output lu_solve(const Operand& lower_upper, const Operand& perm, const Operand& rhs,
                           const OpOptions& options = {});
CAUDAL_API Output lu_matrix_inverse(const Operand& lower_upper, const Operand& perm, const OpOptions& options = {});

}  // namespace linalg

// Sums of products over the last `axes` dimensions of a and the first of b.
CAUDAL_API Output tensordot(const Operand& a, const Operand& b, int axes, const OpOptions& options = {});
// Over dimensions a_axes[i] of a with b_axes[i] of b; the others follow one another.
CAUDAL_API Output tensordot(const Operand& a, const Operand& b, const std::vector<int>& a_axes,
                            const std::vector<int>& b_axes, const OpOptions& options = {});

}  // namespace caudal::inline v0
