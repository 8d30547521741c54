#include "caudal/ops/sparse_segment_ops.h"

#include <algorithm>
#include <cmath>

#include "caudal/autodiff/gradient.h"
#include "caudal/base/thread_pool.h"
#include "caudal/core/kernel.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/kernels/dispatch.h"
#include "caudal/kernels/numeric.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/shape_ops.h"
#include "caudal/ops/slicing.h"

namespace caudal::inline v0 {
namespace {

using kernels::Wide;

enum class Kind { kSum, kMean, kSqrtN };

// ---- Shape functions

void segment_shape(ShapeContext& c) {
  const PartialShape data = c.with_rank_at_least(0, 1), indices = c.with_rank(1, 1), ids = c.with_rank(2, 1);
  if (indices.has_rank() && ids.has_rank())
    ShapeContext::merge_dim(indices[0], ids[0], "sizes of indices and segment_ids");
  std::int64_t rows = -1;
  if (c.num_inputs() > 3) {
    c.with_rank(3, 0);
    if (const Tensor* number = c.constant_input(3)) {
      rows = scalar_int(*number, "num_segments");
      if (rows < 0) throw invalid_argument("num_segments is ", rows);
    }
  }
  if (data.has_rank()) c.set_output(0, data.with_dim(0, rows));
}

void grad_shape(ShapeContext& c) {
  const PartialShape data = c.with_rank_at_least(0, 1), indices = c.with_rank(1, 1), ids = c.with_rank(2, 1);
  if (indices.has_rank() && ids.has_rank())
    ShapeContext::merge_dim(indices[0], ids[0], "sizes of indices and segment_ids");
  c.with_rank(3, 0);
  std::int64_t rows = -1;
  const bool unique = c.num_outputs() > 1;
  if (const Tensor* number = c.constant_input(3); number != nullptr && !unique) {
    rows = scalar_int(*number, "output_dim0");
    if (rows < 0) throw invalid_argument("output_dim0 is ", rows);
  }
  if (data.has_rank()) c.set_output(0, data.with_dim(0, rows));
  if (unique) c.set_output(1, PartialShape{-1});
}

// ---- Kernels

struct Groups {
  std::vector<std::int64_t> indices, ids;
};

Groups groups_of(RunContext& c) {
  if (c.input(0).rank() < 1) throw invalid_argument("Shape must be at least rank 1, not ", c.input(0).describe());
  if (c.input(1).rank() != 1) throw invalid_argument("indices should be a vector, not ", c.input(1).describe());
  if (c.input(2).rank() != 1) throw invalid_argument("segment_ids should be a vector, not ", c.input(2).describe());
  if (c.input(1).dim(0) != c.input(2).dim(0)) {
    throw invalid_argument("segment_ids and indices should have same size, not ", c.input(2).dim(0), " and ",
                           c.input(1).dim(0));
  }
  return {c.input(1).to_int64s(), c.input(2).to_int64s()};
}

void check_indices(const std::vector<std::int64_t>& indices, std::int64_t rows) {
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] >= 0 && indices[i] < rows) continue;
    throw invalid_argument("Bad: indices[", i, "] == ", indices[i], " out of range [0, ", rows, ")");
  }
}

// The rows of the result. Throws INVALID_ARGUMENT for ids that fall or lie outside.
std::int64_t segment_count(RunContext& c, const std::vector<std::int64_t>& ids) {
  if (!ids.empty() && ids.front() < 0) {
    throw invalid_argument("Segment id ", ids.front(), " out of range: segment ids must be >= 0");
  }
  if (!std::ranges::is_sorted(ids)) throw invalid_argument("segment ids are not increasing");
  const std::int64_t used = ids.empty() ? 0 : ids.back() + 1;
  if (c.num_inputs() == 3) return used;
  const Tensor& number = c.input(3);
  if (number.rank() != 0) throw invalid_argument("num_segments should be a scalar, not shape ", number.shape());
  const std::int64_t wanted = number.to_int64s()[0];
  if (wanted < 0) throw invalid_argument("num_segments is ", wanted, ": segment ids must be >= 0");
  if (used > wanted) throw invalid_argument("segment ids must be < num_segments, ", wanted, ", not ", used - 1);
  return wanted;
}

double factor_of(Kind kind, std::int64_t count) {
  const auto n = static_cast<double>(std::max<std::int64_t>(count, 1));
  return kind == Kind::kSum ? 1 : kind == Kind::kMean ? 1 / n : 1 / std::sqrt(n);
}

// What a group's sum is divided by: TensorFlow divides, which is not the same as multiplying.
template <class W>
W divisor_of(Kind kind, std::int64_t count) {
  return kind == Kind::kMean ? static_cast<W>(count) : static_cast<W>(std::sqrt(static_cast<double>(count)));
}

template <Kind kind>
void run_segment(RunContext& c) {
  const Groups groups = groups_of(c);
  const Tensor& data = c.input(0);
  const std::int64_t rows = segment_count(c, groups.ids);
  check_indices(groups.indices, data.dim(0));
  Tensor& out = c.allocate_output(0, data.shape().with_dim(0, rows));
  std::int64_t width = 1;
  for (int d = 1; d < data.rank(); ++d) width *= data.dim(d);
  const auto count = groups.ids.size();
  kernels::dispatch(kernels::RealTypes{}, data.dtype(), "sparse segment reduction", [&]<class T>() {
    using W = Wide<T>;
    const T* from = data.data<T>();
    T* to = out.data<T>();
    std::fill_n(to, out.num_elements(), T(W{0}));
    c.pool().parallel_for(width, std::max<std::int64_t>(16, (1 << 15) / std::max<std::int64_t>(count, 1)),
                          [&](std::int64_t begin, std::int64_t end) {
                            std::vector<W> sum(static_cast<std::size_t>(end - begin));
                            for (std::size_t first = 0, next; first < count; first = next) {
                              std::ranges::fill(sum, W{0});
                              for (next = first; next < count && groups.ids[next] == groups.ids[first]; ++next) {
                                const T* row = from + groups.indices[next] * width + begin;
                                for (std::size_t j = 0; j < sum.size(); ++j)
                                  sum[j] = kernels::wrap_add(sum[j], static_cast<W>(row[j]));
                              }
                              T* row = to + groups.ids[first] * width + begin;
                              const auto size = static_cast<std::int64_t>(next - first);
                              for (std::size_t j = 0; j < sum.size(); ++j) {
                                if constexpr (kind == Kind::kSum) {
                                  row[j] = T(sum[j]);
                                } else {
                                  row[j] = T(sum[j] / divisor_of<W>(kind, size));
                                }
                              }
                            }
                          });
  });
}

// `to` rows: for a plain gradient the index itself, for one of unique indices its position among them.
template <Kind kind>
void scatter_gradient(const Tensor& grad, const Groups& groups, const std::vector<std::int64_t>& to, Tensor& out) {
  std::int64_t width = 1;
  for (int d = 1; d < grad.rank(); ++d) width *= grad.dim(d);
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(grad.dim(0)));
  for (const std::int64_t id : groups.ids) {
    if (id < 0 || id >= grad.dim(0)) {
      throw invalid_argument("Invalid number of segments: segment id ", id, " for ", grad.dim(0), " gradients");
    }
    ++sizes[id];
  }
  kernels::dispatch(kernels::FloatTypes{}, grad.dtype(), "sparse segment gradient", [&]<class T>() {
    using W = Wide<T>;
    std::vector<W> sums(static_cast<std::size_t>(out.num_elements()));
    for (std::size_t i = 0; i < groups.ids.size(); ++i) {
      const T* from = grad.data<T>() + groups.ids[i] * width;
      W* sum = sums.data() + to[i] * width;
      const auto factor = static_cast<W>(factor_of(kind, sizes[groups.ids[i]]));
      for (std::int64_t j = 0; j < width; ++j) sum[j] += static_cast<W>(from[j]) * factor;
    }
    std::ranges::transform(sums, out.data<T>(), [](W value) { return T(value); });
  });
}

std::int64_t output_rows(RunContext& c, const Groups& groups) {
  const Tensor& number = c.input(3);
  if (number.rank() != 0) throw invalid_argument("output_dim0 should be a scalar, not shape ", number.shape());
  const std::int64_t rows = number.item<std::int32_t>();
  if (rows < 0) throw invalid_argument("Expected a non-negative size, got ", rows);
  check_indices(groups.indices, rows);
  return rows;
}

template <Kind kind>
void run_grad(RunContext& c) {
  const Groups groups = groups_of(c);
  const Tensor& grad = c.input(0);
  Tensor& out = c.allocate_output(0, grad.shape().with_dim(0, output_rows(c, groups)));
  scatter_gradient<kind>(grad, groups, groups.indices, out);
}

template <Kind kind>
void run_grad_v2(RunContext& c) {
  const Groups groups = groups_of(c);
  const Tensor& grad = c.input(0);
  output_rows(c, groups);
  std::vector<std::int64_t> unique = groups.indices;
  std::ranges::sort(unique);
  unique.erase(std::unique(unique.begin(), unique.end()), unique.end());
  std::vector<std::int64_t> to;
  for (const std::int64_t index : groups.indices)
    to.push_back(std::ranges::lower_bound(unique, index) - unique.begin());
  const auto rows = static_cast<std::int64_t>(unique.size());
  scatter_gradient<kind>(grad, groups, to, c.allocate_output(0, grad.shape().with_dim(0, rows)));
  Tensor& indices = c.allocate_output(1, {rows});
  if (indices.dtype() == int64) {
    std::ranges::copy(unique, indices.data<std::int64_t>());
  } else {
    std::ranges::transform(unique, indices.data<std::int32_t>(),
                           [](std::int64_t i) { return static_cast<std::int32_t>(i); });
  }
}

// ---- Gradients

template <Kind kind>
void segment_gradient(GradientContext& c) {
  static constexpr const char* kNames[] = {"SparseSegmentSumGrad", "SparseSegmentMeanGrad", "SparseSegmentSqrtNGrad"};
  const std::string name = kNames[static_cast<int>(kind)];
  const Output rows = squeeze(strided_slice(shape_of(c.input(0)), {0}, {1}, {1}));
  const auto builder = [&](const std::string& op) {
    return OpBuilder(op, {}).input(c.grad(0)).input(c.input(1)).input(c.input(2)).input(rows);
  };
  if (!c.attr<bool>("sparse_gradient")) {
    c.set_input_grad(0, builder(name).build());
    return;
  }
  Node& node = builder(name + "V2").build_node();
  c.set_input_grad(0, IndexedSlices{node.output(0), node.output(1), shape_of(c.input(0))});
}

// ---- Registrations

#define CAUDAL_SEGMENT_OP(op, kind, types)                                                                         \
  CAUDAL_REGISTER_OP({.name = "SparseSegment" op,                                                                  \
                      .inputs = "data: T; indices: Tidx; segment_ids: Tsegmentids",                                \
                      .outputs = "output: T",                                                                      \
                      .attrs = "T: " types "; Tidx: {int32, int64} = DT_INT32; "                                   \
                               "Tsegmentids: {int32, int64} = DT_INT32; sparse_gradient: bool = false",            \
                      .shape = segment_shape,                                                                      \
                      .gradient = segment_gradient<kind>,                                                          \
                      .cpu = kernel_of<run_segment<kind>>});                                                       \
  CAUDAL_REGISTER_OP({.name = "SparseSegment" op "WithNumSegments",                                                \
                      .inputs = "data: T; indices: Tidx; segment_ids: Tsegmentids; num_segments: Tnumsegments",    \
                      .outputs = "output: T",                                                                      \
                      .attrs = "T: " types "; Tidx: {int32, int64} = DT_INT32; "                                   \
                               "Tnumsegments: {int32, int64} = DT_INT32; Tsegmentids: {int32, int64} = DT_INT32; " \
                               "sparse_gradient: bool = false",                                                    \
                      .shape = segment_shape,                                                                      \
                      .gradient = segment_gradient<kind>,                                                          \
                      .cpu = kernel_of<run_segment<kind>>});                                                       \
  CAUDAL_REGISTER_OP({.name = "SparseSegment" op "Grad",                                                           \
                      .inputs = "grad: T; indices: Tidx; segment_ids: Tsegmentids; output_dim0: int32",            \
                      .outputs = "output: T",                                                                      \
                      .attrs = "T: {bfloat16, half, float, double}; Tidx: {int32, int64} = DT_INT32; "             \
                               "Tsegmentids: {int32, int64} = DT_INT32",                                           \
                      .shape = grad_shape,                                                                         \
                      .gradient = no_gradient,                                                                     \
                      .cpu = kernel_of<run_grad<kind>>});                                                          \
  CAUDAL_REGISTER_OP({.name = "SparseSegment" op "GradV2",                                                         \
                      .inputs = "grad: T; indices: Tidx; segment_ids: Tsegmentids; dense_output_dim0: int32",      \
                      .outputs = "output: T; sorted_unique_indices: Tidx",                                         \
                      .attrs = "T: {bfloat16, half, float, double}; Tidx: {int32, int64} = DT_INT32; "             \
                               "Tsegmentids: {int32, int64} = DT_INT32",                                           \
                      .shape = grad_shape,                                                                         \
                      .gradient = no_gradient,                                                                     \
                      .cpu = kernel_of<run_grad_v2<kind>>})

CAUDAL_SEGMENT_OP("Sum", Kind::kSum, "realnumbertype");
CAUDAL_SEGMENT_OP("Mean", Kind::kMean, "{bfloat16, half, float, double}");
CAUDAL_SEGMENT_OP("SqrtN", Kind::kSqrtN, "{bfloat16, half, float, double}");
#undef CAUDAL_SEGMENT_OP

Output segments(const std::string& op, const Operand& data, const Operand& indices, const Operand& segment_ids,
                const sparse::SegmentOptions& options) {
  const LocationScope where(options.where);
  const Tensor* number = options.num_segments.value();
  const bool open = number != nullptr && !number->valid();
  OpBuilder builder(open ? op : op + "WithNumSegments", {.name = options.name, .where = options.where});
  builder.input(data).input(indices).input(segment_ids);
  if (!open) builder.input(options.num_segments);
  return builder.build();
}

Output segments_grad(std::string_view op, const Operand& grad, const Operand& indices, const Operand& segment_ids,
                     const Operand& output_dim0, const OpOptions& options) {
  return OpBuilder(op, options).input(grad).input(indices).input(segment_ids).input(output_dim0, int32).build();
}

}  // namespace

// ---- Public functions

Output sparse::segment_sum(const Operand& data, const Operand& indices, const Operand& segment_ids,
                           const SegmentOptions& options) {
  return segments("SparseSegmentSum", data, indices, segment_ids, options);
}

Output sparse::segment_mean(const Operand& data, const Operand& indices, const Operand& segment_ids,
                            const SegmentOptions& options) {
  return segments("SparseSegmentMean", data, indices, segment_ids, options);
}

Output sparse::segment_sqrt_n(const Operand& data, const Operand& indices, const Operand& segment_ids,
                              const SegmentOptions& options) {
  return segments("SparseSegmentSqrtN", data, indices, segment_ids, options);
}

Output raw_ops::sparse_segment_sum_grad(const Operand& grad, const Operand& indices, const Operand& segment_ids,
                                        const Operand& output_dim0, const OpOptions& options) {
  return segments_grad("SparseSegmentSumGrad", grad, indices, segment_ids, output_dim0, options);
}

Output raw_ops::sparse_segment_mean_grad(const Operand& grad, const Operand& indices, const Operand& segment_ids,
                                         const Operand& output_dim0, const OpOptions& options) {
  return segments_grad("SparseSegmentMeanGrad", grad, indices, segment_ids, output_dim0, options);
}

Output raw_ops::sparse_segment_sqrt_n_grad(const Operand& grad, const Operand& indices, const Operand& segment_ids,
                                           const Operand& output_dim0, const OpOptions& options) {
  return segments_grad("SparseSegmentSqrtNGrad", grad, indices, segment_ids, output_dim0, options);
}

}  // namespace caudal::inline v0
