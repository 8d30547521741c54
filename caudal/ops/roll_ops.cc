#include "caudal/ops/roll_ops.h"

#include <algorithm>
#include <vector>

#include "caudal/autodiff/gradient.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/strided_copy.h"

namespace caudal::inline v0 {
namespace {

using List = std::vector<std::int64_t>;

// --- Shape functions ---

void roll_shape(ShapeContext& c) {
  const PartialShape input = c.with_rank_at_least(0, 1);
  for (int i = 1; i <= 2; ++i) {
    if (c.input(i).has_rank() && c.input(i).rank() > 1) {
      throw invalid_argument(c.input_name(i), " must be a scalar or a vector, not of shape ", c.input(i));
    }
  }
  c.set_output(0, input);
}

void reverse_sequence_shape(ShapeContext& c) {
  const PartialShape lengths = c.with_rank(1, 1);
  PartialShape input = c.input(0);
  if (!input.has_rank()) return;
  const auto seq = c.attr<std::int64_t>("seq_dim"), batch = c.attr<std::int64_t>("batch_dim");
  for (const std::int64_t dim : {batch, seq}) {
    if (dim >= input.rank()) {
      throw invalid_argument("batch_dim ", batch, " and seq_dim ", seq, " must be dimensions of an input of shape ",
                             input);
    }
  }
  if (batch < 0) return c.set_output(0, input);  // the kernel refuses it
  const int d = static_cast<int>(batch);
  c.set_output(0, input.with_dim(d, ShapeContext::merge_dim(input.dim(d), lengths.dim(0), "seq_lengths")));
}

// --- Kernels ---

// How far each dimension moves, in [0, size).
List shifts_of(const Tensor& shift, const Tensor& axis, const Shape& shape) {
  if (shift.rank() > 1 || axis.rank() > 1 || shift.num_elements() != axis.num_elements()) {
    throw invalid_argument("shift ", shift.describe(), " and axis ", axis.describe(),
                           " must be scalars or vectors of one length");
  }
  const List by = shift.to_int64s(), axes = axis.to_int64s();
  List shifts(static_cast<std::size_t>(shape.rank()), 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const int d = normalized_axis(axes[i], shape.rank());
    const std::int64_t size = std::max<std::int64_t>(1, shape[d]);
    std::int64_t& total = shifts[static_cast<std::size_t>(d)];
    total = (total + by[i] % size + size) % size;
  }
  return shifts;
}

void run_roll(RunContext& c) {
  const Tensor& in = c.input(0);
  if (in.rank() == 0) throw invalid_argument("a scalar has no dimension to roll");
  const List shifts = shifts_of(c.input(1), c.input(2), in.shape());
  Tensor& out = c.allocate_output(0, in.shape());
  if (in.num_elements() == 0) return;
  const List strides = in.shape().strides();
  const auto size = static_cast<std::int64_t>(dtype_size(in.dtype()));
  // Each rolled dimension is two stretches that change places; all combinations of stretches are moved.
  std::vector<std::size_t> rolled;
  for (std::size_t d = 0; d < shifts.size(); ++d) {
    if (shifts[d] != 0) rolled.push_back(d);
  }
  for (std::uint64_t combination = 0; combination < (std::uint64_t{1} << rolled.size()); ++combination) {
    List dims = in.shape().to_vector();
    std::int64_t from = 0, to = 0;
    for (std::size_t k = 0; k < rolled.size(); ++k) {
      const std::size_t d = rolled[k];
      const std::int64_t first = dims[d] - shifts[d];  // of the elements that come in again
      if ((combination >> k & 1) != 0) {
        from += first * strides[d];
        dims[d] = shifts[d];
      } else {
        to += shifts[d] * strides[d];
        dims[d] = first;
      }
    }
    strided_copy(c.pool(), in.dtype(), dims, in.raw() + from * size, strides, out.raw() + to * size, strides);
  }
}

void run_reverse_sequence(RunContext& c) {
  const Tensor& in = c.input(0);
  const Tensor& lengths = c.input(1);
  const auto seq = c.node().attr<std::int64_t>("seq_dim"), batch = c.node().attr<std::int64_t>("batch_dim");
  if (seq == batch || std::min(seq, batch) < 0 || std::max(seq, batch) >= in.rank()) {
    throw invalid_argument("batch_dim ", batch, " and seq_dim ", seq, " must be two dimensions of ", in.describe());
  }
  const int s = static_cast<int>(seq), b = static_cast<int>(batch);
  if (lengths.rank() != 1 || lengths.dim(0) != in.dim(b)) {
    throw invalid_argument("seq_lengths must be [", in.dim(b), "], not ", lengths.describe());
  }
  const List counts = lengths.to_int64s();
  for (const std::int64_t count : counts) {
    if (count < 0 || count > in.dim(s)) {
      throw invalid_argument("seq_lengths holds ", count, ", outside [0, ", in.dim(s), "] of dimension ", seq);
    }
  }
  Tensor& out = c.allocate_output(0, in.shape());
  if (in.num_elements() == 0) return;
  const List strides = in.shape().strides();
  const std::int64_t step = strides[static_cast<std::size_t>(s)];
  const auto size = static_cast<std::int64_t>(dtype_size(in.dtype()));
  List dims = in.shape().to_vector();
  dims[static_cast<std::size_t>(b)] = 1;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const std::int64_t entry = static_cast<std::int64_t>(i) * strides[static_cast<std::size_t>(b)] * size;
    std::int64_t& along = dims[static_cast<std::size_t>(s)];
    List backwards = strides;
    backwards[static_cast<std::size_t>(s)] = -step;
    if ((along = counts[i]) > 0) {
      strided_copy(c.pool(), in.dtype(), dims, in.raw() + entry + (counts[i] - 1) * step * size, backwards,
                   out.raw() + entry, strides);
    }
    if ((along = in.dim(s) - counts[i]) > 0) {
      const std::int64_t rest = entry + counts[i] * step * size;
      strided_copy(c.pool(), in.dtype(), dims, in.raw() + rest, strides, out.raw() + rest, strides);
    }
  }
}

// --- Gradients ---

void roll_gradient(GradientContext& c) {
  c.set_input_grad(0, OpBuilder("Roll", {}).input(c.grad(0)).input(negative(c.input(1))).input(c.input(2)).build());
}

void reverse_sequence_gradient(GradientContext& c) {
  c.set_input_grad(0, OpBuilder("ReverseSequence", {})
                          .input(c.grad(0))
                          .input(c.input(1))
                          .attr("seq_dim", c.attr<std::int64_t>("seq_dim"))
                          .attr("batch_dim", c.attr<std::int64_t>("batch_dim"))
                          .build());
}

}  // namespace

// --- Registrations ---

CAUDAL_REGISTER_OP({.name = "Roll",
                    .inputs = "input: T; shift: Tshift; axis: Taxis",
                    .outputs = "output: T",
                    .attrs = "T: type; Tshift: {int32, int64}; Taxis: {int32, int64}",
                    .shape = roll_shape,
                    .gradient = roll_gradient,
                    .cpu = kernel_of<run_roll>});
CAUDAL_REGISTER_OP({.name = "ReverseSequence",
                    .inputs = "input: T; seq_lengths: Tlen",
                    .outputs = "output: T",
                    .attrs = "seq_dim: int; batch_dim: int = 0; T: type; Tlen: {int32, int64} = DT_INT64",
                    .shape = reverse_sequence_shape,
                    .gradient = reverse_sequence_gradient,
                    .cpu = kernel_of<run_reverse_sequence>});

// --- Public functions ---

Output roll(const Operand& input, const Operand& shift, const Operand& axis, const OpOptions& options) {
  return OpBuilder("Roll", options).input(input).input(shift, DType::kInt32).input(axis, DType::kInt32).build();
}

Output reverse_sequence(const Operand& input, const Operand& seq_lengths, const ReverseSequenceOptions& options) {
  return OpBuilder("ReverseSequence", {.name = options.name, .where = options.where})
      .input(input)
      .input(seq_lengths, DType::kInt32)
      .attr("seq_dim", options.seq_axis)
      .attr("batch_dim", options.batch_axis)
      .build();
}

}  // namespace caudal::inline v0
