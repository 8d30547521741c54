// Every op vector of TensorFlow under testdata/ops, one test per file.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/harness/golden.h"

namespace caudal::inline v0 {
namespace {

const std::filesystem::path kFolder = std::filesystem::path(CAUDAL_SOURCE_DIR) / "testdata" / "ops";

std::vector<std::string> families() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (entry.path().extension() == ".jsonl") names.push_back(entry.path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, AgreesWithTensorFlow) {
  const auto cases = harness::read_golden((kFolder / (GetParam() + ".jsonl")).string());
  ASSERT_FALSE(cases.empty());
  for (const auto& golden : cases) EXPECT_EQ(harness::check_golden(golden), "") << golden.id;
}

INSTANTIATE_TEST_SUITE_P(Families, Golden, testing::ValuesIn(families()),
                         [](const auto& family) { return family.param; });

}  // namespace
}  // namespace caudal::inline v0
