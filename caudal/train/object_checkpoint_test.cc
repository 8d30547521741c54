#include "caudal/train/object_checkpoint.h"

#include <gtest/gtest.h>

#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/train/saver.h"

namespace caudal::train {
namespace {

const std::string kGolden = std::string(CAUDAL_SOURCE_DIR) + "/testdata/golden/checkpoints/tf2_object/ckpt-2";

class CheckpointTest : public ::testing::Test {
 protected:
  CheckpointTest() : scope_(graph_) {}
  std::string path(const char* name) const { return join_path(folder_.path(), name); }
  template <class Function>
  std::string error_of(const Function& function) {
    try {
      function();
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  }

  const TempDir folder_;
  Graph graph_;
  const GraphScope scope_;
};

TEST_F(CheckpointTest, RestoresTensorFlowsByPath) {
  const Tensor theirs = load_object_variable(kGolden, "net/w");
  const Variable w(Tensor::zeros(theirs.dtype(), theirs.shape()), {.name = "mine"});
  const Variable r(Tensor::zeros(theirs.dtype(), theirs.shape()), {.name = "resource", .use_resource = true});
  const Variable epoch(Tensor(0), {.name = "epoch"}), untouched(Tensor(7), {.name = "untouched"});
  Session session;
  session.run(global_variables_initializer());
  Checkpoint({{"net/w", w}, {"epoch", epoch}}).restore(session, kGolden);
  std::string full_name;
  for (const ObjectVariable& variable : list_object_variables(kGolden)) {
    if (variable.path == "net/w") full_name = variable.full_name;
  }
  ASSERT_NE(full_name, "");
  Checkpoint({{full_name, r}}).restore(session, kGolden);
  EXPECT_TRUE(identical(session.run(w), theirs));
  EXPECT_TRUE(identical(session.run(r), theirs));
  EXPECT_EQ(session.run(epoch).item<int>(), 9);
  EXPECT_EQ(session.run(untouched).item<int>(), 7);
}

TEST_F(CheckpointTest, SavesWhatItRestores) {
  const Tensor start = Tensor::from<float>({2}, {1, 2});
  const Variable w(start, {.name = "dense/kernel"}), m(Tensor::from<float>({2}, {3, 4}), {.name = "dense/kernel/Adam"});
  Checkpoint checkpoint({{"net/kernel", w}, {slot_path("net/kernel", "optimizer", "m"), m}}, {.max_to_keep = 2});
  Session session;
  session.run(global_variables_initializer());
  EXPECT_EQ(checkpoint.save(session, path("ckpt")), path("ckpt-1"));
  session.run(w.assign(Tensor::from<float>({2}, {5, 6})));
  for (int i = 0; i < 2; ++i) checkpoint.save(session, path("ckpt"));
  EXPECT_FALSE(checkpoint_exists(path("ckpt-1")));
  EXPECT_EQ(latest_checkpoint(folder_.path()), path("ckpt-3"));
  EXPECT_EQ(load_object_variable(path("ckpt-3"), "save_counter").item<std::int64_t>(), 3);
  EXPECT_EQ(load_object_variable(path("ckpt-3"), "dense/kernel").to_vector<float>(), (std::vector<float>{5, 6}));
  const auto variables = list_object_variables(path("ckpt-3"));
  ASSERT_EQ(variables.size(), 3U);
  EXPECT_EQ(variables[1].path, "net/kernel/.OPTIMIZER_SLOT/optimizer/m");
  EXPECT_TRUE(variables[1].is_slot);
  EXPECT_EQ(variables[1].full_name, "dense/kernel/Adam");

  session.run(m.assign(start));
  Checkpoint after({{"net/kernel", w}, {slot_path("net/kernel", "optimizer", "m"), m}});
  after.restore(session, path("ckpt-3"));
  EXPECT_EQ(session.run(m).to_vector<float>(), (std::vector<float>{3, 4}));
  // A restart goes on counting.
  EXPECT_EQ(after.save(session, path("ckpt")), path("ckpt-4"));
  after.write(session, path("alone"));
  EXPECT_EQ(list_object_variables(path("alone")).size(), 2U);
}

TEST_F(CheckpointTest, SaysWhatBothSidesHaveAndChangesNothing) {
  const Variable w(Tensor::zeros(float32, {9, 9}), {.name = "w"}), epoch(Tensor(5), {.name = "epoch"});
  Session session;
  session.run(global_variables_initializer());
  Checkpoint checkpoint({{"net/w", w}, {"epoch", epoch}, {"net/missing", epoch}});
  const std::string text = error_of([&] { checkpoint.restore(session, kGolden); });
  for (const char* part : {"nothing was restored", "'w' float32[9,9]: ", "net/missing", "The checkpoint also holds",
                           "'net/blocks/0/k/.ATTRIBUTES/VARIABLE_VALUE'"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\nis not in\n" << text;
  }
  EXPECT_EQ(session.run(epoch).item<int>(), 5);

  Saver().save(session, path("by_name"));
  EXPECT_NE(error_of([&] { checkpoint.restore(session, path("by_name")); }).find("train::Saver"), std::string::npos);
  EXPECT_NE(error_of([&] { list_object_variables(path("nothing")); }).find("NOT_FOUND"), std::string::npos);
  EXPECT_NE(error_of([&] { load_object_variable(kGolden, "net/ww"); }).find("'net/w'"), std::string::npos);
}

TEST_F(CheckpointTest, RefusesWhatHasNoPlace) {
  const Variable w(1.0F, {.name = "w"});
  EXPECT_THROW(Checkpoint({}), Error);
  EXPECT_THROW(Checkpoint({{"a//b", w}}), Error);
  EXPECT_THROW(Checkpoint({{slot_path("no", "optimizer", "m"), w}}), Error);
}

}  // namespace
}  // namespace caudal::train
