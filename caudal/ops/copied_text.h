// The memory of text that a kernel multiplies.
#pragma once

#include <cstdint>

#include "caudal/core/kernel.h"

namespace caudal::inline v0 {

// Before a kernel copies the elements of `value` until there are `elements` of them: tensors of text are charged for
// their elements' objects only, so that copies of long ones are held to the session's account here. Throws
// RESOURCE_EXHAUSTED.
void check_copied_text(const RunContext& context, const Tensor& value, std::int64_t elements);

}  // namespace caudal::inline v0
