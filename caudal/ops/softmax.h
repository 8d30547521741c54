// Softmax and its logarithm.
//
// The greatest logit of a row is subtracted first, so that huge logits give finite results; a logit of -inf has
// probability 0; a row of nothing but -inf gives NaN. Thread safety: as building a graph.
#pragma once

#include <source_location>
#include <string>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0::nn {

struct SoftmaxOptions {
  int axis = -1;  // the dimension whose entries compete; another than the last needs a known rank
  std::string name = {};
  std::source_location where = std::source_location::current();
};

// exp(x) / sum(exp(x)) along an axis: probabilities. Floating types, at least one dimension; the shape stays.
CAUDAL_API Output softmax(const Operand& logits, const SoftmaxOptions& options = {});
// x - log(sum(exp(x))) along an axis, precise where the softmax vanishes.
CAUDAL_API Output log_softmax(const Operand& logits, const SoftmaxOptions& options = {});

}  // namespace caudal::inline v0::nn
