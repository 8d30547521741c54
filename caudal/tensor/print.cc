// Tensors as numpy prints them: one format for the whole array, columns aligned, long ones shortened.
// Source of the rules: numpy 2's arrayprint.py.
#include <algorithm>
#include <cstdio>
#include <ostream>

#include "caudal/base/error.h"
#include "caudal/tensor/number_text.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0 {
namespace {

constexpr std::int64_t kThreshold = 1000;  // more elements than this are shortened
constexpr std::int64_t kEdge = 3;          // elements shown at each end of a shortened dimension
constexpr std::size_t kLineWidth = 75;

// Bytes as Python's repr() writes them.
std::string quoted(const std::string& value) {
  const bool has_single = value.find('\'') != std::string::npos;
  const char quote = has_single && value.find('"') == std::string::npos ? '"' : '\'';
  std::string out = {'b', quote};
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\\' || c == quote) {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else if (byte < 32 || byte > 126) {
      char text[8];
      std::snprintf(text, sizeof text, "\\x%02x", byte);
      out += text;
    } else {
      out += c;
    }
  }
  return out + quote;
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

double real_part(const Tensor& tensor, std::int64_t i) {
  switch (tensor.dtype()) {
    case DType::kFloat:
      return tensor.data<float>()[i];
    case DType::kDouble:
      return tensor.data<double>()[i];
    case DType::kHalf:
      return static_cast<float>(tensor.data<Half>()[i]);
    case DType::kComplex64:
      return tensor.data<std::complex<float>>()[i].real();
    default:
      return tensor.data<std::complex<double>>()[i].real();
  }
}

double imaginary_part(const Tensor& tensor, std::int64_t i) {
  return tensor.dtype() == DType::kComplex64 ? tensor.data<std::complex<float>>()[i].imag()
                                             : tensor.data<std::complex<double>>()[i].imag();
}

// An element of a type that is written on its own, without regard to the others.
std::string plain_text(const Tensor& tensor, std::int64_t i) {
  switch (tensor.dtype()) {
    case DType::kBFloat16:
      return internal::concat(static_cast<float>(tensor.data<BFloat16>()[i]));  // six digits, as ml_dtypes has it
    case DType::kBool:
      return tensor.data<bool>()[i] ? "True" : "False";
    case DType::kString:
      return quoted(tensor.data<std::string>()[i]);
    case DType::kUint64:
      return std::to_string(tensor.data<std::uint64_t>()[i]);
    case DType::kQint8:
      return std::to_string(tensor.data<QInt8>()[i].value);
    case DType::kQuint8:
      return std::to_string(tensor.data<QUint8>()[i].value);
    case DType::kQint16:
      return std::to_string(tensor.data<QInt16>()[i].value);
    case DType::kQuint16:
      return std::to_string(tensor.data<QUint16>()[i].value);
    case DType::kQint32:
      return std::to_string(tensor.data<QInt32>()[i].value);
    case DType::kResource: {
      const auto& handle = tensor.data<ResourceHandle>()[i];
      return "<" + handle.type_name + " '" + handle.name + "'>";
    }
    case DType::kVariant: {
      const auto& value = tensor.data<Variant>()[i];
      return value.empty() ? "<empty>" : value.get()->to_string();
    }
    default: {
      const Tensor one(tensor.dtype(), Shape{}, tensor.buffer(),
                       tensor.byte_offset() + static_cast<std::size_t>(i) * dtype_size(tensor.dtype()));
      return std::to_string(one.to_int64s()[0]);
    }
  }
}

bool has_array_format(DType dtype) { return is_complex(dtype) || (is_floating(dtype) && dtype != DType::kBFloat16); }

DType part_type(DType dtype) {
  if (dtype == DType::kComplex64) return DType::kFloat;
  return dtype == DType::kComplex128 ? DType::kDouble : dtype;
}

std::string scalar_text(const Tensor& tensor) {
  const DType type = tensor.dtype();
  if (!has_array_format(type)) return plain_text(tensor, 0);
  if (!is_complex(type)) return internal::scalar_text(real_part(tensor, 0), type);
  return internal::scalar_text(std::complex<double>(real_part(tensor, 0), imaginary_part(tensor, 0)), part_type(type));
}

class Printer {
 public:
  explicit Printer(const Tensor& tensor) : tensor_(tensor), shorten_(tensor.num_elements() > kThreshold) {
    collect(0, 0);
    if (has_array_format(tensor.dtype())) {
      format_numbers();
    } else {
      format_others();
    }
  }

  std::string print() { return print_dimension(0); }

 private:
  void collect(int dimension, std::int64_t offset) {
    if (dimension == tensor_.rank()) {
      offsets_.push_back(offset);
      return;
    }
    for (const std::int64_t i : shown(tensor_.shape()[dimension], shorten_)) {
      if (i >= 0) collect(dimension + 1, offset * tensor_.shape()[dimension] + i);
    }
  }

  void format_numbers() {
    const DType type = part_type(tensor_.dtype());
    std::vector<double> values;
    for (const std::int64_t offset : offsets_) values.push_back(real_part(tensor_, offset));
    const internal::ArrayFormat format(values, type);
    for (const double value : values) words_.push_back(format(value));
    if (!is_complex(tensor_.dtype())) return;
    for (std::size_t k = 0; k < values.size(); ++k) values[k] = imaginary_part(tensor_, offsets_[k]);
    const internal::ArrayFormat imaginary(values, type, true);
    for (std::size_t k = 0; k < values.size(); ++k) {
      std::string word = imaginary(values[k]);
      word.insert(word.find_last_not_of(' ') + 1, "j");  // before the padding
      words_[k] += word;
    }
  }

  void format_others() {
    std::size_t width = tensor_.dtype() == DType::kBool ? 5 : 0;
    for (const std::int64_t offset : offsets_) {
      words_.push_back(plain_text(tensor_, offset));
      width = std::max(width, words_.back().size());
    }
    const DType type = tensor_.dtype();
    if (!is_plain(type) || type == DType::kBFloat16) return;
    for (std::string& word : words_) word.insert(0, width - word.size(), ' ');
  }

  std::string print_dimension(int dimension) {
    const bool last = dimension + 1 == tensor_.rank();
    const auto indices = shown(tensor_.shape()[dimension], shorten_);
    return last ? print_row(indices, static_cast<std::size_t>(dimension) + 1) : print_rows(indices, dimension);
  }

  // One line, or several that stay within the width.
  std::string print_row(const std::vector<std::int64_t>& indices, std::size_t indent) {
    const std::size_t width = kLineWidth - indent;  // room for the closing brackets
    std::string out = "[";
    std::size_t column = indent;
    bool first = true;
    for (const std::int64_t i : indices) {
      const std::string word = i < 0 ? "..." : words_[next_++];
      if (!first) {
        out += ' ';
        ++column;
      }
      if (column + word.size() > width && column > indent) {
        while (out.back() == ' ') out.pop_back();
        out += '\n';
        out.append(indent, ' ');
        column = indent;
      }
      out += word;
      column += word.size();
      first = false;
    }
    return out + "]";
  }

  std::string print_rows(const std::vector<std::int64_t>& indices, int dimension) {
    std::string out = "[";
    bool first = true;
    for (const std::int64_t i : indices) {
      if (!first) {
        out.append(static_cast<std::size_t>(tensor_.rank() - dimension - 1), '\n');
        out.append(static_cast<std::size_t>(dimension) + 1, ' ');
      }
      out += i < 0 ? "..." : print_dimension(dimension + 1);
      first = false;
    }
    return out + "]";
  }

  const Tensor& tensor_;
  bool shorten_;
  std::vector<std::int64_t> offsets_;  // of the elements shown
  std::vector<std::string> words_;     // their texts, padded
  std::size_t next_ = 0;
};

}  // namespace

std::string Tensor::to_string() const {
  if (!valid()) return "<no value>";
  if (rank() == 0) return scalar_text(*this);
  if (num_elements() == 0) return "[]";
  return Printer(*this).print();
}

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) { return out << tensor.to_string(); }

}  // namespace caudal::inline v0
