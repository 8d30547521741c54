#include "caudal/formats/tensor_messages.h"

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

}  // namespace caudal::inline v0
