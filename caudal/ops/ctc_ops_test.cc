#include "caudal/ops/ctc_ops.h"

#include <gtest/gtest.h>

#include <cmath>

#include "caudal/autodiff/gradient.h"
#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/runtime/session.h"
#include "tests/harness/op_samples.h"

namespace caudal::inline v0 {
namespace {

using harness::Check;
using Ints = std::vector<int>;
using Longs = std::vector<std::int64_t>;

const std::vector<DType> kTypes = {float32, float64};
const Tensor kIndices = Tensor::from<std::int64_t>({5, 2}, {0, 0, 0, 1, 0, 2, 1, 0, 1, 1});
const Tensor kLabels(Ints{0, 1, 1, 2, 0}), kLengths(Ints{5, 3});

CAUDAL_OP_SAMPLES(CTCLoss) {
  for (const DType t : kTypes) {
    for (const bool collapse : {false, true}) {
      for (const bool merge : {false, true}) {
        samples.add({.inputs = {samples.random(t, {5, 2, 4}), kIndices, kLabels, kLengths},
                     .attrs = {{"preprocess_collapse_repeated", collapse}, {"ctc_merge_repeated", merge}},
                     .gradient = t == float64 ? Check::kYes : Check::kNo,
                     .second_order = Check::kNo,
                     .undifferentiated_outputs = {1}});
      }
    }
  }
  const Tensor inputs = samples.random(float32, {5, 2, 4});
  samples.add({.inputs = {inputs, kIndices, kLabels, Tensor(Ints{2, 0})},
               .attrs = {{"ignore_longer_outputs_than_inputs", true}},
               .gradient = Check::kNo});
  const auto error = [&](const Tensor& in, const Tensor& indices, const Tensor& labels, const Tensor& lengths) {
    samples.error({in, indices, labels, lengths}, Code::kInvalidArgument);
  };
  error(samples.random(float32, {5, 4}), kIndices, kLabels, kLengths);
  error(samples.random(float32, {0, 2, 4}), kIndices, kLabels, Tensor(Ints{0, 0}));
  error(inputs, kIndices, kLabels, Tensor(Ints{6, 3}));
  error(inputs, kIndices, kLabels, Tensor(Ints{-1, 3}));
  error(inputs, kIndices, kLabels, Tensor(Ints{5}));
  error(inputs, kIndices, kLabels, Tensor(Ints{2, 3}));                                  // too short for its labels
  error(inputs, kIndices, Tensor(Ints{0, 1, -1, 2, 0}), kLengths);                       // no label
  error(inputs, kIndices, Tensor(Ints{0, 3, 1, 2, 0}), kLengths);                        // a label behind a blank
  error(inputs, Tensor::from<std::int64_t>({1, 2}, {0, 0}), Tensor(Ints{1}), kLengths);  // an entry without
  error(inputs, Tensor::from<std::int64_t>({2, 2}, {0, 0, 2, 0}), Tensor(Ints{1, 1}), kLengths);  // outside
  error(inputs, Tensor::from<std::int64_t>({2, 2}, {1, 0, 0, 0}), Tensor(Ints{1, 1}), kLengths);  // out of order
  error(inputs, kIndices, Tensor(Ints{1}), kLengths);
}

void decoder_errors(harness::Samples& samples, const AttrMap& attrs) {
  const Tensor inputs = samples.random(float32, {5, 2, 4});
  samples.error({samples.random(float32, {5, 4}), kLengths}, Code::kInvalidArgument, attrs);
  samples.error({samples.random(float32, {5, 2, 0}), kLengths}, Code::kInvalidArgument, attrs);
  samples.error({inputs, Tensor(Ints{6, 1})}, Code::kFailedPrecondition, attrs);
}

CAUDAL_OP_SAMPLES(CTCGreedyDecoder) {
  for (const DType t : kTypes) {
    for (const bool merge : {false, true}) {
      samples.add({.inputs = {samples.random(t, {7, 3, 3}), Tensor(Ints{7, 0, 4})},
                   .attrs = {{"merge_repeated", merge}, {"blank_index", merge ? -1 : 0}},
                   .shape_unknown = true});
    }
  }
  decoder_errors(samples, {});
  samples.error({samples.random(float32, {5, 2, 4}), kLengths}, Code::kInvalidArgument, {{"blank_index", 4}});
  samples.error({samples.random(float32, {5, 2, 4}), kLengths}, Code::kInvalidArgument, {{"blank_index", -5}});
}

CAUDAL_OP_SAMPLES(CTCBeamSearchDecoder) {
  for (const DType t : kTypes) {
    for (const bool merge : {false, true}) {
      samples.add({.inputs = {samples.random(t, {7, 3, 3}), Tensor(Ints{7, 5, 4})},
                   .attrs = {{"merge_repeated", merge}, {"beam_width", 5}, {"top_paths", 2}},
                   .shape_unknown = true});
    }
  }
  decoder_errors(samples, {{"beam_width", 5}, {"top_paths", 2}});
  samples.error({samples.random(float32, {5, 2, 4}), kLengths}, Code::kInvalidArgument,
                {{"beam_width", 2}, {"top_paths", 3}});
  samples.error({samples.random(float32, {5, 2, 4}), Tensor(Ints{5, 0})}, Code::kInvalidArgument,
                {{"beam_width", 5}, {"top_paths", 2}});
}

class Ctc : public testing::Test {
 protected:
  Graph graph_;
  GraphScope scope_{graph_};
  Session session_{graph_};
};

TEST_F(Ctc, LossIsTheSumOverAlignments) {
  // Two steps, one label: "a-", "-a" and "aa" of four equally likely pairs.
  const Output inputs = constant(Tensor::zeros(float32, {2, 1, 2}));
  const SparseTensor labels = {constant(Tensor::from<std::int64_t>({1, 2}, {0, 0})), constant({0}),
                               constant(Tensor(Longs{1, 1}))};
  const Output loss = nn::ctc_loss(labels, inputs, {2});
  EXPECT_FLOAT_EQ(session_.run(loss).item<float>(), -std::log(0.75F));
  const Output slope = gradients({loss}, {inputs})[0].dense();
  EXPECT_NEAR(session_.run(slope).at<float>(0, 0, 0), 0.5 - 2.0 / 3, 1e-6);
  EXPECT_THROW(gradients({slope}, {inputs}), Error);
}

TEST_F(Ctc, BeamSearchAddsAlignmentsUp) {
  // Greedy takes "--" at 0.36; "a" has 0.64 over its three alignments.
  Tensor scores(float32, {2, 1, 2});
  for (int t = 0; t < 2; ++t) {
    scores.data<float>()[2 * t] = std::log(0.4F);
    scores.data<float>()[2 * t + 1] = std::log(0.6F);
  }
  const auto greedy = nn::ctc_greedy_decoder(constant(scores), {2});
  EXPECT_EQ(session_.run(greedy.decoded[0].values).num_elements(), 0);
  const auto beam = nn::ctc_beam_search_decoder(constant(scores), {2}, {.beam_width = 4, .top_paths = 2});
  EXPECT_EQ(session_.run(beam.decoded[0].values).to_vector<std::int64_t>(), Longs{0});
  EXPECT_EQ(session_.run(beam.decoded[0].dense_shape).to_vector<std::int64_t>(), (Longs{1, 1}));
  const auto probabilities = session_.run(beam.log_probability).to_vector<float>();
  EXPECT_NEAR(probabilities[0], std::log(0.64F), 1e-5);
  EXPECT_NEAR(probabilities[1], std::log(0.36F), 1e-5);
}

}  // namespace
}  // namespace caudal::inline v0
