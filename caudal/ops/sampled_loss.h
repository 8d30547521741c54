// Losses over very many classes that look at the true classes and a few sampled ones only.
//
//   Output loss = nn::nce_loss({.weights = table, .biases = b, .labels = words, .inputs = context,
//                               .num_sampled = 64, .num_classes = 50000});
//
// Gradients of weights and biases are sparse: only rows of true and sampled classes. For training; evaluate with all
// classes. Thread safety: as building a graph.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/ops/candidate_sampling.h"
#include "caudal/ops/embedding.h"

namespace caudal::inline v0::nn {

struct SampledLossOptions {
  std::vector<Output> weights;  // [num_classes, dim], whole or in parts
  Operand biases;               // [num_classes]
  Operand labels;               // true classes: integers [batch, num_true]
  Operand inputs;               // [batch, dim]
  std::int64_t num_sampled = 1;
  std::int64_t num_classes = 1;
  std::int64_t num_true = 1;
  // Default: random::log_uniform_candidate_sampler.
  std::optional<random::SampledCandidates> sampled_values = {};
  // Take samples that are true classes of an example out of its loss. Default: false for nce_loss, true for
  // sampled_softmax_loss.
  std::optional<bool> remove_accidental_hits = {};
  PartitionStrategy partition_strategy = PartitionStrategy::kMod;
  std::string name = {};
  std::optional<std::int64_t> seed = {};
  std::source_location where = std::source_location::current();
};

// Noise-contrastive estimation (Gutmann and Hyvärinen 2010): every true and sampled class decided by itself. [batch].
CAUDAL_API Output nce_loss(const SampledLossOptions& options);
// The softmax cross entropy among true and sampled classes (Jean et al. 2015). [batch].
CAUDAL_API Output sampled_softmax_loss(const SampledLossOptions& options);

}  // namespace caudal::inline v0::nn
