// Pipelines that TensorFlow 2.21 built and ran (testdata/golden/datasets): the same elements in the same order, and the
// same end. Graphs name their files relative to that folder.
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/proto/graph_io.h"
#include "caudal/runtime/session.h"
#include "tests/harness/json_data.h"

namespace caudal {
namespace {

using Json = nlohmann::json;

// The process works in a folder while this lives.
class WorkIn {
 public:
  explicit WorkIn(const std::string& folder) {
    char before[4096];
    if (getcwd(before, sizeof before) != nullptr) before_ = before;
    EXPECT_EQ(chdir(folder.c_str()), 0);
  }
  ~WorkIn() { EXPECT_EQ(chdir(before_.c_str()), 0); }

 private:
  std::string before_;
};

TEST(GoldenDatasets, GiveTensorFlowsElements) {
  const std::string folder = std::string(CAUDAL_SOURCE_DIR) + "/testdata/golden/datasets";
  const WorkIn there(folder);
  const Json all = Json::parse(read_file(default_env(), "expected.json"));
  ASSERT_GE(all.size(), 20U);
  for (const auto& [name, facts] : all.items()) {
    SCOPED_TRACE(name);
    Graph graph;
    {
      const GraphScope scope(graph);
      import_graph_file(facts.at("graph").get<std::string>());
    }
    Session session(graph);
    if (!facts.at("init_op").is_null()) session.run(graph.operation(facts.at("init_op").get<std::string>()));
    Fetches fetches;
    for (const Json& fetch : facts.at("fetch")) fetches.emplace_back(fetch.get<std::string>());
    int step = 0;
    for (const Json& wanted : facts.at("sequence")) {
      SCOPED_TRACE(step++);
      if (wanted.is_object()) {
        try {
          session.run(fetches);
          ADD_FAILURE() << "no error";
        } catch (const Error& error) {
          EXPECT_EQ(static_cast<int>(error.code()), wanted.at("code").get<int>()) << error.what();
        }
        continue;
      }
      const std::vector<Tensor> values = session.run(fetches);
      for (std::size_t i = 0; i < values.size(); ++i) {
        const Tensor want = harness::parse_tensor(wanted[i].dump());
        EXPECT_TRUE(identical(values[i], want)) << values[i].to_string() << " for " << want.to_string();
      }
    }
  }
}

}  // namespace
}  // namespace caudal
