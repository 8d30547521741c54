#include "caudal/nn/rnn.h"

#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/cast.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/joining.h"
#include "caudal/ops/map_fn.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/range_ops.h"
#include "caudal/ops/selection.h"
#include "caudal/ops/shape_ops.h"
#include "caudal/ops/slicing.h"
#include "caudal/ops/transpose_ops.h"

namespace caudal::inline v0::nn {
namespace {

using rnn_cell::Cell;
using rnn_cell::CellStep;

// The first two dimensions exchanged.
Output exchanged(const Output& x) { return transpose(x, {1, 0, 2}); }

template <class F>
auto with_place(std::string_view function, const std::source_location& where, const F& build) {
  try {
    return build();
  } catch (const Error& error) {
    throw error.in(function).made_at(short_location(where));
  }
}

// Lengths of the sequences of a batch whose size is dimension `axis` of the inputs; none if there are none.
Output lengths_of(const std::optional<Operand>& given, const Output& inputs, int axis) {
  if (!given) return {};
  const Output lengths = cast(given->to_output(int32), int32);
  if (!lengths.shape().compatible({inputs.shape()[axis]})) {
    throw invalid_argument("sequence_length is ", lengths.describe(), "; one number for each of the batch of ",
                           inputs.describe(), " is wanted");
  }
  return lengths;
}

// A step whose finished sequences stay as they are. `step`: int32 scalar.
CellStep guarded(const Cell& cell, const Output& inputs, const Outputs& state, const Output& step,
                 const Output& lengths) {
  CellStep next = cell(inputs, state);
  if (!lengths) return next;
  const Output over = expand_dims(less_equal(lengths, step), 1);
  next.output = where(over, zeros_like(next.output), next.output);
  for (std::size_t i = 0; i < state.size(); ++i) next.state[i] = where(over, state[i], next.state[i]);
  return next;
}

Operand batch_of(const Output& step_inputs) {
  const std::int64_t known = step_inputs.shape()[0];
  return known >= 0 ? Operand(static_cast<int>(known)) : Operand(index(shape_of(step_inputs), {0}));
}

Outputs first_state(const Cell& cell, const Outputs& given, const Operand& batch, DType dtype) {
  return given.empty() ? cell.zero_state(batch, dtype) : given;
}

// Over time-major inputs, in the current variable scope.
RnnResult over_time(const Cell& cell, const Output& inputs, const Output& lengths, const Outputs& initial_state,
                    int parallel_iterations, bool swap_memory) {
  const PartialShape& shape = inputs.shape();
  cell.build(shape[2], inputs.dtype());
  const Operand batch = shape[1] >= 0 ? Operand(static_cast<int>(shape[1])) : Operand(index(shape_of(inputs), {1}));
  Outputs carried = first_state(cell, initial_state, batch, inputs.dtype());
  const std::size_t states = carried.size();
  const Output no_output =
      fill(stack({batch, static_cast<int>(cell.output_size())}), Operand(0.0F).to_output(inputs.dtype()));
  no_output.set_shape({shape[1], cell.output_size()});
  carried.insert(carried.begin(), no_output);
  const Output times = range(0, index(shape_of(inputs), {0}));
  times.set_shape({shape[0]});
  const FoldManyFn body = [&](const Outputs& so_far, const Outputs& rows) {
    const Outputs state(so_far.begin() + 1, so_far.end());
    rows[0].set_shape({shape[1], shape[2]});
    const CellStep next = guarded(cell, rows[0], state, rows[1], lengths);
    Outputs all = {next.output};
    all.insert(all.end(), next.state.begin(), next.state.end());
    return all;
  };
  const Outputs all = scan(body, {inputs, times},
                           {.initializer = OperandList(carried),
                            .parallel_iterations = parallel_iterations,
                            .swap_memory = swap_memory,
                            .name = "while"});
  RnnResult result{all[0], {}};
  for (std::size_t i = 0; i < states; ++i) result.state.push_back(index(all[i + 1], {-1}));
  return result;
}

Output checked_inputs(const Operand& given) {
  const Output inputs = given.to_output(float32);
  if (inputs.shape().rank() != 3 || inputs.shape()[2] < 0) {
    throw invalid_argument("inputs are ", inputs.describe(),
                           "; [batch, steps, size] is wanted, the last of them known");
  }
  return inputs;
}

// Each sequence backwards from its end; time-major.
Output reversed(const Output& inputs, const Output& lengths) {
  if (!lengths) return reverse(inputs, {0});
  return OpBuilder("ReverseSequence", {}).input(inputs).input(lengths).attr("seq_dim", 0).attr("batch_dim", 1).build();
}

}  // namespace

RnnResult dynamic_rnn(const Cell& cell, const Operand& given, const DynamicRnnOptions& options) {
  return with_place("dynamic_rnn", options.where, [&] {
    const LocationScope location(options.where);
    const VariableScope scope(options.scope.empty() ? "rnn" : options.scope);
    const Output inputs = checked_inputs(given);
    const Output over_steps = options.time_major ? inputs : exchanged(inputs);
    const Output lengths = lengths_of(options.sequence_length, over_steps, 1);
    RnnResult result =
        over_time(cell, over_steps, lengths, options.initial_state, options.parallel_iterations, options.swap_memory);
    if (!options.time_major) result.outputs = exchanged(result.outputs);
    return result;
  });
}

StaticRnnResult static_rnn(const Cell& cell, const std::vector<Output>& inputs, const StaticRnnOptions& options) {
  return with_place("static_rnn", options.where, [&] {
    const LocationScope location(options.where);
    if (inputs.empty()) throw invalid_argument("there are no inputs");
    const VariableScope scope(options.scope.empty() ? "rnn" : options.scope);
    for (const Output& each : inputs) {
      if (each.shape().rank() == 2) continue;
      throw invalid_argument("inputs are ", each.describe(), "; [batch, size] is wanted for each step");
    }
    const Output lengths = lengths_of(options.sequence_length, inputs[0], 0);
    StaticRnnResult result{{}, first_state(cell, options.initial_state, batch_of(inputs[0]), inputs[0].dtype())};
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Output step = lengths ? constant(static_cast<int>(i)) : Output();
      CellStep next = guarded(cell, inputs[i], result.state, step, lengths);
      result.outputs.push_back(next.output);
      result.state = std::move(next.state);
    }
    return result;
  });
}

BidirectionalRnnResult bidirectional_dynamic_rnn(const Cell& cell_fw, const Cell& cell_bw, const Operand& given,
                                                 const BidirectionalRnnOptions& options) {
  return with_place("bidirectional_dynamic_rnn", options.where, [&] {
    const LocationScope location(options.where);
    const VariableScope scope(options.scope.empty() ? "bidirectional_rnn" : options.scope);
    const Output inputs = checked_inputs(given);
    const Output over_steps = options.time_major ? inputs : exchanged(inputs);
    const Output lengths = lengths_of(options.sequence_length, over_steps, 1);
    BidirectionalRnnResult result;
    {
      const VariableScope forward("fw");
      result.fw = over_time(cell_fw, over_steps, lengths, options.initial_state_fw, options.parallel_iterations,
                            options.swap_memory);
    }
    {
      const VariableScope backward("bw");
      result.bw = over_time(cell_bw, reversed(over_steps, lengths), lengths, options.initial_state_bw,
                            options.parallel_iterations, options.swap_memory);
      result.bw.outputs = reversed(result.bw.outputs, lengths);
    }
    if (!options.time_major) {
      result.fw.outputs = exchanged(result.fw.outputs);
      result.bw.outputs = exchanged(result.bw.outputs);
    }
    return result;
  });
}

}  // namespace caudal::inline v0::nn
