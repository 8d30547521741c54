// The equation of an einsum, parsed. Internal to the family. Values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace caudal::inline v0 {

// A subscript: one character per dimension, kEllipsis for "..." (any number of dimensions).
inline constexpr char kEllipsisLabel = '.';

struct EinsumEquation {
  std::vector<std::string> inputs;
  std::string output;

  // "ij,jk->ik". Throws INVALID_ARGUMENT for anything else than letters, at most one ellipsis per subscript, one "->",
  // or a result with a label that no input has.
  static EinsumEquation parse(std::string_view equation);
  std::string to_string() const;
};

// The labels of `subscript`, each once, in order of appearance.
std::string unique_labels(std::string_view subscript);
inline bool has_label(std::string_view subscript, char label) { return subscript.find(label) != subscript.npos; }
inline bool has_ellipsis(std::string_view subscript) { return has_label(subscript, kEllipsisLabel); }

}  // namespace caudal::inline v0
