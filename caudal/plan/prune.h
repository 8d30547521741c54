// Which nodes a run needs, and in which order.
#pragma once

#include <vector>

#include "caudal/base/export.h"
#include "caudal/graph/graph.h"

namespace caudal::inline v0 {

// What a run is asked for. The order of feeds and fetches is that of the caller.
struct PlanRequest {
  std::vector<Output> feeds;
  std::vector<Output> fetches;
  std::vector<Node*> targets;
  friend bool operator==(const PlanRequest&, const PlanRequest&) = default;
};

// The nodes that must run for the fetches and targets, in an order in which every node follows its inputs and control
// inputs; among free choices, the order in which they were made. What lies only above a fed output is left out, and so
// is a control dependency on a fed placeholder (a control dependency on any other fed node makes it run, as in
// TensorFlow). A loop's back edge (NextIteration to Merge) orders nothing. Throws INVALID_ARGUMENT for a cycle, naming
// its nodes, and for an output that is fed twice.
CAUDAL_API std::vector<Node*> prune(const PlanRequest& request);

}  // namespace caudal::inline v0
