#include "caudal/train/saver.h"

#include <gtest/gtest.h>

#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"

namespace caudal::train {
namespace {

std::string golden(const std::string& name) { return std::string(CAUDAL_SOURCE_DIR) + "/testdata/golden/" + name; }

Tensor counting(const Shape& shape, float first = 0) {
  Tensor tensor(float32, shape);
  for (float& value : tensor.flat<float>()) value = first++;
  return tensor;
}

// A variable that is a part of a larger one, as a partitioner makes them.
Variable part_of(const Variable& whole, VariableSlice slice) {
  Variable::Parts parts = whole.parts();
  parts.slice = std::make_shared<const VariableSlice>(std::move(slice));
  return Variable(parts);
}

std::string error_text(Saver& saver, Session& session, const std::string& prefix) {
  try {
    saver.restore(session, prefix);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

class SaverTest : public ::testing::Test {
 protected:
  SaverTest() : scope_(graph_) {}
  std::string path(const char* name) const { return join_path(folder_.path(), name); }

  const TempDir folder_;
  Graph graph_;
  const GraphScope scope_;
};

TEST_F(SaverTest, ImportedSaverSavesAndRestores) {
  const Variable w(counting({2, 3}), {.name = "w"});
  const Variable r(counting({3}), {.name = "r", .use_resource = true});
  add(w, r, {.name = "sum"});
  Saver saver({.max_to_keep = 7});
  Session session;
  session.run(global_variables_initializer());
  saver.save(session, path("model.ckpt"));

  Graph other;
  const GraphScope scope(other);
  std::optional<Saver> imported = import_meta_graph(path("model.ckpt.meta"));
  ASSERT_TRUE(imported.has_value());
  EXPECT_EQ(imported->nodes().max_to_keep, 7);
  Session second(other);
  imported->restore(second, path("model.ckpt"));
  EXPECT_EQ(second.run(Fetches{"sum:0"})[0].to_vector<float>(), (std::vector<float>{0, 2, 4, 3, 5, 7}));
  second.run(global_variables()[0].assign(counting({2, 3}, 100)));
  imported->save(second, path("again.ckpt"));
  EXPECT_EQ(load_variable(path("again.ckpt"), "w").to_vector<float>()[0], 100);
  EXPECT_EQ(list_variables(path("again.ckpt")).size(), 2);
}

TEST_F(SaverTest, ImportWithoutSaver) {
  constant(1.0F);
  export_meta_graph(path("plain.meta"));
  {
    Graph other;
    const GraphScope scope(other);
    EXPECT_FALSE(import_meta_graph(path("plain.meta")).has_value());
  }
  const Variable w(counting({2}), {.name = "w"});
  export_meta_graph(path("variables.pbtxt"));
  Graph other;
  const GraphScope scope(other);
  const std::optional<Saver> made = import_meta_graph(path("variables.pbtxt"), {.import_scope = "m"});
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(global_variables("m/w").size(), 1);
}

TEST_F(SaverTest, RestoresUnderOtherNames) {
  const Variable a(counting({4}), {.name = "their/kernel"});
  Saver all;
  Session session;
  session.run(global_variables_initializer());
  all.save(session, path("a.ckpt"));

  Graph other;
  const GraphScope scope(other);
  const Variable mine(Tensor::zeros(float32, {4}), {.name = "mine/weights"});
  const Variable untouched(Tensor(7.0F), {.name = "untouched"});
  Saver renamed({.variables = std::map<std::string, Variable>{{"their/kernel", mine}}});
  Session second(other);
  second.run(global_variables_initializer());
  renamed.restore(second, path("a.ckpt"));
  EXPECT_EQ(second.run(mine).to_vector<float>(), (std::vector<float>{0, 1, 2, 3}));
  EXPECT_EQ(second.run(untouched).item<float>(), 7);
}

TEST_F(SaverTest, SaysWhatBothSidesHave) {
  const Variable a(counting({4}), {.name = "dense/kernel"});
  const Variable b(counting({2}), {.name = "dense/bias"});
  Saver all;
  Session session;
  session.run(global_variables_initializer());
  all.save(session, path("a.ckpt"));

  Graph other;
  const GraphScope scope(other);
  const Variable mine(counting({4}), {.name = "layer/kernel"});
  Saver saver, mapped({.variables = VariablesByKey{{"dense/kern", mine}}});
  Session second(other);
  EXPECT_EQ(
      error_text(saver, second, path("a.ckpt")),
      "INVALID_ARGUMENT: checkpoint '" + path("a.ckpt") +
          "' does not fit the graph; nothing was restored:\n  'layer/kernel' float32[4]: not in the checkpoint\nThe "
          "checkpoint also holds:\n  'dense/bias' float32[2]\n  'dense/kernel' float32[4]. Give Saver the "
          "variables that it should restore, under the checkpoint's names.");
  EXPECT_NE(error_text(mapped, second, path("a.ckpt")).find("'layer/kernel' float32[4]: 'dense/kern' is not in"),
            std::string::npos);
}

TEST_F(SaverTest, ImportedSaverChecksShapesToo) {
  const Variable w(counting({2}), {.name = "w"});
  Saver small;
  Session session;
  session.run(global_variables_initializer());
  small.save(session, path("small.ckpt"));
  {
    Graph other;
    const GraphScope scope(other);
    const Variable large(counting({3}), {.name = "w"});
    Saver saver;
    export_meta_graph(path("large.meta"), &saver);
  }
  Graph other;
  const GraphScope scope(other);
  std::optional<Saver> imported = import_meta_graph(path("large.meta"));
  Session second(other);
  EXPECT_NE(error_text(*imported, second, path("small.ckpt")).find("'w' float32[3]: float32[2] in the checkpoint"),
            std::string::npos);
}

// TensorFlow's partitioned variable, saved in three parts: into a whole one, into other parts, and back.
TEST_F(SaverTest, PartsBecomeWholesAndOtherParts) {
  const std::string theirs = golden("checkpoints/v2_partitioned/model.ckpt-3");
  const Tensor whole = load_variable(theirs, "p/emb");
  const Variable upper(Tensor::zeros(float32, {4, 4}), {.name = "upper"});
  const Variable lower(Tensor::zeros(float32, {6, 4}), {.name = "lower"});
  const Variable first = part_of(upper, {"p/emb", {10, 4}, {0, 0}, {4, 4}});
  const Variable second = part_of(lower, {"p/emb", {10, 4}, {4, 0}, {6, 4}});
  Saver saver({.variables = std::vector<Variable>{first, second}});
  Session session;
  saver.restore(session, theirs);
  EXPECT_TRUE(identical(session.run(upper), whole.rows(0, 4).clone()));
  EXPECT_TRUE(identical(session.run(lower), whole.rows(4, 10).clone()));

  saver.save(session, path("parts.ckpt"));
  EXPECT_TRUE(identical(load_variable(path("parts.ckpt"), "p/emb"), whole));
  // And the parts from a checkpoint that has the whole.
  const Variable one(Tensor::zeros(float32, {10, 4}), {.name = "p/emb"});
  Saver whole_saver({.variables = std::vector<Variable>{one}, .name = "whole"});
  whole_saver.restore(session, path("parts.ckpt"));
  whole_saver.save(session, path("whole.ckpt"));
  session.run(upper.assign(Tensor::zeros(float32, {4, 4})));
  saver.restore(session, path("whole.ckpt"));
  EXPECT_TRUE(identical(session.run(upper), whole.rows(0, 4).clone()));
}

TEST_F(SaverTest, PartsOfAnotherShapeAreRefused) {
  const Variable part(Tensor::zeros(float32, {4, 4}), {.name = "part"});
  Saver saver({.variables = std::vector<Variable>{part_of(part, {"p/emb", {12, 4}, {0, 0}, {4, 4}})}});
  Session session;
  EXPECT_NE(error_text(saver, session, golden("checkpoints/v2_partitioned/model.ckpt-3"))
                .find("'part' float32[4,4] as part \"12 4 0,4:0,4\": float32[10,4] in the checkpoint"),
            std::string::npos);
  const Variable twice = part_of(part, {"p/emb", {10, 4}, {0, 0}, {4, 4}});
  EXPECT_THROW(Saver({.variables = std::vector<Variable>{twice, twice}}), Error);
}

}  // namespace
}  // namespace caudal::train
