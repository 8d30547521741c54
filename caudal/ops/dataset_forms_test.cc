// Dataset and iterator ops that the pipelines of data/ do not make: older forms, and those of TensorFlow's own tools.
#include <gtest/gtest.h>

#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "caudal/formats/example.h"
#include "caudal/formats/tfrecord.h"
#include "caudal/graph/function_body.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/control_flow.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/optional_ops.h"
#include "caudal/runtime/session.h"

namespace caudal {
namespace {

using Numbers = std::vector<std::int64_t>;

Tensor number(std::int64_t value) { return Tensor(value); }

class DatasetForms : public ::testing::Test {
 protected:
  // A node over datasets of scalars; `types` of components.
  static OpBuilder over(const char* op, const std::vector<DType>& types = {int64}) {
    OpBuilder node(op, {});
    node.attr("output_types", types);
    node.attr("output_shapes", std::vector<PartialShape>(types.size(), PartialShape::unknown()));
    return node;
  }
  static Output range(std::int64_t stop) {
    return over("RangeDataset").input(number(0)).input(number(stop)).input(number(1)).build();
  }
  static OpBuilder on(const char* op, const Output& dataset) {
    OpBuilder node = over(op);
    node.input(dataset);
    return node;
  }
  static FunctionAttr function(const std::function<Outputs(const Outputs&)>& body, int arguments = 1) {
    FunctionBuilder builder(default_graph(), "f");
    for (int i = 0; i < arguments; ++i) builder.add_argument({.dtype = int64, .shape = PartialShape::scalar()});
    builder.copy_all_constants();
    builder.trace(body);
    return builder.finish().function;
  }
  // The first components of at most 40 elements.
  Numbers numbers(const Output& dataset, const std::vector<DType>& types = {int64}) {
    OpBuilder make("AnonymousIteratorV3", {});
    const std::vector<PartialShape> shapes(types.size(), PartialShape::unknown());
    const Output handle = make.attr("output_types", types).attr("output_shapes", shapes).build();
    const Output fed = placeholder(resource, PartialShape::scalar());
    const Operation start = OpBuilder("MakeIterator", {}).input(dataset).input(fed).build_operation();
    const Output next =
        OpBuilder("IteratorGetNext", {}).input(fed).attr("output_types", types).attr("output_shapes", shapes).build();
    Session session;
    const Tensor iterator = session.run(handle);
    session.run(start, {{fed, iterator}});
    Numbers all;
    try {
      while (all.size() < 40) {
        for (const std::int64_t value : session.run(next, {{fed, iterator}}).to_int64s()) all.push_back(value);
      }
    } catch (const Error& error) {
      if (error.code() != Code::kOutOfRange) throw;
    }
    return all;
  }

  Graph graph_;
  GraphScope scope_{graph_};
};

TEST_F(DatasetForms, OlderAndRarerForms) {
  const Numbers five{0, 1, 2, 3, 4};
  const Output input = range(5);
  for (const char* op : {"ModelDataset", "FinalizeDataset", "NonSerializableDataset"}) {
    EXPECT_EQ(numbers(on(op, input).build()), five) << op;
  }
  EXPECT_EQ(numbers(on("OptionsDataset", input).attr("serialized_options", "").build()), five);
  EXPECT_EQ(numbers(on("MaxIntraOpParallelismDataset", input).input(number(2)).build()), five);
  EXPECT_EQ(numbers(on("PrivateThreadPoolDataset", input).input(number(2)).build()), five);
  const Tensor none(std::vector<std::string>{});
  EXPECT_EQ(numbers(on("OptimizeDataset", input).input(none).build()), five);
  EXPECT_EQ(numbers(on("OptimizeDatasetV2", input).input(none).input(none).input(none).build()), five);
  EXPECT_EQ(numbers(on("RewriteDataset", input).input(Tensor("replicate_on_split")).build()), five);
  EXPECT_EQ(numbers(on("AssertCardinalityDataset", input).input(number(5)).build()), five);
  EXPECT_THROW(numbers(on("AssertCardinalityDataset", input).input(number(6)).build()), Error);
  EXPECT_EQ(numbers(on("BatchDataset", input).input(number(2)).build()), five);
  EXPECT_EQ(numbers(on("ParallelBatchDataset", input).input(number(2)).input(number(1)).input(Tensor(false)).build()),
            five);
  EXPECT_EQ(numbers(OpBuilder("PaddedBatchDataset", {})
                        .input(input)
                        .input(number(3))
                        .inputs({constant(Tensor(Numbers{}))})
                        .inputs({constant(number(0))})
                        .attr("output_shapes", std::vector<PartialShape>{{-1}})
                        .build()),
            five);
  const FunctionAttr next = function([](const Outputs& x) { return Outputs{add(x[0], constant(number(1)))}; });
  EXPECT_EQ(numbers(on("ParallelMapDataset", input).inputs({}).input(Tensor(2)).attr("f", next).build()),
            (Numbers{1, 2, 3, 4, 5}));
  const FunctionAttr twice = function([](const Outputs& x) {
    const Output one = OpBuilder("TensorDataset", {})
                           .inputs({x[0]})
                           .attr("output_shapes", std::vector<PartialShape>{PartialShape::scalar()})
                           .build();
    return Outputs{on("RepeatDataset", one).input(number(2)).build()};
  });
  for (const char* op : {"ParallelInterleaveDatasetV2", "ParallelInterleaveDatasetV3", "ParallelInterleaveDatasetV4"}) {
    OpBuilder node = on(op, range(2));
    node.inputs({}).input(number(2)).input(number(1));
    if (std::string_view(op).ends_with("V4")) node.input(number(1)).input(number(1));
    EXPECT_EQ(numbers(node.input(number(2)).attr("f", twice).build()), (Numbers{0, 1, 0, 1})) << op;
  }
  const Output odd =
      OpBuilder("TensorSliceDataset", {})
          .inputs({constant(Tensor(Numbers{1, 2, 3})), constant(Tensor::from<bool>({3}, {true, false, true}))})
          .attr("output_shapes", std::vector<PartialShape>{PartialShape::scalar(), PartialShape::scalar()})
          .build();
  EXPECT_EQ(numbers(on("FilterByLastComponentDataset", odd).build()), (Numbers{1, 3}));
  EXPECT_EQ(numbers(over("DirectedInterleaveDataset").input(range(2)).inputs({range(3), input}).build()),
            (Numbers{0, 0}));
}

// Orders and numbers are TensorFlow's for these seeds (tf.raw_ops in TensorFlow 2.21).
TEST_F(DatasetForms, SeedsByHandle) {
  const Output input = range(10);
  const auto generator = [](const char* op) { return OpBuilder(op, {}).input(number(87654321)).input(number(7)); };
  Node& seeds = generator("AnonymousSeedGenerator").input(Tensor(true)).build_node();
  const Numbers order{0, 4, 2, 3, 5, 6, 1, 8, 7, 9};
  EXPECT_EQ(numbers(on("ShuffleDatasetV2", input).input(number(4)).input(seeds.output(0)).build()), order);
  const Output dummy = OpBuilder("DummySeedGenerator", {}).build();
  const auto seeded = [&](const char* op, bool by_handle, bool repeats) {
    OpBuilder node = on(op, input);
    node.input(number(4)).input(number(87654321)).input(number(7));
    if (repeats) node.input(number(1));
    if (by_handle) node.input(dummy);
    return node.build();
  };
  EXPECT_EQ(numbers(seeded("ShuffleDatasetV3", true, false)), order);
  EXPECT_EQ(numbers(seeded("ShuffleAndRepeatDataset", false, true)).size(), 10U);
  EXPECT_EQ(numbers(seeded("ShuffleAndRepeatDatasetV2", true, true)),
            numbers(seeded("ShuffleAndRepeatDataset", false, true)));
  const Numbers drawn{3534849767, 279844183, 888998500, 1099633400, 2034269327};
  const auto first = [&](const Output& dataset) {
    return numbers(on("TakeDataset", dataset).input(number(5)).build());
  };
  EXPECT_EQ(first(over("RandomDataset").input(number(87654321)).input(number(3)).build()), drawn);
  EXPECT_EQ(first(over("RandomDatasetV2").input(number(87654321)).input(number(3)).input(dummy).build()), drawn);
  const Output sample =
      on("SamplingDataset", range(1000)).input(Tensor(0.02F)).input(number(1)).input(number(2)).build();
  EXPECT_GT(numbers(sample).size(), 5U);
  EXPECT_LT(numbers(sample).size(), 40U);
  Session session;
  Node& other = generator("AnonymousRandomSeedGenerator").build_node();
  session.run(OpBuilder("DeleteSeedGenerator", {}).input(seeds.output(0)).input(seeds.output(1)).build_operation());
  session.run(
      OpBuilder("DeleteRandomSeedGenerator", {}).input(other.output(0)).input(other.output(1)).build_operation());
  Node& cache = OpBuilder("AnonymousMemoryCache", {}).build_node();
  const Output cached = on("CacheDatasetV2", range(3)).input(Tensor("")).input(cache.output(0)).build();
  EXPECT_EQ(numbers(on("RepeatDataset", cached).input(number(2)).build()), (Numbers{0, 1, 2, 0, 1, 2}));
  const Output own =
      on("CacheDatasetV2", range(3)).input(Tensor("")).input(OpBuilder("DummyMemoryCache", {}).build()).build();
  EXPECT_EQ(numbers(own), (Numbers{0, 1, 2}));
  session.run(OpBuilder("DeleteMemoryCache", {}).input(cache.output(0)).input(cache.output(1)).build_operation());
}

TEST_F(DatasetForms, OlderFormsOfFiles) {
  const TempDir folder;
  const auto strings = [&](const Output& dataset) {
    OpBuilder node("DatasetToSingleElement", {});
    const Output all = over("BatchDataset", {string}).input(dataset).input(number(100)).build();
    const Output text = node.input(all)
                            .attr("output_types", std::vector<DType>{string})
                            .attr("output_shapes", std::vector<PartialShape>{{-1}})
                            .build();
    return Session().run(text).to_vector<std::string>();
  };
  RecordWriter writer(default_env(), folder.file("records"));
  for (const char* record : {"first", "second"}) writer.write(record);
  writer.close();
  const Output second = OpBuilder("TFRecordDatasetV2", {})
                            .input(Tensor(std::vector<std::string>{folder.file("records")}))
                            .input(Tensor(""))
                            .input(number(0))
                            .input(Tensor(Numbers{21}))
                            .build();
  EXPECT_EQ(strings(second), std::vector<std::string>{"second"});
  const auto file = default_env().create(folder.file("fixed"));
  file->append("aabbcc");
  file->close();
  const Output fixed = OpBuilder("FixedLengthRecordDataset", {})
                           .input(Tensor(folder.file("fixed")))
                           .input(number(0))
                           .input(number(2))
                           .input(number(0))
                           .input(number(0))
                           .build();
  EXPECT_EQ(strings(fixed), (std::vector<std::string>{"aa", "bb", "cc"}));
  EXPECT_EQ(strings(OpBuilder("MatchingFilesDataset", {}).input(Tensor(folder.path() + "/f*")).build()),
            std::vector<std::string>{folder.file("fixed")});
  const auto table = default_env().create(folder.file("t.csv"));
  table->append("1,2,3\n4,5,6\n");
  table->close();
  const Output csv = OpBuilder("CSVDatasetV2", {})
                         .input(Tensor(folder.file("t.csv")))
                         .input(Tensor(""))
                         .input(number(100))
                         .input(Tensor(false))
                         .input(Tensor(","))
                         .input(Tensor(true))
                         .input(Tensor(""))
                         .input(Tensor(Numbers{}))
                         .inputs({constant(Tensor(Numbers{})), constant(Tensor(Numbers{}))})
                         .input(Tensor(Numbers{0}))
                         .attr("output_shapes", std::vector<PartialShape>(2, PartialShape::scalar()))
                         .build();
  EXPECT_EQ(numbers(csv, {int64, int64}), (Numbers{2, 5}));
  const Output sparse = OpBuilder("SparseTensorSliceDataset", {})
                            .input(Tensor::from<std::int64_t>({2, 2}, {0, 1, 2, 0}))
                            .input(Tensor(Numbers{7, 8}))
                            .input(Tensor(Numbers{3, 4}))
                            .build();
  EXPECT_EQ(numbers(sparse, {int64, int64, int64}), (Numbers{1, 0}));
}

TEST_F(DatasetForms, ParsedExamples) {
  std::vector<std::string> records;
  for (std::int64_t i = 0; i < 4; ++i) {
    records.push_back(example_bytes({{{"b", std::vector<std::int64_t>{i}}, {"a", std::vector<std::int64_t>{i, 7}}}}));
  }
  const Output input = OpBuilder("TensorDataset", {})
                           .inputs({constant(Tensor(records))})
                           .attr("output_shapes", std::vector<PartialShape>{{-1}})
                           .build();
  for (const char* op : {"ParseExampleDataset", "ParseExampleDatasetV2"}) {
    const auto parsed = [&](const std::vector<std::string>& sparse) {
      OpBuilder node(op, {});
      node.input(input).input(number(2)).inputs({constant(Tensor(int64, {0})), constant(Tensor(int64, {0}))});
      node.attr("sparse_keys", sparse).attr("dense_keys", std::vector<std::string>{"b", "a"});
      node.attr("sparse_types", std::vector<DType>(sparse.size(), float32));
      node.attr("dense_shapes", std::vector<PartialShape>{PartialShape::scalar(), {2}});
      node.attr("output_types", std::vector<DType>{int64, int64});
      return node.attr("output_shapes", std::vector<PartialShape>{{-1, 2}, {-1}}).build();
    };
    EXPECT_EQ(numbers(parsed({}), {int64, int64}), (Numbers{0, 7, 1, 7, 2, 7, 3, 7})) << op;
    EXPECT_THROW(numbers(parsed({"c"}), {int64, int64}), Error);
  }
}

TEST_F(DatasetForms, OlderIterators) {
  const std::vector<DType> types{int64};
  const std::vector<PartialShape> shapes{PartialShape::scalar()};
  const auto with_types = [&](const char* op) {
    OpBuilder node(op, {});
    node.attr("output_types", types).attr("output_shapes", shapes);
    return node;
  };
  const Output iterator = with_types("Iterator").attr("shared_name", "shared").attr("container", "").build();
  const Operation start = OpBuilder("MakeIterator", {}).input(range(3)).input(iterator).build_operation();
  const Output next = with_types("IteratorGetNextSync").input(iterator).build();
  const Output optional = with_types("IteratorGetNextAsOptional").input(iterator).build();
  const Output saved = OpBuilder("SerializeIterator", {}).input(iterator).build();
  Session session;
  session.run(start);
  EXPECT_EQ(session.run(next).item<std::int64_t>(), 0);
  const Tensor position = session.run(saved);
  const Output value = raw_ops::optional_get_value(optional, types, shapes)[0];
  EXPECT_EQ(session.run(value).item<std::int64_t>(), 1);
  EXPECT_EQ(session.run(next).item<std::int64_t>(), 2);
  EXPECT_FALSE(session.run(raw_ops::optional_has_value(optional)).item<bool>());
  const Output fed = placeholder(variant, PartialShape{-1});
  session.run(OpBuilder("DeserializeIterator", {}).input(iterator).input(fed).build_operation(), {{fed, position}});
  EXPECT_EQ(session.run(next).item<std::int64_t>(), 1);
  const Output text = OpBuilder("IteratorToStringHandle", {}).input(iterator).build();
  const Output again = OpBuilder("IteratorFromStringHandle", {}).input(text).build();
  EXPECT_EQ(session.run(with_types("IteratorGetNext").input(again).build()).item<std::int64_t>(), 2);
  EXPECT_NE(session.run(OpBuilder("IteratorGetDevice", {}).input(iterator).build()).item<std::string>().find("CPU"),
            std::string::npos);

  Node& owned = with_types("AnonymousIteratorV2").build_node();
  const Operation begin = OpBuilder("MakeIterator", {}).input(range(3)).input(owned.output(0)).build_operation();
  session.run(begin);
  session.run(OpBuilder("DeleteIterator", {}).input(owned.output(0)).input(owned.output(1)).build_operation());
  EXPECT_TRUE(session.run(with_types("AnonymousIterator").build()).item<ResourceHandle>().owned != nullptr);
}

}  // namespace
}  // namespace caudal
