#include "caudal/formats/slice_file.h"

#include <gtest/gtest.h>

#include <complex>
#include <limits>

#include "caudal/base/error.h"
#include "caudal/base/memory_env.h"
#include "caudal/formats/bundle_reader.h"

namespace caudal {
namespace {

const std::string kGolden = std::string(CAUDAL_SOURCE_DIR) + "/testdata/golden/checkpoints/v1_format/model-v1-3";

std::string bytes_of(Env& env, const std::string& path) {
  const auto file = env.open_random_access(path);
  std::string bytes(file->size(), '\0');
  read_exactly(*file, 0, bytes.data(), bytes.size());
  return bytes;
}

void write_bytes(Env& env, const std::string& path, std::string_view bytes) {
  const auto file = env.create(path);
  file->append(bytes);
  file->close();
}

TEST(SliceFile, ReadsWhatTensorFlowWrote) {
  const BundleReader reader(default_env(), kGolden);
  EXPECT_EQ(reader.names(), (std::vector<std::string>{"b", "names", "p/emb", "q/w", "step"}));
  EXPECT_EQ(reader.read("step", int64).item<std::int64_t>(), 42);
  const Tensor words = reader.read("names", string);
  EXPECT_EQ(words.flat<std::string>()[1], "deux");
  const Tensor whole = reader.read("p/emb", float32);
  ASSERT_EQ(whole.shape(), (Shape{10, 4}));
  // Rows 3 to 5 lie in two of the three parts.
  const Tensor rows = reader.read_slice("p/emb", TensorSlice::parse("3,3:-"));
  ASSERT_EQ(rows.shape(), (Shape{3, 4}));
  for (int i = 0; i < 12; ++i) EXPECT_EQ(rows.data<float>()[i], whole.data<float>()[12 + i]);
}

// The same tensors written again are the same bytes.
TEST(SliceFile, WritesTheBytesOfTensorFlow) {
  const SliceFileReader reader(default_env(), kGolden);
  MemoryEnv env;
  SliceFileWriter writer(env, "again");
  for (const auto& [name, saved] : reader.tensors()) {
    for (const TensorSlice& slice : saved.slices) {
      writer.add(name, saved.shape, slice, reader.read(name, saved, slice));
    }
  }
  writer.finish();
  EXPECT_TRUE(bytes_of(env, "again") == bytes_of(default_env(), kGolden));
}

TEST(SliceFile, KeepsEveryType) {
  const std::vector<Tensor> values = {
      Tensor::from<float>({2}, {1.5F, -std::numeric_limits<float>::infinity()}),
      Tensor(-2.25),
      Tensor::from<std::int32_t>({2}, {INT32_MIN, INT32_MAX}),
      Tensor::from<std::int64_t>({2}, {INT64_MIN, INT64_MAX}),
      Tensor::from<std::int8_t>({3}, {-128, 0, 127}),
      Tensor::from<std::int16_t>({2}, {-32768, 32767}),
      Tensor::from<std::uint8_t>({2}, {0, 255}),
      Tensor::from<std::uint16_t>({1}, {65535}),
      Tensor::from<std::uint32_t>({1}, {UINT32_MAX}),
      Tensor::from<std::uint64_t>({1}, {UINT64_MAX}),
      Tensor::from<bool>({3}, {true, false, true}),
      Tensor::from<std::complex<float>>({1}, {{1, -2}}),
      Tensor::from<std::complex<double>>({1}, {{1e300, 2}}),
      Tensor::from<Half>({2}, {Half(1.5F), Half(-2.F)}),
      Tensor::from<BFloat16>({1}, {BFloat16(3.F)}),
      Tensor::from<std::string>({2}, {"", std::string("a\0b", 3)}),
      Tensor(float32, {0, 3}),
  };
  MemoryEnv env;
  SliceFileWriter writer(env, "all");
  for (std::size_t i = 0; i < values.size(); ++i) {
    writer.add(std::to_string(i), values[i].shape(), TensorSlice::whole(values[i].rank()), values[i]);
  }
  writer.finish();
  const BundleReader reader(env, "all");
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Tensor back = reader.read(std::to_string(i), values[i].dtype());
    ASSERT_EQ(back.shape(), values[i].shape());
    if (is_plain(back.dtype())) {
      EXPECT_TRUE(back.raw_bytes() == values[i].raw_bytes()) << i;
    } else {
      EXPECT_EQ(back.flat<std::string>()[1], values[i].flat<std::string>()[1]);
    }
  }
}

// Sharded V1 checkpoints are named by a pattern.
TEST(SliceFile, SeveralFilesAreOneCheckpoint) {
  MemoryEnv env;
  for (const int part : {0, 1}) {
    SliceFileWriter writer(env, "/d/m-0000" + std::to_string(part) + "-of-00002");
    writer.add("x", {4}, TensorSlice::parse(part == 0 ? "0,2" : "2,2"),
               Tensor(std::vector<float>{part * 2.F, part * 2.F + 1}));
    writer.finish();
  }
  const Tensor x = BundleReader(env, "/d/m-*-of-00002").read("x");
  EXPECT_EQ(std::vector<float>(x.data<float>(), x.data<float>() + 4), (std::vector<float>{0, 1, 2, 3}));
  EXPECT_THROW(BundleReader(env, "/d/n-*-of-00002"), Error);
}

TEST(SliceFile, RefusesWhatDoesNotFit) {
  MemoryEnv env;
  SliceFileWriter writer(env, "m");
  const auto code_of = [](const auto& action) {
    try {
      action();
    } catch (const Error& error) {
      return error.code();
    }
    return Code::kOk;
  };
  const Tensor pair(std::vector<float>{1, 2});
  writer.add("x", {4}, TensorSlice::parse("0,2"), pair);
  EXPECT_EQ(code_of([&] { writer.add("x", {4}, TensorSlice::parse("1,2"), pair); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] { writer.add("x", {5}, TensorSlice::parse("2,2"), pair); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] { writer.add("y", {4}, TensorSlice::parse("0,3"), pair); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] { writer.add("", {2}, TensorSlice::parse("-"), pair); }), Code::kInvalidArgument);
  writer.finish();
  // Half of it is missing.
  EXPECT_EQ(code_of([&] { BundleReader(env, "m").read("x"); }), Code::kDataLoss);
}

TEST(SliceFile, DamageIsFound) {
  const std::string good = bytes_of(default_env(), kGolden);
  MemoryEnv env;
  int found = 0;
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x20);
    write_bytes(env, "bad", bad);
    try {
      const BundleReader reader(env, "bad");
      for (const std::string& name : reader.names()) reader.read(name);
    } catch (const Error& error) {
      ++found;
      EXPECT_TRUE(error.code() == Code::kDataLoss || error.code() == Code::kResourceExhausted) << error.what();
    }
  }
  // The footer has padding, and an empty block of which nobody needs anything.
  EXPECT_GT(found, static_cast<int>(good.size()) - 56);
}

}  // namespace
}  // namespace caudal
