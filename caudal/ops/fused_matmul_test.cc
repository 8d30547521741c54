#include <gtest/gtest.h>

#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/activation.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/matmul.h"
#include "caudal/runtime/session.h"
#include "tests/harness/op_samples.h"

namespace caudal::inline v0 {
namespace {

AttrMap tail(std::vector<std::string> ops) { return {{"fused_ops", std::move(ops)}}; }

CAUDAL_OP_SAMPLES(_FusedMatMul) {
  for (const DType t : {float16, bfloat16, float32}) {
    for (const char* activation : {"Relu", "Relu6", "Elu", "LeakyRelu", "Tanh", "Sigmoid"}) {
      samples.add({.inputs = {samples.random(t, {5, 7}), samples.random(t, {7, 19}), samples.random(t, {19})},
                   .attrs = tail({"BiasAdd", activation})});
    }
    samples.add({.inputs = {samples.random(t, {50, 30}), samples.random(t, {30, 37}), samples.random(t, {37})},
                 .attrs = tail({"BiasAdd"})});
  }
  samples.add(
      {.inputs = {samples.random(float32, {7, 5}), samples.random(float32, {19, 7}), samples.random(float32, {19})},
       .attrs = {{"fused_ops", std::vector<std::string>{"BiasAdd"}}, {"transpose_a", true}, {"transpose_b", true}}});
  samples.add(
      {.inputs = {samples.random(float32, {0, 7}), samples.random(float32, {7, 3}), samples.random(float32, {3})},
       .attrs = tail({"BiasAdd"})});
  samples.error({samples.random(float32, {2, 3}), samples.random(float32, {4, 5}), samples.random(float32, {5})},
                Code::kInvalidArgument, tail({"BiasAdd"}));
  samples.error({samples.random(float32, {2, 3}), samples.random(float32, {3, 5}), samples.random(float32, {4})},
                Code::kInvalidArgument, tail({"BiasAdd"}));
  samples.error({samples.random(float32, {2, 3}), samples.random(float32, {3, 5}), samples.random(float32, {5})},
                Code::kUnimplemented, tail({"BiasAdd", "Softplus"}));
}

CAUDAL_OP_SAMPLES(_CaudalMatMulReluGrad) {
  samples.add({.inputs = {samples.random(float32, {5, 7}), samples.random(float32, {7, 19}),
                          samples.random(float32, {5, 19})}});
  samples.add({.inputs = {samples.random(float32, {50, 10}), samples.random(float32, {48, 10}),
                          samples.random(float32, {50, 4, 4, 3})},
               .attrs = {{"transpose_b", true}}});
  samples.add(
      {.inputs = {samples.random(float32, {0, 7}), samples.random(float32, {7, 3}), samples.random(float32, {0, 3})}});
  samples.error({samples.random(float32, {2, 3}), samples.random(float32, {3, 5}), samples.random(float32, {2, 4})},
                Code::kInvalidArgument);
}

// By the ops that it stands for.
TEST(FusedMatMul, IsProductBiasAndRelu) {
  Graph graph;
  const GraphScope scope(graph);
  const Output a = constant({{1.0F, 2.0F}, {-3.0F, 4.0F}}), b = constant({{1.0F, -1.0F}, {0.5F, 2.0F}});
  const Output bias = constant({0.25F, -8.0F});
  const Output fused = OpBuilder("_FusedMatMul", {})
                           .input(a)
                           .input(b)
                           .inputs({bias})
                           .attr("fused_ops", std::vector<std::string>{"BiasAdd", "Relu"})
                           .build();
  Session session(graph);
  EXPECT_TRUE(identical(session.run(fused), Tensor::from<float>({2, 2}, {2.25F, 0, 0, 3})));
}

}  // namespace
}  // namespace caudal::inline v0
