#include "caudal/ops/sampled_loss.h"

#include "caudal/graph/scope.h"
#include "caudal/ops/cast.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/cross_entropy.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/joining.h"
#include "caudal/ops/matmul.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/reduction.h"
#include "caudal/ops/shape_ops.h"
#include "caudal/ops/slicing.h"
#include "caudal/ops/variable_nd.h"

namespace caudal::inline v0::nn {
namespace {

struct Logits {
  Output logits, labels;  // both [batch, num_true + num_sampled]
};

// -FLT_MAX where a sample is a true class of the row, else 0: [batch, num_sampled].
Output accidental_logits(const Output& labels, const Output& sampled, const SampledLossOptions& options) {
  const AccidentalHits hits = compute_accidental_hits(labels, sampled, {.num_true = options.num_true});
  const Output rows = reshape(hits.indices, {-1, 1});
  const Output columns = reshape(cast(hits.ids, DType::kInt32), {-1, 1});
  const Output batch = slice(shape_of(labels), {0}, {1});
  const Output count = Operand(std::vector<std::int64_t>{options.num_sampled}).to_output(DType::kInt32);
  const Output shape = concat({batch, cast(count, DType::kInt32)}, 0);
  return tensor_scatter_nd_update(fill(shape, 0.0F), concat({rows, columns}, 1), hits.weights);
}

Logits sampled_logits(const SampledLossOptions& options, bool remove_accidental_hits) {
  const Output inputs = options.inputs.to_output(DType::kFloat);
  const Output labels = cast(options.labels.to_output(DType::kInt64), DType::kInt64);
  const Output flat_labels = reshape(labels, {-1});
  const random::SampledCandidates drawn =
      options.sampled_values ? *options.sampled_values
                             : random::log_uniform_candidate_sampler(labels, {.num_true = options.num_true,
                                                                              .num_sampled = options.num_sampled,
                                                                              .unique = true,
                                                                              .range_max = options.num_classes,
                                                                              .seed = options.seed});
  const Output sampled = cast(stop_gradient(drawn.sampled_candidates), DType::kInt64);
  const Output ids = concat({flat_labels, sampled}, 0);
  const Output true_count = shape_of(flat_labels);  // of length 1

  const Output weights =
      cast(embedding_lookup(options.weights, ids, {.partition_strategy = options.partition_strategy}), inputs.dtype());
  const Output start = concat({true_count, int32_vector({0})}, 0);
  const Output true_weights = slice(weights, {0, 0}, concat({true_count, int32_vector({-1})}, 0));
  const Output sampled_weights = slice(weights, start, {-1, -1});
  const Output biases = cast(embedding_lookup({options.biases.to_output(DType::kFloat)}, ids,
                                              {.partition_strategy = options.partition_strategy}),
                             inputs.dtype());
  const Output true_biases = slice(biases, {0}, true_count);
  const Output sampled_biases = slice(biases, true_count, {-1});

  const Output width = slice(shape_of(true_weights), {1}, {1});
  const Output by_example = reshape(true_weights, concat({int32_vector({-1, options.num_true}), width}, 0));
  const Output products = expand_dims(inputs, 1) * by_example;
  Output true_logits = reduce_sum(products, {.axis = 2});
  true_logits = true_logits + reshape(true_biases, std::vector<std::int64_t>{-1, options.num_true});
  Output others = matmul(inputs, sampled_weights, {.transpose_b = true}) + sampled_biases;
  if (remove_accidental_hits) {
    others = others + cast(accidental_logits(labels, sampled, options), inputs.dtype());
  }
  // Without this, frequent classes would be pushed down for being sampled often.
  true_logits = true_logits - cast(log(stop_gradient(drawn.true_expected_count)), inputs.dtype());
  others = others - cast(log(stop_gradient(drawn.sampled_expected_count)), inputs.dtype());
  return {concat({true_logits, others}, 1),
          concat({ones_like(true_logits) / static_cast<float>(options.num_true), zeros_like(others)}, 1)};
}

std::string scope_name(const SampledLossOptions& options, const char* otherwise) {
  return options.name.empty() ? otherwise : options.name;
}

}  // namespace

Output nce_loss(const SampledLossOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope(scope_name(options, "nce_loss"));
  const Logits sampled = sampled_logits(options, options.remove_accidental_hits.value_or(false));
  const Output losses = sigmoid_cross_entropy_with_logits({.labels = sampled.labels, .logits = sampled.logits});
  return reduce_sum(losses, {.axis = 1});
}

Output sampled_softmax_loss(const SampledLossOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope(scope_name(options, "sampled_softmax_loss"));
  const Logits sampled = sampled_logits(options, options.remove_accidental_hits.value_or(true));
  return softmax_cross_entropy_with_logits({.labels = stop_gradient(sampled.labels), .logits = sampled.logits});
}

}  // namespace caudal::inline v0::nn
