// Transposes of batches of matrices.
// Thread safety: as building a graph.
#pragma once

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0::linalg {

struct MatrixTransposeOptions {
  bool conjugate = false;
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// The last two dimensions exchanged. INVALID_ARGUMENT for fewer than two.
CAUDAL_API Output matrix_transpose(const Operand& a, const MatrixTransposeOptions& options = {});
// The same, complex numbers conjugated.
CAUDAL_API Output adjoint(const Operand& matrix, const OpOptions& options = {});

}  // namespace caudal::inline v0::linalg
