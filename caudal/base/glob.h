// Files by pattern.
#pragma once

#include <string>
#include <vector>

#include "caudal/base/env.h"
#include "caudal/base/export.h"

namespace caudal::inline v0 {

// The paths that a pattern names, sorted: "*" stands for any text within one part of the path, "?" for one character,
// "[a-c]" for one of a set, "\" takes the next character as it is. A pattern without these names itself if it is there.
// Directories that cannot be listed hold nothing. Thread-safe as the Env is.
CAUDAL_API std::vector<std::string> match_files(Env& env, const std::string& pattern);

}  // namespace caudal::inline v0
