#include "caudal/nn/metrics.h"
#include "caudal/nn/metrics_util.h"
#include "caudal/nn/weights.h"
#include "caudal/ops/cast.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/reduction.h"
#include "caudal/ops/selection.h"
#include "caudal/ops/shape_ops.h"

namespace caudal::inline v0::metrics {
namespace internal {

Variable metric_variable(const std::vector<std::int64_t>& shape, DType dtype, std::string_view name) {
  const auto initial = [&] { return zeros(int32_vector(shape), dtype); };
  return Variable(initial,
                  {.trainable = false,
                   .collections = {std::string(graph_keys::kLocalVariables), std::string(graph_keys::kMetricVariables)},
                   .name = std::string(name)});
}

Output weights_for(const Output& weights, const Output& values) {
  const PartialShape& w = weights.shape();
  const PartialShape& v = values.shape();
  if (!w.has_rank() || !v.has_rank() || w.rank() == 0) return weights;
  if (w.rank() == v.rank() + 1 && (w[-1] == 1 || w[-1] < 0)) return squeeze(weights, {-1});
  if (v.rank() == w.rank() + 1) return expand_dims(weights, -1);
  return weights;
}

Inputs matching(std::string_view function, const Output& labels, const Output& predictions,
                const std::optional<Operand>& weights) {
  const auto aligned = caudal::internal::remove_squeezable_dimensions(labels, predictions);
  caudal::internal::check_same_shape(function, aligned.labels, aligned.predictions);
  Inputs inputs{aligned.labels, aligned.predictions, {}};
  if (weights) inputs.weights = weights_for(weights->to_output(float32), aligned.predictions);
  return inputs;
}

}  // namespace internal

namespace {

using internal::Inputs;
using internal::matching;

Output ratio(const Output& total, const Output& count, const char* name) {
  return div_no_nan(total, maximum(count, 0), {.name = name});
}

// The streaming mean of float values; weights have been brought to their rank.
Metric streaming_mean(const Output& given, const std::optional<Output>& given_weights, const MetricOptions& options,
                      std::string_view default_name) {
  const internal::MetricScope scope(options.name, default_name, options.where);
  Output values = cast(given, float32);
  const Variable total = internal::metric_variable({}, float32, "total");
  const Variable count = internal::metric_variable({}, float32, "count");
  Output number;
  if (given_weights) {
    Output weights = internal::weights_for(cast(*given_weights, float32), values);
    weights = caudal::internal::broadcast_weights(
        caudal::internal::checked_weights(caudal::internal::concat("metrics.", default_name), weights, values), values);
    values = values * weights;
    number = reduce_sum(weights);
  } else {
    number = cast(size(values), float32);
  }
  const Output new_total = total.assign_add(reduce_sum(values));
  Output new_count;
  {
    const ControlDependencies after({Operation(values)});
    new_count = count.assign_add(number);
  }
  return internal::collected({ratio(total, count, "value"), ratio(new_total, new_count, "update_op")}, options);
}

// Labels and predictions as they are, of one type: that of the predictions.
struct Pair {
  Output labels, predictions;
};
Pair pair_of(const Operand& labels, const Operand& predictions) {
  const DType dtype = common_dtype({&predictions, &labels});
  return {labels.to_output(dtype), predictions.to_output(dtype)};
}

}  // namespace

Metric mean(const Operand& values, const MetricOptions& options) {
  return internal::with_place(options.where, [&] {
    const LocationScope where(options.where);
    std::optional<Output> weights;
    if (options.weights) weights = options.weights->to_output(float32);
    return streaming_mean(values.to_output(float32), weights, options, "mean");
  });
}

Metric mean_tensor(const Operand& given, const MetricOptions& options) {
  return internal::with_place(options.where, [&] {
    const internal::MetricScope scope(options.name, "mean", options.where);
    Output values = cast(given.to_output(float32), float32);
    if (!values.shape().is_fully_known()) {
      throw invalid_argument("metrics.mean_tensor: the shape of the values, ", values.describe(), ", must be known");
    }
    const auto shape = values.shape().dims();
    const Variable total = internal::metric_variable(shape, float32, "total_tensor");
    const Variable count = internal::metric_variable(shape, float32, "count_tensor");
    Output number = ones_like(values);
    if (options.weights) {
      const Output weights = caudal::internal::checked_weights(
          "metrics.mean_tensor", internal::weights_for(cast(options.weights->to_output(float32), float32), values),
          values);
      values = values * weights;
      number = number * weights;
    }
    const Output new_total = total.assign_add(values);
    Output new_count;
    {
      const ControlDependencies after({Operation(values)});
      new_count = count.assign_add(number);
    }
    return internal::collected(Metric{ratio(total, count, "value"), ratio(new_total, new_count, "update_op")}, options);
  });
}

Metric accuracy(const Operand& labels, const Operand& predictions, const MetricOptions& options) {
  return internal::with_place(options.where, [&] {
    const LocationScope where(options.where);
    const Output y = labels.to_output();
    const Inputs in = matching("metrics.accuracy", y, predictions.to_output(y.dtype()), options.weights);
    const Output correct = equal(cast(in.predictions, in.labels.dtype()), in.labels);
    return streaming_mean(cast(correct, float32), in.weights, options, "accuracy");
  });
}

Metric mean_absolute_error(const Operand& labels, const Operand& predictions, const MetricOptions& options) {
  return internal::with_place(options.where, [&] {
    const LocationScope where(options.where);
    const Pair pair = pair_of(labels, predictions);
    const Inputs in = matching("metrics.mean_absolute_error", pair.labels, pair.predictions, options.weights);
    return streaming_mean(abs(in.predictions - in.labels), in.weights, options, "mean_absolute_error");
  });
}

Metric mean_squared_error(const Operand& labels, const Operand& predictions, const MetricOptions& options) {
  return internal::with_place(options.where, [&] {
    const LocationScope where(options.where);
    const Pair pair = pair_of(labels, predictions);
    const Inputs in = matching("metrics.mean_squared_error", pair.labels, pair.predictions, options.weights);
    return streaming_mean(squared_difference(in.labels, in.predictions), in.weights, options, "mean_squared_error");
  });
}

Metric root_mean_squared_error(const Operand& labels, const Operand& predictions, const MetricOptions& options) {
  return internal::with_place(options.where, [&] {
    const LocationScope where(options.where);
    const Pair pair = pair_of(labels, predictions);
    const Inputs in = matching("metrics.root_mean_squared_error", pair.labels, pair.predictions, options.weights);
    MetricOptions inner = options;
    inner.metrics_collections = inner.updates_collections = {};
    const Metric squares =
        streaming_mean(squared_difference(in.labels, in.predictions), in.weights, inner, "root_mean_squared_error");
    return internal::collected(Metric{sqrt(squares.value), sqrt(squares.update_op)}, options);
  });
}

Metric mean_relative_error(const Operand& labels, const Operand& predictions, const Operand& normalizer,
                           const MetricOptions& options) {
  return internal::with_place(options.where, [&] {
    const LocationScope where_scope(options.where);
    const Pair pair = pair_of(labels, predictions);
    const Inputs in = matching("metrics.mean_relative_error", pair.labels, pair.predictions, options.weights);
    const auto aligned =
        caudal::internal::remove_squeezable_dimensions(normalizer.to_output(in.predictions.dtype()), in.predictions);
    caudal::internal::check_same_shape("metrics.mean_relative_error", aligned.labels, aligned.predictions);
    const Output errors = where(equal(aligned.labels, 0), zeros_like(in.labels),
                                divide(abs(in.labels - aligned.predictions), aligned.labels));
    return streaming_mean(errors, in.weights, options, "mean_relative_error");
  });
}

Metric mean_cosine_distance(const Operand& labels, const Operand& predictions, int dim, const MetricOptions& options) {
  return internal::with_place(options.where, [&] {
    const LocationScope where(options.where);
    const Pair pair = pair_of(labels, predictions);
    const Inputs in = matching("metrics.mean_cosine_distance", pair.labels, pair.predictions, options.weights);
    MetricOptions inner = options;
    inner.metrics_collections = inner.updates_collections = {};
    const Output products = reduce_sum(in.predictions * in.labels, {.axis = dim, .keepdims = true});
    const Metric similar = streaming_mean(products, in.weights, inner, "mean_cosine_distance");
    return internal::collected(Metric{1 - similar.value, 1 - similar.update_op}, options);
  });
}

Metric percentage_below(const Operand& values, const Operand& threshold, const MetricOptions& options) {
  return internal::with_place(options.where, [&] {
    const LocationScope where(options.where);
    const Output below = cast(less(values.to_output(float32), threshold), float32);
    std::optional<Output> weights;
    if (options.weights) weights = options.weights->to_output(float32);
    return streaming_mean(below, weights, options, "percentage_below_threshold");
  });
}

}  // namespace caudal::inline v0::metrics
