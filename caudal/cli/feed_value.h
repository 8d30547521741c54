// Values as they are given on the command line: "--feed x=[[1, 2], [3, 4]]".
#pragma once

#include <string>
#include <string_view>

#include "caudal/tensor/tensor.h"

namespace caudal::inline v0::cli {

// What `text` stands for, as a tensor of type `dtype`:
//   3.5, true, "text", [[1, 2], [3, 4]]      a value in JSON; for strings also without quotes
//   file.npy, file.npz:member                an array; numbers are converted
//   @file                                    the bytes of a file, a string scalar
//   zeros(2,3), ones(2,3), random(2,3)       of a shape; random numbers are uniform in [0, 1) and always the same
// Throws INVALID_ARGUMENT for anything else, and for values that `dtype` cannot hold.
Tensor parse_feed_value(std::string_view text, DType dtype);

}  // namespace caudal::inline v0::cli
