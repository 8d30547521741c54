// Graphs as files: GraphDef in binary and text form.
//
//   Graph graph;
//   import_graph(read_file("frozen.pb"), graph);
//   Session sess(graph);
//   sess.run({"softmax:0"}, {{"input:0", pictures}});
//
// Thread safety: as building a graph.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "caudal/base/export.h"
#include "caudal/graph/graph.h"

namespace caudal::inline v0 {

class Env;

struct ImportGraphOptions {
  std::string prefix;                                    // put before all names
  std::map<std::string, Output, std::less<>> input_map;  // tensors of the file -> tensors of the graph
};

// Adds a serialized GraphDef. Text form is recognised by itself. Nothing is added if anything is wrong (with an
// input_map, nodes before the faulty one stay). Throws DATA_LOSS for bytes that are no GraphDef; UNIMPLEMENTED listing
// unknown ops; INVALID_ARGUMENT for a graph that does not fit together; FAILED_PRECONDITION for one that needs a newer
// reader.
CAUDAL_API void import_graph(std::string_view bytes, Graph& graph = default_graph(),
                             const ImportGraphOptions& options = {});
CAUDAL_API void import_graph_file(const std::string& path, Graph& graph = default_graph(),
                                  const ImportGraphOptions& options = {});

// The serialized GraphDef.
CAUDAL_API std::string graph_to_bytes(const Graph& graph = default_graph());
// Its text form, as *.pbtxt files have it.
CAUDAL_API std::string graph_to_text(const Graph& graph = default_graph());
// Writes one of both, text if the path ends with "txt" (tf.train.write_graph). Atomic.
CAUDAL_API void write_graph(const std::string& path, const Graph& graph = default_graph());

}  // namespace caudal::inline v0
