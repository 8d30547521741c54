// Conditions and loops as calls of functions: what cond(), while_loop() and switch_case() of control_flow.h build in v2
// form. Internal.
//
// Thread safety: as building a graph.
#pragma once

#include <vector>

#include "caudal/ops/control_flow.h"

namespace caudal::inline v0::internal {

Outputs cond_v2(const Output& pred, const BranchFn& true_fn, const BranchFn& false_fn);
Outputs while_v2(const LoopCondition& condition, const LoopBody& body, const Outputs& variables,
                 const std::vector<PartialShape>& shapes, int parallel_iterations);

}  // namespace caudal::inline v0::internal
