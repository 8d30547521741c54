#include "caudal/proto/graph_io.h"

#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "caudal/proto/graph_def.h"
#include "caudal/proto/message_io.h"

namespace caudal::inline v0 {

void import_graph(std::string_view bytes, Graph& graph, const ImportGraphOptions& options) {
  pb::GraphDef def;
  parse_message(bytes, "GraphDef", def);
  import_graph_def(def, {options.prefix, options.input_map}, graph);
}

void import_graph_file(const std::string& path, Graph& graph, const ImportGraphOptions& options) {
  try {
    import_graph(read_file(default_env(), path), graph, options);
  } catch (const Error& error) {
    if (error.detail().find(path) != std::string::npos) throw;
    throw error.in(path);
  }
}

std::string graph_to_bytes(const Graph& graph) { return deterministic_bytes(export_graph_def(graph)); }

std::string graph_to_text(const Graph& graph) { return message_text(export_graph_def(graph)); }

void write_graph(const std::string& path, const Graph& graph) {
  write_file_atomically(default_env(), path, path.ends_with("txt") ? graph_to_text(graph) : graph_to_bytes(graph));
}

}  // namespace caudal::inline v0
