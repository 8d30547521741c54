// Tensor: an n-dimensional array, dense and row-major, that shares its memory when copied.
//
//   Tensor a = Tensor::from<float>({2, 2}, {1, 2, 3, 4});
//   a.at<float>(1, 0);            // 3
//   std::cout << a;               // [[1. 2.] [3. 4.]] as numpy prints it
//
// Ownership: copies share one Buffer. Thread safety: concurrent reads are fine; writing needs a tensor that nobody else
// sees (is_sole_owner()).
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/tensor/buffer.h"
#include "caudal/tensor/dtype.h"
#include "caudal/tensor/resource_handle.h"
#include "caudal/tensor/shape.h"
#include "caudal/tensor/variant.h"

namespace caudal::inline v0 {

class CAUDAL_API Tensor {
 public:
  // No tensor at all: dtype kInvalid. What an uninitialised variable holds.
  Tensor() = default;
  // Plain elements are not cleared; strings are empty, handles and variants default.
  // Throws RESOURCE_EXHAUSTED; INVALID_ARGUMENT for kInvalid.
  Tensor(DType dtype, const Shape& shape, Allocator& allocator = host_allocator());
  // Over memory that is already there (an arena slice). REQUIRES: is_plain(dtype), the bytes fit.
  Tensor(DType dtype, const Shape& shape, BufferRef buffer, std::size_t byte_offset = 0);

  // Scalars.
  Tensor(float value);         // NOLINT: feeds and constants read naturally
  Tensor(double value);        // NOLINT
  Tensor(int value);           // NOLINT
  Tensor(std::int64_t value);  // NOLINT
  Tensor(bool value);          // NOLINT
  Tensor(const char* value);   // NOLINT
  Tensor(std::string value);   // NOLINT
  template <class T>
  static Tensor scalar(T value) {
    Tensor t(dtype_of<T>(), Shape{});
    t.data<T>()[0] = std::move(value);
    return t;
  }

  // Vectors.
  Tensor(const std::vector<float>& values);         // NOLINT
  Tensor(const std::vector<double>& values);        // NOLINT
  Tensor(const std::vector<int>& values);           // NOLINT
  Tensor(const std::vector<std::int64_t>& values);  // NOLINT
  Tensor(const std::vector<std::string>& values);   // NOLINT

  // Copies `values`. Throws INVALID_ARGUMENT unless the shape has as many elements.
  template <class T>
  static Tensor from(const Shape& shape, std::span<const T> values) {
    Tensor t(dtype_of<T>(), shape);
    t.check_count(values.size());
    std::copy(values.begin(), values.end(), t.data<T>());
    return t;
  }
  template <class T>
  static Tensor from(const Shape& shape, std::initializer_list<T> values) {
    return from<T>(shape, std::span<const T>(values.begin(), values.size()));
  }
  template <class T>
  static Tensor from(const Shape& shape, const std::vector<T>& values) {
    Tensor t(dtype_of<T>(), shape);
    t.check_count(values.size());
    std::copy(values.begin(), values.end(), t.data<T>());
    return t;
  }
  static Tensor zeros(DType dtype, const Shape& shape, Allocator& allocator = host_allocator());
  static Tensor zeros_like(const Tensor& other) { return zeros(other.dtype(), other.shape()); }

  bool valid() const { return dtype_ != DType::kInvalid; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  int rank() const { return shape_.rank(); }
  std::int64_t dim(int i) const { return shape_[i]; }
  std::int64_t num_elements() const { return shape_.num_elements(); }
  // Bytes of the elements (of the C++ objects for strings, handles, variants).
  std::size_t byte_size() const { return static_cast<std::size_t>(num_elements()) * dtype_size(dtype_); }

  // Typed access to all elements in row-major order. Throws INTERNAL if T is not the element type.
  template <class T>
  T* data() {
    check_type(dtype_of<T>());
    return reinterpret_cast<T*>(raw());
  }
  template <class T>
  const T* data() const {
    check_type(dtype_of<T>());
    return reinterpret_cast<const T*>(raw());
  }
  template <class T>
  std::span<T> flat() {
    return {data<T>(), static_cast<std::size_t>(num_elements())};
  }
  template <class T>
  std::span<const T> flat() const {
    return {data<T>(), static_cast<std::size_t>(num_elements())};
  }
  // The first element. REQUIRES: num_elements() > 0.
  template <class T>
  const T& item() const {
    check_not_empty();
    return data<T>()[0];
  }
  template <class T, class... Index>
  const T& at(Index... index) const {
    const std::int64_t where[] = {static_cast<std::int64_t>(index)...};
    return data<T>()[offset_of(where)];
  }
  template <class T>
  std::vector<T> to_vector() const {
    const auto values = flat<T>();
    return std::vector<T>(values.begin(), values.end());
  }
  // Untyped bytes.
  char* raw() { return buffer_ ? static_cast<char*>(buffer_->data()) + offset_ : nullptr; }
  const char* raw() const { return buffer_ ? static_cast<const char*>(buffer_->data()) + offset_ : nullptr; }
  std::string_view raw_bytes() const { return {raw(), byte_size()}; }

  // Integers of any width as int64, for shapes and axes. Throws INVALID_ARGUMENT for other types.
  std::vector<std::int64_t> to_int64s() const;
  // One number of any real type as a double.
  double to_double() const;

  // True if no other tensor shares the memory, so that it may be overwritten.
  bool is_sole_owner() const { return buffer_ && buffer_->is_unique(); }
  bool is_lent() const { return buffer_ && buffer_->is_lent(); }
  const BufferRef& buffer() const { return buffer_; }
  std::size_t byte_offset() const { return offset_; }

  // Same memory, other shape. Throws INVALID_ARGUMENT unless the element counts agree.
  Tensor reshape(const Shape& shape) const;
  // Same memory, rows [begin, end) of the first dimension. REQUIRES: rank() > 0, 0 <= begin <= end <= dim(0).
  Tensor rows(std::int64_t begin, std::int64_t end) const;
  // Same bytes read as another plain type of the same size.
  Tensor bitcast(DType dtype) const;
  // Own memory.
  Tensor clone(Allocator& allocator = host_allocator()) const;
  // Itself if it may be kept beyond a step, else a clone.
  Tensor keep() const { return is_lent() ? clone() : *this; }

  // As numpy prints it, shortened above 1,000 elements.
  std::string to_string() const;
  // "float32[2,3]", for messages.
  std::string describe() const;

 private:
  void check_type(DType wanted) const {
    if (dtype_ != wanted) throw_wrong_type(wanted);
  }
  [[noreturn]] void throw_wrong_type(DType wanted) const;
  void check_count(std::size_t count) const;
  void check_not_empty() const;
  std::int64_t offset_of(std::span<const std::int64_t> index) const;

  DType dtype_ = DType::kInvalid;
  Shape shape_;
  BufferRef buffer_;
  std::size_t offset_ = 0;
};

CAUDAL_API std::ostream& operator<<(std::ostream& out, const Tensor& tensor);

// Same type, shape and elements; floats by bits except that all NaNs are equal. Handles compare by name, variants by
// identity.
CAUDAL_API bool identical(const Tensor& a, const Tensor& b);

}  // namespace caudal::inline v0
