#include "caudal/ops/optional_ops.h"

#include <gtest/gtest.h>

#include "caudal/autodiff/gradient.h"
#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/runtime/session.h"
#include "tests/harness/op_samples.h"

namespace caudal {
namespace {

class OptionalOps : public ::testing::Test {
 protected:
  Graph graph_;
  GraphScope scope_{graph_};
};

TEST_F(OptionalOps, CarryValuesOrNothing) {
  const Output some = raw_ops::optional_from_value({constant(1.5F), constant("text")});
  const Output none = raw_ops::optional_none();
  const auto values = raw_ops::optional_get_value(some, {float32, string}, {Shape(), Shape()});
  Session session;
  EXPECT_EQ(session.run(values[0]).item<float>(), 1.5F);
  EXPECT_EQ(session.run(values[1]).item<std::string>(), "text");
  EXPECT_TRUE(session.run(raw_ops::optional_has_value(some)).item<bool>());
  EXPECT_FALSE(session.run(raw_ops::optional_has_value(none)).item<bool>());
  const auto code_of = [&](const Output& output) {
    try {
      session.run(output);
    } catch (const Error& error) {
      return error.code();
    }
    return Code::kOk;
  };
  EXPECT_EQ(code_of(raw_ops::optional_get_value(none, {float32}, {Shape()})[0]), Code::kInvalidArgument);
  EXPECT_EQ(code_of(raw_ops::optional_get_value(some, {float32}, {Shape()})[0]), Code::kInvalidArgument);
  EXPECT_EQ(code_of(raw_ops::optional_get_value(some, {float64, string}, {Shape(), Shape()})[0]),
            Code::kInvalidArgument);
  EXPECT_EQ(code_of(raw_ops::optional_get_value(some, {float32, string}, {Shape({2}), Shape()})[0]),
            Code::kInvalidArgument);
}

TEST_F(OptionalOps, LetGradientsThrough) {
  const Output x = constant(3.0F);
  const Output some = raw_ops::optional_from_value({x * 2});
  const Output y = raw_ops::optional_get_value(some, {float32}, {Shape()})[0] * 5;
  EXPECT_EQ(Session().run(gradients({y}, {x})[0].dense()).item<float>(), 10);
}

}  // namespace

CAUDAL_OP_SAMPLES(OptionalFromValue) { samples.covered_by("OptionalOps.CarryValuesOrNothing"); }
CAUDAL_OP_SAMPLES(OptionalNone) { samples.covered_by("OptionalOps.CarryValuesOrNothing"); }
CAUDAL_OP_SAMPLES(OptionalHasValue) { samples.covered_by("OptionalOps.CarryValuesOrNothing"); }
CAUDAL_OP_SAMPLES(OptionalGetValue) { samples.covered_by("OptionalOps.CarryValuesOrNothing"); }
}  // namespace caudal
