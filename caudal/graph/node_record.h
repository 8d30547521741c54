// What readers of graphs and of function bodies share: order of nodes, inputs sorted to arguments.
#pragma once

#include <vector>

#include "caudal/base/export.h"
#include "caudal/core/op_def.h"
#include "caudal/graph/node.h"

namespace caudal::inline v0 {

// An order in which every node follows those it needs; among free choices the given order. `needs[i]` are the nodes
// that node i waits for (back edges of loops left out by the caller). Nodes of a cycle are missing from the result.
CAUDAL_API std::vector<int> dependency_order(const std::vector<std::vector<int>>& needs);

// A flat list of inputs, sorted to the arguments of the definition with the counts that the attributes tell. Throws
// INVALID_ARGUMENT if there are more or fewer than those.
CAUDAL_API std::vector<std::vector<Output>> group_inputs(const OpDef& def, const AttrMap& attrs,
                                                         const std::vector<Output>& inputs);

// Removes what the definition does not have and does not start with '_': a newer writer's attributes, which count as
// absent for an older reader.
CAUDAL_API void drop_unknown_attrs(const OpDef& def, AttrMap& attrs);

}  // namespace caudal::inline v0
