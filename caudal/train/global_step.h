// The global step: how many updates there have been, in a variable of that name, int64.
//
//   auto step = train::get_or_create_global_step();
//   auto train_op = optimizer.minimize(loss, {.global_step = step});
//   train::global_step(sess, step);                                    // 1000
//
// As in tf.compat.v1.train. Thread safety: as building a graph.
#pragma once

#include <cstdint>

#include "caudal/base/export.h"
#include "caudal/ops/variable.h"
#include "caudal/runtime/session.h"

namespace caudal::inline v0::train {

// The one in the collection "global_step", else the variable of that name; none (no handle) if there is neither. Throws
// INVALID_ARGUMENT for several of them, or one that is no integer scalar.
CAUDAL_API Variable get_global_step(Graph& graph = default_graph());
// Throws INVALID_ARGUMENT if there is one.
CAUDAL_API Variable create_global_step(Graph& graph = default_graph());
CAUDAL_API Variable get_or_create_global_step(Graph& graph = default_graph());
// Throws INVALID_ARGUMENT unless it is an integer scalar.
CAUDAL_API void assert_global_step(const Variable& global_step);
// Its value.
CAUDAL_API std::int64_t global_step(Session& session, const Variable& global_step);

}  // namespace caudal::inline v0::train
