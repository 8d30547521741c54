#include "caudal/graph/container_scope.h"

#include <gtest/gtest.h>

#include "caudal/core/resource_manager.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/lookup_ops.h"
#include "caudal/ops/variable.h"
#include "caudal/ops/variable_ops.h"
#include "caudal/runtime/session.h"

namespace caudal {
namespace {

std::string container_of(const Output& output) { return output.node()->attr<std::string>("container"); }

TEST(ContainerScope, NamesWhatIsMadeInside) {
  Graph graph;
  const GraphScope scope(graph);
  const Variable outside(1.0F);
  {
    const ContainerScope outer("outer");
    EXPECT_EQ(container_of(Variable(1.0F).handle()), "outer");
    EXPECT_EQ(container_of(raw_ops::var_handle_op(float32, {}, {.container = "own"})), "own");
    {
      const ContainerScope inner("inner");
      EXPECT_EQ(container_of(lookup::MutableHashTable(int64, int64, std::int64_t{0}).handle()), "inner");
      const ContainerScope none("");
      EXPECT_EQ(container_of(Variable(1.0F).handle()), "");
    }
    EXPECT_EQ(container_of(Variable(1.0F).handle()), "outer");
    EXPECT_EQ(constant(1.0F).node()->type(), "Const");  // has no such attribute
  }
  EXPECT_EQ(container_of(outside.handle()), "");
  EXPECT_EQ(container_of(Variable(1.0F).handle()), "");
}

TEST(ContainerScope, ContainersAreResetAlone) {
  Graph graph;
  const GraphScope scope(graph);
  const Variable kept(1.0F, {.name = "kept"});
  const ContainerScope box("box");
  const Variable lost(2.0F, {.name = "lost"});
  Session session;
  session.run(global_variables_initializer());
  session.resources().clear("box");
  EXPECT_EQ(session.run(kept).item<float>(), 1.0F);
  EXPECT_THROW(session.run(lost), Error);
  EXPECT_FALSE(session.run(lost.is_initialized()).item<bool>());
}

}  // namespace
}  // namespace caudal
