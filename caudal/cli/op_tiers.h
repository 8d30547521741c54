// The names of TensorFlow's ops, in four tiers.
#pragma once

#include <string_view>

namespace caudal::inline v0::cli {

inline constexpr int kOpTiers = 4;

// Names in alphabetical order, a space between two. REQUIRES: 1 <= tier <= kOpTiers.
std::string_view ops_of_tier(int tier);

}  // namespace caudal::inline v0::cli
