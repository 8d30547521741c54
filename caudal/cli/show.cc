// caudal show: what is in a graph, a meta graph, a checkpoint or an event file.
#include "caudal/cli/show.h"

#include <cstdio>
#include <vector>

#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "caudal/cli/arguments.h"
#include "caudal/cli/command.h"
#include "caudal/train/saver.h"

namespace caudal::inline v0::cli {
namespace {

bool is_event_file(const std::string& path) { return base_name(path).find(".tfevents.") != std::string::npos; }

// The last event file of a directory; empty if there is none.
std::string event_file_in(Env& env, const std::string& directory) {
  std::string last;
  for (const std::string& name : env.list(directory)) {
    if (is_event_file(name)) last = join_path(directory, name);
  }
  return last;
}

// "model.ckpt" of "model.ckpt.index" and "model.ckpt.data-00000-of-00001".
std::string checkpoint_prefix(const std::string& path) {
  if (path.ends_with(".index")) return path.substr(0, path.size() - 6);
  const std::size_t data = path.rfind(".data-");
  return data != std::string::npos && data > path.rfind('/') + 1 ? path.substr(0, data) : path;
}

// A V1 checkpoint is a sorted table, which ends with this number.
bool is_v1_checkpoint(Env& env, const std::string& path) {
  constexpr char kTableMagic[] = "\x57\xfb\x80\x8b\x24\x75\x47\xdb";
  const auto file = env.open_random_access(path);
  const std::uint64_t size = file->size();
  if (size < 8) return false;
  char end[8];
  read_exactly(*file, size - 8, end, 8);
  return std::string_view(end, 8) == kTableMagic;
}

std::string show_directory(const std::string& path, const ShowOptions& options) {
  Env& env = default_env();
  if (const std::string latest = train::latest_checkpoint(path); !latest.empty()) {
    return show_checkpoint(latest, options);
  }
  if (const std::string events = event_file_in(env, path); !events.empty()) return show_events(events, options);
  throw not_found("the directory '", path, "' has neither a checkpoint nor an event file");
}

std::string show(const std::string& path, const ShowOptions& options) {
  Env& env = default_env();
  if (env.is_directory(path)) return show_directory(path, options);
  const std::string prefix = checkpoint_prefix(path);
  if (env.exists(prefix + ".index")) return show_checkpoint(prefix, options);
  if (!env.exists(path)) throw not_found("there is no file, directory or checkpoint '", path, "'");
  if (is_event_file(path)) return show_events(path, options);
  if (is_v1_checkpoint(env, path)) return show_checkpoint(path, options);
  return show_graph(path, options);
}

int run_show(const std::vector<std::string>& words) {
  std::vector<std::string> paths;
  ShowOptions options;
  Arguments arguments("show",
                      "What is in files: GraphDef and MetaGraphDef (binary and text), checkpoints (prefix or "
                      "directory), event files.");
  arguments.positional("FILE", &paths, "what to show; several are shown one after another");
  arguments.flag("nodes", &options.nodes, "list a graph's nodes too");
  arguments.option("limit", &options.limit, "rows of a list", 1, 1'000'000'000);
  arguments.flag("json", &options.json, "one line of JSON per file, with everything");
  int exit_code = kExitOk;
  if (!arguments.parse(words, &exit_code)) return exit_code;
  if (paths.empty()) {
    std::fputs("caudal show: which file? `caudal show --help`\n", stderr);
    return kExitUsage;
  }
  bool first = true;
  for (const std::string& path : paths) {
    const std::string text = show(path, options);
    std::printf("%s%s", first || options.json ? "" : "\n", text.c_str());
    first = false;
  }
  return kExitOk;
}

}  // namespace

CAUDAL_COMMAND({.name = "show", .summary = "what is in a graph, checkpoint or event file", .run = run_show});

}  // namespace caudal::inline v0::cli
