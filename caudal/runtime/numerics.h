// Looks for NaN and infinity in tensors.
#pragma once

#include <string_view>

#include "caudal/tensor/tensor.h"

namespace caudal::inline v0 {

// Throws INVALID_ARGUMENT if a floating-point or complex tensor holds a NaN or an infinity: "output 0 has NaN (3 of 100
// values, the first at 7)". Other types and invalid tensors pass.
void check_finite(const Tensor& tensor, std::string_view what, int index);

}  // namespace caudal::inline v0
