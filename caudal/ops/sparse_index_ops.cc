#include "caudal/ops/sparse_index_ops.h"

#include <algorithm>
#include <numeric>

#include "caudal/autodiff/gradient.h"
#include "caudal/core/kernel.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/kernels/dispatch.h"
#include "caudal/kernels/numeric.h"
#include "caudal/ops/gather_ops.h"
#include "caudal/ops/joining.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/partition_ops.h"
#include "caudal/ops/range_ops.h"
#include "caudal/ops/shape_ops.h"
#include "caudal/ops/slicing.h"
#include "caudal/ops/sparse_input.h"
#include "caudal/ops/strided_copy.h"
#include "caudal/ops/transpose_ops.h"

namespace caudal::inline v0 {
namespace {

using Index = std::vector<std::int64_t>;

// ---- Shape functions

void reorder_shape(ShapeContext& c) {
  sparse_input_shape(c, 0, 1, 2);
  c.set_output(0, c.with_rank(0, 2));
  c.set_output(1, c.with_rank(1, 1));
}

void reshape_shape(ShapeContext& c) {
  const PartialShape indices = c.with_rank(0, 2), shape = c.with_rank(2, 1);
  c.with_rank(1, 1);
  c.set_output(0, PartialShape{indices.has_rank() ? indices[0] : -1, shape.has_rank() ? shape[0] : -1});
  c.set_output(1, shape);
}

void fill_empty_rows_shape(ShapeContext& c) {
  const PartialShape dense = sparse_input_shape(c, 0, 1, 2), indices = c.with_rank(0, 2);
  c.with_rank(3, 0);
  c.set_output(0, PartialShape{-1, dense.has_rank() ? dense.rank() : -1});
  c.set_output(1, PartialShape{-1});
  c.set_output(2, PartialShape{dense.rank() > 0 ? dense[0] : -1});
  c.set_output(3, PartialShape{indices.has_rank() ? indices[0] : -1});
}

void fill_empty_rows_grad_shape(ShapeContext& c) {
  c.with_rank(1, 1);
  c.set_output(0, c.with_rank(0, 1));
  c.set_output(1, PartialShape::scalar());
}

void slice_shape(ShapeContext& c) {
  c.with_rank(2, 1);
  c.with_rank(3, 1);
  c.with_rank(4, 1);
  const PartialShape shape = c.input(2);
  const std::int64_t rank = shape.has_rank() ? shape[0] : -1;
  c.set_output(0, PartialShape{-1, rank});
  c.set_output(1, PartialShape{-1});
  c.set_output(2, shape.has_rank() ? shape : PartialShape{-1});
}

void slice_grad_shape(ShapeContext& c) {
  c.with_rank(0, 1);
  const PartialShape indices = c.with_rank(1, 2);
  c.with_rank(3, 2);
  c.set_output(0, PartialShape{indices.has_rank() ? indices[0] : -1});
}

void concat_shape(ShapeContext& c) {
  const int n = c.num_inputs() / 3;
  std::int64_t count = 0, rank = -1;
  for (int i = 0; i < n; ++i) {
    const PartialShape indices = c.with_rank(i, 2), values = c.with_rank(n + i, 1), shape = c.with_rank(2 * n + i, 1);
    rank = ShapeContext::merge_dim(rank, shape.has_rank() ? shape[0] : -1, "ranks");
    if (indices.has_rank()) rank = ShapeContext::merge_dim(rank, indices[1], "ranks");
    std::int64_t here = indices.has_rank() ? indices[0] : -1;
    here = ShapeContext::merge_dim(here, values.has_rank() ? values[0] : -1, "numbers of indices and values");
    count = count < 0 || here < 0 ? -1 : count + here;
  }
  c.set_output(0, PartialShape{count, rank});
  c.set_output(1, PartialShape{count});
  c.set_output(2, PartialShape{rank});
}

void split_shape(ShapeContext& c) {
  const PartialShape shape = c.with_rank(3, 1);
  const std::int64_t rank = shape.has_rank() ? shape[0] : -1;
  const int n = c.num_outputs() / 3;
  for (int i = 0; i < n; ++i) {
    c.set_output(i, PartialShape{-1, rank});
    c.set_output(n + i, PartialShape{-1});
    c.set_output(2 * n + i, PartialShape{rank});
  }
}

// ---- Kernels

// Which element comes when, sorted by index; equal ones keep their order.
std::vector<std::int64_t> sorted_order(std::int64_t count, int rank, const std::int64_t* indices) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) {
    return std::lexicographical_compare(indices + a * rank, indices + (a + 1) * rank, indices + b * rank,
                                        indices + (b + 1) * rank);
  });
  return order;
}

void copy_value(const Tensor& from, std::int64_t i, Tensor& to, std::int64_t k) {
  const auto size = static_cast<std::int64_t>(dtype_size(from.dtype()));
  copy_elements(from.dtype(), from.raw() + i * size, to.raw() + k * size, 1);
}

void put_shape(RunContext& c, int i, const Index& dims) {
  std::ranges::copy(dims, c.allocate_output(i, {static_cast<std::int64_t>(dims.size())}).data<std::int64_t>());
}

void run_reorder(RunContext& c) {
  const SparseView in = sparse_input(c, 0, 1, 2, IndexOrder::kAny);
  Tensor &indices = c.allocate_output(0, {in.count, in.rank}), &values = c.allocate_output(1, {in.count});
  std::int64_t* to = indices.data<std::int64_t>();
  const auto order = sorted_order(in.count, in.rank, in.indices.data());
  for (std::int64_t k = 0; k < in.count; ++k) {
    to = std::ranges::copy(in.index(order[k]), to).out;
    copy_value(*in.values, order[k], values, k);
  }
}

// The new shape with its -1 computed. Throws INVALID_ARGUMENT if the numbers of elements differ.
Index resolved_shape(const Index& from, Index to) {
  const auto elements = checked_num_elements(from);
  if (!elements) throw invalid_argument("input_shape ", index_text(from), " is no shape");
  std::int64_t known = 1;
  int missing = -1;
  for (std::size_t d = 0; d < to.size(); ++d) {
    if (to[d] == -1) {
      if (missing >= 0) throw invalid_argument("only one output dimension may be -1, not both ", missing, " and ", d);
      missing = static_cast<int>(d);
    } else if (to[d] < 0) {
      throw invalid_argument("size ", d, " must be non-negative, not ", to[d]);
    } else if (__builtin_mul_overflow(known, to[d], &known)) {
      throw invalid_argument("new_shape ", index_text(to), " has more elements than fit int64");
    }
  }
  if (missing >= 0) {
    if (known == 0) {
      throw invalid_argument(
          "reshape cannot infer the missing input size for an empty tensor unless all specified input sizes are "
          "non-zero");
    }
    if (*elements % known != 0) {
      throw invalid_argument("Input to reshape is a tensor with ", *elements,
                             " dense values, but the requested shape requires a multiple of ", known,
                             ". input_shape=", index_text(from), " output_shape=", index_text(to));
    }
    to[missing] = *elements / known;
    known *= to[missing];
  }
  if (known != *elements) {
    throw invalid_argument("Input to reshape is a tensor with ", *elements,
                           " dense values, but the requested shape has ", known, ". input_shape=", index_text(from),
                           " output_shape=", index_text(to));
  }
  return to;
}

void run_reshape(RunContext& c) {
  const Tensor &indices = c.input(0), &input_shape = c.input(1), &new_shape = c.input(2);
  if (indices.rank() != 2) throw invalid_argument("Input must be a matrix, not ", indices.describe());
  if (input_shape.rank() != 1 || new_shape.rank() != 1) {
    throw invalid_argument("input_shape and new_shape must be vectors, not ", input_shape.describe(), " and ",
                           new_shape.describe());
  }
  const Index from = input_shape.to_vector<std::int64_t>();
  const auto rank = static_cast<std::int64_t>(from.size());
  if (indices.dim(1) != rank) {
    throw invalid_argument("Input tensor rank ", indices.dim(1), " must match shape rank ", rank);
  }
  const Index to = resolved_shape(from, new_shape.to_vector<std::int64_t>());
  const auto new_rank = static_cast<std::int64_t>(to.size());
  const std::int64_t count = indices.dim(0);
  Tensor& out = c.allocate_output(0, {count, new_rank});
  put_shape(c, 1, to);
  const std::int64_t* in = indices.data<std::int64_t>();
  std::int64_t* at = out.data<std::int64_t>();
  if (from == to) {
    std::copy_n(in, count * rank, at);
    return;
  }
  for (std::int64_t k = 0; k < count; ++k, in += rank, at += new_rank) {
    // Indices are not checked, as in TensorFlow; unsigned, because those outside may overflow.
    std::uint64_t place = 0;
    for (std::int64_t d = 0; d < rank; ++d) {
      place = place * static_cast<std::uint64_t>(from[d]) + static_cast<std::uint64_t>(in[d]);
    }
    for (std::int64_t d = new_rank - 1; d > 0; --d) {
      const auto size = static_cast<std::int64_t>(to[d]);
      at[d] = size == 0 ? 0 : static_cast<std::int64_t>(place) % size;
      place = size == 0 ? 0 : static_cast<std::uint64_t>(static_cast<std::int64_t>(place) / size);
    }
    if (new_rank > 0) at[0] = static_cast<std::int64_t>(place);
  }
}

void run_fill_empty_rows(RunContext& c) {
  const SparseView in = sparse_input(c, 0, 1, 2, IndexOrder::kAny);
  const Tensor& filling = c.input(3);
  if (filling.rank() != 0) throw invalid_argument("default_value must be a scalar, saw: ", filling.shape());
  if (in.rank == 0) throw invalid_argument("Dense shape cannot be empty.");
  const std::int64_t rows = in.dims[0];
  if (rows == 0 && in.count > 0) {
    throw invalid_argument("Received SparseTensor with dense_shape[0] = 0 but indices.shape[0] = ", in.count);
  }
  bool* empty = c.allocate_output(2, {rows}).data<bool>();
  std::int64_t* place = c.allocate_output(3, {in.count}).data<std::int64_t>();
  std::fill_n(empty, rows, true);
  std::vector<std::int64_t> next(static_cast<std::size_t>(rows) + 1);  // where the row's next element goes
  for (std::int64_t k = 0; k < in.count; ++k) {
    const std::int64_t row = in.index(k)[0];
    if (row < 0 || row >= rows) throw invalid_argument("indices(", k, ", 0) is invalid: ", row, " >= ", rows);
    empty[row] = false;
    ++next[row + 1];
  }
  for (std::int64_t row = 0; row < rows; ++row) next[row + 1] += next[row] + (empty[row] ? 1 : 0);
  const std::int64_t total = next[rows];
  Tensor &indices = c.allocate_output(0, {total, in.rank}), &values = c.allocate_output(1, {total});
  std::int64_t* to = indices.data<std::int64_t>();
  std::fill_n(to, total * in.rank, 0);
  for (std::int64_t row = 0; row < rows; ++row) {
    if (!empty[row]) continue;
    to[next[row] * in.rank] = row;
    copy_value(filling, 0, values, next[row]);
  }
  for (std::int64_t k = 0; k < in.count; ++k) {
    place[k] = next[in.index(k)[0]]++;
    std::ranges::copy(in.index(k), to + place[k] * in.rank);
    copy_value(*in.values, k, values, place[k]);
  }
}

void run_fill_empty_rows_grad(RunContext& c) {
  const Tensor &map = c.input(0), &grad = c.input(1);
  if (map.rank() != 1 || grad.rank() != 1) {
    throw invalid_argument("reverse_index_map and grad_values must be vectors, not ", map.describe(), " and ",
                           grad.describe());
  }
  Tensor &values = c.allocate_output(0, map.shape()), &rest = c.allocate_output(1, {});
  std::vector<bool> taken(static_cast<std::size_t>(grad.dim(0)));
  const std::int64_t* places = map.data<std::int64_t>();
  for (std::int64_t k = 0; k < map.dim(0); ++k) {
    if (places[k] < 0 || places[k] >= grad.dim(0)) {
      throw invalid_argument("Elements in reverse index must be in [0, ", grad.dim(0), ") but got ", places[k]);
    }
    taken[places[k]] = true;
    copy_value(grad, places[k], values, k);
  }
  kernels::dispatch(kernels::NumberTypes{}, grad.dtype(), "SparseFillEmptyRowsGrad", [&]<class T>() {
    using Wide = kernels::Wide<T>;
    T sum = T(Wide{0});
    for (std::int64_t k = 0; k < grad.dim(0); ++k) {
      if (!taken[k]) sum = T(kernels::wrap_add(static_cast<Wide>(sum), static_cast<Wide>(grad.data<T>()[k])));
    }
    rest.data<T>()[0] = sum;
  });
}

void check_length(const Tensor& value, std::string_view what, int rank) {
  if (value.rank() != 1)
    throw invalid_argument("Input ", what, " should be a vector but received shape ", value.shape());
  if (value.dim(0) != rank) {
    throw invalid_argument("Expected ", what, " to be a vector of length ", rank, " but got length ", value.dim(0));
  }
}

void run_slice(RunContext& c) {
  const SparseView in = sparse_input(c, 0, 1, 2, IndexOrder::kAny);
  check_length(c.input(3), "start", in.rank);
  check_length(c.input(4), "size", in.rank);
  const std::int64_t *start = c.input(3).data<std::int64_t>(), *size = c.input(4).data<std::int64_t>();
  Index dims;
  for (int d = 0; d < in.rank; ++d) {
    if (size[d] < 0) throw invalid_argument("Expected a non-negative size, got ", size[d]);
    std::int64_t rest;
    if (__builtin_sub_overflow(in.dims[d], start[d], &rest)) rest = start[d] < 0 ? INT64_MAX : 0;
    dims.push_back(std::clamp<std::int64_t>(rest, 0, size[d]));
  }
  std::vector<std::int64_t> kept;
  for (std::int64_t k = 0; k < in.count; ++k) {
    bool inside = true;
    for (int d = 0; d < in.rank && inside; ++d) {
      std::int64_t at;
      inside = !__builtin_sub_overflow(in.index(k)[d], start[d], &at) && at >= 0 && at < size[d];
    }
    if (inside) kept.push_back(k);
  }
  const auto count = static_cast<std::int64_t>(kept.size());
  std::int64_t* to = c.allocate_output(0, {count, in.rank}).data<std::int64_t>();
  Tensor& values = c.allocate_output(1, {count});
  for (std::int64_t i = 0; i < count; ++i) {
    for (int d = 0; d < in.rank; ++d) *to++ = in.index(kept[i])[d] - start[d];
    copy_value(*in.values, kept[i], values, i);
  }
  put_shape(c, 2, dims);
}

void run_slice_grad(RunContext& c) {
  const Tensor &grad = c.input(0), &indices = c.input(1), &start = c.input(2), &sliced = c.input(3);
  if (grad.rank() != 1 || indices.rank() != 2 || sliced.rank() != 2) {
    throw invalid_argument("a vector and two matrices of indices are wanted, not ", grad.describe(), ", ",
                           indices.describe(), " and ", sliced.describe());
  }
  const auto rank = static_cast<int>(indices.dim(1));
  check_length(start, "input_start", rank);
  if (sliced.dim(1) != rank)
    throw invalid_argument("output_indices ", sliced.shape(), " have another rank than ", rank);
  if (sliced.dim(0) != grad.dim(0)) {
    throw invalid_argument("there are ", grad.dim(0), " gradients for ", sliced.dim(0), " output indices");
  }
  Tensor& out = c.allocate_output(0, {indices.dim(0)});
  const Tensor zeros = Tensor::zeros(out.dtype(), out.shape());
  copy_elements(out.dtype(), zeros.raw(), out.raw(), out.num_elements());
  std::int64_t used = 0;
  for (std::int64_t k = 0; k < indices.dim(0) && used < grad.dim(0); ++k) {
    bool same = true;
    for (int d = 0; d < rank && same; ++d) {
      same = indices.at<std::int64_t>(k, d) - start.data<std::int64_t>()[d] == sliced.at<std::int64_t>(used, d);
    }
    if (same) copy_value(grad, used++, out, k);
  }
  if (used != grad.dim(0)) {
    throw internal_error("Elements of backprop_val_grad aren't all propagated. Num elements:", grad.dim(0),
                         ", used: ", used);
  }
}

void run_concat(RunContext& c) {
  const int n = c.num_inputs() / 3;
  std::vector<SparseView> inputs;
  for (int i = 0; i < n; ++i) {
    inputs.push_back(sparse_view(c.input(i), c.input(n + i), c.input(2 * n + i), IndexOrder::kAny,
                                 "input " + std::to_string(i) + ' '));
  }
  Index dims = inputs[0].dims;
  const int rank = inputs[0].rank;
  const std::int64_t wanted = c.node().attr<std::int64_t>("concat_dim");
  if (wanted < -rank || wanted >= rank) {
    throw invalid_argument("Concat dimension must be in range [", -rank, ", ", rank, "), got ", wanted);
  }
  const auto axis = static_cast<int>(wanted < 0 ? wanted + rank : wanted);
  std::int64_t count = inputs[0].count;
  std::vector<std::int64_t> shift{0};
  for (int i = 1; i < n; ++i) {
    if (inputs[i].rank != rank) {
      throw invalid_argument("Ranks of all input tensors must match: expected ", rank, " but got ", inputs[i].rank,
                             " at position ", i);
    }
    for (int d = 0; d < rank; ++d) {
      if (d == axis || inputs[i].dims[d] == dims[d]) continue;
      throw invalid_argument("Input shapes must match: expected ", dims[d], " for dimension ", d, " but got ",
                             inputs[i].dims[d], " at position ", i);
    }
    shift.push_back(dims[axis]);
    if (__builtin_add_overflow(dims[axis], inputs[i].dims[axis], &dims[axis])) {
      throw invalid_argument("the size along dimension ", axis, " is beyond int64");
    }
    count += inputs[i].count;
  }
  Index all;
  std::vector<std::pair<int, std::int64_t>> source;
  for (int i = 0; i < n; ++i) {
    for (std::int64_t k = 0; k < inputs[i].count; ++k) {
      all.insert(all.end(), inputs[i].index(k).begin(), inputs[i].index(k).end());
      all[all.size() - rank + axis] += shift[i];
      source.emplace_back(i, k);
    }
  }
  std::int64_t* to = c.allocate_output(0, {count, rank}).data<std::int64_t>();
  Tensor& values = c.allocate_output(1, {count});
  const auto order = sorted_order(count, rank, all.data());
  for (std::int64_t k = 0; k < count; ++k) {
    to = std::copy_n(all.data() + order[k] * rank, rank, to);
    copy_value(*inputs[source[order[k]].first].values, source[order[k]].second, values, k);
  }
  put_shape(c, 2, dims);
}

void run_split(RunContext& c) {
  const Tensor& dim = c.input(0);
  if (dim.rank() != 0) throw invalid_argument("Input axis should be a scalar but received shape ", dim.shape());
  const SparseView in = sparse_view(c.input(1), c.input(2), c.input(3), IndexOrder::kInside, "");
  const std::int64_t wanted = dim.item<std::int64_t>();
  if (wanted < -in.rank || wanted >= in.rank) {
    throw invalid_argument("Input axis should be in range [", -in.rank, ", ", in.rank, "), got ", wanted);
  }
  const auto axis = static_cast<int>(wanted < 0 ? wanted + in.rank : wanted);
  const int n = c.num_outputs() / 3;
  if (n > in.dims[axis]) {
    throw invalid_argument("Input num_split should be between 1 and the splitting dimension size (", in.dims[axis],
                           "), got ", n);
  }
  const std::int64_t size = in.dims[axis] / n, larger = in.dims[axis] % n;
  const auto begin_of = [&](std::int64_t piece) { return piece * size + std::min(piece, larger); };
  std::vector<std::vector<std::int64_t>> members(static_cast<std::size_t>(n));
  for (std::int64_t k = 0; k < in.count; ++k) {
    const std::int64_t at = in.index(k)[axis], border = larger * (size + 1);
    members[at < border ? at / (size + 1) : larger + (at - border) / size].push_back(k);
  }
  for (int i = 0; i < n; ++i) {
    const auto count = static_cast<std::int64_t>(members[i].size());
    std::int64_t* to = c.allocate_output(i, {count, in.rank}).data<std::int64_t>();
    Tensor& values = c.allocate_output(n + i, {count});
    for (std::int64_t k = 0; k < count; ++k) {
      std::ranges::copy(in.index(members[i][k]), to);
      to[axis] -= begin_of(i);
      to += in.rank;
      copy_value(*in.values, members[i][k], values, k);
    }
    Index dims = in.dims;
    dims[axis] = begin_of(i + 1) - begin_of(i);
    put_shape(c, 2 * n + i, dims);
  }
}

// ---- Gradients

void reorder_gradient(GradientContext& c) {
  // Numbers in the place of values tell where each has gone.
  const Output count = strided_slice(shape(c.input(0)), {0}, {1}, {1});
  const Output numbers = range(0, squeeze(count));
  const SparseTensor moved = sparse::reorder({c.input(0), numbers, c.input(2)});
  c.set_input_grad(1, gather(c.grad(1), math::invert_permutation(moved.values)));
}

void fill_empty_rows_gradient(GradientContext& c) {
  const auto grads = raw_ops::sparse_fill_empty_rows_grad(c.output(3), c.grad(1));
  c.set_input_grad(1, grads.d_values);
  c.set_input_grad(3, grads.d_default_value);
}

void slice_gradient(GradientContext& c) {
  c.set_input_grad(1, raw_ops::sparse_slice_grad(c.grad(1), c.input(0), c.input(3), c.output(0)));
}

}  // namespace

// ---- Registrations

CAUDAL_REGISTER_OP({.name = "SparseReorder",
                    .inputs = "input_indices: int64; input_values: T; input_shape: int64",
                    .outputs = "output_indices: int64; output_values: T",
                    .attrs = "T: type",
                    .shape = reorder_shape,
                    .gradient = reorder_gradient,
                    .cpu = kernel_of<run_reorder>});
CAUDAL_REGISTER_OP({.name = "SparseReshape",
                    .inputs = "input_indices: int64; input_shape: int64; new_shape: int64",
                    .outputs = "output_indices: int64; output_shape: int64",
                    .shape = reshape_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_reshape>});
CAUDAL_REGISTER_OP({.name = "SparseFillEmptyRows",
                    .inputs = "indices: int64; values: T; dense_shape: int64; default_value: T",
                    .outputs = "output_indices: int64; output_values: T; empty_row_indicator: bool; "
                               "reverse_index_map: int64",
                    .attrs = "T: type",
                    .shape = fill_empty_rows_shape,
                    .gradient = fill_empty_rows_gradient,
                    .cpu = kernel_of<run_fill_empty_rows>});
CAUDAL_REGISTER_OP({.name = "SparseFillEmptyRowsGrad",
                    .inputs = "reverse_index_map: int64; grad_values: T",
                    .outputs = "d_values: T; d_default_value: T",
                    .attrs = "T: type",
                    .shape = fill_empty_rows_grad_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_fill_empty_rows_grad>});
CAUDAL_REGISTER_OP({.name = "SparseSlice",
                    .inputs = "indices: int64; values: T; shape: int64; start: int64; size: int64",
                    .outputs = "output_indices: int64; output_values: T; output_shape: int64",
                    .attrs = "T: type",
                    .shape = slice_shape,
                    .gradient = slice_gradient,
                    .cpu = kernel_of<run_slice>});
CAUDAL_REGISTER_OP({.name = "SparseSliceGrad",
                    .inputs = "backprop_val_grad: T; input_indices: int64; input_start: int64; output_indices: int64",
                    .outputs = "val_grad: T",
                    .attrs = "T: numbertype",
                    .shape = slice_grad_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_slice_grad>});
CAUDAL_REGISTER_OP({.name = "SparseConcat",
                    .inputs = "indices: N * int64; values: N * T; shapes: N * int64",
                    .outputs = "output_indices: int64; output_values: T; output_shape: int64",
                    .attrs = "concat_dim: int; N: int >= 2; T: type",
                    .shape = concat_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_concat>});
CAUDAL_REGISTER_OP({.name = "SparseSplit",
                    .inputs = "split_dim: int64; indices: int64; values: T; shape: int64",
                    .outputs = "output_indices: num_split * int64; output_values: num_split * T; "
                               "output_shape: num_split * int64",
                    .attrs = "num_split: int >= 1; T: type",
                    .shape = split_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_split>});

// ---- Public functions

SparseTensor sparse::reorder(const SparseTensor& sp_input, const OpOptions& options) {
  Node& node = OpBuilder("SparseReorder", options)
                   .input(sp_input.indices)
                   .input(sp_input.values)
                   .input(sp_input.dense_shape)
                   .build_node();
  return {node.output(0), node.output(1), sp_input.dense_shape};
}

SparseTensor sparse::reshape(const SparseTensor& sp_input, const Operand& shape, const OpOptions& options) {
  Node& node = OpBuilder("SparseReshape", options)
                   .input(sp_input.indices)
                   .input(sp_input.dense_shape)
                   .input(shape, int64)
                   .build_node();
  return {node.output(0), sp_input.values, node.output(1)};
}

sparse::FilledRows sparse::fill_empty_rows(const SparseTensor& sp_input, const Operand& default_value,
                                           const OpOptions& options) {
  Node& node = OpBuilder("SparseFillEmptyRows", options)
                   .input(sp_input.indices)
                   .input(sp_input.values)
                   .input(sp_input.dense_shape)
                   .input(default_value, sp_input.values.dtype())
                   .build_node();
  return {{node.output(0), node.output(1), sp_input.dense_shape}, node.output(2)};
}

SparseTensor sparse::slice(const SparseTensor& sp_input, const Operand& start, const Operand& size,
                           const OpOptions& options) {
  Node& node = OpBuilder("SparseSlice", options)
                   .input(sp_input.indices)
                   .input(sp_input.values)
                   .input(sp_input.dense_shape)
                   .input(start, int64)
                   .input(size, int64)
                   .build_node();
  return {node.output(0), node.output(1), node.output(2)};
}

SparseTensor sparse::concat(int axis, const std::vector<SparseTensor>& sp_inputs, const OpOptions& options) {
  if (sp_inputs.size() == 1) return sp_inputs[0];
  std::vector<Output> indices, values, shapes;
  for (const SparseTensor& input : sp_inputs) {
    indices.push_back(input.indices);
    values.push_back(input.values);
    shapes.push_back(input.dense_shape);
  }
  Node& node = OpBuilder("SparseConcat", options)
                   .inputs(indices)
                   .inputs(values)
                   .inputs(shapes)
                   .attr("concat_dim", static_cast<std::int64_t>(axis))
                   .build_node();
  return {node.output(0), node.output(1), node.output(2)};
}

std::vector<SparseTensor> sparse::split(const SparseTensor& sp_input, int num_split, const Operand& axis,
                                        const OpOptions& options) {
  Node& node = OpBuilder("SparseSplit", options)
                   .input(axis, int64)
                   .input(sp_input.indices)
                   .input(sp_input.values)
                   .input(sp_input.dense_shape)
                   .attr("num_split", static_cast<std::int64_t>(num_split))
                   .build_node();
  std::vector<SparseTensor> pieces;
  for (int i = 0; i < num_split; ++i) {
    pieces.push_back({node.output(i), node.output(num_split + i), node.output(2 * num_split + i)});
  }
  return pieces;
}

SparseTensor sparse::retain(const SparseTensor& sp_input, const Operand& to_retain, const OpOptions& options) {
  const LocationScope where_scope(options.where);
  const NameScope scope(options.name.empty() ? "SparseRetain" : options.name);
  const Output kept = reshape(where(to_retain), {-1});
  return {gather(sp_input.indices, kept), gather(sp_input.values, kept), sp_input.dense_shape};
}

raw_ops::FillEmptyRowsGrad raw_ops::sparse_fill_empty_rows_grad(const Operand& reverse_index_map,
                                                                const Operand& grad_values, const OpOptions& options) {
  Node& node = OpBuilder("SparseFillEmptyRowsGrad", options).input(reverse_index_map).input(grad_values).build_node();
  return {node.output(0), node.output(1)};
}

Output raw_ops::sparse_slice_grad(const Operand& backprop_val_grad, const Operand& input_indices,
                                  const Operand& input_start, const Operand& output_indices, const OpOptions& options) {
  return OpBuilder("SparseSliceGrad", options)
      .input(backprop_val_grad)
      .input(input_indices)
      .input(input_start)
      .input(output_indices)
      .build();
}

}  // namespace caudal::inline v0
