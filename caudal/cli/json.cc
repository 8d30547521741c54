#include "caudal/cli/json.h"

#include <nlohmann/json.hpp>

#include "caudal/base/strings.h"

namespace caudal::inline v0::cli {

std::string json_quoted(std::string_view text) {
  return nlohmann::json(std::string(text)).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string json_list(const std::vector<std::string>& members) { return "[" + join(members, ", ") + "]"; }

std::string json_strings(const std::vector<std::string>& texts) {
  std::vector<std::string> members;
  for (const std::string& text : texts) members.push_back(json_quoted(text));
  return json_list(members);
}

JsonObject& JsonObject::add_json(std::string_view key, std::string_view value) {
  text_ += (text_.empty() ? "" : ", ") + json_quoted(key) + ": ";
  text_ += value;
  return *this;
}

JsonObject& JsonObject::add(std::string_view key, std::string_view value) { return add_json(key, json_quoted(value)); }
JsonObject& JsonObject::add(std::string_view key, double value) { return add_json(key, nlohmann::json(value).dump()); }
JsonObject& JsonObject::add(std::string_view key, std::int64_t value) { return add_json(key, std::to_string(value)); }
JsonObject& JsonObject::add(std::string_view key, bool value) { return add_json(key, value ? "true" : "false"); }

}  // namespace caudal::inline v0::cli
