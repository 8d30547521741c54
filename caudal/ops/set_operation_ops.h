// Sets as rows of tensors: the last dimension holds the elements of one set each, the others number the sets.
//
// Elements: int8 to int64, uint8, uint16 or strings. Results are sorted, without repetitions. Errors: INVALID_ARGUMENT,
// at run time, for tensors of different rank or leading sizes and for sparse indices that are not sorted.
// Thread safety: as building a graph.
#pragma once

#include <string>

#include "caudal/base/export.h"
#include "caudal/ops/sparse_tensor.h"

namespace caudal::inline v0::sets {

enum class SetOperation { kAMinusB, kBMinusA, kIntersection, kUnion };

CAUDAL_API SparseTensor set_operation(const Operand& a, const Operand& b, SetOperation operation,
                                      const OpOptions& options = {});
CAUDAL_API SparseTensor set_operation(const Operand& a, const SparseTensor& b, SetOperation operation,
                                      const OpOptions& options = {});
CAUDAL_API SparseTensor set_operation(const SparseTensor& a, const SparseTensor& b, SetOperation operation,
                                      const OpOptions& options = {});

// int32: how many different elements each set has.
CAUDAL_API Output size(const SparseTensor& a, const OpOptions& options = {});

}  // namespace caudal::inline v0::sets
