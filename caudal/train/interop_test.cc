// Weights that cross between TensorFlow and this library. tests/python/weights_test.py runs this with
// CAUDAL_INTEROP_DIR set to a folder with checkpoints of TensorFlow, and reads what is written here with TensorFlow.
// Without it the checkpoints of an own model, and golden ones, stand for TensorFlow's.
#include <gtest/gtest.h>

#include <cstdlib>

#include "caudal/base/env.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/matmul.h"
#include "caudal/ops/reduction.h"
#include "caudal/train/object_checkpoint.h"
#include "caudal/train/optimizer.h"
#include "caudal/train/saver.h"

namespace caudal::train {
namespace {

class WeightsInterop : public ::testing::Test {
 protected:
  WeightsInterop() : scope_(graph_) {}
  static bool live() { return std::getenv("CAUDAL_INTEROP_DIR") != nullptr; }
  std::string file(const std::string& name) const {
    return join_path(live() ? std::string(std::getenv("CAUDAL_INTEROP_DIR")) : scratch_.path(), name);
  }

  const TempDir scratch_;
  Graph graph_;
  const GraphScope scope_;
};

// A dense layer that Adam trains. The Python side builds the same.
struct Model {
  explicit Model(bool use_resource)
      : kernel(Tensor::from<float>({2, 3}, {0.1F, 0.2F, 0.3F, 0.4F, 0.5F, 0.6F}),
               {.name = "dense/kernel", .use_resource = use_resource}),
        bias(Tensor::zeros(float32, {3}), {.name = "dense/bias", .use_resource = use_resource}) {
    const Output x = constant(Tensor::from<float>({2, 2}, {1, 2, 3, -1}), {.name = "x"});
    const Output loss = reduce_mean(square(subtract(add(matmul(x, kernel), bias), 1.0F)));
    step = adam.minimize(loss);
  }

  std::map<std::string, Variable> objects() const {
    std::map<std::string, Variable> found = {{"net/kernel", kernel}, {"net/bias", bias}};
    for (const auto& [path, variable] : std::map(found)) {
      for (const std::string& slot : adam.slot_names()) {
        found.emplace(slot_path(path, "optimizer", slot), adam.slot(variable, slot));
      }
    }
    for (const Variable& variable : global_variables()) {
      if (variable.op_name().ends_with("_power")) found.emplace("optimizer/" + variable.op_name(), variable);
    }
    return found;
  }

  Variable kernel, bias;
  AdamOptimizer adam{{.learning_rate = 0.1F}};
  Operation step;
};

// Trained weights of here, in every form; then those of TensorFlow, which train on.
TEST_F(WeightsInterop, ByName) {
  const Model model(/*use_resource=*/false);
  Saver plain, sharded({.sharded = true, .name = "sharded"}), old({.name = "old", .write_version = 1});
  Session session;
  session.run(global_variables_initializer());
  for (int i = 0; i < 3; ++i) session.run(model.step);
  plain.save(session, file("ours_v2"), {.write_state = false});
  sharded.save(session, file("ours_sharded"), {.write_state = false});
  old.save(session, file("ours_v1"), {.write_state = false});
  const Tensor trained = session.run(model.kernel).clone();

  for (const std::string form : {"v2", "sharded", "v1"}) {
    session.run(global_variables_initializer());
    plain.restore(session, file((live() ? "theirs_" : "ours_") + form));
    EXPECT_TRUE(live() || identical(session.run(model.kernel), trained)) << form;
    old.save(session, file("crossed_" + form), {.write_state = false});
    session.run(model.step);
    plain.save(session, file("next_" + form), {.write_state = false});
    EXPECT_FALSE(identical(session.run(model.kernel), trained)) << form;
  }
}

TEST_F(WeightsInterop, ByObject) {
  const Model model(/*use_resource=*/true);
  Checkpoint checkpoint(model.objects());
  Session session;
  session.run(global_variables_initializer());
  for (int i = 0; i < 3; ++i) session.run(model.step);
  const std::string ours = checkpoint.save(session, file("ours_objects"));
  const Tensor trained = session.run(model.kernel).clone();
  session.run(global_variables_initializer());
  checkpoint.restore(session, live() ? file("theirs_objects-1") : ours);
  EXPECT_TRUE(live() || identical(session.run(model.kernel), trained));
  session.run(model.step);
  checkpoint.write(session, file("next_objects"));
  EXPECT_EQ(list_object_variables(file("next_objects")).size(), 8U);
}

// Every variable of a checkpoint of objects, whatever it is of: restored, and written again.
TEST_F(WeightsInterop, AllObjects) {
  const std::string theirs = live() ? file("theirs_keras-1")
                                    : std::string(CAUDAL_SOURCE_DIR) + "/testdata/golden/checkpoints/tf2_object/ckpt-2";
  std::map<std::string, Variable> variables;
  std::vector<Operation> initializers;
  for (const ObjectVariable& found : list_object_variables(theirs)) {
    if (found.path.find("/.ATTRIBUTES/") != std::string::npos) continue;
    const Variable variable(Tensor::zeros(found.dtype, found.shape), {.name = "v"});
    initializers.push_back(variable.initializer());
    variables.emplace(found.path, variable);
  }
  ASSERT_GT(variables.size(), 8U);
  Session session;
  for (const Operation& initializer : initializers) session.run(initializer);
  Checkpoint checkpoint(variables);
  checkpoint.restore(session, theirs);
  checkpoint.write(session, file("crossed_keras"));
  for (const auto& [path, variable] : variables) {
    EXPECT_TRUE(identical(load_object_variable(file("crossed_keras"), path), load_object_variable(theirs, path)))
        << path;
  }
}

}  // namespace
}  // namespace caudal::train
