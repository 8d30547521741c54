#include "caudal/ops/sparse_reduce_ops.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "caudal/autodiff/gradient.h"
#include "caudal/core/kernel.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/kernels/dispatch.h"
#include "caudal/kernels/numeric.h"
#include "caudal/ops/cast.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/gather_ops.h"
#include "caudal/ops/partition_ops.h"
#include "caudal/ops/range_ops.h"
#include "caudal/ops/shape_ops.h"
#include "caudal/ops/sparse_input.h"
#include "caudal/ops/sparse_math_ops.h"

namespace caudal::inline v0 {
namespace {

using Index = std::vector<std::int64_t>;
using kernels::Wide;

// ---- Shape functions

// Which axes go. Throws INVALID_ARGUMENT for one outside the rank.
std::vector<bool> reduced_axes(const Tensor& axes, int rank) {
  if (axes.rank() > 1) {
    throw invalid_argument("Expected reduction_axes to be a scalar or a vector; got shape: ", axes.shape());
  }
  std::vector<bool> reduced(static_cast<std::size_t>(rank));
  for (const std::int64_t axis : axes.to_int64s()) {
    if (axis < -rank || axis >= rank) {
      throw invalid_argument("Invalid reduction dimension ", axis, ", for input with ", rank, " dimensions.");
    }
    reduced[axis < 0 ? axis + rank : axis] = true;
  }
  return reduced;
}

Index reduced_dims(const Index& dims, const std::vector<bool>& reduced, bool keep) {
  Index out;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (!reduced[d]) out.push_back(dims[d]);
    if (reduced[d] && keep) out.push_back(1);
  }
  return out;
}

void reduce_shape(ShapeContext& c) {
  const Tensor *shape = c.constant_input(2), *axes = c.constant_input(3);
  if (shape == nullptr || axes == nullptr || shape->rank() != 1) return;
  const Index dims = shape->to_int64s();
  c.set_output(0, PartialShape(reduced_dims(dims, reduced_axes(*axes, static_cast<int>(dims.size())),
                                            c.attr<bool>("keep_dims"))));
}

void softmax_shape(ShapeContext& c) {
  sparse_input_shape(c, 0, 1, 2);
  c.set_output(0, c.with_rank(1, 1));
}

// ---- Kernels

// Elements sorted so that those that are reduced to one stand together.
struct Groups {
  std::vector<std::int64_t> order;  // elements
  std::vector<std::size_t> ends;    // of the groups, in order
  Index places;                     // of the groups: one index of the result each, without reduced axes
  std::size_t rank = 0;             // of those
};

Groups groups_of(const SparseView& in, const std::vector<bool>& reduced) {
  Groups groups;
  std::vector<int> kept;
  for (int d = 0; d < in.rank; ++d) {
    if (!reduced[d]) kept.push_back(d);
  }
  groups.rank = kept.size();
  groups.order.resize(static_cast<std::size_t>(in.count));
  std::iota(groups.order.begin(), groups.order.end(), 0);
  const auto order = [&](std::int64_t a, std::int64_t b) {
    for (const int d : kept) {
      const std::int64_t x = in.index(a)[d], y = in.index(b)[d];
      if (x != y) return x < y ? -1 : 1;
    }
    return 0;
  };
  std::ranges::stable_sort(groups.order, [&](std::int64_t a, std::int64_t b) { return order(a, b) < 0; });
  for (std::size_t i = 0; i < groups.order.size(); ++i) {
    if (i > 0 && order(groups.order[i - 1], groups.order[i]) == 0) {
      groups.ends.back() = i + 1;
      continue;
    }
    groups.ends.push_back(i + 1);
    for (const int d : kept) groups.places.push_back(in.index(groups.order[i])[d]);
  }
  return groups;
}

// The reduction of each group, in order.
template <class T, bool is_max>
std::vector<T> reduced_values(const SparseView& in, const Groups& groups) {
  const T* values = in.values->data<T>();
  std::vector<T> out;
  std::size_t i = 0;
  for (const std::size_t end : groups.ends) {
    auto result = static_cast<Wide<T>>(values[groups.order[i++]]);
    for (; i < end; ++i) {
      const auto value = static_cast<Wide<T>>(values[groups.order[i]]);
      if constexpr (is_max) {
        result = result < value ? value : result;
      } else {
        result = kernels::wrap_add(result, value);
      }
    }
    out.push_back(T(result));
  }
  return out;
}

template <bool is_max>
using ReducedTypes = std::conditional_t<is_max, kernels::RealTypes, kernels::NumberTypes>;

template <bool is_max>
void run_reduce(RunContext& c) {
  const SparseView in = sparse_input(c, 0, 1, 2, IndexOrder::kAny);
  const std::vector<bool> reduced = reduced_axes(c.input(3), in.rank);
  const Groups groups = groups_of(in, reduced);
  const Shape inner(reduced_dims(in.dims, reduced, false));
  const Index strides = inner.strides();
  Tensor& out = c.allocate_output(0, Shape(reduced_dims(in.dims, reduced, c.node().attr<bool>("keep_dims"))));
  kernels::dispatch(ReducedTypes<is_max>{}, out.dtype(), "sparse reduction", [&]<class T>() {
    const std::vector<T> values = reduced_values<T, is_max>(in, groups);
    std::fill_n(out.data<T>(), out.num_elements(), T(Wide<T>{0}));
    for (std::size_t group = 0; group < values.size(); ++group) {
      std::int64_t at = 0;
      for (std::size_t d = 0; d < groups.rank; ++d) {
        const std::int64_t place = groups.places[group * groups.rank + d];
        if (place < 0 || place >= inner.dim(static_cast<int>(d))) {
          throw internal_error("Obtained a write index of ", place, " which is outside of bounds of [0, ",
                               inner.dim(static_cast<int>(d)), ")");
        }
        at += place * strides[d];
      }
      out.data<T>()[at] = values[group];
    }
  });
}

template <bool is_max>
void run_reduce_sparse(RunContext& c) {
  const SparseView in = sparse_input(c, 0, 1, 2, IndexOrder::kAny);
  const std::vector<bool> reduced = reduced_axes(c.input(3), in.rank);
  const Groups groups = groups_of(in, reduced);
  const bool keep = c.node().attr<bool>("keep_dims");
  const Index dims = reduced_dims(in.dims, reduced, keep);
  const auto count = static_cast<std::int64_t>(groups.ends.size()), rank = static_cast<std::int64_t>(dims.size());
  std::int64_t* index = c.allocate_output(0, {count, rank}).data<std::int64_t>();
  auto place = groups.places.begin();
  for (std::int64_t group = 0; group < count; ++group) {
    for (int d = 0; d < in.rank; ++d) {
      if (!reduced[d]) *index++ = *place++;
      if (reduced[d] && keep) *index++ = 0;
    }
  }
  Tensor& out = c.allocate_output(1, {count});
  kernels::dispatch(ReducedTypes<is_max>{}, out.dtype(), "sparse reduction",
                    [&]<class T>() { std::ranges::copy(reduced_values<T, is_max>(in, groups), out.data<T>()); });
  std::ranges::copy(dims, c.allocate_output(2, {rank}).data<std::int64_t>());
}

void run_softmax(RunContext& c) {
  const SparseView in = sparse_input(c, 0, 1, 2, IndexOrder::kAny);
  if (in.rank < 2) throw invalid_argument("Input should have rank >= 2, but received shape: ", index_text(in.dims));
  // Unsorted elements come out in the order of their rows, as in TensorFlow.
  std::vector<bool> last(static_cast<std::size_t>(in.rank));
  last.back() = true;
  const Groups groups = groups_of(in, last);
  Tensor& out = c.allocate_output(0, {in.count});
  kernels::dispatch(kernels::TypeList<float, double, Half>{}, out.dtype(), "SparseSoftmax", [&]<class T>() {
    using W = Wide<T>;
    const T* values = in.values->data<T>();
    T* to = out.data<T>();
    std::size_t first = 0;
    for (const std::size_t end : groups.ends) {
      auto most = static_cast<W>(values[groups.order[first]]);
      for (std::size_t i = first; i < end; ++i) most = std::max(most, static_cast<W>(values[groups.order[i]]));
      W sum = 0;
      for (std::size_t i = first; i < end; ++i) sum += std::exp(static_cast<W>(values[groups.order[i]]) - most);
      for (std::size_t i = first; i < end; ++i) {
        to[i] = T(std::exp(static_cast<W>(values[groups.order[i]]) - most) / sum);
      }
      first = end;
    }
  });
}

// ---- Gradients

void reduce_sum_gradient(GradientContext& c) {
  const Output &indices = c.input(0), &dense_shape = c.input(2);
  const Output rank = size(dense_shape), axes = reshape(c.input(3), {-1});
  const Output positive = floormod(axes + rank, rank);
  // The shape with 1 for each reduced axis.
  const Output ones = fill(shape(positive), Tensor(1));
  const Output kept = dynamic_stitch({range(0, rank), positive}, {cast(dense_shape, int32), ones});
  const Output scale = floordiv(dense_shape, cast(kept, int64));
  c.set_input_grad(1, gather_nd(reshape(c.grad(0), kept), floordiv(indices, scale)));
}

void softmax_gradient(GradientContext& c) {
  const Output &indices = c.input(0), &dense_shape = c.input(2), result = c.output(0), grad = c.grad(0);
  const Output sums =
      -sparse::reduce_sum({indices, result * grad, dense_shape}, {.axis = Operand({-1}), .keepdims = true});
  const SparseTensor shifted = sparse::cwise_add({indices, grad, dense_shape}, sums);
  c.set_input_grad(1, shifted.values * result);
}

}  // namespace

// ---- Registrations

CAUDAL_REGISTER_OP({.name = "SparseReduceSum",
                    .inputs = "input_indices: int64; input_values: T; input_shape: int64; reduction_axes: int32",
                    .outputs = "output: T",
                    .attrs = "keep_dims: bool = false; T: numbertype",
                    .shape = reduce_shape,
                    .gradient = reduce_sum_gradient,
                    .cpu = kernel_of<run_reduce<false>>});
CAUDAL_REGISTER_OP({.name = "SparseReduceSumSparse",
                    .inputs = "input_indices: int64; input_values: T; input_shape: int64; reduction_axes: int32",
                    .outputs = "output_indices: int64; output_values: T; output_shape: int64",
                    .attrs = "keep_dims: bool = false; T: numbertype",
                    .shape = unknown_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_reduce_sparse<false>>});
CAUDAL_REGISTER_OP({.name = "SparseReduceMax",
                    .inputs = "input_indices: int64; input_values: T; input_shape: int64; reduction_axes: int32",
                    .outputs = "output: T",
                    .attrs = "keep_dims: bool = false; T: realnumbertype",
                    .shape = reduce_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_reduce<true>>});
CAUDAL_REGISTER_OP({.name = "SparseReduceMaxSparse",
                    .inputs = "input_indices: int64; input_values: T; input_shape: int64; reduction_axes: int32",
                    .outputs = "output_indices: int64; output_values: T; output_shape: int64",
                    .attrs = "keep_dims: bool = false; T: realnumbertype",
                    .shape = unknown_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_reduce_sparse<true>>});
CAUDAL_REGISTER_OP({.name = "SparseSoftmax",
                    .inputs = "sp_indices: int64; sp_values: T; sp_shape: int64",
                    .outputs = "output: T",
                    .attrs = "T: {half, float, double}",
                    .shape = softmax_shape,
                    .gradient = softmax_gradient,
                    .cpu = kernel_of<run_softmax>});

// ---- Public functions

namespace {

Node& reduced(std::string_view op, const SparseTensor& x, const sparse::ReduceOptions& options) {
  const LocationScope where(options.where);
  const Tensor* given = options.axis.value();
  const bool all = given != nullptr && !given->valid();
  const Operand axes = all ? Operand(range(0, size(x.dense_shape))) : options.axis;
  return OpBuilder(op, {.name = options.name, .where = options.where})
      .input(x.indices)
      .input(x.values)
      .input(x.dense_shape)
      .input(axes, int32)
      .attr("keep_dims", options.keepdims)
      .build_node();
}

SparseTensor as_sparse(Node& node) { return {node.output(0), node.output(1), node.output(2)}; }

}  // namespace

Output sparse::reduce_sum(const SparseTensor& sp_input, const ReduceOptions& options) {
  return reduced("SparseReduceSum", sp_input, options).output(0);
}

Output sparse::reduce_max(const SparseTensor& sp_input, const ReduceOptions& options) {
  return reduced("SparseReduceMax", sp_input, options).output(0);
}

SparseTensor sparse::reduce_sum_sparse(const SparseTensor& sp_input, const ReduceOptions& options) {
  return as_sparse(reduced("SparseReduceSumSparse", sp_input, options));
}

SparseTensor sparse::reduce_max_sparse(const SparseTensor& sp_input, const ReduceOptions& options) {
  return as_sparse(reduced("SparseReduceMaxSparse", sp_input, options));
}

SparseTensor sparse::softmax(const SparseTensor& sp_input, const OpOptions& options) {
  const Output values = OpBuilder("SparseSoftmax", options)
                            .input(sp_input.indices)
                            .input(sp_input.values)
                            .input(sp_input.dense_shape)
                            .build();
  return {sp_input.indices, values, sp_input.dense_shape};
}

}  // namespace caudal::inline v0
