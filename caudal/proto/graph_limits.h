// How large a GraphDef from outside really is, found out before anything is made of it. Internal.
#pragma once

#include <cstddef>

#include "caudal/proto/graph.pb.h"
#include "caudal/proto/served_graph.h"

namespace caudal::inline v0 {

// Throws RESOURCE_EXHAUSTED for more nodes or constants than the limits allow, INVALID_ARGUMENT for functions that call
// one another deeper. Returns the bytes of all constants in memory.
std::size_t check_limits(const pb::GraphDef& def, const GraphLimits& limits);

}  // namespace caudal::inline v0
