#include "caudal/ops/lookup_ops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "caudal/base/env.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/runtime/session.h"
#include "tests/harness/sample_types.h"

namespace caudal {
namespace {

using harness::ints;
using harness::longs;
using lookup::DenseHashTable;
using lookup::KeyValueTensorInitializer;
using lookup::MutableHashTable;
using lookup::StaticHashTable;
using lookup::TextFileInitializer;
using Strings = std::vector<std::string>;

void expect_error(const std::function<void()>& call, const std::string& text, Code code) {
  try {
    call();
    ADD_FAILURE() << "no error: " << text;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
  }
}

class LookupOps : public testing::Test {
 protected:
  std::string write(const std::string& text) {
    const std::string path = dir_.file("vocabulary.txt");
    write_file_atomically(default_env(), path, text);
    return path;
  }
  TempDir dir_;
  Graph graph_;
  GraphScope scope_{graph_};
};

TEST_F(LookupOps, StaticTablesAreFilledOnce) {
  const StaticHashTable table(KeyValueTensorInitializer(Tensor(Strings{"brain", "salad", "surgery"}), longs({0, 1, 2})),
                              std::int64_t{-1});
  const Output found = table.lookup(Tensor(Strings{"brain", "salad", "tank"}));
  Session session;
  expect_error([&] { session.run(found); }, "Table not initialized.", Code::kFailedPrecondition);
  session.run(tables_initializer());
  EXPECT_TRUE(identical(session.run(found), longs({0, 1, -1})));
  EXPECT_EQ(session.run(table.size()).item<std::int64_t>(), 3);
  session.run(tables_initializer());  // again changes nothing
  const auto entries = table.export_values();
  const auto all = session.run({entries.keys, entries.values});
  EXPECT_TRUE(identical(all[0], Tensor(Strings{"brain", "salad", "surgery"})));
  EXPECT_TRUE(identical(all[1], longs({0, 1, 2})));
  EXPECT_EQ(session.run(table.lookup(Tensor(string, {2, 3}))).shape(), (Shape{2, 3}));
}

TEST_F(LookupOps, StaticTablesRefuseContradictions) {
  const StaticHashTable twice(KeyValueTensorInitializer(Tensor(Strings{"a", "a"}), longs({0, 1})), std::int64_t{-1});
  const StaticHashTable table(KeyValueTensorInitializer(Tensor(Strings{"a", "b"}), longs({0, 1})), std::int64_t{-1});
  Session session;
  expect_error([&] { session.run(twice.initializer()); },
               "HashTable has different value for same key. Key a has 0 and trying to add value 1",
               Code::kFailedPrecondition);
  session.run(table.initializer());
  OpBuilder other("InitializeTableV2", {});
  const Operation more = other.input(table.handle()).input(Tensor(Strings{"c"})).input(longs({0})).build_operation();
  expect_error([&] { session.run(more); }, "Table was already initialized with different data.",
               Code::kFailedPrecondition);
  OpBuilder insert("LookupTableInsertV2", {});
  const Operation add = insert.input(table.handle()).input(Tensor(Strings{"c"})).input(longs({0})).build_operation();
  expect_error([&] { session.run(add); }, "Insert not supported", Code::kUnimplemented);
}

TEST_F(LookupOps, MutableTablesChange) {
  const MutableHashTable table(string, int64, std::int64_t{-1});
  Session session;
  session.run(table.insert(Tensor(Strings{"brain", "salad", "surgery", "tarkus"}), longs({0, 1, 2, 3})));
  session.run(table.remove(Tensor(Strings{"tarkus", "tank"})));
  EXPECT_EQ(session.run(table.size()).item<std::int64_t>(), 3);
  EXPECT_TRUE(identical(session.run(table.lookup(Tensor(Strings{"brain", "salad", "tank"}))), longs({0, 1, -1})));
  session.run(table.insert(Tensor(Strings{"salad", "new"}), longs({7, 8})));
  EXPECT_TRUE(identical(session.run(table.lookup(Tensor(Strings{"salad", "new"}))), longs({7, 8})));
  session.run(table.import_values(Tensor(Strings{"x"}), longs({9})));
  const auto entries = table.export_values();
  const auto all = session.run({entries.keys, entries.values});
  EXPECT_TRUE(identical(all[0], Tensor(Strings{"x"})));
  EXPECT_TRUE(identical(all[1], longs({9})));
  // Each key may have a default value of its own.
  OpBuilder find("LookupTableFindV2", {});
  const Output own = find.input(table.handle()).input(Tensor(Strings{"a", "x"})).input(longs({5, 6})).build();
  EXPECT_TRUE(identical(session.run(own), longs({5, 9})));
}

TEST_F(LookupOps, ValuesMayBeVectors) {
  const MutableHashTable table(int64, float32, constant({-1.0F, -2.0F}));
  Session session;
  session.run(table.insert(longs({5, 6}), Tensor::from<float>({2, 2}, {1, 2, 3, 4})));
  const Output found = table.lookup(longs({6, 7}));
  EXPECT_EQ(found.shape(), (PartialShape{2, 2}));
  EXPECT_TRUE(identical(session.run(found), Tensor::from<float>({2, 2}, {3, 4, -1, -2})));
  expect_error(
      [&] {
        session.run(table.insert(longs({5}), constant({1.0F, 2.0F})));
      },
      "Expected shape [1,2] for value, got [2]", Code::kInvalidArgument);
}

TEST_F(LookupOps, EveryPairOfTypesThatTensorFlowHas) {
  for (const auto& [key, values] :
       std::vector<std::pair<DType, std::vector<DType>>>{{int32, {float64, float32, int32, string}},
                                                         {int64, {float64, float32, int32, int64, string}},
                                                         {string, {boolean, float64, float32, int32, int64, string}}}) {
    for (const DType value : values) {
      const Tensor keys = harness::random_tensor(key, {5}), numbers = harness::random_tensor(value, {5}, 3);
      const MutableHashTable table(key, value, Tensor::zeros(value, {}));
      Session session;
      session.run(table.insert(keys, numbers));
      const Tensor found = session.run(table.lookup(keys));
      EXPECT_EQ(found.dtype(), value);
      EXPECT_TRUE(identical(found.rows(4, 5), numbers.rows(4, 5)));
    }
  }
}

TEST_F(LookupOps, DenseTablesGrowAndForget) {
  DenseHashTable::Options options;
  options.initial_num_buckets = 4;
  const DenseHashTable table(int64, int64, std::int64_t{-1}, std::int64_t{0}, std::int64_t{-7}, options);
  std::vector<std::int64_t> keys, values;
  for (std::int64_t i = 1; i <= 100; ++i) {
    keys.push_back(i * 3);
    values.push_back(i);
  }
  Session session;
  session.run(table.insert(longs(keys), longs(values)));
  EXPECT_TRUE(identical(session.run(table.lookup(longs(keys))), longs(values)));
  session.run(table.remove(longs({3, 6, 1000})));
  EXPECT_EQ(session.run(table.size()).item<std::int64_t>(), 98);
  EXPECT_TRUE(identical(session.run(table.lookup(longs({3, 9}))), longs({-1, 3})));
  expect_error([&] { session.run(table.lookup(longs({0}))); }, "Using the empty_key as a table key is not allowed",
               Code::kInvalidArgument);
  expect_error([&] { session.run(table.insert(longs({-7}), longs({1}))); },
               "Using the deleted_key as a table key is not allowed", Code::kInvalidArgument);
}

// The buckets that TensorFlow 2.21 exports for these entries.
TEST_F(LookupOps, DenseTablesExportTensorFlowsBuckets) {
  DenseHashTable::Options options;
  options.initial_num_buckets = 8;
  const DenseHashTable numbers(int64, int64, std::int64_t{-1}, std::int64_t{100}, std::int64_t{200}, options);
  const DenseHashTable words(string, float32, -1.0F, "", "$", options);
  const DenseHashTable pairs(int64, int64, longs({-1, -2}), longs({0, 0}), longs({-1, -1}), options);
  Session session;
  session.run(numbers.insert(longs({11, 12, 13, 19}), longs({0, 1, 2, 3})));
  session.run(numbers.remove(longs({12, 15})));
  session.run(words.insert(Tensor(Strings{"brain", "salad", "a longer key"}), constant({1.0F, 2.0F, 3.0F})));
  session.run(
      pairs.insert(Tensor::from<std::int64_t>({2, 2}, {4, 5, 6, 7}), Tensor::from<std::int64_t>({2, 2}, {1, 2, 3, 4})));
  const auto n = numbers.export_values(), w = words.export_values(), p = pairs.export_values();
  const auto got = session.run({n.keys, n.values, w.keys, w.values, p.keys, p.values});
  EXPECT_EQ(got[0].to_vector<std::int64_t>(), (std::vector<std::int64_t>{100, 100, 100, 11, 200, 13, 19, 100}));
  EXPECT_EQ(got[1].to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 0, 0, 0, 1, 2, 3, 0}));
  EXPECT_EQ(got[2].to_vector<std::string>(), (Strings{"", "", "salad", "brain", "", "a longer key", "", ""}));
  EXPECT_EQ(got[3].to_vector<float>(), (std::vector<float>{0, 0, 2, 1, 0, 3, 0, 0}));
  EXPECT_EQ(got[4].to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{0, 0, 4, 5, 6, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(got[5].to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{0, 0, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  const DenseHashTable copy(string, float32, -1.0F, "", "$", options);
  session.run(copy.import_values(got[2], got[3]));
  EXPECT_TRUE(identical(session.run(copy.lookup(Tensor(Strings{"salad", "x"}))), Tensor(std::vector<float>{2, -1})));
  EXPECT_EQ(session.run(copy.size()).item<std::int64_t>(), 3);
}

TEST_F(LookupOps, DenseTablesRefuseBadKeys) {
  Session session;
  const auto expect = [&](const DenseHashTable& table, const std::string& text) {
    expect_error([&] { session.run(table.size()); }, text, Code::kInvalidArgument);
  };
  const std::int64_t none = -1;
  expect({int64, int64, none, std::int64_t{5}, std::int64_t{5}}, "Empty and deleted keys cannot be equal");
  expect({int64, int64, none, longs({1, 2}), longs({1, 2, 3})},
         "Empty and deleted keys must have same shape, got shapes: [2] and [3]");
  DenseHashTable::Options options;
  options.initial_num_buckets = 12;
  expect({int64, int64, none, std::int64_t{5}, std::int64_t{6}, options},
         "Number of buckets must be at least 4 and a power of 2, got: 12");
}

TEST_F(LookupOps, TextFilesFillTables) {
  const std::string path = write("brain\t10\r\nsalad\t20\nsurgery\t30");
  const StaticHashTable by_line(TextFileInitializer(path, string, 0, int64, lookup::kLineNumber), std::int64_t{-1});
  const StaticHashTable by_column(TextFileInitializer(path, string, 0, float32, 1), -1.0F);
  const StaticHashTable whole(TextFileInitializer(path, int64, lookup::kLineNumber, string, lookup::kWholeLine),
                              "none");
  const StaticHashTable two(TextFileInitializer(path, string, 0, int64, lookup::kLineNumber, {.vocab_size = 2}),
                            std::int64_t{-1});
  Session session;
  session.run(tables_initializer());
  const Tensor words(Strings{"brain", "surgery", "tank"});
  EXPECT_TRUE(identical(session.run(by_line.lookup(words)), longs({0, 2, -1})));
  EXPECT_TRUE(identical(session.run(by_column.lookup(words)), Tensor(std::vector<float>{10, 30, -1})));
  EXPECT_TRUE(identical(session.run(whole.lookup(longs({0, 9}))), Tensor(Strings{"brain\t10", "none"})));
  EXPECT_TRUE(identical(session.run(two.lookup(words)), longs({0, -1, -1})));
  const auto fails = [&](const lookup::TableInitializer& initializer, const Operand& none, const std::string& text,
                         Code code = Code::kInvalidArgument) {
    const StaticHashTable table(initializer, none, {.shared_name = text});
    expect_error([&] { session.run(table.initializer()); }, text, code);
  };
  fails(TextFileInitializer(path, string, 0, int64, 2), std::int64_t{-1}, "Invalid number of columns in");
  fails(TextFileInitializer(path, int64, 0, int64, 1), std::int64_t{-1}, "Field brain in line 0 is not a valid int64.");
  fails(TextFileInitializer(path, string, 0, int64, lookup::kLineNumber, {.vocab_size = 4}), std::int64_t{-1},
        "expected 4 but got 3");
  fails(TextFileInitializer(path, string, 0, float32, lookup::kLineNumber), -1.0F,
        "Value index for line number requires table value dtype of int64, got float");
  fails(TextFileInitializer(dir_.file("none"), string, 0, int64, lookup::kLineNumber), std::int64_t{-1}, "none",
        Code::kNotFound);
}

TEST_F(LookupOps, TablesOfOneNameAreOne) {
  const MutableHashTable a(string, int64, std::int64_t{-1}, {.shared_name = "words"});
  const MutableHashTable b(string, int64, std::int64_t{-1}, {.shared_name = "words"});
  const MutableHashTable other(string, int64, std::int64_t{-1}, {.shared_name = "words", .container = "box"});
  const MutableHashTable wrong(string, float32, -1.0F, {.shared_name = "words"});
  Session session;
  session.run(a.insert(Tensor(Strings{"x"}), longs({1})));
  EXPECT_EQ(session.run(b.size()).item<std::int64_t>(), 1);
  EXPECT_EQ(session.run(other.size()).item<std::int64_t>(), 0);
  expect_error([&] { session.run(wrong.size()); },
               "Conflicting key/value dtypes string->float with string-int64 for table words", Code::kInvalidArgument);
  Session second;  // sessions share nothing
  EXPECT_EQ(second.run(b.size()).item<std::int64_t>(), 0);
}

TEST_F(LookupOps, AnonymousTablesLiveAsLongAsTheirHandle) {
  for (const char* op : {"AnonymousMutableHashTable", "AnonymousMutableDenseHashTable", "AnonymousHashTable",
                         "AnonymousMutableHashTableOfTensors"}) {
    OpBuilder make(op, {});
    if (std::string_view(op) == "AnonymousMutableDenseHashTable") make.input(std::int64_t{0}).input(std::int64_t{-1});
    const bool vectors = std::string_view(op).ends_with("OfTensors");
    if (vectors) make.attr("value_shape", PartialShape{1});
    const Output handle = make.attr("key_dtype", int64).attr("value_dtype", int64).build();
    const Tensor values = vectors ? longs({5}).reshape({1, 1}) : longs({5});
    OpBuilder put("LookupTableImportV2", {}), get("LookupTableFindV2", {});
    if (std::string_view(op) == "AnonymousMutableDenseHashTable") put = OpBuilder("LookupTableInsertV2", {});
    const Operation fill = put.input(handle).input(longs({1})).input(values).build_operation();
    const ControlDependencies after({fill});
    const Tensor none = vectors ? longs({-1}) : Tensor(std::int64_t{-1});
    const Output found = get.input(handle).input(longs({1, 2})).input(none).build();
    Session session;
    EXPECT_EQ(session.run(found).to_vector<std::int64_t>(), (std::vector<std::int64_t>{5, -1})) << op;
  }
}

// TensorFlow's older ops have references to string vectors as handles.
TEST_F(LookupOps, OldFormsWorkLikeTheNewOnes) {
  const auto table = [](const char* op, bool dense, bool vectors) {
    OpBuilder builder(op, {});
    if (dense) builder.input(std::int64_t{0});
    if (vectors) builder.attr("value_shape", PartialShape{1});
    return builder.attr("key_dtype", int64).attr("value_dtype", int64).build();
  };
  Session session;
  for (const auto& [op, dense, vectors] :
       std::vector<std::tuple<const char*, bool, bool>>{{"MutableHashTable", false, false},
                                                        {"MutableHashTableOfTensors", false, true},
                                                        {"MutableDenseHashTable", true, false}}) {
    const Output handle = table(op, dense, vectors);
    const Tensor values = vectors ? longs({5, 6}).reshape({2, 1}) : longs({5, 6});
    const Tensor none = vectors ? longs({-1}) : Tensor(std::int64_t{-1});
    session.run(OpBuilder("LookupTableInsert", {}).input(handle).input(longs({1, 2})).input(values).build_operation());
    const Output found = OpBuilder("LookupTableFind", {}).input(handle).input(longs({2, 3})).input(none).build();
    EXPECT_EQ(session.run(found).to_vector<std::int64_t>(), (std::vector<std::int64_t>{6, -1})) << op;
    EXPECT_EQ(session.run(OpBuilder("LookupTableSize", {}).input(handle).build()).item<std::int64_t>(), 2);
    OpBuilder export_all("LookupTableExport", {});
    Node& all = export_all.input(handle).attr("Tkeys", int64).attr("Tvalues", int64).build_node();
    const auto entries = session.run({all.output(0), all.output(1)});
    OpBuilder import_all("LookupTableImport", {});
    session.run(import_all.input(handle).input(entries[0]).input(entries[1]).build_operation());
    EXPECT_EQ(session.run(found).to_vector<std::int64_t>(), (std::vector<std::int64_t>{6, -1})) << op;
  }
  const Output fixed = table("HashTable", false, false);
  session.run(OpBuilder("InitializeTable", {}).input(fixed).input(longs({1})).input(longs({5})).build_operation());
  const Output found = OpBuilder("LookupTableFind", {}).input(fixed).input(longs({1})).input(std::int64_t{-1}).build();
  EXPECT_EQ(session.run(found).item<std::int64_t>(), 5);
  const Output lines = table("HashTable", false, false);
  OpBuilder text("InitializeTableFromTextFile", {});
  text.input(lines).input(write("7\n8\n")).attr("key_index", -2).attr("value_index", -1);
  session.run(text.build_operation());
  const Output line = OpBuilder("LookupTableFind", {}).input(lines).input(longs({8})).input(std::int64_t{-1}).build();
  EXPECT_EQ(session.run(line).item<std::int64_t>(), 1);
}

constexpr const char* kStatic = "LookupOps.StaticTablesAreFilledOnce";
constexpr const char* kMutable = "LookupOps.MutableTablesChange";
constexpr const char* kAnonymous = "LookupOps.AnonymousTablesLiveAsLongAsTheirHandle";
constexpr const char* kOld = "LookupOps.OldFormsWorkLikeTheNewOnes";
CAUDAL_OP_SAMPLES(HashTableV2) { samples.covered_by(kStatic); }
CAUDAL_OP_SAMPLES(LookupTableFindV2) { samples.covered_by(kStatic); }
CAUDAL_OP_SAMPLES(LookupTableSizeV2) { samples.covered_by(kStatic); }
CAUDAL_OP_SAMPLES(LookupTableExportV2) { samples.covered_by(kStatic); }
CAUDAL_OP_SAMPLES(InitializeTableV2) { samples.covered_by("LookupOps.StaticTablesRefuseContradictions"); }
CAUDAL_OP_SAMPLES(MutableHashTableV2) { samples.covered_by(kMutable); }
CAUDAL_OP_SAMPLES(LookupTableInsertV2) { samples.covered_by(kMutable); }
CAUDAL_OP_SAMPLES(LookupTableRemoveV2) { samples.covered_by(kMutable); }
CAUDAL_OP_SAMPLES(LookupTableImportV2) { samples.covered_by(kMutable); }
CAUDAL_OP_SAMPLES(MutableHashTableOfTensorsV2) { samples.covered_by("LookupOps.ValuesMayBeVectors"); }
CAUDAL_OP_SAMPLES(MutableDenseHashTableV2) { samples.covered_by("LookupOps.DenseTablesExportTensorFlowsBuckets"); }
CAUDAL_OP_SAMPLES(InitializeTableFromTextFileV2) { samples.covered_by("LookupOps.TextFilesFillTables"); }
CAUDAL_OP_SAMPLES(AnonymousHashTable) { samples.covered_by(kAnonymous); }
CAUDAL_OP_SAMPLES(AnonymousMutableHashTable) { samples.covered_by(kAnonymous); }
CAUDAL_OP_SAMPLES(AnonymousMutableHashTableOfTensors) { samples.covered_by(kAnonymous); }
CAUDAL_OP_SAMPLES(AnonymousMutableDenseHashTable) { samples.covered_by(kAnonymous); }
CAUDAL_OP_SAMPLES(HashTable) { samples.covered_by(kOld); }
CAUDAL_OP_SAMPLES(MutableHashTable) { samples.covered_by(kOld); }
CAUDAL_OP_SAMPLES(MutableHashTableOfTensors) { samples.covered_by(kOld); }
CAUDAL_OP_SAMPLES(MutableDenseHashTable) { samples.covered_by(kOld); }
CAUDAL_OP_SAMPLES(LookupTableFind) { samples.covered_by(kOld); }
CAUDAL_OP_SAMPLES(LookupTableInsert) { samples.covered_by(kOld); }
CAUDAL_OP_SAMPLES(LookupTableSize) { samples.covered_by(kOld); }
CAUDAL_OP_SAMPLES(LookupTableExport) { samples.covered_by(kOld); }
CAUDAL_OP_SAMPLES(LookupTableImport) { samples.covered_by(kOld); }
CAUDAL_OP_SAMPLES(InitializeTable) { samples.covered_by(kOld); }
CAUDAL_OP_SAMPLES(InitializeTableFromTextFile) { samples.covered_by(kOld); }

}  // namespace
}  // namespace caudal
