// Einstein summation: products and sums of tensors whose dimensions have names.
//
//   einsum("ij,jk->ik", {a, b})            // matrix product
//   einsum("...ij,...jk", {a, b})          // of batches, which broadcast; without "->" the result has the labels that
//                                          // occur once, in alphabetical order, after the ellipsis
//   einsum("ii->i", {a})                   // diagonal
//
// Labels are letters. A label that the result lacks is summed over. Floating and complex types, int32, int64.
// Thread safety: as building a graph.
#pragma once

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"
#include "caudal/ops/operand_list.h"

namespace caudal::inline v0 {

// More than two operands are contracted two at a time, those first whose product is smallest where shapes are known.
// INVALID_ARGUMENT for an equation that does not fit the operands.
CAUDAL_API Output einsum(const std::string& equation, const OperandList& inputs, const OpOptions& options = {});

}  // namespace caudal::inline v0
