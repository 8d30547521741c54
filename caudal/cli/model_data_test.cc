#include "caudal/cli/model_data.h"

#include <gtest/gtest.h>

#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "caudal/formats/example.h"
#include "caudal/formats/npy.h"
#include "caudal/formats/tfrecord.h"

namespace caudal::inline v0::cli {
namespace {

std::string failure(const DataOptions& options) {
  try {
    load_model_data(options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(ModelData, ReadsCsvWithWordsAsLabels) {
  const TempDir dir;
  const std::string path = dir.file("a.csv");
  write_file_atomically(default_env(), path, "a,b,kind\r\n1,2.5,cat\r\n-3,4e1,\"dog, big\"\r\n5,6,cat\r\n");
  const ModelData data = load_model_data({.path = path, .label = "kind"});
  EXPECT_TRUE(identical(data.x[0], Tensor::from<float>({3, 2}, {1, 2.5F, -3, 40, 5, 6})));
  EXPECT_EQ(data.y.to_int64s(), (std::vector<std::int64_t>{0, 1, 0}));
  const ModelData one = load_model_data({.path = path, .label = "kind", .features = {"b"}});
  EXPECT_EQ(one.x[0].shape(), Shape({3, 1}));
}

TEST(ModelData, TheLastColumnIsTheLabelWithoutAHeader) {
  const TempDir dir;
  const std::string path = dir.file("a.csv");
  write_file_atomically(default_env(), path, "1,2,0.5\n3,4,1.5\n");
  const ModelData data = load_model_data({.path = path});
  EXPECT_EQ(data.x[0].shape(), Shape({2, 2}));
  EXPECT_TRUE(identical(data.y, Tensor(std::vector<float>{0.5F, 1.5F})));
}

TEST(ModelData, ReadsArraysAndRecords) {
  const TempDir dir;
  const Tensor x = Tensor::from<float>({2, 2}, {1, 2, 3, 4});
  write_npz(default_env(), dir.file("a.npz"), {{"x", x}, {"y", Tensor(std::vector<int>{1, 0})}});
  const ModelData arrays = load_model_data({.path = dir.file("a.npz")});
  EXPECT_TRUE(identical(arrays.x[0], x));
  EXPECT_EQ(arrays.y.to_int64s(), (std::vector<std::int64_t>{1, 0}));
  {
    RecordWriter writer(default_env(), dir.file("a.tfrecord"));
    for (std::int64_t i = 0; i < 2; ++i) {
      writer.write(example_bytes(
          {{{"label", std::vector<std::int64_t>{i}}, {"v", std::vector<float>{static_cast<float>(i), 7}}}}));
    }
    writer.close();
  }
  const ModelData records = load_model_data({.path = dir.file("a.tfrecord")});
  EXPECT_TRUE(identical(records.x[0], Tensor::from<float>({2, 2}, {0, 7, 1, 7})));
  EXPECT_EQ(records.y.to_int64s(), (std::vector<std::int64_t>{0, 1}));
  EXPECT_NE(failure({.path = dir.file("a.tfrecord"), .label = "kind"}).find("It has label, v."), std::string::npos);
}

TEST(ModelData, SaysWhatIsWrong) {
  const TempDir dir;
  write_file_atomically(default_env(), dir.file("a.csv"), "a,b\n1,2\n3\n");
  EXPECT_NE(failure({.path = dir.file("a.csv")}).find("a.csv:3: 1 fields, the first line has 2"), std::string::npos);
  write_file_atomically(default_env(), dir.file("a.tfrecord"), "no records here");
  EXPECT_NE(failure({.path = dir.file("a.tfrecord")}).find("DATA_LOSS"), std::string::npos);
  EXPECT_NE(failure({.path = dir.file("a.txt")}).find("there is no"), std::string::npos);
  EXPECT_NE(failure({}).find("--data"), std::string::npos);
}

}  // namespace
}  // namespace caudal::inline v0::cli
