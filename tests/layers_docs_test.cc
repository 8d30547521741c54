// The listings of docs/layers.md, in their order: they compile, and do what the page says.
#include <gtest/gtest.h>

#include "caudal/caudal.h"
#include "tests/harness/doc_listings.h"

namespace tf = caudal;

namespace {

TEST(LayersDocs, ListingsAreThisProgram) {
  const auto listed = tf::harness::lines_between("docs/layers.md", "```cpp", "```");
  const auto tested = tf::harness::lines_between("tests/layers_docs_test.cc", "// [listing]", "// [end]");
  ASSERT_GT(listed.size(), 20U);
  EXPECT_EQ(listed, tested);
}

TEST(LayersDocs, ListingsDoWhatThePageSays) {
  tf::Graph graph;
  const tf::GraphScope scope(graph);
  const tf::data::DataSet rows(tf::Tensor::zeros(tf::float32, {60, 784}), tf::Tensor::zeros(tf::int64, {60}));
  // clang-format off
  // [listing]
  tf::Output X = tf::placeholder(tf::float32, {-1, 784}, {.name = "X"});
  tf::Output y = tf::placeholder(tf::int64, {-1}, {.name = "y"});
  tf::Output training = tf::placeholder_with_default(false, tf::PartialShape::scalar(), {.name = "training"});
  const tf::layers::DenseOptions my_dense{.activation = tf::nn::elu,
                                          .kernel_initializer = tf::he_normal(),
                                          .kernel_regularizer = tf::layers::l2_regularizer(0.001)};
  tf::Output hidden1 = tf::layers::dense(X, 300, my_dense);
  tf::Output bn1 = tf::layers::batch_normalization(hidden1, {.momentum = 0.9, .training = training});
  tf::Output drop1 = tf::layers::dropout(bn1, {.rate = 0.5, .training = training});
  tf::Output logits = tf::layers::dense(drop1, 10, {.name = "outputs"});
  // [end]
  EXPECT_EQ(logits.shape(), tf::PartialShape({-1, 10}));
  EXPECT_EQ(tf::trainable_variables().size(), 6U);

  // [listing]
  tf::Output loss = tf::losses::sparse_softmax_cross_entropy(y, logits);
  tf::Output total = tf::losses::get_total_loss();  // with the penalties of the regularisers
  tf::Operation training_op;
  {
    const tf::ControlDependencies updates_first(tf::layers::update_ops());
    training_op = tf::train::AdamOptimizer({.learning_rate = 0.001}).minimize(total);
  }
  // [end]
  EXPECT_EQ(tf::losses::get_regularization_losses().size(), 1U);
  EXPECT_EQ(tf::layers::update_ops().size(), 2U);

  // [listing]
  const auto max_norm_reg = tf::layers::max_norm_regularizer(1.0, {.axes = {0}});
  tf::Output hidden = tf::layers::dense(X, 50, {.kernel_regularizer = max_norm_reg});
  std::vector<tf::Output> clips = tf::layers::max_norm_updates();
  // [end]
  EXPECT_EQ(hidden.shape(), tf::PartialShape({-1, 50}));
  EXPECT_EQ(clips.size(), 1U);

  // [listing]
  tf::Output words = tf::placeholder(tf::int32, {-1, -1});
  tf::Output lengths = tf::placeholder(tf::int32, {-1});
  tf::Output embedded = tf::layers::embedding(words, 1000, 16);
  const auto cell = tf::nn::rnn_cell::MultiRNNCell({tf::nn::rnn_cell::GRUCell(20), tf::nn::rnn_cell::GRUCell(20)});
  const auto net = tf::nn::dynamic_rnn(cell, embedded, {.sequence_length = lengths});
  tf::Output last = net.state.back();
  // [end]
  EXPECT_EQ(last.shape(), tf::PartialShape({-1, 20}));

  // [listing]
  const auto accuracy = tf::metrics::accuracy(y, tf::argmax(logits, 1));
  tf::Session sess;
  sess.run(tf::global_variables_initializer());
  sess.run(tf::local_variables_initializer());  // starts counting anew
  for (const auto& batch : rows.batches(50)) {
    sess.run(accuracy.update_op, {{X, batch.features}, {y, batch.labels}});
  }
  float so_far = sess.run(accuracy.value).item<float>();
  // [end]
  // clang-format on
  EXPECT_GE(so_far, 0);
  EXPECT_LE(so_far, 1);
  // A training step moves the running mean, and the clip shortens the columns.
  const tf::Tensor before = sess.run(graph.tensor("batch_normalization/moving_variance/read:0"));
  sess.run(training_op, {{X, rows.features()}, {y, rows.labels()}, {training, true}});
  EXPECT_FALSE(identical(sess.run(graph.tensor("batch_normalization/moving_variance/read:0")), before));
  sess.run(tf::Operation(clips[0]));
  const tf::Output kernel = tf::trainable_variables("dense_1/kernel")[0];
  EXPECT_LE(sess.run(tf::reduce_max(tf::reduce_sum(kernel * kernel, {.axis = 0}))).item<float>(), 1.00001F);
  const tf::Tensor lengths_now(std::vector<int>{3, 1});
  EXPECT_EQ(sess.run(last, {{words, tf::Tensor::zeros(tf::int32, {2, 3})}, {lengths, lengths_now}}).shape(),
            (tf::Shape{2, 20}));
}

}  // namespace
