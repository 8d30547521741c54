// Attribute values of nodes: the kinds of TensorFlow's AttrValue as one C++ value.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0 {

class AttrValue;
using AttrMap = std::map<std::string, AttrValue, std::less<>>;

// A function with the attributes that instantiate it.
struct FunctionAttr {
  std::string name;
  std::shared_ptr<const AttrMap> attrs;  // never null once made by make_function_attr
};

// The name of an attribute that an enclosing function will supply.
struct AttrPlaceholder {
  std::string name;
  friend bool operator==(const AttrPlaceholder&, const AttrPlaceholder&) = default;
};

class CAUDAL_API AttrValue {
 public:
  using Value = std::variant<std::monostate, std::int64_t, float, bool, std::string, DType, PartialShape, Tensor,
                             FunctionAttr, AttrPlaceholder, std::vector<std::int64_t>, std::vector<float>,
                             std::vector<bool>, std::vector<std::string>, std::vector<DType>, std::vector<PartialShape>,
                             std::vector<Tensor>, std::vector<FunctionAttr>>;

  AttrValue() = default;
  AttrValue(int value) : value_(std::int64_t{value}) {}                     // NOLINT
  AttrValue(std::int64_t value) : value_(value) {}                          // NOLINT
  AttrValue(float value) : value_(value) {}                                 // NOLINT
  AttrValue(double value) : value_(static_cast<float>(value)) {}            // NOLINT
  AttrValue(bool value) : value_(value) {}                                  // NOLINT
  AttrValue(const char* value) : value_(std::string(value)) {}              // NOLINT
  AttrValue(std::string_view value) : value_(std::string(value)) {}         // NOLINT
  AttrValue(std::string value) : value_(std::move(value)) {}                // NOLINT
  AttrValue(DType value) : value_(value) {}                                 // NOLINT
  AttrValue(PartialShape value) : value_(std::move(value)) {}               // NOLINT
  AttrValue(Tensor value) : value_(std::move(value)) {}                     // NOLINT
  AttrValue(FunctionAttr value) : value_(std::move(value)) {}               // NOLINT
  AttrValue(AttrPlaceholder value) : value_(std::move(value)) {}            // NOLINT
  AttrValue(std::vector<std::int64_t> value) : value_(std::move(value)) {}  // NOLINT
  AttrValue(std::vector<float> value) : value_(std::move(value)) {}         // NOLINT
  AttrValue(std::vector<bool> value) : value_(std::move(value)) {}          // NOLINT
  AttrValue(std::vector<std::string> value) : value_(std::move(value)) {}   // NOLINT
  AttrValue(std::vector<DType> value) : value_(std::move(value)) {}         // NOLINT
  AttrValue(std::vector<PartialShape> value) : value_(std::move(value)) {}  // NOLINT
  AttrValue(std::vector<Tensor> value) : value_(std::move(value)) {}        // NOLINT
  AttrValue(std::vector<FunctionAttr> value) : value_(std::move(value)) {}  // NOLINT

  const Value& value() const { return value_; }
  bool has_value() const { return value_.index() != 0; }
  template <class T>
  const T* get_if() const {
    return std::get_if<T>(&value_);
  }
  // "int", "list(type)" and so on, as op definitions name kinds; "none" for no value.
  std::string_view kind() const;
  std::string to_string() const;

 private:
  Value value_;
};

// Same kind and value; tensors by content.
CAUDAL_API bool operator==(const AttrValue& a, const AttrValue& b);
CAUDAL_API bool operator==(const FunctionAttr& a, const FunctionAttr& b);
CAUDAL_API std::ostream& operator<<(std::ostream& out, const AttrValue& value);

CAUDAL_API FunctionAttr make_function_attr(std::string name, AttrMap attrs = {});

// The attribute as a T. Throws INVALID_ARGUMENT, naming it, if it is missing or of another kind.
template <class T>
const T& attr_as(const AttrMap& attrs, std::string_view name);
// The value or null.
CAUDAL_API const AttrValue* find_attr(const AttrMap& attrs, std::string_view name);

namespace internal {
[[noreturn]] CAUDAL_API void throw_attr_mismatch(const AttrMap& attrs, std::string_view name, std::string_view wanted);
}

template <class T>
const T& attr_as(const AttrMap& attrs, std::string_view name) {
  const AttrValue* attr = find_attr(attrs, name);
  const T* value = attr == nullptr ? nullptr : attr->get_if<T>();
  if (value == nullptr) internal::throw_attr_mismatch(attrs, name, AttrValue(T{}).kind());
  return *value;
}

}  // namespace caudal::inline v0
