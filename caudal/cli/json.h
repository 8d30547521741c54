// One-line JSON objects for --json.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace caudal::inline v0::cli {

// Members in the order they were added. Numbers that are not finite become null.
class JsonObject {
 public:
  JsonObject& add(std::string_view key, std::string_view value);
  JsonObject& add(std::string_view key, const char* value) { return add(key, std::string_view(value)); }
  JsonObject& add(std::string_view key, double value);
  JsonObject& add(std::string_view key, std::int64_t value);
  JsonObject& add(std::string_view key, bool value);
  std::string str() const { return "{" + text_ + "}"; }

 private:
  JsonObject& add_raw(std::string_view key, const std::string& value);
  std::string text_;
};

}  // namespace caudal::inline v0::cli
