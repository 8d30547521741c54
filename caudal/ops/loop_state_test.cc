// Lists, arrays and stacks where they are used most: in loops, compiled and value by value.
#include <gtest/gtest.h>

#include "caudal/autodiff/gradient.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/stack_ops.h"
#include "caudal/ops/state_ops.h"
#include "caudal/ops/tensor_array.h"
#include "caudal/ops/tensor_list_ops.h"
#include "caudal/ops/variable_ops.h"
#include "caudal/runtime/session.h"
#include "tests/harness/v1_loop.h"

namespace caudal {
namespace {

using namespace raw_ops;  // NOLINT
using harness::loop_constant;
using harness::LoopValues;
using harness::make_loop;

class LoopState : public testing::TestWithParam<bool> {
 protected:
  std::vector<Tensor> run(const Fetches& fetches) {
    SessionOptions options;
    options.plan.compile_loops = GetParam();
    Session session(graph_, options);
    session.run(fetches);
    return session.run(fetches);
  }
  // i < n
  static Output below(const Output& i, int n) {
    return OpBuilder("Less", {}).input(i).input(loop_constant("loop", constant(n))).build();
  }
  static Output one() { return loop_constant("loop", constant(1)); }

  Graph graph_;
  GraphScope scope_{graph_};
};

TEST_P(LoopState, ListsGrow) {
  constexpr int kTurns = 500;
  const Output empty = empty_tensor_list(std::vector<int>{}, -1, int32);
  const auto grown = make_loop(
      "loop", {constant(0), empty}, [](const LoopValues& v) { return below(v[0], kTurns); },
      [](const LoopValues& v) {
        return LoopValues{v[0] + one(), tensor_list_push_back(v[1], v[0])};
      });
  const auto summed = make_loop(
      "loop2", {constant(0), grown[1], constant(0)},
      [](const LoopValues& v) {
        return OpBuilder("Less", {}).input(v[0]).input(loop_constant("loop2", constant(kTurns))).build();
      },
      [](const LoopValues& v) {
        const auto popped = tensor_list_pop_back(v[1], loop_constant("loop2", constant(-1)), int32);
        return LoopValues{v[0] + loop_constant("loop2", constant(1)), popped.list, v[2] + popped.tensor};
      });
  const auto got = run({tensor_list_stack(grown[1], -1, int32), summed[2], tensor_list_length(summed[1])});
  ASSERT_EQ(got[0].shape(), (Shape{kTurns}));
  for (int i = 0; i < kTurns; ++i) ASSERT_EQ(got[0].at<int>(i), i);
  EXPECT_EQ(got[1].item<int>(), kTurns * (kTurns - 1) / 2);
  EXPECT_EQ(got[2].item<int>(), 0);
}

TEST_P(LoopState, ArraysAreWrittenAndRead) {
  constexpr int kTurns = 20;
  const TensorArray numbers = TensorArray(float32, kTurns, {.clear_after_read = false});
  const Output handle = loop_constant("loop", numbers.handle());
  const auto written = make_loop(
      "loop", {constant(0), numbers.flow(), constant({1.0F, 2.0F})},
      [](const LoopValues& v) { return below(v[0], kTurns); },
      [&](const LoopValues& v) {
        const Output flow = TensorArray(float32, handle, v[1]).write(v[0], v[2]).flow();
        return LoopValues{v[0] + one(), flow, v[2] + v[2]};
      });
  const TensorArray full = numbers.with_flow(written[1]);
  const auto got = run({full.stack(), full.read(3)});
  EXPECT_EQ(got[0].shape(), (Shape{kTurns, 2}));
  EXPECT_EQ(got[0].at<float>(10, 1), 2048.0F);
  EXPECT_EQ(got[1].to_vector<float>(), (std::vector<float>{8, 16}));
}

TEST_P(LoopState, StacksHandOverFromLoopToLoop) {
  constexpr int kTurns = 30;
  const Output stack = stack_v2(-1, int32);
  const Output pushing = loop_constant("loop", stack), popping = loop_constant("back", stack);
  const auto pushed = make_loop(
      "loop", {constant(0), constant(0)}, [](const LoopValues& v) { return below(v[0], kTurns); },
      [&](const LoopValues& v) {
        return LoopValues{v[0] + one(), v[1] + stack_push_v2(pushing, v[0] * v[0])};
      });
  // The last push comes first: what is popped in turn k is the square of kTurns - 1 - k.
  const auto popped = make_loop(
      "back", {pushed[0], OpBuilder("Sub", {}).input(pushed[1]).input(pushed[1]).build()},
      [](const LoopValues& v) {
        return OpBuilder("Greater", {}).input(v[0]).input(loop_constant("back", constant(0))).build();
      },
      [&](const LoopValues& v) {
        OpBuilder pop("StackPopV2", {});
        const Output value = pop.input(popping).attr("elem_type", int32).control_input(v[0]).build();
        const Output left = OpBuilder("Sub", {}).input(v[0]).input(loop_constant("back", constant(1))).build();
        return LoopValues{left, v[1] + value};
      });
  const auto got = run({pushed[1], popped[1]});
  EXPECT_EQ(got[0].item<int>(), 8555);
  EXPECT_EQ(got[1].item<int>(), 8555);
}

TEST_P(LoopState, EachTurnHasItsTemporaryVariable) {
  const auto got = make_loop(
      "loop", {constant(0), constant(0)}, [](const LoopValues& v) { return below(v[0], 10); },
      [](const LoopValues& v) {
        OpBuilder make("TemporaryVariable", {});
        make.attr("shape", PartialShape::scalar()).attr("dtype", int32).attr("var_name", "turn").control_input(v[0]);
        const Output assigned = assign(make.build(), v[0]);
        return LoopValues{v[0] + one(), v[1] + destroy_temporary_variable(assigned, "turn")};
      });
  EXPECT_EQ(run({got[1]})[0].item<int>(), 45);
}

INSTANTIATE_TEST_SUITE_P(BothWays, LoopState, testing::Bool(),
                         [](const auto& info) { return info.param ? "compiled" : "value_by_value"; });

}  // namespace
}  // namespace caudal
