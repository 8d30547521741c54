// Numbers as numpy writes them: the fewest digits that tell a value from its neighbours, in one format per array.
//
// Source of the rules: numpy 2's arrayprint.py (FloatingFormat, ComplexFloatingFormat) and its scalars' str().
// Internal to printing. Thread-compatible values.
#pragma once

#include <complex>
#include <cstddef>
#include <span>
#include <string>

#include "caudal/tensor/dtype.h"

namespace caudal::inline v0::internal {

// A number's value and the type whose neighbours it must be told from: kHalf, kFloat or kDouble.
std::string scalar_text(double value, DType type);
// "(1+2j)", "2j".
std::string scalar_text(std::complex<double> value, DType part_type);

// One format for all numbers of an array: notation, digits and width.
class ArrayFormat {
 public:
  // `plus`: positive numbers get a sign, as imaginary parts have it.
  ArrayFormat(std::span<const double> values, DType type, bool plus = false);
  std::string operator()(double value) const;

 private:
  std::string digits(double value) const;  // without padding
  void measure_finite(std::span<const double> values);

  DType type_;
  bool plus_;
  bool scientific_ = false;
  int fraction_ = 0;  // digits after the point in scientific notation
  int exponent_ = 2;  // digits of the exponent
  std::size_t left_ = 0, right_ = 0;
};

}  // namespace caudal::inline v0::internal
