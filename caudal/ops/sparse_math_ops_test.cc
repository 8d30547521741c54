#include "caudal/ops/sparse_math_ops.h"

#include <gtest/gtest.h>

#include <limits>

#include "caudal/autodiff/gradient.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"

#include "tests/harness/sample_types.h"

namespace caudal::inline v0 {
namespace {

using harness::Check;
using harness::ints;
using harness::longs;
using harness::Samples;
using Ints = std::vector<std::int64_t>;
using Floats = std::vector<float>;

Tensor rows(std::int64_t width, const Ints& values) {
  return Tensor::from<std::int64_t>({static_cast<std::int64_t>(values.size()) / width, width}, values);
}
DType real_of(DType t) { return t == complex64 ? float32 : t == complex128 ? float64 : t; }

// Values of TensorFlow 2.21.
CAUDAL_OP_SAMPLES(SparseAdd) {
  samples.complex_gradient_lacks_conjugates();
  const Tensor a = rows(2, {0, 1, 1, 0}), b = rows(2, {0, 0, 0, 1}), shape = longs({2, 2});
  for (const DType t : {float32, float64, int8, int16, int32, int64, complex64, complex128}) {
    samples.add(
        {.inputs = {a, samples.random(t, {2}), shape, b, samples.random(t, {2}), shape, Tensor::zeros(real_of(t), {})},
         .shape_unknown = true});
  }
  samples.add({.inputs = {a, Tensor(Floats{1, 2}), shape, b, Tensor(Floats{3, 1}), shape, Tensor(2.0F)},
               .expected = {rows(2, {0, 0, 0, 1, 1, 0}), Tensor(Floats{3, 2, 2}), shape},
               .gradient = Check::kNo,
               .shape_unknown = true});
  samples.add({.inputs = {a, Tensor(Floats{1, 2}), shape, b, Tensor(Floats{3, -1}), shape, Tensor(0.5F)},
               .expected = {rows(2, {0, 0, 1, 0}), Tensor(Floats{3, 2}), shape},
               .gradient = Check::kNo,
               .shape_unknown = true});
  samples.error({a, ints({1, 2}), shape, b, ints({1, 2}), longs({2, 3}), Tensor(0)}, Code::kInvalidArgument);
  samples.error({a, ints({1, 2}), shape, rows(1, {0}), ints({1}), longs({2}), Tensor(0)}, Code::kInvalidArgument);
  samples.error({a, ints({1, 2}), shape, b, ints({1, 2}), shape, ints({0})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(SparseAddGrad) {
  for (const DType t : {float32, float64, int8, int16, int32, int64, complex64, complex128}) {
    samples.add({.inputs = {samples.random(t, {3}), rows(2, {0, 1, 1, 0}), rows(2, {0, 0, 0, 1}),
                            rows(2, {0, 0, 0, 1, 1, 0})}});
  }
  samples.add({.inputs = {ints({1, 3}), rows(2, {0, 1, 1, 0}), rows(2, {0, 0, 0, 1}), rows(2, {0, 0, 1, 0})},
               .expected = {ints({0, 3}), ints({1, 0})}});
  samples.error({ints({1}), rows(2, {0, 1}), rows(2, {0, 0}), rows(2, {0, 0, 0, 1})}, Code::kInvalidArgument);
}
TEST(SparseExtremes, HaveNoGradientAsInTensorFlow) {
  for (const auto extreme : {sparse::maximum, sparse::minimum}) {
    Graph graph;
    const GraphScope scope(graph);
    const Output values = constant(Tensor(Floats{1}));
    const SparseTensor one{constant(rows(1, {0})), values, constant(longs({2}))};
    try {
      gradients({extreme(one, one, {}).values}, {values});
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kUnimplemented);
    }
  }
}

CAUDAL_OP_SAMPLES(SparseSparseMaximum) {
  samples.covered_by("SparseExtremes.HaveNoGradientAsInTensorFlow");
  const Tensor a = rows(2, {0, 1, 1, 0}), b = rows(2, {0, 0, 0, 1}), shape = longs({2, 2});
  for (const DType t : harness::kRealTypes) {
    samples.add({.inputs = {a, samples.random(t, {2}), shape, b, samples.random(t, {2}), shape},
                 .gradient = Check::kNo,
                 .shape_unknown = true});
  }
  samples.add({.inputs = {a, ints({1, -2}), shape, b, ints({-3, 5}), shape},
               .expected = {rows(2, {0, 0, 0, 1, 1, 0}), ints({0, 5, 0})},
               .shape_unknown = true});
  samples.error({a, ints({1, 2}), longs({1, 2}), b, ints({1, 2}), longs({1, 2})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(SparseSparseMinimum) {
  samples.covered_by("SparseExtremes.HaveNoGradientAsInTensorFlow");
  const Tensor a = rows(2, {0, 1, 1, 0}), b = rows(2, {0, 0, 0, 1}), shape = longs({2, 2});
  for (const DType t : harness::kRealTypes) {
    samples.add({.inputs = {a, samples.random(t, {2}), shape, b, samples.random(t, {2}), shape},
                 .gradient = Check::kNo,
                 .shape_unknown = true});
  }
  samples.add({.inputs = {a, ints({1, -2}), shape, b, ints({-3, 5}), shape},
               .expected = {rows(2, {0, 0, 0, 1, 1, 0}), ints({-3, 1, -2})},
               .shape_unknown = true});
  samples.error({a, ints({1, 2}), shape, b, ints({1, 2}), longs({2, 3})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(SparseTensorDenseAdd) {
  for (const DType t : harness::kNumberTypes) {
    samples.add(
        {.inputs = {rows(2, {0, 1, 1, 2, 0, 1}), samples.random(t, {3}), longs({2, 3}), samples.random(t, {2, 3})}});
    samples.add(
        {.inputs = {Tensor::from<int>({1, 1}, {2}), samples.random(t, {1}), ints({4}), samples.random(t, {4})}});
  }
  samples.add({.inputs = {rows(2, {0, 1, 0, 1}), ints({5, 1}), longs({2, 2}), Tensor::from<int>({2, 2}, {1, 2, 3, 4})},
               .expected = {Tensor::from<int>({2, 2}, {1, 8, 3, 4})}});
  samples.error({rows(2, {0, 7}), ints({5}), longs({2, 2}), Tensor(int32, {2, 2})}, Code::kInvalidArgument);
  samples.error({rows(2, {0, 1}), ints({5}), longs({2, 3}), Tensor(int32, {2, 2})}, Code::kInvalidArgument);
}

void cwise(Samples& samples) {
  const Tensor indices = rows(2, {0, 1, 1, 0}), shape = longs({2, 2});
  for (const DType t : harness::kRealTypes) {
    const harness::ValueRange range{.low = 1, .high = 5};
    samples.add({.inputs = {indices, samples.random(t, {2}), shape, samples.random(t, {2, 2}, range)}});
  }
  for (const Shape& dense : {Shape{2}, Shape{2, 1}, Shape{1, 2}, Shape{}}) {
    samples.add({.inputs = {indices, samples.random(float64, {2}), shape,
                            samples.random(float64, dense, {.low = 1, .high = 5})}});
  }
  samples.error({rows(1, {1}), ints({5}), longs({2}), Tensor(int32, {2, 1})}, Code::kInvalidArgument);
  samples.error({indices, ints({5, 6}), shape, ints({1, 2, 3})}, Code::kInvalidArgument);
  samples.error({rows(2, {0, 5}), ints({5}), shape, ints({1, 2})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(SparseDenseCwiseAdd) { cwise(samples); }
CAUDAL_OP_SAMPLES(SparseDenseCwiseMul) { cwise(samples); }
CAUDAL_OP_SAMPLES(SparseDenseCwiseDiv) {
  cwise(samples);
  samples.add({.inputs = {rows(2, {0, 1}), ints({-5}), longs({2, 2}), ints({1, 2})}, .expected = {ints({-2})}});
  samples.add({.inputs = {rows(1, {0}), ints({std::numeric_limits<int>::min()}), longs({1}), ints({-1})},
               .expected = {ints({std::numeric_limits<int>::min()})}});
  samples.error({rows(2, {0, 1}), ints({5}), longs({2, 2}), ints({1, 0})}, Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(SparseTensorDenseMatMul) {
  const std::vector<DType> types = {float32, float64, float16, bfloat16, int32, complex64, complex128};
  for (const DType t : types) {
    samples.add(
        {.inputs = {rows(2, {0, 1, 1, 0, 0, 1}), samples.random(t, {3}), longs({2, 3}), samples.random(t, {3, 2})}});
    samples.add({.inputs = {Tensor::from<int>({2, 2}, {2, 1, 0, 0}), samples.random(t, {2}), longs({3, 2}),
                            samples.random(t, {4, 3})},
                 .attrs = {{"adjoint_a", true}, {"adjoint_b", true}}});
  }
  samples.add(
      {.inputs = {rows(2, {0, 1}), samples.random(float64, {1}), longs({3, 2}), samples.random(float64, {3, 2})},
       .attrs = {{"adjoint_a", true}}});
  samples.add(
      {.inputs = {rows(2, {0, 1, 2, 0}), samples.random(float64, {2}), longs({3, 2}), samples.random(float64, {5, 2})},
       .attrs = {{"adjoint_b", true}}});
  samples.add({.inputs = {rows(2, {0, 1}), Tensor::from<std::complex<float>>({1}, {{2, 1}}), longs({3, 2}),
                          Tensor::from<std::complex<float>>({3, 1}, {{1, 1}, {3, 3}, {5, 5}})},
               .attrs = {{"adjoint_a", true}},
               .expected = {Tensor::from<std::complex<float>>({2, 1}, {{0, 0}, {3, 1}})}});
  samples.add({.inputs = {Tensor(int64, {0, 2}), Tensor(float32, {0}), longs({2, 0}), Tensor(float32, {0, 3})}});
  samples.error({rows(2, {0, 5}), ints({2}), longs({2, 3}), Tensor(int32, {3, 2})}, Code::kInvalidArgument);
  samples.error({rows(2, {0, 1}), ints({2}), longs({2, 2}), Tensor(int32, {3, 2})}, Code::kInvalidArgument);
  samples.error({rows(2, {0, 1}), ints({2}), longs({2, 3}), ints({1, 2, 3})}, Code::kInvalidArgument);
}

}  // namespace
}  // namespace caudal::inline v0
