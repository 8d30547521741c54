// Elements moved along dimensions: rolled round, or reversed up to a length.
//
// Any element type. Thread safety: as building a graph.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0 {

// input with the elements of dimension axis moved by shift places towards the end (negative: towards the front); what
// falls off comes in again at the other side. shift and axis: scalars or vectors of one length; shifts of a repeated
// axis add up. INVALID_ARGUMENT for a scalar input or an axis outside its dimensions.
CAUDAL_API Output roll(const Operand& input, const Operand& shift, const Operand& axis, const OpOptions& options = {});

struct ReverseSequenceOptions {
  std::int64_t seq_axis = 1;
  std::int64_t batch_axis = 0;
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// For each entry i of batch_axis the first seq_lengths[i] elements along seq_axis in reverse order, the others as they
// are. seq_lengths: int32 or int64 [input.dim(batch_axis)]. INVALID_ARGUMENT for a length outside [0, dim(seq_axis)].
CAUDAL_API Output reverse_sequence(const Operand& input, const Operand& seq_lengths,
                                   const ReverseSequenceOptions& options = {});

}  // namespace caudal::inline v0
