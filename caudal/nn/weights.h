// What losses and metrics do alike with labels, predictions and weights: shapes that must fit, weights that broadcast.
//
// Internal: the public functions are in losses.h and metrics.h. Thread safety: as building a graph.
#pragma once

#include <string_view>

#include "caudal/graph/builder.h"

namespace caudal::inline v0::internal {

struct Aligned {
  Output labels, predictions;
};
// Drops a last dimension of size 1 of the one that has a dimension too many: predictions shall have `rank_difference`
// dimensions more than labels. Where a rank is not known both stay as they are.
Aligned remove_squeezable_dimensions(const Output& labels, const Output& predictions, int rank_difference = 0);

// Throws INVALID_ARGUMENT, naming `function`, if two tensors cannot have the same shape.
void check_same_shape(std::string_view function, const Output& labels, const Output& predictions,
                      std::string_view name = "predictions");

// Weights are scalars, or have the rank of the values and in each dimension their size or 1. Throws INVALID_ARGUMENT
// naming `function` where that is known to fail; what is not known yet is checked when the graph runs.
// Returns the weights, behind that check if there is one.
Output checked_weights(std::string_view function, const Output& weights, const Output& values);

// Weights (of the values' type) repeated to the shape of the values.
Output broadcast_weights(const Output& weights, const Output& values);

}  // namespace caudal::inline v0::internal
