// The kernel of Einsum: views, sums, and one product of batches of matrices. Internal to the family.
#pragma once

#include <memory>

#include "caudal/core/kernel.h"

namespace caudal::inline v0 {

// Throws INVALID_ARGUMENT for an equation that is none or has more than two operands, UNIMPLEMENTED for a type without
// arithmetic.
std::unique_ptr<Kernel> prepare_einsum(PrepareContext& context);

}  // namespace caudal::inline v0
