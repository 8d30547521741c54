// Small string helpers. Thread safety: functions of their arguments.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "caudal/base/export.h"

namespace caudal::inline v0 {

// "a, b, c" for any range of things that can be appended to a string.
template <class Range>
std::string join(const Range& parts, std::string_view separator) {
  std::string out;
  bool first = true;
  for (const auto& part : parts) {
    if (!first) out += separator;
    first = false;
    out += part;
  }
  return out;
}

// Pieces between separators: split("a,,b", ',') is {"a", "", "b"}; of an empty text one empty piece.
CAUDAL_API std::vector<std::string_view> split(std::string_view text, char separator);

// Without white space at both ends.
CAUDAL_API std::string_view trim(std::string_view text);

// Whole text as a decimal number; false (and `value` untouched) if it is anything else or does not fit.
CAUDAL_API bool parse_int64(std::string_view text, int64_t* value);

// Printable ASCII stays, everything else becomes \xNN; for messages about bytes from outside. At most `limit` bytes of
// the text are shown, then "...".
CAUDAL_API std::string escaped(std::string_view text, size_t limit = 80);

// Insertions, deletions, replacements and swaps of neighbours that lead from one to the other.
CAUDAL_API int edit_distance(std::string_view from, std::string_view to);

// At most `count` of the candidates that look like misspellings of `name`, nearest first; for "did you mean" hints.
CAUDAL_API std::vector<std::string> nearest_names(std::string_view name, std::span<const std::string> candidates,
                                                  size_t count = 3);
// "Did you mean 'a' or 'b'?", or empty if nothing is near.
CAUDAL_API std::string did_you_mean(std::string_view name, std::span<const std::string> candidates);

}  // namespace caudal::inline v0
