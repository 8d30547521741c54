#include "caudal/ops/rnn_blocks.h"

#include <gtest/gtest.h>

#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/runtime/session.h"
#include "tests/harness/op_samples.h"

namespace caudal::inline v0 {
namespace {

using harness::Check;
using Inputs = std::vector<harness::SampleInput>;

const harness::ValueRange kSmall = {.low = -0.9, .high = 0.9, .clear = 0};
const std::vector<DType> kTypes = {float16, float32};

// Random tensors of the shapes, in order.
void add_random(harness::Samples& samples, DType t, const std::vector<Shape>& shapes, Inputs& inputs) {
  for (const Shape& shape : shapes) inputs.emplace_back(samples.random(t, shape, kSmall));
}

std::vector<Shape> weights(std::int64_t input, std::int64_t cell) {
  return {{input + cell, 4 * cell}, {cell}, {cell}, {cell}, {4 * cell}};
}

struct Sizes {
  std::int64_t batch, input, cell;
};
const std::vector<Sizes> kSizes = {{2, 3, 2}, {1, 1, 5}, {0, 2, 2}};

Inputs cell_inputs(harness::Samples& samples, DType t, const Sizes& s, bool grad) {
  Inputs inputs;
  const Shape state = {s.batch, s.cell};
  add_random(samples, t, {{s.batch, s.input}, state, state}, inputs);
  add_random(samples, t, weights(s.input, s.cell), inputs);
  if (grad) add_random(samples, t, std::vector<Shape>(8, state), inputs);
  return inputs;
}

CAUDAL_OP_SAMPLES(LSTMBlockCell) {
  for (const DType t : kTypes) {
    for (const Sizes& s : kSizes) {
      samples.add({.inputs = cell_inputs(samples, t, s, false)});
      samples.add({.inputs = cell_inputs(samples, t, s, false),
                   .attrs = {{"use_peephole", true}, {"cell_clip", 0.2F}, {"forget_bias", 0.0F}}});
    }
  }
  for (int bad = 1; bad < 8; ++bad) {
    Inputs inputs = cell_inputs(samples, float32, kSizes[0], false);
    inputs[static_cast<std::size_t>(bad)] = samples.random(float32, bad < 4 ? Shape{2, 9} : Shape{9});
    samples.error(inputs, Code::kInvalidArgument);
  }
}

CAUDAL_OP_SAMPLES(LSTMBlockCellGrad) {
  for (const DType t : kTypes) {
    for (const Sizes& s : kSizes) {
      for (const bool peephole : {false, true}) {
        samples.add({.inputs = cell_inputs(samples, t, s, true), .attrs = {{"use_peephole", peephole}}});
      }
    }
  }
  Inputs inputs = cell_inputs(samples, float32, kSizes[0], true);
  inputs[15] = samples.random(float32, {2, 3});
  samples.error(inputs, Code::kInvalidArgument, {{"use_peephole", false}});
}

Inputs block_inputs(harness::Samples& samples, DType t, std::int64_t steps, std::int64_t time, const Sizes& s,
                    bool grad) {
  Inputs inputs = {Tensor(steps)};
  const Shape state = {s.batch, s.cell};
  add_random(samples, t, {{time, s.batch, s.input}, state, state}, inputs);
  add_random(samples, t, weights(s.input, s.cell), inputs);
  if (grad) add_random(samples, t, std::vector<Shape>(9, Shape{time, s.batch, s.cell}), inputs);
  return inputs;
}

void block_samples(harness::Samples& samples) {
  for (const DType t : kTypes) {
    for (const Sizes& s : kSizes) {
      for (const std::int64_t steps : {0, 2, 3}) {
        samples.add({.inputs = block_inputs(samples, t, steps, 3, s, false), .gradient = Check::kNo});
      }
    }
  }
  for (const bool peephole : {false, true}) {
    samples.add({.inputs = block_inputs(samples, float32, 2, 3, kSizes[0], false),
                 .attrs = {{"use_peephole", peephole}, {"cell_clip", 0.0F}},
                 .gradient = Check::kYes,
                 .second_order = Check::kNo,
                 .undifferentiated_outputs = {0, 2, 3, 4, 5}});
  }
  samples.error(block_inputs(samples, float32, 4, 3, kSizes[0], false), Code::kInvalidArgument);
  samples.error(block_inputs(samples, float32, -1, 3, kSizes[0], false), Code::kInvalidArgument);
  Inputs inputs = block_inputs(samples, float32, 3, 3, kSizes[0], false);
  inputs[4] = samples.random(float32, {5, 9});
  samples.error(inputs, Code::kInvalidArgument);
}

void block_grad_samples(harness::Samples& samples) {
  for (const DType t : kTypes) {
    for (const Sizes& s : kSizes) {
      for (const bool peephole : {false, true}) {
        samples.add({.inputs = block_inputs(samples, t, 2, 3, s, true), .attrs = {{"use_peephole", peephole}}});
      }
    }
  }
  Inputs inputs = block_inputs(samples, float32, 3, 3, kSizes[0], true);
  inputs[16] = samples.random(float32, {2, 2, 2});
  samples.error(inputs, Code::kInvalidArgument, {{"use_peephole", false}});
}

CAUDAL_OP_SAMPLES(BlockLSTM) { block_samples(samples); }
CAUDAL_OP_SAMPLES(BlockLSTMV2) { block_samples(samples); }
CAUDAL_OP_SAMPLES(BlockLSTMGrad) { block_grad_samples(samples); }
CAUDAL_OP_SAMPLES(BlockLSTMGradV2) { block_grad_samples(samples); }

std::vector<Shape> gru_shapes(const Sizes& s, bool grad) {
  const Shape state = {s.batch, s.cell};
  std::vector<Shape> shapes = {{s.batch, s.input},         state,        {s.input + s.cell, 2 * s.cell},
                               {s.input + s.cell, s.cell}, {2 * s.cell}, {s.cell}};
  if (grad) shapes.insert(shapes.end(), 4, state);
  return shapes;
}

void gru_samples(harness::Samples& samples, bool grad) {
  for (const Sizes& s : kSizes) {
    Inputs inputs;
    add_random(samples, float32, gru_shapes(s, grad), inputs);
    samples.add({.inputs = inputs});
  }
  for (std::size_t bad = 1; bad < (grad ? 10U : 6U); ++bad) {
    Inputs inputs;
    add_random(samples, float32, gru_shapes(kSizes[0], grad), inputs);
    inputs[bad] = samples.random(float32, {7, 7});
    samples.error(inputs, Code::kInvalidArgument);
  }
}

CAUDAL_OP_SAMPLES(GRUBlockCell) { gru_samples(samples, false); }
CAUDAL_OP_SAMPLES(GRUBlockCellGrad) { gru_samples(samples, true); }

TEST(RnnBlocks, ASequenceIsItsSteps) {
  Graph graph;
  const GraphScope scope(graph);
  const auto random = [](const Shape& shape) { return constant(harness::random_tensor(float32, shape, 1, kSmall)); };
  const Output x = random({2, 3, 4}), cs = random({3, 2}), h = random({3, 2});
  const raw_ops::LstmWeights weights = {random({6, 8}), random({2}), random({2}), random({2}), random({8})};
  const raw_ops::LstmBlockOptions options = {.use_peephole = true};
  const auto block = raw_ops::block_lstm(std::int64_t{2}, x, cs, h, weights, options);
  const auto step = [&](int t) {
    const Output slice = OpBuilder("GatherV2", {}).input(x).input(t).input(0).build();
    return slice;
  };
  const auto first = raw_ops::lstm_block_cell(step(0), cs, h, weights, options);
  const auto second = raw_ops::lstm_block_cell(step(1), first.cs, first.h, weights, options);
  Session session;
  const auto values = session.run({block.h, first.h, second.h});
  std::vector<float> steps = values[1].to_vector<float>();
  const auto last = values[2].to_vector<float>();
  steps.insert(steps.end(), last.begin(), last.end());
  EXPECT_EQ(values[0].to_vector<float>(), steps);
}

}  // namespace
}  // namespace caudal::inline v0
