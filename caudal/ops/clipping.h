// Clipping of sparse gradients, and by the average norm. The other kinds: selection.h.
// Thread safety: as building a graph.
#pragma once

#include "caudal/autodiff/gradient.h"
#include "caudal/base/export.h"
#include "caudal/ops/selection.h"

namespace caudal::inline v0 {

// t scaled down so that its Euclidean norm divided by its number of elements is at most clip_norm.
CAUDAL_API Output clip_by_average_norm(const Operand& t, const Operand& clip_norm, const OpOptions& options = {});

// The same of the rows of a sparse gradient, as they are: rows of one index are not added up first.
CAUDAL_API IndexedSlices clip_by_value(const IndexedSlices& t, const Operand& clip_value_min,
                                       const Operand& clip_value_max, const OpOptions& options = {});
CAUDAL_API IndexedSlices clip_by_norm(const IndexedSlices& t, const Operand& clip_norm,
                                      const ClipByNormOptions& options = {});

// The same of any gradient: dense, sparse (which stays sparse) or none.
CAUDAL_API Gradient clip_gradient_by_value(const Gradient& t, const Operand& clip_value_min,
                                           const Operand& clip_value_max, const OpOptions& options = {});
CAUDAL_API Gradient clip_gradient_by_norm(const Gradient& t, const Operand& clip_norm,
                                          const ClipByNormOptions& options = {});
CAUDAL_API Gradient clip_gradient_by_average_norm(const Gradient& t, const Operand& clip_norm,
                                                  const OpOptions& options = {});

}  // namespace caudal::inline v0
