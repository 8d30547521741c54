#include "caudal/ops/reduction_gradients.h"

#include <algorithm>
#include <array>
#include <vector>

#include "caudal/base/error.h"
#include "caudal/graph/constant_value.h"
#include "caudal/ops/elementwise.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/reduction.h"
#include "caudal/ops/scan.h"
#include "caudal/ops/selection.h"

namespace caudal::inline v0 {
namespace {

Output reshape(const Output& x, const Output& shape) { return OpBuilder("Reshape", {}).input(x).input(shape).build(); }

Output broadcast_to(const Output& x, const Output& shape) {
  return OpBuilder("BroadcastTo", {}).input(x).input(shape).build();
}

Output to_type(const Output& x, DType dtype) { return OpBuilder("Cast", {}).input(x).attr("DstT", dtype).build(); }

// `value`, which has the shape of the reduction's result, with the reduced axes put back with size 1.
Output with_axes(GradientContext& c, Output value) {
  if (c.attr<bool>("keep_dims")) return value;
  const Output x = c.input(0);
  const Tensor* axes = constant_value(c.input(1));
  if (axes == nullptr || !x.shape().has_rank()) {
    // Rare: a sum over the same axes says the shape.
    return reshape(value, shape_of(reduce_sum(x, {.axis = c.input(1), .keepdims = true})));
  }
  const int rank = x.shape().rank();
  std::array<bool, kMaxRank> reduced{};
  mark_axes(*axes, rank, reduced);
  const auto count = std::ranges::count(reduced, true);
  if (count == rank) return reshape(value, int32_vector(std::vector<std::int64_t>(static_cast<std::size_t>(rank), 1)));
  for (int axis = 0; axis < rank; ++axis) {
    if (reduced[static_cast<std::size_t>(axis)]) value = OpBuilder("ExpandDims", {}).input(value).input(axis).build();
  }
  return value;
}

// How many elements each output stands for, as a number of x's type.
Output elements_per_output(GradientContext& c) {
  const Output x = c.input(0);
  const std::int64_t in = x.shape().num_elements(), out = c.output(0).shape().num_elements();
  if (in >= 0 && out >= 0) {
    return Operand(convert_number(Tensor(in / std::max<std::int64_t>(out, 1)), x.dtype())).to_output();
  }
  const auto size = [](const Output& y) {
    return OpBuilder("Size", {}).input(y).attr("out_type", DType::kInt64).build();
  };
  return to_type(floordiv(size(x), maximum(size(c.output(0)), Tensor(std::int64_t{1}))), x.dtype());
}

}  // namespace

void mark_axes(const Tensor& axes, int rank, std::span<bool> reduced) {
  const auto mark = [&](std::int64_t axis) {
    const auto at = static_cast<std::size_t>(normalized_axis(axis, rank));
    if (reduced[at]) throw invalid_argument("axis ", axis, " is named twice in ", axes);
    reduced[at] = true;
  };
  if (axes.dtype() == DType::kInt32) {
    for (const std::int32_t axis : axes.flat<std::int32_t>()) mark(axis);
  } else {
    for (const std::int64_t axis : axes.flat<std::int64_t>()) mark(axis);
  }
}

PartialShape reduced_shape(const PartialShape& input, const Tensor& axes, bool keep_dims) {
  std::array<bool, kMaxRank> reduced{};
  mark_axes(axes, input.rank(), reduced);
  std::vector<std::int64_t> dims;
  for (int d = 0; d < input.rank(); ++d) {
    const bool gone = reduced[static_cast<std::size_t>(d)];
    if (keep_dims || !gone) dims.push_back(gone ? 1 : input[d]);
  }
  return PartialShape(std::move(dims));
}

void sum_gradient(GradientContext& c) {
  c.set_input_grad(0, broadcast_to(with_axes(c, c.grad(0)), shape_of(c.input(0))));
}

void mean_gradient(GradientContext& c) {
  const Output share = c.grad(0) / elements_per_output(c);
  c.set_input_grad(0, broadcast_to(with_axes(c, share), shape_of(c.input(0))));
}

namespace {

// Axis by axis, x = y_0, y_1, ..: d y_(i+1) / d y_i is the product of all others along the axis, by running products
// from both ends, so that zeros do no harm.
Output prod_gradient_along(GradientContext& c, const std::vector<std::int64_t>& axes) {
  std::vector<Output> partial = {c.input(0)};
  for (const std::int64_t axis : axes) {
    partial.push_back(reduce_prod(partial.back(), {.axis = axis, .keepdims = true}));
  }
  Output grad = with_axes(c, c.grad(0));
  for (std::size_t i = axes.size(); i-- > 0;) {
    const Output before = cumprod(partial[i], axes[i], {.exclusive = true});
    const Output after = cumprod(partial[i], axes[i], {.exclusive = true, .reverse = true});
    grad = conj_if_complex(before) * conj_if_complex(after) * grad;
  }
  return grad;
}

// For axes that only the run knows: the product of the elements that are not 0, divided by x where x is one of them,
// and 0 if there are more zeros than x itself. The second derivative lacks the pairs with a zero.
Output prod_gradient_anywhere(GradientContext& c) {
  const Output x = c.input(0), axes = c.input(1);
  const Output is_zero = equal(x, 0);
  const Output zeros = reduce_sum(to_type(is_zero, x.dtype()), {.axis = axes, .keepdims = true});
  const Output product = reduce_prod(where(is_zero, 1, x), {.axis = axes, .keepdims = true});
  const Output others = where(is_zero, product, product / where(is_zero, 1, x));
  const Output alone = equal(zeros, to_type(is_zero, x.dtype()));
  return conj_if_complex(where(alone, others, 0)) * with_axes(c, c.grad(0));
}

}  // namespace

void prod_gradient(GradientContext& c) {
  const Tensor* axes = constant_value(c.input(1));
  c.set_input_grad(0, axes != nullptr ? prod_gradient_along(c, axes->to_int64s()) : prod_gradient_anywhere(c));
}

// Shared equally among equal extremes.
void extreme_gradient(GradientContext& c) {
  const Output x = c.input(0);
  const Output chosen = to_type(equal(with_axes(c, c.output(0)), x), x.dtype());
  const Output count = reduce_sum(chosen, {.axis = c.input(1), .keepdims = true});
  c.set_input_grad(0, chosen / count * with_axes(c, c.grad(0)));
}

void euclidean_norm_gradient(GradientContext& c) {
  c.set_input_grad(0, c.input(0) * with_axes(c, c.grad(0) / c.output(0)));
}

void add_n_gradient(GradientContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) c.set_input_grad(i, c.raw_grad(0));
}

void l2_loss_gradient(GradientContext& c) { c.set_input_grad(0, c.input(0) * c.grad(0)); }

}  // namespace caudal::inline v0
