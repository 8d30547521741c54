#include "caudal/ops/matmul.h"

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

const std::vector<DType> kTypes = {float16, bfloat16, float32, float64, int32, int64, complex64, complex128};

CAUDAL_OP_SAMPLES(MatMul) {
  for (const DType dtype : kTypes) {
    for (const bool ta : {false, true}) {
      for (const bool tb : {false, true}) {
        samples.add({.inputs = {samples.random(dtype, ta ? Shape{3, 2} : Shape{2, 3}),
                                samples.random(dtype, tb ? Shape{4, 3} : Shape{3, 4})},
                     .attrs = {{"transpose_a", ta}, {"transpose_b", tb}}});
      }
    }
    samples.add({.inputs = {samples.random(dtype, {33, 70}), samples.random(dtype, {70, 45})}, .tolerance = 2e-2});
    samples.add({.inputs = {samples.random(dtype, {2, 0}), samples.random(dtype, {0, 3})},
                 .expected = {Tensor::zeros(dtype, {2, 3})}});
    samples.add({.inputs = {samples.random(dtype, {0, 4}), samples.random(dtype, {4, 3})}});
  }
  samples.add({.inputs = {Tensor::from<float>({2, 2}, {1, 2, 3, 4}), Tensor::from<float>({2, 1}, {5, 6})},
               .expected = {Tensor::from<float>({2, 1}, {17, 39})}});
  samples.error({samples.random(float32, {2, 3}), samples.random(float32, {4, 2})}, Code::kInvalidArgument, {},
                "inner dimensions differ: a float32[2,3], b float32[4,2]");
  samples.error({samples.random(float32, {2, 3, 1}), samples.random(float32, {1, 3})}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {3}), samples.random(float32, {3, 1})}, Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(SparseMatMul) {
  for (const DType a : {float32, bfloat16}) {
    for (const DType b : {float32, bfloat16}) {
      for (const bool ta : {false, true}) {
        for (const bool tb : {false, true}) {
          samples.add({.inputs = {samples.random(a, ta ? Shape{3, 2} : Shape{2, 3}),
                                  samples.random(b, tb ? Shape{4, 3} : Shape{3, 4})},
                       .attrs = {{"transpose_a", ta}, {"transpose_b", tb}, {"a_is_sparse", true}}});
        }
      }
      samples.add({.inputs = {samples.random(a, {2, 0}), samples.random(b, {0, 3})},
                   .expected = {Tensor::zeros(float32, {2, 3})}});
    }
  }
  // Products of bfloat16 are summed without rounding.
  samples.add({.inputs = {Tensor::from<BFloat16>({1, 2}, {BFloat16(256.0F), BFloat16(1.0F)}),
                          Tensor::from<BFloat16>({2, 1}, {BFloat16(1.0F), BFloat16(1.0F)})},
               .expected = {Tensor::from<float>({1, 1}, {257})}});
  samples.error({samples.random(float32, {2, 3}), samples.random(bfloat16, {4, 2})}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {3}), samples.random(float32, {3, 1})}, Code::kInvalidArgument);
}

void batches(Samples& samples, bool broadcasts) {
  for (const DType dtype : kTypes) {
    for (const bool ta : {false, true}) {
      for (const bool tb : {false, true}) {
        samples.add({.inputs = {samples.random(dtype, ta ? Shape{2, 3, 2} : Shape{2, 2, 3}),
                                samples.random(dtype, tb ? Shape{2, 2, 3} : Shape{2, 3, 2})},
                     .attrs = {{"adj_x", ta}, {"adj_y", tb}}});
      }
    }
  }
  samples.add({.inputs = {samples.random(float64, {2, 3}), samples.random(float64, {3, 2})}});
  samples.add({.inputs = {samples.random(float64, {0, 2, 3}), samples.random(float64, {0, 3, 2})}});
  samples.error({samples.random(float32, {2, 2, 3}), samples.random(float32, {3, 3, 2})}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {2, 2, 3}), samples.random(float32, {2, 4, 2})}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {3}), samples.random(float32, {3, 1})}, Code::kInvalidArgument);
  if (!broadcasts) return;
  for (const auto& [x, y] : {std::pair<Shape, Shape>{{2, 1, 2, 3}, {3, 3, 2}},
                             {{2, 3}, {2, 2, 3, 1}},
                             {{2, 1, 3, 1, 1, 2}, {1, 4, 1, 2, 2, 1}},
                             {{1, 2, 3}, {4, 3, 2}},
                             {{2, 2, 1, 3}, {2, 1, 3, 1}}}) {
    samples.add({.inputs = {samples.random(float64, x), samples.random(float64, y)}});
  }
}
CAUDAL_OP_SAMPLES(BatchMatMul) { batches(samples, false); }
CAUDAL_OP_SAMPLES(BatchMatMulV2) {
  batches(samples, true);
  samples.add({.inputs = {samples.random(int16, {2, 2, 3}), samples.random(int16, {3, 2})}});
}

CAUDAL_OP_SAMPLES(BatchMatMulV3) {
  for (const DType t : {bfloat16, float32, float64, int16, int32, int64, complex64, complex128}) {
    samples.add({.inputs = {samples.random(t, {2, 1, 2, 3}), samples.random(t, {3, 3, 2})}, .attrs = {{"Tout", t}}});
    samples.add({.inputs = {samples.random(t, {3, 2}), samples.random(t, {2, 4, 3})},
                 .attrs = {{"Tout", t}, {"adj_x", true}, {"adj_y", true}}});
  }
  for (const DType a : {int8, uint8}) {
    for (const DType b : {int8, uint8}) {
      samples.add({.inputs = {samples.random(a, {2, 2, 3}), samples.random(b, {3, 2})}, .attrs = {{"Tout", int32}}});
    }
    samples.add(
        {.inputs = {samples.random(a, {2, 3}), samples.random(bfloat16, {3, 2})}, .attrs = {{"Tout", bfloat16}}});
    samples.add(
        {.inputs = {samples.random(bfloat16, {2, 3}), samples.random(a, {3, 2})}, .attrs = {{"Tout", bfloat16}}});
  }
  samples.add(
      {.inputs = {Tensor::from<std::int8_t>({1, 2}, {-128, 127}), Tensor::from<std::uint8_t>({2, 1}, {255, 255})},
       .attrs = {{"Tout", int32}},
       .expected = {Tensor::from<int>({1, 1}, {-255})}});
  samples.error({samples.random(float32, {2, 3}), samples.random(float32, {2, 3})}, Code::kInvalidArgument,
                {{"Tout", float32}});
}

class MatMulTest : public testing::Test {
 protected:
  Tensor run(const Output& output, const Feeds& feeds = {}) { return Session().run(output, feeds); }
  Graph graph_;
  GraphScope scope_{graph_};
};

TEST_F(MatMulTest, ErrorNamesBothOperandsTheLineAndWhatToDo) {
  const Output a = placeholder(float32, {50, 100}), b = placeholder(float32, {300, 10});
  try {
    matmul(a, b);
    FAIL();
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
    EXPECT_NE(text.find("inner dimensions differ: a float32[50,100], b float32[300,10]"), std::string::npos) << text;
    EXPECT_NE(text.find("matmul_test.cc:"), std::string::npos) << text;
    EXPECT_NE(text.find("Give b 100 rows, or transpose."), std::string::npos) << text;
  }
}

TEST_F(MatMulTest, ChecksSizesThatOnlyTheRunKnows) {
  const Output a = placeholder(float32, {-1, -1}), b = placeholder(float32, {-1, -1});
  const Output product = matmul(a, b);
  Session session;
  const Tensor square = Tensor::from<float>({2, 2}, {1, 2, 3, 4});
  EXPECT_THROW(session.run(product, {{a, square}, {b, Tensor::from<float>({1, 2}, {1, 2})}}), Error);
  EXPECT_TRUE(
      identical(session.run(product, {{a, square}, {b, square}}), Tensor::from<float>({2, 2}, {7, 10, 15, 22})));
}

TEST_F(MatMulTest, ChoosesTheOpByRank) {
  const Output a = placeholder(float32, {2, 3}), batch = placeholder(float32, {5, 3, 4});
  EXPECT_EQ(matmul(a, placeholder(float32, {3, 4})).node()->type(), "MatMul");
  EXPECT_EQ(matmul(a, batch).node()->type(), "BatchMatMulV2");
  EXPECT_EQ(matmul(a, batch).shape().to_string(), "[5,2,4]");
  EXPECT_EQ(matmul(a, placeholder(float32)).node()->type(), "BatchMatMulV2");
  EXPECT_THROW(matmul(a, a, {.transpose_b = true, .adjoint_b = true}), Error);
}

TEST_F(MatMulTest, AdjointsConjugateAndTransposesDoNot) {
  using C = std::complex<float>;
  const Output a = constant(Tensor::from<C>({1, 1}, {C(1, 2)})), one = constant(Tensor::from<C>({1, 1}, {C(1, 0)}));
  const Output batch = constant(Tensor::from<C>({1, 1, 1}, {C(1, 2)}));
  EXPECT_EQ(run(matmul(a, one, {.adjoint_a = true})).item<C>(), C(1, -2));
  EXPECT_EQ(run(matmul(a, one, {.transpose_a = true})).item<C>(), C(1, 2));
  EXPECT_EQ(run(matmul(batch, one, {.adjoint_a = true})).item<C>(), C(1, -2));
  EXPECT_EQ(run(matmul(batch, one, {.transpose_a = true})).item<C>(), C(1, 2));
}

TEST_F(MatMulTest, GradientsOfABroadcastOperandAreSummed) {
  const Output a = constant(Tensor::from<float>({1, 2}, {1, 2}));
  const Output b = constant(Tensor::from<float>({2, 2, 1}, {1, 2, 3, 4}));
  const auto grads = gradients({matmul(a, b)}, {a, b});
  EXPECT_TRUE(identical(run(grads[0].dense()), Tensor::from<float>({1, 2}, {4, 6})));
  EXPECT_TRUE(identical(run(grads[1].dense()), Tensor::from<float>({2, 2, 1}, {1, 2, 1, 2})));
}

}  // namespace
}  // namespace caudal::inline v0
