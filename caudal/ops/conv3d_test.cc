#include "caudal/ops/conv3d.h"

#include <gtest/gtest.h>

#include "caudal/autodiff/gradient.h"
#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/runtime/session.h"
#include "tests/harness/op_samples.h"

namespace caudal::inline v0 {
namespace {

using List = std::vector<std::int64_t>;

const List kOnes = {1, 1, 1, 1, 1};
const std::vector<DType> kFloats = {float16, bfloat16, float32, float64};

struct Geometry {
  Shape input, filter, output;
  AttrMap attrs;
};

std::vector<Geometry> geometries() {
  return {
      {{1, 1, 1, 1, 1}, {1, 1, 1, 1, 1}, {1, 1, 1, 1, 1}, {{"strides", kOnes}, {"padding", "VALID"}}},
      {{2, 2, 3, 2, 2}, {2, 3, 1, 2, 3}, {2, 2, 3, 2, 3}, {{"strides", kOnes}, {"padding", "SAME"}}},
      {{1, 3, 4, 5, 1}, {2, 2, 3, 1, 2}, {1, 1, 2, 2, 2}, {{"strides", List{1, 2, 2, 2, 1}}, {"padding", "VALID"}}},
      {{1, 3, 3, 2, 1}, {1, 2, 1, 1, 2}, {1, 1, 2, 1, 2}, {{"strides", List{1, 3, 2, 2, 1}}, {"padding", "SAME"}}},
      {{1, 3, 3, 4, 1},
       {2, 2, 2, 1, 2},
       {1, 1, 1, 2, 2},
       {{"strides", kOnes}, {"padding", "VALID"}, {"dilations", List{1, 2, 2, 2, 1}}}},
      {{1, 2, 2, 2, 4}, {1, 2, 2, 2, 4}, {1, 2, 2, 2, 4}, {{"strides", kOnes}, {"padding", "SAME"}}},  // two groups
  };
}

Tensor sizes(const Shape& shape) { return Tensor(std::vector<int>(shape.dims().begin(), shape.dims().end())); }

const AttrMap kSame = {{"strides", kOnes}, {"padding", "SAME"}};

CAUDAL_OP_SAMPLES(Conv3D) {
  for (const Geometry& g : geometries()) {
    for (const DType t : kFloats) {
      samples.add({.inputs = {samples.random(t, g.input), samples.random(t, g.filter)}, .attrs = g.attrs});
    }
  }
  const Tensor filter = samples.random(float32, {2, 2, 2, 2, 3});
  samples.add({.inputs = {samples.random(float32, {0, 3, 3, 3, 2}), filter}, .attrs = kSame});
  samples.error({samples.random(float32, {1, 3, 3, 3, 3}), filter}, Code::kInvalidArgument, kSame, "channels");
  samples.error({samples.random(float32, {1, 1, 3, 3, 2}), filter}, Code::kInvalidArgument,
                {{"strides", kOnes}, {"padding", "VALID"}}, "larger than the input");
  samples.error({samples.random(float32, {3, 3, 3, 2}), filter}, Code::kInvalidArgument, kSame);
  samples.error({samples.random(float32, {1, 3, 3, 3, 2}), filter}, Code::kInvalidArgument,
                {{"strides", List{1, 0, 1, 1, 1}}, {"padding", "SAME"}});
  samples.error({samples.random(float32, {1, 2, 3, 3, 3}), filter}, Code::kUnimplemented,
                {{"strides", kOnes}, {"padding", "SAME"}, {"data_format", "NCDHW"}}, "NDHWC");
}

void input_samples(harness::Samples& samples, bool shapes) {
  for (const Geometry& g : geometries()) {
    for (const DType t : kFloats) {
      if (!shapes && t == bfloat16) continue;
      samples.add({.inputs = {shapes ? sizes(g.input) : samples.random(t, g.input), samples.random(t, g.filter),
                              samples.random(t, g.output)},
                   .attrs = g.attrs});
    }
  }
  const Shape input = {1, 3, 3, 3, 2};
  samples.error({shapes ? sizes(input) : samples.random(float32, input), samples.random(float32, {2, 2, 2, 2, 3}),
                 samples.random(float32, {1, 3, 2, 3, 3})},
                Code::kInvalidArgument, kSame);
}

void filter_samples(harness::Samples& samples, bool shapes) {
  for (const Geometry& g : geometries()) {
    for (const DType t : kFloats) {
      if (!shapes && t == bfloat16) continue;
      samples.add({.inputs = {samples.random(t, g.input), shapes ? sizes(g.filter) : samples.random(t, g.filter),
                              samples.random(t, g.output)},
                   .attrs = g.attrs});
    }
  }
  const Shape filter = {2, 2, 2, 2, 3};
  samples.error({samples.random(float32, {1, 3, 3, 3, 2}), shapes ? sizes(filter) : samples.random(float32, filter),
                 samples.random(float32, {1, 3, 2, 3, 3})},
                Code::kInvalidArgument, kSame);
}

CAUDAL_OP_SAMPLES(Conv3DBackpropInputV2) {
  input_samples(samples, true);
  samples.add({.inputs = {Tensor(List{1, 2, 2, 2, 1}), samples.random(float32, {1, 1, 1, 1, 2}),
                          samples.random(float32, {1, 2, 2, 2, 2})},
               .attrs = kSame});
  samples.error({Tensor(List{1, -2, 2, 2, 1}), samples.random(float32, {1, 1, 1, 1, 2}),
                 samples.random(float32, {1, 2, 2, 2, 2})},
                Code::kInvalidArgument, kSame);
}
CAUDAL_OP_SAMPLES(Conv3DBackpropFilterV2) { filter_samples(samples, true); }
CAUDAL_OP_SAMPLES(Conv3DBackpropInput) { input_samples(samples, false); }
CAUDAL_OP_SAMPLES(Conv3DBackpropFilter) { filter_samples(samples, false); }

class Conv3dOp : public testing::Test {
 protected:
  Graph graph_;
  GraphScope scope_{graph_};
  Session session_{graph_};
};

TEST_F(Conv3dOp, SumsOverTheWindow) {
  const Output x = constant(Tensor::from<float>({1, 2, 2, 2, 1}, {1, 2, 3, 4, 5, 6, 7, 8}));
  const Output ones = constant(Tensor::from<float>({2, 2, 2, 1, 1}, {1, 1, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(session_.run(nn::conv3d(x, ones)).to_vector<float>(), std::vector<float>{36});
  EXPECT_EQ(session_.run(nn::conv3d(x, ones, {.padding = "SAME"})).to_vector<float>(),
            (std::vector<float>{36, 20, 22, 12, 26, 14, 15, 8}));
  const Output back = nn::conv3d_transpose(constant(Tensor::from<float>({1, 1, 1, 1, 1}, {2})), ones, {1, 2, 2, 2, 1},
                                           {.padding = "VALID"});
  EXPECT_EQ(session_.run(back).to_vector<float>(), std::vector<float>(8, 2));
}

TEST_F(Conv3dOp, ShapesAsFarAsTheyAreKnown) {
  const Output filter = placeholder(float32, {3, 3, 3, 2, 8});
  EXPECT_EQ(nn::conv3d(placeholder(float32, {-1, 9, -1, 5, 2}), filter).shape(), PartialShape({-1, 7, -1, 3, 8}));
  EXPECT_EQ(nn::conv3d(placeholder(float32, {4, 2, 9, 9, 9}), filter,
                       {.strides = {2}, .padding = "SAME", .data_format = "NCDHW"})
                .shape(),
            PartialShape({4, 8, 5, 5, 5}));
}

}  // namespace
}  // namespace caudal::inline v0
