// Messages of tensorflow/core/framework that checkpoints consist of, encoded by hand: TensorShapeProto,
// TensorSliceProto and the number of a DataType.
//
// Decoding throws DATA_LOSS for malformed bytes. Thread safety: functions of their arguments.
#pragma once

#include <cstdint>
#include <string_view>

#include "caudal/formats/tensor_slice.h"
#include "caudal/formats/wire.h"
#include "caudal/tensor/dtype.h"
#include "caudal/tensor/shape.h"

namespace caudal::inline v0 {

WireWriter encode_shape(const Shape& shape);
Shape decode_shape(std::string_view bytes);

WireWriter encode_slice(const TensorSlice& slice);
TensorSlice decode_slice(std::string_view bytes);

// UNIMPLEMENTED for a type unknown here.
DType decode_dtype(uint64_t number);

// How TensorProto holds the values of a type: the number of its repeated field and what stands in it.
enum class StoredValues { kFloats, kDoubles, kIntegers, kBits16, kStrings, kNone };
struct ValueField {
  int number;
  StoredValues stored;
};
// Number 0 for a type whose values TensorProto does not hold.
ValueField value_field(DType dtype);

// A TensorProto of the values alone, each in the field of its type.
WireWriter encode_values(const Tensor& tensor);
// A TensorProto with type and shape; plain values as tensor_content. UNIMPLEMENTED for resources and variants.
WireWriter encode_tensor(const Tensor& tensor);

}  // namespace caudal::inline v0
