// SimpleRNN, LSTM, GRU: keras/src/layers/rnn/.
#include <algorithm>

#include "caudal/base/error.h"
#include "caudal/keras/layer_util.h"
#include "caudal/keras/layers.h"
#include "caudal/ops/bias.h"
#include "caudal/ops/cast.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/control_flow.h"
#include "caudal/ops/dropout.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/joining.h"
#include "caudal/ops/matmul.h"
#include "caudal/ops/selection.h"
#include "caudal/ops/shape_ops.h"
#include "caudal/ops/slicing.h"
#include "caudal/ops/tensor_array.h"
#include "caudal/ops/transpose_ops.h"

namespace caudal::inline v0::keras {
namespace {

using layers::RecurrentOptions;
using States = std::vector<Output>;
// The states after a step, from its share of the inputs and the states before; the first state is the output.
using StepFunction = std::function<States(const Output& x, const States& states)>;

struct StepsOptions {
  Output mask;  // [steps, batch], or none
  bool unroll = false;
  bool all = false;          // outputs of all steps are wanted
  bool zero_masked = false;  // outputs of masked steps are zeros, not the output before
};

struct StepsResult {
  Output outputs;  // [steps, batch, units], none unless wanted
  Output last;
  States states;
};

// Where the mask is set the new values, else the old ones.
Output chosen(const Output& mask, const Output& fresh, const Output& old) {
  return where(expand_dims(mask, -1), fresh, old);
}

StepsResult run_unrolled(const Output& x, const States& initial, const StepFunction& step, const StepsOptions& o) {
  const std::vector<Output> inputs = unstack(x);
  const std::vector<Output> masks =
      o.mask ? unstack(o.mask, {.num = static_cast<std::int64_t>(inputs.size())}) : std::vector<Output>();
  StepsResult result;
  result.states = initial;
  result.last = zeros_like(initial[0]);
  std::vector<Output> outputs;
  for (std::size_t t = 0; t < inputs.size(); ++t) {
    States next = step(inputs[t], result.states);
    Output out = next[0];
    if (o.mask) {
      out = chosen(masks[t], out, o.zero_masked ? zeros_like(out) : result.last);
      for (std::size_t i = 0; i < next.size(); ++i) next[i] = chosen(masks[t], next[i], result.states[i]);
    }
    result.states = next;
    result.last = out;
    outputs.push_back(out);
  }
  if (o.all) result.outputs = stack(outputs);
  return result;
}

// x: [steps, batch, n].
StepsResult run_steps(const Output& x, const States& initial, const StepFunction& step, const StepsOptions& o) {
  if (o.unroll) return run_unrolled(x, initial, step, o);
  const Output count = index(shape(x), {0});
  const TensorArray inputs = TensorArray(x.dtype(), count, {.tensor_array_name = "inputs"}).unstack(x);
  TensorArray masks = o.mask ? TensorArray(boolean, count, {.tensor_array_name = "mask"}).unstack(o.mask) : inputs;
  TensorArray outputs = inputs;
  // Variables: time, the last output if there is a mask, the outputs' flow if all are wanted, the states.
  std::vector<Operand> variables = {Operand(0)};
  if (o.mask) variables.emplace_back(zeros_like(initial[0]));
  if (o.all) {
    outputs = TensorArray(x.dtype(), count, {.tensor_array_name = "outputs", .element_shape = initial[0].shape()});
    variables.emplace_back(outputs.flow());
  }
  const std::size_t first = variables.size();
  for (const Output& state : initial) variables.emplace_back(state);
  const auto body = [&](const std::vector<Output>& v) -> std::vector<Output> {
    const Output& time = v[0];
    const States states(v.begin() + static_cast<std::ptrdiff_t>(first), v.end());
    States next = step(inputs.read(time), states);
    Output out = next[0];
    std::vector<Output> after = {time + 1};
    if (o.mask) {
      const Output mask = masks.read(time);
      out = chosen(mask, out, o.zero_masked ? zeros_like(out) : v[1]);
      for (std::size_t i = 0; i < next.size(); ++i) next[i] = chosen(mask, next[i], states[i]);
      after.push_back(out);
    }
    if (o.all) after.push_back(outputs.with_flow(v[first - 1]).write(time, out).flow());
    for (const Output& state : next) after.push_back(state);
    return after;
  };
  const std::vector<Output> end =
      while_loop([&](const std::vector<Output>& v) { return less(v[0], count); }, body, OperandList(variables));
  StepsResult result;
  result.states.assign(end.begin() + static_cast<std::ptrdiff_t>(first), end.end());
  result.last = o.mask ? end[1] : result.states[0];
  if (o.all) result.outputs = outputs.with_flow(end[first - 1]).stack();
  return result;
}

// What the three layers share. A cell has `gates` blocks of units in its kernels.
class Recurrent : public Layer {
 public:
  bool takes_list() const override { return false; }

 protected:
  Recurrent(const char* class_name, const char* cell, std::int64_t gates, std::int64_t states, std::int64_t units,
            const RecurrentOptions& o)
      : Layer(class_name, o.name, o.trainable), cell_(cell), gates_(gates), states_(states), units_(units), o_(o) {
    set_activity_regularizer(o.activity_regularizer);
  }

  virtual Shape bias_shape() const { return Shape({gates_ * units_}); }
  virtual Tensor first_bias() const { return o_.bias_initializer.function()(bias_shape(), float32); }
  // The step, by what the input contributes ([batch, gates * units], input bias added).
  virtual States step(const Output& x, const States& states) const = 0;
  virtual void extra_fields(Fields&) {}

  void build(const Shapes& inputs) override {
    check_positive("units", units_);
    check_rank(inputs[0], 3, "sequences [batch, steps, features]");
    const std::int64_t width = known_last(inputs[0], 3);
    const std::string scope = std::string(cell_) + "/";
    kernel_ = add_weight({.name = "kernel",
                          .shape = {width, gates_ * units_},
                          .initializer = o_.kernel_initializer,
                          .regularizer = o_.kernel_regularizer,
                          .constraint = o_.kernel_constraint,
                          .scope = scope});
    recurrent_ = add_weight({.name = "recurrent_kernel",
                             .shape = {units_, gates_ * units_},
                             .initializer = o_.recurrent_initializer,
                             .regularizer = o_.recurrent_regularizer,
                             .constraint = o_.recurrent_constraint,
                             .scope = scope});
    if (!o_.use_bias) return;
    bias_ = add_weight({.name = "bias",
                        .shape = bias_shape().to_vector(),
                        .initializer = first_bias(),
                        .regularizer = o_.bias_regularizer,
                        .constraint = o_.bias_constraint,
                        .scope = scope});
  }

  Outputs call(const Outputs& inputs, CallContext& context) override {
    Output x = as_float(inputs[0]);
    check_rank(x.shape(), 3, "sequences [batch, steps, features]");
    const std::int64_t steps = x.shape()[1];
    if (o_.unroll && steps < 0) {
      throw invalid_argument("unroll needs a known number of steps, the input is ", x.shape());
    }
    if (inputs.size() > 1 && static_cast<std::int64_t>(inputs.size()) != 1 + states_) {
      throw invalid_argument("the layer has ", states_, " states, ", inputs.size() - 1, " initial ones were given");
    }
    make_masks(x, context);
    if (input_mask_) x = x * expand_dims(input_mask_, 1);
    // What the inputs contribute, for all steps in one product; [steps, batch, gates * units].
    Output share = transpose(input_share(x), {1, 0, 2});
    Output mask = context.mask() ? transpose(context.mask(), {1, 0}) : Output();
    if (o_.go_backwards) {
      share = reverse(share, {0});
      if (mask) mask = reverse(mask, {0});
    }
    const StepsResult result =
        run_steps(share, initial_states(inputs), [&](const Output& s, const States& h) { return step(s, h); },
                  {.mask = mask, .unroll = o_.unroll, .all = o_.return_sequences, .zero_masked = zero_masked_});
    Outputs out;
    if (o_.return_sequences) {
      const Output all = transpose(result.outputs, {1, 0, 2});
      all.set_shape({x.shape()[0], steps, units_});
      out.push_back(all);
    } else {
      out.push_back(result.last);
    }
    if (o_.return_state) out.insert(out.end(), result.states.begin(), result.states.end());
    return out;
  }

  Outputs compute_mask(const Outputs&, const Outputs&, const Outputs& masks) override {
    return o_.return_sequences && !masks.empty() ? Outputs{masks[0]} : Outputs{};
  }

  void fields(Fields& f) override {
    bool stateful = false;
    f("return_sequences", o_.return_sequences);
    f("return_state", o_.return_state);
    f("go_backwards", o_.go_backwards);
    f("stateful", stateful);
    if (stateful) throw unimplemented("a stateful recurrent layer").hint("Use return_state and initial states.");
    f("unroll", o_.unroll);
    f("zero_output_for_mask", zero_masked_);
    f("units", units_);
    f("activation", o_.activation);
    if (gates_ > 1) f("recurrent_activation", o_.recurrent_activation);
    f("use_bias", o_.use_bias);
    f("kernel_initializer", o_.kernel_initializer);
    f("recurrent_initializer", o_.recurrent_initializer);
    f("bias_initializer", o_.bias_initializer);
    extra_fields(f);
    f("kernel_regularizer", o_.kernel_regularizer);
    f("recurrent_regularizer", o_.recurrent_regularizer);
    f("bias_regularizer", o_.bias_regularizer);
    f("activity_regularizer", o_.activity_regularizer);
    f("kernel_constraint", o_.kernel_constraint);
    f("recurrent_constraint", o_.recurrent_constraint);
    f("bias_constraint", o_.bias_constraint);
    f("dropout", o_.dropout);
    f("recurrent_dropout", o_.recurrent_dropout);
    f("seed", o_.seed);
    if (f.reading()) {
      for (const char* key : {"implementation", "time_major", "use_cudnn"}) f.ignored(key);
    }
    set_activity_regularizer(o_.activity_regularizer);
  }

  virtual Output input_share(const Output& x) const {
    const Output y = last_axis_product(x, kernel_->variable());
    return bias_ ? nn::bias_add(y, bias_->variable()) : y;
  }

  // h, dropped out as gate i wants it.
  Output dropped(const Output& h, std::size_t gate) const {
    return recurrent_masks_.empty() ? h : h * recurrent_masks_[gate];
  }
  // h times the recurrent kernel, block by block.
  std::vector<Output> recurrent_products(const Output& h) const {
    const Output kernel = recurrent_->variable();
    if (recurrent_masks_.empty()) return split(matmul(h, kernel), static_cast<int>(gates_), -1);
    const std::vector<Output> blocks = split(kernel, static_cast<int>(gates_), -1);
    std::vector<Output> products;
    for (std::size_t i = 0; i < blocks.size(); ++i) products.push_back(matmul(dropped(h, i), blocks[i]));
    return products;
  }

  const char* cell_;
  std::int64_t gates_, states_, units_;
  RecurrentOptions o_;
  bool zero_masked_ = false;
  WeightRef kernel_, recurrent_, bias_;

 private:
  States initial_states(const Outputs& inputs) const {
    if (inputs.size() > 1) return States(inputs.begin() + 1, inputs.end());
    const Output& x = inputs[0];
    const Output dims = concat({dim_of(x, 0), constant(Tensor(std::vector<int>{static_cast<int>(units_)}))}, 0);
    const Output zero = fill(dims, 0.0F);
    zero.set_shape({x.shape()[0], units_});
    return States(static_cast<std::size_t>(states_), zero);
  }

  // One mask for all steps of a sequence.
  void make_masks(const Output& x, const CallContext& context) {
    input_mask_ = {};
    recurrent_masks_.clear();
    if (!context.training()) return;
    const auto make = [&](std::int64_t width, double rate) {
      const Output dims = concat({dim_of(x, 0), constant(Tensor(std::vector<int>{static_cast<int>(width)}))}, 0);
      const std::int64_t seed = o_.seed ? *o_.seed : draw_seed();
      return nn::dropout(fill(dims, 1.0F), {.seed = seed, .rate = rate});
    };
    if (o_.dropout > 0) input_mask_ = make(x.shape()[2], o_.dropout);
    for (std::int64_t i = 0; o_.recurrent_dropout > 0 && i < gates_; ++i) {
      recurrent_masks_.push_back(make(units_, o_.recurrent_dropout));
    }
  }

  Output input_mask_;
  std::vector<Output> recurrent_masks_;
};

class SimpleRnnLayer final : public Recurrent {
 public:
  explicit SimpleRnnLayer(std::int64_t units = 0, const RecurrentOptions& o = {})
      : Recurrent("SimpleRNN", "simple_rnn_cell", 1, 1, units, o) {}

 protected:
  States step(const Output& x, const States& states) const override {
    return {o_.activation(x + recurrent_products(states[0])[0])};
  }
};
CAUDAL_KERAS_LAYER(SimpleRnnLayer, "SimpleRNN");

class LstmLayer final : public Recurrent {
 public:
  explicit LstmLayer(std::int64_t units = 0, const RecurrentOptions& o = {})
      : Recurrent("LSTM", "lstm_cell", 4, 2, units, o) {}

 protected:
  // A forget gate that begins open keeps gradients alive (Jozefowicz et al. 2015).
  Tensor first_bias() const override {
    Tensor bias = Recurrent::first_bias();
    if (o_.unit_forget_bias) std::fill_n(bias.data<float>() + units_, units_, 1.0F);
    return bias;
  }
  States step(const Output& x, const States& states) const override {
    const std::vector<Output> in = split(x, 4, -1), back = recurrent_products(states[0]);
    const Output i = o_.recurrent_activation(in[0] + back[0]);
    const Output f = o_.recurrent_activation(in[1] + back[1]);
    const Output c = f * states[1] + i * o_.activation(in[2] + back[2]);
    const Output o = o_.recurrent_activation(in[3] + back[3]);
    return {o * o_.activation(c), c};
  }
  void extra_fields(Fields& f) override { f("unit_forget_bias", o_.unit_forget_bias); }
};
CAUDAL_KERAS_LAYER(LstmLayer, "LSTM");

class GruLayer final : public Recurrent {
 public:
  explicit GruLayer(std::int64_t units = 0, const RecurrentOptions& o = {})
      : Recurrent("GRU", "gru_cell", 3, 1, units, o) {}

 protected:
  // With reset_after there is a second bias, within what the reset gate scales.
  Shape bias_shape() const override { return o_.reset_after ? Shape({2, 3 * units_}) : Shape({3 * units_}); }
  Output input_share(const Output& x) const override {
    const Output y = last_axis_product(x, kernel_->variable());
    if (!bias_) return y;
    return nn::bias_add(y, o_.reset_after ? index(bias_->variable(), {0}) : Output(bias_->variable()));
  }
  States step(const Output& x, const States& states) const override {
    const Output& h = states[0];
    const std::vector<Output> in = split(x, 3, -1);
    std::vector<Output> back;
    Output candidate;
    if (o_.reset_after) {
      back = recurrent_products(h);
      if (bias_) {
        const std::vector<Output> bias = split(index(bias_->variable(), {1}), 3, -1);
        for (std::size_t i = 0; i < 3; ++i) back[i] = nn::bias_add(back[i], bias[i]);
      }
    } else {
      const std::vector<Output> blocks = split(Output(recurrent_->variable()), 3, -1);
      back = {matmul(dropped(h, 0), blocks[0]), matmul(dropped(h, 1), blocks[1])};
      candidate = blocks[2];
    }
    const Output z = o_.recurrent_activation(in[0] + back[0]);
    const Output r = o_.recurrent_activation(in[1] + back[1]);
    const Output inner = o_.reset_after ? r * back[2] : matmul(r * dropped(h, 2), candidate);
    const Output fresh = o_.activation(in[2] + inner);
    return {z * h + (1.0F - z) * fresh};
  }
  void extra_fields(Fields&) override {}
  void fields(Fields& f) override {
    Recurrent::fields(f);
    f("reset_after", o_.reset_after);
  }
};
CAUDAL_KERAS_LAYER(GruLayer, "GRU");

}  // namespace

namespace layers {
LayerRef SimpleRNN(std::int64_t units, const RecurrentOptions& o) { return make_layer<SimpleRnnLayer>(units, o); }
LayerRef LSTM(std::int64_t units, const RecurrentOptions& o) { return make_layer<LstmLayer>(units, o); }
LayerRef GRU(std::int64_t units, const RecurrentOptions& o) { return make_layer<GruLayer>(units, o); }
}  // namespace layers

}  // namespace caudal::inline v0::keras
