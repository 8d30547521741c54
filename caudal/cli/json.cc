#include "caudal/cli/json.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace caudal::inline v0::cli {
namespace {

// Bytes that are no UTF-8 are replaced: a message may quote a file.
std::string quoted(std::string_view text) {
  return nlohmann::json(std::string(text)).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

JsonObject& JsonObject::add_raw(std::string_view key, const std::string& value) {
  text_ += (text_.empty() ? "" : ", ") + quoted(key) + ": " + value;
  return *this;
}

JsonObject& JsonObject::add(std::string_view key, std::string_view value) { return add_raw(key, quoted(value)); }
JsonObject& JsonObject::add(std::string_view key, double value) { return add_raw(key, nlohmann::json(value).dump()); }
JsonObject& JsonObject::add(std::string_view key, std::int64_t value) { return add_raw(key, std::to_string(value)); }
JsonObject& JsonObject::add(std::string_view key, bool value) { return add_raw(key, value ? "true" : "false"); }

}  // namespace caudal::inline v0::cli
