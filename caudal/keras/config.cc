#include "caudal/keras/config.h"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "caudal/base/error.h"
#include "caudal/base/strings.h"

namespace caudal::inline v0::keras {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kMaxDepth = 200;

// Before the parser sees it: its own recursion, and that of our conversion, must be bounded.
void check_depth(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxDepth) throw invalid_argument("JSON nested deeper than ", kMaxDepth);
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
}

Config converted(const Json& json) {
  switch (json.type()) {
    case Json::value_t::boolean:
      return json.get<bool>();
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
      return json.get<std::int64_t>();
    case Json::value_t::number_float:
      return json.get<double>();
    case Json::value_t::string:
      return json.get<std::string>();
    case Json::value_t::array: {
      Config::List list;
      list.reserve(json.size());
      for (const Json& item : json) list.push_back(converted(item));
      return list;
    }
    case Json::value_t::object: {
      Config map = Config::map();
      for (const auto& [key, value] : json.items()) map.set(key, converted(value));
      return map;
    }
    default:
      return {};
  }
}

void write_string(std::string& out, std::string_view text) {
  out += Json(std::string(text)).dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

// Python's repr: shortest digits that give the number again, an exponent below 1e-4 and from 1e16 on.
void write_double(std::string& out, double value) {
  if (std::isnan(value)) {
    out += "NaN";
    return;
  }
  if (std::isinf(value)) {
    out += value > 0 ? "Infinity" : "-Infinity";
    return;
  }
  char text[40];
  const double size = std::fabs(value);
  const bool exponent = size != 0 && (size < 1e-4 || size >= 1e16);
  const auto end = std::to_chars(text, text + sizeof text, value,
                                 exponent ? std::chars_format::scientific : std::chars_format::fixed)
                       .ptr;
  std::string digits(text, end);
  if (!exponent && digits.find('.') == std::string::npos) digits += ".0";
  out += digits;
}

}  // namespace

// Out of line: inlined into its users, the variant makes them large, and gcc 12 warn of values that are never used.
Config::Config() = default;
Config::~Config() = default;
Config::Config(const Config& other) = default;
Config::Config(Config&& other) noexcept = default;
Config& Config::operator=(const Config& other) = default;
Config& Config::operator=(Config&& other) noexcept = default;
Config::Config(Whole value) : value_(value.value) {}
Config::Config(bool value) : value_(value) {}
Config::Config(double value) : value_(value) {}
Config::Config(const char* value) : value_(std::string(value)) {}
Config::Config(std::string value) : value_(std::move(value)) {}
Config::Config(List value) : value_(std::move(value)) {}
Config::Config(Map value) : value_(std::move(value)) {}
Config Config::map() { return Config(Map{}); }
bool operator==(const Config& a, const Config& b) { return a.value_ == b.value_; }

Config Config::integers(const std::vector<std::int64_t>& values) { return List(values.begin(), values.end()); }

Config Config::parse(std::string_view text) {
  check_depth(text);
  try {
    return converted(Json::parse(text));
  } catch (const Json::exception& problem) {
    std::string what = problem.what();
    if (const std::size_t bracket = what.find("] "); bracket != std::string::npos) what.erase(0, bracket + 2);
    throw invalid_argument("not JSON: ", escaped(what, 200));
  }
}

std::string Config::to_json() const {
  std::string out;
  write(out);
  return out;
}

void Config::write(std::string& out) const {
  if (is_null()) {
    out += "null";
  } else if (is_bool()) {
    out += boolean() ? "true" : "false";
  } else if (is_int()) {
    out += std::to_string(integer());
  } else if (is_number()) {
    write_double(out, number());
  } else if (is_string()) {
    write_string(out, text());
  } else if (is_list()) {
    out += '[';
    const char* separator = "";
    for (const Config& item : list()) {
      out += separator;
      item.write(out);
      separator = ", ";
    }
    out += ']';
  } else {
    out += '{';
    const char* separator = "";
    for (const auto& [key, value] : members()) {
      out += separator;
      write_string(out, key);
      out += ": ";
      value.write(out);
      separator = ", ";
    }
    out += '}';
  }
}

void Config::throw_not(std::string_view wanted) const {
  throw invalid_argument(escaped(to_json(), 120), " where ", wanted, " is wanted");
}

bool Config::boolean() const {
  if (!is_bool()) throw_not("true or false");
  return std::get<bool>(value_);
}

std::int64_t Config::integer() const {
  if (const auto* real = std::get_if<double>(&value_);
      real != nullptr && *real == std::floor(*real) && std::fabs(*real) < 9e15) {
    return static_cast<std::int64_t>(*real);
  }
  if (!is_int()) throw_not("a whole number");
  return std::get<std::int64_t>(value_);
}

double Config::number() const {
  if (is_int()) return static_cast<double>(std::get<std::int64_t>(value_));
  if (!is_number()) throw_not("a number");
  return std::get<double>(value_);
}

const std::string& Config::text() const {
  if (!is_string()) throw_not("a string");
  return std::get<std::string>(value_);
}

const Config::List& Config::list() const {
  if (!is_list()) throw_not("a list");
  return std::get<List>(value_);
}

const Config::Map& Config::members() const {
  if (!is_map()) throw_not("an object");
  return std::get<Map>(value_);
}

const Config* Config::find(std::string_view key) const {
  if (!is_map()) return nullptr;
  for (const auto& member : std::get<Map>(value_)) {
    if (member.first == key) return &member.second;
  }
  return nullptr;
}

const Config& Config::operator[](std::string_view key) const {
  const Config* found = find(key);
  if (found == nullptr) throw invalid_argument("'", key, "' is missing in ", escaped(to_json(), 120));
  return *found;
}

Config& Config::set(std::string_view key, Config value) {
  if (is_null()) value_ = Map{};
  if (!is_map()) throw_not("an object");
  for (auto& member : std::get<Map>(value_)) {
    if (member.first == key) {
      member.second = std::move(value);
      return *this;
    }
  }
  std::get<Map>(value_).emplace_back(std::string(key), std::move(value));
  return *this;
}

Config object_config(std::string_view module, std::string_view class_name, Config config) {
  Config object = Config::map();
  object.set("module", std::string(module))
      .set("class_name", std::string(class_name))
      .set("config", std::move(config))
      .set("registered_name", Config());
  return object;
}

}  // namespace caudal::inline v0::keras
