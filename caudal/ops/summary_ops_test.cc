#include "caudal/ops/summary_ops.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "caudal/formats/png.h"
#include "caudal/formats/summary.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/runtime/session.h"
#include "tests/harness/op_samples.h"

namespace caudal {
namespace {

using Strings = std::vector<std::string>;

class SummaryOps : public testing::Test {
 protected:
  static std::vector<SummaryValue> run(const Output& summary) {
    Session session;
    return decode_summary(session.run(summary).item<std::string>());
  }
  static std::string error_of(const Output& summary) {
    try {
      run(summary);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kInvalidArgument);
      return error.what();
    }
    ADD_FAILURE() << "no error";
    return {};
  }
  Graph graph_;
  GraphScope scope_{graph_};
};

// Names and tags of TensorFlow 2.21 for the same program.
TEST_F(SummaryOps, NamesAndTagsAreTensorFlows) {
  {
    const NameScope n("n");
    summary::scalar("my loss:x", constant(1.0F), {.family = "fam"});
    summary::histogram("h", constant(1.0F));
    summary::image("im", zeros({1, 2, 2, 1}));
    summary::scalar("h", constant(1.0F));
    summary::scalar("apart", constant(1.0F), {.collections = {"others"}});
  }
  const Output all = summary::merge_all();
  EXPECT_EQ(all.name(), "Merge/MergeSummary:0");
  EXPECT_EQ(summary::merge_all({.name = "all"}).name(), "all/all:0");
  Strings names, tags;
  for (const Output& input : all.node()->inputs()) names.push_back(input.name());
  for (const auto& value : run(all)) tags.push_back(value.tag);
  EXPECT_EQ(names, (Strings{"n/fam/my_loss_x:0", "n/h:0", "n/im:0", "n/h_1:0"}));
  EXPECT_EQ(tags, (Strings{"fam/n/fam/my_loss_x", "n/h", "n/im/image/0", "n/h_1"}));
  EXPECT_EQ(graph_.operation("n/h").input(0).name(), "n/h/tag:0");
  EXPECT_EQ(graph_.operation("n/h_1").input(0).name(), "n/h_1/tags:0");
  EXPECT_EQ(summary::merge_all({.scope = "n/h"}).node()->num_inputs(), 2);
  EXPECT_FALSE(summary::merge_all({.key = "nothing"}));
}

TEST_F(SummaryOps, ScalarsAreWrittenAsTensorFlowWritesThem) {
  Session session;
  EXPECT_EQ(session.run(raw_ops::scalar_summary("a", 1.0)).item<std::string>(),
            std::string("\n\x08\n\x01\x61\x15\0\0\x80?", 10));
  EXPECT_EQ(session.run(raw_ops::scalar_summary(Tensor(Strings{"a", "b"}), Tensor(std::vector<int>{1, 2})))
                .item<std::string>(),
            std::string("\n\x08\n\x01\x61\x15\0\0\x80?\n\x08\n\x01\x62\x15\0\0\0@", 20));
  EXPECT_NE(error_of(raw_ops::scalar_summary("a", Tensor(std::vector<float>{1, 2}))).find("tag 'a'"),
            std::string::npos);
}

TEST_F(SummaryOps, HistogramsRefuseWhatNoBucketHolds) {
  for (const float bad : {NAN, HUGE_VALF, -HUGE_VALF}) {
    const Output h = summary::histogram("weights", Tensor(std::vector<float>{1, bad, 2}));
    const std::string message = error_of(h);
    EXPECT_NE(message.find(std::isnan(bad) ? "Nan in summary histogram for: weights" : "weights"), std::string::npos)
        << message;
  }
  for (const Tensor& fine : {Tensor(std::vector<float>{}), Tensor(std::vector<float>(100, 3.0F)), Tensor(5)}) {
    const auto values = run(summary::histogram("fine", fine));
    ASSERT_EQ(values.size(), 1U);
    EXPECT_EQ(values[0].kind, SummaryValue::Kind::kHistogram);
  }
}

// Single precision counting would stop at 2^24.
TEST_F(SummaryOps, HistogramsCountBeyondSinglePrecision) {
  constexpr int kCount = (1 << 24) + 10;
  const Output values = fill({kCount}, constant(1.0F));
  const auto decoded = run(summary::histogram("many", values));
  WireReader reader(decoded.at(0).message, "histogram");
  double count = 0, sum = 0;
  while (reader.next()) {
    if (reader.field() == 3) count = reader.float64();
    if (reader.field() == 4) sum = reader.float64();
  }
  EXPECT_EQ(count, 16777226);
  EXPECT_EQ(sum, 16777226);
}

TEST_F(SummaryOps, PicturesAreScaledAsTensorFlowScalesThem) {
  const auto pixels = [&](const Tensor& batch) {
    std::vector<int> all;
    for (const auto& value : run(summary::image("t", batch, {.max_outputs = 2}))) {
      WireReader reader(value.message, "image");
      while (reader.next()) {
        if (reader.field() != 4) continue;
        const Tensor picture = decode_png(reader.bytes());
        for (const auto pixel : picture.flat<std::uint8_t>()) all.push_back(pixel);
      }
    }
    return all;
  };
  using F = std::vector<float>;
  EXPECT_EQ(pixels(Tensor::from<float>({1, 2, 2, 1}, F{0, .5F, 1, 2})), (std::vector{0, 63, 127, 255}));
  EXPECT_EQ(pixels(Tensor::from<float>({1, 2, 2, 1}, F{-1, .5F, 1, 2})), (std::vector{64, 159, 191, 255}));
  EXPECT_EQ(pixels(Tensor::from<float>({1, 1, 2, 3}, F{NAN, .5F, 1, 2, HUGE_VALF, 3})),
            (std::vector{255, 0, 0, 255, 0, 0}));
  EXPECT_EQ(pixels(Tensor::from<float>({2, 2, 1, 1}, F{0, 0, 0, 0})), (std::vector{0, 0, 0, 0}));
  EXPECT_EQ(pixels(Tensor::from<double>({1, 2, 2, 1}, {-4, .3, 1e-3, 3.3})), (std::vector{1, 137, 128, 232}));
  EXPECT_EQ(pixels(Tensor::from<std::uint8_t>({3, 1, 1, 1}, {7, 8, 9})), (std::vector{7, 8}));
}

TEST_F(SummaryOps, MergeRefusesTwoOfATag) {
  const Output a = raw_ops::scalar_summary("a", 1.0), b = raw_ops::scalar_summary("b", 1.0);
  EXPECT_EQ(run(summary::merge({a, b})).size(), 2U);
  EXPECT_NE(error_of(summary::merge({a, b, a})).find("Duplicate tag a found in summary inputs"), std::string::npos);
  EXPECT_NE(error_of(summary::merge({a, constant("\n\x7f")})).find("input 1"), std::string::npos);
}

const std::vector<DType> kReal = {float32, float64, float16, bfloat16, int8,   int16,
                                  int32,   int64,   uint8,   uint16,   uint32, uint64};

CAUDAL_OP_SAMPLES(ScalarSummary) {
  for (const DType type : kReal) {
    samples.add({.inputs = {Tensor("tag"), samples.random(type, {})}});
    samples.add({.inputs = {Tensor(Strings{"a", "b"}), samples.random(type, {2})}});
  }
  samples.error({Tensor("tag"), Tensor(std::vector<float>{1, 2})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(HistogramSummary) {
  for (const DType type : kReal) {
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{33}, Shape{2, 3, 1, 2}}) {
      samples.add({.inputs = {Tensor("tag"), samples.random(type, shape)}});
    }
  }
  samples.error({Tensor("tag"), Tensor(NAN)}, Code::kInvalidArgument, {}, "Nan in summary histogram for: tag");
  samples.error({Tensor(Strings{"a", "b"}), Tensor(1.0F)}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(ImageSummary) {
  for (const DType type : {uint8, float32, float16, float64}) {
    for (const Shape& shape : {Shape{1, 2, 3, 1}, Shape{4, 5, 4, 3}, Shape{2, 1, 1, 4}}) {
      samples.add({.inputs = {Tensor("tag"), samples.random(type, shape)}});
    }
  }
  samples.error({Tensor("tag"), samples.random(float32, {1, 2, 2, 2})}, Code::kInvalidArgument);
  samples.error({Tensor("tag"), samples.random(float32, {1, 0, 2, 3})}, Code::kInvalidArgument);
  samples.error({Tensor("tag"), samples.random(float32, {2, 2, 3})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(MergeSummary) {
  const Tensor a(std::string("\n\x08\n\x01\x61\x15\0\0\x80?", 10)), b(std::string("\n\x08\n\x01\x62\x15\0\0\x80?", 10));
  samples.add({.inputs = {{a, b}}, .expected = {Tensor(a.item<std::string>() + b.item<std::string>())}});
  samples.add({.inputs = {{a}}, .expected = {a}});
  samples.add({.inputs = {{Tensor(""), b}}, .expected = {b}});
  samples.error({{a, a}}, Code::kInvalidArgument, {}, "Duplicate tag a");
}

}  // namespace
}  // namespace caudal
