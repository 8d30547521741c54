// Tensors as numpy prints them: one precision for the whole array, columns aligned, long ones shortened.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <ostream>

#include "caudal/base/error.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0 {
namespace {

constexpr std::int64_t kThreshold = 1000;  // numpy's: more elements than this are shortened
constexpr std::int64_t kEdge = 3;          // elements shown at each end of a shortened dimension
constexpr int kPrecision = 8;
constexpr std::size_t kLineWidth = 75;

std::string shortest(double value, bool single, bool scientific) {
  char text[64];
  // The fewest digits (at most kPrecision after the point) that give the same value back.
  for (int digits = 0; digits <= kPrecision; ++digits) {
    std::snprintf(text, sizeof text, scientific ? "%.*e" : "%.*f", digits, value);
    const double back = std::strtod(text, nullptr);
    if (single ? static_cast<float>(back) == static_cast<float>(value) : back == value) break;
  }
  return text;
}

std::string float_text(double value, bool single, bool scientific) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::string text = shortest(value, single, scientific);
  const auto exponent = text.find('e');
  if (text.find('.') == std::string::npos) text.insert(exponent == std::string::npos ? text.size() : exponent, ".");
  return text;
}

std::string quoted(const std::string& value) {
  std::string out = "b'";
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\\' || c == '\'') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (byte < 32 || byte > 126) {
      char text[8];
      std::snprintf(text, sizeof text, "\\x%02x", byte);
      out += text;
    } else {
      out += c;
    }
  }
  return out + "'";
}

// Indices of a dimension that are shown; -1 stands for "...".
std::vector<std::int64_t> shown(std::int64_t size, bool shorten) {
  std::vector<std::int64_t> indices;
  for (std::int64_t i = 0; i < size; ++i) {
    if (shorten && size > 2 * kEdge && i == kEdge) {
      indices.push_back(-1);
      i = size - kEdge - 1;
    } else {
      indices.push_back(i);
    }
  }
  return indices;
}

class Printer {
 public:
  explicit Printer(const Tensor& tensor) : tensor_(tensor), shorten_(tensor.num_elements() > kThreshold) {
    collect(0, 0);
    choose_format();
    for (auto& [offset, text] : cells_) {
      text = element(offset);
      const auto point = text.find('.');
      const std::size_t left = point == std::string::npos ? text.size() : point;
      left_ = std::max(left_, left);
      right_ = std::max(right_, text.size() - left);
    }
  }

  std::string print() {
    if (tensor_.rank() == 0) return cells_.empty() ? "" : cells_.front().second;
    if (tensor_.num_elements() == 0) return "[]";
    std::string out;
    next_ = 0;
    print_dimension(0, out);
    return out;
  }

 private:
  void collect(int dimension, std::int64_t offset) {
    if (dimension == tensor_.rank()) {
      if (tensor_.num_elements() > 0) cells_.emplace_back(offset, "");
      return;
    }
    for (const std::int64_t i : shown(tensor_.shape()[dimension], shorten_)) {
      if (i >= 0) collect(dimension + 1, offset * tensor_.shape()[dimension] + i);
    }
  }

  bool is_single() const { return tensor_.dtype() != DType::kDouble && tensor_.dtype() != DType::kComplex128; }

  double number(std::int64_t i) const {
    switch (tensor_.dtype()) {
      case DType::kFloat:
        return tensor_.data<float>()[i];
      case DType::kDouble:
        return tensor_.data<double>()[i];
      case DType::kHalf:
        return static_cast<float>(tensor_.data<Half>()[i]);
      default:
        return static_cast<float>(tensor_.data<BFloat16>()[i]);
    }
  }

  void choose_format() {
    if (!is_floating(tensor_.dtype())) return;
    double smallest = 0;
    double largest = 0;
    for (const auto& [offset, text] : cells_) {
      const double magnitude = std::fabs(number(offset));
      if (!std::isfinite(magnitude) || magnitude == 0) continue;
      smallest = smallest == 0 ? magnitude : std::min(smallest, magnitude);
      largest = std::max(largest, magnitude);
    }
    // numpy's rule for leaving positional notation.
    scientific_ = largest >= 1e8 || (smallest > 0 && (smallest < 1e-4 || largest / smallest > 1000) &&
                                     tensor_.rank() > 0 && (smallest < 1e-4));
  }

  std::string element(std::int64_t i) const {
    switch (tensor_.dtype()) {
      case DType::kFloat:
      case DType::kDouble:
      case DType::kHalf:
      case DType::kBFloat16:
        return float_text(number(i), is_single(), scientific_);
      case DType::kBool:
        return tensor_.data<bool>()[i] ? "True" : "False";
      case DType::kString:
        return quoted(tensor_.data<std::string>()[i]);
      case DType::kComplex64: {
        const auto z = tensor_.data<std::complex<float>>()[i];
        return complex_text(z.real(), z.imag());
      }
      case DType::kComplex128: {
        const auto z = tensor_.data<std::complex<double>>()[i];
        return complex_text(z.real(), z.imag());
      }
      case DType::kUint64:
        return std::to_string(tensor_.data<std::uint64_t>()[i]);
      case DType::kQint8:
        return std::to_string(tensor_.data<QInt8>()[i].value);
      case DType::kQuint8:
        return std::to_string(tensor_.data<QUint8>()[i].value);
      case DType::kQint16:
        return std::to_string(tensor_.data<QInt16>()[i].value);
      case DType::kQuint16:
        return std::to_string(tensor_.data<QUint16>()[i].value);
      case DType::kQint32:
        return std::to_string(tensor_.data<QInt32>()[i].value);
      case DType::kResource:
        return "<" + tensor_.data<ResourceHandle>()[i].type_name + " '" + tensor_.data<ResourceHandle>()[i].name + "'>";
      case DType::kVariant: {
        const auto& value = tensor_.data<Variant>()[i];
        return value.empty() ? "<empty>" : value.get()->to_string();
      }
      case DType::kInvalid:
        return "<no value>";
      default: {
        Tensor one(tensor_.dtype(), Shape{}, tensor_.buffer(),
                   tensor_.byte_offset() + static_cast<std::size_t>(i) * dtype_size(tensor_.dtype()));
        return std::to_string(one.to_int64s()[0]);
      }
    }
  }

  std::string complex_text(double real, double imaginary) const {
    const std::string tail = float_text(imaginary, is_single(), false);
    return float_text(real, is_single(), false) + (tail[0] == '-' ? "" : "+") + tail + "j";
  }

  // Numbers are aligned at the decimal point, strings to the left.
  std::string cell() {
    const std::string& text = cells_[next_++].second;
    if (tensor_.dtype() == DType::kString) return text;
    const auto point = text.find('.');
    const std::size_t left = point == std::string::npos ? text.size() : point;
    std::string padded(left_ - left, ' ');
    padded += text;
    padded.append(right_ - (text.size() - left), ' ');
    return padded;
  }

  void print_dimension(int dimension, std::string& out) {
    const bool last = dimension + 1 == tensor_.rank();
    out += '[';
    std::size_t column = static_cast<std::size_t>(dimension) + 1;
    bool first = true;
    for (const std::int64_t i : shown(tensor_.shape()[dimension], shorten_)) {
      if (last) {
        const std::string text = i < 0 ? "..." : cell();
        if (!first && column + 1 + text.size() > kLineWidth) {
          out += '\n';
          out.append(static_cast<std::size_t>(dimension) + 1, ' ');
          column = static_cast<std::size_t>(dimension) + 1;
        } else if (!first) {
          out += ' ';
          ++column;
        }
        out += text;
        column += text.size();
      } else {
        if (!first) {
          out.append(static_cast<std::size_t>(tensor_.rank() - dimension - 1), '\n');
          out.append(static_cast<std::size_t>(dimension) + 1, ' ');
        }
        if (i < 0) {
          out += "...";
        } else {
          print_dimension(dimension + 1, out);
        }
      }
      first = false;
    }
    out += ']';
  }

  const Tensor& tensor_;
  bool shorten_;
  bool scientific_ = false;
  std::vector<std::pair<std::int64_t, std::string>> cells_;
  std::size_t left_ = 0, right_ = 0, next_ = 0;
};

}  // namespace

std::string Tensor::to_string() const {
  if (!valid()) return "<no value>";
  return Printer(*this).print();
}

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) { return out << tensor.to_string(); }

}  // namespace caudal::inline v0
