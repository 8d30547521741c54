#include "caudal/proto/context_proto.h"

#include <gtest/gtest.h>

#include "caudal/autodiff/gradient.h"
#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/control_flow.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/proto/control_flow.pb.h"
#include "caudal/proto/meta_graph.h"
#include "caudal/proto/meta_graph.pb.h"
#include "caudal/runtime/session.h"

namespace caudal {
namespace {

// A loop with a condition in it, and a condition with a loop in it.
Output build() {
  const Output x = placeholder(float32, PartialShape::scalar(), {.name = "x"});
  const auto power = [&](const Output& start) {
    return while_loop([](const Outputs& v) { return less(v[0], 3); },
                      [&](const Outputs& v) {
                        const Output next = cond(
                            equal(v[0], 1), [&] { return v[1] * x; }, [&] { return sin(v[1]); });
                        return Outputs{v[0] + 1, next};
                      },
                      {0, start})[1];
  };
  const Output chosen = cond(
      greater(x, 0.0F), [&] { return power(x * 2.0F); }, [&] { return x * x; });
  return add(power(x), chosen, {.name = "y"});
}

Tensor slope(Graph& graph, const std::string& scope, float at) {
  const GraphScope into(graph);
  const Output x = graph.tensor(scope + "x:0");
  const Output grad = gradients({graph.tensor(scope + "y:0")}, {x})[0].dense();
  Session session(graph);
  return session.run(grad, {{x, Tensor(at)}});
}

TEST(ContextProto, GradientsGoThroughAnImportedMetaGraph) {
  Graph made;
  std::string bytes;
  {
    const GraphScope scope(made);
    build();
    bytes = meta_graph_to_bytes(made);
  }
  Graph read;
  meta_graph_from_bytes(bytes, read);
  Graph scoped;
  meta_graph_from_bytes(bytes, scoped, {.import_scope = "in"});
  for (const float x : {0.5F, -0.75F}) {
    const float expected = slope(made, "", x).item<float>();
    EXPECT_EQ(slope(read, "", x).item<float>(), expected);
    EXPECT_EQ(slope(scoped, "in/", x).item<float>(), expected);
  }
  // What was read is written again as it was.
  Graph again;
  meta_graph_from_bytes(bytes, again);
  pb::MetaGraphDef before, after;
  ASSERT_TRUE(before.ParseFromString(bytes));
  ASSERT_TRUE(after.ParseFromString(meta_graph_to_bytes(again)));
  for (const char* key : {"cond_context", "while_context"}) {
    EXPECT_EQ(before.collection_def().at(key).SerializeAsString(), after.collection_def().at(key).SerializeAsString());
  }
}

// testdata/control_flow/loops.meta: tests/python/record_loop_meta.py.
TEST(ContextProto, GradientsGoThroughTensorFlowsMetaGraph) {
  Graph graph;
  meta_graph_from_bytes(read_file(default_env(), std::string(CAUDAL_SOURCE_DIR) + "/testdata/control_flow/loops.meta"),
                        graph);
  EXPECT_NEAR(slope(graph, "", 0.5F).item<float>(), 2.8172793F, 1e-5F);
  EXPECT_NEAR(slope(graph, "", -0.75F).item<float>(), -1.4652922F, 1e-5F);
}

TEST(ContextProto, WithoutContextsALoopHasNoGradient) {
  Graph made;
  std::string bytes;
  {
    const GraphScope scope(made);
    build();
    bytes = meta_graph_to_bytes(made);
  }
  pb::MetaGraphDef meta;
  ASSERT_TRUE(meta.ParseFromString(bytes));
  meta.clear_collection_def();
  Graph read;
  meta_graph_from_bytes(meta.SerializeAsString(), read);
  try {
    slope(read, "", 1);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kFailedPrecondition) << error.what();
  }
}

TEST(ContextProto, DamagedContextsAreErrors) {
  Graph graph;
  const GraphScope scope(graph);
  const Output a = placeholder(boolean, PartialShape::scalar(), {.name = "a"});
  EXPECT_THROW(context_from("cond_context", "\xff\xff", graph), Error);
  pb::CondContextDef cond;
  cond.set_pred_name("a:0");
  cond.set_pivot_name("missing:0");
  EXPECT_THROW(context_from("cond_context", cond.SerializeAsString(), graph), Error);
  pb::WhileContextDef loop;
  loop.add_loop_exit_names("a:0");
  EXPECT_THROW(context_from("while_context", loop.SerializeAsString(), graph), Error);
  cond.set_pivot_name("a:0");
  pb::CondContextDef deep = cond;
  for (int i = 0; i < 200; ++i) {
    pb::CondContextDef outer = cond;
    *outer.add_nested_contexts()->mutable_cond_ctxt() = deep;
    deep = outer;
  }
  EXPECT_THROW(context_from("cond_context", deep.SerializeAsString(), graph), Error);
}

}  // namespace
}  // namespace caudal
