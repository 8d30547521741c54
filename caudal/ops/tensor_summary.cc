#include "caudal/ops/tensor_summary.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>

namespace caudal::inline v0::ops {
namespace {

// Six digits if they are enough to tell the number, else nine; fifteen and seventeen for double.
std::string real_text(float value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.6g", static_cast<double>(value));
  if (std::strtof(text, nullptr) != value && value == value) {
    std::snprintf(text, sizeof text, "%.9g", static_cast<double>(value));
  }
  return text;
}

std::string real_text(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.15g", value);
  if (std::strtod(text, nullptr) != value && value == value) std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

// Bytes that are no text become escapes, as in C.
std::string escaped_text(const std::string& value) {
  std::string text;
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    switch (c) {
      case '\n':
        text += "\\n";
        break;
      case '\r':
        text += "\\r";
        break;
      case '\t':
        text += "\\t";
        break;
      case '"':
      case '\'':
      case '\\':
        text += '\\';
        text += c;
        break;
      default:
        if (byte >= 0x20 && byte != 0x7f) {
          text += c;
        } else {
          char code[8];
          std::snprintf(code, sizeof code, "\\%03o", byte);
          text += code;
        }
    }
  }
  return text;
}

template <class T>
std::string element_text(const T& value, bool) {
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    return real_text(value);
  } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return real_text(static_cast<float>(value));
  } else if constexpr (std::is_same_v<T, bool>) {
    return value ? "1" : "0";
  } else {
    return std::to_string(value);
  }
}

template <>
std::string element_text(const std::string& value, bool quoted) {
  return quoted ? '"' + escaped_text(value) + '"' : escaped_text(value);
}

using Element = std::function<std::string(std::int64_t)>;

template <class T>
Element elements_of(const Tensor& value, bool quoted) {
  const T* data = value.data<T>();
  return [data, quoted](std::int64_t i) { return element_text<T>(data[i], quoted); };
}

// Empty for types that are not written.
Element elements(const Tensor& value, bool quoted) {
  switch (value.dtype()) {
    case DType::kFloat:
      return elements_of<float>(value, quoted);
    case DType::kDouble:
      return elements_of<double>(value, quoted);
    case DType::kHalf:
      return elements_of<Half>(value, quoted);
    case DType::kBFloat16:
      return elements_of<BFloat16>(value, quoted);
    case DType::kInt8:
      return elements_of<std::int8_t>(value, quoted);
    case DType::kInt16:
      return elements_of<std::int16_t>(value, quoted);
    case DType::kInt32:
      return elements_of<std::int32_t>(value, quoted);
    case DType::kInt64:
      return elements_of<std::int64_t>(value, quoted);
    case DType::kUint8:
      return elements_of<std::uint8_t>(value, quoted);
    case DType::kUint16:
      return elements_of<std::uint16_t>(value, quoted);
    case DType::kUint32:
      return elements_of<std::uint32_t>(value, quoted);
    case DType::kUint64:
      return elements_of<std::uint64_t>(value, quoted);
    case DType::kBool:
      return elements_of<bool>(value, quoted);
    case DType::kString:
      return elements_of<std::string>(value, quoted);
    default:
      return {};
  }
}

// The first elements in order, rows in brackets.
class FirstElements {
 public:
  FirstElements(const Tensor& value, const Element& element, std::int64_t limit)
      : value_(value), element_(element), limit_(limit) {}

  std::string run() {
    if (value_.rank() == 0) {
      if (limit_ > 0) text_ = element_(0);
    } else {
      dimension(0);
    }
    if (value_.num_elements() > limit_) text_ += "...";
    return text_;
  }

 private:
  void dimension(int d) {
    for (std::int64_t i = 0; i < value_.dim(d) && next_ < limit_; ++i) {
      if (d + 1 == value_.rank()) {
        if (i > 0) text_ += ' ';
        text_ += element_(next_++);
        if (next_ == limit_ && i + 1 < value_.dim(d) && d > 0) text_ += "...";
      } else {
        text_ += '[';
        dimension(d + 1);
        text_ += ']';
      }
    }
  }

  const Tensor& value_;
  const Element& element_;
  const std::int64_t limit_;
  std::int64_t next_ = 0;
  std::string text_;
};

// Both ends of every dimension, laid out as numpy does.
class EndElements {
 public:
  EndElements(const Tensor& value, const Element& element, std::int64_t at_ends)
      : value_(value), element_(element), at_ends_(at_ends) {}

  std::string run() {
    dimension(0, 0);
    return text_;
  }

 private:
  void dimension(int d, std::int64_t first) {
    if (d == value_.rank()) {
      text_ += element_(first);
      return;
    }
    text_ += '[';
    const std::int64_t size = value_.dim(d);
    const std::int64_t step = rows(d + 1);
    const std::int64_t tail = std::max(std::min(at_ends_, size), size - at_ends_);
    for (std::int64_t i = 0; i < std::min(at_ends_, size); ++i) {
      if (i > 0) space(d);
      dimension(d + 1, first + i * step);
    }
    if (at_ends_ < size - at_ends_) {
      space(d);
      text_ += "...";
    }
    for (std::int64_t i = tail; i < size; ++i) {
      space(d);
      dimension(d + 1, first + i * step);
    }
    text_ += ']';
  }

  std::int64_t rows(int d) const {
    std::int64_t elements = 1;
    for (; d < value_.rank(); ++d) elements *= value_.dim(d);
    return elements;
  }

  void space(int d) {
    if (d + 1 == value_.rank()) {
      text_ += ' ';
      return;
    }
    text_.append(static_cast<std::size_t>(value_.rank() - 1 - d), '\n');
    text_.append(static_cast<std::size_t>(d + 1), ' ');
  }

  const Tensor& value_;
  const Element& element_;
  const std::int64_t at_ends_;
  std::string text_;
};

}  // namespace

std::string summarize(const Tensor& value, std::int64_t most) {
  const Element element = elements(value, false);
  if (!element) return "?";
  const std::int64_t all = value.num_elements();
  return FirstElements(value, element, most < 0 ? all : std::min(most, all)).run();
}

std::string summarize_ends(const Tensor& value, std::int64_t at_ends) {
  const Element element = elements(value, true);
  if (!element) return "?";
  const std::int64_t all = value.num_elements();
  return EndElements(value, element, at_ends < 0 ? all : std::min(at_ends, all)).run();
}

}  // namespace caudal::inline v0::ops
