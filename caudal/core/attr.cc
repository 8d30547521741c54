#include "caudal/core/attr.h"

#include <algorithm>
#include <ostream>

#include "caudal/base/error.h"

namespace caudal::inline v0 {
namespace {

template <class T>
void print(std::ostream& out, const T& value) {
  out << value;
}
void print(std::ostream& out, std::monostate) { out << "none"; }
void print(std::ostream& out, bool value) { out << (value ? "true" : "false"); }
void print(std::ostream& out, const std::string& value) { out << '"' << value << '"'; }
void print(std::ostream& out, const Tensor& value) { out << value.describe(); }
void print(std::ostream& out, const FunctionAttr& value) { out << value.name; }
void print(std::ostream& out, const AttrPlaceholder& value) { out << '$' << value.name; }
template <class T>
void print(std::ostream& out, const std::vector<T>& values) {
  out << '[';
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) out << ", ";
    print(out, static_cast<T>(values[i]));
  }
  out << ']';
}

struct Same {
  template <class T>
  bool operator()(const T& a, const T& b) const {
    return a == b;
  }
  bool operator()(const Tensor& a, const Tensor& b) const { return identical(a, b); }
  bool operator()(const std::vector<Tensor>& a, const std::vector<Tensor>& b) const {
    return std::ranges::equal(a, b, [](const Tensor& x, const Tensor& y) { return identical(x, y); });
  }
  template <class T, class U>
  bool operator()(const T&, const U&) const {
    return false;
  }
};

}  // namespace

std::string_view AttrValue::kind() const {
  static constexpr std::string_view kKinds[] = {
      "none",       "int",          "float",      "bool",        "string",       "type",
      "shape",      "tensor",       "func",       "placeholder", "list(int)",    "list(float)",
      "list(bool)", "list(string)", "list(type)", "list(shape)", "list(tensor)", "list(func)"};
  static_assert(std::size(kKinds) == std::variant_size_v<Value>);
  return kKinds[value_.index()];
}

std::string AttrValue::to_string() const { return internal::concat(*this); }

bool operator==(const AttrValue& a, const AttrValue& b) { return std::visit(Same{}, a.value(), b.value()); }

bool operator==(const FunctionAttr& a, const FunctionAttr& b) { return a.name == b.name && *a.attrs == *b.attrs; }

std::ostream& operator<<(std::ostream& out, const AttrValue& value) {
  std::visit([&](const auto& v) { print(out, v); }, value.value());
  return out;
}

FunctionAttr make_function_attr(std::string name, AttrMap attrs) {
  return {std::move(name), std::make_shared<const AttrMap>(std::move(attrs))};
}

const AttrValue* find_attr(const AttrMap& attrs, std::string_view name) {
  const auto found = attrs.find(name);
  return found == attrs.end() ? nullptr : &found->second;
}

namespace internal {
void throw_attr_mismatch(const AttrMap& attrs, std::string_view name, std::string_view wanted) {
  const AttrValue* attr = find_attr(attrs, name);
  if (attr == nullptr) throw invalid_argument("attribute '", name, "' of kind ", wanted, " is missing");
  throw invalid_argument("attribute '", name, "' is ", *attr, " of kind ", attr->kind(), "; kind ", wanted,
                         " is wanted");
}
}  // namespace internal

}  // namespace caudal::inline v0
