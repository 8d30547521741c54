// Tensors put together and taken apart.
//
// Thread safety: as building a graph.
#pragma once

#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "caudal/graph/builder.h"
#include "caudal/ops/operand_list.h"

namespace caudal::inline v0 {

// The values one after another along dimension `axis` (a scalar, negative from the end). All other sizes must agree:
// INVALID_ARGUMENT. One value alone is handed on as it is.
CAUDAL_API Output concat(const OperandList& values, const Operand& axis, const OpOptions& options = {});

// `num_split` equal parts along `axis`. INVALID_ARGUMENT if the size is no multiple.
CAUDAL_API std::vector<Output> split(const Operand& value, int num_split, const Operand& axis = 0,
                                     const OpOptions& options = {});
// Parts of the given sizes; one of them may be -1 and gets the rest.
CAUDAL_API std::vector<Output> split(const Operand& value, const std::vector<std::int64_t>& sizes,
                                     const Operand& axis = 0, const OpOptions& options = {});

// The values along a new dimension `axis` (0 .. rank, or negative from the end of the result). All must have one shape.
CAUDAL_API Output stack(const OperandList& values, int axis = 0, const OpOptions& options = {});

struct UnstackOptions {
  std::optional<std::int64_t> num;  // default: the size of the dimension, which must be known then
  int axis = 0;
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// The steps of dimension `axis`, without it.
CAUDAL_API std::vector<Output> unstack(const Operand& value, const UnstackOptions& options = {});

// `input` repeated multiples[i] times along dimension i. multiples: int32 or int64 vector, at least 0.
CAUDAL_API Output tile(const Operand& input, const Operand& multiples, const OpOptions& options = {});

namespace raw_ops {
// Where each of the parts of a concat begins, as vectors; `shapes` are their shapes.
CAUDAL_API std::vector<Output> concat_offset(const Operand& concat_dim, const std::vector<Output>& shapes,
                                             const OpOptions& options = {});
}  // namespace raw_ops

}  // namespace caudal::inline v0
