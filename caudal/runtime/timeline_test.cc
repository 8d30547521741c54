#include "caudal/runtime/timeline.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/runtime/session.h"

namespace caudal {
namespace {

TEST(TimelineTracer, WritesAnEventPerCallWithARowPerThread) {
  TimelineTracer timeline;
  timeline.record("a/b", "MatMul", 1'000'000, 1'002'500);
  std::thread([&] { timeline.record("quote\"d\n", "Add", 1'001'000, 1'001'007); }).join();
  const auto json = nlohmann::json::parse(timeline.json());
  std::vector<nlohmann::json> bars;
  for (const auto& event : json["traceEvents"]) {
    if (event["ph"] == "X") bars.push_back(event);
  }
  ASSERT_EQ(bars.size(), 2);
  EXPECT_EQ(bars[0]["name"], "MatMul");
  EXPECT_EQ(bars[0]["args"]["node"], "a/b");
  EXPECT_EQ(bars[0]["ts"], 0.0);
  EXPECT_EQ(bars[0]["dur"], 2.5);
  EXPECT_EQ(bars[1]["args"]["node"], "quote\"d\n");
  EXPECT_EQ(bars[1]["ts"], 1.0);
  EXPECT_EQ(bars[1]["dur"], 0.007);
  EXPECT_NE(bars[0]["tid"], bars[1]["tid"]);
}

TEST(TimelineTracer, IsEmptyWithoutRuns) {
  const auto json = nlohmann::json::parse(TimelineTracer().json());
  EXPECT_EQ(json["traceEvents"].size(), 1);  // the process's name
}

TEST(TimelineTracer, SeesTheNodesOfARun) {
  Graph graph;
  const GraphScope scope(graph);
  const Output x = placeholder(float32, {2}, {.name = "x"});
  const Output y = sqrt(x, {.name = "root"});
  Session session;
  TimelineTracer timeline;
  session.run(Fetches{y}, {{x, Tensor(std::vector<float>{4, 9})}}, {.tracer = &timeline});
  bool seen = false;
  for (const auto& event : timeline.events()) {
    EXPECT_LE(event.start, event.end);
    seen |= event.node == "root" && event.op == "Sqrt";
  }
  EXPECT_TRUE(seen);
}

}  // namespace
}  // namespace caudal
