// Names of Keras's classes in their two spellings. Internal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace caudal::inline v0::keras {

// "GlorotUniform" -> "glorot_uniform", "PReLU" -> "p_re_lu", "Conv2DTranspose" -> "conv2d_transpose": Keras's own rule.
std::string snake_case(std::string_view class_name);

// INVALID_ARGUMENT: "unknown <kind> 'x'" with the nearest of `known`.
[[noreturn]] void throw_unknown(std::string_view kind, std::string_view name, const std::vector<std::string>& known);

}  // namespace caudal::inline v0::keras
