// All updates of optimisers against TensorFlow 2.21 (testdata/training/updates.jsonl).
#include <gtest/gtest.h>

#include <sstream>

#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "caudal/core/op_registry.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/variable.h"
#include "caudal/runtime/session.h"
#include "tests/harness/compare.h"
#include "tests/harness/json_data.h"

namespace caudal {
namespace {

// TensorFlow rounds to half and bfloat16 after every operation, the updates here once: a few units in the last place.
double tolerance(DType type) {
  if (type == float16) return 1e-2;
  if (type == bfloat16) return 8e-2;
  return type == float64 || type == complex128 ? 1e-13 : 5e-6;
}

void replay(const harness::GoldenCall& call, bool resource) {
  Graph graph;
  const GraphScope scope(graph);
  const OpDef& def = lookup_op(resource ? "Resource" + call.op : call.op).def;
  OpBuilder builder(def.name, {});
  std::vector<Variable> variables;
  for (std::size_t i = 0; i < def.inputs.size(); ++i) {
    const Tensor& value = call.inputs[i][0];
    if (def.inputs[i].is_ref || def.inputs[i].type == DType::kResource) {
      variables.emplace_back(value, VariableOptions{.use_resource = resource});
      builder.input(variables.back().handle());
    } else {
      builder.input(value);
    }
  }
  for (const auto& [name, value] : call.attrs) builder.attr(name, value);
  const Operation update = builder.build_operation();
  Session session;
  session.run(global_variables_initializer());
  session.run(update);
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const Tensor& expected = call.outputs[i];
    EXPECT_EQ(harness::difference(expected, session.run(variables[i]), tolerance(expected.dtype())), "")
        << def.name << ", variable " << i;
  }
}

TEST(TrainingUpdates, FollowTensorFlow) {
  std::istringstream lines(
      read_file(default_env(), std::string(CAUDAL_SOURCE_DIR) + "/testdata/training/updates.jsonl"));
  int calls = 0;
  for (std::string line; std::getline(lines, line); ++calls) {
    // The definition of the resource op has all arguments; some ops have no twin for references.
    std::string text = line;
    text.replace(text.find("\"op\": \"") + 7, 0, "Resource");
    harness::GoldenCall call = harness::parse_golden_case(text);
    call.op.erase(0, std::string("Resource").size());
    SCOPED_TRACE(line.substr(0, 200));
    replay(call, true);
    if (find_op(call.op) != nullptr) replay(call, false);
    if (HasFailure()) return;
  }
  EXPECT_GE(calls, 200);
}

}  // namespace
}  // namespace caudal
