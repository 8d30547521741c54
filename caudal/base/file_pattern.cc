#include "caudal/base/file_pattern.h"

#include <fnmatch.h>

#include <algorithm>

namespace caudal::inline v0 {
namespace {

constexpr std::string_view kSpecial = "*?[";

std::string joined(const std::string& directory, const std::string& name) {
  if (directory.empty()) return name;
  return directory.back() == '/' ? directory + name : directory + '/' + name;
}

// The directories and files below `found` that fit one component.
std::vector<std::string> step(Env& env, const std::vector<std::string>& found, const std::string& component) {
  std::vector<std::string> out;
  for (const std::string& directory : found) {
    if (!is_file_pattern(component)) {
      if (const std::string path = joined(directory, component); env.exists(path)) out.push_back(path);
      continue;
    }
    const std::string where = directory.empty() ? "." : directory;
    if (!env.is_directory(where)) continue;
    for (const std::string& name : env.list(where)) {
      if (fnmatch(component.c_str(), name.c_str(), 0) == 0) out.push_back(joined(directory, name));
    }
  }
  return out;
}

}  // namespace

bool is_file_pattern(std::string_view path) { return path.find_first_of(kSpecial) != std::string_view::npos; }

std::vector<std::string> matching_files(Env& env, const std::string& pattern) {
  if (!is_file_pattern(pattern)) return env.exists(pattern) ? std::vector{pattern} : std::vector<std::string>{};
  std::vector<std::string> found = {pattern.starts_with('/') ? "/" : ""};
  for (std::size_t begin = 0; begin <= pattern.size();) {
    const std::size_t end = std::min(pattern.find('/', begin), pattern.size());
    if (end > begin) found = step(env, found, pattern.substr(begin, end - begin));
    begin = end + 1;
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace caudal::inline v0
