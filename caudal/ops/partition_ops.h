// Elements picked, counted and distributed by value.
//
// Thread safety: as building a graph.
#pragma once

#include <source_location>
#include <string>
#include <vector>

#include "caudal/graph/builder.h"

namespace caudal::inline v0 {

// Coordinates of the elements that are true (not zero), in row-major order: int64 [count, rank].
CAUDAL_API Output where(const Operand& condition, const OpOptions& options = {});

struct UniqueOptions {
  DType out_idx = DType::kInt32;  // int32 or int64
  std::string name = {};
  std::source_location where = std::source_location::current();
};
struct UniqueResult {
  Output y;      // the different values of x, in the order in which they first appear
  Output idx;    // for each element of x its place in y
  Output count;  // of unique_with_counts: how often each value of y appears
};
// x: a vector of a real number type, bool or string. INVALID_ARGUMENT for other ranks.
CAUDAL_API UniqueResult unique(const Operand& x, const UniqueOptions& options = {});
CAUDAL_API UniqueResult unique_with_counts(const Operand& x, const UniqueOptions& options = {});

// Distributes the slices data[i, ...] to num_partitions tensors, in order. partitions: int32, its shape begins data's.
// INVALID_ARGUMENT for an entry outside [0, num_partitions).
CAUDAL_API std::vector<Output> dynamic_partition(const Operand& data, const Operand& partitions, int num_partitions,
                                                 const OpOptions& options = {});
// Puts slices back: merged[indices[m][i, ...], ...] = data[m][i, ..., ...]. The last one wins where indices repeat;
// rows that no index names are zeros. INVALID_ARGUMENT for a negative index.
CAUDAL_API Output dynamic_stitch(const std::vector<Output>& indices, const std::vector<Output>& data,
                                 const OpOptions& options = {});

}  // namespace caudal::inline v0
