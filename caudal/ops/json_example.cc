#include "caudal/ops/json_example.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "caudal/base/strings.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/formats/example.h"

namespace caudal::inline v0 {
namespace {

using nlohmann::json;

// ---- Kernel

[[noreturn]] void fail(const std::string& what) { throw invalid_argument("Error while parsing JSON: ", what); }

std::int64_t integer(const json& value) {
  if (value.is_number_integer()) {
    if (value.is_number_unsigned() && value.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max())
      fail("a number is beyond int64");
    return value.get<std::int64_t>();
  }
  std::int64_t number;
  if (value.is_string() && parse_int64(value.get_ref<const std::string&>(), &number)) return number;
  if (value.is_number_float()) {  // 1e3 and 2.0 are integers, too
    const auto real = value.get<double>();
    constexpr double kLimit = 9223372036854775808.0;
    if (real == std::floor(real) && real >= -kLimit && real < kLimit) return static_cast<std::int64_t>(real);
  }
  fail("an integer is wanted, not " + escaped(value.dump()));
}

float real(const json& value) {
  if (value.is_number()) return value.get<float>();
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    if (text == "NaN") return std::numeric_limits<float>::quiet_NaN();
    if (text == "Infinity") return std::numeric_limits<float>::infinity();
    if (text == "-Infinity") return -std::numeric_limits<float>::infinity();
    const json number = json::parse(text, nullptr, false);
    if (number.is_number()) return number.get<float>();
  }
  fail("a number is wanted, not " + escaped(value.dump()));
}

// Base 64 in both alphabets, padded or not.
std::string bytes(const json& value) {
  if (!value.is_string()) fail("bytes are a string of base 64, not " + escaped(value.dump()));
  std::string_view text = value.get_ref<const std::string&>();
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string out;
  std::uint32_t group = 0;
  int bits = 0;
  for (const char digit : text) {
    std::uint32_t number = 0;
    if (digit >= 'A' && digit <= 'Z') {
      number = static_cast<std::uint32_t>(digit - 'A');
    } else if (digit >= 'a' && digit <= 'z') {
      number = static_cast<std::uint32_t>(digit - 'a') + 26;
    } else if (digit >= '0' && digit <= '9') {
      number = static_cast<std::uint32_t>(digit - '0') + 52;
    } else if (digit == '+' || digit == '-') {
      number = 62;
    } else if (digit == '/' || digit == '_') {
      number = 63;
    } else {
      fail("no base 64: " + escaped(text));
    }
    group = group << 6 | number;
    if ((bits += 6) < 8) continue;
    bits -= 8;
    out += static_cast<char>(group >> bits & 0xff);
  }
  return out;
}

// The member of that name, in either spelling, null if it is absent. Throws for members of other names.
const json* only_member(const json& object, const char* name, const char* other) {
  if (!object.is_object()) fail(std::string(name) + " belongs into an object, not " + escaped(object.dump()));
  const json* found = nullptr;
  for (const auto& [key, value] : object.items()) {
    if (key != name && key != other) fail("no such field: '" + escaped(key) + "'");
    if (!value.is_null()) found = &value;
  }
  return found;
}

template <class T>
Feature list_of(const json& list, T (*convert)(const json&)) {
  std::vector<T> values;
  const json* array = only_member(list, "value", "value");
  if (array == nullptr) return values;
  if (!array->is_array()) fail("'value' is no array: " + escaped(array->dump()));
  for (const json& value : *array) values.push_back(convert(value));
  return values;
}

Feature feature_of(const json& object) {
  if (!object.is_object()) fail("a feature is an object, not " + escaped(object.dump()));
  Feature feature;
  for (const auto& [key, list] : object.items()) {
    if (list.is_null()) continue;
    if (!std::holds_alternative<std::monostate>(feature)) fail("a feature has two kinds");
    if (key == "bytesList" || key == "bytes_list") {
      feature = list_of<std::string>(list, bytes);
    } else if (key == "floatList" || key == "float_list") {
      feature = list_of<float>(list, real);
    } else if (key == "int64List" || key == "int64_list") {
      feature = list_of<std::int64_t>(list, integer);
    } else {
      fail("no such field: '" + escaped(key) + "'");
    }
  }
  return feature;
}

std::string example_of(const std::string& text) {
  const json root = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (root.is_discarded()) fail("it is no JSON");
  Example example;
  const json* features = only_member(root, "features", "features");
  const json* map = features == nullptr ? nullptr : only_member(*features, "feature", "feature");
  if (map != nullptr) {
    if (!map->is_object()) fail("'feature' is no object: " + escaped(map->dump()));
    for (const auto& [key, feature] : map->items()) example.features[key] = feature_of(feature);
  }
  return example_bytes(example);
}

void run_decode_json_example(RunContext& c) {
  const Tensor& in = c.input(0);
  Tensor& out = c.allocate_output(0, in.shape());
  const std::string* from = in.data<std::string>();
  for (std::int64_t i = 0; i < in.num_elements(); ++i) {
    try {
      out.data<std::string>()[i] = example_of(from[i]);
    } catch (const Error& error) {
      throw error.in("element " + std::to_string(i));
    } catch (const json::exception& error) {
      throw invalid_argument("element ", i, ": ", escaped(error.what()));
    }
  }
}

}  // namespace

// ---- Registration

CAUDAL_REGISTER_OP({.name = "DecodeJSONExample",
                    .inputs = "json_examples: string",
                    .outputs = "binary_examples: string",
                    .shape = unchanged_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_decode_json_example>});

// ---- Public function

Output io::decode_json_example(const Operand& json_examples, const OpOptions& options) {
  return OpBuilder("DecodeJSONExample", options).input(json_examples).build();
}

}  // namespace caudal::inline v0
