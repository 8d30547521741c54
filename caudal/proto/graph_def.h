// Graph <-> GraphDef. Internal: what users call is graph_io.h.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "caudal/graph/graph.h"
#include "caudal/proto/graph.pb.h"

namespace caudal::inline v0 {

// The producer version that our files carry: TensorFlow 2.21's. Readers check min_consumer against it.
inline constexpr int kGraphDefVersion = 2474;
inline constexpr int kMinConsumer = 12;

struct ImportSpec {
  std::string prefix;  // "a" puts all names below "a/"; empty: names stay
  // Names of tensors in the file ("x:0", "x", "^x") -> what they become.
  std::map<std::string, Output, std::less<>> input_map;
  // Faster, for a graph that is thrown away after an error: the nodes before the faulty one stay.
  bool may_leave_parts = false;
};

// Adds the nodes of `def`, in any order, to `graph`; also those of loops. Nothing is added if anything is wrong.
// Throws UNIMPLEMENTED listing all ops that are not known; INVALID_ARGUMENT for a missing input, a duplicate or
// malformed name, a cycle that is no loop, attributes or types that do not fit; FAILED_PRECONDITION for a graph that
// needs a newer reader.
void import_graph_def(const pb::GraphDef& def, const ImportSpec& spec, Graph& graph);

// All nodes, in the order they were made.
pb::GraphDef export_graph_def(const Graph& graph, bool strip_defaults = false);
pb::NodeDef export_node(const Node& node, bool strip_defaults = false);

// The serialized message, maps in order of their keys: equal messages give equal bytes in every process.
// Throws INVALID_ARGUMENT for one of 2 GiB or more.
std::string deterministic_bytes(const google::protobuf::MessageLite& message);

}  // namespace caudal::inline v0
