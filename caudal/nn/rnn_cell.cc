#include "caudal/nn/rnn_cell.h"

#include "caudal/base/error.h"
#include "caudal/nn/layer_scope.h"
#include "caudal/ops/bias.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/joining.h"
#include "caudal/ops/matmul.h"
#include "caudal/ops/selection.h"

namespace caudal::inline v0::nn::rnn_cell {

CellBase::~CellBase() = default;

std::vector<bool> CellBase::droppable_state() const { return std::vector<bool>(state_sizes().size(), true); }

void Cell::build(std::int64_t input_size, DType dtype) const {
  if (!shared_->built_for) {
    shared_->cell->build(input_size, dtype);
    shared_->built_for = input_size;
  } else if (*shared_->built_for != input_size) {
    throw invalid_argument("a recurrent cell with weights for inputs of size ", *shared_->built_for,
                           " is used with inputs of size ", input_size)
        .hint("Make a cell of its own for each size, also for each layer of MultiRNNCell.");
  }
}

CellStep Cell::operator()(const Output& inputs, const Outputs& state) const {
  const std::vector<std::int64_t> sizes = state_sizes();
  if (inputs.shape().rank() != 2 || inputs.shape()[1] < 0) {
    throw invalid_argument("the inputs of a recurrent cell are ", inputs.describe(), "; [batch, size] is wanted");
  }
  if (state.size() != sizes.size()) {
    throw invalid_argument("the state of a recurrent cell has ", state.size(), " tensors; ", sizes.size(),
                           " are wanted");
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (state[i].shape().compatible({-1, sizes[i]})) continue;
    throw invalid_argument("the state of a recurrent cell is ", state[i].describe(), "; [batch, ", sizes[i],
                           "] is wanted");
  }
  build(inputs.shape()[1], inputs.dtype());
  return shared_->cell->step(inputs, state);
}

Outputs Cell::zero_state(const Operand& batch_size, DType dtype) const {
  const NameScope scope("zero_state");
  Outputs state;
  for (const std::int64_t size : state_sizes()) {
    const Output sizes = stack({batch_size, static_cast<int>(size)});
    state.push_back(fill(sizes, Operand(0.0F).to_output(dtype)));
    if (!batch_size.is_output()) state.back().set_shape({batch_size.value()->to_int64s()[0], size});
  }
  return state;
}

namespace {

using layers::Activation;
using layers::internal::weight;

Output affine(const std::vector<Output>& inputs, const Variable& kernel, const Variable& bias) {
  return bias_add(matmul(concat(inputs, 1), kernel), bias);
}

Output activated(const Activation& activation, const Output& x) { return activation ? activation(x) : nn::tanh(x); }

// A cell with a name, whose variables lie in a scope of their own.
class NamedCell : public CellBase {
 public:
  NamedCell(const char* kind, std::int64_t num_units, std::string name, Reuse reuse)
      : kind_(kind), num_units_(num_units), name_(std::move(name)), reuse_(reuse) {
    if (num_units < 1) throw invalid_argument(kind, ": there are ", num_units, " units");
  }
  std::vector<std::int64_t> state_sizes() const override { return {num_units_}; }
  std::int64_t output_size() const override { return num_units_; }
  void build(std::int64_t input_size, DType dtype) override {
    const VariableScope scope(name_, {.default_name = kind_, .reuse = reuse_});
    make_variables(input_size, dtype);
  }

 protected:
  virtual void make_variables(std::int64_t input_size, DType dtype) = 0;
  std::int64_t units() const { return num_units_; }

 private:
  std::string kind_;
  std::int64_t num_units_;
  std::string name_;
  Reuse reuse_;
};

class BasicRnn final : public NamedCell {
 public:
  BasicRnn(std::int64_t num_units, const BasicRNNCellOptions& options)
      : NamedCell("basic_rnn_cell", num_units, options.name, options.reuse), activation_(options.activation) {}
  void make_variables(std::int64_t input_size, DType dtype) override {
    kernel_ = weight("kernel", {input_size + units(), units()}, dtype, {}, {}, true);
    bias_ = weight("bias", {units()}, dtype, zeros_initializer(), {}, true);
  }
  CellStep step(const Output& inputs, const Outputs& state) const override {
    const Output h = activated(activation_, affine({inputs, state[0]}, kernel_, bias_));
    return {h, {h}};
  }

 private:
  Activation activation_;
  Variable kernel_, bias_;
};

class Gru final : public NamedCell {
 public:
  Gru(std::int64_t num_units, const GRUCellOptions& options)
      : NamedCell("gru_cell", num_units, options.name, options.reuse), options_(options) {}
  void make_variables(std::int64_t input_size, DType dtype) override {
    const Initializer& bias = options_.bias_initializer;
    const std::int64_t n = units(), inputs = input_size + n;
    gate_kernel_ = weight("gates/kernel", {inputs, 2 * n}, dtype, options_.kernel_initializer, {}, true);
    gate_bias_ = weight("gates/bias", {2 * n}, dtype, bias ? bias : ones_initializer(), {}, true);
    candidate_kernel_ = weight("candidate/kernel", {inputs, n}, dtype, options_.kernel_initializer, {}, true);
    candidate_bias_ = weight("candidate/bias", {n}, dtype, bias ? bias : zeros_initializer(), {}, true);
  }
  CellStep step(const Output& inputs, const Outputs& state) const override {
    const auto gates = split(nn::sigmoid(affine({inputs, state[0]}, gate_kernel_, gate_bias_)), 2, 1);
    const Output &r = gates[0], &u = gates[1];
    const Output candidate = affine({inputs, r * state[0]}, candidate_kernel_, candidate_bias_);
    const Output h = u * state[0] + (1 - u) * activated(options_.activation, candidate);
    return {h, {h}};
  }

 private:
  GRUCellOptions options_;
  Variable gate_kernel_, gate_bias_, candidate_kernel_, candidate_bias_;
};

class Lstm final : public NamedCell {
 public:
  Lstm(const char* kind, std::int64_t num_units, const LSTMCellOptions& options)
      : NamedCell(kind, num_units, options.name, options.reuse), o_(options) {
    if (o_.num_proj && *o_.num_proj < 1) throw invalid_argument(kind, ": num_proj is ", *o_.num_proj);
  }
  std::vector<std::int64_t> state_sizes() const override { return {units(), output_size()}; }
  std::vector<bool> droppable_state() const override { return {false, true}; }
  std::int64_t output_size() const override { return o_.num_proj.value_or(units()); }

  void make_variables(std::int64_t input_size, DType dtype) override {
    const std::int64_t n = units();
    kernel_ = weight("kernel", {input_size + output_size(), 4 * n}, dtype, o_.initializer, {}, true);
    bias_ = weight("bias", {4 * n}, dtype, zeros_initializer(), {}, true);
    if (o_.use_peepholes) {
      w_f_ = weight("w_f_diag", {n}, dtype, o_.initializer, {}, true);
      w_i_ = weight("w_i_diag", {n}, dtype, o_.initializer, {}, true);
      w_o_ = weight("w_o_diag", {n}, dtype, o_.initializer, {}, true);
    }
    if (o_.num_proj) projection_ = weight("projection/kernel", {n, *o_.num_proj}, dtype, o_.initializer, {}, true);
  }

  CellStep step(const Output& inputs, const Outputs& state) const override {
    const Output& before = state[0];
    const auto gates = split(affine({inputs, state[1]}, kernel_, bias_), 4, 1);
    Output i = gates[0], f = gates[2] + o_.forget_bias, o = gates[3];
    if (o_.use_peepholes) {
      i = i + w_i_ * before;
      f = f + w_f_ * before;
    }
    Output c = nn::sigmoid(f) * before + nn::sigmoid(i) * activated(o_.activation, gates[1]);
    if (o_.cell_clip) c = clip_by_value(c, -*o_.cell_clip, *o_.cell_clip);
    if (o_.use_peepholes) o = o + w_o_ * c;
    Output h = nn::sigmoid(o) * activated(o_.activation, c);
    if (o_.num_proj) {
      h = matmul(h, projection_);
      if (o_.proj_clip) h = clip_by_value(h, -*o_.proj_clip, *o_.proj_clip);
    }
    return {h, {c, h}};
  }

 private:
  LSTMCellOptions o_;
  Variable kernel_, bias_, w_f_, w_i_, w_o_, projection_;
};

class Multi final : public CellBase {
 public:
  explicit Multi(std::vector<Cell> cells) : cells_(std::move(cells)) {
    if (cells_.empty()) throw invalid_argument("MultiRNNCell: there are no cells");
  }
  std::vector<std::int64_t> state_sizes() const override {
    std::vector<std::int64_t> sizes;
    for (const Cell& cell : cells_) {
      for (const std::int64_t size : cell.state_sizes()) sizes.push_back(size);
    }
    return sizes;
  }
  std::vector<bool> droppable_state() const override {
    std::vector<bool> droppable;
    for (const Cell& cell : cells_) {
      for (const bool each : cell.droppable_state()) droppable.push_back(each);
    }
    return droppable;
  }
  std::int64_t output_size() const override { return cells_.back().output_size(); }
  void build(std::int64_t input_size, DType dtype) override {
    const VariableScope scope("", {.default_name = "multi_rnn_cell"});
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      const VariableScope cell_scope(internal::concat("cell_", i));
      cells_[i].build(input_size, dtype);
      input_size = cells_[i].output_size();
    }
  }
  CellStep step(const Output& inputs, const Outputs& state) const override {
    CellStep result{inputs, {}};
    auto first = state.begin();
    for (const Cell& cell : cells_) {
      const auto last = first + static_cast<std::ptrdiff_t>(cell.state_sizes().size());
      const CellStep one = cell(result.output, Outputs(first, last));
      result.output = one.output;
      result.state.insert(result.state.end(), one.state.begin(), one.state.end());
      first = last;
    }
    return result;
  }

 private:
  std::vector<Cell> cells_;
};

class Residual final : public CellBase {
 public:
  explicit Residual(Cell cell) : cell_(std::move(cell)) {}
  std::vector<std::int64_t> state_sizes() const override { return cell_.state_sizes(); }
  std::vector<bool> droppable_state() const override { return cell_.droppable_state(); }
  std::int64_t output_size() const override { return cell_.output_size(); }
  void build(std::int64_t input_size, DType dtype) override {
    if (input_size != output_size()) {
      throw invalid_argument("ResidualWrapper: inputs of size ", input_size, " cannot be added to outputs of size ",
                             output_size());
    }
    cell_.build(input_size, dtype);
  }
  CellStep step(const Output& inputs, const Outputs& state) const override {
    CellStep result = cell_(inputs, state);
    result.output = inputs + result.output;
    return result;
  }

 private:
  Cell cell_;
};

}  // namespace

Cell BasicRNNCell(std::int64_t num_units, const BasicRNNCellOptions& options) {
  return Cell(std::make_shared<BasicRnn>(num_units, options));
}
Cell GRUCell(std::int64_t num_units, const GRUCellOptions& options) {
  return Cell(std::make_shared<Gru>(num_units, options));
}
Cell BasicLSTMCell(std::int64_t num_units, const BasicLSTMCellOptions& options) {
  const LSTMCellOptions full{.forget_bias = options.forget_bias,
                             .activation = options.activation,
                             .reuse = options.reuse,
                             .name = options.name};
  return Cell(std::make_shared<Lstm>("basic_lstm_cell", num_units, full));
}
Cell LSTMCell(std::int64_t num_units, const LSTMCellOptions& options) {
  return Cell(std::make_shared<Lstm>("lstm_cell", num_units, options));
}
Cell MultiRNNCell(const std::vector<Cell>& cells) { return Cell(std::make_shared<Multi>(cells)); }
Cell ResidualWrapper(const Cell& cell) { return Cell(std::make_shared<Residual>(cell)); }

}  // namespace caudal::inline v0::nn::rnn_cell
