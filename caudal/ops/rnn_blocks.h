// Recurrent cells as single ops: LSTM for one step or a whole sequence, GRU for one step, with their gradients.
//
// LSTM (Zaremba et al. 2014, with Gers' peepholes), x [batch, input], w [input + cell, 4 * cell], b [4 * cell]; cs the
// cell's state, h the output, both [batch, cell]:
//   [i, ci, f, o] = [x, h_prev] w + b    (BlockLSTMV2: [i, f, ci, o])
//   f += forget_bias; i += cs_prev * wci, f += cs_prev * wcf (peephole)
//   cs = clip(sigmoid(i) * tanh(ci) + sigmoid(f) * cs_prev); o += cs * wco (peephole); h = sigmoid(o) * tanh(cs)
// GRU (Cho et al. 2014): [r, u] = sigmoid([x, h_prev] w_ru + b_ru); c = tanh([x, r * h_prev] w_c + b_c);
//   h = u * h_prev + (1 - u) * c
// half (LSTM) and float32. The gradient of BlockLSTMV2 is BlockLSTMGradV2 (TensorFlow takes BlockLSTMGrad, whose order
// of the gates is another). Errors: INVALID_ARGUMENT for shapes that do not fit. Thread safety: as building a graph.
#pragma once

#include <source_location>
#include <string>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0::raw_ops {

struct LstmWeights {
  Operand w;
  Operand wci, wcf, wco;  // peepholes [cell]; zeros without
  Operand b;
};

struct LstmBlockOptions {
  float forget_bias = 1;
  float cell_clip = 3;  // no more than this far from 0; not above 0: no limit
  bool use_peephole = false;
  std::string name = {};
  std::source_location where = std::source_location::current();
};

struct LstmBlock {
  Output i, cs, f, o, ci, co, h;  // gates, state, tanh of the candidate and of the state, output
};

// One step.
CAUDAL_API LstmBlock lstm_block_cell(const Operand& x, const Operand& cs_prev, const Operand& h_prev,
                                     const LstmWeights& weights, const LstmBlockOptions& options = {});
// The first seq_len_max (int64 scalar) steps of x [time, batch, input]; all outputs [time, batch, cell], 0 behind.
CAUDAL_API LstmBlock block_lstm(const Operand& seq_len_max, const Operand& x, const Operand& cs_prev,
                                const Operand& h_prev, const LstmWeights& weights,
                                const LstmBlockOptions& options = {});

struct GruBlock {
  Output r, u, c, h;
};
// One step. w_ru [input + cell, 2 * cell], w_c [input + cell, cell].
CAUDAL_API GruBlock gru_block_cell(const Operand& x, const Operand& h_prev, const Operand& w_ru, const Operand& w_c,
                                   const Operand& b_ru, const Operand& b_c, const OpOptions& options = {});

}  // namespace caudal::inline v0::raw_ops
