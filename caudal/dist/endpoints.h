// Names that a client sends, looked up in a graph, with the codes and texts that clients of TensorFlow know.
#pragma once

#include <string>

#include "caudal/base/export.h"
#include "caudal/dist/worker.h"
#include "caudal/graph/graph.h"

namespace caudal::inline v0 {

struct ResolvedRequest {
  std::vector<Output> feeds, fetches;
  std::vector<Operation> targets;
};

// NOT_FOUND for names that are not there, INVALID_ARGUMENT for an output that is not there and for a tensor fed twice
// or fed and fetched, UNIMPLEMENTED for what was left out of the graph.
ResolvedRequest resolve(const ServedGraph& graph, const GraphRequest& request);

// INVALID_ARGUMENT for a node of `nodes` that asks for a device other than the one CPU `device`, unless the session
// allows soft placement.
void check_placement(const std::vector<Node*>& nodes, const std::string& device, bool soft);

}  // namespace caudal::inline v0
