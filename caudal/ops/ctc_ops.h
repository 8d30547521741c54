// Connectionist temporal classification (Graves et al. 2006): labels for sequences without their alignment.
//
// inputs [time, batch, classes]: unnormalised log probabilities, float32 or float64; the last class is the blank.
// sequence_length: int32 [batch]. Errors: INVALID_ARGUMENT for shapes and labels that do not fit; the decoders give
// FAILED_PRECONDITION for a sequence_length that does not fit, as TensorFlow's. Thread safety: as building a graph.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"
#include "caudal/ops/sparse_tensor.h"

namespace caudal::inline v0::nn {

struct CtcLossOptions {
  bool preprocess_collapse_repeated = false;       // merge repeated labels before anything else
  bool ctc_merge_repeated = true;                  // false: a label that stands twice is two
  bool ignore_longer_outputs_than_inputs = false;  // loss and gradient 0 for labels longer than their sequence
  bool time_major = true;                          // false: inputs [batch, time, classes]
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// -log of the probability of the labels (sparse int32 [batch, longest]): [batch]. INVALID_ARGUMENT for an entry without
// labels, a label outside the classes, and labels longer than their sequence.
CAUDAL_API Output ctc_loss(const SparseTensor& labels, const Operand& inputs, const Operand& sequence_length,
                           const CtcLossOptions& options = {});

struct CtcDecoded {
  std::vector<SparseTensor> decoded;  // int64 [batch, longest], one for each path
  Output log_probability;             // [batch, paths]; of the greedy decoder the negative sum of greatest logits
};
struct CtcGreedyOptions {
  bool merge_repeated = true;
  std::int64_t blank_index = -1;  // negative: counted from the end
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// The most likely class of each step, without blanks.
CAUDAL_API CtcDecoded ctc_greedy_decoder(const Operand& inputs, const Operand& sequence_length,
                                         const CtcGreedyOptions& options = {});

struct CtcBeamSearchOptions {
  std::int64_t beam_width = 100;
  std::int64_t top_paths = 1;
  bool merge_repeated = true;  // merge repeated labels of the result
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// The most likely label sequences that a search keeping beam_width prefixes finds. INVALID_ARGUMENT for more paths than
// it keeps.
CAUDAL_API CtcDecoded ctc_beam_search_decoder(const Operand& inputs, const Operand& sequence_length,
                                              const CtcBeamSearchOptions& options = {});

}  // namespace caudal::inline v0::nn
