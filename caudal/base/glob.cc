#include "caudal/base/glob.h"

#include <fnmatch.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "caudal/base/strings.h"

namespace caudal::inline v0 {
namespace {

bool is_pattern(std::string_view part) { return part.find_first_of("*?[\\") != std::string_view::npos; }

// What of `directory` fits the part; `directory` is empty for where the process is.
std::vector<std::string> fitting(Env& env, const std::string& directory, const std::string& part) {
  std::vector<std::string> found;
  try {
    for (const std::string& name : env.list(directory.empty() ? "." : directory)) {
      if (fnmatch(part.c_str(), name.c_str(), 0) == 0) found.push_back(directory + name);
    }
  } catch (const Error&) {
    found.clear();
  }
  return found;
}

}  // namespace

std::vector<std::string> match_files(Env& env, const std::string& pattern) {
  const std::vector<std::string_view> parts = split(pattern, '/');
  std::vector<std::string> paths{""};
  bool checked = false;  // whether what was found last is known to be there
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::vector<std::string> next;
    for (const std::string& path : paths) {
      if (is_pattern(parts[i])) {
        auto found = fitting(env, path, std::string(parts[i]));
        next.insert(next.end(), found.begin(), found.end());
      } else {
        next.push_back(path + std::string(parts[i]));
      }
    }
    checked = is_pattern(parts[i]);
    if (i + 1 < parts.size()) {
      for (std::string& path : next) path += '/';
    }
    paths = std::move(next);
  }
  if (!checked) std::erase_if(paths, [&](const std::string& path) { return !env.exists(path); });
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  return paths;
}

}  // namespace caudal::inline v0
