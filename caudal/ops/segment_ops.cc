#include "caudal/ops/segment_ops.h"

#include <algorithm>
#include <limits>

#include "caudal/autodiff/gradient.h"
#include "caudal/core/kernel.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/kernels/dispatch.h"
#include "caudal/kernels/numeric.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/position_text.h"
#include "caudal/ops/strided_copy.h"

namespace caudal::inline v0 {
namespace {

using kernels::Wide;

enum class Reduction { kSum, kMean, kProd, kMax, kMin };

// Shape functions.

void segment_shape(ShapeContext& c) {
  const PartialShape data = c.with_rank_at_least(0, 1);
  c.with_rank(1, 1);
  if (data.has_rank()) c.set_output(0, data.with_dim(0, -1));
}

void unsorted_segment_shape(ShapeContext& c) {
  const PartialShape &data = c.input(0), &ids = c.input(1);
  c.with_rank(2, 0);
  std::int64_t segments = -1;
  if (const Tensor* value = c.constant_input(2)) {
    segments = scalar_int(*value, "num_segments");
    if (segments < 0) throw invalid_argument("num_segments is ", segments);
  }
  if (!data.has_rank() || !ids.has_rank()) return;
  c.with_rank_at_least(0, ids.rank());
  for (int i = 0; i < ids.rank(); ++i) {
    ShapeContext::merge_dim(data[i], ids[i], "first sizes of data and segment_ids");
  }
  std::vector<std::int64_t> dims{segments};
  dims.insert(dims.end(), data.dims().begin() + ids.rank(), data.dims().end());
  c.set_output(0, PartialShape(std::move(dims)));
}

// Kernels.

// The value of a segment before its first row.
template <class T>
T neutral(Reduction reduction) {
  if (reduction == Reduction::kSum || reduction == Reduction::kMean) return T(Wide<T>{0});
  if constexpr (kernels::kIsComplex<T>) {
    return T(1);
  } else {
    if (reduction == Reduction::kProd) return T(Wide<T>{1});
    // Of half and bfloat16 the largest finite numbers, as numeric_limits would tell them.
    const bool highest = reduction == Reduction::kMin;
    if constexpr (std::is_same_v<T, Half>) {
      return T(highest ? 65504.0F : -65504.0F);
    } else if constexpr (std::is_same_v<T, BFloat16>) {
      T value;
      value.bits = highest ? 0x7f7f : 0xff7f;
      return value;
    } else {
      return highest ? std::numeric_limits<T>::max() : std::numeric_limits<T>::lowest();
    }
  }
}

template <class T>
void reduce_row(Reduction reduction, const T* from, T* to, std::int64_t n) {
  const auto each = [&](auto combine) {
    for (std::int64_t i = 0; i < n; ++i) {
      to[i] = T(combine(static_cast<Wide<T>>(to[i]), static_cast<Wide<T>>(from[i])));
    }
  };
  using W = Wide<T>;
  switch (reduction) {
    case Reduction::kSum:
    case Reduction::kMean:
      return each([](W a, W b) { return kernels::wrap_add(a, b); });
    case Reduction::kProd:
      return each([](W a, W b) { return kernels::wrap_mul(a, b); });
    case Reduction::kMax:
    case Reduction::kMin:
      if constexpr (!kernels::kIsComplex<T>) {
        // A later NaN or zero of the other sign wins, as in TensorFlow.
        if (reduction == Reduction::kMax) return each([](W a, W b) { return a > b ? a : b; });
        return each([](W a, W b) { return a < b ? a : b; });
      }
  }
}

// Reduces rows of `data` into the rows of y that the ids name; negative ids are skipped. Columns are shared out among
// the threads, so that each sum keeps its order.
template <class T>
void reduce_rows(RunContext& c, Reduction reduction, const Tensor& data, const std::vector<std::int64_t>& ids,
                 Tensor& y) {
  const auto rows = static_cast<std::int64_t>(ids.size());
  const std::int64_t width = data.num_elements() / std::max<std::int64_t>(rows, 1);
  constexpr std::int64_t kGrain = 1 << 15;
  const std::int64_t columns = std::max<std::int64_t>(64, kGrain / std::max<std::int64_t>(rows, 1));
  const T* from = data.data<T>();
  T* to = y.data<T>();
  c.pool().parallel_for(width, columns, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = 0; row < rows; ++row) {
      if (ids[row] >= 0) reduce_row(reduction, from + row * width + begin, to + ids[row] * width + begin, end - begin);
    }
  });
}

template <class Fn>
void dispatch_reduction(Reduction reduction, DType dtype, Fn&& fn) {
  if (reduction == Reduction::kMax || reduction == Reduction::kMin) {
    kernels::dispatch(kernels::RealTypes{}, dtype, "segment reduction", fn);
  } else {
    kernels::dispatch(kernels::NumberTypes{}, dtype, "segment reduction", fn);
  }
}

template <class T>
void divide_rows(Tensor& y, const std::vector<std::int64_t>& counts) {
  const std::int64_t width = y.num_elements() / std::max<std::int64_t>(static_cast<std::int64_t>(counts.size()), 1);
  T* to = y.data<T>();
  for (const std::int64_t count : counts) {
    for (std::int64_t i = 0; i < width; ++i, ++to) {
      if (count > 1) *to = T(static_cast<Wide<T>>(*to) / static_cast<Wide<T>>(count));
    }
  }
}

// Throws unless the ids are sorted and not negative.
void check_sorted(const std::vector<std::int64_t>& ids) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] == std::numeric_limits<std::int64_t>::max()) {
      throw invalid_argument("segment_ids[", i, "] = ", ids[i], " is no number of a segment");
    }
    if (i > 0 && ids[i] < ids[i - 1]) {
      throw invalid_argument("segment_ids are not sorted: [", i, "] = ", ids[i], " after ", ids[i - 1])
          .hint("Sort them, or use the unsorted variant of this function.");
    }
  }
}

template <Reduction reduction>
void run_segment(RunContext& c) {
  const Tensor &data = c.input(0), &ids_value = c.input(1);
  if (data.rank() < 1 || ids_value.rank() != 1 || ids_value.dim(0) != data.dim(0)) {
    throw invalid_argument("segment_ids must be a vector with one entry per row of ", data.describe(), ", not ",
                           ids_value.describe());
  }
  const auto ids = ids_value.to_int64s();
  check_sorted(ids);
  const std::int64_t segments = ids.empty() ? 0 : ids.back() + 1;
  Tensor& y = c.allocate_output(0, data.shape().with_dim(0, segments));
  if (y.num_elements() == 0) return;
  std::vector<std::int64_t> counts(segments);
  for (const auto id : ids) ++counts[id];
  dispatch_reduction(reduction, data.dtype(), [&]<class T>() {
    const std::int64_t width = y.num_elements() / segments;
    // Segments without rows stay at 0, of products at 1.
    const T empty = reduction == Reduction::kProd ? T(Wide<T>{1}) : T(Wide<T>{0});
    for (std::int64_t s = 0; s < segments; ++s) {
      std::fill_n(y.data<T>() + s * width, width, counts[s] == 0 ? empty : neutral<T>(reduction));
    }
    reduce_rows<T>(c, reduction, data, ids, y);
    if (reduction == Reduction::kMean) divide_rows<T>(y, counts);
  });
}

template <Reduction reduction>
void run_unsorted_segment(RunContext& c) {
  const Tensor &data = c.input(0), &ids_value = c.input(1);
  const std::int64_t segments = scalar_int(c.input(2), "num_segments");
  if (segments < 0) throw invalid_argument("num_segments is ", segments);
  const int ids_rank = ids_value.rank();
  if (data.rank() < ids_rank || !std::ranges::equal(data.shape().dims().first(ids_rank), ids_value.shape().dims())) {
    throw invalid_argument("the shape of data, ", data.shape(), ", must begin with that of segment_ids, ",
                           ids_value.shape());
  }
  const auto ids = ids_value.to_int64s();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] >= segments) {
      throw invalid_argument("segment_ids", position_text(static_cast<std::int64_t>(i), ids_value.shape()), " = ",
                             ids[i], " is out of range [0, ", segments, ")");
    }
  }
  std::vector<std::int64_t> dims{segments};
  const auto inner = data.shape().dims().subspan(ids_rank);
  dims.insert(dims.end(), inner.begin(), inner.end());
  Tensor& y = c.allocate_output(0, Shape(dims));
  dispatch_reduction(reduction, data.dtype(), [&]<class T>() {
    const T start = neutral<T>(reduction);
    fill_elements(c.pool(), y.dtype(), reinterpret_cast<const char*>(&start), y.raw(), y.num_elements());
    if (data.num_elements() > 0) reduce_rows<T>(c, reduction, data, ids, y);
  });
}

// Gradients.

Output make(std::string_view op, const Output& a, const Output& b) {
  return OpBuilder(op, {}).input(a).input(b).build();
}
Output select(const Output& condition, const Output& a, const Output& b) {
  return OpBuilder("SelectV2", {}).input(condition).input(a).input(b).build();
}
Output zeros_like(const Output& x) { return OpBuilder("ZerosLike", {}).input(x).build(); }
Output ones_like(const Output& x) { return OpBuilder("OnesLike", {}).input(x).build(); }
Output cast(const Output& x, DType dtype) { return OpBuilder("Cast", {}).input(x).attr("DstT", dtype).build(); }

Output gather_rows(const Output& rows, const Output& ids) {
  return OpBuilder("GatherV2", {}).input(rows).input(ids).input(0).build();
}

// What the gradients of both kinds of segment reduction need: the rows of a result spread back over the data.
class Segments {
 public:
  explicit Segments(GradientContext& c) : data_(c.input(0)), ids_(c.input(1)) {
    if (c.num_inputs() < 3) return;
    num_segments_ = c.input(2);
    const Output zero = Operand(0).to_output(ids_.dtype());
    clipped_ = make("Maximum", ids_, zero);
    // [ids' shape, 1, ..., 1], so that it broadcasts over the rows.
    const Output inner_rank = make("Sub", rank_of(data_), rank_of(ids_));
    const Output ones = OpBuilder("Fill", {})
                            .input(OpBuilder("Reshape", {}).input(inner_rank).input({1}).build())
                            .input(Tensor(1))
                            .build();
    const Output shape = OpBuilder("ConcatV2", {}).inputs({shape_of(ids_), ones}).input(0).build();
    counted_ = make("Reshape", make("GreaterEqual", ids_, zero), shape);
  }

  // Rows of a result where the data's rows went to, zeros where they went nowhere.
  Output spread(const Output& rows) const {
    if (!num_segments_) return gather_rows(rows, ids_);
    const Output gathered = gather_rows(rows, clipped_);
    return select(counted_, gathered, zeros_like(gathered));
  }
  // The same without the zeros.
  Output spread_all(const Output& rows) const { return gather_rows(rows, num_segments_ ? clipped_ : ids_); }
  Output counted_only(const Output& flags) const { return num_segments_ ? make("LogicalAnd", flags, counted_) : flags; }
  Output reduce(const char* sorted_op, const char* unsorted_op, const Output& x) const {
    if (!num_segments_) return make(sorted_op, x, ids_);
    return OpBuilder(unsorted_op, {}).input(x).input(ids_).input(num_segments_).build();
  }
  Output sum(const Output& x) const { return reduce("SegmentSum", "UnsortedSegmentSum", x); }
  Output prod(const Output& x) const { return reduce("SegmentProd", "UnsortedSegmentProd", x); }

 private:
  static Output rank_of(const Output& x) {
    const int rank = x.shape().rank();
    return rank >= 0 ? Operand(rank).to_output() : OpBuilder("Rank", {}).input(x).build();
  }

  Output data_, ids_, num_segments_, clipped_, counted_;
};

void sum_gradient(GradientContext& c) { c.set_input_grad(0, Segments(c).spread(c.grad(0))); }

// Each row's share: the gradient over the number of rows.
void mean_gradient(GradientContext& c) {
  const Segments segments(c);
  const Output counts = segments.sum(ones_like(c.input(0)));
  c.set_input_grad(0, segments.spread(make("RealDiv", c.grad(0), counts)));
}

// The rows that hold the extreme value share the gradient equally.
void extreme_gradient(GradientContext& c) {
  const Segments segments(c);
  const Output is_chosen = segments.counted_only(make("Equal", c.input(0), segments.spread_all(c.output(0))));
  const Output num_chosen = segments.sum(cast(is_chosen, c.grad(0).dtype()));
  const Output share = segments.spread(make("RealDiv", c.grad(0), num_chosen));
  c.set_input_grad(0, select(is_chosen, share, zeros_like(share)));
}

// The product of the others: the whole over the element; beside one zero the product of all that are not zero.
void prod_gradient(GradientContext& c) {
  const Segments segments(c);
  const Output& data = c.input(0);
  const Output is_zero = make("Equal", data, zeros_like(data));
  const Output num_zeros = segments.sum(cast(is_zero, DType::kInt32));
  const Output many = make("Greater", num_zeros, ones_like(num_zeros));
  const Output grad = select(many, zeros_like(c.grad(0)), c.grad(0));
  const Output nonzero_prod = segments.prod(select(is_zero, ones_like(data), data));
  const Output others =
      select(is_zero, segments.spread_all(nonzero_prod), make("RealDiv", segments.spread_all(c.output(0)), data));
  c.set_input_grad(0, make("Mul", segments.spread(grad), others));
}

}  // namespace

CAUDAL_REGISTER_OP({.name = "SegmentSum",
                    .inputs = "data: T; segment_ids: Tindices",
                    .outputs = "output: T",
                    .attrs = "T: numbertype; Tindices: {int32, int64}",
                    .shape = segment_shape,
                    .gradient = sum_gradient,
                    .cpu = kernel_of<run_segment<Reduction::kSum>>});
CAUDAL_REGISTER_OP({.name = "SegmentMean",
                    .inputs = "data: T; segment_ids: Tindices",
                    .outputs = "output: T",
                    .attrs = "T: numbertype; Tindices: {int32, int64}",
                    .shape = segment_shape,
                    .gradient = mean_gradient,
                    .cpu = kernel_of<run_segment<Reduction::kMean>>});
CAUDAL_REGISTER_OP({.name = "SegmentProd",
                    .inputs = "data: T; segment_ids: Tindices",
                    .outputs = "output: T",
                    .attrs = "T: numbertype; Tindices: {int32, int64}",
                    .shape = segment_shape,
                    .gradient = prod_gradient,
                    .cpu = kernel_of<run_segment<Reduction::kProd>>});
CAUDAL_REGISTER_OP({.name = "SegmentMax",
                    .inputs = "data: T; segment_ids: Tindices",
                    .outputs = "output: T",
                    .attrs = "T: realnumbertype; Tindices: {int32, int64}",
                    .shape = segment_shape,
                    .gradient = extreme_gradient,
                    .cpu = kernel_of<run_segment<Reduction::kMax>>});
CAUDAL_REGISTER_OP({.name = "SegmentMin",
                    .inputs = "data: T; segment_ids: Tindices",
                    .outputs = "output: T",
                    .attrs = "T: realnumbertype; Tindices: {int32, int64}",
                    .shape = segment_shape,
                    .gradient = extreme_gradient,
                    .cpu = kernel_of<run_segment<Reduction::kMin>>});
CAUDAL_REGISTER_OP({.name = "UnsortedSegmentSum",
                    .inputs = "data: T; segment_ids: Tindices; num_segments: Tnumsegments",
                    .outputs = "output: T",
                    .attrs = "T: numbertype; Tindices: {int16, int32, int64}; Tnumsegments: {int32, int64} = DT_INT32",
                    .shape = unsorted_segment_shape,
                    .gradient = sum_gradient,
                    .cpu = kernel_of<run_unsorted_segment<Reduction::kSum>>});
CAUDAL_REGISTER_OP({.name = "UnsortedSegmentProd",
                    .inputs = "data: T; segment_ids: Tindices; num_segments: Tnumsegments",
                    .outputs = "output: T",
                    .attrs = "T: numbertype; Tindices: {int32, int64}; Tnumsegments: {int32, int64} = DT_INT32",
                    .shape = unsorted_segment_shape,
                    .gradient = prod_gradient,
                    .cpu = kernel_of<run_unsorted_segment<Reduction::kProd>>});
CAUDAL_REGISTER_OP({.name = "UnsortedSegmentMax",
                    .inputs = "data: T; segment_ids: Tindices; num_segments: Tnumsegments",
                    .outputs = "output: T",
                    .attrs = "T: realnumbertype; Tindices: {int32, int64}; Tnumsegments: {int32, int64} = DT_INT32",
                    .shape = unsorted_segment_shape,
                    .gradient = extreme_gradient,
                    .cpu = kernel_of<run_unsorted_segment<Reduction::kMax>>});
CAUDAL_REGISTER_OP({.name = "UnsortedSegmentMin",
                    .inputs = "data: T; segment_ids: Tindices; num_segments: Tnumsegments",
                    .outputs = "output: T",
                    .attrs = "T: realnumbertype; Tindices: {int32, int64}; Tnumsegments: {int32, int64} = DT_INT32",
                    .shape = unsorted_segment_shape,
                    .gradient = extreme_gradient,
                    .cpu = kernel_of<run_unsorted_segment<Reduction::kMin>>});

namespace {

Output make_segment(std::string_view op, const Operand& data, const Operand& ids, const OpOptions& options) {
  return OpBuilder(op, options).input(data).input(ids, DType::kInt32).build();
}

Output make_unsorted(std::string_view op, const Operand& data, const Operand& ids, const Operand& num_segments,
                     const OpOptions& options) {
  return OpBuilder(op, options).input(data).input(ids, DType::kInt32).input(num_segments, DType::kInt32).build();
}

}  // namespace

Output math::segment_sum(const Operand& data, const Operand& segment_ids, const OpOptions& options) {
  return make_segment("SegmentSum", data, segment_ids, options);
}
Output math::segment_mean(const Operand& data, const Operand& segment_ids, const OpOptions& options) {
  return make_segment("SegmentMean", data, segment_ids, options);
}
Output math::segment_prod(const Operand& data, const Operand& segment_ids, const OpOptions& options) {
  return make_segment("SegmentProd", data, segment_ids, options);
}
Output math::segment_max(const Operand& data, const Operand& segment_ids, const OpOptions& options) {
  return make_segment("SegmentMax", data, segment_ids, options);
}
Output math::segment_min(const Operand& data, const Operand& segment_ids, const OpOptions& options) {
  return make_segment("SegmentMin", data, segment_ids, options);
}
Output math::unsorted_segment_sum(const Operand& data, const Operand& segment_ids, const Operand& num_segments,
                                  const OpOptions& options) {
  return make_unsorted("UnsortedSegmentSum", data, segment_ids, num_segments, options);
}
Output math::unsorted_segment_prod(const Operand& data, const Operand& segment_ids, const Operand& num_segments,
                                   const OpOptions& options) {
  return make_unsorted("UnsortedSegmentProd", data, segment_ids, num_segments, options);
}
Output math::unsorted_segment_max(const Operand& data, const Operand& segment_ids, const Operand& num_segments,
                                  const OpOptions& options) {
  return make_unsorted("UnsortedSegmentMax", data, segment_ids, num_segments, options);
}
Output math::unsorted_segment_min(const Operand& data, const Operand& segment_ids, const Operand& num_segments,
                                  const OpOptions& options) {
  return make_unsorted("UnsortedSegmentMin", data, segment_ids, num_segments, options);
}

}  // namespace caudal::inline v0
