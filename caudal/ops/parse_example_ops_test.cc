#include "caudal/ops/parse_example_ops.h"

#include <gtest/gtest.h>

#include "caudal/formats/example.h"
#include "caudal/formats/tfrecord.h"
#include "caudal/graph/scope.h"
#include "caudal/runtime/session.h"
#include "tests/harness/sample_types.h"

namespace caudal::inline v0 {
namespace {

using harness::ints;
using harness::longs;
using harness::SampleInput;
using harness::Samples;
using Strings = std::vector<std::string>;
using Ints = std::vector<std::int64_t>;
using Floats = std::vector<float>;
using Types = std::vector<DType>;
using Shapes = std::vector<PartialShape>;

const std::string& first() {
  static const std::string bytes = example_bytes({{{"a", Floats{1, 2}}, {"b", Ints{3}}, {"c", Strings{"x"}}}});
  return bytes;
}
const std::string& second() {
  static const std::string bytes = example_bytes({{{"a", Floats{5, 6}}, {"b", Ints{7, 8}}}});
  return bytes;
}

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
    return error.what();
  }
  return {};
}

TEST(ParseExample, AllFormsAtOnce) {
  Graph graph;
  const GraphScope scope(graph);
  const auto parsed = io::parse_example(Tensor(Strings{first(), second()}),
                                        {{"a", io::FixedLenFeature{{2}, float32}},
                                         {"c", io::FixedLenFeature{PartialShape::scalar(), string, Tensor("none")}},
                                         {"b", io::VarLenFeature{int64}},
                                         {"r", io::RaggedFeature{float32}},
                                         {"s", io::FixedLenSequenceFeature{PartialShape::scalar(), int64}}});
  Session session;
  EXPECT_TRUE(identical(session.run(parsed.dense.at("a")), Tensor::from<float>({2, 2}, {1, 2, 5, 6})));
  EXPECT_TRUE(identical(session.run(parsed.dense.at("c")), Tensor(Strings{"x", "none"})));
  EXPECT_TRUE(
      identical(session.run(parsed.sparse.at("b").indices), Tensor::from<std::int64_t>({3, 2}, {0, 0, 1, 0, 1, 1})));
  EXPECT_TRUE(identical(session.run(parsed.sparse.at("b").values), longs({3, 7, 8})));
  EXPECT_TRUE(identical(session.run(parsed.sparse.at("b").dense_shape), longs({2, 2})));
  EXPECT_TRUE(identical(session.run(parsed.ragged.at("r").row_splits), ints({0, 0, 0})));
  EXPECT_EQ(session.run(parsed.dense.at("s")).shape(), (Shape{2, 0}));
  EXPECT_EQ(parsed.dense.at("s").shape(), (PartialShape{2, -1}));
}

TEST(ParseExample, OneRecord) {
  Graph graph;
  const GraphScope scope(graph);
  const auto parsed = io::parse_single_example(
      first(), {{"b", io::FixedLenSequenceFeature{PartialShape::scalar(), int64}}, {"a", io::VarLenFeature{float32}}});
  Session session;
  EXPECT_TRUE(identical(session.run(parsed.dense.at("b")), longs({3})));
  EXPECT_TRUE(identical(session.run(parsed.sparse.at("a").indices), Tensor::from<std::int64_t>({2, 1}, {0, 1})));
}

TEST(ParseExample, ErrorsNameRecordAndFeature) {
  Graph graph;
  const GraphScope scope(graph);
  Session session;
  const Operand records = Tensor(Strings{first(), second()});
  const auto fails = [&](const io::FeatureSpecs& specs) {
    return message_of([&] {
      const auto parsed = io::parse_example(records, specs, {.example_names = Tensor(Strings{"r0", "r1"})});
      session.run(parsed.dense.empty() ? parsed.sparse.begin()->second.values : parsed.dense.begin()->second);
    });
  };
  const std::string missing = fails({{"c", io::FixedLenFeature{{1}, string}}});
  EXPECT_NE(missing.find("Name: r1, Feature: c"), std::string::npos) << missing;
  EXPECT_NE(fails({{"a", io::VarLenFeature{int64}}}).find("Name: r0, Key: a"), std::string::npos);
  EXPECT_NE(fails({{"b", io::FixedLenFeature{{2}, int64}}}).find("Values size: 1"), std::string::npos);
  EXPECT_NE(fails({{"c", io::FixedLenFeature{{2}, string, Tensor(Strings{"a", "b", "c"})}}}).find("feature c"),
            std::string::npos);
  EXPECT_NE(fails({{"c", io::FixedLenFeature{{-1}, string}}}).find("feature c"), std::string::npos);
}

SampleInput texts(const Strings& keys) {
  SampleInput input;
  for (const std::string& key : keys) input.values.emplace_back(Tensor(key));
  return input;
}

CAUDAL_OP_SAMPLES(ParseExampleV2) {
  const Tensor both(Strings{first(), second()}), none(Strings{});
  samples.add({.inputs = {both,
                          none,
                          Tensor(Strings{"b"}),
                          Tensor(Strings{"a", "s"}),
                          Tensor(Strings{"c"}),
                          {Tensor(float32, {0}), Tensor(longs({-1}))}},
               .attrs = {{"num_sparse", 1},
                         {"sparse_types", Types{int64}},
                         {"ragged_value_types", Types{string}},
                         {"ragged_split_types", Types{int32}},
                         {"dense_shapes", Shapes{{2}, {-1}}}},
               .expected = {Tensor::from<std::int64_t>({3, 2}, {0, 0, 1, 0, 1, 1}), longs({3, 7, 8}), longs({2, 2}),
                            Tensor::from<float>({2, 2}, {1, 2, 5, 6}), Tensor(int64, {2, 0}), Tensor(Strings{"x"}),
                            ints({0, 1, 1})},
               .shape_unknown = true});
  const harness::Sample wrong_type{.inputs = {both, none, Tensor(Strings{"b"}), none, none, SampleInput{}}};
  samples.error(wrong_type.inputs, Code::kInvalidArgument,
                {{"num_sparse", 1},
                 {"sparse_types", Types{float32}},
                 {"ragged_value_types", Types{}},
                 {"ragged_split_types", Types{}},
                 {"dense_shapes", Shapes{}},
                 {"Tdense", Types{}}});
}
CAUDAL_OP_SAMPLES(ParseExample) {
  const Tensor both(Strings{first(), second()}), none(Strings{});
  samples.add(
      {.inputs = {both, none, texts({"b"}), texts({"a", "b"}), {Tensor(float32, {0}), Tensor(longs({-1}))}},
       .attrs = {{"sparse_types", Types{int64}}, {"dense_shapes", Shapes{{2}, {-1}}}},
       .expected = {Tensor::from<std::int64_t>({3, 2}, {0, 0, 1, 0, 1, 1}), longs({3, 7, 8}), longs({2, 2}),
                    Tensor::from<float>({2, 2}, {1, 2, 5, 6}), Tensor::from<std::int64_t>({2, 2}, {3, -1, 7, 8})},
       .shape_unknown = true});
  samples.error({Tensor(Strings{"abc"}), none, texts({"b"}), texts({}), SampleInput{}}, Code::kInvalidArgument,
                {{"sparse_types", Types{int64}}, {"dense_shapes", Shapes{}}, {"Ndense", 0}, {"Tdense", Types{}}});
}
CAUDAL_OP_SAMPLES(ParseSingleExample) {
  samples.add({.inputs = {Tensor(second()), {Tensor(float32, {0}), Tensor("q")}},
               .attrs = {{"num_sparse", 1},
                         {"sparse_keys", Strings{"b"}},
                         {"dense_keys", Strings{"a", "c"}},
                         {"sparse_types", Types{int64}},
                         {"dense_shapes", Shapes{{2}, PartialShape::scalar()}}},
               .expected = {Tensor::from<std::int64_t>({2, 1}, {0, 1}), longs({7, 8}), longs({2}), Tensor(Floats{5, 6}),
                            Tensor("q")},
               .shape_unknown = true});
  samples.error({Tensor("abc"), {Tensor("q")}}, Code::kInvalidArgument,
                {{"num_sparse", 0},
                 {"sparse_keys", Strings{}},
                 {"dense_keys", Strings{"c"}},
                 {"sparse_types", Types{}},
                 {"dense_shapes", Shapes{PartialShape::scalar()}}},
                "Could not parse example input");
}

}  // namespace
}  // namespace caudal::inline v0
