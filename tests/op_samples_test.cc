// The samples' own language: what four families rely on when they write them.
#include "tests/harness/op_samples.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/harness/compare.h"

namespace caudal::inline v0 {
namespace {

using harness::Samples;

CAUDAL_OP_SAMPLES(NoSuchOpUnary) {
  samples.unary_elementwise({float16, float32, float64, int8},
                            {.range = {.low = 0.5, .high = 4}, .reference = [](double x) { return std::sqrt(x); }});
  samples.error({samples.random(complex64, {3})}, Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(NoSuchOpLists) {
  const Tensor x = samples.random(float32, {2, 3}), y = samples.random(string, {2});
  samples.add({.inputs = {{x}, {x, y}, {}}, .attrs = {{"axis", 1}, {"padding", "SAME"}}});
  samples.add({.inputs = {x, 2, std::vector<int>{1, 2}, Samples::variable(x)}, .attrs = {{"T", float32}}});
  samples.add({.inputs = {Samples::uninitialized(Samples::resource_variable(x))}, .code = Code::kFailedPrecondition});
}

TEST(OpSamples, GeneratorsCoverTypesRanksAndSizes) {
  const Samples samples = harness::samples_of("NoSuchOpUnary");
  std::vector<DType> types;
  std::vector<int> ranks;
  std::int64_t largest = 0, empty = 0, errors = 0;
  for (const harness::Sample& sample : samples.samples()) {
    const Tensor& x = sample.inputs[0].values[0].value;
    types.push_back(x.dtype());
    ranks.push_back(x.rank());
    largest = std::max(largest, x.num_elements());
    empty += x.num_elements() == 0;
    errors += sample.code != Code::kOk;
  }
  for (DType type : {float16, float32, float64, int8})
    EXPECT_NE(std::count(types.begin(), types.end(), type), 0) << type;
  for (int rank = 0; rank <= 4; ++rank) EXPECT_NE(std::count(ranks.begin(), ranks.end(), rank), 0) << rank;
  EXPECT_GT(largest, 65536);
  EXPECT_GT(empty, 0);
  EXPECT_EQ(errors, 1);
}

TEST(OpSamples, ListsAndVariablesKeepTheirPlaces) {
  const Samples samples = harness::samples_of("NoSuchOpLists");
  ASSERT_EQ(samples.samples().size(), 3U);
  const harness::Sample& lists = samples.samples()[0];
  ASSERT_EQ(lists.inputs.size(), 3U);
  EXPECT_EQ(lists.inputs[0].values.size(), 1U);
  EXPECT_EQ(lists.inputs[1].values.size(), 2U);
  EXPECT_TRUE(lists.inputs[2].values.empty());
  EXPECT_EQ(lists.attrs.at("axis"), AttrValue(1));
  const harness::Sample& mixed = samples.samples()[1];
  ASSERT_EQ(mixed.inputs.size(), 4U);
  EXPECT_EQ(mixed.inputs[1].values[0].value.dtype(), int32);
  EXPECT_EQ(mixed.inputs[3].values[0].kind, harness::SampleValue::Kind::kRefVariable);
  EXPECT_TRUE(samples.samples()[2].inputs[0].values[0].uninitialized);
}

TEST(OpSamples, AreTheSameEveryTime) {
  const Samples a = harness::samples_of("NoSuchOpLists"), b = harness::samples_of("NoSuchOpLists");
  EXPECT_TRUE(identical(a.samples()[0].inputs[0].values[0].value, b.samples()[0].inputs[0].values[0].value));
  EXPECT_FALSE(identical(a.samples()[0].inputs[1].values[1].value, Tensor(string, {2})));
}

TEST(OpSamples, ReferenceFindsOneWrongElement) {
  const Samples samples = harness::samples_of("NoSuchOpUnary");
  const auto sample = std::find_if(samples.samples().begin(), samples.samples().end(), [](const harness::Sample& s) {
    return s.inputs[0].values[0].value.describe() == "float32[33]";
  });
  ASSERT_NE(sample, samples.samples().end());
  const Tensor& x = sample->inputs[0].values[0].value;
  Tensor y(float32, x.shape());
  for (int i = 0; i < 33; ++i) y.data<float>()[i] = std::sqrt(x.data<float>()[i]);
  EXPECT_EQ(sample->verify({y}), "");
  y.data<float>()[32] = 0;
  EXPECT_NE(sample->verify({y}).find("element 32"), std::string::npos) << sample->verify({y});
}

TEST(OpSamples, OffsetViewHoldsTheSameValuesElsewhere) {
  for (DType type : {float32, string, boolean, complex128}) {
    for (const Shape& shape : {Shape{}, Shape{5}, Shape{2, 3}, Shape{0}}) {
      const Tensor x = harness::random_tensor(type, shape, 3), view = harness::offset_view(x);
      EXPECT_EQ(harness::bit_difference(x, view), "");
      EXPECT_GT(view.byte_offset(), 0U);
    }
  }
}

TEST(OpSamples, RandomValuesKeepClearOfIntegers) {
  for (double value : harness::to_doubles(harness::random_tensor(float64, {1000}))) {
    EXPECT_GE(std::abs(value - std::round(value)), 0.1 - 1e-9);
  }
  EXPECT_THROW(harness::random_tensor(uint8, {1}, 1, {.low = -5, .high = -1}), Error);
}

TEST(Difference, NamesTheElement) {
  const Tensor a = Tensor::from<float>({2, 2}, {1, 2, 3, 4}), b = Tensor::from<float>({2, 2}, {1, 2, 3, 5});
  EXPECT_EQ(harness::difference(a, a, 0), "");
  EXPECT_NE(harness::difference(a, b, 1e-3).find("[1,1]: expected 4, got 5"), std::string::npos)
      << harness::difference(a, b, 1e-3);
  EXPECT_EQ(harness::difference(a, b, 0.3), "");
  EXPECT_NE(harness::difference(a, a.reshape({4}), 1), "");
  EXPECT_NE(harness::bit_difference(Tensor(0.0f), Tensor(-0.0f)), "");
  EXPECT_EQ(harness::difference(Tensor(0.0f), Tensor(-0.0f), 0), "");
}

}  // namespace
}  // namespace caudal::inline v0
