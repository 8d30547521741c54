// Columns of text for people: `caudal show` and the like.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace caudal::inline v0::cli {

// Rows whose columns line up; what is beyond `limit` rows is counted in a last line.
class TextTable {
 public:
  explicit TextTable(std::int64_t limit) : limit_(limit) {}
  void row(std::vector<std::string> cells);
  // Columns that hold numbers stand to the right.
  void right(std::size_t column) { right_.push_back(column); }
  bool empty() const { return rows_.empty(); }
  // Each line indented by two spaces.
  std::string str() const;

 private:
  std::int64_t limit_;
  std::vector<std::size_t> right_;
  std::vector<std::vector<std::string>> rows_;
};

// "266,610".
std::string grouped_digits(std::int64_t number);
// "1.0 MiB".
std::string byte_text(std::int64_t bytes);
// "1 node", "3 nodes".
std::string counted(std::int64_t count, const std::string& thing);
// At most `limit` of the words in one line, then how many more there are.
std::string word_line(const std::vector<std::string>& words, std::int64_t limit);

}  // namespace caudal::inline v0::cli
