// Reductions over groups of rows.
//
// Thread safety: as building a graph.
#pragma once

#include "caudal/graph/builder.h"

namespace caudal::inline v0::math {

// Row s of the result reduces the rows of `data` whose segment id is s. segment_ids: int32 or int64 vector, one entry
// per row, sorted: INVALID_ARGUMENT if they fall or are negative. Rows for ids that do not occur are 0 (of products 1).
CAUDAL_API Output segment_sum(const Operand& data, const Operand& segment_ids, const OpOptions& options = {});
CAUDAL_API Output segment_mean(const Operand& data, const Operand& segment_ids, const OpOptions& options = {});
CAUDAL_API Output segment_prod(const Operand& data, const Operand& segment_ids, const OpOptions& options = {});
CAUDAL_API Output segment_max(const Operand& data, const Operand& segment_ids, const OpOptions& options = {});
CAUDAL_API Output segment_min(const Operand& data, const Operand& segment_ids, const OpOptions& options = {});

// The same for ids in any order and of any shape that data's shape begins with; the result has num_segments rows.
// Negative ids are left out; INVALID_ARGUMENT for an id of num_segments or more. Rows for ids that do not occur are 0,
// 1, the type's lowest or highest number.
CAUDAL_API Output unsorted_segment_sum(const Operand& data, const Operand& segment_ids, const Operand& num_segments,
                                       const OpOptions& options = {});
CAUDAL_API Output unsorted_segment_prod(const Operand& data, const Operand& segment_ids, const Operand& num_segments,
                                        const OpOptions& options = {});
CAUDAL_API Output unsorted_segment_max(const Operand& data, const Operand& segment_ids, const Operand& num_segments,
                                       const OpOptions& options = {});
CAUDAL_API Output unsorted_segment_min(const Operand& data, const Operand& segment_ids, const Operand& num_segments,
                                       const OpOptions& options = {});

}  // namespace caudal::inline v0::math
