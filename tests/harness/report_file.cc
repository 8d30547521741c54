#include "tests/harness/report_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "tests/harness/json_data.h"

namespace caudal::inline v0::harness {
namespace {

std::vector<OpResult>& results() {
  static std::vector<OpResult> all;
  return all;
}

class ReportWriter : public ::testing::EmptyTestEventListener {
  void OnTestProgramEnd(const ::testing::UnitTest&) override {
    const char* path = std::getenv("CAUDAL_HARNESS_REPORT");
    if (path == nullptr || *path == '\0') return;
    std::ofstream file(path);
    file << report_json(results());
    if (!file.flush()) std::fprintf(stderr, "cannot write %s\n", path);
  }
};

template <class Items, class Text>
std::string joined(const Items& items, const Text& text) {
  std::string result;
  for (const auto& item : items) result += (result.empty() ? "" : ",") + text(item);
  return result;
}

std::string op_json(const OpResult& result) {
  const OpReport& report = result.report;
  std::set<std::string> failed;
  for (const Finding& finding : report.findings) failed.insert(finding.check);
  std::ostringstream out;
  out << "{\"op\":" << json_quoted(report.op) << ",\"ok\":" << (failed.empty() ? "true" : "false")
      << ",\"samples\":" << result.samples << ",\"golden_cases\":" << result.golden_cases
      << ",\"gradient\":" << json_quoted(report.gradient) << ",\"dtypes\":{"
      << joined(report.dtypes,
                [](const auto& entry) {
                  return json_quoted(entry.first) + ":[" +
                         joined(entry.second, [](DType t) { return json_quoted(std::string(dtype_name(t))); }) + "]";
                })
      << "},\"checks\":{"
      << joined(report.passed, [](const auto& c) { return json_quoted(c.first) + ":" + std::to_string(c.second); })
      << "},\"failed\":[" << joined(failed, json_quoted) << "]}";
  return out.str();
}

}  // namespace

std::string report_json(std::vector<OpResult> all) {
  std::ranges::sort(all, {}, [](const OpResult& result) { return result.report.op; });
  std::string text = "[";
  for (const OpResult& result : all) text += (text.size() == 1 ? "\n" : ",\n") + op_json(result);
  return text + "\n]\n";
}

void record(OpResult result) {
  if (results().empty()) ::testing::UnitTest::GetInstance()->listeners().Append(new ReportWriter);
  results().push_back(std::move(result));
}

}  // namespace caudal::inline v0::harness
