#include "caudal/dist/master.h"

#include <gtest/gtest.h>

#include <thread>

#include "caudal/base/error.h"
#include "caudal/base/memory_env.h"
#include "caudal/dist/local_worker.h"
#include "caudal/graph/builder.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/proto/graph_io.h"

namespace caudal {
namespace {

constexpr const char* kPeer = "ipv4:127.0.0.1:40000";

class MasterTest : public ::testing::Test {
 protected:
  MasterTest()
      : worker({.session_memory = 1 << 20, .total_memory = 3 << 19, .env = &files}), master(worker, limits()) {}

  static MasterLimits limits() {
    MasterLimits limits;
    limits.graph = {.max_nodes = 100, .max_depth = 5, .max_constant_bytes = 1 << 20};
    limits.max_sessions = 8;
    limits.max_steps = 4;
    return limits;
  }

  // What `build` adds to a graph, serialized.
  template <class Build>
  static std::string graph_of(const Build& build) {
    Graph graph;
    const GraphScope scope(graph);
    build();
    return graph_to_bytes(graph);
  }
  // x: a placeholder; y = x + 1; z = y + 1; ten: a constant.
  static std::string chain() {
    return graph_of([] {
      constant(Tensor(std::vector<float>{10}), {.name = "ten"});
      const Output x = placeholder(float32, {-1}, {.name = "x"});
      const Output y = OpBuilder("AddV2", {.name = "y"}).input(x).input(1.0F, float32).build();
      OpBuilder("AddV2", {.name = "z"}).input(y).input(1.0F, float32).build();
    });
  }
  static std::string variable_graph() {
    return graph_of([] {
      const Output v = OpBuilder("VariableV2", {.name = "v"})
                           .attr("shape", PartialShape(std::vector<std::int64_t>{}))
                           .attr("dtype", float32)
                           .build();
      OpBuilder("Assign", {.name = "init"}).input(v).input(5.0F, float32).build();
      OpBuilder("AssignAdd", {.name = "add"}).input(v).input(1.0F, float32).build();
    });
  }
  // A step that waits until it is cancelled.
  static std::string waiting_graph() {
    return graph_of([] {
      OpBuilder("_Recv", {.name = "wait"})
          .attr("tensor_type", float32)
          .attr("tensor_name", "never")
          .attr("send_device", "a")
          .attr("recv_device", "b")
          .attr("send_device_incarnation", 1)
          .build();
    });
  }

  std::string create(const std::string& graph, const SessionConfig& config = {}) {
    return master.create_session({graph, config}, kPeer)->handle();
  }
  static std::string bytes_of(const Tensor& tensor) {
    // The encoding of a fetched tensor is that of a feed.
    const std::string result = encode_callable_result({tensor}, nullptr);
    return result.substr(result.size() - size_of_single(result));
  }
  // The size of the only field's content: behind a tag and a length of one byte each.
  static std::size_t size_of_single(const std::string& message) { return message.size() - 2; }

  std::vector<NamedTensor> run(RunStepCall call) {
    CancellationToken cancellation;
    return master.run_step(call, kPeer, cancellation).tensors;
  }
  float number(const std::string& session, const std::string& fetch) {
    return run({.session = session, .fetches = {fetch}}).at(0).tensor.item<float>();
  }

  template <class Action>
  static std::string failure(const Action& action) {
    try {
      action();
      return "none";
    } catch (const Error& error) {
      return error.what();
    }
  }
  static void expect_failure(const std::string& what, const std::string& code, const std::string& text) {
    EXPECT_TRUE(what.starts_with(code + ": ")) << what;
    EXPECT_NE(what.find(text), std::string::npos) << what;
  }

  MemoryEnv files;
  LocalWorker worker;
  Master master;
};

TEST_F(MasterTest, RunsStepsByName) {
  const std::string session = create(chain());
  const std::string x = bytes_of(Tensor(std::vector<float>{1, 2}));
  const auto results = run({.session = session, .feeds = {{"x:0", x}}, .fetches = {"z:0", "y"}, .targets = {"y"}});
  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(results[0].name, "z:0");
  EXPECT_EQ(results[0].tensor.to_vector<float>(), (std::vector<float>{3, 4}));
  EXPECT_EQ(results[1].tensor.to_vector<float>(), (std::vector<float>{2, 3}));
}

TEST_F(MasterTest, RefusesWhatTheGraphDoesNotHave) {
  const std::string session = create(chain());
  const std::string x = bytes_of(Tensor(std::vector<float>{1, 2}));
  const auto fails = [&](RunStepCall call) {
    call.session = session;
    return failure([&] { run(call); });
  };
  expect_failure(fails({.fetches = {"nope:0"}}), "NOT_FOUND", "FetchOutputs node nope:0: not found");
  expect_failure(fails({.fetches = {"y:7"}}), "INVALID_ARGUMENT",
                 "FetchOutputs y:7: output index too large, must be < 1");
  expect_failure(fails({.targets = {"nope"}}), "NOT_FOUND", "Some target nodes not found: nope");
  expect_failure(fails({.feeds = {{"nope:0", x}}, .fetches = {"y"}}), "NOT_FOUND",
                 "FeedInputs: unable to find feed output nope:0");
  expect_failure(fails({.feeds = {{"x:0", x}, {"x", x}}, .fetches = {"y:0"}}), "INVALID_ARGUMENT",
                 "fed more than once");
  expect_failure(fails({.feeds = {{"x:0", bytes_of(Tensor(std::vector<int>{1}))}}, .fetches = {"y:0"}}),
                 "INVALID_ARGUMENT", "int32[1]");
  expect_failure(fails({.feeds = {{"x:0", bytes_of(Tensor(1.0F))}}, .fetches = {"y:0"}}), "INVALID_ARGUMENT", "shape");
  expect_failure(fails({.fetches = {"y:0"}}), "INVALID_ARGUMENT", "feed");
  expect_failure(fails({.feeds = {{"x:0", "\xff\xff"}}, .fetches = {"y:0"}}), "INVALID_ARGUMENT", "malformed");
}

TEST_F(MasterTest, ChecksSessionsAndVersions) {
  const std::string session = create(chain());
  const std::string more = graph_of([] { constant(7.0F, {.name = "seven"}); });
  expect_failure(failure([&] { run({.session = "0123"}); }), "ABORTED", "Session 0123 is not found.");
  expect_failure(failure([&] { master.close_session("0123"); }), "ABORTED", "Possibly, this master has restarted.");
  expect_failure(failure([&] { master.list_devices("0123", kPeer); }), "INVALID_ARGUMENT", "is not found");
  EXPECT_EQ(master.extend_session({session, more, 0}, kPeer), 1);
  expect_failure(failure([&] {
                   master.extend_session({session, more, 0}, kPeer);
                 }),
                 "ABORTED", "Current version is 1 but caller expected 0.");
  expect_failure(failure([&] { master.extend_session({session, more, 1}, kPeer); }), "INVALID_ARGUMENT", "'seven'");
  EXPECT_EQ(number(session, "seven:0"), 7.0F);
  const auto held = master.create_session({chain(), {}}, kPeer);
  master.close_session(held->handle());
  CancellationToken cancellation;
  expect_failure(failure([&] { held->run_step({.fetches = {"y:0"}}, cancellation); }), "FAILED_PRECONDITION",
                 "Session is closed.");
}

TEST_F(MasterTest, ExtensionsReferToEarlierNodes) {
  Graph graph;
  const GraphScope scope(graph);
  const Output a = constant(2.0F, {.name = "a"});
  const std::string session = create(graph_to_bytes(graph));
  const std::string first = graph_to_bytes(graph);
  OpBuilder("AddV2", {.name = "b"}).input(a).input(a).build();
  const std::string both = graph_to_bytes(graph);
  ASSERT_TRUE(both.starts_with(first.substr(0, 8)));
  // A client sends the new nodes alone: here what `both` has beyond the first node.
  const std::size_t node = 2 + static_cast<unsigned char>(both[1]);
  EXPECT_EQ(master.extend_session({session, both.substr(node), 0}, kPeer), 1);
  EXPECT_EQ(number(session, "b:0"), 4.0F);
}

TEST_F(MasterTest, AnswersARequestOnce) {
  const std::string session = create(chain());
  const RunStepCall call{.session = session, .targets = {}, .request_id = 77};
  EXPECT_NO_THROW(run(call));
  expect_failure(failure([&] { run(call); }), "ABORTED", "The same RunStep request was received twice.");
  for (std::int64_t id = 1000; id < 1000 + static_cast<std::int64_t>(RequestMemory::kRemembered); ++id) {
    run({.session = session, .request_id = id});
  }
  EXPECT_NO_THROW(run(call));  // forgotten by now
  EXPECT_NO_THROW(run({.session = session, .request_id = 0}));
  EXPECT_NO_THROW(run({.session = session, .request_id = 0}));
}

TEST_F(MasterTest, VariablesOutliveSessionsUnlessIsolated) {
  const std::string first = create(variable_graph());
  run({.session = first, .targets = {"init"}});
  master.close_session(first);
  const std::string second = create(variable_graph());
  EXPECT_EQ(number(second, "v:0"), 5.0F);
  SessionConfig isolated;
  isolated.isolate_session_state = true;
  const std::string alone = create(variable_graph(), isolated);
  expect_failure(failure([&] { number(alone, "v:0"); }), "FAILED_PRECONDITION", "v");
  run({.session = alone, .targets = {"init"}});
  run({.session = alone, .targets = {"add"}});
  EXPECT_EQ(number(alone, "v:0"), 6.0F);
  EXPECT_EQ(number(second, "v:0"), 5.0F);
  master.reset({});
  expect_failure(failure([&] { number(second, "v:0"); }), "ABORTED", "is not found");
  expect_failure(failure([&] { number(create(variable_graph()), "v:0"); }), "FAILED_PRECONDITION", "v");
}

TEST_F(MasterTest, CallablesKeepTheirOrder) {
  const std::string session = create(chain());
  const std::int64_t handle =
      master.make_callable({.session = session, .feeds = {"x:0"}, .fetches = {"z:0", "y:0"}}, kPeer);
  CancellationToken cancellation;
  const std::string x = bytes_of(Tensor(std::vector<float>{1}));
  const auto outcome = master.run_callable({session, handle, {x}, 0}, kPeer, cancellation);
  EXPECT_EQ(outcome.tensors.at(0).tensor.item<float>(), 3.0F);
  EXPECT_EQ(outcome.tensors.at(1).tensor.item<float>(), 2.0F);
  const auto call = [&](std::vector<std::string> feeds) {
    return failure([&] { master.run_callable({session, handle, std::move(feeds), 0}, kPeer, cancellation); });
  };
  expect_failure(call({}), "INVALID_ARGUMENT", "0 feeds for a callable that takes 1");
  master.release_callable({session, handle}, kPeer);
  expect_failure(call({x}), "INVALID_ARGUMENT", "after handle was released");
}

TEST_F(MasterTest, CallablesConnectTensors) {
  const std::string session = create(chain());
  const std::int64_t handle =
      master.make_callable({.session = session, .fetches = {"z:0"}, .connections = {{"ten:0", "x:0"}}}, kPeer);
  CancellationToken cancellation;
  const auto outcome = master.run_callable({.session = session, .handle = handle}, kPeer, cancellation);
  EXPECT_EQ(outcome.tensors.at(0).tensor.item<float>(), 12.0F);
}

TEST_F(MasterTest, ClosingEndsWaitingSteps) {
  const std::string session = create(waiting_graph());
  std::string what;
  std::thread step([&] { what = failure([&] { run({.session = session, .fetches = {"wait:0"}}); }); });
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  master.close_session(session);
  step.join();
  expect_failure(what, "CANCELLED", "Session::Close");
}

TEST_F(MasterTest, CancellationEndsAStepAndNotTheSession) {
  const std::string session = create(waiting_graph());
  CancellationToken cancellation;
  std::string what;
  std::thread step([&] {
    what = failure([&] { master.run_step({.session = session, .fetches = {"wait:0"}}, kPeer, cancellation); });
  });
  cancellation.cancel(cancelled("the client has gone"));
  step.join();
  expect_failure(what, "CANCELLED", "");
  EXPECT_NO_THROW(run({.session = session}));
}

TEST_F(MasterTest, HoldsLimits) {
  const std::string many = graph_of([] {
    for (int i = 0; i < 101; ++i) constant(1.0F);
  });
  expect_failure(failure([&] { create(many); }), "RESOURCE_EXHAUSTED", "101 nodes; the limit is 100");
  const std::string large = graph_of([] { constant(Tensor::zeros(float32, {1 << 19})); });
  expect_failure(failure([&] { create(large); }), "RESOURCE_EXHAUSTED", "constants take 2097152 bytes");
  SessionConfig threads;
  threads.use_per_session_threads = true;
  expect_failure(failure([&] { create(chain(), threads); }), "INVALID_ARGUMENT", "thread pool options");
  std::vector<std::string> sessions;
  for (int i = 0; i < 8; ++i) sessions.push_back(create(chain()));
  expect_failure(failure([&] { create(chain()); }), "RESOURCE_EXHAUSTED", "8 sessions");
}

TEST_F(MasterTest, ChargesMemoryToTheSession) {
  const std::string fill = graph_of([] {
    const Output n = placeholder(int32, {1}, {.name = "n"});
    OpBuilder("Fill", {.name = "fill"}).input(n).input(1.0F, float32).build();
  });
  const std::string session = create(fill);
  const auto run_with = [&](int n) {
    run({.session = session, .feeds = {{"n:0", bytes_of(Tensor(std::vector<int>{n}))}}, .targets = {"fill"}});
  };
  EXPECT_NO_THROW(run_with(1000));
  expect_failure(failure([&] { run_with(1 << 19); }), "RESOURCE_EXHAUSTED", "out of memory");
  expect_failure(failure([&] { run_with(2'000'000'000); }), "RESOURCE_EXHAUSTED", "out of memory");
  EXPECT_NO_THROW(run_with(1000));
}

TEST_F(MasterTest, ClosesWhatDeadClientsLeave) {
  const std::string session = create(chain());
  const auto gone = [](const std::string& peer) { return peer == kPeer; };
  const auto there = [](const std::string&) { return false; };
  EXPECT_EQ(master.close_abandoned(gone, 0, 1000), 0);
  EXPECT_EQ(master.close_abandoned(there, 900, 1000), 0);  // it came back
  EXPECT_EQ(master.close_abandoned(gone, 1000, 1000), 0);
  EXPECT_EQ(master.close_abandoned(gone, 1999, 1000), 0);
  EXPECT_EQ(master.close_abandoned(gone, 2000, 1000), 1);
  EXPECT_EQ(master.num_sessions(), 0U);
}

TEST_F(MasterTest, TellsTimesAndGraphsOfAStep) {
  const std::string session = create(chain());
  CancellationToken cancellation;
  const std::string x = bytes_of(Tensor(std::vector<float>{1}));
  const auto outcome = master.run_step({.session = session,
                                        .feeds = {{"x:0", x}},
                                        .fetches = {"z:0"},
                                        .settings = {.trace = true, .output_partition_graphs = true}},
                                       kPeer, cancellation);
  ASSERT_NE(outcome.metadata, nullptr);
  EXPECT_EQ(outcome.metadata->device, "/job:localhost/replica:0/task:0/device:CPU:0");
  ASSERT_EQ(outcome.metadata->partition_graphs.size(), 1U);
  bool has_z = false;
  for (const NodeTime& time : outcome.metadata->nodes) {
    has_z |= time.node == "z";
    EXPECT_LE(time.start, time.end);
    EXPECT_GT(time.start, std::int64_t{1'500'000'000} * 1'000'000'000);  // of the calendar
  }
  EXPECT_TRUE(has_z);
}

TEST_F(MasterTest, TellsCostsOfEveryThirdStep) {
  SessionConfig config;
  config.cost_every = 3;
  const std::string session = create(chain(), config);
  const std::string x = bytes_of(Tensor(std::vector<float>{1}));
  for (int step = 1; step <= 7; ++step) {
    CancellationToken cancellation;
    const auto outcome =
        master.run_step({.session = session, .feeds = {{"x:0", x}}, .fetches = {"z:0"}}, kPeer, cancellation);
    EXPECT_EQ(outcome.metadata != nullptr && outcome.metadata->has_costs, step % 3 == 0) << step;
  }
}

}  // namespace
}  // namespace caudal
