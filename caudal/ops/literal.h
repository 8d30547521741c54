// Literal: a value as it is written in a program, with nested lists for more dimensions.
//
//   constant(3.0);  constant({1, 2, 3});  constant({{1.0, 2.0}, {3.0, 4.0}});  constant("text");
//
// Numbers in lists follow Python TensorFlow: whole numbers are int32, numbers with a fraction float32 (also where they
// are written as doubles); tensors and vectors of int64_t or double keep their type. A Literal is a value.
#pragma once

#include <initializer_list>
#include <string>
#include <type_traits>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0 {

class CAUDAL_API Literal {
 public:
  template <class T>
    requires std::is_arithmetic_v<T>
  Literal(T value) : Literal(make(value), true) {}                      // NOLINT: literals read naturally
  Literal(const char* value) : value_(value) {}                         // NOLINT
  Literal(std::string value) : value_(std::move(value)) {}              // NOLINT
  Literal(Tensor value) : value_(std::move(value)) {}                   // NOLINT
  Literal(const std::vector<float>& values) : value_(values) {}         // NOLINT
  Literal(const std::vector<double>& values) : value_(values) {}        // NOLINT
  Literal(const std::vector<int>& values) : value_(values) {}           // NOLINT
  Literal(const std::vector<std::int64_t>& values) : value_(values) {}  // NOLINT
  Literal(const std::vector<std::string>& values) : value_(values) {}   // NOLINT
  // A list, each item one step of the first dimension. Throws INVALID_ARGUMENT unless all items have one shape and
  // types that go together.
  Literal(std::initializer_list<Literal> items);  // NOLINT

  // The value with its own type, or converted to `dtype`. Throws INVALID_ARGUMENT if a fraction would be lost or a
  // string converted.
  Tensor to_tensor(DType dtype = DType::kInvalid) const;

 private:
  Literal(Tensor value, bool is_bare) : value_(std::move(value)), is_bare_(is_bare) {}
  template <class T>
  static Tensor make(T value) {
    if constexpr (std::is_same_v<T, bool>)
      return Tensor(value);
    else if constexpr (std::is_floating_point_v<T>)
      return Tensor(static_cast<double>(value));
    else if constexpr (sizeof(T) == 8)
      return Tensor(static_cast<std::int64_t>(value));
    else
      return Tensor(static_cast<std::int32_t>(value));
  }

  Tensor value_;
  bool is_bare_ = false;  // plain numbers: a double stands for a float32 unless another type is asked for
};

}  // namespace caudal::inline v0
