#include "caudal/ops/sparse_to_dense.h"

#include "tests/harness/sample_types.h"

namespace caudal::inline v0 {
namespace {

using harness::ints;
using harness::longs;
using harness::Samples;

// The types TensorFlow has kernels for.
std::vector<DType> written_types() {
  return {float32, float64, float16,       bfloat16,       int8,           int16,          int32,
          int64,   uint8,   uint16,        uint32,         uint64,         complex64,      complex128,
          boolean, string,  DType::kQint8, DType::kQuint8, DType::kQint16, DType::kQuint16};
}

CAUDAL_OP_SAMPLES(SparseToDense) {
  for (const DType t : written_types()) {
    samples.add({.inputs = {Tensor::from<int>({2, 2}, {0, 1, 1, 2}), ints({2, 3}), samples.random(t, {2}),
                            samples.random(t, {})}});
  }
  samples.add({.inputs = {Tensor(2), ints({5}), Tensor(9), Tensor(0)}, .expected = {ints({0, 0, 9, 0, 0})}});
  samples.add({.inputs = {longs({1, 3}), longs({5}), Tensor(8), Tensor(1)}, .expected = {ints({1, 8, 1, 8, 1})}});
  samples.add({.inputs = {longs({3, 1, 1}), longs({5}), ints({7, 8, 9}), Tensor(0)},
               .attrs = {{"validate_indices", false}},
               .expected = {ints({0, 9, 0, 7, 0})}});
  samples.add({.inputs = {longs({1, 3}), longs({5}), samples.random(float64, {}), samples.random(float64, {})}});
  samples.add({.inputs = {Tensor::from<int>({2, 3}, {0, 0, 1, 0, 2, 0}), ints({1, 3, 2}), samples.random(float64, {2}),
                          samples.random(float64, {})}});
  samples.add({.inputs = {Tensor(int32, {0, 2}), ints({2, 2}), Tensor(float32, {0}), Tensor(3.0F)},
               .expected = {Tensor::from<float>({2, 2}, {3, 3, 3, 3})}});
  samples.add({.inputs = {Tensor(int32, {0, 2}), ints({0, 2}), Tensor(float32, {0}), Tensor(3.0F)}});
  samples.error({longs({3, 1}), longs({5}), ints({7, 8}), Tensor(0)}, Code::kInvalidArgument, {},
                "indices[1] = [1] is out of order");
  samples.error({longs({1, 1}), longs({5}), ints({7, 8}), Tensor(0)}, Code::kInvalidArgument, {}, "is repeated");
  samples.error({longs({1, 7}), longs({5}), ints({7, 8}), Tensor(0)}, Code::kInvalidArgument,
                {{"validate_indices", false}}, "out of bounds");
  samples.error({Tensor::from<int>({1, 1, 1}, {1}), ints({5}), ints({7}), Tensor(0)}, Code::kInvalidArgument);
  samples.error({Tensor::from<int>({1, 2}, {1, 1}), ints({5}), ints({7}), Tensor(0)}, Code::kInvalidArgument);
  samples.error({ints({1}), ints({5}), ints({7, 8}), Tensor(0)}, Code::kInvalidArgument);
  samples.error({ints({1}), ints({5}), ints({7}), ints({0})}, Code::kInvalidArgument);
  samples.error({ints({1}), ints({-5}), ints({7}), Tensor(0)}, Code::kInvalidArgument);
}

}  // namespace
}  // namespace caudal::inline v0
