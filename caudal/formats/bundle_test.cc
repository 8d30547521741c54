// Against checkpoints written by TensorFlow 2.21 (testdata/golden/checkpoints).
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "caudal/base/crc32c.h"
#include "caudal/base/fault_env.h"
#include "caudal/formats/bundle_reader.h"
#include "caudal/formats/bundle_writer.h"
#include "caudal/formats/table.h"

namespace caudal {
namespace {

std::string golden(const std::string& name) {
  return std::string(CAUDAL_SOURCE_DIR) + "/testdata/golden/checkpoints/" + name;
}

Code code_of(const std::function<void()>& action, std::string* message = nullptr) {
  try {
    action();
  } catch (const Error& error) {
    if (message != nullptr) *message = error.what();
    return error.code();
  }
  return Code::kOk;
}

template <class T>
Tensor vec(std::initializer_list<T> values) {
  return Tensor::from<T>(Shape{static_cast<int64_t>(values.size())}, values);
}

// What v2_dtypes/all holds, in the order in which it was saved.
std::map<std::string, Tensor> all_dtypes() {
  const std::vector<float> bfloats = {0.88671875f, 0.022705078125f, 0.953125f, -0.83984375f, 0.21484375f};
  const std::vector<float> halves = {-0.82861328125f, -0.5263671875f, 0.6025390625f, 0.164306640625f, -0.8115234375f};
  Tensor half(float16, {5}), bfloat(bfloat16, {5});
  for (int i = 0; i < 5; ++i) {
    half.data<Half>()[i] = Half(halves[i]);
    bfloat.data<BFloat16>()[i] = BFloat16(bfloats[i]);
  }
  const float inf = std::numeric_limits<float>::infinity();
  return {
      {"a/bfloat16", bfloat},
      {"a/double", Tensor::from<double>(
                       {2, 2}, {-0.4767757315013672, -0.4030177131717534, 0.6284514811885606, -0.8161681157298062})},
      {"a/float",
       Tensor::from<float>({3, 4}, {0.02364325f, 0.90092736f, -0.71168077f, 0.8972989f, -0.37633708f, -0.1533471f,
                                    0.65540516f, -0.18160173f, 0.099187374f, -0.9448818f, 0.5070262f, 0.07628663f})},
      {"a/half", half},
      {"b/int16", vec<int16_t>({-32768, 32767})},
      {"b/int32", vec<int32_t>({INT32_MIN, INT32_MAX})},
      {"b/int64", vec<int64_t>({INT64_MIN, INT64_MAX})},
      {"b/int8", vec<int8_t>({-128, 0, 127})},
      {"b/uint16", vec<uint16_t>({65535})},
      {"b/uint32", vec<uint32_t>({UINT32_MAX})},
      {"b/uint64", vec<uint64_t>({UINT64_MAX})},
      {"b/uint8", vec<uint8_t>({0, 255})},
      {"c/bool", Tensor::from<bool>({2, 2}, {true, false, false, true})},
      {"c/complex128", vec<std::complex<double>>({{1e300, -2}})},
      {"c/complex64", vec<std::complex<float>>({{1, 2}, {-0.0f, -3.5f}})},
      {"d/empty", Tensor(float32, {0, 3})},
      {"d/empty_string", Tensor(string, {0})},
      {"d/scalar_float", Tensor(3.25f)},
      {"d/scalar_int64", Tensor(int64_t{-7})},
      {"e/string",
       Tensor::from<std::string>({2, 2}, {"", std::string("a\0b", 3), std::string(300, 'x'), "\xc3\xa9\xe4\xb8\xad"})},
      {"e/string_scalar", Tensor("hello")},
      {"f/special_float", vec<float>({std::nanf(""), inf, -inf, -0.0f, 1e-45f})},
  };
}

TEST(BundleReader, ReadsEveryType) {
  const BundleReader reader(default_env(), golden("v2_dtypes/all"));
  const auto expected = all_dtypes();
  EXPECT_EQ(reader.names().size(), expected.size());
  for (const auto& [name, value] : expected)
    EXPECT_TRUE(identical(reader.read(name), value)) << name << ": " << reader.read(name).to_string();
}

TEST(BundleWriter, WritesTensorFlowsBytes) {
  const TempDir dir;
  const std::string prefix = dir.file("all");
  BundleWriter writer(default_env(), prefix);
  for (const auto& [name, value] : all_dtypes()) writer.add(name, value);
  EXPECT_FALSE(default_env().exists(prefix + ".index")) << "nothing is visible before finish()";
  writer.finish();
  for (const std::string suffix : {".index", ".data-00000-of-00001"})
    EXPECT_TRUE(read_file(default_env(), prefix + suffix) == read_file(default_env(), golden("v2_dtypes/all") + suffix))
        << suffix << " differs";
  EXPECT_EQ(default_env().list(dir.path()).size(), 2u) << "no temporary files";
}

TEST(BundleWriter, LargeIndexHasTensorFlowsBytes) {
  const TempDir dir;
  BundleWriter writer(default_env(), dir.file("many"));
  std::string scope;
  for (int i = 0; i < 30; ++i) scope += "very_long_scope_name/";
  for (int i = 0; i < 600; ++i) {
    char number[8];
    std::snprintf(number, sizeof number, "%04d", i);
    writer.add(number + ("_layer/" + scope + "var"), Tensor(static_cast<float>(i)));
  }
  writer.finish();
  const std::string index = read_file(default_env(), dir.file("many.index"));
  EXPECT_EQ(index.size(), 396460u);
  EXPECT_EQ(crc32c(index), 0xcee842f2u) << "checksum of golden/checkpoints/v2_many/many.index";
  EXPECT_EQ(BundleReader(default_env(), dir.file("many")).names().size(), 600u);
}

TEST(Bundle, PartitionedTensors) {
  const std::string prefix = golden("v2_partitioned/model.ckpt-3");
  const BundleReader reader(default_env(), prefix);
  EXPECT_EQ(reader.names(), (std::vector<std::string>{"b", "names", "p/emb", "q/w", "step"}));
  ASSERT_EQ(reader.entry("p/emb").slices.size(), 3u);
  EXPECT_EQ(reader.entry("q/w").slices[1].to_string(), "0,3:3,2");
  const Tensor emb = reader.read("p/emb"), w = reader.read("q/w", float32);
  EXPECT_EQ(emb.describe(), "float32[10,4]");
  EXPECT_EQ(emb.at<float>(0, 0), -0.7428596f);
  EXPECT_EQ(emb.at<float>(4, 1), 0.024764627f);
  EXPECT_EQ(emb.at<float>(9, 3), -0.5657035f);
  EXPECT_EQ(w.at<float>(0, 4), -0.30022153f);
  EXPECT_EQ(w.at<float>(2, 0), -0.99434596f);
  // Across two parts, and columns of all three.
  EXPECT_TRUE(identical(reader.read_slice("p/emb", TensorSlice::parse("3,3:-")), emb.rows(3, 6).clone()));
  const Tensor column = reader.read_slice("p/emb", TensorSlice::parse("-:2,1"));
  ASSERT_EQ(column.describe(), "float32[10,1]");
  for (int i = 0; i < 10; ++i) EXPECT_EQ(column.at<float>(i, 0), emb.at<float>(i, 2));

  const TempDir dir;
  BundleWriter writer(default_env(), dir.file("model.ckpt-3"));
  writer.add("b", reader.read("b"));
  writer.add("names", reader.read("names"));
  for (const std::string name : {"p/emb", "q/w"})
    for (const TensorSlice& slice : reader.entry(name).slices)
      writer.add_slice(name, reader.entry(name).shape, slice, reader.read_slice(name, slice));
  writer.add("step", reader.read("step"));
  writer.finish();
  for (const std::string suffix : {".index", ".data-00000-of-00001"})
    EXPECT_TRUE(read_file(default_env(), dir.file("model.ckpt-3") + suffix) ==
                read_file(default_env(), prefix + suffix))
        << suffix << " differs";
}

TEST(Bundle, ShardedAndObjectCheckpoints) {
  const BundleReader sharded(default_env(), golden("v2_sharded/model.ckpt-3"));
  const BundleReader single(default_env(), golden("v2_partitioned/model.ckpt-3"));
  for (const std::string& name : single.names()) EXPECT_TRUE(identical(sharded.read(name), single.read(name))) << name;
  const BundleReader object(default_env(), golden("tf2_object/ckpt-2"));
  EXPECT_EQ(object.read("epoch/.ATTRIBUTES/VARIABLE_VALUE").item<int32_t>(), 9);
  EXPECT_GT(object.read("_CHECKPOINTABLE_OBJECT_GRAPH").item<std::string>().size(), 100u);
}

TEST(Bundle, MergeJoinsShards) {
  const TempDir dir;
  Env& env = default_env();
  const Tensor whole = Tensor::from<float>({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  for (int part = 0; part < 2; ++part) {
    BundleWriter writer(env, dir.file("part" + std::to_string(part)));
    writer.add("own" + std::to_string(part), Tensor(part));
    writer.add_slice("both", {4, 2}, TensorSlice({{part * 2, 2}, {}}), whole.rows(part * 2, part * 2 + 2));
    writer.finish();
  }
  const std::vector<std::string> parts = {dir.file("part0"), dir.file("part1")};
  merge_bundles(env, parts, dir.file("all"));
  EXPECT_EQ(env.list(dir.path()),
            (std::vector<std::string>{"all.data-00000-of-00002", "all.data-00001-of-00002", "all.index"}));
  const BundleReader reader(env, dir.file("all"));
  EXPECT_TRUE(identical(reader.read("both"), whole));
  EXPECT_EQ(reader.read("own1").item<int32_t>(), 1);
}

// expected.json, "damaged": the codes of TensorFlow's RestoreV2.
TEST(Bundle, DamagedFilesGiveTensorFlowsCodes) {
  const auto read_all = [](const std::string& name) {
    std::map<std::string, Code> bad;
    for (const auto& [key, value] : all_dtypes()) {
      const Code code = code_of([&] { BundleReader(default_env(), golden("damaged/" + name)).read(key); });
      if (code != Code::kOk) bad[key] = code;
    }
    return bad;
  };
  for (const std::string name : {"index_flipped", "index_truncated", "index_magic", "data_missing"}) {
    const auto bad = read_all(name);
    EXPECT_EQ(bad.size(), all_dtypes().size()) << name;
    for (const auto& [key, code] : bad)
      EXPECT_EQ(code, name == "data_missing" ? Code::kNotFound : Code::kDataLoss) << name << " " << key;
  }
  EXPECT_EQ(read_all("data_flipped"), (std::map<std::string, Code>{{"a/bfloat16", Code::kDataLoss}}));
  EXPECT_EQ(read_all("data_truncated"), (std::map<std::string, Code>{{"f/special_float", Code::kOutOfRange}}));
}

TEST(Bundle, WrongRequestsSayWhatIsThere) {
  const BundleReader reader(default_env(), golden("v2_dtypes/all"));
  std::string message;
  EXPECT_EQ(code_of([&] { reader.read("a/flaot"); }, &message), Code::kNotFound);
  EXPECT_NE(message.find("Did you mean 'a/float'"), std::string::npos) << message;
  EXPECT_EQ(code_of([&] { reader.read("a/float", int32); }, &message), Code::kInvalidArgument);
  EXPECT_NE(message.find("float32[3,4]"), std::string::npos) << message;
  EXPECT_EQ(code_of([&] { reader.read_slice("a/float", TensorSlice::parse("2,2:-")); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] { reader.read_slice("a/float", TensorSlice::parse("-")); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] { BundleReader(default_env(), golden("v2_dtypes/al")); }, &message), Code::kNotFound);
  EXPECT_NE(message.find("Did you mean 'all'"), std::string::npos) << message;
}

TEST(BundleWriter, RefusesWhatDoesNotFit) {
  const TempDir dir;
  BundleWriter writer(default_env(), dir.file("sub/dir/m"));
  writer.add("x", Tensor(1.0f));
  EXPECT_EQ(code_of([&] { writer.add("x", Tensor(1.0f)); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] { writer.add("", Tensor(1.0f)); }), Code::kInvalidArgument);
  const TensorSlice slice = TensorSlice::parse("0,2");
  EXPECT_EQ(code_of([&] { writer.add_slice("y", {4}, slice, Tensor(1.0f)); }), Code::kInvalidArgument);
  writer.add_slice("y", {4}, slice, Tensor(std::vector<float>{1, 2}));
  EXPECT_EQ(code_of([&] {
              writer.add_slice("y", {4}, slice, Tensor(std::vector<float>{1, 2}));
            }),
            Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] {
              writer.add_slice("y", {5}, TensorSlice::parse("2,2"), Tensor(std::vector<float>{1, 2}));
            }),
            Code::kInvalidArgument);
}

TEST(BundleWriter, AbandonedWriterLeavesNothing) {
  const TempDir dir;
  { BundleWriter(default_env(), dir.file("m")).add("x", Tensor(1.0f)); }
  EXPECT_TRUE(default_env().list(dir.path()).empty());
}

void save(Env& env, const std::string& prefix, float value) {
  BundleWriter writer(env, prefix);
  writer.add("x", Tensor(value));
  writer.add("y", Tensor(std::vector<float>(1000, value)));
  writer.finish();
}

// The value saved last, read completely; throws if the checkpoint is damaged.
float load(Env& env, const std::string& prefix) {
  const BundleReader reader(env, prefix);
  const float value = reader.read("x").item<float>();
  EXPECT_EQ(reader.read("y").to_vector<float>(), std::vector<float>(1000, value));
  return value;
}

TEST(BundleWriter, OverwritingSurvivesFaultsAndCrashes) {
  for (const Fault fault : {Fault::kNoSpace, Fault::kIo, Fault::kShortWrite}) {
    for (const Survivors survivors : {Survivors::kNone, Survivors::kSome, Survivors::kAll}) {
      for (int64_t at = 0, last = false; !last; ++at) {
        const TempDir dir;
        const std::string prefix = dir.file("model");
        FaultEnv env(default_env());
        save(env, prefix, 1);
        env.fail_at(at, fault);
        Code code = code_of([&] { save(env, prefix, 2); });
        last = !env.fault_happened();
        EXPECT_TRUE(!last || code == Code::kOk);
        const float before_crash = load(env, prefix);
        EXPECT_TRUE(before_crash == 1 || before_crash == 2) << before_crash;
        env.crash(survivors, static_cast<uint64_t>(at));
        const float value = load(env, prefix);
        EXPECT_TRUE(value == 2 || (value == 1 && code != Code::kOk)) << value << " after a fault at call " << at;
        save(env, prefix, 3);
        EXPECT_EQ(load(env, prefix), 3);
      }
    }
  }
}

TEST(BundleReader, OpenReaderOutlivesReplacement) {
  const TempDir dir;
  save(default_env(), dir.file("m"), 1);
  const BundleReader reader(default_env(), dir.file("m"));
  save(default_env(), dir.file("m"), 2);
  remove_bundle(default_env(), dir.file("m"));
  EXPECT_TRUE(default_env().list(dir.path()).empty());
  EXPECT_EQ(reader.read("x").item<float>(), 1);
}

// An index whose entry lies about its size must fail before memory is taken.
TEST(BundleReader, LyingEntriesAreRefused) {
  const TempDir dir;
  const std::string prefix = dir.file("m");
  save(default_env(), prefix, 1);
  const auto with_entry = [&](const BundleEntry& entry) {
    const auto file = default_env().create(prefix + ".index");
    TableBuilder table(file.get());
    table.add("", BundleHeader{}.encode());
    table.add("x", entry.encode());
    table.finish();
    file->close();
    return code_of([&] { BundleReader(default_env(), prefix).read("x"); });
  };
  BundleEntry entry{.dtype = float32, .shape = {1'000'000, 1'000'000}, .size = 4'000'000'000'000};
  EXPECT_EQ(with_entry(entry), Code::kOutOfRange);
  entry.size = 4;
  EXPECT_EQ(with_entry(entry), Code::kDataLoss);
  entry.dtype = string;
  EXPECT_EQ(with_entry(entry), Code::kDataLoss);
  entry = {.dtype = float32, .shape = {1'000'000, 1'000'000}, .slices = {TensorSlice::whole(2)}};
  EXPECT_EQ(with_entry(entry), Code::kDataLoss);
  entry = {.dtype = float32, .shape = {}, .offset = INT64_MAX, .size = 4};
  EXPECT_EQ(with_entry(entry), Code::kOutOfRange);
  entry = {.dtype = float32, .shape = {}, .shard = 7, .size = 4};
  EXPECT_EQ(with_entry(entry), Code::kDataLoss);
}

}  // namespace
}  // namespace caudal
