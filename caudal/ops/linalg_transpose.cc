#include "caudal/ops/linalg_transpose.h"

#include <numeric>

#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/joining.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/range_ops.h"
#include "caudal/ops/shape_ops.h"

namespace caudal::inline v0::linalg {

Output matrix_transpose(const Operand& a, const MatrixTransposeOptions& options) {
  const LocationScope location(options.where);
  const Output x = a.to_output();
  Output order;
  if (x.shape().has_rank()) {
    const int rank = x.shape().rank();
    if (rank < 2) {
      throw invalid_argument("a matrix has two dimensions or more, not the shape ", x.shape())
          .made_at(short_location(options.where));
    }
    std::vector<std::int64_t> axes(static_cast<std::size_t>(rank));
    std::iota(axes.begin(), axes.end(), 0);
    std::swap(axes[axes.size() - 2], axes[axes.size() - 1]);
    order = int32_vector(axes);
  } else {
    const Output rank = caudal::rank(x);
    order = concat({range(rank - 2), stack({rank - 1, rank - 2})}, 0);
  }
  const bool conjugate = options.conjugate && is_complex(x.dtype());
  return OpBuilder(conjugate ? "ConjugateTranspose" : "Transpose", {.name = options.name, .where = options.where})
      .input(x)
      .input(order)
      .build();
}

Output adjoint(const Operand& matrix, const OpOptions& options) {
  return matrix_transpose(matrix, {.conjugate = true, .name = options.name, .where = options.where});
}

}  // namespace caudal::inline v0::linalg
