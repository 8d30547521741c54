#include "caudal/plan/late_reads.h"

#include <gtest/gtest.h>

#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/runtime/session.h"

namespace caudal {
namespace {

class LateReadsTest : public ::testing::Test {
 protected:
  LateReadsTest() {
    variable_ =
        OpBuilder("VariableV2", {.name = "v"}).attr("dtype", float32).attr("shape", PartialShape::scalar()).build();
    init_ = OpBuilder("Assign", {}).input(variable_).input(1.F).build();
    read_ = OpBuilder("Identity", {.name = "v/read"}).input(variable_).build();
    add_ = OpBuilder("AssignAdd", {}).input(variable_).input(10.F).build();
    session_.run(init_);
  }

  Graph graph_;
  GraphScope scope_{graph_};
  Output variable_, init_, read_, add_;
  Session session_;
};

// Values of TensorFlow 2.21 for the same graph.
TEST_F(LateReadsTest, AConsumerAfterTheUpdateSeesIt) {
  Output after;
  {
    const ControlDependencies wait({add_});
    after = read_ * 2.F;
  }
  EXPECT_EQ(session_.run(after).item<float>(), 22.F);
  EXPECT_EQ(session_.run(after).item<float>(), 42.F);
}

TEST_F(LateReadsTest, AReadAfterTheUpdateNeedsNoHelp) {
  Output after;
  {
    const ControlDependencies wait({add_});
    after = OpBuilder("Identity", {}).input(variable_).build() * 2.F;
  }
  EXPECT_EQ(session_.run(after).item<float>(), 22.F);
}

TEST_F(LateReadsTest, AConsumerBeforeTheUpdateSeesTheOldValue) {
  const Output before = read_ * 2.F;
  Output last;
  {
    const ControlDependencies wait({before});
    last = OpBuilder("AssignAdd", {}).input(variable_).input(100.F).build();
  }
  const auto values = session_.run({before, last});
  EXPECT_EQ(values[0].item<float>(), 2.F);
  EXPECT_EQ(values[1].item<float>(), 101.F);
}

TEST_F(LateReadsTest, AFedReadIsWhatIsFed) {
  Output after;
  {
    const ControlDependencies wait({add_});
    after = read_ * 2.F;
  }
  EXPECT_EQ(session_.run(after, {{read_, Tensor(3.F)}}).item<float>(), 6.F);
}

}  // namespace
}  // namespace caudal
