#include "caudal/ops/stage_ops.h"

#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/runtime/session.h"
#include "tests/harness/op_samples.h"

namespace caudal {
namespace {

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

class StageOps : public testing::Test {
 protected:
  Graph graph_;
  GraphScope scope_{graph_};
};

TEST_F(StageOps, HandTuplesOn) {
  const StagingArea area({float32, string}, {.shapes = {{2}, {1}}});
  const Output x = placeholder(float32), word = placeholder(string);
  const Operation put = area.put({x, word}), clear = area.clear();
  EXPECT_EQ(put.name(), "StagingArea_put");
  const auto next = area.get(), second = area.peek(1);
  EXPECT_EQ(next[0].shape(), (PartialShape{2}));
  const Output size = area.size();
  Session session;
  for (int i = 0; i < 3; ++i) {
    session.run(put, {{x, Tensor(std::vector<float>{1.F * i, 2.F})},
                      {word, Tensor(std::vector<std::string>{"w" + std::to_string(i)})}});
  }
  EXPECT_EQ(session.run(second[1]).item<std::string>(), "w1");
  EXPECT_EQ(session.run(next[1]).item<std::string>(), "w0");
  EXPECT_EQ(session.run(size).item<int>(), 2);
  session.run(clear);
  EXPECT_EQ(session.run(size).item<int>(), 0);
}

TEST_F(StageOps, WaitForRoom) {
  const StagingArea area({int32}, {.shapes = {PartialShape::scalar()}, .capacity = 1});
  const Output x = placeholder(int32);
  const Operation put = area.put({x});
  const Output next = area.get()[0];
  Session session;
  std::thread producer([&] {
    for (int i = 0; i < 50; ++i) session.run(put, {{x, Tensor(i)}});
  });
  for (int i = 0; i < 50; ++i) EXPECT_EQ(session.run(next).item<int>(), i);
  producer.join();
}

TEST_F(StageOps, RefuseWhatNeverFits) {
  const StagingArea area({float32}, {.memory_limit = 10});
  Session session;
  EXPECT_NE(error_of([&] { session.run(area.put({Tensor::zeros(float32, {3})})); })
                .find("RESOURCE_EXHAUSTED: Stage 'StagingArea_put': Attempted to insert tensors with combined size of "
                      "'12' bytes into Staging Area with a memory limit of '10'."),
            std::string::npos);
  EXPECT_NE(error_of([&] { area.put({Tensor(1)}); }).find("component 0 of StagingArea is float32"), std::string::npos);
  EXPECT_NE(error_of([&] { area.put({}); }).find("Unexpected number of inputs 0 vs 1"), std::string::npos);
  EXPECT_NE(error_of([&] { session.run(area.peek(-1)[0]); }).find("index is -1 < 0"), std::string::npos);
}

TEST_F(StageOps, RunsThatWaitCanBeCancelled) {
  const StagingArea area({int32});
  const Output next = area.get()[0];
  Session session;
  CancellationToken token;
  std::thread canceller([&] { token.cancel(cancelled("enough")); });
  EXPECT_NE(error_of([&] { session.run(next, {}, {.cancellation = &token}); }).find("CANCELLED"), std::string::npos);
  canceller.join();
  session.run(area.put({7}));
  EXPECT_EQ(session.run(next).item<int>(), 7);
}

class MapStageOps : public testing::TestWithParam<bool> {
 protected:
  Graph graph_;
  GraphScope scope_{graph_};
  MapStagingArea area_{{float32, int32}, {.ordered = GetParam()}};
  Session session_;
};
INSTANTIATE_TEST_SUITE_P(, MapStageOps, testing::Bool(),
                         [](const auto& info) { return info.param ? "Ordered" : "Unordered"; });

TEST_P(MapStageOps, FindByKey) {
  session_.run(area_.put(3, {Tensor(3.F), 30}));
  session_.run(area_.put(1, {Tensor(1.F), 10}));
  session_.run(area_.put(2, {Tensor(2.F), 20}));
  EXPECT_EQ(session_.run(area_.size()).item<int>(), 3);
  EXPECT_EQ(session_.run(area_.peek(2)[1]).item<int>(), 20);
  EXPECT_EQ(session_.run(area_.get(2)[1]).item<int>(), 20);
  const auto any = area_.get_any();
  const auto first = session_.run({any.first, any.second[1]});
  EXPECT_EQ(first[0].item<std::int64_t>() * 10, first[1].item<int>());
  if (GetParam()) {
    EXPECT_EQ(first[1].item<int>(), 10);
  }
  session_.run(area_.clear());
  EXPECT_EQ(session_.run(area_.size()).item<int>(), 0);
}

TEST_P(MapStageOps, TakeComponentsApart) {
  session_.run(area_.put(1, {5}, {1}));
  EXPECT_EQ(session_.run(area_.size()).item<int>(), 0);
  EXPECT_EQ(session_.run(area_.incomplete_size()).item<int>(), 1);
  EXPECT_NE(error_of([&] {
              session_.run(area_.put(1, {6}, {1}));
            }).find("The tensor for index '1' for key '1' was already initialized '2'."),
            std::string::npos);
  session_.run(area_.put(1, {2.5F}, {0}));
  EXPECT_EQ(session_.run(area_.incomplete_size()).item<int>(), 0);
  EXPECT_EQ(session_.run(area_.size()).item<int>(), 1);
  EXPECT_EQ(session_.run(area_.get(1, {1})[0]).item<int>(), 5);
  EXPECT_EQ(session_.run(area_.size()).item<int>(), 1);
  EXPECT_NE(error_of([&] {
              session_.run(area_.get(1, {1})[0]);
            }).find("Tensor at index '1' for key '1' has already been removed."),
            std::string::npos);
  EXPECT_EQ(session_.run(area_.get(1, {0})[0]).item<float>(), 2.5F);
  EXPECT_EQ(session_.run(area_.size()).item<int>(), 0);
}

TEST_P(MapStageOps, RefuseBadKeysAndIndices) {
  const Output key = placeholder(int64);
  const Operation put = area_.put(key, {1.F, 2});
  const Output get = area_.get(key)[0];
  const Tensor none(std::vector<std::int64_t>{}), two(std::vector<std::int64_t>{1, 2}),
      one(std::vector<std::int64_t>{1});
  EXPECT_NE(error_of([&] { session_.run(put, {{key, none}}); }).find("key must not be empty"), std::string::npos);
  EXPECT_NE(error_of([&] {
              session_.run(put, {{key, two}});
            }).find("key must be an int64 scalar, got tensor with shape: [2]"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              session_.run(get, {{key, one}});
            }).find("key must be an int64 scalar: [1]"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              session_.run(area_.put(1, {2, 1.F}, {1, 0}));
            }).find("Indices are not strictly ordered"),
            std::string::npos);
  EXPECT_NE(error_of([&] { area_.get(1, {2}); }).find("none at 2"), std::string::npos);
}

// Names of tests that exist, for the harness.
TEST(StagingMaps, CoverBothKinds) {
  for (const bool ordered : {false, true}) {
    Graph graph;
    const GraphScope scope(graph);
    const MapStagingArea area({int32, int32}, {.ordered = ordered, .capacity = 2, .memory_limit = 100});
    Session session;
    session.run(area.put(4, {1, 2}));
    session.run(area.put(5, {3}, {0}));
    EXPECT_EQ(session.run(area.incomplete_size()).item<int>(), 1);
    EXPECT_EQ(session.run(area.peek(4, {1})[0]).item<int>(), 2);
    EXPECT_EQ(session.run(area.get(4, {0})[0]).item<int>(), 1);
    EXPECT_EQ(session.run(area.get_any({1}).second[0]).item<int>(), 2);
    EXPECT_EQ(session.run(area.size()).item<int>(), 0);
    session.run(area.clear());
    EXPECT_EQ(session.run(area.incomplete_size()).item<int>(), 0);
  }
}

CAUDAL_OP_SAMPLES(Stage) { samples.covered_by("StageOps.HandTuplesOn"); }
CAUDAL_OP_SAMPLES(Unstage) { samples.covered_by("StageOps.HandTuplesOn"); }
CAUDAL_OP_SAMPLES(StagePeek) { samples.covered_by("StageOps.HandTuplesOn"); }
CAUDAL_OP_SAMPLES(StageSize) { samples.covered_by("StageOps.HandTuplesOn"); }
CAUDAL_OP_SAMPLES(StageClear) { samples.covered_by("StageOps.HandTuplesOn"); }
#define CAUDAL_MAP_SAMPLES(op) \
  CAUDAL_OP_SAMPLES(op) { samples.covered_by("StagingMaps.CoverBothKinds"); }
CAUDAL_MAP_SAMPLES(MapStage)
CAUDAL_MAP_SAMPLES(MapUnstage)
CAUDAL_MAP_SAMPLES(MapUnstageNoKey)
CAUDAL_MAP_SAMPLES(MapPeek)
CAUDAL_MAP_SAMPLES(MapSize)
CAUDAL_MAP_SAMPLES(MapIncompleteSize)
CAUDAL_MAP_SAMPLES(MapClear)
CAUDAL_MAP_SAMPLES(OrderedMapStage)
CAUDAL_MAP_SAMPLES(OrderedMapUnstage)
CAUDAL_MAP_SAMPLES(OrderedMapUnstageNoKey)
CAUDAL_MAP_SAMPLES(OrderedMapPeek)
CAUDAL_MAP_SAMPLES(OrderedMapSize)
CAUDAL_MAP_SAMPLES(OrderedMapIncompleteSize)
CAUDAL_MAP_SAMPLES(OrderedMapClear)

}  // namespace
}  // namespace caudal
