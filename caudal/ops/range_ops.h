// Sequences of numbers.
//
// Thread safety: as building a graph.
#pragma once

#include "caudal/graph/builder.h"

namespace caudal::inline v0 {

// start, start + delta, ... as long as limit is not reached. Scalars of one type; INVALID_ARGUMENT for a delta of 0 or
// one that leads away from the limit.
CAUDAL_API Output range(const Operand& start, const Operand& limit, const Operand& delta = 1,
                        const OpOptions& options = {});
// From 0.
CAUDAL_API Output range(const Operand& limit);
// `num` numbers from start to stop, both included. start and stop: scalars of a floating type; num: int32 or int64
// scalar, at least 1: INVALID_ARGUMENT.
CAUDAL_API Output linspace(const Operand& start, const Operand& stop, const Operand& num,
                           const OpOptions& options = {});

}  // namespace caudal::inline v0
