// Dataset ops through the pipelines of data/; tests/python/dataset_server_test.py compares each of them with
// TensorFlow.
#include <gtest/gtest.h>

#include <filesystem>

#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "caudal/data/pipeline.h"
#include "caudal/formats/tfrecord.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/dataset_state.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/random.h"
#include "caudal/ops/reduction.h"
#include "caudal/runtime/session.h"
#include "tests/harness/op_samples.h"

namespace caudal {
namespace {

using data::Dataset;
using data::Element;
using Numbers = std::vector<std::int64_t>;

// The first components of all elements, one after another.
Numbers numbers(const Dataset& dataset, std::int64_t most = 1000) {
  Numbers all;
  data::Pass pass = dataset.pass();
  for (Element element; std::ssize(all) < most && pass.next(element);) {
    for (const std::int64_t value : element[0].to_int64s()) all.push_back(value);
  }
  return all;
}

Code code_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.code();
  }
  return Code::kOk;
}

// A number as the int64 vector [x].
Output plus(const Output& x, std::int64_t y) { return add(x, constant(Tensor(y))); }

class DatasetOps : public ::testing::Test {
 protected:
  Graph graph_;
  GraphScope scope_{graph_};
};

TEST_F(DatasetOps, Sources) {
  EXPECT_EQ(numbers(Dataset::range(2, 11, 4)), (Numbers{2, 6, 10}));
  EXPECT_EQ(numbers(Dataset::range(3, -4, -3)), (Numbers{3, 0, -3}));
  EXPECT_EQ(numbers(Dataset::range(std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max(),
                                   std::numeric_limits<std::int64_t>::max()))
                .size(),
            3U);
  const Tensor rows = Tensor::from<std::int64_t>({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(numbers(Dataset::from_tensors({rows})), (Numbers{1, 2, 3, 4}));
  const auto slices = Dataset::from_tensor_slices({rows, Tensor(std::vector<std::string>{"a", "b"})}).to_vector();
  ASSERT_EQ(slices.size(), 2U);
  EXPECT_EQ(slices[1][0].to_int64s(), (Numbers{3, 4}));
  EXPECT_EQ(slices[1][1].item<std::string>(), "b");
  EXPECT_EQ(code_of([] { Dataset::from_tensor_slices({Tensor(1.0F)}).to_vector(); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] {
              Dataset::from_tensor_slices({rows, Tensor(std::vector<int>{1})}).to_vector();
            }),
            Code::kInvalidArgument);
}

TEST_F(DatasetOps, GeneratorsRunInThisProcess) {
  int ended = 0;
  const auto counted = std::shared_ptr<int>(&ended, [](int* count) { ++*count; });
  const auto squares = Dataset::from_generator(
      [counted] {
        return [i = std::int64_t{0}, counted](Element& element) mutable {
          element = {Tensor(i * i)};
          return i++ < 4;
        };
      },
      {{int64, PartialShape::scalar()}});
  EXPECT_EQ(numbers(squares), (Numbers{0, 1, 4, 9}));
  EXPECT_EQ(numbers(squares.repeat(2).skip(3)), (Numbers{9, 0, 1, 4, 9}));
  const auto wrong =
      Dataset::from_generator([] { return [](Element& e) { return e = {Tensor(1.5F)}, true; }; }, {{int64}});
  EXPECT_EQ(code_of([&] { wrong.to_vector(); }), Code::kInvalidArgument);
}

TEST_F(DatasetOps, Combinations) {
  const Dataset five = Dataset::range(5);
  EXPECT_EQ(numbers(five.take(2).concatenate(five.skip(3))), (Numbers{0, 1, 3, 4}));
  EXPECT_EQ(numbers(five.repeat().skip(3).take(4)), (Numbers{3, 4, 0, 1}));
  EXPECT_EQ(numbers(five.shard(3, 1)), (Numbers{1, 4}));
  const auto pairs = Dataset::zip({five, Dataset::range(10, 12)}).to_vector();
  ASSERT_EQ(pairs.size(), 2U);
  EXPECT_EQ(pairs[1][1].item<std::int64_t>(), 11);
  const auto counted =
      Dataset::from_tensor_slices({Tensor(std::vector<std::string>{"x", "y"})}).enumerate(7).to_vector();
  EXPECT_EQ(counted[1][0].item<std::int64_t>(), 8);
  EXPECT_EQ(five.repeat(3).batch(4).cardinality(), 4);
  EXPECT_EQ(five.repeat().cardinality(), data::kInfinite);
  EXPECT_EQ(code_of([&] { five.shard(3, 3).to_vector(); }), Code::kInvalidArgument);
}

TEST_F(DatasetOps, Functions) {
  const Dataset five = Dataset::range(5);
  const data::MapFn doubled = [](const Output& x) { return add(x, x); };
  EXPECT_EQ(numbers(five.map(doubled)), (Numbers{0, 2, 4, 6, 8}));
  EXPECT_EQ(numbers(five.map(doubled, {.num_parallel_calls = 3})), (Numbers{0, 2, 4, 6, 8}));
  EXPECT_EQ(numbers(five.filter([](const Output& x) { return greater(x, constant(Tensor(std::int64_t{2}))); })),
            (Numbers{3, 4}));
  EXPECT_EQ(numbers(five.take_while([](const Output& x) { return less(x, constant(Tensor(std::int64_t{2}))); })),
            (Numbers{0, 1}));
  EXPECT_EQ(numbers(five.flat_map([](const Outputs& x) { return Dataset::from_tensors({x[0]}).repeat(2).take(1); })),
            (Numbers{0, 1, 2, 3, 4}));
  EXPECT_EQ(
      numbers(Dataset::range(3).interleave([](const Outputs& x) { return Dataset::from_tensors({x[0]}).repeat(2); },
                                           {.cycle_length = 2, .block_length = 1})),
      (Numbers{0, 1, 0, 1, 2, 2}));
  const auto sums = five.scan({Tensor(std::int64_t{10})}, [](const Outputs& state, const Outputs& x) {
    const Output sum = add(state[0], x[0]);
    return data::ScanResult{{sum}, {sum}};
  });
  EXPECT_EQ(numbers(sums), (Numbers{10, 11, 13, 16, 20}));
  const Outputs total = five.reduce(
      {Tensor(std::int64_t{1})}, [](const Outputs& state, const Outputs& x) { return Outputs{add(state[0], x[0])}; });
  EXPECT_EQ(Session().run(total[0]).item<std::int64_t>(), 11);
  EXPECT_EQ(code_of([&] {
              five.map([](const Output& x) { return OpBuilder("FloorDiv", {}).input(x).input(x).build(); }).to_vector();
            }),
            Code::kInvalidArgument);
}

// TensorFlow's orders for these seeds.
TEST_F(DatasetOps, ShufflesAreTensorFlows) {
  const Dataset ten = Dataset::range(10);
  EXPECT_EQ(numbers(ten.shuffle(4, {.seed = 7}).repeat(3)),
            (Numbers{0, 4, 2, 3, 5, 6, 1, 8, 7, 9, 1, 3, 0, 4, 6, 5, 7, 8, 9, 2, 3, 2, 4, 6, 1, 8, 5, 7, 0, 9}));
  EXPECT_EQ(numbers(ten.shuffle(4, {.seed = 7, .reshuffle_each_iteration = false}).repeat(2)),
            (Numbers{3, 4, 0, 5, 1, 8, 2, 7, 6, 9, 3, 4, 0, 5, 1, 8, 2, 7, 6, 9}));
  EXPECT_EQ(numbers(ten.repeat(3).shuffle(100, {.seed = 7})),
            (Numbers{2, 5, 0, 2, 5, 8, 6, 3, 4, 2, 3, 0, 3, 7, 7, 4, 8, 6, 9, 8, 6, 9, 5, 9, 1, 4, 7, 0, 1, 1}));
  // Passes over one dataset go on with its seeds, as iterations of a pipeline do.
  const Dataset shuffled = ten.shuffle(10, {.seed = 7});
  const Numbers first = numbers(shuffled), second = numbers(shuffled);
  EXPECT_NE(first, second);
  EXPECT_EQ(numbers(ten.shuffle(10, {.seed = 7}).repeat(2)).size(), 20U);
}

TEST_F(DatasetOps, Batches) {
  const auto shapes = [](const Dataset& dataset) {
    std::string text;
    for (const Element& element : dataset) text += element[0].describe() + " ";
    return text;
  };
  const Dataset seven = Dataset::range(7);
  EXPECT_EQ(shapes(seven.batch(3)), "int64[3] int64[3] int64[1] ");
  EXPECT_EQ(shapes(seven.batch(3, true)), "int64[3] int64[3] ");
  EXPECT_EQ(numbers(seven.batch(3).unbatch()), (Numbers{0, 1, 2, 3, 4, 5, 6}));
  const Dataset windows = seven.window(3, {.shift = 2, .stride = 2, .drop_remainder = true});
  const auto flat = windows.flat_map([](const Outputs& window) {
    return Dataset::from_variant(window[0], {{int64, PartialShape::scalar()}}).batch(3);
  });
  EXPECT_EQ(numbers(flat), (Numbers{0, 2, 4, 2, 4, 6}));
  const auto ragged = Dataset::range(3).flat_map([](const Outputs& x) {
    return Dataset::from_tensors(
        {OpBuilder("Fill", {}).input(OpBuilder("Reshape", {}).input(x[0]).input({1}).build()).input(x[0]).build()});
  });
  EXPECT_EQ(code_of([&] { ragged.batch(2).to_vector(); }), Code::kInvalidArgument);
  const auto padded =
      ragged.padded_batch(3, {.padded_shapes = {{-1}}, .padding_values = {Tensor(std::int64_t{-1})}}).to_vector();
  EXPECT_EQ(padded[0][0].to_int64s(), (Numbers{-1, -1, 1, -1, 2, 2}));
  EXPECT_EQ(code_of([&] { ragged.padded_batch(3, {.padded_shapes = {{1}}}).to_vector(); }), Code::kDataLoss);
}

TEST_F(DatasetOps, CachesAndPrefetch) {
  const TempDir folder;
  int calls = 0;
  const auto counting = Dataset::from_generator(
      [&calls] {
        ++calls;
        return [i = std::int64_t{0}](Element& element) mutable { return element = {Tensor(i)}, i++ < 3; };
      },
      {{int64, PartialShape::scalar()}});
  EXPECT_EQ(numbers(counting.cache().repeat(3)), (Numbers{0, 1, 2, 0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(calls, 1);
  const Dataset filed = counting.cache(folder.file("cache"));
  EXPECT_EQ(numbers(filed.repeat(2)), (Numbers{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(calls, 2);
  EXPECT_TRUE(std::filesystem::exists(folder.file("cache.index")));
  EXPECT_EQ(numbers(Dataset::range(50).prefetch(4)).size(), 50U);
  EXPECT_EQ(numbers(Dataset::range(5).prefetch(0)).size(), 5U);
}

TEST_F(DatasetOps, FilesAndWhatIsWrongWithThem) {
  const TempDir folder;
  const auto write = [&](const char* name, std::string_view content) {
    const auto file = default_env().create(folder.file(name));
    file->append(content);
    file->close();
    return folder.file(name);
  };
  const std::string lines = write("a.txt", "one\r\ntwo\n\nfour");
  const auto texts = Dataset::text_lines(Tensor(std::vector<std::string>{lines, lines})).to_vector();
  ASSERT_EQ(texts.size(), 8U);
  EXPECT_EQ(texts[0][0].item<std::string>(), "one");
  EXPECT_EQ(texts[3][0].item<std::string>(), "four");
  EXPECT_EQ(code_of([&] { Dataset::text_lines(folder.file("none")).to_vector(); }), Code::kNotFound);

  const std::string fixed = write("fixed", "HHabcdefF");
  EXPECT_EQ(
      Dataset::fixed_length(fixed, 3, {.header_bytes = 2, .footer_bytes = 1}).to_vector()[1][0].item<std::string>(),
      "def");
  EXPECT_EQ(code_of([&] { Dataset::fixed_length(fixed, 4, {.header_bytes = 2}).to_vector(); }), Code::kInvalidArgument);

  RecordWriter writer(default_env(), folder.file("records"));
  for (const char* record : {"first", "second", "third"}) writer.write(record);
  writer.close();
  EXPECT_EQ(Dataset::tf_record(folder.file("records")).to_vector().size(), 3U);
  std::string bytes = read_file(default_env(), folder.file("records"));
  bytes[40] ^= 1;
  write("records", bytes);
  data::Pass pass =
      Dataset::tf_record(Tensor(std::vector<std::string>{folder.file("records"), folder.file("records")})).pass();
  Element element;
  EXPECT_TRUE(pass.next(element));
  try {
    pass.next(element);
    FAIL() << "a damaged record was read";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kDataLoss);
    EXPECT_NE(error.detail().find(folder.file("records")), std::string::npos);
  }
  EXPECT_TRUE(pass.next(element));  // of the next file
  EXPECT_EQ(element[0].item<std::string>(), "first");

  const std::string table = write("t.csv", "x,y\n1,a\nbad,b\n3,\"c,\n\"\n4\n5,e\n");
  const Dataset csv =
      Dataset::csv(table, {Tensor(std::vector<int>{}), Tensor(std::vector<std::string>{"none"})}, {.header = true});
  data::Pass rows = csv.ignore_errors({.max_count = 2}).pass();
  std::string seen;
  while (rows.next(element)) seen += element[0].to_string() + element[1].item<std::string>() + ";";
  EXPECT_EQ(seen, "1a;3c,\n;5e;");
  EXPECT_EQ(rows.ignored_errors(), 2);
  try {
    csv.ignore_errors({.max_count = 1}).to_vector();
    FAIL() << "two bad records were ignored";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
    EXPECT_NE(error.detail().find("record 4"), std::string::npos) << error.what();
    EXPECT_NE(error.detail().find(table), std::string::npos) << error.what();
  }

  const Dataset names = Dataset::list_files({folder.path() + "/*.txt", folder.path() + "/t.?sv"}, {.shuffle = false});
  EXPECT_EQ(names.to_vector().size(), 2U);
  EXPECT_EQ(code_of([&] { Dataset::list_files({folder.path() + "/no*"}).to_vector(); }), Code::kInvalidArgument);
}

TEST_F(DatasetOps, Iterators) {
  const data::Iterator once = Dataset::range(3).make_one_shot_iterator();
  const data::Iterator again = Dataset::range(5, 7).make_initializable_iterator();
  const Output a = once.get_next()[0], b = again.get_next()[0];
  Session session;
  EXPECT_EQ(code_of([&] { session.run(b); }), Code::kFailedPrecondition);
  session.run(again.initializer());
  for (std::int64_t i = 0; i < 3; ++i) EXPECT_EQ(session.run(a).item<std::int64_t>(), i);
  EXPECT_EQ(code_of([&] { session.run(a); }), Code::kOutOfRange);
  EXPECT_EQ(code_of([&] { session.run(a); }), Code::kOutOfRange);
  for (int pass = 0; pass < 2; ++pass) {
    session.run(again.initializer());
    EXPECT_EQ(session.run(b).item<std::int64_t>(), 5);
  }
  const Output handle = placeholder(string, PartialShape::scalar());
  const Output next = data::Iterator::from_string_handle(handle, {{int64, PartialShape::scalar()}}).get_next()[0];
  const Tensor text = session.run(again.string_handle());
  EXPECT_EQ(session.run(next, {{handle, text}}).item<std::int64_t>(), 6);
  EXPECT_EQ(code_of([&] { session.run(next, {{handle, Tensor("nonsense")}}); }), Code::kInvalidArgument);
  // Another session has iterators of its own.
  EXPECT_EQ(Session().run(a).item<std::int64_t>(), 0);
}

// Every kind of iterator goes on with the very next element, wherever it stands.
TEST_F(DatasetOps, PositionsAreExact) {
  const TempDir folder;
  const auto file = default_env().create(folder.file("lines"));
  for (int i = 0; i < 20; ++i) file->append(std::to_string(i) + "\n");
  file->close();
  const Dataset twenty = Dataset::range(20);
  const auto number_of = [](const Output& line) {
    return OpBuilder("StringToNumber", {}).input(line).attr("out_type", int64).build();
  };
  const std::vector<Dataset> pipelines = {
      twenty,
      twenty.shuffle(7, {.seed = 3}).repeat(2),
      twenty.map([](const Output& x) { return plus(x, 1); }, {.num_parallel_calls = 3}).prefetch(3),
      twenty.batch(3).unbatch().filter([](const Output& x) { return greater(x, constant(Tensor(std::int64_t{4}))); }),
      twenty.skip(2).take(9).cache().repeat(3),
      twenty.cache(folder.file("cache")).repeat(2),
      twenty.concatenate(twenty).shard(3, 2),
      twenty.interleave([](const Outputs& x) { return Dataset::from_tensors({x[0]}).repeat(3); }, {.cycle_length = 3}),
      Dataset::zip({twenty, twenty.shuffle(5, {.seed = 1})}),
      twenty.scan({Tensor(std::int64_t{0})},
                  [](const Outputs& state, const Outputs& x) {
                    const Output sum = add(state[0], x[0]);
                    return data::ScanResult{{sum}, {sum}};
                  }),
      Dataset::text_lines(folder.file("lines")).map(number_of),
      twenty.window(4, {.shift = 2}).flat_map([](const Outputs& w) {
        return Dataset::from_variant(w[0], {{int64, PartialShape::scalar()}});
      }),
      twenty.map([](const Output& x) {
        return OpBuilder("RandomUniformInt", {})
            .input(Tensor(std::vector<int>{}))
            .input(x)
            .input(plus(x, 1000000))
            .attr("seed", 5)
            .attr("seed2", 6)
            .build();
      }),
      twenty.ignore_errors().padded_batch(2, {.padded_shapes = {PartialShape::scalar()}}),
  };
  for (std::size_t p = 0; p < pipelines.size(); ++p) {
    const Dataset& pipeline = pipelines[p];
    for (const int taken : {0, 1, 5, 8}) {
      data::Pass pass = pipeline.pass();
      Element element;
      for (int i = 0; i < taken; ++i) ASSERT_TRUE(pass.next(element));
      const std::string position = pass.save();
      std::vector<Tensor> wanted;
      while (pass.next(element)) wanted.push_back(element[0]);
      data::Pass resumed = pipeline.pass();
      resumed.restore(position);
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        ASSERT_TRUE(resumed.next(element)) << "pipeline " << p << ", " << taken << " + " << i;
        ASSERT_TRUE(identical(element[0], wanted[i])) << "pipeline " << p << ", " << taken << " + " << i << ": "
                                                      << element[0].to_string() << " for " << wanted[i].to_string();
      }
      EXPECT_FALSE(resumed.next(element)) << "pipeline " << p;
    }
  }
  data::Pass pass = twenty.batch(2).pass();
  EXPECT_EQ(code_of([&] { pass.restore(twenty.take(3).pass().save()); }), Code::kDataLoss);
}

TEST(DatasetState, RefusesDamage) {
  ops::StateArchive save;
  std::vector<Tensor> tensors = {Tensor(std::vector<float>{1, 2}), Tensor(std::vector<std::string>{"a", "bcd"})};
  std::int64_t number = -12345;
  save.tag("x");
  save.number(number);
  save.tensors(tensors);
  const std::string bytes = save.take();
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    const std::string cut = bytes.substr(0, size);
    ops::StateArchive load(cut);
    std::vector<Tensor> loaded;
    std::int64_t read = 0;
    const auto all = [&] {
      load.tag("x");
      load.number(read);
      load.tensors(loaded);
      load.check_end();
    };
    if (size < bytes.size()) {
      EXPECT_EQ(code_of(all), Code::kDataLoss) << size;
    } else {
      all();
      EXPECT_EQ(read, number);
      EXPECT_TRUE(identical(loaded[1], tensors[1]));
    }
  }
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (const int bit : {1, 16, 128}) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ bit);
      ops::StateArchive load(damaged);
      std::vector<Tensor> loaded;
      const Code code = code_of([&] {
        load.tag("x");
        load.tensors(loaded);
      });
      EXPECT_TRUE(code == Code::kOk || code == Code::kDataLoss || code == Code::kUnimplemented) << i;
    }
  }
}

}  // namespace

#define COVERED(op, test) \
  CAUDAL_OP_SAMPLES(op) { samples.covered_by(test); }
COVERED(TensorDataset, "DatasetOps.Sources")
COVERED(TensorSliceDataset, "DatasetOps.Sources")
COVERED(RangeDataset, "DatasetOps.Sources")
COVERED(GeneratorDataset, "DatasetOps.GeneratorsRunInThisProcess")
COVERED(TakeDataset, "DatasetOps.Combinations")
COVERED(SkipDataset, "DatasetOps.Combinations")
COVERED(RepeatDataset, "DatasetOps.Combinations")
COVERED(ShardDataset, "DatasetOps.Combinations")
COVERED(ZipDataset, "DatasetOps.Combinations")
COVERED(ConcatenateDataset, "DatasetOps.Combinations")
COVERED(DatasetCardinality, "DatasetOps.Combinations")
COVERED(MapDataset, "DatasetOps.Functions")
COVERED(ParallelMapDatasetV2, "DatasetOps.Functions")
COVERED(FilterDataset, "DatasetOps.Functions")
COVERED(TakeWhileDataset, "DatasetOps.Functions")
COVERED(FlatMapDataset, "DatasetOps.Functions")
COVERED(InterleaveDataset, "DatasetOps.Functions")
COVERED(ScanDataset, "DatasetOps.Functions")
COVERED(ReduceDataset, "DatasetOps.Functions")
COVERED(ShuffleDataset, "DatasetOps.ShufflesAreTensorFlows")
COVERED(BatchDatasetV2, "DatasetOps.Batches")
COVERED(UnbatchDataset, "DatasetOps.Batches")
COVERED(WindowDataset, "DatasetOps.Batches")
COVERED(PaddedBatchDatasetV2, "DatasetOps.Batches")
COVERED(CacheDataset, "DatasetOps.CachesAndPrefetch")
COVERED(PrefetchDataset, "DatasetOps.CachesAndPrefetch")
COVERED(TextLineDataset, "DatasetOps.FilesAndWhatIsWrongWithThem")
COVERED(FixedLengthRecordDatasetV2, "DatasetOps.FilesAndWhatIsWrongWithThem")
COVERED(TFRecordDataset, "DatasetOps.FilesAndWhatIsWrongWithThem")
COVERED(CSVDataset, "DatasetOps.FilesAndWhatIsWrongWithThem")
COVERED(IgnoreErrorsDataset, "DatasetOps.FilesAndWhatIsWrongWithThem")
COVERED(MatchingFiles, "DatasetOps.FilesAndWhatIsWrongWithThem")
COVERED(OneShotIterator, "DatasetOps.Iterators")
COVERED(IteratorV2, "DatasetOps.Iterators")
COVERED(MakeIterator, "DatasetOps.Iterators")
COVERED(IteratorGetNext, "DatasetOps.Iterators")
COVERED(IteratorToStringHandle, "DatasetOps.Iterators")
COVERED(IteratorFromStringHandleV2, "DatasetOps.Iterators")
COVERED(AnonymousIteratorV3, "DatasetOps.PositionsAreExact")
COVERED(SparseTensorSliceDataset, "DatasetForms.OlderFormsOfFiles")
COVERED(RandomDataset, "DatasetForms.SeedsByHandle")
COVERED(RandomDatasetV2, "DatasetForms.SeedsByHandle")
COVERED(ParallelMapDataset, "DatasetForms.OlderAndRarerForms")
COVERED(FilterByLastComponentDataset, "DatasetForms.OlderAndRarerForms")
COVERED(ParallelInterleaveDatasetV2, "DatasetForms.OlderAndRarerForms")
COVERED(ParallelInterleaveDatasetV3, "DatasetForms.OlderAndRarerForms")
COVERED(ParallelInterleaveDatasetV4, "DatasetForms.OlderAndRarerForms")
COVERED(ShuffleDatasetV2, "DatasetForms.SeedsByHandle")
COVERED(ShuffleDatasetV3, "DatasetForms.SeedsByHandle")
COVERED(ShuffleAndRepeatDataset, "DatasetForms.SeedsByHandle")
COVERED(ShuffleAndRepeatDatasetV2, "DatasetForms.SeedsByHandle")
COVERED(SamplingDataset, "DatasetForms.SeedsByHandle")
COVERED(BatchDataset, "DatasetForms.OlderAndRarerForms")
COVERED(ParallelBatchDataset, "DatasetForms.OlderAndRarerForms")
COVERED(PaddedBatchDataset, "DatasetForms.OlderAndRarerForms")
COVERED(CacheDatasetV2, "DatasetForms.SeedsByHandle")
COVERED(AnonymousMemoryCache, "DatasetForms.SeedsByHandle")
COVERED(DummyMemoryCache, "DatasetForms.SeedsByHandle")
COVERED(DeleteMemoryCache, "DatasetForms.SeedsByHandle")
COVERED(TFRecordDatasetV2, "DatasetForms.OlderFormsOfFiles")
COVERED(FixedLengthRecordDataset, "DatasetForms.OlderFormsOfFiles")
COVERED(CSVDatasetV2, "DatasetForms.OlderFormsOfFiles")
COVERED(MatchingFilesDataset, "DatasetForms.OlderFormsOfFiles")
COVERED(DirectedInterleaveDataset, "DatasetForms.OlderAndRarerForms")
COVERED(AssertCardinalityDataset, "DatasetForms.OlderAndRarerForms")
COVERED(OptionsDataset, "DatasetForms.OlderAndRarerForms")
COVERED(ModelDataset, "DatasetForms.OlderAndRarerForms")
COVERED(OptimizeDataset, "DatasetForms.OlderAndRarerForms")
COVERED(OptimizeDatasetV2, "DatasetForms.OlderAndRarerForms")
COVERED(FinalizeDataset, "DatasetForms.OlderAndRarerForms")
COVERED(NonSerializableDataset, "DatasetForms.OlderAndRarerForms")
COVERED(MaxIntraOpParallelismDataset, "DatasetForms.OlderAndRarerForms")
COVERED(PrivateThreadPoolDataset, "DatasetForms.OlderAndRarerForms")
COVERED(RewriteDataset, "DatasetForms.OlderAndRarerForms")
COVERED(AnonymousSeedGenerator, "DatasetForms.SeedsByHandle")
COVERED(AnonymousRandomSeedGenerator, "DatasetForms.SeedsByHandle")
COVERED(DummySeedGenerator, "DatasetForms.SeedsByHandle")
COVERED(DeleteSeedGenerator, "DatasetForms.SeedsByHandle")
COVERED(DeleteRandomSeedGenerator, "DatasetForms.SeedsByHandle")
COVERED(DatasetToSingleElement, "DatasetForms.OlderFormsOfFiles")
COVERED(ParseExampleDataset, "DatasetForms.ParsedExamples")
COVERED(ParseExampleDatasetV2, "DatasetForms.ParsedExamples")
COVERED(Iterator, "DatasetForms.OlderIterators")
COVERED(AnonymousIterator, "DatasetForms.OlderIterators")
COVERED(AnonymousIteratorV2, "DatasetForms.OlderIterators")
COVERED(IteratorGetNextSync, "DatasetForms.OlderIterators")
COVERED(IteratorGetNextAsOptional, "DatasetForms.OlderIterators")
COVERED(IteratorFromStringHandle, "DatasetForms.OlderIterators")
COVERED(DeleteIterator, "DatasetForms.OlderIterators")
COVERED(SerializeIterator, "DatasetForms.OlderIterators")
COVERED(DeserializeIterator, "DatasetForms.OlderIterators")
COVERED(IteratorGetDevice, "DatasetForms.OlderIterators")
}  // namespace caudal
