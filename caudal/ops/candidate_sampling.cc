#include "caudal/ops/candidate_sampling.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <mutex>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "caudal/base/env.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/random.h"
#include "caudal/ops/random_state.h"
#include "caudal/ops/range_sampler.h"

namespace caudal::inline v0 {
namespace {

// --- State ---

// The stream, and the sampler once the op has run. Saved as the stream's 24 bytes and what the sampler learned.
class SamplerState final : public NodeState {
 public:
  SamplerState(std::uint64_t seed, std::uint64_t seed2) : random_(seed, seed2) {}

  std::string save() const override {
    const std::lock_guard lock(mutex_);
    return random_.save() + (sampler_ ? sampler_->save() : learned_);
  }
  void restore(std::string_view bytes) override {
    const std::lock_guard lock(mutex_);
    random_.restore(bytes.substr(0, kRandomBytes));
    learned_ = bytes.substr(kRandomBytes);
    if (sampler_ && sampler_->learns()) sampler_->restore(learned_);
  }

  PhiloxState& philox() { return random_.philox(); }
  // Calls use(sampler) alone; make() gives the sampler the first time.
  template <class Make, class Use>
  void with_sampler(const Make& make, const Use& use) {
    const std::lock_guard lock(mutex_);
    if (!sampler_) {
      auto sampler = make();
      if (sampler->learns() && !learned_.empty()) sampler->restore(learned_);
      sampler_ = std::move(sampler);
    }
    use(*sampler_);
  }

 private:
  static constexpr std::size_t kRandomBytes = 24;
  mutable std::mutex mutex_;
  RandomState random_;
  std::unique_ptr<RangeSampler> sampler_;
  std::string learned_;
};

std::unique_ptr<NodeState> make_state(const NodeInfo& node) {
  return std::make_unique<SamplerState>(static_cast<std::uint64_t>(node.attr<std::int64_t>("seed")),
                                        static_cast<std::uint64_t>(node.attr<std::int64_t>("seed2")));
}

// --- Shape functions ---

void sampler_shape(ShapeContext& c) {
  const PartialShape true_classes = c.with_rank(0, 2);
  const PartialShape sampled({c.attr<std::int64_t>("num_sampled")});
  c.set_output(0, sampled);
  c.set_output(1, PartialShape({true_classes.dim(0), c.attr<std::int64_t>("num_true")}));
  c.set_output(2, sampled);
}

void accidental_hits_shape(ShapeContext& c) {
  ShapeContext::merge_dim(c.with_rank(0, 2).dim(1), c.attr<std::int64_t>("num_true"), "true_classes");
  c.with_rank(1, 1);
  for (int i = 0; i < 3; ++i) c.set_output(i, PartialShape({PartialShape::kUnknown}));
}

// --- Kernels ---

void check_true_classes(const Tensor& true_classes, std::int64_t num_true, std::int64_t range) {
  if (true_classes.rank() != 2 || true_classes.dim(1) != num_true) {
    throw invalid_argument("true_classes must be [batch, ", num_true, "], not ", true_classes.describe());
  }
  for (const std::int64_t value : true_classes.flat<std::int64_t>()) {
    if (value < 0 || value >= range) {
      throw invalid_argument("true_classes holds ", value, ", outside the ", range, " classes");
    }
  }
}

// How often a class of probability p is to be expected among n draws that took `tries`.
float expected_count(float p, std::int64_t n, std::int64_t tries) {
  if (tries == n) return p * static_cast<float>(n);
  return -std::expm1(static_cast<float>(tries) * std::log1p(-p));
}

std::int64_t draw_candidates(const RangeSampler& sampler, bool unique, PhiloxDraws& draws,
                             std::span<std::int64_t> out) {
  std::int64_t tries = 0;
  std::unordered_set<std::int64_t> used;
  for (std::size_t picked = 0; picked < out.size();) {
    if (++tries == INT32_MAX) throw internal_error("no new candidate in 2^31 draws");
    out[picked] = sampler.draw(draws);
    if (!unique || used.insert(out[picked]).second) ++picked;
  }
  return tries;
}

using MakeSampler = std::unique_ptr<RangeSampler> (*)(RunContext& c);

template <MakeSampler make>
void run_sampler(RunContext& c) {
  const Tensor true_classes = c.input(0);
  const bool unique = c.node().attr<bool>("unique");
  const auto num_sampled = c.node().attr<std::int64_t>("num_sampled");
  SamplerState& state = c.state<SamplerState>();
  state.with_sampler(
      [&] { return make(c); },
      [&](RangeSampler& sampler) {
        check_true_classes(true_classes, c.node().attr<std::int64_t>("num_true"), sampler.range());
        if (unique && num_sampled > sampler.possible()) {
          throw invalid_argument(num_sampled, " different candidates are wanted of ", sampler.possible(), " classes")
              .hint("Ask for fewer, or say unique = false.");
        }
        Tensor& sampled = c.allocate_output(0, {num_sampled});
        Tensor& true_counts = c.allocate_output(1, true_classes.shape());
        Tensor& sampled_counts = c.allocate_output(2, {num_sampled});
        constexpr std::uint64_t kReserved =
            2048 / 4;  // samples of 128 bits for each candidate, as TensorFlow sets aside
        PhiloxDraws draws(state.philox().reserve_samples(kReserved * static_cast<std::uint64_t>(num_sampled)));
        const std::int64_t tries = draw_candidates(sampler, unique, draws, sampled.flat<std::int64_t>());
        const auto count = [&](const Tensor& classes, Tensor& counts) {
          for (std::int64_t i = 0; i < classes.num_elements(); ++i) {
            counts.data<float>()[i] =
                expected_count(sampler.probability(classes.data<std::int64_t>()[i]), num_sampled, tries);
          }
        };
        count(sampled, sampled_counts);
        count(true_classes, true_counts);
        sampler.learn(true_classes.data<std::int64_t>(), true_classes.num_elements());
      });
}

template <std::unique_ptr<RangeSampler> (*make)(std::int64_t)>
std::unique_ptr<RangeSampler> simple_sampler(RunContext& c) {
  return make(c.node().attr<std::int64_t>("range_max"));
}

std::unique_ptr<RangeSampler> fixed_sampler(RunContext& c) {
  const NodeInfo& node = c.node();
  std::vector<float> weights = node.attr<std::vector<float>>("unigrams");
  const auto& file = node.attr<std::string>("vocab_file");
  if (file.empty() == weights.empty()) {
    throw invalid_argument("exactly one of vocab_file and unigrams must be given");
  }
  if (!file.empty()) weights = vocabulary_weights(read_file(*c.step().env, file));
  return make_fixed_sampler(node.attr<std::int64_t>("range_max"), weights,
                            {.distortion = node.attr<float>("distortion"),
                             .reserved = node.attr<std::int64_t>("num_reserved_ids"),
                             .shards = node.attr<std::int64_t>("num_shards"),
                             .shard = node.attr<std::int64_t>("shard")});
}

void run_all_candidates(RunContext& c) {
  const Tensor& true_classes = c.input(0);
  const auto num_sampled = c.node().attr<std::int64_t>("num_sampled");
  check_true_classes(true_classes, c.node().attr<std::int64_t>("num_true"), num_sampled);
  Tensor& sampled = c.allocate_output(0, {num_sampled});
  for (std::int64_t i = 0; i < num_sampled; ++i) sampled.data<std::int64_t>()[i] = i;
  for (Tensor* counts : {&c.allocate_output(1, true_classes.shape()), &c.allocate_output(2, {num_sampled})}) {
    std::fill_n(counts->data<float>(), counts->num_elements(), 1.0F);
  }
}

void run_accidental_hits(RunContext& c) {
  const Tensor &true_classes = c.input(0), &sampled = c.input(1);
  const auto num_true = c.node().attr<std::int64_t>("num_true");
  if (true_classes.rank() != 2 || true_classes.dim(1) != num_true) {
    throw invalid_argument("true_classes must be [batch, ", num_true, "], not ", true_classes.describe());
  }
  if (sampled.rank() != 1) throw invalid_argument("sampled_candidates must be a vector, not ", sampled.describe());
  std::unordered_map<std::int64_t, std::int64_t> positions;
  for (std::int64_t i = 0; i < sampled.num_elements(); ++i) positions[sampled.data<std::int64_t>()[i]] = i;
  std::vector<std::int32_t> rows;
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < true_classes.num_elements(); ++i) {
    const auto found = positions.find(true_classes.data<std::int64_t>()[i]);
    if (found == positions.end()) continue;
    rows.push_back(static_cast<std::int32_t>(i / num_true));
    ids.push_back(found->second);
  }
  const Shape shape = {std::ssize(ids)};
  std::ranges::copy(rows, c.allocate_output(0, shape).data<std::int32_t>());
  std::ranges::copy(ids, c.allocate_output(1, shape).data<std::int64_t>());
  std::fill_n(c.allocate_output(2, shape).data<float>(), ids.size(), -FLT_MAX);
}

}  // namespace

// --- Registrations ---

#define CAUDAL_REGISTER_SAMPLER(op, more, run, op_state)                                                         \
  CAUDAL_REGISTER_OP({                                                                                           \
      .name = op,                                                                                                \
      .inputs = "true_classes: int64",                                                                           \
      .outputs = "sampled_candidates: int64; true_expected_count: float; sampled_expected_count: float",         \
      .attrs = "num_true: int >= 1; num_sampled: int >= 1; unique: bool; " more "seed: int = 0; seed2: int = 0", \
      .stateful = true,                                                                                          \
      .shape = sampler_shape,                                                                                    \
      .gradient = no_gradient,                                                                                   \
      .cpu = kernel_of<run>,                                                                                     \
      .state = op_state,                                                                                         \
  })
#define CAUDAL_RANGE "range_max: int >= 1; "
CAUDAL_REGISTER_SAMPLER("UniformCandidateSampler", CAUDAL_RANGE, run_sampler<simple_sampler<make_uniform_sampler>>,
                        make_state);
CAUDAL_REGISTER_SAMPLER("LogUniformCandidateSampler", CAUDAL_RANGE,
                        run_sampler<simple_sampler<make_log_uniform_sampler>>, make_state);
CAUDAL_REGISTER_SAMPLER("LearnedUnigramCandidateSampler", CAUDAL_RANGE,
                        run_sampler<simple_sampler<make_learned_sampler>>, make_state);
// The same: TensorFlow's learns without a lock.
CAUDAL_REGISTER_SAMPLER("ThreadUnsafeUnigramCandidateSampler", CAUDAL_RANGE,
                        run_sampler<simple_sampler<make_learned_sampler>>, make_state);
CAUDAL_REGISTER_SAMPLER("FixedUnigramCandidateSampler",
                        CAUDAL_RANGE
                        "vocab_file: string = ''; distortion: float = 1.0; num_reserved_ids: int = 0; "
                        "num_shards: int >= 1 = 1; shard: int >= 0 = 0; unigrams: list(float) = []; ",
                        run_sampler<fixed_sampler>, make_state);
CAUDAL_REGISTER_SAMPLER("AllCandidateSampler", "", run_all_candidates, nullptr);
#undef CAUDAL_RANGE
#undef CAUDAL_REGISTER_SAMPLER

CAUDAL_REGISTER_OP({.name = "ComputeAccidentalHits",
                    .inputs = "true_classes: int64; sampled_candidates: int64",
                    .outputs = "indices: int32; ids: int64; weights: float",
                    .attrs = "num_true: int; seed: int = 0; seed2: int = 0",
                    .shape = accidental_hits_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_accidental_hits>});

// --- Public functions ---

namespace {

template <class Options>
OpBuilder sampler(std::string_view op, const Operand& true_classes, const Options& options) {
  OpBuilder builder(op, {.name = options.name, .where = options.where});
  const Output classes = true_classes.to_output(DType::kInt64);
  const RandomSeeds seeds = get_seed(classes.graph(), options.seed);
  builder.input(classes)
      .attr("num_true", options.num_true)
      .attr("num_sampled", options.num_sampled)
      .attr("unique", options.unique)
      .attr("seed", seeds.seed)
      .attr("seed2", seeds.seed2);
  return builder;
}

random::SampledCandidates candidates(Node& node) { return {node.output(0), node.output(1), node.output(2)}; }

random::SampledCandidates range_sampler(std::string_view op, const Operand& true_classes,
                                        const random::CandidateSamplerOptions& options) {
  const LocationScope where(options.where);
  return candidates(sampler(op, true_classes, options).attr("range_max", options.range_max).build_node());
}

}  // namespace

namespace random {

SampledCandidates uniform_candidate_sampler(const Operand& true_classes, const CandidateSamplerOptions& options) {
  return range_sampler("UniformCandidateSampler", true_classes, options);
}
SampledCandidates log_uniform_candidate_sampler(const Operand& true_classes, const CandidateSamplerOptions& options) {
  return range_sampler("LogUniformCandidateSampler", true_classes, options);
}
SampledCandidates learned_unigram_candidate_sampler(const Operand& true_classes,
                                                    const CandidateSamplerOptions& options) {
  return range_sampler("LearnedUnigramCandidateSampler", true_classes, options);
}

SampledCandidates fixed_unigram_candidate_sampler(const Operand& true_classes, const FixedUnigramOptions& options) {
  const LocationScope where(options.where);
  return candidates(sampler("FixedUnigramCandidateSampler", true_classes, options)
                        .attr("range_max", options.range_max)
                        .attr("vocab_file", options.vocab_file)
                        .attr("distortion", options.distortion)
                        .attr("num_reserved_ids", options.num_reserved_ids)
                        .attr("num_shards", options.num_shards)
                        .attr("shard", options.shard)
                        .attr("unigrams", options.unigrams)
                        .build_node());
}

SampledCandidates all_candidate_sampler(const Operand& true_classes, const AllCandidateOptions& options) {
  const LocationScope where(options.where);
  return candidates(sampler("AllCandidateSampler", true_classes, options).build_node());
}

}  // namespace random

namespace nn {

AccidentalHits compute_accidental_hits(const Operand& true_classes, const Operand& sampled_candidates,
                                       const AccidentalHitsOptions& options) {
  const LocationScope where(options.where);
  const Output classes = true_classes.to_output(DType::kInt64);
  const RandomSeeds seeds = get_seed(classes.graph(), options.seed);
  Node& node = OpBuilder("ComputeAccidentalHits", {.name = options.name, .where = options.where})
                   .input(classes)
                   .input(sampled_candidates, DType::kInt64)
                   .attr("num_true", options.num_true)
                   .attr("seed", seeds.seed)
                   .attr("seed2", seeds.seed2)
                   .build_node();
  return {node.output(0), node.output(1), node.output(2)};
}

}  // namespace nn
}  // namespace caudal::inline v0
