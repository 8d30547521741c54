// Every op vector of TensorFlow under testdata/ops, one test per family.
#include <gtest/gtest.h>

#include "tests/harness/golden.h"

namespace caudal::inline v0 {
namespace {

class Golden : public testing::TestWithParam<const char*> {};

TEST_P(Golden, AgreesWithTensorFlow) {
  const auto cases = harness::read_golden(std::string(CAUDAL_SOURCE_DIR) + "/testdata/ops/" + GetParam() + ".jsonl");
  ASSERT_FALSE(cases.empty());
  for (const auto& golden : cases) EXPECT_EQ(harness::check_golden(golden), "") << golden.id;
}

INSTANTIATE_TEST_SUITE_P(Families, Golden,
                         testing::Values("array", "segment", "bias", "cast", "elementwise_binary", "elementwise_unary",
                                         "matmul", "random", "reduction", "scan", "selection"),
                         [](const auto& family) { return std::string(family.param); });

}  // namespace
}  // namespace caudal::inline v0
