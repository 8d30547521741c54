#include "caudal/core/op_def.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "caudal/base/error.h"
#include "caudal/base/strings.h"

namespace caudal::inline v0 {
namespace {

using enum DType;

// TensorFlow's named type sets.
const std::vector<DType> kNumberTypes = {kFloat,     kDouble,     kInt64,  kInt32,  kUint8,  kInt16,    kInt8,
                                         kComplex64, kComplex128, kQint8,  kQuint8, kQint32, kBFloat16, kHalf,
                                         kUint16,    kUint32,     kUint64, kQint16, kQuint16};
const std::vector<DType> kRealNumberTypes = {kFloat, kDouble,   kInt32,  kUint8, kInt16,  kInt8,
                                             kInt64, kBFloat16, kUint16, kHalf,  kUint32, kUint64};
const std::vector<DType> kQuantizedTypes = {kQint8, kQuint8, kQint32, kQint16, kQuint16};

// Cuts at `separator` outside quotes and brackets.
std::vector<std::string_view> split_top_level(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  int depth = 0;
  bool quoted = false;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == separator && depth == 0 && !quoted)) {
      if (const auto part = trim(text.substr(begin, i - begin)); !part.empty()) parts.push_back(part);
      begin = i + 1;
    } else if (text[i] == '\'') {
      quoted = !quoted;
    } else if (!quoted && (text[i] == '{' || text[i] == '[' || text[i] == '(')) {
      ++depth;
    } else if (!quoted && (text[i] == '}' || text[i] == ']' || text[i] == ')')) {
      --depth;
    }
  }
  return parts;
}

class Parser {
 public:
  explicit Parser(std::string_view op) : op_(op) {}

  ArgDef arg(std::string_view text, const std::vector<AttrDef>& attrs) const {
    auto [name, rest] = halves(text, ':');
    if (name.empty()) fail(text, "a name is missing");
    ArgDef arg;
    arg.name = name;
    if (rest.starts_with("Ref(") && rest.ends_with(")")) {
      arg.is_ref = true;
      rest = trim(rest.substr(4, rest.size() - 5));
    }
    if (const auto star = rest.find('*'); star != std::string_view::npos) {
      arg.number_attr = trim(rest.substr(0, star));
      rest = trim(rest.substr(star + 1));
      const auto number = std::ranges::find(attrs, arg.number_attr, &AttrDef::name);
      if (number == attrs.end() || number->kind != "int") fail(text, "no such attribute of kind int");
    }
    if (const DType fixed = dtype_from_name(rest); fixed != kInvalid) {
      arg.type = fixed;
      return arg;
    }
    const auto attr = std::ranges::find(attrs, rest, &AttrDef::name);
    if (attr == attrs.end() || (attr->kind != "type" && attr->kind != "list(type)")) {
      fail(text, "no such type or attribute of kind type");
    }
    (attr->kind == "list(type)" ? arg.type_list_attr : arg.type_attr) = rest;
    return arg;
  }

  AttrDef attr(std::string_view text) const {
    auto [name, rest] = halves(text, ':');
    if (name.empty()) fail(text, "a name is missing");
    AttrDef attr;
    attr.name = name;
    std::string_view default_text;
    bool has_default = false;
    if (const auto equals = find_default(rest); equals != std::string_view::npos) {
      has_default = true;
      default_text = trim(rest.substr(equals + 1));
      rest = trim(rest.substr(0, equals));
    }
    if (const auto at_least = rest.find(">="); at_least != std::string_view::npos) {
      attr.minimum = integer(trim(rest.substr(at_least + 2)), text);
      rest = trim(rest.substr(0, at_least));
    }
    parse_kind(rest, attr, text);
    if (has_default) attr.default_value = value(attr.kind, default_text, text);
    return attr;
  }

 private:
  [[noreturn]] void fail(std::string_view text, std::string_view why) const {
    throw internal_error("definition of op ", op_, ", at '", text, "': ", why);
  }

  std::pair<std::string_view, std::string_view> halves(std::string_view text, char separator) const {
    const auto at = text.find(separator);
    if (at == std::string_view::npos) fail(text, "':' is missing");
    return {trim(text.substr(0, at)), trim(text.substr(at + 1))};
  }

  static std::size_t find_default(std::string_view text) {
    bool quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\'') quoted = !quoted;
      if (!quoted && text[i] == '=' && (i == 0 || text[i - 1] != '>')) return i;
    }
    return std::string_view::npos;
  }

  std::int64_t integer(std::string_view text, std::string_view whole) const {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) fail(whole, "a number is wanted");
    return number;
  }

  void parse_kind(std::string_view text, AttrDef& attr, std::string_view whole) const {
    const bool list = text.starts_with("list(") && text.ends_with(")");
    if (list) text = trim(text.substr(5, text.size() - 6));
    std::string kind;
    if (text.starts_with('{')) {
      if (!text.ends_with('}')) fail(whole, "'}' is missing");
      for (const auto item : split_top_level(text.substr(1, text.size() - 2), ',')) {
        if (item.starts_with('\'')) {
          kind = "string";
          attr.allowed_strings.push_back(unquoted(item, whole));
        } else {
          kind = "type";
          attr.allowed_types.push_back(type(item, whole));
        }
      }
    } else if (text == "numbertype") {
      kind = "type";
      attr.allowed_types = kNumberTypes;
    } else if (text == "realnumbertype") {
      kind = "type";
      attr.allowed_types = kRealNumberTypes;
    } else if (text == "quantizedtype") {
      kind = "type";
      attr.allowed_types = kQuantizedTypes;
    } else {
      static constexpr std::array kKinds = {"int", "float", "bool", "string", "type", "shape", "tensor", "func"};
      if (std::ranges::find(kKinds, text) == kKinds.end()) fail(whole, "no such kind");
      kind = text;
    }
    attr.kind = list ? "list(" + kind + ")" : kind;
  }

  DType type(std::string_view text, std::string_view whole) const {
    const DType dtype = dtype_from_name(text);
    if (dtype == kInvalid) fail(whole, "no such type");
    return dtype;
  }

  float real(std::string_view text, std::string_view whole) const {
    float number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) fail(whole, "a number is wanted");
    return number;
  }

  bool boolean(std::string_view text, std::string_view whole) const {
    if (text != "true" && text != "false") fail(whole, "true or false is wanted");
    return text == "true";
  }

  PartialShape shape(std::string_view text, std::string_view whole) const {
    if (text == "?") return PartialShape::unknown();
    if (!text.starts_with('[') || !text.ends_with(']')) fail(whole, "a shape is '?' or like [2,3]");
    std::vector<std::int64_t> dims;
    for (const auto item : split_top_level(text.substr(1, text.size() - 2), ',')) dims.push_back(integer(item, whole));
    return PartialShape(std::move(dims));
  }

  AttrValue value(const std::string& kind, std::string_view text, std::string_view whole) const {
    if (kind == "int") return integer(text, whole);
    if (kind == "float") return real(text, whole);
    if (kind == "bool") return boolean(text, whole);
    if (kind == "string") return unquoted(text, whole);
    if (kind == "type") return type(text, whole);
    if (kind == "shape") return shape(text, whole);
    if (kind == "tensor") return tensor(text, whole);
    if (kind.starts_with("list(")) return list(kind, text, whole);
    fail(whole, "no default of this kind");
  }

  // "uint8[255, 0, 0, 255]": a vector of bytes, the only tensor that is a default anywhere.
  Tensor tensor(std::string_view text, std::string_view whole) const {
    if (!text.starts_with("uint8[") || !text.ends_with(']')) fail(whole, "a tensor is like uint8[1, 2]");
    const auto values =
        each<std::uint8_t>(text.substr(5), [&](auto t) { return static_cast<std::uint8_t>(integer(t, whole)); });
    return Tensor::from<std::uint8_t>({static_cast<std::int64_t>(values.size())}, values);
  }

  std::string unquoted(std::string_view text, std::string_view whole) const {
    if (text.size() < 2 || text.front() != '\'' || text.back() != '\'') fail(whole, "a quoted text is wanted");
    return std::string(text.substr(1, text.size() - 2));
  }

  template <class T, class Convert>
  static std::vector<T> each(std::string_view text, Convert convert) {
    std::vector<T> values;
    for (const auto item : split_top_level(text.substr(1, text.size() - 2), ',')) values.push_back(convert(item));
    return values;
  }

  AttrValue list(std::string_view kind, std::string_view text, std::string_view whole) const {
    if (!text.starts_with('[') || !text.ends_with(']')) fail(whole, "a list is like [1, 2]");
    if (kind == "list(int)") return each<std::int64_t>(text, [&](auto t) { return integer(t, whole); });
    if (kind == "list(float)") return each<float>(text, [&](auto t) { return real(t, whole); });
    if (kind == "list(bool)") return each<bool>(text, [&](auto t) { return boolean(t, whole); });
    if (kind == "list(string)") return each<std::string>(text, [&](auto t) { return unquoted(t, whole); });
    if (kind == "list(type)") return each<DType>(text, [&](auto t) { return type(t, whole); });
    if (kind == "list(shape)") return each<PartialShape>(text, [&](auto t) { return shape(t, whole); });
    fail(whole, "no default of this kind");
  }

  std::string_view op_;
};

std::int64_t list_length(const AttrValue& value) {
  return std::visit(
      [](const auto& v) -> std::int64_t {
        if constexpr (requires {
                        v.size();
                        v.begin();
                      })
          return static_cast<std::int64_t>(v.size());
        return -1;
      },
      value.value());
}

void check_allowed(const AttrDef& def, const AttrValue& value) {
  const auto type_ok = [&](DType t) {
    return def.allowed_types.empty() || std::ranges::find(def.allowed_types, t) != def.allowed_types.end();
  };
  const auto string_ok = [&](const std::string& s) {
    return def.allowed_strings.empty() || std::ranges::find(def.allowed_strings, s) != def.allowed_strings.end();
  };
  bool ok = true;
  if (const auto* t = value.get_if<DType>()) ok = *t != kInvalid && type_ok(*t);
  if (const auto* ts = value.get_if<std::vector<DType>>()) ok = std::ranges::all_of(*ts, type_ok);
  if (const auto* s = value.get_if<std::string>()) ok = string_ok(*s);
  if (const auto* ss = value.get_if<std::vector<std::string>>()) ok = std::ranges::all_of(*ss, string_ok);
  if (!ok) {
    std::string allowed;
    for (const DType t : def.allowed_types) allowed += internal::concat(allowed.empty() ? "" : ", ", t);
    for (const auto& s : def.allowed_strings) allowed += internal::concat(allowed.empty() ? "" : ", ", '"', s, '"');
    throw invalid_argument("attribute '", def.name, "' may not be ", value, "; allowed: ", allowed);
  }
  if (!def.minimum) return;
  if (const auto* i = value.get_if<std::int64_t>(); i != nullptr && *i < *def.minimum) {
    throw invalid_argument("attribute '", def.name, "' is ", *i, "; at least ", *def.minimum, " is wanted");
  }
  if (const auto length = list_length(value); def.kind.starts_with("list(") && length < *def.minimum) {
    throw invalid_argument("attribute '", def.name, "' has ", length, " entries; at least ", *def.minimum,
                           " are wanted");
  }
}

// An empty list of any kind stands for an empty list of the wanted kind: files do not tell them apart.
bool retype_empty_list(const std::string& kind, AttrValue& value) {
  if (!kind.starts_with("list(") || list_length(value) != 0 || !value.kind().starts_with("list(")) return false;
  if (kind == "list(int)") value = std::vector<std::int64_t>{};
  if (kind == "list(float)") value = std::vector<float>{};
  if (kind == "list(bool)") value = std::vector<bool>{};
  if (kind == "list(string)") value = std::vector<std::string>{};
  if (kind == "list(type)") value = std::vector<DType>{};
  if (kind == "list(shape)") value = std::vector<PartialShape>{};
  if (kind == "list(tensor)") value = std::vector<Tensor>{};
  if (kind == "list(func)") value = std::vector<FunctionAttr>{};
  return true;
}

}  // namespace

const AttrDef* OpDef::find_attr(std::string_view wanted) const {
  const auto found = std::ranges::find(attrs, wanted, &AttrDef::name);
  return found == attrs.end() ? nullptr : &*found;
}

OpDef parse_op_def(std::string_view name, std::string_view inputs, std::string_view outputs, std::string_view attrs) {
  const Parser parser(name);
  OpDef def;
  def.name = name;
  for (const auto text : split_top_level(attrs, ';')) def.attrs.push_back(parser.attr(text));
  for (const auto text : split_top_level(inputs, ';')) def.inputs.push_back(parser.arg(text, def.attrs));
  for (const auto text : split_top_level(outputs, ';')) def.outputs.push_back(parser.arg(text, def.attrs));
  return def;
}

void complete_attrs(const OpDef& def, AttrMap& attrs) {
  for (const AttrDef& attr : def.attrs) {
    const auto found = attrs.find(attr.name);
    if (found == attrs.end()) {
      if (!attr.default_value) throw invalid_argument("attribute '", attr.name, "' of kind ", attr.kind, " is missing");
      attrs.emplace(attr.name, *attr.default_value);
      continue;
    }
    if (found->second.get_if<AttrPlaceholder>() != nullptr) continue;
    if (found->second.kind() != attr.kind && !retype_empty_list(attr.kind, found->second)) {
      throw invalid_argument("attribute '", attr.name, "' is ", found->second, " of kind ", found->second.kind(),
                             "; kind ", attr.kind, " is wanted");
    }
    check_allowed(attr, found->second);
  }
  for (const auto& [name, value] : attrs) {
    if (!name.starts_with('_') && def.find_attr(name) == nullptr) {
      throw invalid_argument("op ", def.name, " has no attribute '", name, "'");
    }
  }
}

namespace {

// How many tensors an argument stands for, and their types.
void expand(const ArgDef& arg, const AttrMap& attrs, std::vector<DType>& types) {
  if (!arg.type_list_attr.empty()) {
    const AttrValue* given = find_attr(attrs, arg.type_list_attr);
    if (given != nullptr && given->kind().starts_with("list(") && list_length(*given) == 0) return;
    const auto& list = attr_as<std::vector<DType>>(attrs, arg.type_list_attr);
    types.insert(types.end(), list.begin(), list.end());
    return;
  }
  const DType type = arg.type_attr.empty() ? arg.type : attr_as<DType>(attrs, arg.type_attr);
  const std::int64_t count = arg.number_attr.empty() ? 1 : attr_as<std::int64_t>(attrs, arg.number_attr);
  constexpr std::int64_t kMost = 1 << 20;
  if (count < 0 || count > kMost) throw invalid_argument("attribute '", arg.number_attr, "' is ", count);
  types.insert(types.end(), static_cast<std::size_t>(count), type);
}

}  // namespace

ArgTypes expand_args(const std::vector<ArgDef>& args, const AttrMap& attrs) {
  ArgTypes result;
  for (const ArgDef& arg : args) {
    expand(arg, attrs, result.types);
    result.refs.resize(result.types.size(), arg.is_ref);
  }
  return result;
}

ArgRange arg_range(const std::vector<ArgDef>& args, const AttrMap& attrs, std::string_view name) {
  std::vector<DType> types;
  for (const ArgDef& arg : args) {
    const int begin = static_cast<int>(types.size());
    expand(arg, attrs, types);
    if (arg.name == name) return {begin, static_cast<int>(types.size())};
  }
  throw internal_error("no argument '", name, "'");
}

}  // namespace caudal::inline v0
