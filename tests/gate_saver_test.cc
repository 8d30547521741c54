// What a Saver keeps on disk across restarts, and what it refuses to restore.
#include <algorithm>
#include <atomic>
#include <thread>

#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "gate_checkpoint.h"

namespace caudal {
namespace {

using Names = std::vector<std::string>;

// Base names of the complete checkpoints in a directory, oldest first.
Names checkpoints_in(const std::string& directory) {
  Names names;
  for (const std::string& name : default_env().list(directory)) {
    if (name.ends_with(".index")) names.push_back(name.substr(0, name.size() - 6));
  }
  return names;
}

// A process that restores what is there and saves `count` more.
void restart_and_save(const std::string& directory, int max_to_keep, int count) {
  gate::SteppedModel model(nullptr, max_to_keep);
  if (const std::string latest = train::latest_checkpoint(directory); !latest.empty()) model.restore(latest);
  for (int i = 0; i < count; ++i) {
    model.advance();
    model.save(directory + "/m");
  }
}

TEST(GateSaver, KeepsAsManyAsAskedAcrossRestarts) {
  const TempDir directory;
  restart_and_save(directory.path(), 3, 5);
  EXPECT_EQ(checkpoints_in(directory.path()), (Names{"m-3", "m-4", "m-5"}));
  restart_and_save(directory.path(), 3, 2);
  EXPECT_EQ(checkpoints_in(directory.path()), (Names{"m-5", "m-6", "m-7"}));
  restart_and_save(directory.path(), 1, 1);
  EXPECT_EQ(checkpoints_in(directory.path()), (Names{"m-8"}));
  // Nothing else of the removed ones stays: four files and the list.
  EXPECT_EQ(default_env().list(directory.path()),
            (Names{"checkpoint", "m-8.caudal-state", "m-8.data-00000-of-00001", "m-8.index", "m-8.meta"}));
  restart_and_save(directory.path(), 0, 7);
  EXPECT_EQ(checkpoints_in(directory.path()).size(), 8U);
}

TEST(GateSaver, ADirectoryMayMove) {
  const TempDir parent;
  restart_and_save(parent.file("old"), 3, 2);
  default_env().rename(parent.file("old"), parent.file("new"));
  EXPECT_EQ(train::latest_checkpoint(parent.file("new")), parent.file("new/m-2"));
  restart_and_save(parent.file("new"), 2, 1);
  EXPECT_EQ(checkpoints_in(parent.file("new")), (Names{"m-2", "m-3"}));
}

TEST(GateSaver, RemovesWhatAKilledProcessLeftAndNothingElse) {
  const TempDir directory;
  const Names others = {"m.tmp", "m-1.tmpl", "notes.tmp1-2", "x.tempstate1-2"};
  for (const std::string& name : others) default_env().create(directory.file(name))->close();
  for (const char* name : {"m-1.data-00000-of-00001.tempstate77-0", "m-1.index.tempstate77-1", "m-1.meta.tmp77-2",
                           "m-1.caudal-state.tmp77-1", "checkpoint.tmp77-3"}) {
    default_env().create(directory.file(name))->close();
  }
  restart_and_save(directory.path(), 3, 1);
  Names names = default_env().list(directory.path());
  for (const std::string& name : others) EXPECT_EQ(std::erase(names, name), 1U) << name;
  EXPECT_EQ(names, (Names{"checkpoint", "m-1.caudal-state", "m-1.data-00000-of-00001", "m-1.index", "m-1.meta"}));
}

// A reader that looks at the newest checkpoint while a writer replaces it gets all of it or learns that it is gone.
TEST(GateSaver, AReaderNeverMeetsHalfACheckpoint) {
  const TempDir directory;
  restart_and_save(directory.path(), 1, 1);
  std::atomic<bool> done = false;
  std::thread writer([&] {
    restart_and_save(directory.path(), 1, 40);
    done = true;
  });
  int read = 0;
  while (!done || read == 0) {
    gate::SteppedModel reader;
    try {
      reader.restore(train::latest_checkpoint(directory.path()), /*state_needed=*/false);
      ++read;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kNotFound) << error.what();
    }
  }
  writer.join();
}

class GateRestore : public ::testing::Test {
 protected:
  GateRestore() {
    Graph graph;
    const GraphScope scope(graph);
    const Variable w(Tensor::zeros(float32, {4, 3}), {.name = "w"}), b(Tensor::zeros(float32, {3}), {.name = "b"});
    Session session;
    session.run(global_variables_initializer());
    prefix_ = train::Saver().save(session, directory_.file("m"));
  }

  TempDir directory_;
  std::string prefix_;
  Graph graph_;
  GraphScope scope_{graph_};
};

TEST_F(GateRestore, ListsEveryMismatchAndChangesNothing) {
  const Tensor ones = Tensor::from<float>({3}, {1, 1, 1});
  const Variable w(Tensor::zeros(float32, {4, 5}), {.name = "w"}), b(ones, {.name = "b"}),
      c(Tensor::zeros(float32, {2}), {.name = "bb"});
  Session session;
  session.run(global_variables_initializer());
  try {
    train::Saver().restore(session, prefix_);
    FAIL() << "no error";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
    for (const char* part : {prefix_.c_str(), "'w'", "[4,5]", "[4,3]", "'bb'", "not in the checkpoint", "'b'?"}) {
      EXPECT_NE(text.find(part), std::string::npos) << part << " is not in: " << text;
    }
  }
  EXPECT_TRUE(identical(session.run(b), ones));
}

TEST_F(GateRestore, AnotherTypeOrAScalarDoesNotFit) {
  const Variable b(Tensor(1.0F), {.name = "b"}), w(Tensor::zeros(float64, {4, 3}), {.name = "w"});
  Session session;
  session.run(global_variables_initializer());
  EXPECT_THROW(train::Saver({.variables = {{"b", b}}}).restore(session, prefix_), Error);
  EXPECT_THROW(train::Saver({.variables = {{"w", w}}}).restore(session, prefix_), Error);
  EXPECT_EQ(session.run(b).item<float>(), 1.0F);
}

TEST_F(GateRestore, APartUnderOtherNamesIsEnough) {
  const Variable other(Tensor::from<float>({3}, {1, 1, 1}), {.name = "other"});
  Session session;
  train::Saver({.variables = {{"b", other}}}).restore(session, prefix_);
  EXPECT_TRUE(identical(session.run(other), Tensor::zeros(float32, {3})));
}

TEST_F(GateRestore, NoSuchCheckpointIsNotFound) {
  const Variable b(Tensor::zeros(float32, {3}), {.name = "b"});
  Session session;
  try {
    train::Saver().restore(session, directory_.file("n"));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kNotFound);
    EXPECT_NE(std::string(error.what()).find(directory_.file("n")), std::string::npos) << error.what();
  }
}

TEST_F(GateRestore, AVariableWithoutAValueCannotBeSaved) {
  const Variable fine(Tensor(1.0F), {.name = "fine"}), empty(Tensor(1.0F), {.name = "forgotten"});
  Session session;
  session.run(fine.initializer());
  try {
    train::Saver().save(session, directory_.file("n"));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kFailedPrecondition);
    EXPECT_NE(std::string(error.what()).find("forgotten"), std::string::npos) << error.what();
  }
  EXPECT_FALSE(default_env().exists(directory_.file("n.index")));
}

}  // namespace
}  // namespace caudal
