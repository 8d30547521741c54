// The value of a DT_VARIANT tensor: any type that registers itself with VariantRegistry (core/variant_registry.h).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "caudal/tensor/dtype.h"

namespace caudal::inline v0 {

// What a variant holds. Immutable once shared: operations make new values.
class CAUDAL_API VariantValue {
 public:
  virtual ~VariantValue();
  // The name under which the type is registered and serialised, e.g. "tensorflow::TensorList".
  virtual std::string_view type_name() const = 0;
  virtual std::string to_string() const { return "<" + std::string(type_name()) + ">"; }
};

class Variant {
 public:
  Variant() = default;
  explicit Variant(std::shared_ptr<const VariantValue> value) : value_(std::move(value)) {}
  bool empty() const { return value_ == nullptr; }
  const VariantValue* get() const { return value_.get(); }
  // The value as a T, or null if it is something else.
  template <class T>
  const T* as() const {
    return dynamic_cast<const T*>(value_.get());
  }

 private:
  std::shared_ptr<const VariantValue> value_;
};

}  // namespace caudal::inline v0
