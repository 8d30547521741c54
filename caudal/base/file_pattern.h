// File names by pattern.
//
// Thread safety: a function of its arguments and the file system.
#pragma once

#include <string>
#include <vector>

#include "caudal/base/env.h"
#include "caudal/base/export.h"

namespace caudal::inline v0 {

// Whether there is anything to match: '*', '?' or '['.
CAUDAL_API bool is_file_pattern(std::string_view path);

// What is there that fits the pattern, sorted: '*' and '?' stand for characters of one path component, "[a-c]" for one of
// a set, a backslash takes the next character as it is. A path without such characters fits itself.
CAUDAL_API std::vector<std::string> matching_files(Env& env, const std::string& pattern);

}  // namespace caudal::inline v0
