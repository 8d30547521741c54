// Every registered op through the harness (tests/harness/op_harness.h), and against TensorFlow's definitions and golden
// vectors. One test per op: ops_test --gtest_filter='*OpHarness*/Relu'.
#include "tests/harness/op_harness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "caudal/core/op_registry.h"
#include "tests/harness/call.h"
#include "tests/harness/golden_vectors.h"
#include "tests/harness/op_facts.h"
#include "tests/harness/report_file.h"

namespace caudal::inline v0::harness {
namespace {

const OpFacts& facts() {
  static const OpFacts all(CAUDAL_SOURCE_DIR "/testdata/interop");
  return all;
}

const GoldenVectors& golden() {
  static const GoldenVectors all(CAUDAL_SOURCE_DIR "/testdata/golden");
  return all;
}

std::vector<std::string> ops_under_test() {
  std::vector<std::string> names;
  for (std::string_view name : registered_ops()) {
    if (name != kCopyOp) names.emplace_back(name);
  }
  return names;
}

constexpr std::size_t kShown = 12;  // findings of one op; the rest says the same

class OpHarness : public ::testing::TestWithParam<std::string> {};

TEST_P(OpHarness, AgreesEverywhere) {
  const std::string& op = GetParam();
  const Samples samples = samples_of(op);
  OpReport report = check_op(op, samples);
  facts().check(samples, report);
  golden().check(op, samples.golden_exceptions(), report);
  std::string shown;
  for (std::size_t i = 0; i < std::min(kShown, report.findings.size()); ++i) {
    shown += "\n" + op + ": " + report.findings[i].to_string();
  }
  if (report.findings.size() > kShown) shown += "\nand " + std::to_string(report.findings.size() - kShown) + " more";
  if (!shown.empty()) ADD_FAILURE() << shown;
  record({std::move(report), static_cast<int>(samples.samples().size() + samples.graphs().size()), golden().count(op)});
}

INSTANTIATE_TEST_SUITE_P(Ops, OpHarness, ::testing::ValuesIn(ops_under_test()),
                         [](const auto& info) { return info.param; });

TEST(OpHarnessSamples, AreOfRegisteredOps) {
  for (const std::string& op : sampled_ops()) EXPECT_NE(find_op(op), nullptr) << "samples of " << op;
}

TEST(OpHarnessGolden, SaysWhichOpsAreStillToCome) {
  std::string waiting;
  int count = 0, ready = 0;
  for (const std::string& op : golden().ops()) {
    if (find_op(op) != nullptr) {
      ++ready;
      continue;
    }
    waiting += " " + op;
    ++count;
  }
  std::printf("golden vectors: %d ops are there, %d are not registered yet:%s\n", ready, count, waiting.c_str());
  EXPECT_GT(ready, 0);
}

}  // namespace
}  // namespace caudal::inline v0::harness
