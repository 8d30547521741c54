#include "caudal/plan/plan.h"

#include <gtest/gtest.h>

#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/activation.h"
#include "caudal/ops/cast.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/joining.h"
#include "caudal/ops/random.h"
#include "caudal/ops/shape_ops.h"
#include "caudal/ops/variable.h"
#include "caudal/runtime/cpu_device.h"
#include "caudal/runtime/session.h"

namespace caudal {
namespace {

class PlanTest : public ::testing::Test {
 protected:
  template <class Action>
  static std::string error_of(const Action& action) {
    try {
      action();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }
  static std::vector<std::string> names(const std::vector<Node*>& nodes) {
    std::vector<std::string> all;
    for (const Node* node : nodes) all.push_back(node->name());
    return all;
  }
  std::vector<std::string> steps(const PlanRequest& request, const PlanOptions& options = {}) {
    std::vector<std::string> all;
    const auto program = compile(request, options, *device_);
    for (const Step& step : program->steps) all.push_back(step.node->name());
    return all;
  }
  using Names = std::vector<std::string>;

  Graph graph_;
  GraphScope scope_{graph_};
  std::unique_ptr<Device> device_ = make_cpu_device(1, std::make_shared<MemoryAccount>());
  Output x_ = placeholder(float32, {-1}, {.name = "x"});
};

TEST_F(PlanTest, PruneKeepsWhatIsNeededInOrder) {
  const Output a = identity(x_, {.name = "a"});
  identity(a, {.name = "unused"});
  const Output b = identity(a, {.name = "b"});
  const Operation effect = no_op({.name = "effect"});
  graph_.add_control_input(*b.node(), *effect.node());
  EXPECT_EQ(names(prune({.fetches = {b}})), (Names{"x", "a", "effect", "b"}));
  EXPECT_EQ(names(prune({.feeds = {x_}, .fetches = {b}})), (Names{"a", "effect", "b"}));
  EXPECT_EQ(names(prune({.feeds = {a}, .fetches = {b}})), (Names{"effect", "b"}));
  EXPECT_EQ(names(prune({.feeds = {b}, .fetches = {b}})), Names());
  EXPECT_EQ(names(prune({.feeds = {x_}, .targets = {effect.node()}})), (Names{"effect"}));
}

TEST_F(PlanTest, ControlDependenciesOnFedNodesAreTensorFlows) {
  const Output a = identity(x_, {.name = "a"});
  Output after;
  {
    const ControlDependencies scope({a, x_});
    after = constant(1.0F, {.name = "after"});
  }
  // A fed placeholder is there already; any other fed node still runs for those who wait for it.
  EXPECT_EQ(names(prune({.feeds = {x_}, .fetches = {after}})), (Names{"a", "after"}));
  EXPECT_EQ(names(prune({.feeds = {x_, a}, .fetches = {after}})), (Names{"a", "after"}));
}

TEST_F(PlanTest, PruneNamesCyclesAndDoubleFeeds) {
  const Output a = identity(x_, {.name = "a"});
  const Output b = identity(a, {.name = "b"});
  const Output c = identity(b, {.name = "c"});
  const Output d = identity(c, {.name = "d"});
  graph_.connect(*a.node(), 0, c);
  EXPECT_EQ(
      error_of([&] { prune({.fetches = {d}}); }),
      "INVALID_ARGUMENT: the graph has a cycle: 'a' -> 'b' -> 'c' -> 'a'. No node can run first: take one of these "
      "inputs or control inputs away.");
  EXPECT_EQ(names(prune({.feeds = {b}, .fetches = {d}})), (Names{"c", "d"}));  // a feed opens it
  EXPECT_EQ(error_of([&] {
              prune({.feeds = {x_, x_}, .fetches = {x_}});
            }),
            "INVALID_ARGUMENT: 'x:0' is fed twice. Give each tensor one value.");
}

TEST_F(PlanTest, FoldsWhatDependsOnConstantsOnly) {
  const Output c = constant(2.0F, {.name = "c"}) * 3.0F;
  const Output y = multiply(x_, c, {.name = "y"});
  const auto program = compile({.feeds = {x_}, .fetches = {y, c}}, {}, *device_);
  ASSERT_EQ(program->steps.size(), 1U);
  EXPECT_EQ(program->slots[program->fetch_slots[1]].constant.item<float>(), 6);
  EXPECT_EQ(steps({.feeds = {x_}, .fetches = {y}}, {.fold_constants = false}).size(), 2U);
  // A shape is a constant as soon as sizes are known, whatever the values are.
  const Output known = placeholder(float32, {4, 5});
  EXPECT_EQ(steps({.feeds = {known}, .fetches = {shape(known)}}).size(), 0U);
}

TEST_F(PlanTest, AFailureWhileFoldingIsTheRunsToReport) {
  const Output bad = div(constant(1), constant(0));
  const Output sum = add(cast(bad, float32), x_);
  EXPECT_GE(steps({.feeds = {x_}, .fetches = {sum}}).size(), 2U);
}

TEST_F(PlanTest, LargeValuesAreNotFolded) { EXPECT_EQ(steps({.fetches = {zeros({4096, 4096})}}).size(), 1U); }

TEST_F(PlanTest, EqualNodesAreComputedOnce) {
  const Output a = nn::relu(x_);
  const Output b = nn::relu(x_);
  EXPECT_EQ(steps({.feeds = {x_}, .fetches = {a, b}}).size(), 1U);
  EXPECT_EQ(steps({.feeds = {x_}, .fetches = {a, b}}, {.share_subexpressions = false}).size(), 2U);
  EXPECT_EQ(steps({.feeds = {x_}, .fetches = {nn::relu(a), nn::relu(b)}}).size(), 2U);  // and so what uses them
}

TEST_F(PlanTest, AlmostEqualNodesAreNotShared) {
  const auto leaky = [&](float alpha) { return OpBuilder("LeakyRelu", {}).input(x_).attr("alpha", alpha).build(); };
  EXPECT_EQ(steps({.feeds = {x_}, .fetches = {leaky(0.12345678F), leaky(0.12345679F)}}).size(), 2U);
  EXPECT_EQ(steps({.feeds = {x_}, .fetches = {nn::relu(x_), nn::elu(x_)}}).size(), 2U);
}

TEST_F(PlanTest, NodesWithStateAreNeitherSharedNorFolded) {
  const Output a = random_uniform({2});
  const Output b = random_uniform({2});
  EXPECT_EQ(steps({.fetches = {a, b}}).size(), 2U);
  const Variable w(1.0F, {.name = "w"});
  const Output first = w.read_value();
  const Output second = w.read_value();
  EXPECT_EQ(steps({.fetches = {first, second}}).size(), 3U);  // an update may lie between two reads
}

TEST_F(PlanTest, AFedOutputDoesNotStandForItsLikes) {
  const Output input = placeholder(float32, {4}, {.name = "input"});
  const auto first = split(input, 2);
  const auto second = split(input, 2);
  Session session;
  const Tensor four = Tensor::from<float>({4}, {1, 2, 3, 4});
  const auto results =
      session.run({first[1], second[0]}, {{input, four}, {first[0], Tensor(std::vector<float>{8, 9})}});
  EXPECT_EQ(results[0].to_vector<float>(), (std::vector<float>{3, 4}));
  EXPECT_EQ(results[1].to_vector<float>(), (std::vector<float>{1, 2}));
}

TEST_F(PlanTest, GrantsInPlaceOnlyWhereTheInputDies) {
  const Output a = x_ + 1.0F;
  const Output last = nn::relu(a);
  const auto granted = [&](const PlanRequest& request, const Output& node) {
    const auto program = compile(request, {}, *device_);
    for (const Step& step : program->steps) {
      if (step.node == node.node()) return !step.in_place.empty();
    }
    return false;
  };
  EXPECT_TRUE(granted({.feeds = {x_}, .fetches = {last}}, last));
  EXPECT_FALSE(granted({.feeds = {x_}, .fetches = {last, a}}, last));  // a is fetched
  EXPECT_FALSE(granted({.feeds = {a}, .fetches = {last}}, last));      // a is fed
  const Output later = a * 2.0F;
  EXPECT_FALSE(granted({.feeds = {x_}, .fetches = {last, later}}, last));  // a is used later
  EXPECT_TRUE(granted({.feeds = {x_}, .fetches = {last, later}}, later));
}

TEST_F(PlanTest, SpecialisesAfterTheSameShapesCameOften) {
  const Output y = nn::relu(x_ + 1.0F);
  Plan plan({.feeds = {x_}, .fetches = {y}}, {.specialise_after = 3}, *device_);
  const auto program_for = [&](std::int64_t size) {
    const Tensor feeds[] = {Tensor(float32, {size})};
    return plan.program_for(feeds);
  };
  const auto generic = program_for(1);
  EXPECT_EQ(program_for(1), generic);
  EXPECT_EQ(generic->arena_bytes, 0U);
  EXPECT_EQ(plan.num_specialisations(), 0U);
  const auto special = program_for(1);
  EXPECT_NE(special, generic);
  EXPECT_EQ(program_for(1), special);
  EXPECT_EQ(program_for(2), generic);
  EXPECT_TRUE(plan.holds(special.get()));
  EXPECT_TRUE(plan.holds(generic.get()));
  // The least recently used one goes.
  for (std::int64_t size = 10; size < 10 + static_cast<std::int64_t>(Plan::kMaxSpecialisations) - 1; ++size) {
    for (int i = 0; i < 3; ++i) program_for(size);
    EXPECT_EQ(program_for(1), special);
  }
  for (int i = 0; i < 3; ++i) program_for(100);
  EXPECT_EQ(program_for(1), special);
  EXPECT_LE(plan.num_specialisations(), Plan::kMaxSpecialisations);
  for (std::int64_t size = 200; size < 200 + static_cast<std::int64_t>(Plan::kMaxSpecialisations); ++size) {
    program_for(size);
  }
  EXPECT_FALSE(plan.holds(special.get()));
  EXPECT_EQ(plan.num_specialisations(), 0U);
  EXPECT_EQ(program_for(1), generic);
}

}  // namespace
}  // namespace caudal
