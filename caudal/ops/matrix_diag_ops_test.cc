#include "caudal/ops/matrix_diag_ops.h"

#include <gtest/gtest.h>

#include "caudal/autodiff/gradient.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/runtime/session.h"
#include "tests/harness/compare.h"
#include "tests/harness/op_samples.h"

namespace caudal::inline v0 {
namespace {

using harness::Samples;

const std::vector<DType> kTypes = {float32, float64, float16, bfloat16, int8,    int16,     int32,     int64,
                                   uint8,   uint16,  uint32,  uint64,   boolean, complex64, complex128};

Tensor ints(const std::vector<int>& values) { return values.size() == 1 ? Tensor(values[0]) : Tensor(values); }

void diag_samples(Samples& samples) {
  for (const DType t : kTypes) samples.add({.inputs = {samples.random(t, {2, 3})}});
  samples.add({.inputs = {samples.random(float64, {0})}});
  samples.add({.inputs = {samples.random(float64, {2, 2, 5})}});
  samples.error({samples.random(float32, {})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(MatrixDiag) { diag_samples(samples); }
CAUDAL_OP_SAMPLES(BatchMatrixDiag) { diag_samples(samples); }

void diag_part_samples(Samples& samples) {
  for (const DType t : kTypes) samples.add({.inputs = {samples.random(t, {2, 3, 4})}});
  samples.add({.inputs = {samples.random(float64, {4, 3})}});
  samples.add({.inputs = {samples.random(float64, {2, 0})}});
  samples.error({samples.random(float32, {3})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(MatrixDiagPart) { diag_part_samples(samples); }
CAUDAL_OP_SAMPLES(BatchMatrixDiagPart) { diag_part_samples(samples); }

void set_diag_samples(Samples& samples) {
  for (const DType t : kTypes) samples.add({.inputs = {samples.random(t, {2, 3, 4}), samples.random(t, {2, 3})}});
  samples.add({.inputs = {samples.random(float64, {4, 3}), samples.random(float64, {3})}});
  samples.add({.inputs = {samples.random(float64, {0, 3}), samples.random(float64, {0})}});
  samples.error({samples.random(float32, {3, 3}), samples.random(float32, {2})}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {3}), samples.random(float32, {3})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(MatrixSetDiag) { set_diag_samples(samples); }
CAUDAL_OP_SAMPLES(BatchMatrixSetDiag) { set_diag_samples(samples); }

std::vector<AttrMap> alignments(bool v3) {
  if (!v3) return {AttrMap{}};
  std::vector<AttrMap> all;
  for (const char* align : {"RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT"}) {
    all.push_back({{"align", std::string(align)}});
  }
  return all;
}

void diag_band_samples(Samples& samples, bool v3) {
  for (const DType t : kTypes) {
    samples.add({.inputs = {samples.random(t, {2, 3, 2}), ints({-1, 1}), 2, 3, samples.random(t, {})},
                 .undifferentiated_inputs = {4}});
  }
  for (const AttrMap& attrs : alignments(v3)) {
    const Tensor padding(0.5);
    samples.add({.inputs = {samples.random(float64, {2, 4}), ints({-1, 0}), 4, 4, padding},
                 .attrs = attrs,
                 .undifferentiated_inputs = {4}});
    samples.add({.inputs = {samples.random(float64, {3, 3}), ints({0, 2}), -1, -1, padding},
                 .attrs = attrs,
                 .undifferentiated_inputs = {4}});
    samples.add({.inputs = {samples.random(float64, {2, 3}), ints({2}), -1, 7, padding},
                 .attrs = attrs,
                 .undifferentiated_inputs = {4}});
    samples.add({.inputs = {samples.random(float64, {3}), ints({-2}), 5, -1, padding},
                 .attrs = attrs,
                 .undifferentiated_inputs = {4}});
  }
  const Tensor d = samples.random(float32, {2, 3});
  samples.error({d, ints({1, 0}), -1, -1, 0.0F}, Code::kInvalidArgument);
  samples.error({d, ints({0, 2}), -1, -1, 0.0F}, Code::kInvalidArgument);
  samples.error({d, ints({0}), 2, -1, 0.0F}, Code::kInvalidArgument);
  samples.error({d, ints({0}), 5, 5, 0.0F}, Code::kInvalidArgument);
  samples.error({d, Tensor(std::vector<int>{0, 1, 2}), -1, -1, 0.0F}, Code::kInvalidArgument);
  samples.error({d, ints({0}), ints({3, 3}), -1, 0.0F}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(MatrixDiagV2) { diag_band_samples(samples, false); }
CAUDAL_OP_SAMPLES(MatrixDiagV3) {
  diag_band_samples(samples, true);
  samples.golden_exception("MatrixDiagV3/0",
                           "TensorFlow cannot build the node while the number of diagonals is unknown; its values are "
                           "those of the next sample");
  samples.add({.inputs = {Tensor::from<float>({2, 3}, {-0.106F, -1.846F, 0.673F, 0.718F, -1.81F, -1.975F}),
                          ints({0, 1}), -1, -1, 9.0F},
               .expected = {Tensor::from<float>({3, 3}, {0.718F, -1.846F, 9, 9, -1.81F, 0.673F, 9, 9, -1.975F})},
               .undifferentiated_inputs = {4}});
}

void diag_part_band_samples(Samples& samples, bool v3) {
  for (const DType t : kTypes) {
    samples.add({.inputs = {samples.random(t, {2, 3, 4}), ints({-1, 2}), samples.random(t, {})},
                 .undifferentiated_inputs = {2}});
  }
  for (const AttrMap& attrs : alignments(v3)) {
    const Tensor padding(0.5);
    samples.add({.inputs = {samples.random(float64, {3, 4}), ints({-2, 3}), padding},
                 .attrs = attrs,
                 .undifferentiated_inputs = {2}});
    samples.add({.inputs = {samples.random(float64, {2, 4, 3}), ints({-3, -1}), padding},
                 .attrs = attrs,
                 .undifferentiated_inputs = {2}});
    samples.add({.inputs = {samples.random(float64, {4, 3}), ints({1}), padding},
                 .attrs = attrs,
                 .undifferentiated_inputs = {2}});
    samples.add({.inputs = {samples.random(float64, {3, 3}), ints({1, 2}), padding},
                 .attrs = attrs,
                 .undifferentiated_inputs = {2}});
  }
  samples.error({samples.random(float32, {3, 3}), ints({3}), 0.0F}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {3, 3}), ints({-3}), 0.0F}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {3, 3}), ints({1, -1}), 0.0F}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(MatrixDiagPartV2) { diag_part_band_samples(samples, false); }
CAUDAL_OP_SAMPLES(MatrixDiagPartV3) { diag_part_band_samples(samples, true); }

void set_diag_band_samples(Samples& samples, bool v3) {
  for (const DType t : kTypes) {
    samples.add({.inputs = {samples.random(t, {2, 3, 4}), samples.random(t, {2, 3, 3}), ints({-1, 1})}});
  }
  for (const AttrMap& attrs : alignments(v3)) {
    samples.add(
        {.inputs = {samples.random(float64, {3, 4}), samples.random(float64, {5, 3}), ints({-2, 2})}, .attrs = attrs});
    samples.add(
        {.inputs = {samples.random(float64, {2, 4, 3}), samples.random(float64, {2, 2}), ints({-2})}, .attrs = attrs});
  }
  samples.error({samples.random(float32, {3, 3}), samples.random(float32, {2}), ints({0})}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {3, 3}), samples.random(float32, {1}), ints({5})}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {3, 3}), samples.random(float32, {2, 3}), ints({-1, 1})},
                Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(MatrixSetDiagV2) { set_diag_band_samples(samples, false); }
CAUDAL_OP_SAMPLES(MatrixSetDiagV3) { set_diag_band_samples(samples, true); }

void band_part_samples(Samples& samples, const std::vector<DType>& dtypes) {
  const auto number = [](std::int64_t n) { return Tensor(n); };
  for (const DType t : dtypes) samples.add({.inputs = {samples.random(t, {2, 5, 4}), number(1), number(0)}});
  for (const auto& [lower, upper] :
       std::vector<std::pair<int, int>>{{0, 0}, {-1, 0}, {0, -1}, {-1, -1}, {2, 1}, {3, 5}}) {
    samples.add({.inputs = {samples.random(float64, {3, 5}), number(lower), number(upper)}});
  }
  samples.add({.inputs = {samples.random(float32, {0, 3}), number(0), number(1)}});
  samples.add({.inputs = {samples.random(float32, {70, 40}), number(5), number(7)}});
  samples.error({samples.random(float32, {3, 3}), number(4), number(0)}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {3, 3}), number(0), number(4)}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {3}), number(0), number(0)}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(MatrixBandPart) {
  band_part_samples(samples, kTypes);
  samples.add({.inputs = {samples.random(float64, {3, 5}), 1, 1}});
}
CAUDAL_OP_SAMPLES(BatchMatrixBandPart) { band_part_samples(samples, kTypes); }

class MatrixDiagTest : public testing::Test {
 protected:
  Tensor run(const Output& output) { return Session().run(output); }
  Graph graph_;
  GraphScope scope_{graph_};
};

TEST_F(MatrixDiagTest, Trace) {
  const Output x = constant({{1.0, 2.0}, {3.0, 4.0}});
  EXPECT_EQ(run(linalg::trace(x)).item<float>(), 5.0F);
  EXPECT_EQ(harness::difference(Tensor::from<float>({2, 2}, {1, 0, 0, 1}),
                                run(gradients({linalg::trace(x)}, {x})[0].dense()), 0),
            "");
}

TEST_F(MatrixDiagTest, AlignsShortDiagonals) {
  // tf.linalg.diag_part([[1, 2, 3], [4, 5, 6], [7, 8, 9]], k=(-1, 1), padding_value=0)
  const Output x = constant({{1, 2, 3}, {4, 5, 6}, {7, 8, 9}});
  EXPECT_TRUE(
      identical(run(linalg::diag_part(x, {.k = {-1, 1}})), Tensor::from<int>({3, 3}, {0, 2, 6, 1, 5, 9, 4, 8, 0})));
  EXPECT_TRUE(identical(run(linalg::diag_part(x, {.k = {-1, 1}, .align = "LEFT_RIGHT"})),
                        Tensor::from<int>({3, 3}, {2, 6, 0, 1, 5, 9, 0, 4, 8})));
}

TEST_F(MatrixDiagTest, BandPartTakesNumbers) {
  const Output x = constant({{1, 2}, {3, 4}});
  EXPECT_TRUE(identical(run(linalg::band_part(x, 0, -1)), Tensor::from<int>({2, 2}, {1, 2, 0, 4})));
}

}  // namespace
}  // namespace caudal::inline v0
