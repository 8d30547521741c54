#include "caudal/ops/partitioned_variable.h"

#include <gtest/gtest.h>

#include "caudal/base/env.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/embedding.h"
#include "caudal/ops/gather_ops.h"
#include "caudal/runtime/session.h"
#include "caudal/train/saver.h"

namespace caudal {
namespace {

using Sizes = std::vector<std::int64_t>;

Tensor counting(const Shape& shape) {
  Tensor t(float32, shape);
  float next = 0;
  for (float& x : t.flat<float>()) x = next++;
  return t;
}

class PartitionedVariableTest : public testing::Test {
 protected:
  static void expect_error(const std::function<void()>& call, const std::string& text, Code code) {
    try {
      call();
      ADD_FAILURE() << "no error: " << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
  }
  Graph graph_;
  GraphScope scope_{graph_};
};

// Values of TensorFlow 2.21's partitioners.
TEST_F(PartitionedVariableTest, PartitionersCountLikeTensorFlow) {
  EXPECT_EQ(fixed_size_partitioner(4)({10, 5}, float32), (Sizes{4, 1}));
  EXPECT_EQ(fixed_size_partitioner(4, 1)({10, 3}, float32), (Sizes{1, 3}));
  EXPECT_EQ(min_max_variable_partitioner({.max_partitions = 100})({1024, 1024}, float32), (Sizes{16, 1}));
  EXPECT_EQ(min_max_variable_partitioner({.max_partitions = 10})({1024, 1024}, float32), (Sizes{10, 1}));
  EXPECT_EQ(min_max_variable_partitioner({.max_partitions = 100, .min_slice_size = 8})({4, 3}, float32), (Sizes{4, 1}));
  EXPECT_EQ(min_max_variable_partitioner({.max_partitions = 10, .min_slice_size = 500})({10, 5}, string),
            (Sizes{2, 1}));
  EXPECT_EQ(variable_axis_size_partitioner(64 << 10)({4, 8, 16, 32}, float32), (Sizes{1, 1, 1, 1}));
  EXPECT_EQ(variable_axis_size_partitioner(32 << 10, {.axis = 3})({4, 8, 16, 32}, float32), (Sizes{1, 1, 1, 2}));
  EXPECT_EQ(variable_axis_size_partitioner(1024, {.axis = 1, .max_shards = 3})({4, 8, 16, 32}, float32),
            (Sizes{1, 3, 1, 1}));
  expect_error([] { variable_axis_size_partitioner(0); }, "must be positive", Code::kInvalidArgument);
  expect_error([] { fixed_size_partitioner(2, 1)({3}, float32); }, "Cannot partition variable along axis 1",
               Code::kInvalidArgument);
}

TEST_F(PartitionedVariableTest, PartsAreVariables) {
  const Tensor value = counting({5, 2});
  const auto w = get_partitioned_variable("w", {.initializer = value}, fixed_size_partitioner(3));
  ASSERT_EQ(w.size(), 3U);
  EXPECT_EQ(w[0].name(), "w/part_0:0");
  EXPECT_EQ(w[2].shape(), (PartialShape{1, 2}));
  EXPECT_EQ(w[1].slice()->spec(), "5 2 2,2:0,2");
  EXPECT_EQ(w[1].slice()->full_name, "w");
  EXPECT_EQ(global_variables().size(), 3U);
  EXPECT_EQ(trainable_variables().size(), 3U);
  EXPECT_EQ(w.as_tensor().shape(), (PartialShape{5, 2}));
  Session session;
  session.run(global_variables_initializer());
  EXPECT_TRUE(identical(session.run(w.as_tensor()), value));
  const auto updates = w.assign_add(value);
  session.run(Fetches(updates.begin(), updates.end()));
  EXPECT_EQ(session.run(w[2]).to_vector<float>(), (std::vector<float>{16, 18}));
  expect_error([&] { w.assign(counting({4, 2})); }, "has shape [5,2], the value [4,2]", Code::kInvalidArgument);
}

TEST_F(PartitionedVariableTest, ScopesBringPartitionersAndReuse) {
  const GetVariableOptions options = {.shape = {4, 3}, .initializer = ones_initializer()};
  {
    const VariableScope scope("a", {.partitioner = fixed_size_partitioner(3, 1)});
    const auto w = get_partitioned_variable("w", options);
    EXPECT_EQ(w.name(), "a/w");
    EXPECT_EQ(w.partitions(), (Sizes{1, 3}));
    expect_error([&] { get_partitioned_variable("w", options); }, "exists already", Code::kAlreadyExists);
    expect_error([&] { get_variable("w", options); }, "exists in parts", Code::kInvalidArgument);
  }
  {
    const VariableScope scope("a", {.reuse = true});
    EXPECT_EQ(get_partitioned_variable("w", options)[2].name(), "a/w/part_2:0");
    expect_error([&] { get_partitioned_variable("w", options, fixed_size_partitioner(2)); }, "but specified partitions",
                 Code::kInvalidArgument);
    expect_error([&] { get_partitioned_variable("v", options); }, "does not exist", Code::kNotFound);
  }
  expect_error([&] { get_partitioned_variable("v", options); }, "has a partitioner", Code::kInvalidArgument);
  const Partitioner both = [](const Shape&, DType) { return Sizes{2, 2}; };
  expect_error([&] { get_partitioned_variable("v", options, both); }, "Can only slice a variable along one dimension",
               Code::kInvalidArgument);
  expect_error([&] { get_partitioned_variable("v", {.shape = PartialShape::scalar()}, both); }, "rank at least 1",
               Code::kInvalidArgument);
}

TEST_F(PartitionedVariableTest, EmbeddingsLookIntoParts) {
  const Tensor value = counting({7, 2});
  const auto table = get_partitioned_variable("table", {.initializer = value}, fixed_size_partitioner(3));
  const Output ids = constant({6, 0, 3, 3});
  const Output found = nn::embedding_lookup(table.values(), ids, {.partition_strategy = nn::PartitionStrategy::kDiv});
  Session session;
  session.run(global_variables_initializer());
  EXPECT_TRUE(identical(session.run(found), session.run(gather(constant(value), ids))));
}

TEST_F(PartitionedVariableTest, CheckpointsKeepTheWhole) {
  const TempDir dir;
  const Tensor value = counting({5, 2});
  std::string path;
  {
    get_partitioned_variable("w", {.initializer = value}, fixed_size_partitioner(3));
    Session session;
    session.run(global_variables_initializer());
    path = train::Saver().save(session, dir.file("model"));
  }
  for (const std::int64_t parts : {1, 2}) {
    Graph graph;
    const GraphScope scope(graph);
    const auto w = get_partitioned_variable("w", {.shape = {5, 2}}, fixed_size_partitioner(parts));
    Session session;
    train::Saver().restore(session, path);
    EXPECT_TRUE(identical(session.run(w.as_tensor()), value)) << parts;
  }
  Graph graph;
  const GraphScope scope(graph);
  const Variable whole = get_variable("w", {.shape = {5, 2}});
  Session session;
  train::Saver().restore(session, path);
  EXPECT_TRUE(identical(session.run(whole), value));
}

}  // namespace
}  // namespace caudal
