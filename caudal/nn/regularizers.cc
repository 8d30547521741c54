#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/nn/layers.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/selection.h"
#include "caudal/ops/variable.h"

namespace caudal::inline v0::layers {
namespace {

void check_scale(double scale) {
  if (!(scale >= 0)) throw invalid_argument("a regularizer's scale is ", scale, "; it must not be negative");
}

// The sum over all elements.
Output total(const Output& x) {
  std::vector<int> axes;
  for (int i = 0; i < x.shape().rank(); ++i) axes.push_back(i);
  return OpBuilder("Sum", {}).input(x).input(Operand(axes)).build();
}

}  // namespace

Regularizer l1_regularizer(double scale) {
  check_scale(scale);
  return [scale](const Output& variable) -> Output {
    if (scale == 0) return {};
    const NameScope scope("l1_regularizer");
    return total(abs(variable)) * scale;
  };
}

Regularizer l2_regularizer(double scale) {
  check_scale(scale);
  return [scale](const Output& variable) -> Output {
    if (scale == 0) return {};
    const NameScope scope("l2_regularizer");
    return OpBuilder("L2Loss", {}).input(variable).build() * scale;
  };
}

Regularizer l1_l2_regularizer(double scale_l1, double scale_l2) {
  return [l1 = l1_regularizer(scale_l1), l2 = l2_regularizer(scale_l2)](const Output& variable) -> Output {
    const Output a = l1(variable);
    const Output b = l2(variable);
    if (!a) return b;
    return b ? a + b : a;
  };
}

namespace {

// The variable whose value `read` is.
Variable variable_behind(const Output& read) {
  const Output handle = read.node()->num_inputs() > 0 ? read.node()->input(0) : Output();
  if (!handle || (!handle.is_ref() && handle.dtype() != DType::kResource)) {
    throw invalid_argument("max_norm_regularizer: ", read.describe(), " is not a variable");
  }
  return Variable(Variable::Parts{.handle = handle, .initializer = {}, .snapshot = read, .initial_value = {}});
}

}  // namespace

Regularizer max_norm_regularizer(double threshold, const MaxNormOptions& options) {
  if (!(threshold > 0))
    throw invalid_argument("max_norm_regularizer: the threshold is ", threshold, "; it must be above 0");
  return [threshold, options](const Output& weights) -> Output {
    const Output clipped = clip_by_norm(weights, threshold, {.axes = options.axes});
    const Output clip_weights = variable_behind(weights).assign(clipped, {.name = options.name});
    weights.graph().add_to_collection(options.collection, {.output = clip_weights});
    return {};  // no penalty
  };
}

std::vector<Output> max_norm_updates(std::string_view collection) {
  std::vector<Output> updates;
  for (const CollectionItem& item : default_graph().collection(collection)) {
    if (item.output) updates.push_back(item.output);
  }
  return updates;
}

}  // namespace caudal::inline v0::layers
