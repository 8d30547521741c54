#include "caudal/tensor/number_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace caudal::inline v0::internal {
namespace {

constexpr int kPrecision = 8;  // numpy's: digits after the point in arrays

// A finite number as 0.d1d2d3... * 10^(exponent + 1): the shortest digits that give the same value back.
struct Decimal {
  bool negative = false;
  std::string digits;  // at least one; no zeros at the end
  int exponent = 0;    // of the first digit
};

Decimal decimal_of(double value, DType type) {
  char text[64];
  char* end = text;
  const double magnitude = std::fabs(value);
  if (type == DType::kDouble) {
    end = std::to_chars(text, text + sizeof text - 1, magnitude, std::chars_format::scientific).ptr;
  } else if (type == DType::kFloat) {
    end = std::to_chars(text, text + sizeof text - 1, static_cast<float>(magnitude), std::chars_format::scientific).ptr;
  } else {
    const Half wanted(static_cast<float>(magnitude));
    for (int precision = 0; precision < 8; ++precision) {
      end = text + std::snprintf(text, sizeof text, "%.*e", precision, magnitude);
      if (Half(std::strtof(text, nullptr)).bits == wanted.bits) break;
    }
  }
  *end = '\0';
  const std::string_view all(text, static_cast<std::size_t>(end - text));
  const auto e = all.find('e');
  Decimal decimal;
  decimal.negative = std::signbit(value);
  for (const char c : all.substr(0, e)) {
    if (c != '.') decimal.digits += c;
  }
  while (decimal.digits.size() > 1 && decimal.digits.back() == '0') decimal.digits.pop_back();
  decimal.exponent = std::atoi(text + e + 1);
  return decimal;
}

std::string positional(const Decimal& decimal) {
  std::string text = decimal.negative ? "-" : "";
  const int whole = decimal.exponent + 1;  // digits before the point
  const int count = static_cast<int>(decimal.digits.size());
  for (int i = 0; i < std::max(whole, 1); ++i) text += whole > 0 && i < count ? decimal.digits[i] : '0';
  text += '.';
  for (int i = whole; i < 0 && decimal.digits != "0"; ++i) text += '0';
  if (whole < count && decimal.digits != "0") text += decimal.digits.substr(std::max(whole, 0));
  return text;
}

std::string exponent_text(int exponent, int digits) {
  char text[16];
  std::snprintf(text, sizeof text, "e%c%0*d", exponent < 0 ? '-' : '+', digits, std::abs(exponent));
  return text;
}

void drop_trailing_zeros(std::string& text) {
  while (text.back() == '0') text.pop_back();
}

// Digits after the point are cut at kPrecision, with correct rounding.
std::string array_positional(double value, DType type) {
  std::string text = positional(decimal_of(value, type));
  if (text.size() - text.find('.') - 1 <= kPrecision) return text;
  char rounded[400];
  std::snprintf(rounded, sizeof rounded, "%.*f", kPrecision, value);
  text = rounded;
  drop_trailing_zeros(text);
  return text;
}

// "-1.25" and the exponent -3 for -0.00125.
std::pair<std::string, int> array_scientific(double value, DType type) {
  const Decimal decimal = decimal_of(value, type);
  if (decimal.digits.size() <= kPrecision + 1) {
    return {(decimal.negative ? "-" : "") + decimal.digits.substr(0, 1) + "." + decimal.digits.substr(1),
            decimal.digits == "0" ? 0 : decimal.exponent};
  }
  char rounded[64];
  std::snprintf(rounded, sizeof rounded, "%.*e", kPrecision, value);
  std::string mantissa = std::string(rounded, std::string_view(rounded).find('e'));
  const int exponent = std::atoi(rounded + mantissa.size() + 1);
  drop_trailing_zeros(mantissa);
  return {mantissa, exponent};
}

std::string not_finite_text(double value, bool plus) {
  if (std::isnan(value)) return plus ? "+nan" : "nan";
  return value < 0 ? "-inf" : plus ? "+inf" : "inf";
}

// `value` as the type rounds it.
double rounded_to(double value, DType type) {
  if (type == DType::kDouble) return value;
  const auto single = static_cast<float>(value);
  return type == DType::kHalf ? static_cast<float>(Half(single)) : single;
}

// From where on a scalar of the type is written with an exponent.
double largest_positional(DType type) { return type == DType::kDouble ? 1e16 : type == DType::kFloat ? 1e6 : 1e3; }

// A part of a scalar: positional for everyday sizes; `point`: keep ".0" of whole numbers.
std::string part_text(double value, DType type, bool point) {
  if (!std::isfinite(value)) return not_finite_text(value, false);
  const double magnitude = std::fabs(value);
  const Decimal decimal = decimal_of(value, type);
  std::string text;
  if (magnitude == 0 || (magnitude >= 1e-4 && magnitude < largest_positional(type))) {
    text = positional(decimal);
    if (text.back() == '.') {
      if (point) {
        text += '0';
      } else {
        text.pop_back();
      }
    }
    return text;
  }
  text = (decimal.negative ? "-" : "") + decimal.digits.substr(0, 1);
  if (decimal.digits.size() > 1) text += "." + decimal.digits.substr(1);
  return text + exponent_text(decimal.exponent, 2);
}

}  // namespace

std::string scalar_text(double value, DType type) { return part_text(value, type, true); }

std::string scalar_text(std::complex<double> value, DType part_type) {
  std::string imaginary = part_text(value.imag(), part_type, false) + "j";
  if (value.real() == 0 && !std::signbit(value.real())) return imaginary;
  if (imaginary[0] != '-') imaginary = "+" + imaginary;
  return "(" + part_text(value.real(), part_type, false) + imaginary + ")";
}

ArrayFormat::ArrayFormat(std::span<const double> values, DType type, bool plus) : type_(type), plus_(plus) {
  std::vector<double> finite;
  bool negative_infinity = plus;
  for (const double value : values) {
    if (std::isfinite(value)) finite.push_back(value);
    negative_infinity |= std::isinf(value) && value < 0;
  }
  if (!finite.empty()) measure_finite(finite);
  if (finite.size() == values.size()) return;
  const std::size_t longest = negative_infinity ? 4 : 3;
  if (longest > right_ + 1) left_ = std::max(left_, longest - (right_ + 1));
}

void ArrayFormat::measure_finite(std::span<const double> values) {
  double smallest = 0;
  double largest = 0;
  for (const double value : values) {
    const double magnitude = std::fabs(value);
    if (magnitude == 0) continue;
    smallest = smallest == 0 ? magnitude : std::min(smallest, magnitude);
    largest = std::max(largest, magnitude);
  }
  scientific_ = largest >= 1e8 ||
                (smallest > 0 && (smallest < rounded_to(1e-4, type_) || rounded_to(largest / smallest, type_) > 1000));
  for (const double value : values) {
    std::string text;
    if (scientific_) {
      auto [mantissa, exponent] = array_scientific(value, type_);
      exponent_ = std::max(exponent_, static_cast<int>(std::to_string(std::abs(exponent)).size()));
      text = std::move(mantissa);
    } else {
      text = array_positional(value, type_);
    }
    const std::size_t point = text.find('.');
    const std::size_t sign = plus_ && text[0] != '-' ? 1 : 0;
    left_ = std::max(left_, point + sign);
    right_ = std::max(right_, text.size() - point - 1);
  }
  if (scientific_) {
    fraction_ = static_cast<int>(right_);
    right_ += static_cast<std::size_t>(exponent_) + 2;
  }
}

std::string ArrayFormat::digits(double value) const {
  std::string text;
  if (scientific_) {
    const auto [mantissa, exponent] = array_scientific(value, type_);
    text = mantissa;
    text.append(static_cast<std::size_t>(fraction_) - (text.size() - text.find('.') - 1), '0');
    text += exponent_text(exponent, exponent_);
  } else {
    text = array_positional(value, type_);
  }
  return plus_ && text[0] != '-' ? "+" + text : text;
}

std::string ArrayFormat::operator()(double value) const {
  if (!std::isfinite(value)) {
    const std::string text = not_finite_text(value, plus_);
    const std::size_t width = left_ + right_ + 1;
    return std::string(width > text.size() ? width - text.size() : 0, ' ') + text;
  }
  std::string text = digits(value);
  const std::size_t point = text.find('.');
  if (point < left_) text.insert(0, left_ - point, ' ');
  const std::size_t width = left_ + 1 + right_;
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

}  // namespace caudal::inline v0::internal
