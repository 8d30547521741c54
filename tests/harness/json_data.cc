#include "tests/harness/json_data.h"

#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "caudal/core/op_registry.h"
#include "tests/harness/random_tensor.h"

namespace caudal::inline v0::harness {
namespace {

using Json = nlohmann::json;

double number(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  if (value.is_number()) return value.get<double>();
  const auto text = value.get<std::string>();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  return text == "-inf" ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
}

std::string decode_base64(const std::string& text) {
  static const std::string alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  unsigned word = 0;
  int bits = 0;
  for (char letter : text) {
    const auto value = alphabet.find(letter);
    if (value == std::string::npos) break;
    word = (word << 6) | static_cast<unsigned>(value);
    if ((bits += 6) < 8) continue;
    bits -= 8;
    bytes += static_cast<char>((word >> bits) & 255U);
  }
  return bytes;
}

std::string text_of(const Json& value) {
  return value.is_object() ? decode_base64(value.at("b64").get<std::string>()) : value.get<std::string>();
}

template <class T, class Get>
Tensor fill_tensor(const Shape& shape, const Json& values, bool repeat, const Get& get) {
  Tensor tensor(dtype_of<T>(), shape);
  for (std::size_t i = 0; i < static_cast<std::size_t>(shape.num_elements()); ++i) {
    tensor.data<T>()[i] = get(values.at(repeat ? 0 : i));
  }
  return tensor;
}

template <class T>
Tensor complex_tensor(const Shape& shape, const Json& values, bool repeat) {
  return fill_tensor<std::complex<T>>(shape, values, repeat, [](const Json& v) {
    return std::complex<T>(static_cast<T>(number(v.at(0))), static_cast<T>(number(v.at(1))));
  });
}

Tensor tensor_of_json(const Json& json) {
  const DType dtype = dtype_from_name(json.at("t").get<std::string>());
  const Shape shape(json.at("s").get<std::vector<std::int64_t>>());
  const Json& values = json.at("v");
  const bool repeat = json.value("fill", false);
  switch (dtype) {
    case DType::kString:
      return fill_tensor<std::string>(shape, values, repeat, text_of);
    case DType::kInt64:
      return fill_tensor<std::int64_t>(shape, values, repeat, [](const Json& v) { return v.get<std::int64_t>(); });
    case DType::kUint64:
      return fill_tensor<std::uint64_t>(shape, values, repeat, [](const Json& v) { return v.get<std::uint64_t>(); });
    case DType::kComplex64:
      return complex_tensor<float>(shape, values, repeat);
    case DType::kComplex128:
      return complex_tensor<double>(shape, values, repeat);
    default: {
      std::vector<double> numbers;
      for (std::int64_t i = 0; i < shape.num_elements(); ++i) {
        numbers.push_back(number(values.at(repeat ? 0 : static_cast<std::size_t>(i))));
      }
      return tensor_of(dtype, shape, numbers);
    }
  }
}

std::vector<Tensor> tensors_of_json(const Json& list) {
  std::vector<Tensor> tensors;
  for (const Json& item : list) tensors.push_back(item.is_null() ? Tensor() : tensor_of_json(item));
  return tensors;
}

PartialShape shape_of_json(const Json& json) {
  if (json.is_string()) return PartialShape::unknown();
  return PartialShape(json.get<std::vector<std::int64_t>>());
}

DType type_of_json(const Json& json) {
  return dtype_from_name((json.is_object() ? json.at("type") : json).get<std::string>());
}

template <class T, class Get>
std::vector<T> list_of(const Json& json, const Get& get) {
  std::vector<T> list;
  for (const Json& item : json) list.push_back(get(item));
  return list;
}

AttrValue attr_of_json(const std::string& kind, const Json& json) {
  const auto integer = [](const Json& v) { return v.get<std::int64_t>(); };
  const auto real = [](const Json& v) { return static_cast<float>(number(v)); };
  const auto shape = [](const Json& v) { return shape_of_json(v.is_object() ? v.at("shape") : v); };
  if (kind == "int") return integer(json);
  if (kind == "float") return real(json);
  if (kind == "bool") return json.get<bool>();
  if (kind == "string") return text_of(json);
  if (kind == "type") return type_of_json(json);
  if (kind == "shape") return shape(json);
  if (kind == "list(int)") return list_of<std::int64_t>(json, integer);
  if (kind == "list(float)") return list_of<float>(json, real);
  if (kind == "list(bool)") return list_of<bool>(json, [](const Json& v) { return v.get<bool>(); });
  if (kind == "list(string)") return list_of<std::string>(json, text_of);
  if (kind == "list(type)") return list_of<DType>(json, type_of_json);
  if (kind == "list(shape)") return list_of<PartialShape>(json, shape);
  if (kind == "func") return make_function_attr(json.get<std::string>());
  return {};
}

ArgDef arg_of_json(const Json& json) {
  ArgDef arg{.name = json.at("n")};
  if (json.contains("t")) arg.type = dtype_from_name(json.at("t").get<std::string>());
  arg.type_attr = json.value("ta", "");
  arg.number_attr = json.value("na", "");
  arg.type_list_attr = json.value("tla", "");
  arg.is_ref = json.value("ref", 0) != 0;
  return arg;
}

AttrDef attr_def_of_json(const Json& json) {
  AttrDef attr{.name = json.at("n"), .kind = json.at("t")};
  if (json.contains("d")) attr.default_value = attr_of_json(attr.kind, json.at("d"));
  if (json.contains("min")) attr.minimum = json.at("min").get<std::int64_t>();
  if (!json.contains("in")) return attr;
  for (const Json& allowed : json.at("in")) {
    const auto text = allowed.get<std::string>();
    if (attr.kind.find("type") == std::string::npos) {
      attr.allowed_strings.push_back(text);
    } else if (const DType type = dtype_from_name(text); type != DType::kInvalid) {
      attr.allowed_types.push_back(type);  // types that no CPU kernel of ours will have (float8) are left out
    }
  }
  return attr;
}

GoldenShapes::Shapes inferred_of_json(const Json& json) {
  if (json.is_string()) return std::nullopt;
  return list_of<PartialShape>(json, shape_of_json);
}

}  // namespace

std::map<std::string, OpDef> read_op_defs(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw not_found("cannot read '", path, "'");
  std::map<std::string, OpDef> defs;
  for (const Json& json : Json::parse(file)) {
    OpDef def{.name = json.at("op")};
    for (const Json& arg : json.at("in")) def.inputs.push_back(arg_of_json(arg));
    for (const Json& arg : json.at("out")) def.outputs.push_back(arg_of_json(arg));
    for (const Json& attr : json.at("attr")) def.attrs.push_back(attr_def_of_json(attr));
    def.stateful = json.value("stateful", 0) != 0;
    def.commutative = json.value("commutative", 0) != 0;
    def.aggregate = json.value("aggregate", 0) != 0;
    def.allows_uninitialized_input = json.value("uninit_in", 0) != 0;
    def.deprecated_version = json.value("deprecated", 0);
    defs.emplace(def.name, std::move(def));
  }
  return defs;
}

GoldenCall parse_golden_case(const std::string& line) {
  const Json json = Json::parse(line);
  GoldenCall golden{.op = json.at("op"), .id = json.at("id")};
  const OpDef& def = lookup_op(golden.op).def;
  if (json.contains("attrs")) {
    for (const auto& [name, value] : json.at("attrs").items()) {
      // Python's name for it.
      const AttrDef* attr = def.find_attr(golden.op == "Squeeze" && name == "axis" ? "squeeze_dims" : name);
      if (attr == nullptr) throw not_found(golden.id, ": no attribute '", name, "'");
      golden.attrs.emplace(attr->name, attr_of_json(attr->kind, value));
    }
  }
  for (const Json& input : json.at("in")) {
    golden.inputs.push_back(input.is_array() ? tensors_of_json(input) : std::vector{tensor_of_json(input)});
  }
  if (json.contains("out")) golden.outputs = tensors_of_json(json.at("out"));
  if (json.contains("out_second_run")) golden.second_outputs = tensors_of_json(json.at("out_second_run"));
  if (json.contains("grad")) {
    for (const Json& gradient : json.at("grad")) {
      golden.gradient.push_back(gradient.is_null() ? std::nullopt : std::optional(tensor_of_json(gradient)));
    }
  }
  if (json.contains("error")) {
    golden.error = static_cast<Code>(json.at("error").at("code").get<int>());
    golden.why = json.at("error").at("why");
  }
  return golden;
}

GoldenShapes parse_golden_shapes(const std::string& line) {
  const Json json = Json::parse(line);
  GoldenShapes shapes{.id = json.at("id")};
  if (json.contains("const")) shapes.constants = json.at("const").get<std::vector<int>>();
  shapes.known = inferred_of_json(json.at("known"));
  shapes.first_dim_unknown = inferred_of_json(json.at("first_dim_unknown"));
  shapes.rank_unknown = inferred_of_json(json.at("rank_unknown"));
  return shapes;
}

Tensor parse_tensor(const std::string& json) { return tensor_of_json(Json::parse(json)); }

std::string json_quoted(const std::string& text) {
  return Json(text).dump(-1, ' ', true, Json::error_handler_t::replace);
}

}  // namespace caudal::inline v0::harness
