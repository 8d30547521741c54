// caudal run: feeds a graph from a file and prints what it gives.
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "caudal/base/interrupt.h"
#include "caudal/cli/arguments.h"
#include "caudal/cli/command.h"
#include "caudal/cli/feed_value.h"
#include "caudal/cli/graph_source.h"
#include "caudal/cli/json.h"
#include "caudal/cli/tensor_json.h"
#include "caudal/cli/text_table.h"
#include "caudal/formats/npy.h"
#include "caudal/graph/scope.h"
#include "caudal/proto/graph_summary.h"
#include "caudal/runtime/timeline.h"

namespace caudal::inline v0::cli {
namespace {

struct Settings {
  std::string graph, checkpoint, out, trace, save;
  std::vector<std::string> feeds, fetches, targets, init;
  std::int64_t repeat = 1;
  std::int64_t threads = 0;
  bool check_numerics = false;
  bool json = false;
};

class Run {
 public:
  explicit Run(const Settings& settings) : settings_(settings) {}

  int run() {
    loaded_ = load_graph(settings_.graph);
    Graph& graph = *loaded_.graph;
    const GraphScope scope(graph);
    Session session(graph, {.intra_op_threads = static_cast<int>(settings_.threads)});
    prepare(session);
    const Fetches fetches = parse_fetches(graph);
    const Feeds feeds = parse_feeds(graph);
    const std::vector<Tensor> values = repeat(session, fetches, feeds);
    write_arrays(values);
    if (!settings_.save.empty()) saver_of(loaded_).save(session, settings_.save);
    if (settings_.json) {
      std::printf("%s\n", json(values).c_str());
    } else {
      print(values);
    }
    return interrupted_ ? kExitInterrupted : kExitOk;
  }

 private:
  void say(const std::string& text) const { std::fprintf(settings_.json ? stderr : stdout, "%s\n", text.c_str()); }

  // Variables get their values: from the checkpoint, then by the operations that the user names.
  void prepare(Session& session) {
    const std::string checkpoint = find_checkpoint(settings_.graph, settings_.checkpoint);
    if (!checkpoint.empty()) {
      saver_of(loaded_).restore(session, checkpoint);
      if (settings_.checkpoint.empty()) say("Restored " + checkpoint);
    }
    for (const std::string& name : settings_.init) session.run(loaded_.graph->operation(name));
  }

  // The user's, else what looks like the graph's outputs.
  Fetches parse_fetches(const Graph& graph) {
    Fetches fetches;
    for (const std::string& name : settings_.fetches) add_fetch(graph.tensor(name), fetches);
    if (settings_.fetches.empty() && settings_.targets.empty()) {
      const auto summary = summarize_graph(read_file(default_env(), settings_.graph));
      for (const auto& output : summary.outputs) add_fetch(graph.tensor(output.name), fetches);
      if (fetches.empty()) throw invalid_argument("the graph has no clear outputs").hint("Name some with --fetch.");
    }
    for (const std::string& name : settings_.targets) fetches.emplace_back(graph.operation(name));
    return fetches;
  }

  void add_fetch(const Output& output, Fetches& fetches) {
    names_.push_back(output.name());
    fetches.emplace_back(output);
  }

  Feeds parse_feeds(const Graph& graph) const {
    Feeds feeds;
    for (const std::string& text : settings_.feeds) {
      const std::size_t equals = text.find('=');
      if (equals == std::string::npos) {
        throw invalid_argument("'", text, "' feeds nothing").hint("Write --feed NAME=VALUE.");
      }
      const Output output = graph.tensor(text.substr(0, equals));
      try {
        feeds.emplace_back(output, parse_feed_value(std::string_view(text).substr(equals + 1), output.dtype()));
      } catch (const Error& error) {
        throw error.in("--feed " + output.name());
      }
    }
    return feeds;
  }

  std::vector<Tensor> repeat(Session& session, const Fetches& fetches, const Feeds& feeds) {
    const InterruptScope interrupt;
    TimelineTracer timeline;
    std::vector<Tensor> values;
    for (std::int64_t i = 0; i < settings_.repeat && !interrupted_; ++i) {
      const auto start = std::chrono::steady_clock::now();
      values = run_once(session, fetches, feeds, settings_.trace.empty() ? nullptr : &timeline);
      seconds_.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
      interrupted_ = interrupt.interrupted();
    }
    if (!settings_.trace.empty()) write_file_atomically(default_env(), settings_.trace, timeline.json());
    return values;
  }

  std::vector<Tensor> run_once(Session& session, const Fetches& fetches, const Feeds& feeds, Tracer* tracer) const {
    try {
      return session.run(fetches, feeds, {.tracer = tracer, .check_numerics = settings_.check_numerics});
    } catch (const Error& error) {
      if (error.detail().find("You must feed") == std::string::npos) throw;
      throw invalid_argument(error.detail()).hint("Add --feed " + error.node() + "=VALUE.");
    }
  }

  // Each value as "<folder>/<name>.npy", with '_' for what file names should not have.
  void write_arrays(const std::vector<Tensor>& values) const {
    if (settings_.out.empty()) return;
    default_env().mkdirs(settings_.out);
    for (std::size_t i = 0; i < names_.size(); ++i) {
      std::string name = names_[i].ends_with(":0") ? names_[i].substr(0, names_[i].size() - 2) : names_[i];
      std::ranges::replace_if(
          name, [](char c) { return c == '/' || c == ':'; }, '_');
      write_npy(default_env(), join_path(settings_.out, name + ".npy"), values[i]);
    }
  }

  double median() const {
    std::vector<double> sorted = seconds_;
    std::ranges::sort(sorted);
    return sorted[sorted.size() / 2];
  }

  void print(const std::vector<Tensor>& values) const {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      std::printf("%s  %s\n%s\n", names_[i].c_str(), values[i].describe().c_str(), values[i].to_string().c_str());
    }
    if (settings_.repeat > 1) {
      std::printf("%s: first %.3f ms, median %.3f ms, least %.3f ms\n",
                  counted(static_cast<std::int64_t>(seconds_.size()), "run").c_str(), 1e3 * seconds_.front(),
                  1e3 * median(), 1e3 * std::ranges::min(seconds_));
    }
    if (!settings_.trace.empty()) std::printf("Timeline in %s: open it in ui.perfetto.dev\n", settings_.trace.c_str());
  }

  std::string json(const std::vector<Tensor>& values) const {
    JsonObject fetches;
    for (std::size_t i = 0; i < names_.size(); ++i) fetches.add_json(names_[i], tensor_json(values[i]));
    JsonObject object;
    object.add_json("fetches", fetches.str()).add("runs", static_cast<std::int64_t>(seconds_.size()));
    object.add("first_seconds", seconds_.front()).add("median_seconds", median());
    return object.add("least_seconds", std::ranges::min(seconds_)).str();
  }

  const Settings& settings_;
  LoadedGraph loaded_;
  std::vector<std::string> names_;  // of the tensors fetched
  std::vector<double> seconds_;
  bool interrupted_ = false;
};

int run_run(const std::vector<std::string>& words) {
  Settings settings;
  std::vector<std::string> graphs;
  Arguments arguments("run",
                      "Runs a graph: a GraphDef (binary or text, frozen or with a checkpoint) or a .meta file, whose "
                      "checkpoint beside it is restored by itself.");
  arguments.positional("GRAPH", &graphs, "the graph's file");
  arguments.option("checkpoint", &settings.checkpoint, "prefix or directory of the checkpoint to restore");
  arguments.option("init", &settings.init, "operation to run first, for instance an initialiser; may be repeated");
  arguments.option("feed", &settings.feeds,
                   "NAME=VALUE: a number, a list as in JSON, file.npy, file.npz:member, @file (its bytes), zeros(2,3), "
                   "ones(2,3), random(2,3); may be repeated");
  arguments.option("fetch", &settings.fetches, "tensor to print; default: the graph's outputs; may be repeated");
  arguments.option("target", &settings.targets, "operation to run beside them; may be repeated");
  arguments.option("repeat", &settings.repeat, "how often; the last values are printed, and the times", 1,
                   1'000'000'000);
  arguments.option("threads", &settings.threads, "for the work inside one op; 0: one per core", 0, 4096);
  arguments.option("trace", &settings.trace, "file for a timeline that Chrome shows");
  arguments.flag("check-numerics", &settings.check_numerics,
                 "end with the name of the first op that makes a NaN or an infinity");
  arguments.option("out", &settings.out, "folder for the values as .npy files");
  arguments.option("save", &settings.save, "prefix of a checkpoint with .meta file, saved after the runs");
  arguments.flag("json", &settings.json, "one line of JSON instead");
  int exit_code = kExitOk;
  if (!arguments.parse(words, &exit_code)) return exit_code;
  if (graphs.size() != 1) {
    std::fputs("caudal run: name one graph. `caudal run --help`\n", stderr);
    return kExitUsage;
  }
  settings.graph = graphs[0];
  return Run(settings).run();
}

}  // namespace

CAUDAL_COMMAND({.name = "run", .summary = "run a graph from a file", .run = run_run});

}  // namespace caudal::inline v0::cli
