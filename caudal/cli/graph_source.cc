#include "caudal/cli/graph_source.h"

#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/proto/graph_io.h"
#include "caudal/proto/meta_graph.h"
#include "caudal/train/freeze.h"

namespace caudal::inline v0::cli {

LoadedGraph load_graph(const std::string& path) {
  const std::string bytes = read_file(default_env(), path);
  LoadedGraph loaded{std::make_unique<Graph>(), std::nullopt};
  const GraphScope scope(*loaded.graph);
  try {
    if (is_meta_graph(bytes)) {
      loaded.saver = train::import_meta_graph_bytes(bytes);
    } else {
      import_graph(bytes, *loaded.graph);
    }
  } catch (const Error& error) {
    throw error.in(path);
  }
  return loaded;
}

std::string find_checkpoint(const std::string& graph_path, const std::string& given) {
  Env& env = default_env();
  if (given.empty()) {
    constexpr std::string_view suffix = ".meta";
    if (!graph_path.ends_with(suffix)) return {};
    const std::string prefix = graph_path.substr(0, graph_path.size() - suffix.size());
    return env.exists(prefix + ".index") ? prefix : std::string();
  }
  if (env.is_directory(given)) {
    const std::string latest = train::latest_checkpoint(given);
    if (latest.empty()) throw not_found("the directory '", given, "' has no checkpoint");
    return latest;
  }
  return given.ends_with(".index") ? given.substr(0, given.size() - 6) : given;
}

train::Saver& saver_of(LoadedGraph& loaded) {
  if (!loaded.saver) {
    const auto variables = graph_util::variables_of_nodes(*loaded.graph);
    if (variables.empty()) throw invalid_argument("the graph has no variables to restore or save");
    loaded.saver.emplace(train::SaverOptions{.variables = variables});
  }
  return *loaded.saver;
}

}  // namespace caudal::inline v0::cli
