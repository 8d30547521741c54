#include "caudal/ops/pool.h"

#include <gtest/gtest.h>

#include <cmath>

#include "caudal/autodiff/gradient.h"
#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/runtime/session.h"
#include "tests/harness/op_samples.h"

namespace caudal::inline v0 {
namespace {

using harness::Check;
using List = std::vector<std::int64_t>;

const std::vector<DType> kFloats = {float16, bfloat16, float32, float64};
const std::vector<DType> kMaxTypes = {float16, bfloat16, float32, float64, int32, int64, uint8, int16, int8, uint16};
const std::vector<DType> kReals = {float16, bfloat16, float32, float64, int8,   int16,
                                   int32,   int64,    uint8,   uint16,  uint32, uint64};

const char* const kWindowTooLarge = "a window larger than the input is refused, not answered with nothing";

struct Geometry {
  Shape input, output;
  List ksize, strides;
  std::string padding;

  AttrMap attrs() const { return {{"ksize", ksize}, {"strides", strides}, {"padding", padding}}; }
};

const std::vector<Geometry> kGeometries = {
    {{1, 2, 2, 1}, {1, 1, 1, 1}, {1, 2, 2, 1}, {1, 2, 2, 1}, "VALID"},
    {{2, 5, 4, 3}, {2, 5, 2, 3}, {1, 2, 3, 1}, {1, 1, 2, 1}, "SAME"},
    {{1, 6, 7, 2}, {1, 2, 3, 2}, {1, 3, 2, 1}, {1, 2, 2, 1}, "VALID"},
    {{1, 4, 4, 17}, {1, 2, 2, 17}, {1, 2, 2, 1}, {1, 2, 2, 1}, "SAME"},
    {{0, 4, 4, 2}, {0, 2, 2, 2}, {1, 2, 2, 1}, {1, 2, 2, 1}, "VALID"},
};
const Geometry kOverChannels = {{2, 1, 3, 6}, {2, 1, 3, 2}, {1, 1, 1, 3}, {1, 1, 1, 3}, "VALID"};

Tensor ints(const List& values) { return Tensor(std::vector<int>(values.begin(), values.end())); }
Tensor ints(const Shape& shape) { return ints(shape.to_vector()); }

void pool_errors(harness::Samples& samples) {
  const auto error = [&](const Shape& input, const List& ksize, const List& strides, Code code) {
    samples.error({samples.random(float32, input)}, code,
                  {{"ksize", ksize}, {"strides", strides}, {"padding", "VALID"}});
  };
  error({1, 2, 2, 1}, {1, 3, 3, 1}, {1, 1, 1, 1}, Code::kInvalidArgument);
  error({2, 2, 1}, {1, 1, 1, 1}, {1, 1, 1, 1}, Code::kInvalidArgument);
  error({1, 2, 2, 1}, {1, 0, 1, 1}, {1, 1, 1, 1}, Code::kInvalidArgument);
  error({1, 2, 2, 1}, {1, 1, 1, 1}, {1, 0, 1, 1}, Code::kInvalidArgument);
  error({2, 2, 2, 1}, {2, 1, 1, 1}, {1, 1, 1, 1}, Code::kUnimplemented);
  error({1, 2, 2, 3}, {1, 1, 1, 2}, {1, 1, 1, 2}, Code::kUnimplemented);
}

CAUDAL_OP_SAMPLES(MaxPool) {
  samples.golden_exception("MaxPool/6", kWindowTooLarge);
  samples.golden_exception("MaxPool/10", "NaN is not hidden");
  for (const Geometry& g : kGeometries) {
    for (const DType t : kMaxTypes) samples.add({.inputs = {samples.random(t, g.input)}, .attrs = g.attrs()});
  }
  samples.add({.inputs = {samples.random(float64, kOverChannels.input)}, .attrs = kOverChannels.attrs()});
  AttrMap padded = kGeometries[2].attrs();
  padded["padding"] = "EXPLICIT";
  padded["explicit_paddings"] = List{0, 0, 1, 0, 0, 1, 0, 0};
  samples.add({.inputs = {samples.random(float64, {1, 5, 6, 2})}, .attrs = padded, .second_order = Check::kNo});
  pool_errors(samples);
}

CAUDAL_OP_SAMPLES(AvgPool) {
  samples.golden_exception("AvgPool/6", kWindowTooLarge);
  for (const Geometry& g : kGeometries) {
    for (const DType t : kFloats) samples.add({.inputs = {samples.random(t, g.input)}, .attrs = g.attrs()});
  }
  samples.add({.inputs = {samples.random(float64, kOverChannels.input)}, .attrs = kOverChannels.attrs()});
  pool_errors(samples);
}

CAUDAL_OP_SAMPLES(AvgPoolGrad) {
  for (const Geometry& g : kGeometries) {
    for (const DType t : kFloats) {
      samples.add({.inputs = {ints(g.input), samples.random(t, g.output)}, .attrs = g.attrs()});
    }
  }
  samples.error({ints(Shape{1, 4, 4, 1}), samples.random(float32, {1, 3, 2, 1})}, Code::kInvalidArgument,
                kGeometries[0].attrs());
  samples.error({ints(Shape{4, 4}), samples.random(float32, {1, 2, 2, 1})}, Code::kInvalidArgument,
                kGeometries[0].attrs());
}

// orig_output is only looked at for its shape.
void grad_samples(harness::Samples& samples, bool of_input, bool sizes_as_inputs) {
  for (const Geometry& g : kGeometries) {
    for (const DType t : kReals) {
      std::vector<harness::SampleInput> inputs = {samples.random(t, g.input), samples.random(t, g.output),
                                                  samples.random(t, of_input ? g.output : g.input)};
      AttrMap attrs = g.attrs();
      if (sizes_as_inputs) {
        inputs.emplace_back(ints(g.ksize));
        inputs.emplace_back(ints(g.strides));
        attrs = {{"padding", g.padding}};
      }
      samples.add({.inputs = inputs, .attrs = attrs});
    }
  }
  std::vector<harness::SampleInput> bad = {samples.random(float32, {1, 4, 4, 1}), samples.random(float32, {1, 2, 2, 1}),
                                           samples.random(float32, {1, 3, 3, 1})};
  AttrMap attrs = kGeometries[0].attrs();
  if (sizes_as_inputs) {
    bad.emplace_back(ints(List{1, 2, 2, 1}));
    bad.emplace_back(ints(List{1, 2, 2, 1}));
    attrs = {{"padding", "VALID"}};
  }
  samples.error(bad, Code::kInvalidArgument, attrs);
}

CAUDAL_OP_SAMPLES(MaxPoolGrad) { grad_samples(samples, true, false); }
CAUDAL_OP_SAMPLES(MaxPoolGradGrad) { grad_samples(samples, false, false); }
CAUDAL_OP_SAMPLES(MaxPoolGradV2) { grad_samples(samples, true, true); }
CAUDAL_OP_SAMPLES(MaxPoolGradGradV2) { grad_samples(samples, false, true); }

CAUDAL_OP_SAMPLES(MaxPoolV2) {
  for (const Geometry& g : kGeometries) {
    for (const DType t : kMaxTypes) {
      samples.add({.inputs = {samples.random(t, g.input), ints(g.ksize), ints(g.strides)},
                   .attrs = {{"padding", g.padding}},
                   .second_order = Check::kNo});
    }
  }
  samples.error({samples.random(float32, {1, 2, 2, 1}), ints(List{1, 3, 3, 1}), ints(List{1, 1, 1, 1})},
                Code::kInvalidArgument, {{"padding", "VALID"}});
  samples.error({samples.random(float32, {1, 2, 2, 1}), ints(List{1, 2, 2}), ints(List{1, 1, 1, 1})},
                Code::kInvalidArgument, {{"padding", "VALID"}});
}

CAUDAL_OP_SAMPLES(MaxPoolWithArgmax) {
  for (const Geometry& g : kGeometries) {
    for (const DType t : kReals) {
      AttrMap attrs = g.attrs();
      attrs["include_batch_in_index"] = t == float64;
      attrs["Targmax"] = t == float32 ? int32 : int64;
      samples.add({.inputs = {samples.random(t, g.input)}, .attrs = attrs, .second_order = Check::kNo});
    }
  }
  pool_errors(samples);
}

void with_argmax_samples(harness::Samples& samples, bool of_input) {
  const Geometry& g = kGeometries[0];
  for (const DType t : kReals) {
    const Tensor grad = samples.random(t, of_input ? g.output : g.input);
    samples.add({.inputs = {samples.random(t, g.input), grad, Tensor::from<std::int64_t>({1, 1, 1, 1}, {2})},
                 .attrs = g.attrs()});
  }
  const Tensor grad = samples.random(float32, of_input ? g.output : g.input);
  samples.add(
      {.inputs = {samples.random(float32, g.input), grad, Tensor::from<int>({1, 1, 1, 1}, {3})}, .attrs = g.attrs()});
  for (const int bad : {-1, 4}) {
    samples.error({samples.random(float32, g.input), grad, Tensor::from<int>({1, 1, 1, 1}, {bad})},
                  Code::kInvalidArgument, g.attrs());
  }
}

CAUDAL_OP_SAMPLES(MaxPoolGradWithArgmax) { with_argmax_samples(samples, true); }
CAUDAL_OP_SAMPLES(MaxPoolGradGradWithArgmax) { with_argmax_samples(samples, false); }

class Pool : public testing::Test {
 protected:
  Graph graph_;
  GraphScope scope_{graph_};
  Session session_{graph_};
};

TEST_F(Pool, GradientAtTiesGoesToTheFirst) {
  const Output x = constant(Tensor::from<float>({1, 2, 2, 1}, {1, 2, 2, 2}));
  const Output y = nn::max_pool(x, {.ksize = {2}, .strides = {2}});
  EXPECT_EQ(session_.run(gradients({y}, {x})[0].dense()).to_vector<float>(), (std::vector<float>{0, 1, 0, 0}));
}

TEST_F(Pool, PaddingIsNotCounted) {
  const Output x = constant(Tensor::from<float>({1, 3, 3, 1}, {-1, -2, -3, -4, -5, -6, -7, -8, -9}));
  const nn::PoolOptions options = {.ksize = {2}, .strides = {2}, .padding = "SAME"};
  EXPECT_EQ(session_.run(nn::avg_pool(x, options)).to_vector<float>(), (std::vector<float>{-3, -4.5F, -7.5F, -9}));
  EXPECT_EQ(session_.run(nn::max_pool(x, options)).to_vector<float>(), (std::vector<float>{-1, -3, -7, -9}));
}

TEST_F(Pool, SecondOrderGradientPicksTheWinners) {
  const Output x = constant(Tensor::from<float>({1, 2, 2, 1}, {1, 4, 3, 2}));
  const Output dy = constant(Tensor::from<float>({1, 1, 1, 1}, {5}));
  const Output y = nn::max_pool(x, {.ksize = {2}, .strides = {2}});
  const Output slope = gradients({y}, {x}, {.grad_ys = {dy}})[0].dense();
  const Output weights = constant(Tensor::from<float>({1, 2, 2, 1}, {10, 20, 30, 40}));
  EXPECT_EQ(session_.run(gradients({slope}, {dy}, {.grad_ys = {weights}})[0].dense()).to_vector<float>(),
            std::vector<float>{20});
}

TEST_F(Pool, ArgmaxCountsInImagesOrOverTheBatch) {
  const Output x = constant(Tensor::from<float>({2, 1, 2, 2}, {1, 8, 3, 4, 5, 6, 7, 2}));
  for (const bool batch : {false, true}) {
    const auto pooled =
        nn::max_pool_with_argmax(x, {.ksize = {1, 1, 2, 1}, .strides = {1, 1, 2, 1}, .include_batch_in_index = batch});
    EXPECT_EQ(session_.run(pooled.output).to_vector<float>(), (std::vector<float>{3, 8, 7, 6}));
    const std::int64_t second = batch ? 4 : 0;
    EXPECT_EQ(session_.run(pooled.argmax).to_vector<std::int64_t>(),
              (std::vector<std::int64_t>{2, 1, second + 2, second + 1}));
    EXPECT_EQ(session_.run(gradients({pooled.output}, {x})[0].dense()).to_vector<float>(),
              (std::vector<float>{0, 1, 1, 0, 0, 1, 1, 0}));
  }
}

TEST_F(Pool, OverChannels) {
  const Output x = constant(Tensor::from<float>({1, 1, 1, 4}, {1, 5, 7, 3}));
  const nn::PoolOptions options = {.ksize = {1, 1, 1, 2}, .strides = {1, 1, 1, 2}};
  EXPECT_EQ(session_.run(nn::max_pool(x, options)).to_vector<float>(), (std::vector<float>{5, 7}));
  EXPECT_EQ(session_.run(nn::avg_pool(x, options)).to_vector<float>(), (std::vector<float>{3, 5}));
}

TEST_F(Pool, ShapesAsFarAsTheyAreKnown) {
  const auto pooled = [](const PartialShape& shape, const nn::PoolOptions& options) {
    return nn::max_pool(placeholder(float32, shape), options).shape();
  };
  EXPECT_EQ(pooled({-1, 28, 28, 32}, {.ksize = {2}, .strides = {2}}), PartialShape({-1, 14, 14, 32}));
  EXPECT_EQ(pooled({-1, -1, 5, -1}, {.ksize = {3}, .strides = {2}, .padding = "SAME"}), PartialShape({-1, -1, 3, -1}));
  EXPECT_EQ(pooled(PartialShape::unknown(), {.ksize = {2}}), PartialShape({-1, -1, -1, -1}));
  EXPECT_EQ(pooled({-1, 2, 5, 5}, {.ksize = {2}, .data_format = "NCHW"}), PartialShape({-1, 2, 4, 4}));
}

}  // namespace
}  // namespace caudal::inline v0
