#include <gtest/gtest.h>

#include <cstdint>

#include "caudal/base/error.h"
#include "tests/harness/op_samples.h"

namespace caudal::inline v0 {
namespace {

using List = std::vector<std::int64_t>;

AttrMap conv_attrs(std::int64_t stride, const char* padding, AttrMap more = {}) {
  more["strides"] = List{1, stride, stride, 1};
  more["padding"] = padding;
  return more;
}

AttrMap pool_attrs(std::int64_t stride, const char* padding, bool relu, AttrMap more = {}) {
  more["pool_size"] = List{2, 2};
  more["pool_strides"] = List{2, 2};
  more["pool_padding"] = "VALID";
  more["relu"] = relu;
  return conv_attrs(stride, padding, std::move(more));
}

AttrMap bias_attrs(std::vector<std::string> ops, DType dtype) {
  AttrMap attrs = conv_attrs(1, "SAME");
  attrs["fused_ops"] = std::move(ops);
  attrs["TArgs"] = std::vector<DType>{dtype};
  attrs["num_args"] = 1;
  return attrs;
}

CAUDAL_OP_SAMPLES(_FusedConv2D) {
  samples.unsupported({int8, DType::kQint8}, "the quantised forms have scales and summands of their own");
  for (const DType t : {float16, float32, float64}) {
    for (const char* activation : {"Relu", "Relu6", "Elu", "LeakyRelu", "Tanh", "Sigmoid"}) {
      samples.add({.inputs = {samples.random(t, {2, 5, 4, 3}), samples.random(t, {3, 2, 3, 5}), samples.random(t, {5}),
                              harness::SampleInput{}},
                   .attrs = bias_attrs({"BiasAdd", activation}, t)});
    }
  }
  samples.error({samples.random(float32, {2, 5, 4, 3}), samples.random(float32, {3, 2, 3, 5}),
                 samples.random(float32, {4}), harness::SampleInput{}},
                Code::kInvalidArgument, bias_attrs({"BiasAdd"}, float32));
}

// Images, filters and pooled results of convolutions that the kernels take in different ways.
struct Stack {
  Shape input, filter, pooled;
  std::int64_t stride;
  const char* padding;
};
const std::vector<Stack>& stacks() {
  static const std::vector<Stack> all = {
      {{3, 12, 12, 1}, {5, 5, 1, 6}, {3, 6, 6, 6}, 1, "SAME"},     // lanes are pixels
      {{2, 10, 10, 6}, {5, 5, 6, 16}, {2, 3, 3, 16}, 1, "VALID"},  // few channels
      {{2, 9, 9, 32}, {3, 3, 32, 20}, {2, 2, 2, 20}, 2, "SAME"},   // many channels, a row left over
      {{2, 7, 8, 16}, {3, 3, 16, 3}, {2, 3, 4, 3}, 1, "SAME"},
      {{1, 5, 6, 2}, {2, 3, 2, 4}, {1, 2, 2, 4}, 1, "VALID"},
  };
  return all;
}

// A place in the window of 2 x 2 for each pooled value.
Tensor winners_of(const Shape& pooled) {
  Tensor winners(uint8, pooled);
  std::uint8_t next = 0;
  for (std::uint8_t& winner : winners.flat<std::uint8_t>())
    winner = next = static_cast<std::uint8_t>((5 * next + 3) % 4);
  return winners;
}

CAUDAL_OP_SAMPLES(_CaudalConv2DMaxPool) {
  for (const Stack& s : stacks()) {
    for (const bool relu : {false, true}) {
      samples.add({.inputs = {samples.random(float32, s.input), samples.random(float32, s.filter),
                              samples.random(float32, {s.filter[3]})},
                   .attrs = pool_attrs(s.stride, s.padding, relu)});
    }
  }
  samples.add({.inputs = {samples.random(float32, {0, 6, 6, 2}), samples.random(float32, {3, 3, 2, 4}),
                          samples.random(float32, {4})},
               .attrs = pool_attrs(1, "SAME", true)});
  samples.error(
      {samples.random(float32, {1, 6, 6, 2}), samples.random(float32, {3, 3, 2, 4}), samples.random(float32, {3})},
      Code::kInvalidArgument, pool_attrs(1, "SAME", true));
}

CAUDAL_OP_SAMPLES(_CaudalConv2DMaxPoolBackpropFilter) {
  for (const Stack& s : stacks()) {
    for (const bool relu : {false, true}) {
      samples.add({.inputs = {samples.random(float32, s.input), samples.random(float32, s.pooled), winners_of(s.pooled),
                              samples.random(float32, s.pooled)},
                   .attrs = pool_attrs(s.stride, s.padding, relu, {{"filter_shape", PartialShape(s.filter)}}),
                   .tolerance = 1e-4});
    }
  }
  const Stack& s = stacks()[0];
  Tensor wild = winners_of(s.pooled);
  wild.data<std::uint8_t>()[5] = 4;
  samples.error(
      {samples.random(float32, s.input), samples.random(float32, s.pooled), wild, samples.random(float32, s.pooled)},
      Code::kInvalidArgument, pool_attrs(1, "SAME", true, {{"filter_shape", PartialShape(s.filter)}}),
      "outside of its window");
}

CAUDAL_OP_SAMPLES(_CaudalConv2DMaxPoolBackpropInput) {
  for (const Stack& s : stacks()) {
    for (const bool gated : {false, true}) {
      harness::SampleInput gates;
      if (gated) gates = samples.random(float32, s.input);
      samples.add({.inputs = {samples.random(float32, s.filter), samples.random(float32, s.pooled),
                              winners_of(s.pooled), samples.random(float32, s.pooled), gates},
                   .attrs = pool_attrs(s.stride, s.padding, true, {{"input_shape", PartialShape(s.input)}}),
                   .tolerance = 1e-4});
    }
  }
  const Stack& s = stacks()[0];
  samples.error({samples.random(float32, s.filter), samples.random(float32, {1, 2, 3, 4}), winners_of(s.pooled),
                 samples.random(float32, s.pooled), harness::SampleInput{}},
                Code::kInvalidArgument, pool_attrs(1, "SAME", true, {{"input_shape", PartialShape(s.input)}}));
}

CAUDAL_OP_SAMPLES(_CaudalConv2DBackpropInputReluGrad) {
  samples.add({.inputs = {samples.random(float32, {3, 2, 3, 5}), samples.random(float32, {2, 5, 4, 5}),
                          samples.random(float32, {2, 5, 4, 3})},
               .attrs = conv_attrs(1, "SAME")});
  samples.add({.inputs = {samples.random(float32, {3, 3, 2, 17}), samples.random(float32, {1, 3, 2, 17}),
                          samples.random(float32, {1, 7, 6, 2})},
               .attrs = conv_attrs(2, "VALID")});
  samples.error({samples.random(float32, {3, 3, 2, 17}), samples.random(float32, {1, 3, 2, 16}),
                 samples.random(float32, {1, 7, 6, 2})},
                Code::kInvalidArgument, conv_attrs(2, "VALID"));
}

}  // namespace
}  // namespace caudal::inline v0
