// Recurrent cells (tf.compat.v1.nn.rnn_cell): what a recurrent net does in one step.
//
//   auto cell = nn::rnn_cell::BasicLSTMCell(100, {.forget_bias = 1.0F});
//   auto net = nn::dynamic_rnn(cell, inputs);   // rnn.h
//
// A cell makes its variables when it is used first, in the variable scope of that place, and keeps them: used again it
// shares them. The state of a cell is a list of tensors [batch, size]: one, for LSTM cells c and h, for stacked cells
// those of all cells in order. Copies of a Cell are the same cell. Errors name the cell and its inputs. Thread safety:
// as building a graph.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/nn/layers.h"
#include "caudal/ops/control_flow.h"

namespace caudal::inline v0::nn::rnn_cell {

struct CellStep {
  Output output;  // [batch, output_size]
  Outputs state;  // the next one
};

// What a kind of cell does; derive from it for cells of your own.
class CAUDAL_API CellBase {
 public:
  virtual ~CellBase();
  // Sizes of the tensors of the state, and which of them state dropout may touch (default: all).
  virtual std::vector<std::int64_t> state_sizes() const = 0;
  virtual std::vector<bool> droppable_state() const;
  virtual std::int64_t output_size() const = 0;
  // Makes the variables for inputs [batch, input_size] in the current variable scope. Called once, before the first
  // step.
  virtual void build(std::int64_t input_size, DType dtype) = 0;
  virtual CellStep step(const Output& inputs, const Outputs& state) const = 0;
};

class CAUDAL_API Cell {
 public:
  explicit Cell(std::shared_ptr<CellBase> cell) : shared_(std::make_shared<Shared>(std::move(cell))) {}

  std::vector<std::int64_t> state_sizes() const { return shared_->cell->state_sizes(); }
  std::vector<bool> droppable_state() const { return shared_->cell->droppable_state(); }
  std::int64_t output_size() const { return shared_->cell->output_size(); }
  // One step. inputs: [batch, size], size known. Throws INVALID_ARGUMENT for inputs or states that do not fit.
  CellStep operator()(const Output& inputs, const Outputs& state) const;
  // Zeros. batch_size: a number or an int32 scalar.
  Outputs zero_state(const Operand& batch_size, DType dtype = float32) const;
  // Makes the variables now, if they are not there yet.
  void build(std::int64_t input_size, DType dtype) const;

 private:
  struct Shared {
    explicit Shared(std::shared_ptr<CellBase> cell) : cell(std::move(cell)) {}
    std::shared_ptr<CellBase> cell;
    std::optional<std::int64_t> built_for;  // size of the inputs
  };
  std::shared_ptr<Shared> shared_;
};

struct BasicRNNCellOptions {
  layers::Activation activation = {};  // default: tanh
  Reuse reuse = false;
  std::string name = {};  // default "basic_rnn_cell"
};
// h' = activation([x, h] . kernel + bias).
CAUDAL_API Cell BasicRNNCell(std::int64_t num_units, const BasicRNNCellOptions& options = {});

struct GRUCellOptions {
  layers::Activation activation = {};  // default: tanh
  Reuse reuse = false;
  Initializer kernel_initializer = {};
  Initializer bias_initializer = {};  // default: ones for the gates, zeros for the candidate
  std::string name = {};              // default "gru_cell"
};
// Cho et al. 2014: r, u = sigmoid of [x, h]; c = activation of [x, r * h]; h' = u * h + (1 - u) * c. Variables
// gates/kernel, gates/bias, candidate/kernel, candidate/bias.
CAUDAL_API Cell GRUCell(std::int64_t num_units, const GRUCellOptions& options = {});

struct BasicLSTMCellOptions {
  float forget_bias = 1.0F;
  layers::Activation activation = {};  // default: tanh
  Reuse reuse = false;
  std::string name = {};  // default "basic_lstm_cell"
};
// Zaremba et al. 2014: gates i, j, f, o of [x, h]; c' = c * sigmoid(f + forget_bias) + sigmoid(i) * activation(j);
// h' = activation(c') * sigmoid(o).
CAUDAL_API Cell BasicLSTMCell(std::int64_t num_units, const BasicLSTMCellOptions& options = {});

struct LSTMCellOptions {
  bool use_peepholes = false;                 // gates see c too: w_f_diag, w_i_diag, w_o_diag
  std::optional<float> cell_clip = {};        // c is kept within +- this
  Initializer initializer = {};               // of all kernels
  std::optional<std::int64_t> num_proj = {};  // h is projected to this size: projection/kernel
  std::optional<float> proj_clip = {};        // the projection is kept within +- this
  float forget_bias = 1.0F;
  layers::Activation activation = {};  // default: tanh
  Reuse reuse = false;
  std::string name = {};  // default "lstm_cell"
};
// The same with peepholes, projection and clipping (Sak et al. 2014).
CAUDAL_API Cell LSTMCell(std::int64_t num_units, const LSTMCellOptions& options = {});

// Cells one above another. Variables are in "multi_rnn_cell/cell_0" and so on. INVALID_ARGUMENT for none.
CAUDAL_API Cell MultiRNNCell(const std::vector<Cell>& cells);

struct DropoutWrapperOptions {
  Operand input_keep_prob = 1.0F;  // numbers or scalars: the share of elements that stay
  Operand output_keep_prob = 1.0F;
  Operand state_keep_prob = 1.0F;      // of LSTM cells only h is touched
  bool variational_recurrent = false;  // one mask for all steps and examples (Gal, Ghahramani 2016)
  std::int64_t input_size = 0;         // of the inputs, for their variational mask
  DType dtype = float32;               // of the variational masks
  std::optional<std::int64_t> seed = {};
};
// Dropout around a cell. INVALID_ARGUMENT for a number outside (0, 1].
CAUDAL_API Cell DropoutWrapper(const Cell& cell, const DropoutWrapperOptions& options = {});
// The cell's inputs are added to its outputs, which must have their size.
CAUDAL_API Cell ResidualWrapper(const Cell& cell);

}  // namespace caudal::inline v0::nn::rnn_cell
