// Recurrent nets: a cell run over sequences (tf.compat.v1.nn).
//
//   const auto net = nn::dynamic_rnn(nn::rnn_cell::GRUCell(50), X, {.sequence_length = lengths});
//   auto last = net.state[0];
//
// Variables are in the scope "rnn" ("bidirectional_rnn/fw" and "/bw"). Behind the end of a shorter sequence outputs are
// 0 and the state stays as it was. Errors are INVALID_ARGUMENT and show shapes. Thread safety: as building a graph.
#pragma once

#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/nn/rnn_cell.h"

namespace caudal::inline v0::nn {

struct RnnResult {
  Output outputs;  // [batch, steps, output_size], or [steps, batch, output_size] with time_major
  Outputs state;   // after the last step
};
struct DynamicRnnOptions {
  std::optional<Operand> sequence_length = {};  // int32 or int64 [batch]; default: all steps
  Outputs initial_state = {};                   // default: zeros
  int parallel_iterations = 32;
  bool swap_memory = false;
  bool time_major = false;  // inputs and outputs are [steps, batch, size]
  std::string scope = {};   // variable scope; default "rnn"
  std::source_location where = std::source_location::current();
};
// The cell over as many steps as inputs [batch, steps, size] has when this runs, at least one; size known.
CAUDAL_API RnnResult dynamic_rnn(const rnn_cell::Cell& cell, const Operand& inputs,
                                 const DynamicRnnOptions& options = {});

struct StaticRnnResult {
  Outputs outputs;  // one per step
  Outputs state;
};
struct StaticRnnOptions {
  Outputs initial_state = {};
  std::optional<Operand> sequence_length = {};
  std::string scope = {};
  std::source_location where = std::source_location::current();
};
// The cell unrolled over a list of inputs [batch, size], one per step.
CAUDAL_API StaticRnnResult static_rnn(const rnn_cell::Cell& cell, const std::vector<Output>& inputs,
                                      const StaticRnnOptions& options = {});

struct BidirectionalRnnOptions {
  std::optional<Operand> sequence_length = {};
  Outputs initial_state_fw = {}, initial_state_bw = {};
  int parallel_iterations = 32;
  bool swap_memory = false;
  bool time_major = false;
  std::string scope = {};
  std::source_location where = std::source_location::current();
};
struct BidirectionalRnnResult {
  RnnResult fw, bw;  // bw has its outputs in the order of the inputs
};
// One cell forwards, another backwards from the end of each sequence. Join their outputs by concat().
CAUDAL_API BidirectionalRnnResult bidirectional_dynamic_rnn(const rnn_cell::Cell& cell_fw,
                                                            const rnn_cell::Cell& cell_bw, const Operand& inputs,
                                                            const BidirectionalRnnOptions& options = {});

}  // namespace caudal::inline v0::nn
