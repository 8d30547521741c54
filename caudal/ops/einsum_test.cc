#include "caudal/ops/einsum.h"

#include <gtest/gtest.h>

#include "caudal/autodiff/gradient.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/matmul.h"
#include "caudal/runtime/session.h"
#include "tests/harness/compare.h"
#include "tests/harness/op_samples.h"

namespace caudal::inline v0 {
namespace {

CAUDAL_OP_SAMPLES(Einsum) {
  const auto equation = [](const char* text) { return AttrMap{{"equation", std::string(text)}}; };
  for (const DType t : {float16, bfloat16, float32, float64, int32, int64, complex64, complex128}) {
    samples.add({.inputs = {{samples.random(t, {2, 3}), samples.random(t, {3, 4})}}, .attrs = equation("ij,jk->ik")});
    samples.add({.inputs = {{samples.random(t, {3, 3})}}, .attrs = equation("ii->i")});
  }
  struct Case {
    const char* text;
    Shape a;
    std::optional<Shape> b;
  };
  const std::vector<Case> cases = {
      {"i->", {4}, {}},
      {"ij->j", {2, 3}, {}},
      {"ij->ji", {2, 3}, {}},
      {"ii->", {3, 3}, {}},
      {"i->ii", {3}, {}},
      {"iij->ji", {2, 2, 3}, {}},
      {"...ii->...i", {2, 3, 3}, {}},
      {"...i->i...", {2, 3, 4}, {}},
      {"->", {}, {}},
      {"->...", {}, {}},
      {"a,b->...ab", {2}, Shape{2}},
      {"abc->b", {2, 3, 2}, {}},
      {",->", {}, Shape{}},
      {"i,->i", {3}, Shape{}},
      {"i,j->ij", {3}, Shape{2}},
      {"i,i->", {3}, Shape{3}},
      {"ij,ij->ij", {2, 3}, Shape{2, 3}},
      {"ij,kj->ki", {2, 3}, Shape{4, 3}},
      {"ji,jk->ik", {3, 2}, Shape{3, 4}},
      {"bij,bjk->bik", {2, 2, 3}, Shape{2, 3, 2}},
      {"bij,bkj->ibk", {2, 2, 3}, Shape{2, 2, 3}},
      {"...ij,...jk->...ik", {2, 1, 2, 3}, Shape{3, 3, 2}},
      {"a...,b...->ab...", {2}, Shape{3, 2}},
      {"a...,b...->...ba", {2, 1}, Shape{3, 2}},
      {"...ij,jk->...ik", {2, 2, 3}, Shape{3, 2}},
      {"ij...,...jk->...ik", {2, 3, 2}, Shape{1, 3, 2}},
      {"iij,jk->ik", {2, 2, 3}, Shape{3, 2}},
      {"ijk,k->jj", {2, 3, 2}, Shape{2}},
      {"ij,kl->jk", {2, 3}, Shape{2, 2}},
      {"abcd,dbe->ace", {2, 1, 2, 3}, Shape{3, 1, 2}},
      {"ij,jk->ik", {2, 0}, Shape{0, 3}},
      {"ij,jk->ik", {0, 2}, Shape{2, 3}},
      {"bhqd,bhkd->bhqk", {1, 2, 2, 3}, Shape{1, 2, 3, 3}},
  };
  for (const Case& c : cases) {
    harness::SampleInput input({harness::SampleValue(samples.random(float64, c.a))});
    if (c.b) input.values.emplace_back(samples.random(float64, *c.b));
    samples.add({.inputs = {input}, .attrs = equation(c.text), .name = c.text});
  }
  samples.add({.inputs = {{samples.random(float32, {40, 70}, {-1, 1}), samples.random(float32, {30, 70}, {-1, 1})}},
               .attrs = equation("ij,kj->ik")});
  const Tensor a = samples.random(float32, {2, 3}), b = samples.random(float32, {3, 4});
  for (const char* bad :
       {"ij,jk", "ij->ik", "ij,jk->il", "i,jk->ik", "ij,kj->ik", "i1,jk->ik", "i....,jk->ik", "ij,jk->ik->"}) {
    samples.error({{a, b}}, Code::kInvalidArgument, equation(bad));
  }
}

class EinsumTest : public testing::Test {
 protected:
  Tensor run(const Output& output) { return Session().run(output); }
  Graph graph_;
  GraphScope scope_{graph_};
};

TEST_F(EinsumTest, ResultsAreAlphabeticalWithoutAnArrow) {
  const Output x = constant({{1, 2, 3}, {4, 5, 6}});
  EXPECT_TRUE(identical(run(einsum("ba", {x})), Tensor::from<int>({3, 2}, {1, 4, 2, 5, 3, 6})));
  EXPECT_EQ(run(einsum("ii", {constant({{1, 2}, {3, 4}})})).item<int>(), 5);
  EXPECT_TRUE(identical(run(einsum(" ... j, j ", {x, constant({1, 0, 2})})), Tensor(std::vector<int>{7, 16})));
}

TEST_F(EinsumTest, ManyOperands) {
  const Output a = constant({{1.0, 2.0}, {3.0, 4.0}}), b = constant({{0.5, -1.0}, {2.0, 1.5}}),
               c = constant({{1.0}, {-2.0}});
  const Output product = einsum("ij,jk,kl->il", {a, b, c});
  EXPECT_EQ(harness::difference(run(matmul(matmul(a, b), c)), run(product), 1e-6), "");
  EXPECT_EQ(harness::difference(run(gradients({matmul(matmul(a, b), c)}, {b})[0].dense()),
                                run(gradients({product}, {b})[0].dense()), 1e-6),
            "");
  EXPECT_THROW(einsum("ij,jk->ik", {a, b, c}), Error);
}

}  // namespace
}  // namespace caudal::inline v0
