#include "caudal/ops/sparse_math_ops.h"

#include <algorithm>
#include <cmath>

#include "caudal/autodiff/gradient.h"
#include "caudal/base/thread_pool.h"
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
#include "caudal/ops/joining.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/reduction.h"
#include "caudal/ops/shape_ops.h"
#include "caudal/ops/slicing.h"
#include "caudal/ops/sparse_input.h"
#include "caudal/ops/strided_copy.h"
#include "caudal/ops/transpose_ops.h"

namespace caudal::inline v0 {
namespace {

using kernels::Wide;

// ---- Shape functions

void add_shape(ShapeContext& c) {
  const PartialShape shape = c.with_rank(2, 1);
  c.with_rank(6, 0);
  const std::int64_t rank = shape.has_rank() ? shape[0] : -1;
  c.set_output(0, PartialShape{-1, rank});
  c.set_output(1, PartialShape{-1});
  c.set_output(2, PartialShape{rank});
}

void add_grad_shape(ShapeContext& c) {
  for (int i = 0; i < 2; ++i) {
    const PartialShape indices = c.with_rank(1 + i, 2);
    c.set_output(i, PartialShape{indices.has_rank() ? indices[0] : -1});
  }
}

void extremes_shape(ShapeContext& c) {
  c.set_output(0, PartialShape{-1, -1});
  c.set_output(1, PartialShape{-1});
}

void dense_add_shape(ShapeContext& c) { c.set_output(0, c.input(3)); }

void cwise_shape(ShapeContext& c) {
  const PartialShape indices = c.with_rank(0, 2);
  c.set_output(0, PartialShape{indices.has_rank() ? indices[0] : -1});
}

void matmul_shape(ShapeContext& c) {
  c.with_rank(0, 2);
  c.with_rank(1, 1);
  c.with_rank(2, 1);
  const PartialShape a = c.input_as_shape(2), b = c.with_rank(3, 2);
  const bool adjoint_a = c.attr<bool>("adjoint_a"), adjoint_b = c.attr<bool>("adjoint_b");
  if (a.has_rank() && a.rank() != 2) throw invalid_argument("a_shape ", a, " is no matrix");
  const std::int64_t rows = a.has_rank() ? a[adjoint_a ? 1 : 0] : -1,
                     inner_a = a.has_rank() ? a[adjoint_a ? 0 : 1] : -1;
  const std::int64_t columns = b.has_rank() ? b[adjoint_b ? 0 : 1] : -1,
                     inner_b = b.has_rank() ? b[adjoint_b ? 1 : 0] : -1;
  ShapeContext::merge_dim(inner_a, inner_b, "inner sizes of a and b");
  c.set_output(0, PartialShape{rows, columns});
}

// ---- Kernels: two sparse tensors

// What a place of the union of two sorted lists of indices is made of: an element of a, of b, or of both (-1: none).
struct UnionPlace {
  std::int64_t a = -1, b = -1;
};

int compare(std::span<const std::int64_t> a, std::span<const std::int64_t> b) {
  const auto order = std::lexicographical_compare_three_way(a.begin(), a.end(), b.begin(), b.end());
  return order < 0 ? -1 : order > 0 ? 1 : 0;
}

std::vector<UnionPlace> merged_places(const SparseView& a, const SparseView& b) {
  std::vector<UnionPlace> places;
  std::int64_t i = 0, j = 0;
  while (i < a.count || j < b.count) {
    const int order = i == a.count ? 1 : j == b.count ? -1 : compare(a.index(i), b.index(j));
    UnionPlace place;
    if (order <= 0) place.a = i++;
    if (order >= 0) place.b = j++;
    places.push_back(place);
  }
  return places;
}

void check_same_shape(const SparseView& a, const SparseView& b) {
  if (a.rank != b.rank)
    throw invalid_argument("Input indices must have the same dimension, got ", a.rank, " and ", b.rank);
  for (int d = 0; d < a.rank; ++d) {
    if (a.dims[d] == b.dims[d]) continue;
    throw invalid_argument("Operands' shapes do not match: got ", a.dims[d], " and ", b.dims[d], " for dimension ", d);
  }
}

void put_indices(RunContext& c, const SparseView& a, const SparseView& b, const std::vector<UnionPlace>& places) {
  std::int64_t* to = c.allocate_output(0, {static_cast<std::int64_t>(places.size()), a.rank}).data<std::int64_t>();
  for (const UnionPlace& place : places) {
    to = std::ranges::copy(place.a >= 0 ? a.index(place.a) : b.index(place.b), to).out;
  }
}

template <class T>
T value_or_zero(const Tensor& values, std::int64_t i) {
  return i < 0 ? T(Wide<T>{0}) : values.data<T>()[i];
}

using AddTypes = kernels::TypeList<float, double, std::complex<float>, std::complex<double>, std::int8_t, std::int16_t,
                                   std::int32_t, std::int64_t>;

void run_add(RunContext& c) {
  const SparseView a = sparse_input(c, 0, 1, 2, IndexOrder::kAny), b = sparse_input(c, 3, 4, 5, IndexOrder::kAny);
  check_same_shape(a, b);
  const Tensor& thresh = c.input(6);
  if (thresh.rank() != 0) {
    throw invalid_argument("The magnitude threshold must be a scalar: got shape ", thresh.shape());
  }
  const std::vector<UnionPlace> all = merged_places(a, b);
  kernels::dispatch(AddTypes{}, a.values->dtype(), "SparseAdd", [&]<class T>() {
    const auto magnitude = [](const T& value) {
      if constexpr (std::is_integral_v<T>) {
        return value < 0 ? kernels::wrap_sub(T{0}, value) : value;
      } else {
        return std::abs(value);
      }
    };
    using Real = decltype(magnitude(T{}));
    const Real least = convert_number(thresh, dtype_of<Real>()).template item<Real>();
    std::vector<UnionPlace> places;
    std::vector<T> sums;
    for (const UnionPlace& place : all) {
      const T sum = place.a < 0   ? b.values->data<T>()[place.b]
                    : place.b < 0 ? a.values->data<T>()[place.a]
                                  : kernels::wrap_add(a.values->data<T>()[place.a], b.values->data<T>()[place.b]);
      if (place.a >= 0 && place.b >= 0 && !(least <= magnitude(sum))) continue;  // only sums are left out
      places.push_back(place);
      sums.push_back(sum);
    }
    put_indices(c, a, b, places);
    std::ranges::copy(sums, c.allocate_output(1, {static_cast<std::int64_t>(sums.size())}).template data<T>());
  });
  std::ranges::copy(a.dims, c.allocate_output(2, {a.rank}).data<std::int64_t>());
}

std::span<const std::int64_t> row_of(const Tensor& indices, std::int64_t k) {
  const auto rank = static_cast<std::size_t>(indices.dim(1));
  return {indices.data<std::int64_t>() + k * static_cast<std::int64_t>(rank), rank};
}

void run_add_grad(RunContext& c) {
  const Tensor &grad = c.input(0), &sum = c.input(3);
  for (int i = 1; i < 4; ++i) {
    if (c.input(i).rank() == 2 && c.input(i).dim(1) == c.input(1).dim(1)) continue;
    throw invalid_argument("indices must be matrices of one width, not ", c.input(1).shape(), ", ", c.input(2).shape(),
                           " and ", sum.shape());
  }
  if (grad.rank() != 1 || grad.dim(0) != sum.dim(0)) {
    throw invalid_argument("# elements in grad (", grad.shape(), ") and sum_indices (", sum.shape(), ") must agree");
  }
  const auto size = static_cast<std::int64_t>(dtype_size(grad.dtype()));
  for (int side = 0; side < 2; ++side) {
    const Tensor& indices = c.input(1 + side);
    Tensor& out = c.allocate_output(side, {indices.dim(0)});
    const Tensor zeros = Tensor::zeros(out.dtype(), out.shape());
    copy_elements(out.dtype(), zeros.raw(), out.raw(), out.num_elements());
    for (std::int64_t i = 0, k = 0; i < indices.dim(0) && k < sum.dim(0);) {
      const int order = compare(row_of(indices, i), row_of(sum, k));
      if (order == 0) copy_elements(out.dtype(), grad.raw() + k * size, out.raw() + i * size, 1);
      if (order <= 0) ++i;
      if (order >= 0) ++k;
    }
  }
}

template <bool greater>
void run_extremes(RunContext& c) {
  const SparseView a = sparse_input(c, 0, 1, 2, IndexOrder::kInside), b = sparse_input(c, 3, 4, 5, IndexOrder::kInside);
  check_same_shape(a, b);
  const std::vector<UnionPlace> places = merged_places(a, b);
  put_indices(c, a, b, places);
  Tensor& out = c.allocate_output(1, {static_cast<std::int64_t>(places.size())});
  kernels::dispatch(kernels::RealTypes{}, out.dtype(), "sparse maximum", [&]<class T>() {
    std::ranges::transform(places, out.data<T>(), [&](const UnionPlace& place) {
      const T x = value_or_zero<T>(*a.values, place.a), y = value_or_zero<T>(*b.values, place.b);
      const auto wide_x = static_cast<Wide<T>>(x), wide_y = static_cast<Wide<T>>(y);
      return (greater ? wide_x < wide_y : wide_y < wide_x) ? y : x;
    });
  });
}

// ---- Kernels: sparse and dense

void run_dense_add(RunContext& c) {
  const Tensor &indices = c.input(0), &values = c.input(1), &shape = c.input(2), &dense = c.input(3);
  if (indices.rank() != 2 || values.rank() != 1 || shape.rank() != 1 || indices.dim(0) != values.dim(0) ||
      indices.dim(1) != shape.dim(0)) {
    throw invalid_argument("a sparse tensor has a matrix of indices, a vector of values and one of sizes, not ",
                           indices.describe(), ", ", values.describe(), " and ", shape.describe());
  }
  const std::vector<std::int64_t> dims = shape.to_int64s(), places = indices.to_int64s();
  if (static_cast<int>(dims.size()) != dense.rank()) {
    throw invalid_argument("Two operands have different dimensions; received: ", dims.size(), " and ", dense.rank());
  }
  if (dense.rank() < 1 || dense.rank() > 5) {
    throw invalid_argument("Only tensors with ranks between 1 and 5 are currently supported.  Tensor rank: ",
                           dense.rank());
  }
  for (int d = 0; d < dense.rank(); ++d) {
    if (dims[d] == dense.dim(d)) continue;
    throw invalid_argument("Dimension ", d, " does not equal (no broadcasting is supported): sparse side ", dims[d],
                           " vs dense side ", dense.dim(d));
  }
  const SparseView view{
      .indices = places, .values = &values, .dims = dims, .count = indices.dim(0), .rank = dense.rank()};
  check_indices(view, IndexOrder::kInside, "invalid index: a_indices");
  const std::vector<std::int64_t> strides = dense.shape().strides();
  Tensor& out = c.allocate_output(0, dense.shape());
  copy_elements(c.pool(), dense.dtype(), dense.raw(), out.raw(), dense.num_elements());
  kernels::dispatch(kernels::NumberTypes{}, dense.dtype(), "SparseTensorDenseAdd", [&]<class T>() {
    for (std::int64_t k = 0; k < view.count; ++k) {
      std::int64_t at = 0;
      for (int d = 0; d < view.rank; ++d) at += view.index(k)[d] * strides[d];
      T& sum = out.data<T>()[at];
      sum = T(kernels::wrap_add(static_cast<Wide<T>>(sum), static_cast<Wide<T>>(values.data<T>()[k])));
    }
  });
}

enum class Cwise { kAdd, kMul, kDiv };

template <class T>
T combined(Cwise op, T a, T b) {
  using W = Wide<T>;
  const auto x = static_cast<W>(a), y = static_cast<W>(b);
  if (op == Cwise::kAdd) return T(kernels::wrap_add(x, y));
  if (op == Cwise::kMul) return T(kernels::wrap_mul(x, y));
  if constexpr (std::is_integral_v<T>) {
    if (y == 0)
      throw invalid_argument("SparseDenseCwiseDiv cannot divide by zero, but input dense tensor contains zero");
    if constexpr (std::is_signed_v<T>) {
      if (y == -1) return kernels::wrap_sub(T{0}, a);  // the lowest number has no opposite
    }
  }
  return T(x / y);
}

template <Cwise op>
void run_cwise(RunContext& c) {
  const SparseView sp = sparse_input(c, 0, 1, 2, IndexOrder::kInside);
  const Tensor& dense = c.input(3);
  const int extra = sp.rank - dense.rank();
  bool fits = extra >= 0;
  for (int d = 0; d < dense.rank() && fits; ++d) fits = dense.dim(d) == 1 || dense.dim(d) == sp.dims[extra + d];
  if (!fits) {
    throw invalid_argument("SparseDenseBinaryOpShared broadcasts dense to sparse only; got incompatible shapes: ",
                           index_text(sp.dims), " vs. ", dense.shape());
  }
  const std::vector<std::int64_t> strides = dense.shape().strides();
  Tensor& out = c.allocate_output(0, {sp.count});
  kernels::dispatch(kernels::RealTypes{}, out.dtype(), "sparse arithmetic", [&]<class T>() {
    for (std::int64_t k = 0; k < sp.count; ++k) {
      std::int64_t at = 0;
      for (int d = 0; d < dense.rank(); ++d) at += dense.dim(d) == 1 ? 0 : sp.index(k)[extra + d] * strides[d];
      out.data<T>()[k] = combined(op, sp.values->data<T>()[k], dense.data<T>()[at]);
    }
  });
}

// Checked arguments of a product, rows and columns of `a` as stored.
struct Product {
  std::vector<std::int64_t> places;
  std::int64_t count, rows, columns, width;
  bool adjoint_a, adjoint_b;
};

Product product_of(RunContext& c) {
  const Tensor &indices = c.input(0), &values = c.input(1), &shape = c.input(2), &b = c.input(3);
  if (b.rank() != 2) throw invalid_argument("Tensor 'b' is not a matrix: ", b.describe());
  if (shape.rank() != 1 || shape.dim(0) != 2)
    throw invalid_argument("Tensor 'a_shape' must have 2 elements, not ", shape.describe());
  if (values.rank() != 1) throw invalid_argument("Tensor 'a_values' is not a vector: ", values.describe());
  if (indices.rank() != 2 || indices.dim(0) != values.dim(0) || indices.dim(1) != 2) {
    throw invalid_argument("Tensor 'a_indices' must be [", values.dim(0), ", 2], not ", indices.describe());
  }
  const std::int64_t* sizes = shape.data<std::int64_t>();
  if (sizes[0] < 0 || sizes[1] < 0) throw invalid_argument("a_shape ", index_text({sizes, 2}), " is no shape");
  Product p{indices.to_int64s(),
            indices.dim(0),
            sizes[0],
            sizes[1],
            0,
            c.node().attr<bool>("adjoint_a"),
            c.node().attr<bool>("adjoint_b")};
  const std::int64_t inner_a = p.adjoint_a ? p.rows : p.columns, inner_b = p.adjoint_b ? b.dim(1) : b.dim(0);
  if (inner_a != inner_b) {
    throw invalid_argument("Cannot multiply A and B because inner dimension does not match: ", inner_a, " vs. ",
                           inner_b, ".  Did you forget a transpose?  Dimensions of A: ", index_text({sizes, 2}),
                           ".  Dimensions of B: ", b.shape());
  }
  for (std::int64_t k = 0; k < p.count; ++k) {
    const std::int64_t row = p.places[2 * k], column = p.places[2 * k + 1];
    if (row >= 0 && row < p.rows && column >= 0 && column < p.columns) continue;
    throw invalid_argument("a_indices[", k, "] = [", row, ",", column, "] is out of bounds: a is ",
                           index_text({sizes, 2}));
  }
  p.width = p.adjoint_b ? b.dim(0) : b.dim(1);
  return p;
}

template <class T>
T conjugated(T value, bool yes) {
  if constexpr (kernels::kIsComplex<T>) {
    return yes ? std::conj(value) : value;
  } else {
    return value;
  }
}

using ProductTypes =
    kernels::TypeList<float, double, Half, BFloat16, std::int32_t, std::complex<float>, std::complex<double>>;

void run_matmul(RunContext& c) {
  const Product p = product_of(c);
  const Tensor &values = c.input(1), &b = c.input(3);
  const std::int64_t rows = p.adjoint_a ? p.columns : p.rows;
  Tensor& out = c.allocate_output(0, {rows, p.width});
  kernels::dispatch(ProductTypes{}, out.dtype(), "SparseTensorDenseMatMul", [&]<class T>() {
    using W = Wide<T>;
    Tensor sums = std::is_same_v<T, W> ? Tensor() : c.allocate_temporary(dtype_of<W>(), out.shape());
    W* sum = std::is_same_v<T, W> ? reinterpret_cast<W*>(out.data<T>()) : sums.data<W>();
    const T *factor = values.data<T>(), *right = b.data<T>();
    const std::int64_t step = p.adjoint_b ? b.dim(1) : 1;
    // Columns are shared out among the threads, so that each sum keeps its order.
    const std::int64_t grain = std::max<std::int64_t>(16, (1 << 15) / std::max<std::int64_t>(p.count, 1));
    c.pool().parallel_for(p.width, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = 0; row < rows; ++row)
        std::fill(sum + row * p.width + begin, sum + row * p.width + end, W{});
      for (std::int64_t k = 0; k < p.count; ++k) {
        const std::int64_t row = p.places[2 * k + (p.adjoint_a ? 1 : 0)],
                           inner = p.places[2 * k + (p.adjoint_a ? 0 : 1)];
        const W a = conjugated(static_cast<W>(factor[k]), p.adjoint_a);
        const T* from = right + (p.adjoint_b ? inner : inner * p.width);
        for (std::int64_t j = begin; j < end; ++j) {
          W& to = sum[row * p.width + j];
          to = kernels::wrap_add(to, kernels::wrap_mul(a, conjugated(static_cast<W>(from[j * step]), p.adjoint_b)));
        }
      }
    });
    if constexpr (!std::is_same_v<T, W>) {
      std::transform(sum, sum + out.num_elements(), out.data<T>(), [](W value) { return T(value); });
    }
  });
}

// ---- Gradients

void add_gradient(GradientContext& c) {
  const auto grads = raw_ops::sparse_add_grad(c.grad(1), c.input(0), c.input(3), c.output(0));
  c.set_input_grad(1, grads.a_val_grad);
  c.set_input_grad(4, grads.b_val_grad);
}

// TensorFlow has gradients of these that say so.
void unwritten_gradient(GradientContext& c) {
  throw unimplemented("there is no gradient of ", c.node().op().name(), ", as in TensorFlow");
}

void dense_add_gradient(GradientContext& c) {
  c.set_input_grad(1, gather_nd(c.grad(0), c.input(0)));
  c.set_input_grad(3, c.grad(0));
}

// Where each value's partner stands in the dense operand: the sparse indices, with 0 where a size of 1 is broadcast.
Output dense_places(const Output& indices, const Output& shape, const Output& dense) {
  const Output dense_shape = shape_of(dense, int64);
  const Output extra = size(shape) - size(dense_shape);
  const Output scaling =
      floordiv(shape, concat({fill(expand_dims(extra, 0), Tensor(std::int64_t{1})), dense_shape}, 0));
  const Output scaled = floordiv(indices, scaling);
  return slice(scaled, stack({Operand(0).to_output(int32), extra}), Operand({-1, -1}));
}

template <Cwise op>
void cwise_gradient(GradientContext& c) {
  const Output &values = c.input(1), &dense = c.input(3), grad = c.grad(0);
  const Output places = dense_places(c.input(0), c.input(2), dense);
  Output to_values = grad, to_dense = grad;
  if (op != Cwise::kAdd) {
    const Output partner = gather_nd(dense, places);
    to_values = op == Cwise::kMul ? grad * partner : grad / partner;
    to_dense = op == Cwise::kMul ? grad * values : grad * (-values / (partner * partner));
  }
  c.set_input_grad(1, to_values);
  c.set_input_grad(3, scatter_nd(places, to_dense, shape_of(dense, int64)));
}

Output adjoint(const Output& x) { return raw_ops::conjugate_transpose(x, {1, 0}); }

void matmul_gradient(GradientContext& c) {
  const bool adjoint_a = c.attr<bool>("adjoint_a"), adjoint_b = c.attr<bool>("adjoint_b");
  const Output &indices = c.input(0), &b = c.input(3), grad = c.grad(0);
  const Output b_grad = sparse::sparse_dense_matmul({indices, c.input(1), c.input(2)}, grad, {.adjoint_a = !adjoint_a});
  c.set_input_grad(3, adjoint_b ? adjoint(b_grad) : b_grad);
  const auto column = [&](int i) { return reshape(slice(indices, {0, i}, {-1, 1}), {-1}); };
  const Output rows = column(0), columns = column(1);
  const Output left = gather(grad, adjoint_a ? columns : rows);
  const Output right = gather(adjoint_b ? adjoint(b) : b, adjoint_a ? rows : columns);
  const Output products = reduce_sum(left * conj(right), {.axis = 1});
  c.set_input_grad(1, adjoint_a ? conj(products) : products);
}

}  // namespace

// ---- Registrations

CAUDAL_REGISTER_OP({.name = "SparseAdd",
                    .inputs = "a_indices: int64; a_values: T; a_shape: int64; b_indices: int64; b_values: T; "
                              "b_shape: int64; thresh: Treal",
                    .outputs = "sum_indices: int64; sum_values: T; sum_shape: int64",
                    .attrs = "T: numbertype; Treal: realnumbertype",
                    .shape = add_shape,
                    .gradient = add_gradient,
                    .cpu = kernel_of<run_add>});
CAUDAL_REGISTER_OP({.name = "SparseAddGrad",
                    .inputs = "backprop_val_grad: T; a_indices: int64; b_indices: int64; sum_indices: int64",
                    .outputs = "a_val_grad: T; b_val_grad: T",
                    .attrs = "T: numbertype",
                    .shape = add_grad_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_add_grad>});
CAUDAL_REGISTER_OP({.name = "SparseSparseMaximum",
                    .inputs = "a_indices: int64; a_values: T; a_shape: int64; b_indices: int64; b_values: T; "
                              "b_shape: int64",
                    .outputs = "output_indices: int64; output_values: T",
                    .attrs = "T: realnumbertype",
                    .shape = extremes_shape,
                    .gradient = unwritten_gradient,
                    .cpu = kernel_of<run_extremes<true>>});
CAUDAL_REGISTER_OP({.name = "SparseSparseMinimum",
                    .inputs = "a_indices: int64; a_values: T; a_shape: int64; b_indices: int64; b_values: T; "
                              "b_shape: int64",
                    .outputs = "output_indices: int64; output_values: T",
                    .attrs = "T: numbertype",
                    .shape = extremes_shape,
                    .gradient = unwritten_gradient,
                    .cpu = kernel_of<run_extremes<false>>});
CAUDAL_REGISTER_OP({.name = "SparseTensorDenseAdd",
                    .inputs = "a_indices: Tindices; a_values: T; a_shape: Tindices; b: T",
                    .outputs = "output: T",
                    .attrs = "T: numbertype; Tindices: {int32, int64}",
                    .shape = dense_add_shape,
                    .gradient = dense_add_gradient,
                    .cpu = kernel_of<run_dense_add>});
CAUDAL_REGISTER_OP({.name = "SparseDenseCwiseAdd",
                    .inputs = "sp_indices: int64; sp_values: T; sp_shape: int64; dense: T",
                    .outputs = "output: T",
                    .attrs = "T: numbertype",
                    .shape = cwise_shape,
                    .gradient = cwise_gradient<Cwise::kAdd>,
                    .cpu = kernel_of<run_cwise<Cwise::kAdd>>});
CAUDAL_REGISTER_OP({.name = "SparseDenseCwiseMul",
                    .inputs = "sp_indices: int64; sp_values: T; sp_shape: int64; dense: T",
                    .outputs = "output: T",
                    .attrs = "T: numbertype",
                    .shape = cwise_shape,
                    .gradient = cwise_gradient<Cwise::kMul>,
                    .cpu = kernel_of<run_cwise<Cwise::kMul>>});
CAUDAL_REGISTER_OP({.name = "SparseDenseCwiseDiv",
                    .inputs = "sp_indices: int64; sp_values: T; sp_shape: int64; dense: T",
                    .outputs = "output: T",
                    .attrs = "T: numbertype",
                    .shape = cwise_shape,
                    .gradient = cwise_gradient<Cwise::kDiv>,
                    .cpu = kernel_of<run_cwise<Cwise::kDiv>>});
CAUDAL_REGISTER_OP({.name = "SparseTensorDenseMatMul",
                    .inputs = "a_indices: Tindices; a_values: T; a_shape: int64; b: T",
                    .outputs = "product: T",
                    .attrs = "T: type; Tindices: {int32, int64} = DT_INT64; adjoint_a: bool = false; "
                             "adjoint_b: bool = false",
                    .shape = matmul_shape,
                    .gradient = matmul_gradient,
                    .cpu = kernel_of<run_matmul>});

// ---- Public functions

namespace {

OpBuilder with_sparse(OpBuilder builder, const SparseTensor& x) {
  builder.input(x.indices).input(x.values).input(x.dense_shape);
  return builder;
}

SparseTensor cwise(std::string_view op, const SparseTensor& sp, const Operand& dense, const OpOptions& options) {
  const Output values = with_sparse(OpBuilder(op, options), sp).input(dense, sp.values.dtype()).build();
  return {sp.indices, values, sp.dense_shape};
}

SparseTensor extremes(std::string_view op, const SparseTensor& a, const SparseTensor& b, const OpOptions& options) {
  Node& node = with_sparse(with_sparse(OpBuilder(op, options), a), b).build_node();
  return {node.output(0), node.output(1), a.dense_shape};
}

DType real_type(DType type) { return type == complex64 ? float32 : type == complex128 ? float64 : type; }

}  // namespace

SparseTensor sparse::add(const SparseTensor& a, const SparseTensor& b, const AddOptions& options) {
  Node& node = with_sparse(with_sparse(OpBuilder("SparseAdd", {.name = options.name, .where = options.where}), a), b)
                   .input(options.threshold, real_type(a.values.dtype()))
                   .build_node();
  return {node.output(0), node.output(1), node.output(2)};
}

Output sparse::add(const SparseTensor& a, const Operand& b, const OpOptions& options) {
  return with_sparse(OpBuilder("SparseTensorDenseAdd", options), a).input(b, a.values.dtype()).build();
}

SparseTensor sparse::maximum(const SparseTensor& sp_a, const SparseTensor& sp_b, const OpOptions& options) {
  return extremes("SparseSparseMaximum", sp_a, sp_b, options);
}

SparseTensor sparse::minimum(const SparseTensor& sp_a, const SparseTensor& sp_b, const OpOptions& options) {
  return extremes("SparseSparseMinimum", sp_a, sp_b, options);
}

Output sparse::sparse_dense_matmul(const SparseTensor& sp_a, const Operand& b, const SparseMatMulOptions& options) {
  return with_sparse(OpBuilder("SparseTensorDenseMatMul", {.name = options.name, .where = options.where}), sp_a)
      .input(b, sp_a.values.dtype())
      .attr("adjoint_a", options.adjoint_a)
      .attr("adjoint_b", options.adjoint_b)
      .build();
}

SparseTensor sparse::cwise_add(const SparseTensor& sp, const Operand& dense, const OpOptions& options) {
  return cwise("SparseDenseCwiseAdd", sp, dense, options);
}

SparseTensor sparse::cwise_multiply(const SparseTensor& sp, const Operand& dense, const OpOptions& options) {
  return cwise("SparseDenseCwiseMul", sp, dense, options);
}

SparseTensor sparse::cwise_divide(const SparseTensor& sp, const Operand& dense, const OpOptions& options) {
  return cwise("SparseDenseCwiseDiv", sp, dense, options);
}

raw_ops::SparseAddGrad raw_ops::sparse_add_grad(const Operand& backprop_val_grad, const Operand& a_indices,
                                                const Operand& b_indices, const Operand& sum_indices,
                                                const OpOptions& options) {
  Node& node = OpBuilder("SparseAddGrad", options)
                   .input(backprop_val_grad)
                   .input(a_indices)
                   .input(b_indices)
                   .input(sum_indices)
                   .build_node();
  return {node.output(0), node.output(1)};
}

}  // namespace caudal::inline v0
