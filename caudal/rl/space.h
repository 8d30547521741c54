// What an environment's observations and actions look like: Gymnasium's Box and Discrete.
//
// Values live in caller-given memory, row-major: a Box of its dtype and shape, a Discrete as one int64. Thread safety:
// a Space is a value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0::rl {

class CAUDAL_API Space {
 public:
  enum class Kind : std::uint8_t { kBox, kDiscrete };

  Space() = default;  // Discrete(1)
  // All elements between low and high, both included; infinite bounds are none. INVALID_ARGUMENT for dtypes other than
  // integers, float32 and float64, or low > high.
  static Space box(DType dtype, const Shape& shape, double low, double high);
  // Bounds element by element. INVALID_ARGUMENT unless there is one pair for each element.
  static Space box(DType dtype, const Shape& shape, std::vector<double> low, std::vector<double> high);
  // The integers 0 .. count-1, with a name for each or none ("NOOP", "FIRE", ...). INVALID_ARGUMENT if count < 1.
  static Space discrete(std::int64_t count, std::vector<std::string> meanings = {});

  Kind kind() const { return kind_; }
  bool is_discrete() const { return kind_ == Kind::kDiscrete; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  std::size_t byte_size() const { return static_cast<std::size_t>(shape_.num_elements()) * dtype_size(dtype_); }
  // Of a Box, by element in row-major order.
  double low(std::int64_t element) const {
    return low_.size() == 1 ? low_[0] : low_[static_cast<std::size_t>(element)];
  }
  double high(std::int64_t element) const {
    return high_.size() == 1 ? high_[0] : high_[static_cast<std::size_t>(element)];
  }
  // Of a Discrete.
  std::int64_t count() const { return count_; }
  const std::vector<std::string>& meanings() const { return meanings_; }

  // True if the value at `bytes` lies in the space. INVALID_ARGUMENT unless there are byte_size() bytes.
  bool contains(std::span<const std::byte> bytes) const;
  // A tensor of one value, or of `batch` values with the batch as its first dimension; not cleared.
  Tensor empty_value() const { return Tensor(dtype_, shape_); }
  Tensor empty_batch(std::int64_t batch) const { return Tensor(dtype_, shape_.insert(0, batch)); }

  // As Gymnasium prints it: "Discrete(6)", "Box(0, 255, (210, 160, 3), uint8)".
  std::string to_string() const;
  friend bool operator==(const Space&, const Space&) = default;

 private:
  Kind kind_ = Kind::kDiscrete;
  DType dtype_ = DType::kInt64;
  Shape shape_;
  std::vector<double> low_, high_;  // one for all elements or one for each
  std::int64_t count_ = 1;
  std::vector<std::string> meanings_;
};

// The bytes of a tensor, to write an observation into it. REQUIRES: plain elements.
inline std::span<std::byte> bytes_of(Tensor& tensor) {
  return {reinterpret_cast<std::byte*>(tensor.raw()), tensor.byte_size()};
}

// What an agent does: a choice of a Discrete space, or the values of a Box in row-major order. Only looks at the
// values.
class Action {
 public:
  Action(std::int64_t choice) : choice_(choice) {}                               // NOLINT: step(2) reads naturally
  Action(int choice) : choice_(choice) {}                                        // NOLINT
  Action(std::span<const float> values) : is_choice_(false), values_(values) {}  // NOLINT
  Action(const std::vector<float>& values) : Action(std::span<const float>(values)) {}  // NOLINT

  bool is_choice() const { return is_choice_; }
  std::int64_t choice() const { return choice_; }
  std::span<const float> values() const { return values_; }

 private:
  bool is_choice_ = true;
  std::int64_t choice_ = 0;
  std::span<const float> values_;
};

}  // namespace caudal::inline v0::rl
