// Lines for people on standard error: "I 12:03:04 session.cc:31 text".
//
//   log_info("restored ", count, " variables from ", path);
//
// The environment variable CAUDAL_LOG_LEVEL says which are shown: info, warning (the default), error or none.
// Thread safety: lines of several threads do not mix.
#pragma once

#include <source_location>
#include <string>
#include <string_view>

#include "caudal/base/error.h"
#include "caudal/base/export.h"

namespace caudal::inline v0 {

enum class LogLevel { kInfo = 0, kWarning = 1, kError = 2, kNone = 3 };

// The level in force. An unknown word in CAUDAL_LOG_LEVEL counts as warning.
CAUDAL_API LogLevel log_level();
CAUDAL_API void set_log_level(LogLevel level);

// Writes one line if `level` is shown.
CAUDAL_API void log_line(LogLevel level, const std::source_location& where, std::string_view text);

// The place of the call rides along with the first part.
class LogText {
 public:
  template <class Part>
  LogText(const Part& part, const std::source_location& where = std::source_location::current())  // NOLINT: implicit
      : text_(internal::concat(part)), where_(where) {}
  const std::string& text() const { return text_; }
  const std::source_location& where() const { return where_; }

 private:
  std::string text_;
  std::source_location where_;
};

template <class... Parts>
void log_info(const LogText& first, const Parts&... parts) {
  if (log_level() <= LogLevel::kInfo)
    log_line(LogLevel::kInfo, first.where(), internal::concat(first.text(), parts...));
}
template <class... Parts>
void log_warning(const LogText& first, const Parts&... parts) {
  if (log_level() <= LogLevel::kWarning)
    log_line(LogLevel::kWarning, first.where(), internal::concat(first.text(), parts...));
}
template <class... Parts>
void log_error(const LogText& first, const Parts&... parts) {
  if (log_level() <= LogLevel::kError)
    log_line(LogLevel::kError, first.where(), internal::concat(first.text(), parts...));
}

}  // namespace caudal::inline v0
