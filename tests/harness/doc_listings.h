// The listings of documents, for tests that hold the same program.
#pragma once

#include <fstream>
#include <string>
#include <vector>

namespace caudal::inline v0::harness {

// The lines between `begin` and `end`, wherever there are such lines, without indentation and empty lines. `path` is
// relative to the tree.
inline std::vector<std::string> lines_between(const std::string& path, const std::string& begin,
                                              const std::string& end) {
  std::ifstream file(std::string(CAUDAL_SOURCE_DIR) + "/" + path);
  std::vector<std::string> lines;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find_first_not_of(' ');
    if (first == std::string::npos) continue;
    line = line.substr(first);
    if (line == (inside ? end : begin)) {
      inside = !inside;
    } else if (inside) {
      lines.push_back(line);
    }
  }
  return lines;
}

}  // namespace caudal::inline v0::harness
