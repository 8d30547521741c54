// Choosing between two tensors element by element, and clipping.
// Thread safety: as building a graph.
#pragma once

#include <utility>
#include <vector>

#include "caudal/autodiff/gradient.h"
#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0 {

// x where `condition` (bool) is true, else y; all three broadcast. x and y: one type, any.
// The gradient goes to the branch that was taken; yet one that is not finite spoils it by 0 * inf: where(x > 0,
// sqrt(x), 0) has the gradient NaN at x < 0. Guard the argument as well: sqrt(where(x > 0, x, 1)).
CAUDAL_API Output where(const Operand& condition, const Operand& x, const Operand& y, const OpOptions& options = {});

// t limited to [clip_value_min, clip_value_max]; the limits broadcast but must not enlarge t. Any real number type.
// No gradient flows where a limit was taken, but at the limits themselves it does.
CAUDAL_API Output clip_by_value(const Operand& t, const Operand& clip_value_min, const Operand& clip_value_max,
                                const OpOptions& options = {});

struct ClipByNormOptions {
  std::vector<int> axes;  // over which the norm is taken; default: all
  std::string name;
  std::source_location where = std::source_location::current();
};
// t scaled down so that its Euclidean norm is at most clip_norm; unchanged if it is less. clip_norm: a number or
// scalar; a known negative one is INVALID_ARGUMENT. An infinite one changes nothing.
CAUDAL_API Output clip_by_norm(const Operand& t, const Operand& clip_norm, const ClipByNormOptions& options = {});

// sqrt(sum of the squares of all elements of all tensors), a scalar. Sparse ones count by their values; missing ones as
// 0.
CAUDAL_API Output global_norm(const std::vector<Gradient>& t_list, const OpOptions& options = {});

struct ClipByGlobalNormOptions {
  Output use_norm;  // the global norm, if it is known already
  std::string name;
  std::source_location where = std::source_location::current();
};
// All tensors scaled by clip_norm / global_norm where that is below 1, and the norm. If the norm is infinite or NaN,
// all results are NaN, so that a broken step is seen. Missing (none) tensors stay so, sparse ones stay sparse.
CAUDAL_API std::pair<std::vector<Gradient>, Output> clip_by_global_norm(const std::vector<Gradient>& t_list,
                                                                        const Operand& clip_norm,
                                                                        const ClipByGlobalNormOptions& options = {});

namespace raw_ops {
// TensorFlow's older where: t and e of one shape, condition of that shape, a scalar, or a vector that picks rows.
CAUDAL_API Output select(const Operand& condition, const Operand& t, const Operand& e, const OpOptions& options = {});
// The limits: scalars or of t's shape.
CAUDAL_API Output clip_by_value(const Operand& t, const Operand& clip_value_min, const Operand& clip_value_max,
                                const OpOptions& options = {});
}  // namespace raw_ops

}  // namespace caudal::inline v0
