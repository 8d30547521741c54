#include "caudal/plan/memory_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "caudal/graph/scope.h"
#include "caudal/ops/activation.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/joining.h"
#include "caudal/ops/shape_ops.h"
#include "caudal/runtime/cpu_device.h"
#include "caudal/runtime/session.h"

namespace caudal {
namespace {

constexpr int kRows = 4;

// Matrices of kRows rows, joined, split, seen under other shapes, written over.
struct RandomGraph {
  Graph graph;
  Output x;
  std::vector<Output> values;
  std::vector<Output> fetches;

  explicit RandomGraph(unsigned seed) : random(seed) {
    const GraphScope scope(graph);
    x = placeholder(float32, {kRows, -1}, {.name = "x"});
    x.set_shape({kRows, 6});
    values = {x};
    const int count = 5 + pick(25);
    while (static_cast<int>(values.size()) < count) add_node();
    for (int i = 0; i < 1 + pick(3); ++i) fetches.push_back(values[pick(static_cast<int>(values.size()))]);
  }

  int pick(int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); }

  void add_node() {
    const Output a = values[pick(static_cast<int>(values.size()))];
    const Output b = values[pick(static_cast<int>(values.size()))];
    switch (pick(7)) {
      case 0:
        return values.push_back(nn::relu(a));
      case 1:
        return values.push_back(a * 0.5F);
      case 2:
        return values.push_back(identity(a));
      case 3:
        return values.push_back(a.shape() == b.shape() ? a + b : a - 1.0F);
      case 4: {
        const std::int64_t width = a.shape()[1];
        return values.push_back(nn::relu(reshape(reshape(a, {static_cast<int>(width), kRows}), {kRows, -1})));
      }
      case 5:
        if (a.shape()[1] + b.shape()[1] < 40) values.push_back(concat({a, b}, 1));
        return;
      default:
        if (a.shape()[1] % 2 == 0) {
          for (const Output& half : split(a, 2, 1)) values.push_back(half);
        }
    }
  }

  std::mt19937 random;
};

// Plays the program and notes whose value lies in which piece of the arena.
class Player {
 public:
  explicit Player(const Program& program) : program_(program), value_of_(program.slots.size(), -1) {}

  void play() {
    for (const Step& step : program_.steps) {
      for (const int input : step.inputs) expect_there(input, *step.node);
      for (int o = 0; o < step.num_outputs; ++o) write(step, o);
    }
    for (const int fetch : program_.fetch_slots) {
      EXPECT_FALSE(program_.placements[fetch]) << "a fetch leaves the run";
    }
  }

 private:
  static constexpr std::size_t kPiece = 64;

  std::set<std::size_t> pieces(int slot) const {
    std::set<std::size_t> all;
    const auto& placement = program_.placements[slot];
    if (!placement) return all;
    const std::size_t bytes = static_cast<std::size_t>(placement->shape.num_elements()) * sizeof(float);
    EXPECT_LE(placement->offset + bytes, program_.arena_bytes);
    EXPECT_EQ(placement->offset % kPiece, 0U);
    for (std::size_t at = placement->offset; at < placement->offset + bytes; at += kPiece) all.insert(at);
    return all;
  }

  void expect_there(int slot, const Node& reader) {
    for (const std::size_t piece : pieces(slot)) {
      EXPECT_EQ(owner_[piece], value_of_[slot]) << reader.name() << " reads what was written over";
    }
  }

  void write(const Step& step, int output) {
    const int slot = step.first_output + output;
    for (const auto& pair : step.aliases) {
      if (pair.output != output) continue;
      value_of_[slot] = value_of_[step.inputs[pair.input]];
      EXPECT_EQ(pieces(slot), pieces(step.inputs[pair.input]));
      return;
    }
    value_of_[slot] = slot;
    const auto own = pieces(slot);
    for (std::size_t i = 0; i < step.inputs.size(); ++i) {
      const int input = step.inputs[i];
      const auto read = pieces(input);
      const bool overlaps = std::ranges::any_of(read, [&](std::size_t piece) { return own.contains(piece); });
      const bool granted = std::ranges::any_of(step.in_place, [&](const auto& pair) {
        return pair.output == output && value_of_[step.inputs[pair.input]] == value_of_[input];
      });
      EXPECT_TRUE(!overlaps || granted) << step.node->name() << " writes over its input " << i;
    }
    for (int other = 0; other < output; ++other) {
      for (const std::size_t piece : pieces(step.first_output + other)) EXPECT_FALSE(own.contains(piece));
    }
    for (const std::size_t piece : own) owner_[piece] = slot;
  }

  const Program& program_;
  std::vector<int> value_of_;  // by slot: the slot whose step wrote the value
  std::map<std::size_t, int> owner_;
};

TEST(MemoryPlan, NoLiveValueIsEverWrittenOver) {
  const auto device = make_cpu_device(1, std::make_shared<MemoryAccount>());
  std::size_t placed = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    RandomGraph random(seed);
    const Shape shapes[] = {Shape{kRows, 6}};
    const auto program = compile({.feeds = {random.x}, .fetches = random.fetches}, {}, *device, nullptr, shapes);
    ASSERT_EQ(program->placements.size(), program->slots.size());
    Player(*program).play();
    placed += program->arena_bytes > 0 ? 1 : 0;
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(placed, 150U);
}

TEST(MemoryPlan, EveryWayOfPlanningGivesTheSameValues) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    RandomGraph random(seed);
    Tensor feed(float32, {kRows, 6});
    for (float& value : feed.flat<float>()) value = static_cast<float>(random.pick(200) - 100) / 8;
    const Fetches fetches(random.fetches.begin(), random.fetches.end());
    const Feeds feeds{{random.x, feed}};
    Session plain(
        random.graph,
        {.plan = {.fold_constants = false, .share_subexpressions = false, .in_place = false, .specialise = false}});
    Session full(random.graph, {.plan = {.specialise_after = 2}});
    const auto wanted = plain.run(fetches, feeds);
    for (int run = 0; run < 4; ++run) {  // generic, then specialised
      const auto got = full.run(fetches, feeds);
      for (std::size_t i = 0; i < wanted.size(); ++i) ASSERT_TRUE(identical(got[i], wanted[i])) << run;
    }
  }
}

TEST(MemoryPlan, WhatCannotBeAddressedStaysOut) {
  Graph graph;
  const GraphScope scope(graph);
  const Output huge = nn::relu(fill(Tensor(std::vector<std::int64_t>{std::int64_t{1} << 61, 2}), 1.0F));
  const auto device = make_cpu_device(1, std::make_shared<MemoryAccount>());
  EXPECT_EQ(compile({.fetches = {huge}}, {}, *device)->arena_bytes, 0U);
}

}  // namespace
}  // namespace caudal
