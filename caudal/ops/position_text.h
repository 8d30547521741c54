// Where in a tensor an element is, for messages.
#pragma once

#include <cstdint>
#include <string>

#include "caudal/tensor/shape.h"

namespace caudal::inline v0 {

// "[1,2]" for element 5 of a tensor [2,3]; nothing for a scalar's only one. REQUIRES: 0 <= position < the number of
// elements.
std::string position_text(std::int64_t position, const Shape& shape);

}  // namespace caudal::inline v0
