#include "caudal/tensor/tensor.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <ostream>

#include "caudal/base/error.h"
#include "caudal/tensor/allocation_limit.h"

namespace caudal::inline v0 {
namespace {

// Memory that holds C++ objects: makes them, and destroys them with the last reference.
template <class T>
class ObjectBuffer final : public Buffer {
 public:
  explicit ObjectBuffer(std::unique_ptr<T[]> objects, std::size_t count)
      : Buffer(objects.get(), count * sizeof(T), MemorySpace{}), objects_(std::move(objects)) {}

 private:
  std::unique_ptr<T[]> objects_;
};

template <class T>
BufferRef allocate_objects(std::int64_t count) {
  const auto n = static_cast<std::size_t>(count);
  if (n > most_allocatable_bytes() / sizeof(T))
    throw resource_exhausted("out of memory: ", n, " elements of ", sizeof(T), " bytes");
  try {
    return BufferRef(new ObjectBuffer<T>(std::make_unique<T[]>(n), n));
  } catch (const std::bad_alloc&) {
    throw resource_exhausted("out of memory: ", n, " elements of ", sizeof(T), " bytes could not be allocated");
  }
}

BufferRef allocate_elements(DType dtype, const Shape& shape, Allocator& allocator) {
  switch (dtype) {
    case DType::kInvalid:
      throw invalid_argument("a tensor needs an element type");
    case DType::kString:
      return allocate_objects<std::string>(shape.num_elements());
    case DType::kResource:
      return allocate_objects<ResourceHandle>(shape.num_elements());
    case DType::kVariant:
      return allocate_objects<Variant>(shape.num_elements());
    default: {
      std::size_t bytes;
      if (__builtin_mul_overflow(static_cast<std::size_t>(shape.num_elements()), dtype_size(dtype), &bytes)) {
        throw resource_exhausted("out of memory: ", dtype, shape, " has more bytes than can be addressed");
      }
      return allocator.allocate(bytes);
    }
  }
}

template <class T>
void copy_objects(const Tensor& from, Tensor& to) {
  const auto source = from.flat<T>();
  std::copy(source.begin(), source.end(), to.data<T>());
}

bool is_nan(float x) { return std::isnan(x); }
bool is_nan(double x) { return std::isnan(x); }
bool is_nan(Half x) { return std::isnan(static_cast<float>(x)); }
bool is_nan(BFloat16 x) { return std::isnan(static_cast<float>(x)); }

// Compares `parts` numbers per element: 2 for complex types.
template <class T>
bool same_floats(const Tensor& a, const Tensor& b, std::size_t parts = 1) {
  const std::size_t count = static_cast<std::size_t>(a.num_elements()) * parts;
  const auto* x = reinterpret_cast<const T*>(a.raw());
  const auto* y = reinterpret_cast<const T*>(b.raw());
  for (std::size_t i = 0; i < count; ++i) {
    const bool both_nan = is_nan(x[i]) && is_nan(y[i]);
    if (!both_nan && std::memcmp(&x[i], &y[i], sizeof(T)) != 0) return false;
  }
  return true;
}

}  // namespace

Resource::~Resource() = default;
VariantValue::~VariantValue() = default;

Tensor::Tensor(DType dtype, const Shape& shape, Allocator& allocator)
    : dtype_(dtype), shape_(shape), buffer_(allocate_elements(dtype, shape, allocator)) {}

Tensor::Tensor(DType dtype, const Shape& shape, BufferRef buffer, std::size_t byte_offset)
    : dtype_(dtype), shape_(shape), buffer_(std::move(buffer)), offset_(byte_offset) {}

Tensor::Tensor(float value) : Tensor(scalar(value)) {}
Tensor::Tensor(double value) : Tensor(scalar(value)) {}
Tensor::Tensor(int value) : Tensor(scalar<std::int32_t>(value)) {}
Tensor::Tensor(std::int64_t value) : Tensor(scalar(value)) {}
Tensor::Tensor(bool value) : Tensor(scalar(value)) {}
Tensor::Tensor(const char* value) : Tensor(scalar(std::string(value))) {}
Tensor::Tensor(std::string value) : Tensor(scalar(std::move(value))) {}

namespace {
template <class T>
Shape vector_shape(const std::vector<T>& values) {
  return Shape{static_cast<std::int64_t>(values.size())};
}
}  // namespace

Tensor::Tensor(const std::vector<float>& values) : Tensor(from(vector_shape(values), values)) {}
Tensor::Tensor(const std::vector<double>& values) : Tensor(from(vector_shape(values), values)) {}
Tensor::Tensor(const std::vector<int>& values) : Tensor(from(vector_shape(values), values)) {}
Tensor::Tensor(const std::vector<std::int64_t>& values) : Tensor(from(vector_shape(values), values)) {}
Tensor::Tensor(const std::vector<std::string>& values) : Tensor(from(vector_shape(values), values)) {}

Tensor Tensor::zeros(DType dtype, const Shape& shape, Allocator& allocator) {
  Tensor t(dtype, shape, allocator);
  if (is_plain(dtype)) std::memset(t.raw(), 0, t.byte_size());
  return t;
}

void Tensor::throw_wrong_type(DType wanted) const {
  throw internal_error("a ", dtype_, " tensor was read as ", wanted);
}

void Tensor::check_count(std::size_t count) const {
  if (count != static_cast<std::size_t>(num_elements())) {
    throw invalid_argument(count, " values for a tensor of shape ", shape_, ", which has ", num_elements(),
                           " elements");
  }
}

void Tensor::check_not_empty() const {
  if (num_elements() == 0) throw invalid_argument("an element of an empty tensor ", describe(), " was asked for");
}

std::int64_t Tensor::offset_of(std::span<const std::int64_t> index) const {
  if (static_cast<int>(index.size()) != rank()) {
    throw invalid_argument(index.size(), " indices for a tensor of shape ", shape_);
  }
  std::int64_t offset = 0;
  for (int i = 0; i < rank(); ++i) {
    if (index[i] < 0 || index[i] >= shape_[i]) {
      throw out_of_range("index ", index[i], " of dimension ", i, " in a tensor of shape ", shape_);
    }
    offset = offset * shape_[i] + index[i];
  }
  return offset;
}

std::vector<std::int64_t> Tensor::to_int64s() const {
  std::vector<std::int64_t> values(static_cast<std::size_t>(num_elements()));
  const auto copy = [&](auto zero) {
    using T = decltype(zero);
    std::copy_n(data<T>(), values.size(), values.begin());
  };
  switch (dtype_) {
    case DType::kInt64:
      copy(std::int64_t{});
      break;
    case DType::kInt32:
      copy(std::int32_t{});
      break;
    case DType::kInt16:
      copy(std::int16_t{});
      break;
    case DType::kInt8:
      copy(std::int8_t{});
      break;
    case DType::kUint8:
      copy(std::uint8_t{});
      break;
    case DType::kUint16:
      copy(std::uint16_t{});
      break;
    case DType::kUint32:
      copy(std::uint32_t{});
      break;
    case DType::kUint64:
      for (const std::uint64_t value : flat<std::uint64_t>()) {
        if (value > INT64_MAX) throw out_of_range("the integer ", value, " is beyond int64");
      }
      copy(std::uint64_t{});
      break;
    default:
      throw invalid_argument("integers are wanted here, not ", describe());
  }
  return values;
}

double Tensor::to_double() const {
  check_not_empty();
  switch (dtype_) {
    case DType::kFloat:
      return data<float>()[0];
    case DType::kDouble:
      return data<double>()[0];
    case DType::kHalf:
      return static_cast<float>(data<Half>()[0]);
    case DType::kBFloat16:
      return static_cast<float>(data<BFloat16>()[0]);
    case DType::kBool:
      return data<bool>()[0] ? 1 : 0;
    case DType::kUint64:
      return static_cast<double>(data<std::uint64_t>()[0]);
    default:
      return static_cast<double>(to_int64s()[0]);
  }
}

Tensor Tensor::reshape(const Shape& shape) const {
  if (shape.num_elements() != num_elements()) {
    throw invalid_argument("a tensor of shape ", shape_, " cannot be seen as ", shape, ": ", num_elements(),
                           " against ", shape.num_elements(), " elements");
  }
  Tensor t = *this;
  t.shape_ = shape;
  return t;
}

Tensor Tensor::rows(std::int64_t begin, std::int64_t end) const {
  if (rank() == 0 || begin < 0 || end < begin || end > shape_[0]) {
    throw invalid_argument("rows ", begin, " to ", end, " of a tensor of shape ", shape_);
  }
  Tensor t = *this;
  t.shape_ = shape_.with_dim(0, end - begin);
  const std::int64_t row = shape_[0] == 0 ? 0 : num_elements() / shape_[0];
  t.offset_ = offset_ + static_cast<std::size_t>(begin * row) * dtype_size(dtype_);
  return t;
}

Tensor Tensor::bitcast(DType dtype) const {
  if (!is_plain(dtype_) || !is_plain(dtype) || dtype_size(dtype) != dtype_size(dtype_)) {
    throw invalid_argument("the bytes of ", describe(), " cannot be read as ", dtype);
  }
  Tensor t = *this;
  t.dtype_ = dtype;
  return t;
}

Tensor Tensor::clone(Allocator& allocator) const {
  if (!valid()) return {};
  Tensor t(dtype_, shape_, allocator);
  switch (dtype_) {
    case DType::kString:
      copy_objects<std::string>(*this, t);
      break;
    case DType::kResource:
      copy_objects<ResourceHandle>(*this, t);
      break;
    case DType::kVariant:
      copy_objects<Variant>(*this, t);
      break;
    default:
      if (byte_size() > 0) std::memcpy(t.raw(), raw(), byte_size());
  }
  return t;
}

std::string Tensor::describe() const {
  if (!valid()) return "<no value>";
  return internal::concat(dtype_, shape_);
}

bool identical(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || !(a.shape() == b.shape())) return false;
  switch (a.dtype()) {
    case DType::kInvalid:
      return true;
    case DType::kFloat:
      return same_floats<float>(a, b);
    case DType::kDouble:
      return same_floats<double>(a, b);
    case DType::kHalf:
      return same_floats<Half>(a, b);
    case DType::kBFloat16:
      return same_floats<BFloat16>(a, b);
    case DType::kComplex64:
      return same_floats<float>(a, b, 2);
    case DType::kComplex128:
      return same_floats<double>(a, b, 2);
    case DType::kString:
      return std::ranges::equal(a.flat<std::string>(), b.flat<std::string>());
    case DType::kResource:
      return std::ranges::equal(a.flat<ResourceHandle>(), b.flat<ResourceHandle>(), [](const auto& x, const auto& y) {
        return x.container == y.container && x.name == y.name;
      });
    case DType::kVariant:
      return std::ranges::equal(a.flat<Variant>(), b.flat<Variant>(),
                                [](const auto& x, const auto& y) { return x.get() == y.get(); });
    default:
      return a.raw_bytes() == b.raw_bytes();
  }
}

}  // namespace caudal::inline v0
