// Tensor <-> TensorProto.
#pragma once

#include <cstddef>

#include "caudal/proto/types.pb.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0 {

// A few bytes can ask for a huge tensor (a large shape and one value that repeats); beyond this it is refused.
inline constexpr std::size_t kMaxRepeatedBytes = std::size_t{1} << 31;

// Raw bytes for numbers, string_val for strings, handles and variants by their fields.
pb::TensorProto to_proto(const Tensor& tensor);
// The same in typed fields (float_val, ...), as a reader of text wants it; one value alone if all are equal.
pb::TensorProto to_readable_proto(const Tensor& tensor);

// Throws INVALID_ARGUMENT for an unknown type, a shape that is none, more values than elements, content of another
// size; RESOURCE_EXHAUSTED above kMaxRepeatedBytes.
Tensor from_proto(const pb::TensorProto& proto, Allocator& allocator = host_allocator());

pb::TensorShapeProto to_proto(const PartialShape& shape);
PartialShape from_proto(const pb::TensorShapeProto& proto);
pb::DataType to_proto(DType dtype, bool is_ref = false);
// Throws INVALID_ARGUMENT for numbers that are no type of ours. Reference types give their value type.
DType from_proto(pb::DataType dtype);

}  // namespace caudal::inline v0
