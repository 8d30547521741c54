#include "caudal/base/log.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <ctime>

namespace caudal::inline v0 {
namespace {

LogLevel level_from_environment() {
  const char* text = std::getenv("CAUDAL_LOG_LEVEL");
  const std::string_view word = text == nullptr ? "" : text;
  if (word == "info") return LogLevel::kInfo;
  if (word == "error") return LogLevel::kError;
  if (word == "none") return LogLevel::kNone;
  return LogLevel::kWarning;
}

std::atomic<LogLevel>& current_level() {
  static std::atomic<LogLevel> level = level_from_environment();
  return level;
}

}  // namespace

LogLevel log_level() { return current_level().load(std::memory_order_relaxed); }
void set_log_level(LogLevel level) { current_level().store(level, std::memory_order_relaxed); }

void log_line(LogLevel level, const std::source_location& where, std::string_view text) {
  if (level < log_level() || level == LogLevel::kNone) return;
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char clock[16];
  std::strftime(clock, sizeof clock, "%H:%M:%S", &local);
  const std::string line =
      internal::concat("IWE"[static_cast<int>(level)], ' ', clock, ' ', short_location(where), ' ', text, '\n');
  // One write, so that lines of several threads and processes stay whole. A closed standard error is no error of ours.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace caudal::inline v0
