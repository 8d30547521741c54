#include "caudal/ops/candidate_sampling.h"

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>

#include "caudal/autodiff/gradient.h"
#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "caudal/core/node_state.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/sampled_loss.h"
#include "caudal/runtime/session.h"
#include "tests/harness/op_samples.h"

namespace caudal::inline v0 {
namespace {

using Floats = std::vector<float>;
using Longs = std::vector<std::int64_t>;

const Tensor kTrue = Tensor::from<std::int64_t>({2, 2}, {1, 5, 0, 9});

AttrMap attrs(std::int64_t num_sampled, bool unique, AttrMap more = {}) {
  more.insert({{"num_true", 2}, {"num_sampled", num_sampled}, {"unique", unique}, {"seed", 3}, {"seed2", 5}});
  return more;
}

// The values are TensorFlow's: see the tests below.
void sampler_samples(harness::Samples& samples, const AttrMap& more) {
  for (const bool unique : {false, true}) {
    samples.add({.inputs = {kTrue}, .attrs = attrs(4, unique, more), .opaque_outputs = {0, 1, 2}});
    samples.add({.inputs = {Tensor(int64, {0, 2})}, .attrs = attrs(4, unique, more), .opaque_outputs = {0, 1, 2}});
  }
  samples.error({Tensor::from<std::int64_t>({1, 2}, {1, 10})}, Code::kInvalidArgument, attrs(4, true, more));
  samples.error({Tensor::from<std::int64_t>({1, 2}, {-1, 1})}, Code::kInvalidArgument, attrs(4, true, more));
  samples.error({Tensor::from<std::int64_t>({1, 1}, {1})}, Code::kInvalidArgument, attrs(4, true, more));
  samples.error({Tensor(Longs{1, 2})}, Code::kInvalidArgument, attrs(4, true, more));
  samples.error({kTrue}, Code::kInvalidArgument, attrs(11, true, more));
}

const AttrMap kRange = {{"range_max", 10}};
const Floats kUnigrams = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};

CAUDAL_OP_SAMPLES(UniformCandidateSampler) { sampler_samples(samples, kRange); }
CAUDAL_OP_SAMPLES(LogUniformCandidateSampler) { sampler_samples(samples, kRange); }
CAUDAL_OP_SAMPLES(LearnedUnigramCandidateSampler) {
  sampler_samples(samples, kRange);
  samples.error({kTrue}, Code::kInvalidArgument, attrs(4, true, {{"range_max", std::int64_t{1} << 31}}));
}
CAUDAL_OP_SAMPLES(ThreadUnsafeUnigramCandidateSampler) { sampler_samples(samples, kRange); }
CAUDAL_OP_SAMPLES(FixedUnigramCandidateSampler) {
  samples.covered_by("CandidateSampling.FixedUnigramsAsTensorFlow");
  sampler_samples(samples, {{"range_max", 10}, {"unigrams", kUnigrams}});
  const auto error = [&](AttrMap more) { samples.error({kTrue}, Code::kInvalidArgument, attrs(2, true, more)); };
  error({{"range_max", 10}});
  error({{"range_max", 9}, {"unigrams", kUnigrams}});
  error({{"range_max", 10}, {"unigrams", Floats(10, 0)}});
  error({{"range_max", 10}, {"unigrams", Floats(10, -1)}});
  error({{"range_max", 10}, {"unigrams", kUnigrams}, {"num_shards", 2}, {"shard", 2}});
  error({{"range_max", 10}, {"unigrams", kUnigrams}, {"vocab_file", "words.csv"}});
  // Reserved classes cannot be drawn.
  samples.error({kTrue}, Code::kInvalidArgument,
                attrs(3, true, {{"range_max", 10}, {"unigrams", Floats{1, 1}}, {"num_reserved_ids", 8}}));
}
CAUDAL_OP_SAMPLES(AllCandidateSampler) {
  const AttrMap all = attrs(10, true);
  samples.add({.inputs = {kTrue},
               .attrs = all,
               .expected = {Tensor(Longs{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}), Tensor::from<float>({2, 2}, {1, 1, 1, 1}),
                            Tensor(Floats(10, 1))}});
  samples.error({Tensor::from<std::int64_t>({1, 2}, {1, 10})}, Code::kInvalidArgument, all);
}
CAUDAL_OP_SAMPLES(ComputeAccidentalHits) {
  samples.add({.inputs = {kTrue, Tensor(Longs{9, 4, 1, 9})},
               .attrs = {{"num_true", 2}},
               .expected = {Tensor(std::vector<int>{0, 1}), Tensor(Longs{2, 3}), Tensor(Floats{-FLT_MAX, -FLT_MAX})},
               .shape_unknown = true});
  samples.add({.inputs = {kTrue, Tensor(Longs{})}, .attrs = {{"num_true", 2}}, .shape_unknown = true});
  samples.error({kTrue, Tensor(Longs{1})}, Code::kInvalidArgument, {{"num_true", 3}});
  samples.error({kTrue, Tensor(1)}, Code::kInvalidArgument, {{"num_true", 2}});
}

class CandidateSampling : public testing::Test {
 protected:
  // A node with seed 3 and seed2 5.
  Node& node(const std::string& op, std::int64_t num_sampled, bool unique, AttrMap more = kRange) {
    OpBuilder builder(op, {});
    builder.input(kTrue);
    for (const auto& [name, value] : attrs(num_sampled, unique, std::move(more))) builder.attr(name, value);
    return builder.build_node();
  }
  Longs run(Node& sampler) { return session_.run(sampler.output(0)).to_vector<std::int64_t>(); }
  Floats counts(Node& sampler, int output) {
    Session fresh(graph_);
    return fresh.run(sampler.output(output)).to_vector<float>();
  }
  static void expect_near(const Floats& got, const Floats& wanted) {
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-5 * (1 + std::abs(wanted[i])));
  }

  Graph graph_;
  GraphScope scope_{graph_};
  Session session_{graph_};
};

TEST_F(CandidateSampling, UniformAsTensorFlow) {
  Node& repeated = node("UniformCandidateSampler", 4, false);
  EXPECT_EQ(run(repeated), (Longs{9, 8, 2, 5}));
  EXPECT_EQ(run(repeated), (Longs{1, 3, 9, 4}));
  EXPECT_EQ(run(node("UniformCandidateSampler", 6, true)), (Longs{9, 8, 2, 5, 0, 1}));
}

TEST_F(CandidateSampling, LogUniformAsTensorFlow) {
  Node& sampler = node("LogUniformCandidateSampler", 5, true);
  EXPECT_EQ(run(sampler), (Longs{0, 1, 4, 5, 6}));
  EXPECT_EQ(run(sampler), (Longs{0, 4, 2, 1, 3}));
  expect_near(counts(sampler, 1), {0.67090797F, 0.32878873F, 0.87088406F, 0.21600579F});
  expect_near(counts(sampler, 2), {0.87088406F, 0.67090797F, 0.37779146F, 0.32878873F, 0.29091868F});
}

TEST_F(CandidateSampling, LearnsUnigramsAsTensorFlow) {
  Node& sampler = node("LearnedUnigramCandidateSampler", 5, true);
  EXPECT_EQ(run(sampler), (Longs{1, 8, 6, 7, 2}));
  const auto states = session_.node_states().save();
  const auto outputs = session_.run({sampler.output(0), sampler.output(2)});
  EXPECT_EQ(outputs[0].to_vector<std::int64_t>(), (Longs{8, 1, 6, 5, 9}));
  expect_near(outputs[1].to_vector<float>(), {0.35895002F, 0.60343057F, 0.35895002F, 0.60343057F, 0.60343057F});
  Session resumed(graph_);
  resumed.node_states().restore(states);
  EXPECT_EQ(resumed.run(sampler.output(0)).to_vector<std::int64_t>(), (Longs{8, 1, 6, 5, 9}));
}

TEST_F(CandidateSampling, FixedUnigramsAsTensorFlow) {
  Node& distorted = node("FixedUnigramCandidateSampler", 5, false,
                         {{"range_max", 10}, {"unigrams", kUnigrams}, {"distortion", 0.75F}});
  EXPECT_EQ(run(distorted), (Longs{7, 7, 5, 9, 9}));
  expect_near(counts(distorted, 1), {0.24131103F, 0.55007017F, 0.14348438F, 0.80687201F});
  Node& reserved = node("FixedUnigramCandidateSampler", 3, true,
                        {{"range_max", 10}, {"unigrams", Floats{1, 2, 3, 4, 5, 6, 7, 8}}, {"num_reserved_ids", 2}});
  EXPECT_EQ(run(reserved), (Longs{8, 7, 5}));
  expect_near(counts(reserved, 2), {0.58333337F, 0.5F, 0.33333334F});

  const std::string file = default_env().make_temp_dir("candidates") + "/words.csv";
  auto words = default_env().create(file);
  words->append("the,1,1\nof,2\nand,3\nto,4\na,5\nin,6\nfor,7\nis,8\n");
  words->close();
  Node& from_file =
      node("FixedUnigramCandidateSampler", 3, true, {{"range_max", 10}, {"vocab_file", file}, {"num_reserved_ids", 2}});
  EXPECT_EQ(run(from_file), (Longs{8, 7, 5}));
}

// tf.compat.v1.nn.nce_loss and sampled_softmax_loss with given samples.
TEST_F(CandidateSampling, LossesAsTensorFlow) {
  Tensor table(float32, {10, 4}), inputs(float32, {2, 4}), biases(float32, {10});
  for (int i = 0; i < 40; ++i) table.data<float>()[i] = static_cast<float>(i) / 20;
  for (int i = 0; i < 8; ++i) inputs.data<float>()[i] = static_cast<float>(i) / 8 - 0.4F;
  for (int i = 0; i < 10; ++i) biases.data<float>()[i] = static_cast<float>(i) / 10;
  const Output weights = constant(table), x = constant(inputs);
  const random::SampledCandidates samples = {constant(Tensor(Longs{2, 5, 7})),
                                             constant(Tensor::from<float>({2, 2}, {0.5F, 0.4F, 0.3F, 0.2F})),
                                             constant({0.9F, 0.8F, 0.7F})};
  const nn::SampledLossOptions options = {.weights = {weights},
                                          .biases = biases,
                                          .labels = kTrue,
                                          .inputs = x,
                                          .num_sampled = 3,
                                          .num_classes = 10,
                                          .num_true = 2,
                                          .sampled_values = samples};
  const Output nce = nn::nce_loss(options), softmax = nn::sampled_softmax_loss(options);
  expect_near(session_.run(nce).to_vector<float>(), {3.354933023F, 9.446547508F});
  expect_near(session_.run(softmax).to_vector<float>(), {1.104128361F, 1.927313089F});
  expect_near(
      session_.run(gradients({nce}, {x})[0].dense()).to_vector<float>(),
      {1.454696894F, 1.538496137F, 1.622295499F, 1.706094623F, 3.365044117F, 3.530515671F, 3.695986986F, 3.861458302F});
  const auto slopes = gradients({softmax}, {x, weights});
  expect_near(
      session_.run(slopes[0].dense()).to_vector<float>(),
      {0.085178733F, 0.085178748F, 0.085178748F, 0.085178703F, 0.738720059F, 0.738720059F, 0.738720000F, 0.738720000F});
  ASSERT_TRUE(slopes[1].is_sparse());
  EXPECT_EQ(session_.run(slopes[1].slices().indices).to_vector<std::int64_t>(), (Longs{1, 5, 0, 9, 2, 5, 7}));
  const auto rows = session_.run(slopes[1].slices().values).to_vector<float>();
  expect_near(Floats(rows.begin(), rows.begin() + 4), {0.063576460F, 0.043708816F, 0.023841174F, 0.003973530F});
}

TEST_F(CandidateSampling, LossesDrawTheirOwnSamples) {
  const Output loss = nn::nce_loss({.weights = {constant(Tensor::zeros(float32, {10, 4}))},
                                    .biases = Tensor::zeros(float32, {10}),
                                    .labels = Tensor::from<std::int64_t>({3, 1}, {1, 2, 3}),
                                    .inputs = constant(Tensor::zeros(float32, {3, 4})),
                                    .num_sampled = 4,
                                    .num_classes = 10,
                                    .remove_accidental_hits = true,
                                    .seed = 1});
  EXPECT_EQ(loss.shape(), PartialShape({3}));
  for (const float value : session_.run(loss).to_vector<float>()) EXPECT_TRUE(std::isfinite(value));
}

}  // namespace
}  // namespace caudal::inline v0
