#include "caudal/formats/tensor_messages.h"

#include <cstring>

#include "caudal/base/error.h"

namespace caudal::inline v0 {

WireWriter encode_shape(const Shape& shape) {
  WireWriter out;
  for (const int64_t size : shape.dims()) {
    WireWriter dim;
    dim.varint_unless_default(1, static_cast<uint64_t>(size));
    out.message(2, dim);
  }
  return out;
}

Shape decode_shape(std::string_view bytes) {
  std::vector<int64_t> dims;
  for (WireReader shape(bytes, "tensor shape"); shape.next();) {
    if (shape.field() != 2) continue;
    int64_t size = 0;
    for (WireReader dim(shape.bytes(), "dimension"); dim.next();)
      if (dim.field() == 1) size = dim.int64();
    dims.push_back(size);
  }
  if (dims.size() > kMaxRank || !checked_num_elements(dims)) throw data_loss("malformed tensor shape");
  return Shape(dims);
}

WireWriter encode_slice(const TensorSlice& slice) {
  WireWriter out;
  for (const TensorSlice::Extent& extent : slice.extents()) {
    WireWriter message;
    if (extent.length != TensorSlice::kWhole) {
      message.varint_unless_default(1, static_cast<uint64_t>(extent.start));
      message.varint(2, static_cast<uint64_t>(extent.length));
    }
    out.message(1, message);
  }
  return out;
}

TensorSlice decode_slice(std::string_view bytes) {
  std::vector<TensorSlice::Extent> extents;
  for (WireReader slice(bytes, "tensor slice"); slice.next();) {
    if (slice.field() != 1) continue;
    TensorSlice::Extent extent;
    for (WireReader message(slice.bytes(), "extent"); message.next();) {
      if (message.field() == 1) extent.start = message.int64();
      if (message.field() == 2) extent.length = message.int64();
    }
    extents.push_back(extent);
  }
  return TensorSlice(std::move(extents));
}

DType decode_dtype(uint64_t number) {
  const auto dtype = static_cast<DType>(number);
  if (number == 0 || number > static_cast<uint64_t>(DType::kUint64))
    throw unimplemented("element type number ", number);
  return dtype;
}

ValueField value_field(DType dtype) {
  switch (dtype) {
    case DType::kFloat:
      return {5, StoredValues::kFloats};
    case DType::kDouble:
      return {6, StoredValues::kDoubles};
    case DType::kInt32:
    case DType::kInt16:
    case DType::kInt8:
    case DType::kUint16:
    case DType::kUint8:
    case DType::kQint8:
    case DType::kQuint8:
    case DType::kQint16:
    case DType::kQuint16:
    case DType::kQint32:
      return {7, StoredValues::kIntegers};
    case DType::kString:
      return {8, StoredValues::kStrings};
    case DType::kComplex64:
      return {9, StoredValues::kFloats};
    case DType::kInt64:
      return {10, StoredValues::kIntegers};
    case DType::kBool:
      return {11, StoredValues::kIntegers};
    case DType::kComplex128:
      return {12, StoredValues::kDoubles};
    case DType::kHalf:
    case DType::kBFloat16:
      return {13, StoredValues::kBits16};
    case DType::kUint32:
      return {16, StoredValues::kIntegers};
    case DType::kUint64:
      return {17, StoredValues::kIntegers};
    default:
      return {0, StoredValues::kNone};
  }
}
namespace {

bool is_signed(DType dtype) {
  switch (dtype) {
    case DType::kInt8:
    case DType::kInt16:
    case DType::kInt32:
    case DType::kInt64:
    case DType::kQint8:
    case DType::kQint16:
    case DType::kQint32:
      return true;
    default:
      return false;
  }
}

// Element i as the number that a varint holds, negative ones in 64 bits.
std::uint64_t integer_at(const Tensor& tensor, std::int64_t i) {
  const std::size_t size = dtype_size(tensor.dtype());
  std::uint64_t value = 0;
  std::memcpy(&value, static_cast<const char*>(tensor.raw()) + i * size, size);
  if (!is_signed(tensor.dtype()) || size == sizeof value) return value;
  const int shift = static_cast<int>(64 - 8 * size);
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(value << shift) >> shift);
}

}  // namespace

WireWriter encode_values(const Tensor& tensor) {
  const ValueField field = value_field(tensor.dtype());
  WireWriter out;
  if (tensor.num_elements() == 0) return out;
  switch (field.stored) {
    case StoredValues::kFloats:
    case StoredValues::kDoubles:
      out.bytes(field.number, tensor.raw_bytes());
      break;
    case StoredValues::kIntegers:
    case StoredValues::kBits16: {
      std::string packed;
      for (std::int64_t i = 0; i < tensor.num_elements(); ++i) put_varint(&packed, integer_at(tensor, i));
      out.bytes(field.number, packed);
      break;
    }
    case StoredValues::kStrings:
      for (const std::string& value : tensor.flat<std::string>()) out.bytes(field.number, value);
      break;
    case StoredValues::kNone:
      break;
  }
  return out;
}

WireWriter encode_tensor(const Tensor& tensor) {
  if (!is_plain(tensor.dtype()) && tensor.dtype() != DType::kString) {
    throw unimplemented("values of type ", tensor.dtype(), " in a message");
  }
  WireWriter out;
  out.varint(1, static_cast<std::uint64_t>(tensor.dtype()));
  out.message(2, encode_shape(tensor.shape()));
  if (is_plain(tensor.dtype())) {
    out.bytes_unless_default(4, tensor.raw_bytes());
  } else {
    for (const std::string& value : tensor.flat<std::string>()) out.bytes(8, value);
  }
  return out;
}

}  // namespace caudal::inline v0
