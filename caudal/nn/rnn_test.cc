#include "caudal/nn/rnn.h"

#include <gtest/gtest.h>

#include <map>

#include "caudal/autodiff/gradient.h"
#include "caudal/base/error.h"
#include "caudal/nn/nn_case.h"
#include "caudal/ops/activation.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/joining.h"
#include "caudal/ops/reduction.h"
#include "caudal/ops/shape_ops.h"

namespace caudal::nn {
namespace {

using namespace rnn_cell;  // NOLINT: the cells read as in TensorFlow

const std::map<std::string, std::function<Cell()>>& cells() {
  static const std::map<std::string, std::function<Cell()>> all = {
      {"basic_rnn", [] { return BasicRNNCell(4); }},
      {"gru", [] { return GRUCell(4); }},
      {"basic_lstm", [] { return BasicLSTMCell(4, {.forget_bias = 0.5F}); }},
      {"lstm", [] { return LSTMCell(4, {.activation = relu}); }},
      {"lstm_full",
       [] { return LSTMCell(4, {.use_peepholes = true, .cell_clip = 0.6F, .num_proj = 3, .proj_clip = 0.4F}); }},
      {"multi",
       [] {
         return MultiRNNCell({BasicLSTMCell(4), GRUCell(5)});
       }},
      {"residual", [] { return ResidualWrapper(BasicRNNCell(3)); }},
  };
  return all;
}

std::vector<Output> flat(const Output& outputs, const Outputs& state) {
  std::vector<Output> all = {outputs};
  all.insert(all.end(), state.begin(), state.end());
  return all;
}

TEST(Rnn, DynamicIsTensorFlows) {
  for (const auto& [name, make] : cells()) {
    const NnCase c("rnn." + name + ".dynamic");
    const Output x = c.input("x");
    const RnnResult net = dynamic_rnn(make(), x);
    EXPECT_EQ(net.outputs.shape().rank(), 3);
    std::vector<Output> outputs = flat(net.outputs, net.state);
    std::vector<Output> xs = {x};
    for (const Variable& variable : trainable_variables()) xs.push_back(variable.handle());
    for (const Gradient& g : gradients({reduce_sum(net.outputs * net.outputs)}, xs)) outputs.push_back(g.dense());
    EXPECT_EQ(c.check(outputs, {.tolerance = 4e-6}), "");
  }
}

TEST(Rnn, LoopsOfTheSecondForm) {
  enable_control_flow_v2();
  const NnCase c("rnn.basic_lstm.lengths");
  const RnnResult net = dynamic_rnn(BasicLSTMCell(4, {.forget_bias = 0.5F}), c.input("x"),
                                    {.sequence_length = c.input("n"), .time_major = true});
  disable_control_flow_v2();
  EXPECT_EQ(c.check(flat(net.outputs, net.state)), "");
}

TEST(Rnn, ShorterSequencesStop) {
  for (const auto& [name, make] : cells()) {
    const NnCase c("rnn." + name + ".lengths");
    const RnnResult net = dynamic_rnn(make(), c.input("x"), {.sequence_length = c.input("n"), .time_major = true});
    EXPECT_EQ(c.check(flat(net.outputs, net.state)), "");
  }
  const NnCase c("rnn.static_lengths");
  const StaticRnnResult net = static_rnn(BasicLSTMCell(4), unstack(c.input("x")), {.sequence_length = c.input("n")});
  std::vector<Output> outputs = net.outputs;
  outputs.insert(outputs.end(), net.state.begin(), net.state.end());
  EXPECT_EQ(c.check(outputs), "");
}

TEST(Rnn, StaticIsTensorFlows) {
  for (const auto& [name, make] : cells()) {
    const NnCase c("rnn." + name + ".static");
    const StaticRnnResult net = static_rnn(make(), unstack(c.input("x")));
    std::vector<Output> outputs = net.outputs;
    outputs.insert(outputs.end(), net.state.begin(), net.state.end());
    EXPECT_EQ(c.check(outputs), "");
  }
}

TEST(Rnn, Bidirectional) {
  for (const bool lengths : {false, true}) {
    const NnCase c(lengths ? "rnn.bidirectional_lengths" : "rnn.bidirectional");
    BidirectionalRnnOptions options;
    if (lengths) options.sequence_length = c.input("n");
    const auto net = bidirectional_dynamic_rnn(BasicLSTMCell(4), GRUCell(2), c.input("x"), options);
    EXPECT_EQ(c.check({net.fw.outputs, net.bw.outputs, net.fw.state[0], net.fw.state[1], net.bw.state[0]}), "");
  }
}

TEST(Rnn, DropoutDrawsTensorFlowsMasks) {
  for (const bool variational : {false, true}) {
    const NnCase c(variational ? "rnn.dropout_True" : "rnn.dropout_False");
    const Cell cell = DropoutWrapper(BasicLSTMCell(4), {.input_keep_prob = 0.7,
                                                        .output_keep_prob = 0.8,
                                                        .state_keep_prob = 0.6,
                                                        .variational_recurrent = variational,
                                                        .input_size = 3,
                                                        .seed = 5});
    const RnnResult net = dynamic_rnn(cell, c.input("x"), {.parallel_iterations = 1});
    std::vector<Output> parts;
    for (const Output& each : flat(net.outputs, net.state)) parts.push_back(reshape(each, {-1}));
    const Output everything = concat(parts, 0);
    EXPECT_EQ(c.check({everything, everything}), "");
  }
}

class RnnTest : public ::testing::Test {
 protected:
  static std::string message_of(const std::function<void()>& action) {
    try {
      action();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }
  Graph graph_;
  GraphScope scope_{graph_};
  Session session_{graph_};
};

TEST_F(RnnTest, TakesBatchesAndStepsOfAnySize) {
  const Output x = placeholder(float32, {-1, -1, 2});
  const RnnResult net = dynamic_rnn(GRUCell(3), x);
  session_.run(global_variables_initializer());
  EXPECT_EQ(session_.run(net.outputs, {{x, Tensor::zeros(float32, {5, 7, 2})}}).shape(), (Shape{5, 7, 3}));
  EXPECT_EQ(session_.run(net.state[0], {{x, Tensor::zeros(float32, {1, 2, 2})}}).shape(), (Shape{1, 3}));
}

TEST_F(RnnTest, ACellSharesItsWeights) {
  const Cell cell = BasicRNNCell(2);
  dynamic_rnn(cell, placeholder(float32, {-1, 4, 3}));
  static_rnn(cell, {placeholder(float32, {-1, 3})}, {.scope = "again"});
  EXPECT_EQ(global_variables().size(), 2U);
}

TEST_F(RnnTest, ErrorsShowWhatDoesNotFit) {
  const Cell cell = BasicRNNCell(2);
  const std::string rank = message_of([&] { dynamic_rnn(cell, placeholder(float32, {-1, 3}, {.name = "X"})); });
  EXPECT_NE(rank.find("dynamic_rnn"), std::string::npos) << rank;
  EXPECT_NE(rank.find("float32[?,3] 'X:0'"), std::string::npos) << rank;
  EXPECT_NE(rank.find("rnn_test.cc:"), std::string::npos) << rank;
  dynamic_rnn(cell, placeholder(float32, {-1, 4, 3}));
  const std::string size = message_of([&] { dynamic_rnn(cell, placeholder(float32, {-1, 4, 5})); });
  EXPECT_NE(size.find("inputs of size 3"), std::string::npos) << size;
  EXPECT_THROW(MultiRNNCell({}), Error);
  EXPECT_THROW(DropoutWrapper(cell, {.output_keep_prob = 0.0}), Error);
  EXPECT_THROW(ResidualWrapper(GRUCell(2))(placeholder(float32, {1, 3}), {zeros({1, 2})}), Error);
}

}  // namespace
}  // namespace caudal::nn
