// The listings of docs/control_flow.md, in their order: they compile, and give what the page says.
#include <gtest/gtest.h>

#include "caudal/caudal.h"
#include "caudal/ops/tensor_array.h"
#include "tests/harness/doc_listings.h"

namespace tf = caudal;

namespace {

TEST(ControlFlowDocs, ListingsAreThisProgram) {
  const auto listed = tf::harness::lines_between("docs/control_flow.md", "```cpp", "```");
  const auto tested = tf::harness::lines_between("tests/control_flow_docs_test.cc", "// [listing]", "// [end]");
  ASSERT_GT(listed.size(), 20U);
  EXPECT_EQ(listed, tested);
}

TEST(ControlFlowDocs, ListingsGiveWhatThePageSays) {
  tf::Graph graph;
  const tf::GraphScope scope(graph);
  // clang-format off
  // [listing]
  tf::Output x = tf::placeholder(tf::float32, tf::PartialShape::scalar());
  tf::Output y = tf::cond(tf::less(x, 0), [&] { return x * 0.1F; }, [&] { return x; });
  // [end]

  // [listing]
  tf::Variable taken(tf::constant(0), {.name = "taken"});
  tf::Operation count = tf::cond(
      tf::greater(x, 0), [&] { return tf::Operation(taken.assign_add(1)); }, [] { return tf::no_op(); });
  // [end]

  // [listing]
  tf::Outputs size = tf::case_of({{tf::less(x, 1), [] { return tf::constant("small"); }},
                                  {tf::less(x, 10), [] { return tf::constant("medium"); }}},
                                 {.default_fn = [] { return tf::constant("large"); }});
  // [end]

  // [listing]
  tf::Outputs done = tf::while_loop([](const tf::Outputs& v) { return tf::less(v[0], 10); },
                                    [&](const tf::Outputs& v) { return tf::Outputs{v[0] + 1, v[1] * x}; },
                                    {0, 1.0F});
  tf::Output tenth_power = done[1];
  // [end]

  // [listing]
  tf::Output row = tf::constant({{1.0F, 2.0F}});
  tf::Outputs grown = tf::while_loop([](const tf::Outputs& v) { return tf::less(v[0], 3); },
                                     [&](const tf::Outputs& v) {
                                       return tf::Outputs{v[0] + 1, tf::concat({v[1], row}, 0)};
                                     },
                                     {0, row}, {.shape_invariants = {tf::PartialShape::scalar(), {-1, 2}}});
  // [end]

  // [listing]
  tf::Variable total(tf::constant(0.0F), {.name = "total"});
  tf::Outputs summed = tf::while_loop([](const tf::Outputs& v) { return tf::less(v[0], 5); },
                                      [&](const tf::Outputs& v) {
                                        const tf::ControlDependencies after({tf::Operation(total.assign_add(x))});
                                        return tf::Outputs{v[0] + 1};
                                      },
                                      {0});
  // [end]

  // [listing]
  tf::TensorArray parts(tf::float32, 4, {.element_shape = tf::PartialShape::scalar()});
  tf::Outputs filled = tf::while_loop([](const tf::Outputs& v) { return tf::less(v[0], 4); },
                                      [&](const tf::Outputs& v) {
                                        const auto written = parts.with_flow(v[2]).write(v[0], v[1]);
                                        return tf::Outputs{v[0] + 1, v[1] * x, written.flow()};
                                      },
                                      {0, 1.0F, parts.flow()});
  tf::Output powers = parts.with_flow(filled[2]).stack();
  // [end]

  // [listing]
  tf::Output rows = tf::constant({{1.0F, 2.0F}, {3.0F, 4.0F}});
  tf::Output norms = tf::map_fn([](const tf::Output& r) { return tf::reduce_sum(r * r); }, rows);
  tf::Output sums = tf::scan([](const tf::Output& sum, const tf::Output& r) { return sum + r; }, rows);
  // [end]

  // [listing]
  tf::Output slope = tf::gradients({tenth_power}, {x})[0].dense();
  // [end]

  // [listing]
  tf::Outputs squared = tf::while_loop([](const tf::Outputs& v) { return tf::less(v[0], 2); },
                                       [](const tf::Outputs& v) { return tf::Outputs{v[0] + 1, v[1] * v[1]}; }, {0, x},
                                       {.v2 = true});
  tf::Output first = tf::gradients({squared[1]}, {x})[0].dense();
  tf::Output second = tf::gradients({first}, {x})[0].dense();
  // [end]
  // clang-format on
  tf::Session session(graph);
  session.run(tf::global_variables_initializer());
  const tf::Feeds two = {{x, tf::Tensor(2.0F)}};
  EXPECT_EQ(session.run(y, two).item<float>(), 2);
  session.run(count, two);
  EXPECT_EQ(session.run(taken).item<int>(), 1);
  EXPECT_EQ(session.run(size[0], two).item<std::string>(), "medium");
  EXPECT_EQ(session.run(tenth_power, two).item<float>(), 1024);
  EXPECT_EQ(session.run(grown[1]).shape(), tf::Shape({4, 2}));
  session.run(summed[0], two);
  EXPECT_EQ(session.run(total).item<float>(), 10);
  EXPECT_EQ(session.run(powers, two).to_vector<float>(), (std::vector<float>{1, 2, 4, 8}));
  EXPECT_EQ(session.run(norms).to_vector<float>(), (std::vector<float>{5, 25}));
  EXPECT_EQ(session.run(sums).to_vector<float>(), (std::vector<float>{1, 2, 4, 6}));
  EXPECT_EQ(session.run(slope, two).item<float>(), 5120);
  EXPECT_EQ(session.run(first, two).item<float>(), 32);
  EXPECT_EQ(session.run(second, two).item<float>(), 48);
}

}  // namespace
