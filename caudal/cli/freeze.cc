// caudal freeze: a graph and its checkpoint become one file of constants.
#include <cstdio>

#include "caudal/base/env.h"
#include "caudal/cli/arguments.h"
#include "caudal/cli/command.h"
#include "caudal/cli/graph_source.h"
#include "caudal/cli/json.h"
#include "caudal/cli/text_table.h"
#include "caudal/graph/scope.h"
#include "caudal/proto/graph_io.h"
#include "caudal/train/freeze.h"

namespace caudal::inline v0::cli {
namespace {

int run_freeze(const std::vector<std::string>& words) {
  std::vector<std::string> graphs, outputs, keep;
  std::string checkpoint, to = "frozen.pb";
  bool json = false;
  Arguments arguments("freeze",
                      "Makes a graph of constants from a graph and its checkpoint, with only what the outputs need.");
  arguments.positional("GRAPH", &graphs, "a .meta file, or a GraphDef with --checkpoint");
  arguments.option("checkpoint", &checkpoint, "prefix or directory; default: the one beside the .meta file");
  arguments.option("output", &outputs, "operation that is needed; may be repeated");
  arguments.option("keep", &keep, "variable that stays one; may be repeated");
  arguments.option("to", &to, "file to write; text if it ends with txt");
  arguments.flag("json", &json, "one line of JSON at the end");
  int exit_code = kExitOk;
  if (!arguments.parse(words, &exit_code)) return exit_code;
  if (graphs.size() != 1 || outputs.empty()) {
    std::fputs("caudal freeze: name one graph, and its outputs with --output. `caudal show GRAPH` lists them.\n",
               stderr);
    return kExitUsage;
  }
  LoadedGraph loaded = load_graph(graphs[0]);
  const GraphScope scope(*loaded.graph);
  Session session(*loaded.graph);
  const std::string prefix = find_checkpoint(graphs[0], checkpoint);
  if (!prefix.empty()) saver_of(loaded).restore(session, prefix);
  Graph frozen;
  graph_util::convert_variables_to_constants(session, outputs, frozen, {.keep_variables = keep});
  write_graph(to, frozen);

  const auto size = static_cast<std::int64_t>(default_env().file_size(to));
  const std::int64_t before = loaded.graph->num_nodes(), after = frozen.num_nodes();
  if (json) {
    std::printf("%s\n", JsonObject().add("path", to).add("nodes", after).add("bytes", size).str().c_str());
  } else {
    std::printf("%s: %s of %s, %s\n", to.c_str(), counted(after, "node").c_str(), grouped_digits(before).c_str(),
                byte_text(size).c_str());
  }
  return kExitOk;
}

}  // namespace

CAUDAL_COMMAND({.name = "freeze",
                .summary = "make one file of constants from graph and checkpoint",
                .run = run_freeze});

}  // namespace caudal::inline v0::cli
