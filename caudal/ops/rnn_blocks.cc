#include "caudal/ops/rnn_blocks.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <utility>
#include <vector>

#include "caudal/autodiff/gradient.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/kernels/convert.h"
#include "caudal/kernels/gemm.h"
#include "caudal/ops/op_util.h"

namespace caudal::inline v0 {
namespace {

// --- Shape functions ---

void outputs_like(ShapeContext& c, const PartialShape& shape) {
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, shape);
}

void lstm_cell_shape(ShapeContext& c) {
  outputs_like(c, PartialShape({c.with_rank(0, 2).dim(0), c.with_rank(1, 2).dim(1)}));
}

void lstm_cell_grad_shape(ShapeContext& c) {
  const std::int64_t batch = c.with_rank(0, 2).dim(0), cell = c.with_rank(1, 2).dim(1);
  outputs_like(c, PartialShape({cell}));
  c.set_output(0, PartialShape({batch, cell}));
  c.set_output(1, PartialShape({batch, cell < 0 ? PartialShape::kUnknown : 4 * cell}));
}

void block_shape(ShapeContext& c) {
  const PartialShape x = c.with_rank(1, 3);
  const std::int64_t gates = c.with_rank(8, 1).dim(0);
  if (gates >= 0 && gates % 4 != 0) throw invalid_argument("b must have 4 entries for each cell, not ", gates);
  outputs_like(c, PartialShape({x.dim(0), x.dim(1), gates < 0 ? PartialShape::kUnknown : gates / 4}));
}

void block_grad_shape(ShapeContext& c) {
  static constexpr int kRanks[] = {3, 2, 2, 2, 1, 1, 1, 1};
  for (int i = 0; i < 8; ++i) c.set_output(i, c.with_rank(i + 1, kRanks[i]));
}

void gru_cell_shape(ShapeContext& c) {
  outputs_like(c, PartialShape({c.with_rank(0, 2).dim(0), c.with_rank(1, 2).dim(1)}));
}

void gru_cell_grad_shape(ShapeContext& c) {
  const PartialShape x = c.with_rank(0, 2);
  outputs_like(c, PartialShape({x.dim(0), c.with_rank(1, 2).dim(1)}));
  c.set_output(0, x);
  c.set_output(3, PartialShape({x.dim(0), c.with_rank(2, 2).dim(1)}));
}

// --- Kernels ---

// Tensors as floats: their own memory, or copies for half.
class FloatViews {
 public:
  explicit FloatViews(RunContext& c) : c_(c) {}
  // Input i. Throws INVALID_ARGUMENT for another shape.
  const float* input(int i, const Shape& shape, std::string_view what) {
    const Tensor& tensor = c_.input(i);
    if (!(tensor.shape() == shape)) throw invalid_argument(what, " must be ", shape, ", not ", tensor.describe());
    if (tensor.dtype() == DType::kFloat) return tensor.data<float>();
    auto& copy = copies_.emplace_back(static_cast<std::size_t>(shape.num_elements()));
    kernels::widen(c_.pool(), tensor.dtype(), tensor.raw(), copy.data(), shape.num_elements());
    return copy.data();
  }
  // Output i, all zero.
  float* output(int i, const Shape& shape) {
    Tensor& tensor = c_.allocate_output(i, shape);
    if (tensor.dtype() == DType::kFloat) {
      std::fill_n(tensor.data<float>(), shape.num_elements(), 0.0F);
      return tensor.data<float>();
    }
    results_.push_back({&tensor, std::vector<float>(static_cast<std::size_t>(shape.num_elements()), 0)});
    return results_.back().second.data();
  }
  // Zeros of the run.
  float* temporary(std::int64_t n) { return copies_.emplace_back(static_cast<std::size_t>(n), 0.0F).data(); }
  // Brings results where the outputs are. REQUIRES: nothing is written afterwards.
  void finish() {
    for (auto& [tensor, values] : results_) {
      kernels::narrow(c_.pool(), tensor->dtype(), values.data(), tensor->raw(), std::ssize(values));
    }
  }

 private:
  RunContext& c_;
  std::deque<std::vector<float>> copies_;
  std::deque<std::pair<Tensor*, std::vector<float>>> results_;
};

float sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

struct LstmSizes {
  std::int64_t batch = 0, input = 0, cell = 0;
  std::int64_t states() const { return batch * cell; }
  std::int64_t row() const { return input + cell; }
};

// Where each gate's columns begin, in cells.
struct GateOrder {
  std::int64_t i, c, f, o;
};
constexpr GateOrder kIcfo = {0, 1, 2, 3}, kIfco = {0, 2, 1, 3};

struct LstmWeightViews {
  const float *w, *wci, *wcf, *wco, *b;
};
struct LstmStep {
  float *i, *cs, *f, *o, *ci, *co, *h;
};
struct ConstLstmStep {
  const float *i, *cs, *f, *o, *ci, *co;
};

// [x, h_prev] for each entry of the batch.
void join_rows(const LstmSizes& s, const float* x, const float* h_prev, float* xh) {
  for (std::int64_t b = 0; b < s.batch; ++b) {
    std::copy_n(x + b * s.input, s.input, xh + b * s.row());
    std::copy_n(h_prev + b * s.cell, s.cell, xh + b * s.row() + s.input);
  }
}

class LstmForward {
 public:
  LstmForward(RunContext& c, FloatViews& views, const LstmSizes& sizes, const LstmWeightViews& weights,
              const GateOrder& order, float forget_bias)
      : pool_(c.pool()),
        s_(sizes),
        weights_(weights),
        order_(order),
        forget_bias_(forget_bias),
        clip_(c.node().attr<float>("cell_clip")),
        peephole_(c.node().attr<bool>("use_peephole")),
        xh_(views.temporary(s_.batch * s_.row())),
        gates_(views.temporary(4 * s_.states())) {}

  void step(const float* x, const float* cs_prev, const float* h_prev, const LstmStep& out) const {
    if (s_.states() == 0) return;
    join_rows(s_, x, h_prev, xh_);
    kernels::gemm(pool_, {.m = s_.batch, .n = 4 * s_.cell, .k = s_.row()}, xh_, weights_.w, gates_,
                  {.bias = weights_.b});
    for (std::int64_t b = 0; b < s_.batch; ++b) {
      const float* gates = gates_ + b * 4 * s_.cell;
      const auto gate = [&](std::int64_t place, std::int64_t k) { return gates[place * s_.cell + k]; };
      for (std::int64_t k = 0; k < s_.cell; ++k) {
        const std::int64_t at = b * s_.cell + k;
        const auto peep = [&](const float* weight, float state) { return peephole_ ? state * weight[k] : 0.0F; };
        out.i[at] = sigmoid(gate(order_.i, k) + peep(weights_.wci, cs_prev[at]));
        out.ci[at] = std::tanh(gate(order_.c, k));
        out.f[at] = sigmoid(gate(order_.f, k) + forget_bias_ + peep(weights_.wcf, cs_prev[at]));
        float cs = out.i[at] * out.ci[at] + out.f[at] * cs_prev[at];
        if (clip_ > 0) cs = std::clamp(cs, -clip_, clip_);
        out.cs[at] = cs;
        out.co[at] = std::tanh(cs);
        out.o[at] = sigmoid(gate(order_.o, k) + peep(weights_.wco, cs));
        out.h[at] = out.o[at] * out.co[at];
      }
    }
  }

 private:
  ThreadPool& pool_;
  const LstmSizes s_;
  const LstmWeightViews weights_;
  const GateOrder order_;
  const float forget_bias_, clip_;
  const bool peephole_;
  float *xh_, *gates_;
};

struct LstmGrads {
  float *gates, *cs_prev, *wci, *wcf, *wco;
};

// One step backwards: gradients of the gates (before their functions) and of cs_prev are set, those of peepholes added.
void lstm_step_backward(const LstmSizes& s, const GateOrder& order, bool peephole, const LstmWeightViews& weights,
                        const float* cs_prev, const ConstLstmStep& step, const float* cs_grad, const float* h_grad,
                        const LstmGrads& out) {
  for (std::int64_t b = 0; b < s.batch; ++b) {
    float* gates = out.gates + b * 4 * s.cell;
    for (std::int64_t k = 0; k < s.cell; ++k) {
      const std::int64_t at = b * s.cell + k;
      const float i = step.i[at], f = step.f[at], o = step.o[at], ci = step.ci[at], co = step.co[at];
      const float d_o = o * (1 - o) * h_grad[at] * co;
      float d_cs = (1 - co * co) * h_grad[at] * o + cs_grad[at];
      if (peephole) d_cs += d_o * weights.wco[k];
      const float d_ci = (1 - ci * ci) * d_cs * i;
      const float d_f = f * (1 - f) * d_cs * cs_prev[at];
      const float d_i = i * (1 - i) * d_cs * ci;
      gates[order.i * s.cell + k] = d_i;
      gates[order.c * s.cell + k] = d_ci;
      gates[order.f * s.cell + k] = d_f;
      gates[order.o * s.cell + k] = d_o;
      out.cs_prev[at] = d_cs * f;
      if (!peephole) continue;
      out.cs_prev[at] += d_i * weights.wci[k] + d_f * weights.wcf[k];
      out.wci[k] += d_i * cs_prev[at];
      out.wcf[k] += d_f * cs_prev[at];
      out.wco[k] += d_o * step.cs[at];
    }
  }
}

void check_rank(const Tensor& tensor, int rank, std::string_view what) {
  if (tensor.rank() != rank) throw invalid_argument(what, " must have ", rank, " dimensions, not ", tensor.describe());
}

// Sizes from x and cs_prev; x is input `x`, cs_prev the next.
LstmSizes lstm_sizes(const RunContext& c, int x, int x_rank) {
  check_rank(c.input(x), x_rank, "x");
  check_rank(c.input(x + 1), 2, "cs_prev");
  return {c.input(x).dim(x_rank - 2), c.input(x).dim(x_rank - 1), c.input(x + 1).dim(1)};
}

// w, wci, wcf, wco, b from input `first` on.
LstmWeightViews lstm_weights(FloatViews& views, const LstmSizes& s, int first) {
  return {views.input(first, {s.row(), 4 * s.cell}, "w"), views.input(first + 1, {s.cell}, "wci"),
          views.input(first + 2, {s.cell}, "wcf"), views.input(first + 3, {s.cell}, "wco"),
          views.input(first + 4, {4 * s.cell}, "b")};
}

void run_lstm_cell(RunContext& c) {
  FloatViews views(c);
  const LstmSizes s = lstm_sizes(c, 0, 2);
  const Shape state = {s.batch, s.cell};
  const float* x = views.input(0, {s.batch, s.input}, "x");
  const float *cs_prev = views.input(1, state, "cs_prev"), *h_prev = views.input(2, state, "h_prev");
  const LstmWeightViews weights = lstm_weights(views, s, 3);
  float* out[7];
  for (int i = 0; i < 7; ++i) out[i] = views.output(i, state);
  const LstmForward forward(c, views, s, weights, kIcfo, c.node().attr<float>("forget_bias"));
  forward.step(x, cs_prev, h_prev, {out[0], out[1], out[2], out[3], out[4], out[5], out[6]});
  views.finish();
}

void run_lstm_cell_grad(RunContext& c) {
  FloatViews views(c);
  const LstmSizes s = lstm_sizes(c, 0, 2);
  const Shape state = {s.batch, s.cell};
  const float* cs_prev = views.input(1, state, "cs_prev");
  views.input(2, state, "h_prev");
  const LstmWeightViews weights = lstm_weights(views, s, 3);
  static constexpr const char* kNames[] = {"i", "cs", "f", "o", "ci", "co", "cs_grad", "h_grad"};
  const float* in[8];
  for (int i = 0; i < 8; ++i) in[i] = views.input(8 + i, state, kNames[i]);
  float *cs_prev_grad = views.output(0, state), *gates = views.output(1, {s.batch, 4 * s.cell});
  float *wci = views.output(2, {s.cell}), *wcf = views.output(3, {s.cell}), *wco = views.output(4, {s.cell});
  lstm_step_backward(s, kIcfo, c.node().attr<bool>("use_peephole"), weights, cs_prev,
                     {in[0], in[1], in[2], in[3], in[4], in[5]}, in[6], in[7], {gates, cs_prev_grad, wci, wcf, wco});
  views.finish();
}

std::int64_t steps_of(const RunContext& c, std::int64_t time) {
  const std::int64_t steps = scalar_int(c.input(0), "seq_len_max");
  if (c.input(0).rank() != 0 || steps < 0 || steps > time) {
    throw invalid_argument("seq_len_max must be a scalar from 0 to ", time, ", not ", c.input(0));
  }
  return steps;
}

template <bool v2>
void run_block(RunContext& c) {
  FloatViews views(c);
  const LstmSizes s = lstm_sizes(c, 1, 3);
  const std::int64_t time = c.input(1).dim(0), steps = steps_of(c, time);
  const Shape state = {s.batch, s.cell};
  const float* x = views.input(1, {time, s.batch, s.input}, "x");
  const float *cs_prev = views.input(2, state, "cs_prev"), *h_prev = views.input(3, state, "h_prev");
  const LstmWeightViews weights = lstm_weights(views, s, 4);
  float* out[7];
  for (int i = 0; i < 7; ++i) out[i] = views.output(i, {time, s.batch, s.cell});
  const LstmForward forward(c, views, s, weights, v2 ? kIfco : kIcfo, v2 ? 0 : c.node().attr<float>("forget_bias"));
  for (std::int64_t t = 0; t < steps; ++t) {
    const auto at = [&](int i) { return out[i] + t * s.states(); };
    const LstmStep step = {at(0), at(1), at(2), at(3), at(4), at(5), at(6)};
    forward.step(x + t * s.batch * s.input, t == 0 ? cs_prev : step.cs - s.states(),
                 t == 0 ? h_prev : step.h - s.states(), step);
  }
  views.finish();
}

template <bool v2>
void run_block_grad(RunContext& c) {
  FloatViews views(c);
  const LstmSizes s = lstm_sizes(c, 1, 3);
  const std::int64_t time = c.input(1).dim(0), steps = steps_of(c, time);
  const Shape state = {s.batch, s.cell}, sequence = {time, s.batch, s.cell};
  const float* x = views.input(1, {time, s.batch, s.input}, "x");
  const float *cs_prev = views.input(2, state, "cs_prev"), *h_prev = views.input(3, state, "h_prev");
  const LstmWeightViews weights = lstm_weights(views, s, 4);
  static constexpr const char* kNames[] = {"i", "cs", "f", "o", "ci", "co", "h", "cs_grad", "h_grad"};
  const float* in[9];
  for (int i = 0; i < 9; ++i) in[i] = views.input(9 + i, sequence, kNames[i]);
  float* x_grad = views.output(0, {time, s.batch, s.input});
  float *cs_prev_grad = views.output(1, state), *h_prev_grad = views.output(2, state);
  float* w_grad = views.output(3, {s.row(), 4 * s.cell});
  float *wci = views.output(4, {s.cell}), *wcf = views.output(5, {s.cell}), *wco = views.output(6, {s.cell});
  float* b_grad = views.output(7, {4 * s.cell});
  float *xh = views.temporary(s.batch * s.row()), *xh_grad = views.temporary(s.batch * s.row());
  float *gates = views.temporary(4 * s.states()), *cs_grad = views.temporary(s.states()),
        *h_grad = views.temporary(s.states());
  const bool peephole = c.node().attr<bool>("use_peephole");
  for (std::int64_t t = steps - 1; t >= 0 && s.states() > 0; --t) {
    const auto at = [&](int i) { return in[i] + t * s.states(); };
    const float *own_x = x + t * s.batch * s.input, *own_cs_prev = t == 0 ? cs_prev : at(1) - s.states(),
                *own_h_prev = t == 0 ? h_prev : at(6) - s.states();
    for (std::int64_t k = 0; k < s.states(); ++k) {
      cs_grad[k] = cs_prev_grad[k] + at(7)[k];
      h_grad[k] = h_prev_grad[k] + at(8)[k];
    }
    lstm_step_backward(s, v2 ? kIfco : kIcfo, peephole, weights, own_cs_prev,
                       {at(0), at(1), at(2), at(3), at(4), at(5)}, cs_grad, h_grad,
                       {gates, cs_prev_grad, wci, wcf, wco});
    kernels::gemm(c.pool(), {.m = s.batch, .n = s.row(), .k = 4 * s.cell, .transpose_b = true}, gates, weights.w,
                  xh_grad);
    for (std::int64_t b = 0; b < s.batch; ++b) {
      std::copy_n(xh_grad + b * s.row(), s.input, x_grad + (t * s.batch + b) * s.input);
      std::copy_n(xh_grad + b * s.row() + s.input, s.cell, h_prev_grad + b * s.cell);
      for (std::int64_t k = 0; k < 4 * s.cell; ++k) b_grad[k] += gates[b * 4 * s.cell + k];
    }
    join_rows(s, own_x, own_h_prev, xh);
    kernels::gemm(c.pool(), {.m = s.row(), .n = 4 * s.cell, .k = s.batch, .transpose_a = true}, xh, gates, w_grad,
                  {.beta = 1});
  }
  views.finish();
}

LstmSizes gru_sizes(const RunContext& c) {
  check_rank(c.input(0), 2, "x");
  check_rank(c.input(1), 2, "h_prev");
  return {c.input(0).dim(0), c.input(0).dim(1), c.input(1).dim(1)};
}

struct GruWeights {
  const float *x, *h_prev, *w_ru, *w_c, *b_ru, *b_c;
  GruWeights(FloatViews& views, const LstmSizes& s)
      : x(views.input(0, {s.batch, s.input}, "x")),
        h_prev(views.input(1, {s.batch, s.cell}, "h_prev")),
        w_ru(views.input(2, {s.row(), 2 * s.cell}, "w_ru")),
        w_c(views.input(3, {s.row(), s.cell}, "w_c")),
        b_ru(views.input(4, {2 * s.cell}, "b_ru")),
        b_c(views.input(5, {s.cell}, "b_c")) {}
};

void run_gru_cell(RunContext& c) {
  FloatViews views(c);
  const LstmSizes s = gru_sizes(c);
  const GruWeights in(views, s);
  const Shape state = {s.batch, s.cell};
  float *r = views.output(0, state), *u = views.output(1, state), *candidate = views.output(2, state),
        *h = views.output(3, state);
  if (s.states() == 0) return;
  float *xh = views.temporary(s.batch * s.row()), *gates = views.temporary(2 * s.states());
  join_rows(s, in.x, in.h_prev, xh);
  kernels::gemm(c.pool(), {.m = s.batch, .n = 2 * s.cell, .k = s.row()}, xh, in.w_ru, gates, {.bias = in.b_ru});
  float* reset = views.temporary(s.states());
  for (std::int64_t b = 0; b < s.batch; ++b) {
    for (std::int64_t k = 0; k < s.cell; ++k) {
      const std::int64_t at = b * s.cell + k;
      r[at] = sigmoid(gates[2 * b * s.cell + k]);
      u[at] = sigmoid(gates[(2 * b + 1) * s.cell + k]);
      reset[at] = in.h_prev[at] * r[at];
    }
  }
  join_rows(s, in.x, reset, xh);
  kernels::gemm(c.pool(), {.m = s.batch, .n = s.cell, .k = s.row()}, xh, in.w_c, candidate, {.bias = in.b_c});
  for (std::int64_t at = 0; at < s.states(); ++at) {
    candidate[at] = std::tanh(candidate[at]);
    h[at] = u[at] * (in.h_prev[at] - candidate[at]) + candidate[at];
  }
}

void run_gru_cell_grad(RunContext& c) {
  FloatViews views(c);
  const LstmSizes s = gru_sizes(c);
  const GruWeights in(views, s);
  const Shape state = {s.batch, s.cell};
  const float *r = views.input(6, state, "r"), *u = views.input(7, state, "u"), *candidate = views.input(8, state, "c"),
              *h_grad = views.input(9, state, "d_h");
  float *x_grad = views.output(0, {s.batch, s.input}), *h_prev_grad = views.output(1, state),
        *c_grad = views.output(2, state), *gates_grad = views.output(3, {s.batch, 2 * s.cell});
  if (s.states() == 0) return;
  float *through_gates = views.temporary(s.batch * s.row()), *through_c = views.temporary(s.batch * s.row());
  for (std::int64_t at = 0; at < s.states(); ++at) {
    c_grad[at] = h_grad[at] * (1 - u[at]) * (1 - candidate[at] * candidate[at]);
  }
  kernels::gemm(c.pool(), {.m = s.batch, .n = s.row(), .k = s.cell, .transpose_b = true}, c_grad, in.w_c, through_c);
  for (std::int64_t b = 0; b < s.batch; ++b) {
    for (std::int64_t k = 0; k < s.cell; ++k) {
      const std::int64_t at = b * s.cell + k;
      const float reset_grad = through_c[b * s.row() + s.input + k];
      gates_grad[2 * b * s.cell + k] = reset_grad * in.h_prev[at] * r[at] * (1 - r[at]);
      gates_grad[(2 * b + 1) * s.cell + k] = h_grad[at] * (in.h_prev[at] - candidate[at]) * u[at] * (1 - u[at]);
    }
  }
  kernels::gemm(c.pool(), {.m = s.batch, .n = s.row(), .k = 2 * s.cell, .transpose_b = true}, gates_grad, in.w_ru,
                through_gates);
  for (std::int64_t b = 0; b < s.batch; ++b) {
    const float *gates = through_gates + b * s.row(), *direct = through_c + b * s.row();
    for (std::int64_t k = 0; k < s.input; ++k) x_grad[b * s.input + k] = gates[k] + direct[k];
    for (std::int64_t k = 0; k < s.cell; ++k) {
      const std::int64_t at = b * s.cell + k;
      h_prev_grad[at] = gates[s.input + k] + direct[s.input + k] * r[at] + h_grad[at] * u[at];
    }
  }
}

// --- Gradients ---

// Gradients arrive for the states and the outputs; those of gates are not followed, as in TensorFlow.
void block_gradient_by(GradientContext& c, std::string_view op) {
  OpBuilder builder(op, {});
  for (int i = 0; i < 9; ++i) builder.input(c.input(i));
  for (int i = 0; i < 7; ++i) builder.input(c.output(i));
  builder.input(c.grad(1)).input(c.grad(6)).attr("use_peephole", c.attr<bool>("use_peephole"));
  Node& node = builder.build_node();
  for (int i = 0; i < 8; ++i) c.set_input_grad(i + 1, node.output(i));
}
void block_gradient(GradientContext& c) { block_gradient_by(c, "BlockLSTMGrad"); }
void block_v2_gradient(GradientContext& c) { block_gradient_by(c, "BlockLSTMGradV2"); }

}  // namespace

// --- Registrations ---

#define CAUDAL_LSTM_WEIGHTS "w: T; wci: T; wcf: T; wco: T; b: T"
#define CAUDAL_LSTM_STATES "i: T; cs: T; f: T; o: T; ci: T; co: T"

CAUDAL_REGISTER_OP({.name = "LSTMBlockCell",
                    .inputs = "x: T; cs_prev: T; h_prev: T; " CAUDAL_LSTM_WEIGHTS,
                    .outputs = CAUDAL_LSTM_STATES "; h: T",
                    .attrs = "forget_bias: float = 1.0; cell_clip: float = 3.0; use_peephole: bool = false; "
                             "T: {half, float}",
                    .shape = lstm_cell_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_lstm_cell>});
CAUDAL_REGISTER_OP({.name = "LSTMBlockCellGrad",
                    .inputs = "x: T; cs_prev: T; h_prev: T; " CAUDAL_LSTM_WEIGHTS "; " CAUDAL_LSTM_STATES
                              "; cs_grad: T; h_grad: T",
                    .outputs = "cs_prev_grad: T; dicfo: T; wci_grad: T; wcf_grad: T; wco_grad: T",
                    .attrs = "use_peephole: bool; T: {half, float}",
                    .shape = lstm_cell_grad_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_lstm_cell_grad>});
CAUDAL_REGISTER_OP({.name = "BlockLSTM",
                    .inputs = "seq_len_max: int64; x: T; cs_prev: T; h_prev: T; " CAUDAL_LSTM_WEIGHTS,
                    .outputs = CAUDAL_LSTM_STATES "; h: T",
                    .attrs = "forget_bias: float = 1.0; cell_clip: float = 3.0; use_peephole: bool = false; "
                             "T: {half, float}",
                    .shape = block_shape,
                    .gradient = block_gradient,
                    .cpu = kernel_of<run_block<false>>});
CAUDAL_REGISTER_OP({.name = "BlockLSTMV2",
                    .inputs = "seq_len_max: int64; x: T; cs_prev: T; h_prev: T; " CAUDAL_LSTM_WEIGHTS,
                    .outputs = CAUDAL_LSTM_STATES "; h: T",
                    .attrs = "cell_clip: float = 0.0; use_peephole: bool = false; T: {half, float}",
                    .shape = block_shape,
                    .gradient = block_v2_gradient,
                    .cpu = kernel_of<run_block<true>>});

#define CAUDAL_REGISTER_BLOCK_GRAD(op, v2)                                                                        \
  CAUDAL_REGISTER_OP({                                                                                            \
      .name = op,                                                                                                 \
      .inputs = "seq_len_max: int64; x: T; cs_prev: T; h_prev: T; " CAUDAL_LSTM_WEIGHTS "; " CAUDAL_LSTM_STATES   \
                "; h: T; cs_grad: T; h_grad: T",                                                                  \
      .outputs = "x_grad: T; cs_prev_grad: T; h_prev_grad: T; w_grad: T; wci_grad: T; wcf_grad: T; wco_grad: T; " \
                 "b_grad: T",                                                                                     \
      .attrs = "use_peephole: bool; T: {half, float}",                                                            \
      .shape = block_grad_shape,                                                                                  \
      .gradient = no_gradient,                                                                                    \
      .cpu = kernel_of<run_block_grad<v2>>,                                                                       \
  })
CAUDAL_REGISTER_BLOCK_GRAD("BlockLSTMGrad", false);
CAUDAL_REGISTER_BLOCK_GRAD("BlockLSTMGradV2", true);
#undef CAUDAL_REGISTER_BLOCK_GRAD
#undef CAUDAL_LSTM_WEIGHTS
#undef CAUDAL_LSTM_STATES

CAUDAL_REGISTER_OP({.name = "GRUBlockCell",
                    .inputs = "x: T; h_prev: T; w_ru: T; w_c: T; b_ru: T; b_c: T",
                    .outputs = "r: T; u: T; c: T; h: T",
                    .attrs = "T: {float}",
                    .shape = gru_cell_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_gru_cell>});
CAUDAL_REGISTER_OP({.name = "GRUBlockCellGrad",
                    .inputs = "x: T; h_prev: T; w_ru: T; w_c: T; b_ru: T; b_c: T; r: T; u: T; c: T; d_h: T",
                    .outputs = "d_x: T; d_h_prev: T; d_c_bar: T; d_r_bar_u_bar: T",
                    .attrs = "T: {float}",
                    .shape = gru_cell_grad_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_gru_cell_grad>});

// --- Public functions ---

namespace raw_ops {
namespace {

LstmBlock block_of(OpBuilder builder, const Operand& x, const Operand& cs_prev, const Operand& h_prev,
                   const LstmWeights& weights, const LstmBlockOptions& options) {
  const DType dtype = common_dtype({&x, &cs_prev, &h_prev, &weights.w});
  Node& node = builder.input(x, dtype)
                   .input(cs_prev, dtype)
                   .input(h_prev, dtype)
                   .input(weights.w, dtype)
                   .input(weights.wci, dtype)
                   .input(weights.wcf, dtype)
                   .input(weights.wco, dtype)
                   .input(weights.b, dtype)
                   .attr("forget_bias", options.forget_bias)
                   .attr("cell_clip", options.cell_clip)
                   .attr("use_peephole", options.use_peephole)
                   .build_node();
  return {node.output(0), node.output(1), node.output(2), node.output(3),
          node.output(4), node.output(5), node.output(6)};
}

}  // namespace

LstmBlock lstm_block_cell(const Operand& x, const Operand& cs_prev, const Operand& h_prev, const LstmWeights& weights,
                          const LstmBlockOptions& options) {
  return block_of(OpBuilder("LSTMBlockCell", {.name = options.name, .where = options.where}), x, cs_prev, h_prev,
                  weights, options);
}

LstmBlock block_lstm(const Operand& seq_len_max, const Operand& x, const Operand& cs_prev, const Operand& h_prev,
                     const LstmWeights& weights, const LstmBlockOptions& options) {
  OpBuilder builder("BlockLSTM", {.name = options.name, .where = options.where});
  builder.input(seq_len_max, DType::kInt64);
  return block_of(std::move(builder), x, cs_prev, h_prev, weights, options);
}

GruBlock gru_block_cell(const Operand& x, const Operand& h_prev, const Operand& w_ru, const Operand& w_c,
                        const Operand& b_ru, const Operand& b_c, const OpOptions& options) {
  Node& node = OpBuilder("GRUBlockCell", options)
                   .input(x, DType::kFloat)
                   .input(h_prev, DType::kFloat)
                   .input(w_ru, DType::kFloat)
                   .input(w_c, DType::kFloat)
                   .input(b_ru, DType::kFloat)
                   .input(b_c, DType::kFloat)
                   .build_node();
  return {node.output(0), node.output(1), node.output(2), node.output(3)};
}

}  // namespace raw_ops
}  // namespace caudal::inline v0
