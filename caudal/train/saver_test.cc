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

TEST_F(SaverTest, OneOfEveryFewHoursStays) {
  const Variable w(1.0F, {.name = "w"});
  Session session;
  session.run(global_variables_initializer());
  const std::string prefix = path("model.ckpt");
  // The list says that the first was written hours ago: the next to leave was written long after it.
  {
    Saver saver({.max_to_keep = 2});
    for (const std::int64_t step : {1, 2}) saver.save(session, prefix, {.global_step = step});
    const std::string list = path("checkpoint");
    CheckpointList state = checkpoint_list_from_text(read_file(default_env(), list));
    state.timestamps[0] -= 5 * 3600;
    state.last_preserved_timestamp = state.timestamps[0];
    write_file_atomically(default_env(), list, checkpoint_list_to_text(state));
  }
  Saver saver({.max_to_keep = 2, .keep_checkpoint_every_n_hours = 4});
  EXPECT_EQ(saver.nodes().keep_checkpoint_every_n_hours, 4);
  for (const std::int64_t step : {3, 4, 5}) saver.save(session, prefix, {.global_step = step});
  // 1 was the start, 2 came five hours later and stays, 3 came right after it.
  std::vector<bool> there;
  for (int step = 1; step <= 5; ++step) there.push_back(checkpoint_exists(prefix + "-" + std::to_string(step)));
  EXPECT_EQ(there, (std::vector<bool>{false, true, false, true, true}));
  EXPECT_EQ(saver.last_checkpoints(), (std::vector<std::string>{prefix + "-4", prefix + "-5"}));
}

// A data file per device, joined into one checkpoint; nothing of the parts stays.
TEST_F(SaverTest, ShardsPerDevice) {
  std::vector<Variable> all;
  for (const char* device : {"/cpu:0", "/cpu:1"}) {
    const DeviceScope place(device);
    all.emplace_back(counting({2, 3}, static_cast<float>(10 * all.size())),
                     VariableOptions{.name = all.empty() ? "a" : "b"});
  }
  Saver saver({.sharded = true});
  Session session;
  session.run(global_variables_initializer());
  const std::string leftover = path("model.ckpt-1_temp");
  default_env().mkdirs(leftover);
  default_env().create(leftover + "/part-00000-of-00002.index")->close();
  for (int round = 0; round < 2; ++round) {
    const std::string prefix = saver.save(session, path("model.ckpt"), {.global_step = 7});
    EXPECT_TRUE(identical(load_variable(prefix, all[1].op_name()), counting({2, 3}, 10)));
    for (const std::string& name : default_env().list(folder_.path())) EXPECT_FALSE(name.ends_with("_temp")) << name;
  }
  EXPECT_TRUE(default_env().exists(path("model.ckpt-7.meta")));

  Graph other;
  const GraphScope scope(other);
  std::optional<Saver> imported = import_meta_graph(path("model.ckpt-7.meta"), {.clear_devices = true});
  ASSERT_TRUE(imported.has_value());
  EXPECT_TRUE(imported->nodes().sharded);
  Session second(other);
  imported->restore(second, path("model.ckpt-7"));
  EXPECT_TRUE(identical(second.run(Fetches{all[0].name()})[0], counting({2, 3})));
}

TEST_F(SaverTest, WritesTheOldFormat) {
  const Variable w(counting({2, 3}), {.name = "w"});
  const Variable lower(counting({6, 4}), {.name = "lower"});
  const Variable part = part_of(lower, {"whole", {10, 4}, {4, 0}, {6, 4}});
  Saver saver({.variables = std::vector<Variable>{w, part}, .max_to_keep = 2, .write_version = 1});
  Session session;
  session.run(global_variables_initializer());
  const std::string prefix = path("model.ckpt");
  for (const std::int64_t step : {1, 2, 3}) saver.save(session, prefix, {.global_step = step});
  EXPECT_EQ(default_env().list(folder_.path()),
            (std::vector<std::string>{"checkpoint", "model.ckpt-2", "model.ckpt-2.caudal-state", "model.ckpt-2.meta",
                                      "model.ckpt-3", "model.ckpt-3.caudal-state", "model.ckpt-3.meta"}));
  EXPECT_EQ(latest_checkpoint(folder_.path()), prefix + "-3");
  session.run(w.assign(Tensor::zeros(float32, {2, 3})));
  session.run(lower.assign(Tensor::zeros(float32, {6, 4})));
  saver.restore(session, prefix + "-3");
  EXPECT_TRUE(identical(session.run(w), counting({2, 3})));
  EXPECT_TRUE(identical(session.run(lower), counting({6, 4})));
  EXPECT_THROW(Saver({.variables = std::vector<Variable>{w}, .sharded = true, .write_version = 1}), Error);
  EXPECT_THROW(Saver({.variables = std::vector<Variable>{w}, .write_version = 3}), Error);
}

TEST_F(SaverTest, FunctionsLookAfterTheFiles) {
  const Variable w(1.0F, {.name = "w"});
  Session session;
  session.run(global_variables_initializer());
  const std::string prefix = path("model.ckpt");
  EXPECT_FALSE(get_checkpoint_state(folder_.path()).has_value());
  Saver saver;
  for (const std::int64_t step : {1, 2}) saver.save(session, prefix, {.global_step = step});
  const auto state = get_checkpoint_state(folder_.path());
  ASSERT_TRUE(state.has_value());
  EXPECT_EQ(state->latest, prefix + "-2");
  EXPECT_EQ(state->all, (std::vector<std::string>{prefix + "-1", prefix + "-2"}));
  const auto times = get_checkpoint_mtimes({prefix + "-1", prefix + "-9", prefix + "-2"});
  ASSERT_EQ(times.size(), 2U);
  EXPECT_LE(times[0], times[1]);
  EXPECT_NEAR(times[1], static_cast<double>(default_env().now_micros()) * 1e-6, 3600);
  remove_checkpoint(prefix + "-2");
  remove_checkpoint(prefix + "-9");
  EXPECT_FALSE(checkpoint_exists(prefix + "-2"));
  EXPECT_FALSE(default_env().exists(prefix + "-2.meta"));
  EXPECT_FALSE(default_env().exists(prefix + "-2.caudal-state"));
  EXPECT_EQ(latest_checkpoint(folder_.path()), "");
  update_checkpoint_state(folder_.path(), prefix + "-1");
  EXPECT_EQ(latest_checkpoint(folder_.path()), prefix + "-1");
  EXPECT_TRUE(checkpoint_exists(golden("checkpoints/v1_format/model-v1-3")));
}

}  // namespace
}  // namespace caudal::train
