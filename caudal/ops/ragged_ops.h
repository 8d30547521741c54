// Ragged tensors as other tensors, and ranges as rows.
//
// Errors: INVALID_ARGUMENT, at run time, for row partitions that are none. Thread safety: as building a graph.
#pragma once

#include <string>

#include "caudal/base/export.h"
#include "caudal/ops/ragged_tensor.h"
#include "caudal/ops/sparse_tensor.h"

namespace caudal::inline v0::ragged {

struct ToTensorOptions {
  Operand default_value = 0;  // fills the rows up; a scalar, or a value for the inner dimensions
  Operand shape = Tensor();   // of the result, -1 where the longest row decides; rows are cut or filled to it
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// A dense tensor whose rows are as long as the longest.
CAUDAL_API Output to_tensor(const RaggedTensor& input, const ToTensorOptions& options = {});

// The same elements as a sparse tensor.
CAUDAL_API SparseTensor to_sparse(const RaggedTensor& input, const OpOptions& options = {});

// Row i is range(starts[i], limits[i], deltas[i]); scalars stand for all rows. INVALID_ARGUMENT for a delta of 0.
CAUDAL_API RaggedTensor range(const Operand& starts, const Operand& limits, const Operand& deltas = 1,
                              const OpOptions& options = {});

}  // namespace caudal::inline v0::ragged
