#include "caudal/ops/cross_entropy.h"

#include <algorithm>
#include <vector>

#include "caudal/autodiff/gradient.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/kernels/softmax.h"
#include "caudal/ops/cast.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/reduction.h"
#include "caudal/ops/selection.h"
#include "caudal/ops/shape_ops.h"
#include "caudal/ops/slicing.h"
#include "caudal/ops/softmax.h"
#include "caudal/ops/strided_copy.h"
#include "caudal/ops/transpose_ops.h"

namespace caudal::inline v0 {
namespace {

// --- Shape functions ---

void cross_entropy_shape(ShapeContext& c) {
  const PartialShape shape = broadcast(c.input(0), c.input(1));
  const auto matrix = shape.merge(PartialShape::unknown_of_rank(2));
  if (!matrix) {
    throw invalid_argument("features ", c.input(0), " and labels ", c.input(1), " must be [batch, classes]");
  }
  c.set_output(0, PartialShape({matrix->dim(0)}));
  c.set_output(1, *matrix);
}

void sparse_cross_entropy_shape(ShapeContext& c) {
  const PartialShape features = c.with_rank(0, 2);
  const PartialShape labels = c.with_rank(1, 1);
  const std::int64_t batch =
      ShapeContext::merge_dim(features.dim(0), labels.dim(0), "the batch sizes of features and labels");
  c.set_output(0, PartialShape({batch}));
  c.set_output(1, features.with_dim(0, batch));
}

// --- Kernels ---

// x repeated to `shape`, a matrix; x itself if it has that shape.
Tensor broadcast(RunContext& c, const Tensor& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  std::vector<std::int64_t> strides(2, 0);
  const auto own = x.shape().strides();
  for (int i = 1; i <= x.rank(); ++i) {
    if (x.shape()[-i] != 1) strides[2 - i] = own[x.rank() - i];
  }
  Tensor out = c.allocate_temporary(x.dtype(), shape);
  strided_copy(c.pool(), x.dtype(), shape.dims(), x.raw(), strides, out.raw(), shape.strides());
  return out;
}

void run_cross_entropy(RunContext& c) {
  const Shape shape = broadcast(c.input(0).shape(), c.input(1).shape());
  if (shape.rank() != 2) {
    throw invalid_argument("features ", c.input(0).describe(), " and labels ", c.input(1).describe(),
                           " must be [batch, classes]");
  }
  const Tensor features = broadcast(c, c.input(0), shape);
  const Tensor labels = broadcast(c, c.input(1), shape);
  Tensor& loss = c.allocate_output(0, Shape{shape[0]});
  Tensor& backprop = c.allocate_output(1, shape);
  kernels::softmax_cross_entropy(c.pool(), features.dtype(), features.raw(), labels.raw(), shape[0], shape[1],
                                 loss.raw(), backprop.raw());
}

void run_sparse_cross_entropy(RunContext& c) {
  const Tensor& features = c.input(0);
  const Tensor& labels = c.input(1);
  if (features.rank() != 2 || labels.rank() != 1 || features.dim(0) != labels.dim(0)) {
    throw invalid_argument("features ", features.describe(), " must be [batch, classes] and labels ", labels.describe(),
                           " [batch]");
  }
  if (features.dim(1) < 1) throw invalid_argument("features ", features.describe(), " have no classes");
  Tensor& loss = c.allocate_output(0, labels.shape());
  Tensor& backprop = c.allocate_output(1, features.shape());
  try {
    kernels::sparse_softmax_cross_entropy(c.pool(), features.dtype(), features.raw(), features.dim(0), features.dim(1),
                                          labels.dtype(), labels.raw(), loss.raw(), backprop.raw());
  } catch (const Error& error) {
    throw error.hint("Labels count from 0; the logits need one column per class.");
  }
}

// --- Gradients ---

// d(loss, backprop)/d(features), both outputs being functions of them.
Output features_gradient(GradientContext& c) {
  Output gradient = expand_dims(c.grad(0), -1) * c.output(1);
  if (c.has_grad(1)) {
    const Output softmax = nn::softmax(c.input(0));
    gradient = gradient + (c.grad(1) - reduce_sum(c.grad(1) * softmax, {.axis = -1, .keepdims = true})) * softmax;
  }
  return gradient;
}

void cross_entropy_gradient(GradientContext& c) {
  const Output labels_gradient = expand_dims(c.grad(0), -1) * -nn::log_softmax(c.input(0));
  c.set_input_grad(0, sum_to_shape_of(features_gradient(c), c.input(0), c.input(1)));
  c.set_input_grad(1, sum_to_shape_of(labels_gradient, c.input(1), c.input(0)));
}

void sparse_cross_entropy_gradient(GradientContext& c) { c.set_input_grad(0, features_gradient(c)); }

}  // namespace

// --- Registrations ---

CAUDAL_REGISTER_OP({.name = "SoftmaxCrossEntropyWithLogits",
                    .inputs = "features: T; labels: T",
                    .outputs = "loss: T; backprop: T",
                    .attrs = "T: {half, bfloat16, float, double}",
                    .shape = cross_entropy_shape,
                    .gradient = cross_entropy_gradient,
                    .cpu = kernel_of<run_cross_entropy>});
CAUDAL_REGISTER_OP({.name = "SparseSoftmaxCrossEntropyWithLogits",
                    .inputs = "features: T; labels: Tlabels",
                    .outputs = "loss: T; backprop: T",
                    .attrs = "T: {half, bfloat16, float, double}; Tlabels: {int32, int64} = DT_INT64",
                    .shape = sparse_cross_entropy_shape,
                    .gradient = sparse_cross_entropy_gradient,
                    .cpu = kernel_of<run_sparse_cross_entropy>});

// --- Public functions ---

namespace {

// All sizes but the last: a constant where they are known.
Output outer_shape(const Output& x) {
  const PartialShape& shape = x.shape();
  if (shape.has_rank()) {
    std::vector<std::int64_t> outer(shape.dims().begin(), shape.dims().end() - 1);
    if (std::ranges::find(outer, PartialShape::kUnknown) == outer.end()) return int32_vector(outer);
  }
  return strided_slice(shape_of(x), {0}, {-1}, {1}, {.begin_mask = 1});
}

// [..., classes] as a matrix.
Output as_matrix(const Output& x) {
  if (x.shape().rank() == 2) return x;
  const Output classes = strided_slice(shape_of(x), {-1}, {0}, {1}, {.end_mask = 1});
  return reshape(x, OpBuilder("ConcatV2", {}).inputs({int32_vector({-1}), classes}).input(0).build());
}

// x with dimension `axis` at the end.
Output move_to_end(const Output& x, int axis) {
  const int rank = x.shape().rank();
  std::vector<int> order;
  for (int i = 0; i < rank; ++i) {
    if (i != axis) order.push_back(i);
  }
  order.push_back(axis);
  return transpose(x, order);
}

bool is_narrow(DType dtype) { return dtype == DType::kHalf || dtype == DType::kBFloat16; }

Output softmax_cross_entropy(const nn::SoftmaxCrossEntropyOptions& options, bool labels_are_constant) {
  const LocationScope where(options.where);
  const NameScope scope(options.name.empty() ? "softmax_cross_entropy_with_logits" : options.name);
  const Output given = options.logits.to_output(DType::kFloat);
  // Sums of many half-precision numbers: in float, rounded once.
  Output logits = cast(given, is_narrow(given.dtype()) ? DType::kFloat : given.dtype());
  Output labels = cast(options.labels.to_output(logits.dtype()), logits.dtype());
  if (labels_are_constant) labels = stop_gradient(labels);
  if (options.axis != -1) {
    if (!logits.shape().has_rank() || !labels.shape().has_rank()) {
      throw invalid_argument("cross entropy along axis ", options.axis, " needs logits and labels of known rank")
          .made_at(short_location(options.where));
    }
    logits = move_to_end(logits, normalized_axis(options.axis, logits.shape().rank()));
    labels = move_to_end(labels, normalized_axis(options.axis, labels.shape().rank()));
  }
  const Output loss = OpBuilder("SoftmaxCrossEntropyWithLogits", {.name = scope.prefix()})
                          .input(as_matrix(logits))
                          .input(as_matrix(labels))
                          .build();
  return cast(logits.shape().rank() == 2 ? loss : reshape(loss, outer_shape(logits)), given.dtype());
}

}  // namespace

namespace nn {

Output softmax_cross_entropy_with_logits(const SoftmaxCrossEntropyOptions& options) {
  return softmax_cross_entropy(options, true);
}

Output softmax_cross_entropy_with_logits_v2(const SoftmaxCrossEntropyOptions& options) {
  return softmax_cross_entropy(options, false);
}

Output sparse_softmax_cross_entropy_with_logits(const CrossEntropyOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope(options.name.empty() ? "SparseSoftmaxCrossEntropyWithLogits" : options.name);
  const Output labels = options.labels.to_output(DType::kInt32);
  const Output given = options.logits.to_output(DType::kFloat);
  const int rank = given.shape().rank();
  if (rank == 0 || (rank > 0 && labels.shape().has_rank() && labels.shape().rank() != rank - 1)) {
    throw invalid_argument("labels ", labels.describe(), " must have the shape of logits ", given.describe(),
                           " without the last dimension")
        .made_at(short_location(options.where))
        .hint("Labels are class numbers; for probabilities use softmax_cross_entropy_with_logits.");
  }
  const Output logits = cast(given, is_narrow(given.dtype()) ? DType::kFloat : given.dtype());
  Output loss = OpBuilder("SparseSoftmaxCrossEntropyWithLogits", {})
                    .input(as_matrix(logits))
                    .input(rank == 2 ? labels : reshape(labels, {-1}))
                    .build();
  if (rank != 2) {
    loss = reshape(loss, shape_of(labels));
    loss.set_shape(labels.shape());
  }
  return cast(loss, given.dtype());
}

Output sigmoid_cross_entropy_with_logits(const CrossEntropyOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope(options.name.empty() ? "logistic_loss" : options.name);
  const DType dtype = common_dtype({&options.logits, &options.labels});
  const Output x = options.logits.to_output(dtype);
  const Output z = options.labels.to_output(dtype);
  if (!x.shape().compatible(z.shape())) {
    throw invalid_argument("logits ", x.describe(), " and labels ", z.describe(), " must have one shape")
        .made_at(short_location(options.where));
  }
  // Selections instead of max and abs: their gradients at 0 are right.
  const Output zero = zeros_like(x);
  const Output positive = greater_equal(x, zero);
  const Output relu = raw_ops::select(positive, x, zero);
  const Output minus_abs = raw_ops::select(positive, -x, x);
  return add(relu - x * z, log1p(exp(minus_abs)), {.name = scope.prefix()});
}

}  // namespace nn
}  // namespace caudal::inline v0
