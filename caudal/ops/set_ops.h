// Differences of lists, unique slices, buckets of numbers.
//
// Thread safety: as building a graph.
#pragma once

#include <vector>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"
#include "caudal/ops/partition_ops.h"

namespace caudal::inline v0 {

struct ListDiffResult {
  Output out;  // the values of x that are not in y, in x's order
  Output idx;  // where they stand in x
};
// x, y: vectors of one type; INVALID_ARGUMENT for other ranks.
CAUDAL_API ListDiffResult setdiff1d(const Operand& x, const Operand& y, const UniqueOptions& options = {});

namespace raw_ops {

// The different slices of x along `axis` (a vector of at most one integer; none: x is a vector), in the order in which
// they first appear.
CAUDAL_API UniqueResult unique_v2(const Operand& x, const Operand& axis, const UniqueOptions& options = {});
CAUDAL_API UniqueResult unique_with_counts_v2(const Operand& x, const Operand& axis, const UniqueOptions& options = {});

// For each number how many of the boundaries, which ascend, are at most as large: int32.
CAUDAL_API Output bucketize(const Operand& input, const std::vector<float>& boundaries, const OpOptions& options = {});

}  // namespace raw_ops
}  // namespace caudal::inline v0
