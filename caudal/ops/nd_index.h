// Indices that name places of several dimensions: the last dimension of `indices` holds one place each (GatherNd,
// ScatterNd and their kin).
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "caudal/core/node_info.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0 {

// How many dimensions each place names. Throws INVALID_ARGUMENT if `shape`, called `what`, has fewer.
int checked_depth(const Tensor& indices, const Shape& shape, std::string_view what);

// The offset, in slices, of each place in a tensor of shape `shape`; -1 for one outside it.
std::vector<std::int64_t> slice_offsets(const Tensor& indices, const Shape& shape);

// Throws INVALID_ARGUMENT for an offset of -1, unless the node ignores such (attribute bad_indices_policy).
void check_offsets(const NodeInfo& node, const std::vector<std::int64_t>& offsets, const Tensor& indices,
                   const Shape& shape, std::string_view what);

// The shape that updates of these places have. Throws INVALID_ARGUMENT if `updates` is another.
void check_updates(const Tensor& indices, const Shape& updates, const Shape& shape);

}  // namespace caudal::inline v0
