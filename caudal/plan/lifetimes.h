// When a program's values die, and which steps may therefore overwrite an input.
#pragma once

#include <vector>

#include "caudal/plan/program.h"

namespace caudal::inline v0 {

// Sets Slot::last_use and escapes, Step::release and takes_input, and takes from Step::in_place the pairs that are not
// granted: inputs that live on, feeds (unless owned), fetches, constants, references. `sources` are the slots that get
// values from outside while the program runs; `is_loop_body` tells that forwarded values are taken by whoever runs the
// loop. REQUIRES: steps in their final order, with units where the program may wait.
void plan_lifetimes(Program& program, const PlanOptions& options, const std::vector<std::vector<int>>& sources,
                    bool is_loop_body);

}  // namespace caudal::inline v0
