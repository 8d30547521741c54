#include "caudal/ops/clipping.h"

#include "caudal/graph/scope.h"
#include "caudal/ops/cast.h"
#include "caudal/ops/elementwise_binary.h"

namespace caudal::inline v0 {
namespace {

// `clip` of the values, dense or sparse.
template <class Clip>
Gradient clipped(const Gradient& t, const Clip& clip) {
  if (!t) return t;
  if (!t.is_sparse()) return clip(t.dense());
  IndexedSlices slices = t.slices();
  slices.values = clip(slices.values);
  return slices;
}

}  // namespace

Output clip_by_average_norm(const Operand& t, const Operand& clip_norm, const OpOptions& options) {
  const LocationScope location(options.where);
  const NameScope scope(options.name.empty() ? "clip_by_average_norm" : options.name);
  const Output value = t.to_output();
  const Output size = OpBuilder("Size", {}).input(value).build();
  return clip_by_norm(value, multiply(clip_norm.to_output(value.dtype()), cast(size, value.dtype())));
}

IndexedSlices clip_by_value(const IndexedSlices& t, const Operand& clip_value_min, const Operand& clip_value_max,
                            const OpOptions& options) {
  return clip_gradient_by_value(t, clip_value_min, clip_value_max, options).slices();
}

IndexedSlices clip_by_norm(const IndexedSlices& t, const Operand& clip_norm, const ClipByNormOptions& options) {
  return clip_gradient_by_norm(t, clip_norm, options).slices();
}

Gradient clip_gradient_by_value(const Gradient& t, const Operand& clip_value_min, const Operand& clip_value_max,
                                const OpOptions& options) {
  return clipped(t, [&](const Output& value) { return clip_by_value(value, clip_value_min, clip_value_max, options); });
}

Gradient clip_gradient_by_norm(const Gradient& t, const Operand& clip_norm, const ClipByNormOptions& options) {
  return clipped(t, [&](const Output& value) { return clip_by_norm(value, clip_norm, options); });
}

Gradient clip_gradient_by_average_norm(const Gradient& t, const Operand& clip_norm, const OpOptions& options) {
  return clipped(t, [&](const Output& value) { return clip_by_average_norm(value, clip_norm, options); });
}

}  // namespace caudal::inline v0
