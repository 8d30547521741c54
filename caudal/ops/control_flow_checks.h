// What is asked of branches and loop bodies, in both forms of control flow. Internal.
//
// Thread safety: pure functions.
#pragma once

#include <string_view>

#include "caudal/ops/control_flow.h"

namespace caudal::inline v0::internal {

// Throws INVALID_ARGUMENT if two branches, called so in messages, return different numbers or types of tensors.
void check_same_results(const Outputs& first, const Outputs& other, std::string_view first_name,
                        std::string_view other_name);
// The same for a loop variable that is `initial` at first and `next` after an iteration.
void check_loop_variable(const Output& initial, const PartialShape& shape, const Output& next);
// `actual` says at least as much as `wanted`.
bool is_as_known(const PartialShape& actual, const PartialShape& wanted);

}  // namespace caudal::inline v0::internal
