#include "caudal/nn/weights.h"

#include "caudal/base/error.h"
#include "caudal/ops/assert_ops.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/control_flow.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/reduction.h"
#include "caudal/ops/shape_ops.h"

namespace caudal::inline v0::internal {
namespace {

bool may_be_one(const PartialShape& shape) { return shape.rank() > 0 && (shape[-1] == 1 || shape[-1] < 0); }

constexpr const char* kRule =
    "Weights are a scalar, or have as many dimensions as the values, each of the same size or 1.";

}  // namespace

Aligned remove_squeezable_dimensions(const Output& labels, const Output& predictions, int rank_difference) {
  Aligned aligned{labels, predictions};
  if (!labels.shape().has_rank() || !predictions.shape().has_rank()) return aligned;
  const int difference = predictions.shape().rank() - labels.shape().rank();
  if (difference == rank_difference + 1 && may_be_one(predictions.shape())) {
    aligned.predictions = squeeze(predictions, {-1});
  } else if (difference == rank_difference - 1 && may_be_one(labels.shape())) {
    aligned.labels = squeeze(labels, {-1});
  }
  return aligned;
}

void check_same_shape(std::string_view function, const Output& labels, const Output& predictions,
                      std::string_view name) {
  if (labels.shape().compatible(predictions.shape())) return;
  throw invalid_argument(function, ": labels ", labels.describe(), " and ", name, " ", predictions.describe(),
                         " differ in shape")
      .hint("Both need the same shape: reshape one, or drop a dimension of size 1 by squeeze().");
}

Output checked_weights(std::string_view function, const Output& weights, const Output& values) {
  const PartialShape& w = weights.shape();
  const PartialShape& v = values.shape();
  if (w.rank() == 0 || !w.has_rank() || !v.has_rank()) return weights;
  bool certain = w.rank() == v.rank();
  bool fits = certain;
  for (int i = 0; fits && i < w.rank(); ++i) {
    if (w[i] == 1) continue;
    if (w[i] < 0 || v[i] < 0) certain = false;
    if (w[i] >= 0 && v[i] >= 0 && w[i] != v[i]) fits = false;
  }
  if (!fits) {
    throw invalid_argument(function, ": weights ", weights.describe(), " do not go with values ", values.describe())
        .hint(kRule);
  }
  if (certain) return weights;
  const Output sizes = shape(weights);
  const Output good = reduce_all(logical_or(equal(sizes, 1), equal(sizes, shape(values))));
  const std::string message = concat(function, ": weights cannot be broadcast to values. ", kRule);
  return with_dependencies({Assert(good, {message, sizes, shape(values)})}, weights);
}

Output broadcast_weights(const Output& weights, const Output& values) {
  if (weights.shape().is_fully_known() && weights.shape() == values.shape()) return weights;
  return weights * ones_like(values);
}

}  // namespace caudal::inline v0::internal
