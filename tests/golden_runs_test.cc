// Graphs made, saved and trained by TensorFlow 2.21 (testdata/golden/graphs) run as they ran there: the same losses,
// the same values of variables, the same results and codes. A folder is a line in one of the lists below; what it must
// give stands in expected.json and the folder's expected.npz.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "caudal/base/env.h"
#include "caudal/formats/npy.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/gather_ops.h"
#include "caudal/ops/reduction.h"
#include "caudal/proto/graph_io.h"
#include "caudal/runtime/session.h"
#include "caudal/train/freeze.h"
#include "caudal/train/optimizer.h"
#include "caudal/train/saver.h"
#include "tests/harness/json_data.h"

namespace caudal {
namespace {

using Json = nlohmann::json;

std::string golden(const std::string& name) {
  return std::string(CAUDAL_SOURCE_DIR) + "/testdata/golden/graphs/" + name;
}

const Json& expected(const std::string& folder) {
  static const Json all = Json::parse(read_file(default_env(), golden("expected.json")));
  return all.at(folder);
}

Tensor tensor_of(const Json& json) { return harness::parse_tensor(json.dump()); }

// Within `tolerance` of 1 + |want|; integers exactly.
void expect_close(const Tensor& got, const Tensor& want, double tolerance, const std::string& what) {
  ASSERT_EQ(got.dtype(), want.dtype()) << what;
  ASSERT_EQ(got.shape(), want.shape()) << what;
  if (want.dtype() != float32) {
    EXPECT_TRUE(identical(got, want)) << what << ": " << got.to_string() << " instead of " << want.to_string();
    return;
  }
  for (std::int64_t i = 0; i < want.num_elements(); ++i) {
    const double a = got.data<float>()[i], b = want.data<float>()[i];
    ASSERT_LE(std::fabs(a - b), tolerance * (1 + std::fabs(b))) << what << ", element " << i;
  }
}

// Every seventh row, and column where the file has fewer of them: how large arrays are stored.
Tensor thinned(const Tensor& full, const Shape& stored) {
  if (full.shape() == stored) return full;
  const std::int64_t columns = full.dim(1), step = stored[1] == columns ? 1 : 7;
  Tensor part(float32, stored);
  for (std::int64_t i = 0; i < stored[0]; ++i) {
    for (std::int64_t j = 0; j < stored[1]; ++j) {
      part.data<float>()[i * stored[1] + j] = full.data<float>()[7 * i * columns + step * j];
    }
  }
  return part;
}

class GoldenTraining : public ::testing::TestWithParam<const char*> {
 protected:
  GoldenTraining() : scope_(graph_), folder_(GetParam()), facts_(expected(folder_)) {
    stored_ = read_npz(default_env(), golden(folder_ + "/expected.npz"));
    for (const auto& [tensor, key] : facts_.at("feeds").items()) {
      // Where a flag is fed, it is for training.
      if (key == "bool") {
        feeds_.emplace_back(tensor, Tensor(true));
      } else {
        feeds_.emplace_back(tensor, stored_.at(key.get<std::string>()));
      }
    }
  }

  // Checks an array of the file, if it has it.
  void check(Session& session, const std::string& key, const std::string& fetch, const Feeds& feeds) {
    if (stored_.contains(key)) {
      expect_close(session.run(Fetches{fetch}, feeds)[0], stored_.at(key), 1e-5, key);
    }
  }

  // Frozen as it is now, the graph gives on its own what it gives with its variables.
  void check_frozen(Session& session, const std::string& outputs) {
    Graph frozen;
    graph_util::convert_variables_to_constants(session, {outputs}, frozen);
    for (const Node* node : frozen.nodes()) EXPECT_EQ(node->type().find("Variable"), std::string::npos);
    Feeds feeds = without_flags();
    std::erase_if(feeds,
                  [&](const Feed& feed) { return frozen.find(feed.name.substr(0, feed.name.find(':'))) == nullptr; });
    Session alone(frozen);
    EXPECT_TRUE(identical(alone.run(Fetches{outputs}, feeds)[0], session.run(Fetches{outputs}, feeds)[0]));
  }

  void check_variables(Session& session, const std::string& prefix) {
    for (const auto& [key, value] : stored_) {
      if (!key.starts_with(prefix)) continue;
      const Tensor got = session.run(graph_.tensor(key.substr(prefix.size())));
      expect_close(thinned(got, value.shape()), value, 1e-5, key);
    }
  }

  Feeds without_flags() const {
    Feeds feeds;
    for (const Feed& feed : feeds_) {
      if (feed.value.dtype() != DType::kBool) feeds.push_back(feed);
    }
    return feeds;
  }

  Graph graph_;
  const GraphScope scope_;
  const std::string folder_;
  const Json& facts_;
  NamedTensors stored_;
  Feeds feeds_;
};

TEST_P(GoldenTraining, GivesTheStoredLosses) {
  auto saver = train::import_meta_graph(golden(folder_ + "/" + facts_.at("meta").get<std::string>()));
  ASSERT_TRUE(saver.has_value());
  Session session;
  saver->restore(session, golden(folder_ + "/" + facts_.at("checkpoint").get<std::string>()));

  const std::string outputs = facts_.contains("logits") ? facts_.at("logits") : facts_.at("outputs");
  check(session, "logits_before", outputs, feeds_);
  check(session, "outputs_before", outputs, feeds_);
  check(session, "infer_before", outputs, without_flags());
  check(session, "train_mode_logits_before", outputs, feeds_);
  check_frozen(session, outputs);
  const std::string loss = facts_.at("loss"), train_op = facts_.at("train_op");
  const Json& losses = facts_.at("loss_values");
  const bool ends_with_a_loss = folder_ == "dnn_ch11";  // after the last step
  for (std::size_t step = 0; step < losses.size(); ++step) {
    const bool trains = !(ends_with_a_loss && step + 1 == losses.size());
    const auto results = session.run(trains ? Fetches{loss, train_op} : Fetches{loss}, feeds_);
    EXPECT_NEAR(results[0].item<float>(), losses[step].get<float>(), 1e-5) << "step " << step + 1;
    check_variables(session, "step" + std::to_string(step + 1) + "/");
  }
  check(session, "logits_after", outputs, feeds_);
  check(session, "outputs_after", outputs, feeds_);
  check(session, "infer_after", outputs, without_flags());
  check_variables(session, "after/");
}

INSTANTIATE_TEST_SUITE_P(Folders, GoldenTraining, ::testing::Values("dnn_ch11", "batch_norm", "cnn_ch13", "rnn_v1"),
                         [](const auto& info) { return std::string(info.param); });

// Partitioned embedding, gradients of rows, clipping by the global norm and decay.
TEST(GoldenEmbedding, TrainsAsStored) {
  Graph graph;
  const GraphScope scope(graph);
  const Json& facts = expected("embedding");
  auto saver = train::import_meta_graph(golden("embedding/" + facts.at("meta").get<std::string>()));
  Session session;
  saver->restore(session, golden("embedding/" + facts.at("checkpoint").get<std::string>()));
  const Feeds feeds{{"ids:0", tensor_of(facts.at("ids"))}, {"t:0", tensor_of(facts.at("t"))}};
  for (const Json& step : facts.at("loss, global_norm, lr before each step")) {
    const auto values = session.run(Fetches{"loss:0", "global_norm_1:0", "lr:0"}, feeds);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(values[i].item<float>(), step[i].get<float>(), 1e-6);
    session.run(Fetches{"train_op"}, feeds);
  }
  const Tensor table = tensor_of(facts.at("table_after"));
  const auto parts = session.run(Fetches{"emb/table/part_0:0", "emb/table/part_1:0"});
  expect_close(parts[0], table.rows(0, parts[0].dim(0)), 1e-6, "first part");
  expect_close(parts[1], table.rows(parts[0].dim(0), table.dim(0)), 1e-6, "second part");
  expect_close(session.run(graph.tensor("w")), tensor_of(facts.at("w_after")), 1e-6, "w");
  // Made of the variable's read under a control dependency on the step: it sees each step's result.
  expect_close(session.run(graph.tensor(facts.at("ema_name").get<std::string>())), tensor_of(facts.at("w_ema_after")),
               1e-6, "moving average of w");
  EXPECT_EQ(session.run(graph.tensor("global_step")).item<std::int64_t>(), facts.at("global_step_after"));
}

// One small problem, minimised by optimisers of TensorFlow.
class GoldenOptimizerGraph : public ::testing::TestWithParam<const char*> {};

TEST_P(GoldenOptimizerGraph, StepsAsStored) {
  const std::string name = GetParam();  // "adam_sparse"
  std::string key = name;
  key[key.find('_')] = '/';
  const Json& facts = expected("optimizers").at("results").at(key);
  Graph graph;
  const GraphScope scope(graph);
  train::import_meta_graph(golden("optimizers/" + name + ".meta"));
  Session session;
  session.run(global_variables_initializer());
  const std::string optimizer = name.starts_with("adam") ? "Adam" : "Momentum";
  for (const Json& loss : facts.at("loss_before_each_step")) {
    EXPECT_NEAR(session.run(Fetches{"Sum:0"})[0].item<float>(), loss.get<float>(), 1e-5);
    session.run(Fetches{optimizer});
  }
  expect_close(session.run(graph.tensor("v")), tensor_of(facts.at("v_after_4")), 1e-5, "v");
  const std::vector<std::string> suffixes = {"", "_1"};
  std::size_t i = 0;
  for (const auto& [slot, value] : facts.at("slots").items()) {
    expect_close(session.run(graph.tensor("v/" + optimizer + suffixes[i++])), tensor_of(value), 1e-5, slot);
  }
}

INSTANTIATE_TEST_SUITE_P(Files, GoldenOptimizerGraph,
                         ::testing::Values("adam_dense", "adam_sparse", "momentum_dense", "momentum_sparse"),
                         [](const auto& info) { return std::string(info.param); });

// The same problem and optimisers of ours; a further one is a line.
struct OptimizerCase {
  const char* name;  // in expected.json
  std::function<std::unique_ptr<train::Optimizer>()> make;
};
template <class Optimizer>
std::unique_ptr<train::Optimizer> made(const Optimizer& optimizer) {
  return std::make_unique<Optimizer>(optimizer);
}
const OptimizerCase kOptimizers[] = {
    {"sgd", [] { return made(train::GradientDescentOptimizer({.learning_rate = 0.1})); }},
    {"momentum", [] { return made(train::MomentumOptimizer({.learning_rate = 0.1, .momentum = 0.9})); }},
    {"nesterov",
     [] { return made(train::MomentumOptimizer({.learning_rate = 0.1, .momentum = 0.9, .use_nesterov = true})); }},
    {"adagrad", [] { return made(train::AdagradOptimizer({.learning_rate = 0.1})); }},
    {"adadelta", [] { return made(train::AdadeltaOptimizer({.learning_rate = 1.0})); }},
    {"adam", [] { return made(train::AdamOptimizer({.learning_rate = 0.1})); }},
    {"rmsprop", [] { return made(train::RMSPropOptimizer({.learning_rate = 0.1})); }},
    {"rmsprop_momentum", [] { return made(train::RMSPropOptimizer({.learning_rate = 0.1, .momentum = 0.5})); }},
    {"rmsprop_centered", [] { return made(train::RMSPropOptimizer({.learning_rate = 0.1, .centered = true})); }},
    {"ftrl",
     [] {
       return made(train::FtrlOptimizer(
           {.learning_rate = 0.1, .l1_regularization_strength = 0.01F, .l2_regularization_strength = 0.01F}));
     }},
    {"proximal_sgd",
     [] {
       return made(train::ProximalGradientDescentOptimizer(
           {.learning_rate = 0.1, .l1_regularization_strength = 0.01, .l2_regularization_strength = 0.01}));
     }},
    {"proximal_adagrad",
     [] {
       return made(train::ProximalAdagradOptimizer(
           {.learning_rate = 0.1, .l1_regularization_strength = 0.01, .l2_regularization_strength = 0.01}));
     }},
};

class GoldenOptimizer : public ::testing::TestWithParam<std::tuple<int, bool, bool>> {};

TEST_P(GoldenOptimizer, StepsAsStored) {
  const auto [index, sparse, use_resource] = GetParam();
  const OptimizerCase& optimizer_case = kOptimizers[index];
  const Json& all = expected("optimizers");
  const Json& facts = all.at("results").at(optimizer_case.name + std::string(sparse ? "/sparse" : "/dense"));
  Graph graph;
  const GraphScope scope(graph);
  const Variable v(tensor_of(all.at("v_initial")), {.name = "v", .use_resource = use_resource});
  const Output t = sparse ? gather(v, {0, 2, 0}) : v.value();
  const Output loss = reduce_sum(square(subtract(t, 0.5F)));
  const auto optimizer = optimizer_case.make();
  const Operation train = optimizer->minimize(loss);
  Session session;
  session.run(global_variables_initializer());
  for (const Json& before : facts.at("loss_before_each_step")) {
    const double expected_loss = before;
    EXPECT_NEAR(session.run(loss).item<float>(), expected_loss, 1e-6 * (1 + expected_loss));
    session.run(train);
  }
  expect_close(session.run(v), tensor_of(facts.at("v_after_4")), 1e-6, "v");
  for (const auto& [name, value] : facts.at("slots").items()) {
    expect_close(session.run(optimizer->slot(v, name)), tensor_of(value), 1e-6, name);
  }
}

std::vector<std::tuple<int, bool, bool>> optimizer_cases() {
  std::vector<std::tuple<int, bool, bool>> cases;
  for (int i = 0; i < static_cast<int>(std::size(kOptimizers)); ++i) {
    for (const bool use_resource : {false, true}) {
      for (const bool sparse : {false, true}) cases.emplace_back(i, sparse, use_resource);
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, GoldenOptimizer, ::testing::ValuesIn(optimizer_cases()), [](const auto& info) {
  return std::string(kOptimizers[std::get<0>(info.param)].name) + (std::get<1>(info.param) ? "Sparse" : "Dense") +
         (std::get<2>(info.param) ? "Resource" : "Reference");
});

// Queues, a reader of lines and decoded CSV, step by step, with the codes at their ends.
TEST(GoldenQueues, StepAsStored) {
  Graph graph;
  const GraphScope scope(graph);
  const Json& facts = expected("queues_ch12");
  train::import_meta_graph(golden("queues_ch12/" + facts.at("meta").get<std::string>()));
  Session session;
  for (const Json& step : facts.at("steps")) {
    Feeds feeds;
    const Json files = step.value("feed", Json::object());
    for (const auto& [name, file] : files.items()) {
      feeds.emplace_back(name, Tensor(golden("queues_ch12/" + file.get<std::string>())));
    }
    const std::string what = step.at("run");
    const Fetches fetches = what == "dequeue" ? Fetches{"dequeue:0", "dequeue:1"} : Fetches{what};
    try {
      const auto values = session.run(fetches, feeds);
      EXPECT_FALSE(step.contains("code")) << step.dump();
      if (!step.contains("features")) continue;
      expect_close(values[0], tensor_of(step.at("features")), 0, step.dump());
      expect_close(values[1], tensor_of(step.at("targets")), 0, step.dump());
    } catch (const Error& error) {
      EXPECT_EQ(static_cast<int>(error.code()), step.value("code", 0)) << step.dump() << error.what();
    }
  }
}

// A GraphDef and what it gives for several feeds.
class GoldenCases : public ::testing::TestWithParam<const char*> {};

TEST_P(GoldenCases, GiveTheStoredResults) {
  const std::string folder = GetParam();
  Graph graph;
  import_graph_file(golden(folder + "/graph.pb"), graph);
  Session session(graph);
  for (const Json& example : expected(folder)) {
    Feeds feeds;
    for (const auto& [name, value] : example.at("feed").items()) feeds.emplace_back(name, tensor_of(value));
    for (const auto& [name, value] : example.at("fetch").items()) {
      expect_close(session.run(Fetches{name}, feeds)[0], tensor_of(value), 1e-5,
                   name + " " + example.at("feed").dump());
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Folders, GoldenCases, ::testing::Values("control_flow_v1", "control_flow_v2"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace caudal
