// Frozen graphs: a part of a graph with constants in the place of its variables, in one file that needs no checkpoint.
//
//   auto saver = train::import_meta_graph("model.ckpt.meta");
//   Session sess;
//   saver->restore(sess, "model.ckpt");
//   Graph frozen;
//   graph_util::convert_variables_to_constants(sess, {"probs"}, frozen);
//   write_graph("frozen.pb", frozen);
//
// Names follow tf.graph_util. Thread safety: as building a graph.
#pragma once

#include <string>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/ops/variable.h"
#include "caudal/runtime/session.h"

namespace caudal::inline v0::graph_util {

struct ConvertOptions {
  std::vector<std::string> keep_variables = {};  // names of variables that stay variables
};

// Fills the empty graph `frozen` with what the operations `outputs` ("probs", or "probs:0") of the session's graph
// need. Variables (VariableV2 and resources) become constants of their values in the session; what only trains is left
// out. Throws NOT_FOUND for an unknown output; FAILED_PRECONDITION for a variable without a value, and where an output
// depends on an update of a variable.
CAUDAL_API void convert_variables_to_constants(Session& session, const std::vector<std::string>& outputs, Graph& frozen,
                                               const ConvertOptions& options = {});

// Fills the empty graph `part` with the nodes that `outputs` need. Throws NOT_FOUND for an unknown output.
CAUDAL_API void extract_sub_graph(const Graph& graph, const std::vector<std::string>& outputs, Graph& part);

// The variables of a graph that has no collections (a GraphDef on its own), by its nodes: VariableV2 and VarHandleOp
// with the reads and initialisers that they have there. A read is added where there is none.
CAUDAL_API std::vector<Variable> variables_of_nodes(Graph& graph);

}  // namespace caudal::inline v0::graph_util
