#include "caudal/base/strings.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

namespace caudal::inline v0 {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

// Names longer than this are cut before they are compared: the comparison takes quadratic time.
constexpr size_t kLongestCompared = 200;

}  // namespace

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  while (true) {
    const size_t at = text.find(separator);
    out.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return out;
    text.remove_prefix(at + 1);
  }
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\v\f";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

bool parse_int64(std::string_view text, int64_t* value) {
  int64_t number;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || end != text.data() + text.size()) return false;
  *value = number;
  return true;
}

std::string escaped(std::string_view text, size_t limit) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const char c : text.substr(0, limit)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      out += c;
    } else {
      out += "\\x";
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    }
  }
  if (text.size() > limit) out += "...";
  return out;
}

int edit_distance(std::string_view from, std::string_view to) {
  // Three rows of the table: before last, last and current ("optimal string alignment").
  std::vector<int> older(to.size() + 1), last(to.size() + 1), row(to.size() + 1);
  for (size_t j = 0; j <= to.size(); ++j) last[j] = static_cast<int>(j);
  for (size_t i = 1; i <= from.size(); ++i) {
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= to.size(); ++j) {
      const int replaced = last[j - 1] + (from[i - 1] == to[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1];
      if (swapped) row[j] = std::min(row[j], older[j - 2] + 1);
    }
    std::swap(older, last);
    std::swap(last, row);
  }
  return last[to.size()];
}

std::vector<std::string> nearest_names(std::string_view name, std::span<const std::string> candidates, size_t count) {
  const std::string wanted = lower(name.substr(0, kLongestCompared));
  const int limit = 1 + static_cast<int>(wanted.size()) / 4;
  std::vector<std::pair<int, const std::string*>> near;
  for (const std::string& candidate : candidates) {
    const std::string other = lower(std::string_view(candidate).substr(0, kLongestCompared));
    const auto longer = std::max(wanted.size(), other.size()), shorter = std::min(wanted.size(), other.size());
    int distance = limit + 1;
    if (longer - shorter <= static_cast<size_t>(limit)) distance = edit_distance(wanted, other);
    // A forgotten or superfluous scope: "kernel" for "dense/kernel".
    if (distance > limit && !wanted.empty() && (other.ends_with("/" + wanted) || wanted.ends_with("/" + other)))
      distance = limit;
    if (distance <= limit) near.emplace_back(distance, &candidate);
  }
  std::stable_sort(near.begin(), near.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> out;
  for (const auto& [distance, candidate] : near)
    if (out.size() < count) out.push_back(*candidate);
  return out;
}

std::string did_you_mean(std::string_view name, std::span<const std::string> candidates) {
  std::string out;
  for (const std::string& near : nearest_names(name, candidates))
    out += (out.empty() ? "Did you mean '" : " or '") + escaped(near) + "'";
  return out.empty() ? out : out + "?";
}

}  // namespace caudal::inline v0
