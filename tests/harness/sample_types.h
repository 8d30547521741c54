// Lists of types, and the shapes that loops stumble over, for samples of ops that move elements without looking at
// them.
#pragma once

#include <utility>
#include <vector>

#include "tests/harness/op_samples.h"

namespace caudal::inline v0::harness {

inline const std::vector<DType> kRealTypes = {float32, float64, float16, bfloat16, int8,   int16,
                                              int32,   int64,   uint8,   uint16,   uint32, uint64};
inline const std::vector<DType> kNumberTypes = {float32, float64, float16, bfloat16, int8,   int16,     int32,
                                                int64,   uint8,   uint16,  uint32,   uint64, complex64, complex128};
// Numbers, bool, strings.
inline const std::vector<DType> kUsualTypes = {float32,   float64,    float16, bfloat16, int8,   int16,
                                               int32,     int64,      uint8,   uint16,   uint32, uint64,
                                               complex64, complex128, boolean, string};
// Whatever can be moved, quantised integers too.
inline const std::vector<DType> kMovedTypes = [] {
  std::vector<DType> types = kUsualTypes;
  types.insert(types.end(), {DType::kQint8, DType::kQuint8, DType::kQint16, DType::kQuint16, DType::kQint32});
  return types;
}();

// One input: each type, and ranks, empty tensors, SIMD tails, more than one thread's share.
inline void each_type_and_shape(Samples& samples, const std::vector<DType>& types, const AttrMap& attrs = {}) {
  for (const DType t : types) samples.add({.inputs = {samples.random(t, {2, 3})}, .attrs = attrs});
  for (const Shape& shape : {Shape{}, Shape{0}, Shape{1}, Shape{7}, Shape{2, 0, 3}, Shape{2, 3, 4, 5}, Shape{40000}}) {
    samples.add({.inputs = {samples.random(float32, shape)}, .attrs = attrs});
  }
}

// Integer vectors as inputs.
inline Tensor ints(const std::vector<int>& values) { return Tensor(values); }
inline Tensor longs(const std::vector<std::int64_t>& values) { return Tensor(values); }

}  // namespace caudal::inline v0::harness
