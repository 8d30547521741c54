#include "caudal/runtime/executor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <random>
#include <thread>

#include "caudal/core/cancellation.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/resource_manager.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/builder.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/selection.h"
#include "caudal/runtime/session.h"

namespace caudal::inline v0 {
namespace {

// --- Ops that wait for each other: TestAwait ends when TestPost of the same key ran, and yields what that posted
// ------

class TestMailbox final : public Resource {
 public:
  void post(const Tensor& value) {
    std::vector<std::function<void()>> waiting;
    {
      std::lock_guard lock(mutex_);
      value_ = value;
      waiting.swap(waiting_);
    }
    for (const auto& go_on : waiting) go_on();
  }
  // Calls back once there is a value; at once if there is.
  void await(std::function<void()> go_on) {
    {
      std::lock_guard lock(mutex_);
      if (!value_.valid()) {
        waiting_.push_back(std::move(go_on));
        return;
      }
    }
    go_on();
  }
  Tensor value() const {
    std::lock_guard lock(mutex_);
    return value_;
  }
  std::string describe() const override { return "a mailbox"; }

 private:
  mutable std::mutex mutex_;
  Tensor value_;
  std::vector<std::function<void()>> waiting_;
};

std::shared_ptr<TestMailbox> mailbox(RunContext& c) {
  return c.step().step_resources->get_or_create<TestMailbox>("", c.node().attr<std::string>("key"),
                                                             [] { return std::make_shared<TestMailbox>(); });
}

class AwaitKernel final : public WaitingKernel {
  void run_async(RunContext& context, Done done) const override {
    struct Wait {
      std::atomic<bool> over{false};
      std::optional<CancellationToken::CallbackId> id;
    };
    auto wait = std::make_shared<Wait>();
    CancellationToken* token = context.step().cancellation;
    wait->id = token->on_cancel([wait, done, token] {
      if (wait->over.exchange(true)) return;
      try {
        token->check();
      } catch (const Error& reason) {
        done(&reason);
      }
    });
    if (!wait->id) {
      const Error reason = cancelled("cancelled");
      done(&reason);
      return;
    }
    auto box = mailbox(context);
    box->await([wait, done, token, box, &context] {
      if (wait->over.exchange(true)) return;
      token->forget(*wait->id);
      context.set_output(0, box->value());
      done(nullptr);
    });
  }
};

void run_post(RunContext& c) { mailbox(c)->post(c.take_input(0)); }

CAUDAL_REGISTER_OP({.name = "TestAwait",
                    .outputs = "output: T",
                    .attrs = "T: type; key: string",
                    .stateful = true,
                    .shape = unknown_shape,
                    .gradient = not_differentiable,
                    .cpu = [](PrepareContext&) -> std::unique_ptr<Kernel> { return std::make_unique<AwaitKernel>(); }});
CAUDAL_REGISTER_OP({.name = "TestPost",
                    .inputs = "input: T",
                    .attrs = "T: type; key: string",
                    .stateful = true,
                    .shape = no_outputs_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_post>});

Output await(const std::string& key, DType type = int32) {
  return OpBuilder("TestAwait", {}).attr("T", type).attr("key", key).build();
}
Operation post(const std::string& key, const Output& value) {
  return OpBuilder("TestPost", {}).input(value).attr("key", key).build_operation();
}

// --- V1 control flow by hand
// ------------------------------------------------------------------------------------------

std::pair<Output, Output> make_switch(const Output& data, const Output& pred) {
  Node& node = OpBuilder("Switch", {}).input(data).input(pred).build_node();
  return {Output(&node, 0), Output(&node, 1)};
}
Output make_merge(const std::vector<Output>& inputs) { return OpBuilder("Merge", {}).inputs(inputs).build(); }
Output make_enter(const Output& data, const std::string& frame, bool constant = false, std::int64_t parallel = 10) {
  return OpBuilder("Enter", {})
      .input(data)
      .attr("frame_name", frame)
      .attr("is_constant", constant)
      .attr("parallel_iterations", parallel)
      .build();
}
Output forward(const char* op, const Output& data) { return OpBuilder(op, {}).input(data).build(); }
Output number(int value) { return constant(value); }
Output number_after(int value, const Output& control) {
  const Output result = constant(value);
  result.graph().add_control_input(*result.node(), *control.node());
  return result;
}

using Variables = std::vector<Output>;
// while (condition(variables)) variables = body(variables); the condition sees constants through `capture`.
Variables make_while(const std::string& frame, const Variables& initial,
                     const std::function<Output(const Variables&)>& condition,
                     const std::function<Variables(const Variables&)>& body, std::int64_t parallel = 10) {
  Variables heads;
  for (const Output& value : initial) {
    const Output entered = make_enter(value, frame, false, parallel);
    heads.push_back(make_merge({entered, entered}));
  }
  const Output loop_cond = forward("LoopCond", condition(heads));
  Variables inside, exits;
  for (const Output& head : heads) {
    const auto [leave, stay] = make_switch(head, loop_cond);
    exits.push_back(forward("Exit", leave));
    inside.push_back(forward("Identity", stay));
  }
  const Variables next = body(inside);
  for (std::size_t i = 0; i < heads.size(); ++i) {
    heads[i].graph().connect(*heads[i].node(), 1, forward("NextIteration", next[i]));
  }
  return exits;
}

// Both ways to run loops must agree: as one step, and value by value.
class Executor : public ::testing::TestWithParam<bool> {
 protected:
  Executor() : scope_(graph_) {}
  SessionOptions options() const {
    SessionOptions options;
    options.plan.compile_loops = GetParam();
    return options;
  }
  std::vector<int> run(const std::vector<Output>& fetches, const Feeds& feeds = {}) {
    Session session(graph_, options());
    std::vector<int> first, again;
    const Fetches all(fetches.begin(), fetches.end());
    for (const Tensor& value : session.run(all, feeds)) first.push_back(value.item<std::int32_t>());
    for (int i = 0; i < 3; ++i) {  // also from instances that were used before, and specialised
      again.clear();
      for (const Tensor& value : session.run(all, feeds)) again.push_back(value.item<std::int32_t>());
      EXPECT_EQ(again, first);
    }
    return first;
  }

  Graph graph_;
  GraphScope scope_;
};

TEST_P(Executor, TakesOneBranch) {
  const Output pred = placeholder(boolean, Shape());
  const auto [no, yes] = make_switch(number(7), pred);
  const Output joined = make_merge({add(no, number(1)), multiply(yes, number(10))});
  EXPECT_EQ(run({joined, Output(joined.node(), 1)}, {{pred, Tensor::scalar(true)}}), (std::vector<int>{70, 1}));
  EXPECT_EQ(run({joined, Output(joined.node(), 1)}, {{pred, Tensor::scalar(false)}}), (std::vector<int>{8, 0}));
}

TEST_P(Executor, ConstantsOfABranchAreDeadWithIt) {
  const Output pred = placeholder(boolean, Shape());
  const auto [no, yes] = make_switch(pred, pred);
  const Output pivot_no = forward("Identity", no), pivot_yes = forward("Identity", yes);
  const Output two = number_after(2, pivot_no), three = number_after(3, pivot_no);
  const Output joined = make_merge({add(two, three), number_after(40, pivot_yes)});
  EXPECT_EQ(run({joined}, {{pred, Tensor::scalar(true)}}), (std::vector<int>{40}));
  EXPECT_EQ(run({joined}, {{pred, Tensor::scalar(false)}}), (std::vector<int>{5}));
}

TEST_P(Executor, SaysThatAFetchWasNotTaken) {
  const Output pred = placeholder(boolean, Shape());
  const auto [no, yes] = make_switch(number(7), pred);
  Session session(graph_, options());
  EXPECT_EQ(session.run(yes, {{pred, Tensor::scalar(true)}}).item<int>(), 7);
  try {
    session.run(no, {{pred, Tensor::scalar(true)}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
    EXPECT_NE(std::string(error.what()).find("does not have a value"), std::string::npos);
  }
}

TEST_P(Executor, CountsInALoop) {
  const Output limit = placeholder(int32, Shape());
  const Output limit_inside = make_enter(limit, "count", true);
  const Variables out = make_while(
      "count", {number(0), number(100)}, [&](const Variables& v) { return less(v[0], limit_inside); },
      [&](const Variables& v) {
        return Variables{add(v[0], number_after(1, v[0])), add(v[1], v[0])};
      });
  EXPECT_EQ(run(out, {{limit, Tensor::scalar(10)}}), (std::vector<int>{10, 145}));
  EXPECT_EQ(run(out, {{limit, Tensor::scalar(0)}}), (std::vector<int>{0, 100}));
  EXPECT_EQ(run(out, {{limit, Tensor::scalar(1000)}}), (std::vector<int>{1000, 100 + 999 * 500}));
}

TEST_P(Executor, LoopsInLoops) {
  const Output limit = placeholder(int32, Shape());
  const Output limit_outside = make_enter(limit, "outer", true);
  const Output limit_inside = make_enter(limit_outside, "inner", true);
  // sum of i * j for i < n, j < n
  const Variables out = make_while(
      "outer", {number(0), number(0)}, [&](const Variables& v) { return less(v[0], limit_outside); },
      [&](const Variables& v) {
        const Output i = make_enter(v[0], "inner", true);
        const Variables inner = make_while(
            "inner", {number_after(0, v[0]), v[1]}, [&](const Variables& w) { return less(w[0], limit_inside); },
            [&](const Variables& w) {
              return Variables{add(w[0], number_after(1, w[0])), add(w[1], multiply(i, w[0]))};
            });
        return Variables{add(v[0], number_after(1, v[0])), inner[1]};
      },
      3);
  EXPECT_EQ(run({out[1]}, {{limit, Tensor::scalar(5)}}), (std::vector<int>{100}));
  EXPECT_EQ(run({out[1]}, {{limit, Tensor::scalar(0)}}), (std::vector<int>{0}));
}

TEST_P(Executor, ALoopInABranchThatIsNotTakenIsDead) {
  const Output pred = placeholder(boolean, Shape());
  const auto [no, yes] = make_switch(number(5), pred);
  const Variables out = make_while(
      "doubling", {yes}, [&](const Variables& v) { return less(v[0], number_after(100, v[0])); },
      [&](const Variables& v) { return Variables{add(v[0], v[0])}; });
  const Output joined = make_merge({forward("Identity", no), out[0]});
  EXPECT_EQ(run({joined}, {{pred, Tensor::scalar(true)}}), (std::vector<int>{160}));
  EXPECT_EQ(run({joined}, {{pred, Tensor::scalar(false)}}), (std::vector<int>{5}));
}

TEST_P(Executor, BranchesInLoops) {
  // Collatz: how many steps from n to 1.
  const Output start = placeholder(int32, Shape());
  const Variables out = make_while(
      "collatz", {start, number(0)}, [&](const Variables& v) { return greater(v[0], number_after(1, v[0])); },
      [&](const Variables& v) {
        const Output two = number_after(2, v[0]);
        const Output odd = not_equal(floormod(v[0], two), number_after(0, v[0]));
        const auto [even_n, odd_n] = make_switch(v[0], odd);
        const Output half = floordiv(even_n, number_after(2, even_n));
        const Output more = add(multiply(odd_n, number_after(3, odd_n)), number_after(1, odd_n));
        return Variables{make_merge({half, more}), add(v[1], number_after(1, v[0]))};
      });
  EXPECT_EQ(run({out[1]}, {{start, Tensor::scalar(27)}}), (std::vector<int>{111}));
  EXPECT_EQ(run({out[1]}, {{start, Tensor::scalar(1)}}), (std::vector<int>{0}));
}

TEST_P(Executor, WaitsInLoops) {
  // Each iteration waits for what another iteration's index posts: 0 for 1, 1 for 0, 2 for 3, ... by two loops.
  Variables out;
  for (const char* name : {"a", "b"}) {
    out.push_back(make_while(
        name, {number(0), number(0)}, [&](const Variables& v) { return less(v[0], number_after(20, v[0])); },
        [&, name](const Variables& v) {
          const Operation told = post(std::string("to ") + name, v[0]);
          const Output heard = await(std::string("to ") + (name[0] == 'a' ? "b" : "a"));
          graph_.add_control_input(*heard.node(), *v[0].node());
          const Output next = add(v[1], multiply(heard, number_after(0, v[0])));
          graph_.add_control_input(*next.node(), *told.node());
          return Variables{add(v[0], number_after(1, v[0])), add(next, number_after(1, v[0]))};
        })[1]);
  }
  EXPECT_EQ(run(out), (std::vector<int>{20, 20}));
}

TEST_P(Executor, WhatLeavesALoopEarlyMayFeedWhatEntersLate) {
  const Output late = await("late");
  const Output limit = make_enter(number(3), "both", true);
  Output i_exit;
  const Variables out = make_while(
      "both", {number(0), late}, [&](const Variables& v) { return less(v[0], limit); },
      [&](const Variables& v) {
        return Variables{add(v[0], number_after(1, v[0])), add(v[1], v[1])};
      });
  const Operation told = post("late", out[0]);
  Session session(graph_, options());
  const auto values = session.run({Fetch(out[1]), Fetch(told)});
  EXPECT_EQ(values[0].item<int>(), 24);
}

TEST_P(Executor, IndependentBranchesPost) {
  // Whatever comes first in the graph, both ends are reached by one thread.
  const Output first = add(await("x"), number(1));
  const Operation second = post("x", await("y"));
  const Operation third = post("y", add(number(20), number(22)));
  Session session(graph_, options());
  const auto values = session.run({Fetch(first), Fetch(second), Fetch(third)});
  EXPECT_EQ(values[0].item<int>(), 43);
}

TEST_P(Executor, FailuresEndTheWaiting) {
  const Output never = await("never");
  const Operation bad = OpBuilder("Abort", {}).attr("error_msg", std::string("boom")).build_operation();
  Session session(graph_, options());
  try {
    session.run({Fetch(never), Fetch(bad)});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kAborted);
    EXPECT_NE(std::string(error.what()).find("boom"), std::string::npos);
  }
}

TEST_P(Executor, TheDeadlineEndsTheWaitingAndEndlessLoops) {
  const Output never = await("never");
  const Variables endless = make_while(
      "endless", {number(0)}, [&](const Variables& v) { return less(v[0], number_after(1, v[0])); },
      [&](const Variables& v) { return Variables{multiply(v[0], number_after(1, v[0]))}; });
  Session session(graph_, options());
  for (const Output& fetch : {never, endless[0]}) {
    try {
      session.run({Fetch(fetch)}, {}, {.timeout_ms = 30});
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kDeadlineExceeded) << error.what();
    }
  }
}

TEST_P(Executor, ACancelledRunEnds) {
  const Output never = await("never");
  Session session(graph_, options());
  CancellationToken token;
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    token.cancel(cancelled("enough"));
  });
  EXPECT_THROW(session.run({Fetch(never)}, {}, {.cancellation = &token}), Error);
  later.join();
}

TEST_P(Executor, NamesTheFirstOpWithANaN) {
  const Output x = placeholder(float32, Shape(), {.name = "x"});
  const Output bad = log(x, {.name = "bad"});
  const Output sum = add(bad, x);
  Session session(graph_, options());
  session.run(sum, {{x, Tensor::scalar(-1.F)}});
  try {
    session.run({Fetch(sum)}, {{x, Tensor::scalar(-1.F)}}, {.check_numerics = true});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
    EXPECT_NE(std::string(error.what()).find("Log 'bad'"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("NaN"), std::string::npos) << error.what();
  }
}

TEST_P(Executor, RefusesInputsFromDifferentFrames) {
  const Output inside = make_enter(number(1), "frame");
  Session session(graph_, options());
  try {
    session.run(forward("Exit", add(inside, number(2))));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
    EXPECT_NE(std::string(error.what()).find("different frames"), std::string::npos) << error.what();
  }
}

// Random graphs of plain and waiting nodes, with conditions, that can finish: every await has a post that does not
// depend on it, by construction in an order of time; nodes are added in another order than that.
TEST_P(Executor, RandomWaitingGraphsFinish) {
  for (int seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const auto pick = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    Graph graph;
    const GraphScope scope(graph);
    std::vector<Output> values{number(3), number(4)};
    std::vector<int> expected{3, 4};
    std::vector<Operation> posts;
    const Output pred = placeholder(boolean, Shape());
    for (int i = 0; i < 30; ++i) {
      const std::size_t a = pick(values.size()), b = pick(values.size());
      switch (pick(4)) {
        case 0: {
          const std::string key = "k" + std::to_string(i);
          values.push_back(await(key));
          posts.push_back(post(key, values[a]));
          expected.push_back(expected[a]);
          break;
        }
        case 1: {
          const auto [no, yes] = make_switch(values[a], pred);
          values.push_back(make_merge({add(no, values[b]), forward("Identity", yes)}));
          expected.push_back(seed % 2 == 0 ? expected[a] + expected[b] : expected[a]);
          break;
        }
        case 2:
          values.push_back(minimum(values[a], values[b]));
          expected.push_back(std::min(expected[a], expected[b]));
          break;
        default:
          values.push_back(subtract(values[a], values[b]));
          expected.push_back(expected[a] - expected[b]);
      }
    }
    Session session(graph, options());
    Fetches fetches(values.begin(), values.end());
    fetches.insert(fetches.end(), posts.begin(), posts.end());
    const auto results = session.run(fetches, {{pred, Tensor::scalar(seed % 2 != 0)}}, {.timeout_ms = 20'000});
    for (std::size_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(results[i].item<int>(), expected[i]) << "seed " << seed << ", node " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Loops, Executor, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "AsOneStep" : "ValueByValue"; });

}  // namespace
}  // namespace caudal::inline v0
