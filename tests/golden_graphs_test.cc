// A graph and checkpoints made by TensorFlow 2.21 (testdata/golden) give the outputs that it stored.
#include <gtest/gtest.h>

#include <cmath>

#include "caudal/base/env.h"
#include "caudal/formats/npy.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/matmul.h"
#include "caudal/ops/variable.h"
#include "caudal/proto/graph_io.h"
#include "caudal/runtime/session.h"
#include "caudal/train/saver.h"

namespace caudal {
namespace {

std::string golden(const std::string& name) { return std::string(CAUDAL_SOURCE_DIR) + "/testdata/golden/" + name; }

void expect_close(const Tensor& got, const Tensor& want, float tolerance) {
  ASSERT_EQ(got.shape(), want.shape());
  for (std::int64_t i = 0; i < want.num_elements(); ++i) {
    const float a = got.data<float>()[i], b = want.data<float>()[i];
    ASSERT_LE(std::fabs(a - b), tolerance * (1 + std::fabs(b))) << "element " << i;
  }
}

class GoldenFrozenCnn : public ::testing::TestWithParam<const char*> {};

TEST_P(GoldenFrozenCnn, GivesTheStoredOutputs) {
  Graph graph;
  import_graph_file(golden(std::string("graphs/frozen_cnn/") + GetParam()), graph);
  const NamedTensors stored = read_npz(default_env(), golden("graphs/frozen_cnn/expected.npz"));
  Session session(graph);
  const Tensor& input = stored.at("input");
  for (int run = 0; run < 3; ++run) {  // the plan specialises in between
    const auto results = session.run(Fetches{"probs:0", "AvgPool:0"}, {{"input:0", input}});
    expect_close(results[0], stored.at("probs"), 1e-5F);
    expect_close(results[1], stored.at("pool2"), 1e-5F);
  }
  // Picture by picture: another batch size.
  for (std::int64_t i = 0; i < input.dim(0); ++i) {
    expect_close(session.run(Fetches{"probs:0"}, {{"input:0", input.rows(i, i + 1)}})[0],
                 stored.at("probs").rows(i, i + 1), 1e-5F);
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, GoldenFrozenCnn, ::testing::Values("frozen.pb", "frozen.pbtxt"),
                         [](const auto& info) { return std::string(info.param).ends_with("txt") ? "Text" : "Binary"; });

TEST(GoldenFrozenCnn, SurvivesAWayThroughBothForms) {
  Graph graph, from_bytes, from_text;
  import_graph_file(golden("graphs/frozen_cnn/frozen.pb"), graph);
  import_graph(graph_to_bytes(graph), from_bytes);
  import_graph(graph_to_text(from_bytes), from_text);
  EXPECT_EQ(graph_to_text(graph), graph_to_text(from_text));
}

// Variables of a program of ours take their values from TensorFlow's checkpoint, whole and sharded.
class GoldenCheckpoint : public ::testing::TestWithParam<const char*> {};

TEST_P(GoldenCheckpoint, RestoresIntoVariables) {
  Graph graph;
  const GraphScope scope(graph);
  const Variable embedding(Tensor::zeros(float32, {10, 4}), {.name = "p/emb"});
  const Variable weights(Tensor::zeros(float32, {3, 5}), {.name = "q/w", .use_resource = true});
  const Variable step(Tensor(std::int64_t{0}), {.trainable = false, .name = "step"});
  const Variable names(Tensor(std::vector<std::string>(3)), {.trainable = false, .name = "names"});
  Session session;
  const std::string directory = golden(std::string("checkpoints/") + GetParam());
  train::Saver saver;
  saver.restore(session, train::latest_checkpoint(directory));
  EXPECT_EQ(session.run(step).item<std::int64_t>(), 42);
  EXPECT_EQ(session.run(names).to_vector<std::string>(), (std::vector<std::string>{"un", "deux", ""}));
  EXPECT_EQ(session.run(weights).at<float>(0, 0), -0.4983511F);
  // First row of emb times the vector of ones, by hand from expected.json.
  const Output ones = constant(Tensor::from<float>({4, 1}, {1, 1, 1, 1}));
  const float sum = -0.7428596F - 0.0014442751F + 0.20299672F - 0.942622F;
  EXPECT_NEAR(session.run(matmul(embedding, ones)).at<float>(0, 0), sum, 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Layouts, GoldenCheckpoint, ::testing::Values("v2_partitioned", "v2_sharded"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace caudal
