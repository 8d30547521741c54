// Graphs with a function library made by TensorFlow 2.21 (testdata/golden/graphs/control_flow_v2: While, If, Case,
// PartitionedCall and their gradient functions) give the results that it stored, as they are and after a way through
// our own writers.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "caudal/base/env.h"
#include "caudal/graph/scope.h"
#include "caudal/proto/graph_io.h"
#include "caudal/runtime/session.h"
#include "tests/harness/json_data.h"

namespace caudal {
namespace {

using Json = nlohmann::json;

std::string golden(const std::string& name) {
  return std::string(CAUDAL_SOURCE_DIR) + "/testdata/golden/graphs/" + name;
}

void expect_stored_results(Graph& graph, const SessionOptions& options = {}) {
  const Json cases = Json::parse(read_file(default_env(), golden("expected.json"))).at("control_flow_v2");
  Session session(graph, options);
  for (int round = 0; round < 3; ++round) {  // functions specialise in between
    for (const Json& one : cases) {
      Feeds feeds;
      for (const auto& [name, value] : one.at("feed").items()) {
        feeds.emplace_back(name, harness::parse_tensor(value.dump()));
      }
      for (const auto& [name, value] : one.at("fetch").items()) {
        const Tensor want = harness::parse_tensor(value.dump());
        const Tensor got = session.run(Fetches{name}, feeds)[0];
        ASSERT_EQ(got.shape(), want.shape()) << name;
        for (std::int64_t i = 0; i < want.num_elements(); ++i) {
          const float expected = want.data<float>()[i];
          EXPECT_NEAR(got.data<float>()[i], expected, 1e-5 * (1 + std::fabs(expected))) << name << ' ' << i;
        }
      }
    }
  }
}

TEST(GoldenFunctions, GiveTheStoredResults) {
  Graph graph;
  import_graph_file(golden("control_flow_v2/graph.pb"), graph);
  expect_stored_results(graph);
}

TEST(GoldenFunctions, GiveThemWithoutAnyOptimisation) {
  Graph graph;
  import_graph_file(golden("control_flow_v2/graph.pb"), graph);
  SessionOptions options;
  options.plan.fold_constants = false;
  options.plan.share_subexpressions = false;
  options.plan.in_place = false;
  options.plan.specialise = false;
  expect_stored_results(graph, options);
}

TEST(GoldenFunctions, SurviveAWayThroughBothForms) {
  Graph graph, from_bytes, from_text;
  import_graph_file(golden("control_flow_v2/graph.pb"), graph);
  import_graph(graph_to_bytes(graph), from_bytes);
  import_graph(graph_to_text(from_bytes), from_text);
  EXPECT_EQ(graph_to_text(graph), graph_to_text(from_text));
  expect_stored_results(from_text);
}

}  // namespace
}  // namespace caudal
