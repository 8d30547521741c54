#include <gtest/gtest.h>

#include "caudal/core/op_registry.h"
#include "caudal/graph/builder.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/runtime/session.h"
#include "tests/harness/op_samples.h"

namespace caudal {
namespace {

TEST(ControlFlowOps, MergeKeepsTheSizesThatAgree) {
  Graph graph;
  const GraphScope scope(graph);
  const Output a = placeholder(float32, {2, 3}), b = placeholder(float32, {2, 4}), c = placeholder(float32, {2});
  EXPECT_EQ(OpBuilder("Merge", {}).inputs({a, b}).build().shape(), PartialShape({2, -1}));
  EXPECT_FALSE(OpBuilder("Merge", {}).inputs({a, c}).build().shape().has_rank());
}

TEST(ControlFlowOps, AbortIsAnError) {
  Graph graph;
  const GraphScope scope(graph);
  const Operation stop = OpBuilder("Abort", {}).attr("error_msg", std::string("enough")).build_operation();
  Session session(graph);
  try {
    session.run(stop);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kAborted);
    EXPECT_NE(std::string(error.what()).find("enough"), std::string::npos) << error.what();
  }
}

TEST(ControlFlowOps, HaveNoKernelOfTheirOwn) {
  for (const char* name : {"Switch", "Merge", "Enter", "Exit", "NextIteration", "RefSwitch", "RefMerge", "RefEnter"}) {
    EXPECT_EQ(lookup_op(name).spec->cpu, control_flow_kernel) << name;
    EXPECT_NE(lookup_op(name).spec->control, ControlFlow::kNone) << name;
  }
}

CAUDAL_OP_SAMPLES(Switch) { samples.covered_by("ControlFlowOps.HaveNoKernelOfTheirOwn"); }
CAUDAL_OP_SAMPLES(RefSwitch) { samples.covered_by("ControlFlowOps.HaveNoKernelOfTheirOwn"); }
CAUDAL_OP_SAMPLES(Merge) { samples.covered_by("ControlFlowOps.HaveNoKernelOfTheirOwn"); }
CAUDAL_OP_SAMPLES(RefMerge) { samples.covered_by("ControlFlowOps.HaveNoKernelOfTheirOwn"); }
CAUDAL_OP_SAMPLES(Enter) { samples.covered_by("ControlFlowOps.HaveNoKernelOfTheirOwn"); }
CAUDAL_OP_SAMPLES(RefEnter) { samples.covered_by("ControlFlowOps.HaveNoKernelOfTheirOwn"); }
CAUDAL_OP_SAMPLES(Exit) { samples.covered_by("ControlFlowOps.HaveNoKernelOfTheirOwn"); }
CAUDAL_OP_SAMPLES(RefExit) { samples.covered_by("ControlFlowOps.HaveNoKernelOfTheirOwn"); }
CAUDAL_OP_SAMPLES(NextIteration) { samples.covered_by("ControlFlowOps.HaveNoKernelOfTheirOwn"); }
CAUDAL_OP_SAMPLES(RefNextIteration) { samples.covered_by("ControlFlowOps.HaveNoKernelOfTheirOwn"); }
CAUDAL_OP_SAMPLES(LoopCond) { samples.covered_by("ControlFlowOps.HaveNoKernelOfTheirOwn"); }
CAUDAL_OP_SAMPLES(ControlTrigger) { samples.covered_by("ControlFlowOps.HaveNoKernelOfTheirOwn"); }
CAUDAL_OP_SAMPLES(Abort) { samples.covered_by("ControlFlowOps.AbortIsAnError"); }

}  // namespace
}  // namespace caudal
