// Config: what a JSON text holds, as a value. Keras describes models, layers, losses and so on in such texts.
//
//   Config dense = Config::map();
//   dense.set("units", 10).set("activation", "relu");
//   dense.to_json();                       // {"units": 10, "activation": "relu"}
//   Config::parse(text)["config"]["layers"].list()
//
// Members keep their order; numbers keep whether they were whole. Thread safety: a value.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "caudal/base/export.h"

namespace caudal::inline v0::keras {

class CAUDAL_API Config {
 public:
  using List = std::vector<Config>;
  using Member = std::pair<std::string, Config>;
  using Map = std::vector<Member>;

  Config();  // null
  ~Config();
  Config(const Config& other);
  Config(Config&& other) noexcept;
  Config& operator=(const Config& other);
  Config& operator=(Config&& other) noexcept;
  template <std::integral T>
  Config(T value) : Config(Whole{static_cast<std::int64_t>(value)}) {}  // NOLINT: values read naturally
  Config(bool value);                                                   // NOLINT
  Config(double value);                                                 // NOLINT
  Config(const char* value);                                            // NOLINT
  Config(std::string value);                                            // NOLINT
  Config(List value);                                                   // NOLINT
  static Config map();
  static Config integers(const std::vector<std::int64_t>& values);

  // Throws INVALID_ARGUMENT telling the place where the text is no JSON, or nested deeper than 200.
  static Config parse(std::string_view text);
  // As Python's json.dumps writes it: ", " and ": " between things, shortest digits.
  std::string to_json() const;

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_bool() const { return std::holds_alternative<bool>(value_); }
  bool is_int() const { return std::holds_alternative<std::int64_t>(value_); }
  bool is_number() const { return is_int() || std::holds_alternative<double>(value_); }
  bool is_string() const { return std::holds_alternative<std::string>(value_); }
  bool is_list() const { return std::holds_alternative<List>(value_); }
  bool is_map() const { return std::holds_alternative<Map>(value_); }
  explicit operator bool() const { return !is_null(); }

  // The value as that type. Throws INVALID_ARGUMENT showing what is there instead. A whole number written with a
  // fraction (2.0) is an integer too.
  bool boolean() const;
  std::int64_t integer() const;
  double number() const;
  const std::string& text() const;
  const List& list() const;
  const Map& members() const;

  // Members of a map. find: null if there is none; []: INVALID_ARGUMENT naming it.
  const Config* find(std::string_view key) const;
  const Config& operator[](std::string_view key) const;
  // Adds or replaces; a null becomes a map.
  Config& set(std::string_view key, Config value);

  friend CAUDAL_API bool operator==(const Config& a, const Config& b);

 private:
  struct Whole {
    std::int64_t value;
  };
  explicit Config(Whole value);
  explicit Config(Map value);
  [[noreturn]] void throw_not(std::string_view wanted) const;
  void write(std::string& out) const;

  std::variant<std::monostate, bool, std::int64_t, double, std::string, List, Map> value_;
};

// {"module": module, "class_name": class_name, "config": config, "registered_name": null}: how Keras 3 writes objects.
CAUDAL_API Config object_config(std::string_view module, std::string_view class_name, Config config);

}  // namespace caudal::inline v0::keras
