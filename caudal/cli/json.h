// One-line JSON objects for --json.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace caudal::inline v0::cli {

// A JSON string. Bytes that are no UTF-8 are replaced: a message may quote a file.
std::string json_quoted(std::string_view text);
// "[1, 2]" of members that are JSON already.
std::string json_list(const std::vector<std::string>& members);
// A list of strings.
std::string json_strings(const std::vector<std::string>& texts);

// Members in the order they were added. Numbers that are not finite become null.
class JsonObject {
 public:
  JsonObject& add(std::string_view key, std::string_view value);
  JsonObject& add(std::string_view key, const char* value) { return add(key, std::string_view(value)); }
  JsonObject& add(std::string_view key, double value);
  JsonObject& add(std::string_view key, std::int64_t value);
  JsonObject& add(std::string_view key, bool value);
  // `value` is JSON already: an object, a list.
  JsonObject& add_json(std::string_view key, std::string_view value);
  std::string str() const { return "{" + text_ + "}"; }

 private:
  std::string text_;
};

}  // namespace caudal::inline v0::cli
