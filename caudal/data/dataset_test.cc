#include "caudal/data/dataset.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "caudal/formats/idx.h"

namespace caudal::data {
namespace {

// n rows: feature i is the byte i, label i is i.
DataSet counting(std::int64_t n) {
  Tensor features(uint8, Shape{n, 1});
  Tensor labels(int64, Shape{n});
  for (std::int64_t i = 0; i < n; ++i) {
    features.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(i);
    labels.data<std::int64_t>()[i] = i;
  }
  return {features, labels};
}

std::vector<std::int64_t> epoch_labels(BatchStream& stream, std::vector<std::int64_t>* sizes = nullptr) {
  std::vector<std::int64_t> labels;
  Batch batch;
  while (stream.next(batch)) {
    const auto part = batch.labels.to_vector<std::int64_t>();
    labels.insert(labels.end(), part.begin(), part.end());
    if (sizes != nullptr) sizes->push_back(static_cast<std::int64_t>(part.size()));
  }
  return labels;
}

TEST(DataSet, BatchesCoverEveryRowOnceAndTheLastIsSmaller) {
  auto stream = counting(10).stream(4, {.seed = 7});
  std::vector<std::int64_t> sizes;
  auto labels = epoch_labels(stream, &sizes);
  EXPECT_EQ(sizes, (std::vector<std::int64_t>{4, 4, 2}));
  EXPECT_FALSE(std::ranges::is_sorted(labels));
  std::ranges::sort(labels);
  std::vector<std::int64_t> all(10);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(labels, all);
}

TEST(DataSet, DropRemainderLeavesTheSmallBatchOut) {
  auto stream = counting(10).stream(4, {.drop_remainder = true});
  EXPECT_EQ(stream.batches_per_epoch(), 2);
  EXPECT_EQ(epoch_labels(stream).size(), 8U);
}

TEST(DataSet, OrderDependsOnSeedAndEpochOnly) {
  auto a = counting(100).stream(10, {.seed = 1, .prefetch = 0});
  auto b = counting(100).stream(10, {.seed = 1, .prefetch = 3});
  auto c = counting(100).stream(10, {.seed = 2});
  const auto first = epoch_labels(a);
  const auto second = epoch_labels(a);
  EXPECT_NE(first, second);
  EXPECT_EQ(first, epoch_labels(b));
  EXPECT_EQ(second, epoch_labels(b));
  EXPECT_NE(first, epoch_labels(c));
}

TEST(DataSet, RestoreGoesOnWithTheVeryNextBatch) {
  auto whole = counting(50).stream(8, {.seed = 3});
  Batch batch;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(whole.next(batch));
  const StreamPosition position = whole.position();
  const auto rest = epoch_labels(whole);
  const auto next_epoch = epoch_labels(whole);

  auto resumed = counting(50).stream(8, {.seed = 99});
  resumed.restore(position);
  EXPECT_EQ(epoch_labels(resumed), rest);
  EXPECT_EQ(epoch_labels(resumed), next_epoch);
  EXPECT_THROW(resumed.restore({3, 0, 51}), Error);
  EXPECT_THROW(resumed.restore({3, 0, 5}), Error);  // in the middle of a batch
}

TEST(DataSet, BytesAreScaledToOne) {
  const DataSet rows = counting(256);
  const auto batch = rows.stream(256, {.shuffle = false}).next();
  ASSERT_EQ(batch.features.dtype(), float32);
  for (int i = 0; i < 256; ++i) EXPECT_EQ(batch.features.at<float>(i, 0), static_cast<float>(i) / 255.0F);
  EXPECT_EQ(rows.stream(2, {.scale_uint8 = false}).next().features.dtype(), uint8);
}

TEST(DataSet, EmptyOrUnequalDataAreRefused) {
  EXPECT_THROW(DataSet(Tensor(float32, Shape{3, 2}), Tensor(int64, Shape{4})), Error);
  EXPECT_THROW(counting(0).stream(4), Error);
  EXPECT_THROW(counting(4).stream(0), Error);
  EXPECT_THROW(counting(3).stream(4, {.drop_remainder = true}), Error);
}

TEST(DataSet, ARangeIsOneEpoch) {
  std::int64_t rows = 0;
  for (const auto& [features, labels] : counting(10).batches(3)) rows += labels.dim(0);
  EXPECT_EQ(rows, 10);
}

TEST(DataSet, AStreamThatIsAbandonedEndsItsThread) {
  for (int i = 0; i < 50; ++i) {
    auto stream = counting(100).stream(5);
    Batch batch;
    stream.next(batch);
  }
}

class LoadIdxTest : public ::testing::Test {
 protected:
  void SetUp() override { directory_ = default_env().make_temp_dir("load_idx"); }
  void TearDown() override { remove_tree(default_env(), directory_); }
  void write(const std::string& name, const Tensor& tensor) {
    write_idx(default_env(), join_path(directory_, name), tensor);
  }
  void write_part(const std::string& part, std::int64_t n) {
    write(part + "-images-idx3-ubyte", Tensor::zeros(uint8, {n, 4, 5}));
    write(part + "-labels-idx1-ubyte", Tensor::zeros(uint8, {n}));
  }
  std::string directory_;
};

TEST_F(LoadIdxTest, CutsTheValidationPartFromTheEnd) {
  write_part("train", 20);
  write_part("t10k", 6);
  const DataSets sets = load_idx(directory_, {.validation_size = 5});
  EXPECT_EQ(sets.train.features().shape(), (Shape{15, 4, 5, 1}));
  EXPECT_EQ(sets.validation.size(), 5);
  EXPECT_EQ(sets.test.size(), 6);
  EXPECT_EQ(sets.train.labels().dtype(), int64);
  EXPECT_THROW(load_idx(directory_, {.validation_size = 20}), Error);
}

TEST_F(LoadIdxTest, SaysWhatIsMissingOrDoesNotFit) {
  try {
    load_idx(directory_);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kNotFound);
    EXPECT_NE(std::string(error.what()).find("train-images-idx3-ubyte"), std::string::npos);
  }
  write_part("train", 20);
  write_part("t10k", 6);
  write("train-labels-idx1-ubyte", Tensor::zeros(uint8, {19}));
  EXPECT_THROW(load_idx(directory_, {.validation_size = 5}), Error);
}

}  // namespace
}  // namespace caudal::data
