// Graphs from files, ready to run: for `caudal run` and `caudal freeze`.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "caudal/graph/graph.h"
#include "caudal/runtime/session.h"
#include "caudal/train/saver.h"

namespace caudal::inline v0::cli {

struct LoadedGraph {
  std::unique_ptr<Graph> graph;
  std::optional<train::Saver> saver;  // of a meta graph
};

// A GraphDef (binary or text, frozen or not) or a MetaGraphDef.
LoadedGraph load_graph(const std::string& path);

// The prefix of the checkpoint that belongs to a graph: what the user gave (a prefix, one of its files, or a directory,
// whose latest it is), else the one beside "PREFIX.meta"; empty if there is none.
std::string find_checkpoint(const std::string& graph_path, const std::string& given);

// The saver of a meta graph; for other graphs one of all variables under the names of their nodes.
// Throws INVALID_ARGUMENT if there are none.
train::Saver& saver_of(LoadedGraph& loaded);

}  // namespace caudal::inline v0::cli
