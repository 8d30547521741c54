// Candidate classes for losses over very many classes: a few drawn ones stand for all that are not true.
//
// Every sampler takes the true classes (int64 [batch, num_true]) and gives num_sampled classes together with how often
// each class, true and sampled, was to be expected among them. unique: no class twice. Seeds as caudal/ops/random.h.
// Errors: INVALID_ARGUMENT for a true class outside [0, range_max), and where fewer than num_sampled different classes
// can be drawn. Thread safety: as building a graph.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0 {
namespace random {

struct SampledCandidates {
  Output sampled_candidates;      // int64 [num_sampled]
  Output true_expected_count;     // float32 [batch, num_true]
  Output sampled_expected_count;  // float32 [num_sampled]
};

struct CandidateSamplerOptions {
  std::int64_t num_true = 1;
  std::int64_t num_sampled = 1;
  bool unique = true;
  std::int64_t range_max = 1;
  std::optional<std::int64_t> seed = {};
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// All classes equally likely.
CAUDAL_API SampledCandidates uniform_candidate_sampler(const Operand& true_classes,
                                                       const CandidateSamplerOptions& options);
// P(class) = log((class + 2) / (class + 1)) / log(range_max + 1): for classes sorted by falling frequency.
CAUDAL_API SampledCandidates log_uniform_candidate_sampler(const Operand& true_classes,
                                                           const CandidateSamplerOptions& options);
// By how often each class has been true so far. The session keeps the counts.
CAUDAL_API SampledCandidates learned_unigram_candidate_sampler(const Operand& true_classes,
                                                               const CandidateSamplerOptions& options);

struct FixedUnigramOptions {
  std::int64_t num_true = 1;
  std::int64_t num_sampled = 1;
  bool unique = true;
  std::int64_t range_max = 1;
  std::string vocab_file = {};  // lines of fields with a weight as the last, or
  float distortion = 1;         // weights are raised to this power
  std::int64_t num_reserved_ids = 0;
  std::int64_t num_shards = 1;
  std::int64_t shard = 0;
  std::vector<float> unigrams = {};  // the weights themselves
  std::optional<std::int64_t> seed = {};
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// By given weights; exactly one of vocab_file and unigrams.
CAUDAL_API SampledCandidates fixed_unigram_candidate_sampler(const Operand& true_classes,
                                                             const FixedUnigramOptions& options);

struct AllCandidateOptions {
  std::int64_t num_true = 1;
  std::int64_t num_sampled = 1;  // the number of classes
  bool unique = true;
  std::optional<std::int64_t> seed = {};
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// Every class once, for tests: losses then are those over all classes.
CAUDAL_API SampledCandidates all_candidate_sampler(const Operand& true_classes, const AllCandidateOptions& options);

}  // namespace random

namespace nn {

struct AccidentalHits {
  Output indices, ids, weights;  // int32, int64, float32: one entry for each hit
};
struct AccidentalHitsOptions {
  std::int64_t num_true = 1;
  std::optional<std::int64_t> seed = {};
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// Where true classes were sampled: row of true_classes, position in sampled_candidates, and -FLT_MAX, which added to a
// logit removes it.
CAUDAL_API AccidentalHits compute_accidental_hits(const Operand& true_classes, const Operand& sampled_candidates,
                                                  const AccidentalHitsOptions& options = {});

}  // namespace nn
}  // namespace caudal::inline v0
