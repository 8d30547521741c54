#include "caudal/ops/parse_sequence_ops.h"

#include <gtest/gtest.h>

#include "caudal/formats/example.h"
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
  static const std::string bytes = sequence_example_bytes(
      {{{"a", Floats{1, 2}}, {"b", Ints{3}}},
       {{"f", {Ints{1, 2}, Ints{3, 4}}}, {"g", {Strings{"x"}, Strings{"y", "z"}, Strings{"w"}}}}});
  return bytes;
}
const std::string& second() {
  static const std::string bytes = sequence_example_bytes({{{"a", Floats{5, 6}}}, {{"f", {Ints{7, 8}}}, {"g", {}}}});
  return bytes;
}

TEST(ParseSequenceExample, AllFormsAtOnce) {
  Graph graph;
  const GraphScope scope(graph);
  const auto parsed = io::parse_sequence_example(
      Tensor(Strings{first(), second()}), {{"a", io::FixedLenFeature{{2}, float32}}, {"b", io::VarLenFeature{int64}}},
      {{"f", io::FixedLenSequenceFeature{{2}, int64}},
       {"g", io::VarLenFeature{string}},
       {"h", io::RaggedFeature{int64}}});
  Session session;
  const auto& lists = parsed.feature_lists;
  EXPECT_TRUE(identical(session.run(parsed.context.dense.at("a")), Tensor::from<float>({2, 2}, {1, 2, 5, 6})));
  EXPECT_TRUE(identical(session.run(parsed.context.sparse.at("b").dense_shape), longs({2, 1})));
  EXPECT_TRUE(
      identical(session.run(lists.dense.at("f")), Tensor::from<std::int64_t>({2, 2, 2}, {1, 2, 3, 4, 7, 8, 0, 0})));
  EXPECT_TRUE(identical(session.run(lists.lengths.at("f")), longs({2, 1})));
  EXPECT_TRUE(identical(session.run(lists.sparse.at("g").indices),
                        Tensor::from<std::int64_t>({4, 3}, {0, 0, 0, 0, 1, 0, 0, 1, 1, 0, 2, 0})));
  EXPECT_TRUE(identical(session.run(lists.ragged.at("h").outer_splits[0]), ints({0, 0, 0})));
  EXPECT_TRUE(identical(session.run(lists.ragged.at("h").row_splits), ints({0})));
}

TEST(ParseSequenceExample, OneRecord) {
  Graph graph;
  const GraphScope scope(graph);
  const auto parsed = io::parse_single_sequence_example(
      first(), {{"b", io::VarLenFeature{int64}}},
      {{"f", io::FixedLenSequenceFeature{{2}, int64}}, {"g", io::RaggedFeature{string, int64}}});
  Session session;
  EXPECT_TRUE(
      identical(session.run(parsed.feature_lists.dense.at("f")), Tensor::from<std::int64_t>({2, 2}, {1, 2, 3, 4})));
  EXPECT_TRUE(identical(session.run(parsed.feature_lists.lengths.at("f")), Tensor(std::int64_t{2})));
  EXPECT_TRUE(identical(session.run(parsed.feature_lists.ragged.at("g").row_splits), longs({0, 1, 3, 4})));
}

CAUDAL_OP_SAMPLES(ParseSequenceExample) {
  const AttrMap attrs = {{"context_sparse_keys", Strings{"b"}},
                         {"context_dense_keys", Strings{"a"}},
                         {"feature_list_sparse_keys", Strings{"g"}},
                         {"feature_list_dense_keys", Strings{"f"}},
                         {"feature_list_dense_missing_assumed_empty", Strings{}},
                         {"Ncontext_sparse", 1},
                         {"Ncontext_dense", 1},
                         {"Nfeature_list_sparse", 1},
                         {"Nfeature_list_dense", 1},
                         {"context_sparse_types", Types{int64}},
                         {"feature_list_dense_types", Types{int64}},
                         {"feature_list_sparse_types", Types{string}},
                         {"context_dense_shapes", Shapes{{2}}},
                         {"feature_list_dense_shapes", Shapes{{2}}}};
  samples.add({.inputs = {Tensor(Strings{first(), second()}), Tensor(Strings{}), {Tensor(float32, {0})}},
               .attrs = attrs,
               .expected = {Tensor::from<std::int64_t>({1, 2}, {0, 0}), longs({3}), longs({2, 1}),
                            Tensor::from<float>({2, 2}, {1, 2, 5, 6}),
                            Tensor::from<std::int64_t>({4, 3}, {0, 0, 0, 0, 1, 0, 0, 1, 1, 0, 2, 0}),
                            Tensor(Strings{"x", "y", "z", "w"}), longs({2, 3, 2}),
                            Tensor::from<std::int64_t>({2, 2, 2}, {1, 2, 3, 4, 7, 8, 0, 0}), longs({2, 1})},
               .shape_unknown = true});
  samples.error({Tensor(Strings{first(), ""}), Tensor(Strings{"r0", "r1"}), {Tensor(Floats{0, 0})}},
                Code::kInvalidArgument, attrs, "Name: r1, Feature list 'f' is required");
}
CAUDAL_OP_SAMPLES(ParseSequenceExampleV2) {
  const Tensor none(Strings{});
  const AttrMap attrs = {{"Ncontext_sparse", 1},
                         {"context_sparse_types", Types{int64}},
                         {"context_ragged_value_types", Types{float32}},
                         {"context_ragged_split_types", Types{int64}},
                         {"feature_list_ragged_value_types", Types{string}},
                         {"feature_list_ragged_split_types", Types{int32}},
                         {"Nfeature_list_dense", 1},
                         {"feature_list_dense_types", Types{int64}},
                         {"feature_list_dense_shapes", Shapes{{2}}},
                         {"Tcontext_dense", Types{}}};
  samples.add(
      {.inputs = {Tensor(Strings{first(), second()}), none, Tensor(Strings{"b"}), none, Tensor(Strings{"a"}), none,
                  Tensor(Strings{"f"}), Tensor(Strings{"g"}), Tensor::from<bool>({1}, {false}), SampleInput{}},
       .attrs = attrs,
       .expected = {Tensor::from<std::int64_t>({1, 2}, {0, 0}), longs({3}), longs({2, 1}), Tensor(Floats{1, 2, 5, 6}),
                    longs({0, 2, 4}), Tensor::from<std::int64_t>({2, 2, 2}, {1, 2, 3, 4, 7, 8, 0, 0}), longs({2, 1}),
                    Tensor(Strings{"x", "y", "z", "w"}), ints({0, 3, 3}), ints({0, 1, 3, 4})},
       .shape_unknown = true});
  samples.error({Tensor(Strings{first(), "abc"}), none, Tensor(Strings{"b"}), none, Tensor(Strings{"a"}), none,
                 Tensor(Strings{"f"}), Tensor(Strings{"g"}), Tensor::from<bool>({1}, {false}), SampleInput{}},
                Code::kInvalidArgument, attrs, "Could not parse");
}
CAUDAL_OP_SAMPLES(ParseSingleSequenceExample) {
  const auto texts = [](const std::string& key) { return SampleInput{Tensor(key)}; };
  const AttrMap attrs = {{"context_sparse_types", Types{int64}},
                         {"feature_list_dense_types", Types{int64}},
                         {"feature_list_sparse_types", Types{string}},
                         {"context_dense_shapes", Shapes{{2}}},
                         {"feature_list_dense_shapes", Shapes{{2}}}};
  samples.add(
      {.inputs = {Tensor(first()),
                  Tensor(Strings{}),
                  texts("b"),
                  texts("a"),
                  texts("g"),
                  texts("f"),
                  {Tensor(float32, {0})},
                  Tensor("")},
       .attrs = attrs,
       .expected = {Tensor::from<std::int64_t>({1, 1}, {0}), longs({3}), longs({1}), Tensor(Floats{1, 2}),
                    Tensor::from<std::int64_t>({4, 2}, {0, 0, 1, 0, 1, 1, 2, 0}), Tensor(Strings{"x", "y", "z", "w"}),
                    longs({3, 2}), Tensor::from<std::int64_t>({2, 2}, {1, 2, 3, 4})},
       .shape_unknown = true});
  samples.error({Tensor(""),
                 Tensor(Strings{}),
                 texts("b"),
                 texts("a"),
                 texts("g"),
                 texts("f"),
                 {Tensor(Floats{1, 2})},
                 Tensor("nm")},
                Code::kInvalidArgument, attrs, "Name: nm, Feature list 'f'");
}

}  // namespace
}  // namespace caudal::inline v0
