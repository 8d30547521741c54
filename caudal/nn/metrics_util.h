// What the families of metrics share. Internal: the public functions are in metrics.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/nn/metrics.h"
#include "caudal/ops/variable.h"
#include "caudal/ops/variable_scope.h"

namespace caudal::inline v0::metrics::internal {

// The scope of a metric; errors inside tell the user's line.
class MetricScope {
 public:
  MetricScope(const std::string& name, std::string_view default_name, const std::source_location& where)
      : location_(where), scope_(name, {.default_name = std::string(default_name)}) {}

 private:
  LocationScope location_;
  VariableScope scope_;
};

// build(), errors with the place of the call.
template <class F>
auto with_place(const std::source_location& where, const F& build) {
  try {
    return build();
  } catch (const Error& error) {
    throw error.made_at(short_location(where));
  }
}

// A sum that starts at 0, in the collections of local and of metric variables.
Variable metric_variable(const std::vector<std::int64_t>& shape, DType dtype, std::string_view name);

struct Inputs {
  Output labels, predictions;
  std::optional<Output> weights;
};
// Squeezed to one shape. Throws INVALID_ARGUMENT, naming `function`, if that cannot be.
Inputs matching(std::string_view function, const Output& labels, const Output& predictions,
                const std::optional<Operand>& weights);
// Weights brought to the rank of the values, where a last dimension of size 1 is all that is between them.
Output weights_for(const Output& weights, const Output& values);

// Adds value and update to the collections.
template <class Options>
Metric collected(const Metric& metric, const Options& options) {
  Graph& graph = metric.value.graph();
  for (const std::string& key : options.metrics_collections) graph.add_to_collection(key, {.output = metric.value});
  for (const std::string& key : options.updates_collections) graph.add_to_collection(key, {.output = metric.update_op});
  return metric;
}

// `classes` (any integers) behind a check that they are in [0, num_classes).
Output checked_classes(std::string_view what, const Output& classes, const Output& num_classes);

}  // namespace caudal::inline v0::metrics::internal
