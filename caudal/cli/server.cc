// caudal server: sessions for clients of TensorFlow.
#include "caudal/dist/server.h"

#include <poll.h>

#include <cstdio>

#include "caudal/base/interrupt.h"
#include "caudal/cli/arguments.h"
#include "caudal/cli/command.h"
#include "caudal/cli/json.h"

namespace caudal::inline v0::cli {
namespace {

struct Words {
  ServerOptions server;
  std::int64_t port = server.port, task = server.task, max_depth = server.max_depth, max_steps = server.max_steps,
               max_sessions = server.max_sessions, memory_mb = 0, total_memory_mb = 0;
  bool json = false;
};

void declare(Arguments& arguments, Words& words) {
  constexpr std::int64_t kMany = std::int64_t{1} << 40;
  arguments.option("port", &words.port, "where to listen; 0 takes a free one", 0, 65535);
  arguments.option("host", &words.server.host, "who can reach it: 0.0.0.0 is everybody, without any password");
  arguments.option("job", &words.server.job, "the job in the device's name");
  arguments.option("task", &words.task, "the task in the device's name", 0, INT32_MAX);
  arguments.option("allow-dir", &words.server.allowed_dirs, "a folder that graphs may read and write; none: no files");
  arguments.option("memory-limit", &words.memory_mb, "MB of tensors per session; 0: 3/4 of the machine's", 0,
                   kMany >> 20);
  arguments.option("total-memory-limit", &words.total_memory_mb, "MB of tensors of all sessions; 0: likewise", 0,
                   kMany >> 20);
  arguments.option("max-nodes", &words.server.max_nodes, "nodes of a graph", 1, INT32_MAX);
  arguments.option("max-depth", &words.max_depth, "depth of functions that call one another", 1, 1000);
  arguments.option("max-steps", &words.max_steps, "steps in progress", 1, 100'000);
  arguments.option("max-sessions", &words.max_sessions, "open sessions", 1, INT32_MAX);
  arguments.option("max-message", &words.server.max_message_bytes, "bytes of a request", 1024, INT32_MAX);
  arguments.option("abandoned-after", &words.server.abandoned_after_s,
                   "seconds until an idle session is closed whose client has gone; 0: never", 0, kMany);
  arguments.flag("json", &words.json, "tell the port as a line of JSON");
}

ServerOptions options_of(const Words& words) {
  ServerOptions options = words.server;
  options.port = static_cast<int>(words.port);
  options.task = static_cast<int>(words.task);
  options.max_depth = static_cast<int>(words.max_depth);
  options.max_steps = static_cast<int>(words.max_steps);
  options.max_sessions = static_cast<int>(words.max_sessions);
  options.session_memory = static_cast<std::size_t>(words.memory_mb) << 20;
  options.total_memory = static_cast<std::size_t>(words.total_memory_mb) << 20;
  return options;
}

int run_server(const std::vector<std::string>& arguments_given) {
  Words words;
  Arguments arguments("server", "Sessions for clients of TensorFlow: tf.compat.v1.Session(\"grpc://localhost:2222\").");
  declare(arguments, words);
  int exit_code = kExitOk;
  if (!arguments.parse(arguments_given, &exit_code)) return exit_code;

  const InterruptScope interrupt;
  Server server(options_of(words));
  if (words.json) {
    std::printf("%s\n",
                JsonObject().add("port", std::int64_t{server.port()}).add("target", server.target()).str().c_str());
  } else {
    std::printf("Listening at %s (Ctrl-C or SIGTERM ends it)\n", server.target().c_str());
  }
  std::fflush(stdout);
  // A signal ends the pause at once if it meets this thread, which is the rule.
  constexpr int kPauseMs = 200;
  while (!interrupt.interrupted()) poll(nullptr, 0, kPauseMs);
  server.stop();
  return kExitOk;
}

}  // namespace

CAUDAL_COMMAND({.name = "server", .summary = "serve sessions to TensorFlow's clients", .run = run_server});

}  // namespace caudal::inline v0::cli
