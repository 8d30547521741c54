#include "caudal/base/log.h"

#include <gtest/gtest.h>

#include <string>

namespace caudal {
namespace {

TEST(Log, ShowsWhatTheLevelAllows) {
  const LogLevel before = log_level();
  set_log_level(LogLevel::kWarning);
  testing::internal::CaptureStderr();
  log_info("quiet");
  log_warning("seen ", 3, " times");
  log_error("bad");
  const std::string out = testing::internal::GetCapturedStderr();
  set_log_level(before);
  EXPECT_EQ(out.find("quiet"), std::string::npos);
  EXPECT_NE(out.find(" log_test.cc:15 seen 3 times\n"), std::string::npos) << out;
  EXPECT_TRUE(out.starts_with("W "));
  EXPECT_NE(out.find("\nE "), std::string::npos);
}

}  // namespace
}  // namespace caudal
