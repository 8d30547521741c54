#include "caudal/cli/text_table.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace caudal::inline v0::cli {
namespace {

// Cells wider than this do not widen their column.
constexpr std::size_t kMaxWidth = 60;

std::string padded(const std::string& text, std::size_t width, bool right) {
  if (text.size() >= width) return text;
  const std::string space(width - text.size(), ' ');
  return right ? space + text : text + space;
}

}  // namespace

void TextTable::row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

std::string TextTable::str() const {
  const std::size_t shown = std::min(rows_.size(), static_cast<std::size_t>(limit_));
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < shown; ++i) {
    widths.resize(std::max(widths.size(), rows_[i].size()));
    for (std::size_t c = 0; c < rows_[i].size(); ++c) {
      if (rows_[i][c].size() <= kMaxWidth) widths[c] = std::max(widths[c], rows_[i][c].size());
    }
  }
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) {
    std::string line;
    for (std::size_t c = 0; c < rows_[i].size(); ++c) {
      line += "  " + padded(rows_[i][c], widths[c], std::ranges::find(right_, c) != right_.end());
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  if (shown < rows_.size()) {
    text += "  and " + grouped_digits(static_cast<std::int64_t>(rows_.size() - shown)) + " more\n";
  }
  return text;
}

std::string grouped_digits(std::int64_t number) {
  std::string text = std::to_string(number);
  const std::ptrdiff_t sign = number < 0 ? 1 : 0;
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > sign; at -= 3) text.insert(at, ",");
  return text;
}

std::string byte_text(std::int64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double size = static_cast<double>(bytes);
  int unit = 0;
  while (size >= 1024 && unit < 4) {
    size /= 1024;
    ++unit;
  }
  char text[40];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", size, kUnits[unit]);
  return text;
}

std::string counted(std::int64_t count, const std::string& thing) {
  return grouped_digits(count) + " " + thing + (count == 1 ? "" : "s");
}

std::string word_line(const std::vector<std::string>& words, std::int64_t limit) {
  std::string line;
  const auto shown = std::min(words.size(), static_cast<std::size_t>(limit));
  for (std::size_t i = 0; i < shown; ++i) line += (i == 0 ? "" : "  ") + words[i];
  if (shown < words.size()) {
    line += "  and " + grouped_digits(static_cast<std::int64_t>(words.size() - shown)) + " more";
  }
  return line;
}

}  // namespace caudal::inline v0::cli
