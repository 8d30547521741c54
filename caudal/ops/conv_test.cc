#include "caudal/ops/conv.h"

#include <gtest/gtest.h>

#include "caudal/autodiff/gradient.h"
#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/runtime/session.h"
#include "tests/harness/compare.h"
#include "tests/harness/op_samples.h"

namespace caudal::inline v0 {
namespace {

using List = std::vector<std::int64_t>;

const List kOnes = {1, 1, 1, 1};

// Geometries that cross tails of registers, of padding and of strides.
struct Geometry {
  Shape input, filter, output;
  AttrMap attrs;
};

std::vector<Geometry> plain_geometries() {
  return {
      {{1, 1, 1, 1}, {1, 1, 1, 1}, {1, 1, 1, 1}, {{"strides", kOnes}, {"padding", "VALID"}}},
      {{2, 5, 4, 3}, {3, 2, 3, 5}, {2, 5, 4, 5}, {{"strides", kOnes}, {"padding", "SAME"}}},
      {{1, 7, 6, 2}, {3, 3, 2, 17}, {1, 3, 2, 17}, {{"strides", List{1, 2, 2, 1}}, {"padding", "VALID"}}},
      {{1, 6, 7, 1}, {2, 3, 1, 2}, {1, 2, 3, 2}, {{"strides", List{1, 3, 2, 1}}, {"padding", "VALID"}}},
      {{1, 3, 3, 2}, {1, 1, 2, 3}, {1, 2, 2, 3}, {{"strides", List{1, 2, 2, 1}}, {"padding", "SAME"}}},
      {{1, 7, 7, 1},
       {3, 3, 1, 2},
       {1, 3, 3, 2},
       {{"strides", kOnes}, {"padding", "VALID"}, {"dilations", List{1, 2, 2, 1}}}},
      {{1, 3, 4, 2},
       {2, 2, 2, 2},
       {1, 4, 4, 2},
       {{"strides", kOnes}, {"padding", "EXPLICIT"}, {"explicit_paddings", List{0, 0, 2, 0, 0, 1, 0, 0}}}},
  };
}

std::vector<Geometry> depthwise_geometries() {
  return {
      {{1, 1, 1, 1}, {1, 1, 1, 1}, {1, 1, 1, 1}, {{"strides", kOnes}, {"padding", "VALID"}}},
      {{2, 5, 4, 3}, {3, 2, 3, 1}, {2, 5, 4, 3}, {{"strides", kOnes}, {"padding", "SAME"}}},
      {{1, 7, 6, 2}, {3, 3, 2, 3}, {1, 3, 2, 6}, {{"strides", List{1, 2, 2, 1}}, {"padding", "VALID"}}},
      {{1, 5, 5, 17}, {2, 2, 17, 1}, {1, 3, 3, 17}, {{"strides", List{1, 2, 2, 1}}, {"padding", "SAME"}}},
      {{1, 7, 7, 1},
       {3, 3, 1, 2},
       {1, 3, 3, 2},
       {{"strides", kOnes}, {"padding", "VALID"}, {"dilations", List{1, 2, 2, 1}}}},
  };
}

Tensor sizes(const Shape& shape) { return Tensor(std::vector<int>(shape.dims().begin(), shape.dims().end())); }

const std::vector<DType> kFloats = {float16, bfloat16, float32, float64};

void forward_samples(harness::Samples& samples, const std::vector<Geometry>& geometries) {
  for (const Geometry& g : geometries) {
    for (const DType t : kFloats) {
      samples.add({.inputs = {samples.random(t, g.input), samples.random(t, g.filter)}, .attrs = g.attrs});
    }
  }
  const AttrMap same = {{"strides", kOnes}, {"padding", "SAME"}};
  const AttrMap valid = {{"strides", kOnes}, {"padding", "VALID"}};
  samples.add(
      {.inputs = {samples.random(float32, {0, 4, 4, 2}), samples.random(float32, {3, 3, 2, 2})}, .attrs = same});
  samples.error({samples.random(float32, {1, 4, 4, 3}), samples.random(float32, {3, 3, 2, 2})}, Code::kInvalidArgument,
                same, "channels");
  samples.error({samples.random(float32, {1, 2, 2, 2}), samples.random(float32, {3, 3, 2, 2})}, Code::kInvalidArgument,
                valid, "larger than the input");
  samples.error({samples.random(float32, {4, 4, 2}), samples.random(float32, {3, 3, 2, 2})}, Code::kInvalidArgument,
                same);
  samples.error({samples.random(float32, {1, 4, 4, 2}), samples.random(float32, {3, 3, 2, 2})}, Code::kInvalidArgument,
                {{"strides", List{1, 0, 1, 1}}, {"padding", "SAME"}});
  samples.error({samples.random(float32, {1, 4, 4, 2}), samples.random(float32, {3, 3, 2, 2})}, Code::kUnimplemented,
                {{"strides", List{2, 1, 1, 1}}, {"padding", "SAME"}});
  samples.error({samples.random(float32, {1, 2, 4, 4}), samples.random(float32, {3, 3, 2, 2})}, Code::kUnimplemented,
                {{"strides", kOnes}, {"padding", "SAME"}, {"data_format", "NCHW"}}, "NHWC");
}

void backprop_input_samples(harness::Samples& samples, const std::vector<Geometry>& geometries) {
  for (const Geometry& g : geometries) {
    for (const DType t : kFloats) {
      samples.add(
          {.inputs = {sizes(g.input), samples.random(t, g.filter), samples.random(t, g.output)}, .attrs = g.attrs});
    }
  }
  samples.error({sizes({1, 4, 4, 2}), samples.random(float32, {3, 3, 2, 2}), samples.random(float32, {1, 3, 4, 2})},
                Code::kInvalidArgument, {{"strides", kOnes}, {"padding", "SAME"}});
  samples.error({Tensor(std::vector<int>{1, -4, 4, 2}), samples.random(float32, {3, 3, 2, 2}),
                 samples.random(float32, {1, 4, 4, 2})},
                Code::kInvalidArgument, {{"strides", kOnes}, {"padding", "SAME"}});
}

void backprop_filter_samples(harness::Samples& samples, const std::vector<Geometry>& geometries) {
  for (const Geometry& g : geometries) {
    for (const DType t : kFloats) {
      samples.add(
          {.inputs = {samples.random(t, g.input), sizes(g.filter), samples.random(t, g.output)}, .attrs = g.attrs});
    }
  }
  samples.error({samples.random(float32, {1, 4, 4, 2}), sizes({3, 3, 2, 2}), samples.random(float32, {1, 3, 4, 2})},
                Code::kInvalidArgument, {{"strides", kOnes}, {"padding", "SAME"}});
  samples.error({samples.random(float32, {1, 4, 4, 2}), sizes({3, 3}), samples.random(float32, {1, 4, 4, 2})},
                Code::kInvalidArgument, {{"strides", kOnes}, {"padding", "SAME"}});
}

CAUDAL_OP_SAMPLES(Conv2D) {
  forward_samples(samples, plain_geometries());
  samples.golden_exception("Conv2D/14", "a window larger than the input is refused, not answered with nothing");
  // Two groups; integers.
  const AttrMap same = {{"strides", kOnes}, {"padding", "SAME"}};
  samples.add(
      {.inputs = {samples.random(float64, {1, 3, 3, 4}), samples.random(float64, {2, 2, 2, 4})}, .attrs = same});
  samples.add({.inputs = {samples.random(int32, {1, 3, 3, 2}), samples.random(int32, {2, 2, 2, 3})}, .attrs = same});
}
CAUDAL_OP_SAMPLES(Conv2DBackpropInput) {
  backprop_input_samples(samples, plain_geometries());
  const Geometry g = plain_geometries()[1];
  samples.add(
      {.inputs = {sizes(g.input), samples.random(int32, g.filter), samples.random(int32, g.output)}, .attrs = g.attrs});
}
CAUDAL_OP_SAMPLES(Conv2DBackpropFilter) {
  backprop_filter_samples(samples, plain_geometries());
  samples.add(
      {.inputs = {samples.random(float32, {0, 4, 4, 2}), sizes({3, 3, 2, 2}), samples.random(float32, {0, 4, 4, 2})},
       .attrs = {{"strides", kOnes}, {"padding", "SAME"}}});
}
CAUDAL_OP_SAMPLES(DepthwiseConv2dNative) { forward_samples(samples, depthwise_geometries()); }
CAUDAL_OP_SAMPLES(DepthwiseConv2dNativeBackpropInput) { backprop_input_samples(samples, depthwise_geometries()); }
CAUDAL_OP_SAMPLES(DepthwiseConv2dNativeBackpropFilter) { backprop_filter_samples(samples, depthwise_geometries()); }

class Conv : public testing::Test {
 protected:
  Graph graph_;
  GraphScope scope_{graph_};
  Session session_{graph_};
  const Output image_ = constant(Tensor::from<float>({1, 2, 2, 1}, {1, 2, 3, 4}));
  const Output filter_ = constant(Tensor::from<float>({2, 2, 1, 1}, {1, 10, 100, 1000}));
};

TEST_F(Conv, SamePutsTheOddPixelLast) {
  const Output y = nn::conv2d(image_, filter_, {.padding = "SAME"});
  EXPECT_EQ(session_.run(y).to_vector<float>(), (std::vector<float>{4321, 402, 43, 4}));
}

// Output size, padding before and after, of one axis.
TEST_F(Conv, SamePaddingOfOneAxis) {
  const std::int64_t cases[][6] = {{28, 2, 2, 14, 0, 0}, {8, 2, 2, 4, 0, 0}, {5, 2, 1, 5, 0, 1}, {5, 2, 2, 3, 0, 1},
                                   {7, 4, 2, 4, 1, 2},   {6, 3, 2, 3, 0, 1}, {4, 1, 2, 2, 0, 0}, {10, 3, 4, 3, 0, 1}};
  for (const auto& [n, k, stride, out, before, after] : cases) {
    SlidingWindow window;
    window.mode = SlidingWindow::Mode::kSame;
    window.stride = {1, stride, stride, 1};
    EXPECT_EQ(window.axis(1, n, k), (kernels::PaddedAxis{out, before, after})) << n << ' ' << k << ' ' << stride;
    EXPECT_EQ(window.output_size(1, n, -1), out);
  }
}

TEST_F(Conv, TransposeCropsFromTheOtherSide) {
  const Output y = nn::conv2d_transpose(image_, filter_, {1, 2, 2, 1});
  EXPECT_EQ(session_.run(y).to_vector<float>(), (std::vector<float>{1, 12, 103, 1234}));
  EXPECT_EQ(y.shape(), PartialShape({1, 2, 2, 1}));
  const Output all = constant(Tensor::from<float>({1, 2, 2, 1}, {1, 1, 1, 1}));
  const Output ones = constant(Tensor::from<float>({2, 2, 1, 1}, {1, 1, 1, 1}));
  EXPECT_EQ(session_.run(nn::conv2d_transpose(all, ones, {1, 2, 2, 1})).to_vector<float>(),
            (std::vector<float>{1, 2, 2, 4}));
}

TEST_F(Conv, StridesAsOneTwoOrFourNumbers) {
  const Output x = placeholder(float32, {-1, 8, 6, 1});
  const Output w = placeholder(float32, {3, 3, 1, 4});
  EXPECT_EQ(nn::conv2d(x, w, {.strides = {2}, .padding = "SAME"}).shape(), PartialShape({-1, 4, 3, 4}));
  EXPECT_EQ(nn::conv2d(x, w, {.strides = {2, 1}, .padding = "VALID"}).shape(), PartialShape({-1, 3, 4, 4}));
  EXPECT_EQ(nn::conv2d(x, w, {.padding = {0, 0, 1, 2, 3, 4, 0, 0}}).shape(), PartialShape({-1, 9, 11, 4}));
  EXPECT_THROW(nn::conv2d(x, w, {.strides = {1, 1, 1}}), Error);
}

TEST_F(Conv, ShapesAsFarAsTheyAreKnown) {
  const auto p = [](const PartialShape& shape) { return placeholder(float32, shape); };
  EXPECT_EQ(nn::conv2d(p({-1, -1, 5, 5}), p({3, 3, -1, 3})).shape(), PartialShape({-1, -1, 3, 3}));
  EXPECT_EQ(nn::conv2d(p({-1, 7, 5, 5}), p({-1, 3, -1, 3})).shape(), PartialShape({-1, -1, 3, 3}));
  EXPECT_EQ(nn::conv2d(p({-1, 7, 5, 5}), placeholder(float32), {.strides = {2, 1}, .padding = "SAME"}).shape(),
            PartialShape({-1, 4, 5, -1}));
  EXPECT_EQ(nn::conv2d(p({-1, 2, 5, 5}), p({3, 3, 2, 3}), {.data_format = "NCHW"}).shape(),
            PartialShape({-1, 3, 3, 3}));
  EXPECT_EQ(nn::depthwise_conv2d(p({-1, 5, 5, 2}), p({3, 3, 2, 3}), {.padding = "SAME"}).shape(),
            PartialShape({-1, 5, 5, 6}));
}

// As in TensorFlow: a gradient's shape does not depend on the padding, so a node with a wrong one fails when it runs.
TEST_F(Conv, GradientsRefuseWrongPaddingWhenTheyRun) {
  const Output grad = constant(Tensor::from<float>({1, 1, 1, 1}, {1})), wanted = constant(sizes({1, 1, 1, 1}));
  for (const char* op : {"Conv2DBackpropInput", "Conv2DBackpropFilter", "DepthwiseConv2dNativeBackpropInput",
                         "DepthwiseConv2dNativeBackpropFilter"}) {
    const bool filter = std::string_view(op).ends_with("Filter");
    const Output y = OpBuilder(op, {})
                         .input(filter ? grad : wanted)
                         .input(filter ? wanted : grad)
                         .input(grad)
                         .attr("strides", kOnes)
                         .attr("padding", "EXPLICIT")
                         .build();
    EXPECT_EQ(y.shape(), PartialShape({1, 1, 1, 1})) << op;
    try {
      session_.run(y);
      ADD_FAILURE() << op;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::kInvalidArgument) << op;
    }
    EXPECT_EQ(session_.run(grad).to_vector<float>(), std::vector<float>{1});
  }
}

TEST_F(Conv, ErrorsNameShapesAndTheUsersLine) {
  const Output x = placeholder(float32, {-1, 28, 28, 3}, {.name = "images"});
  const Output w = placeholder(float32, {5, 5, 2, 6}, {.name = "filters"});
  try {
    nn::conv2d(x, w, {.padding = "SAME", .name = "conv1"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
    const std::string text = error.what();
    for (const char* piece : {"'conv1'", "3 channels", "filter takes 2", "'images:0'", "conv_test.cc:"}) {
      EXPECT_NE(text.find(piece), std::string::npos) << text;
    }
  }
  const Output unknown = placeholder(float32);
  const Output y = nn::conv2d(unknown, w);
  EXPECT_THROW(
      session_.run(y, {{unknown, Tensor::zeros(float32, {1, 4, 4, 2})}, {w, Tensor::zeros(float32, {5, 5, 2, 6})}}),
      Error);
}

TEST_F(Conv, SeparableIsDepthwiseThenPointwise) {
  const Output x = constant(Tensor::from<float>({1, 1, 1, 2}, {3, 5}));
  const Output depthwise = constant(Tensor::from<float>({1, 1, 2, 2}, {1, 2, 3, 4}));
  const Output pointwise = constant(Tensor::from<float>({1, 1, 4, 1}, {1, 10, 100, 1000}));
  EXPECT_EQ(session_.run(nn::separable_conv2d(x, depthwise, pointwise)).to_vector<float>(),
            std::vector<float>{3 + 60 + 1500 + 20000});
}

}  // namespace
}  // namespace caudal::inline v0
