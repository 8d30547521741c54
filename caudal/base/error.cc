#include "caudal/base/error.h"

#include <array>
#include <utility>

namespace caudal::inline v0 {

std::string code_name(Code code) {
  static constexpr std::array<std::string_view, 17> kNames = {
      "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
      "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
      "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
      "DATA_LOSS", "UNAUTHENTICATED"};
  const auto number = static_cast<std::size_t>(code);
  if (number < kNames.size()) return std::string(kNames[number]);
  return "CODE(" + std::to_string(static_cast<int>(code)) + ")";
}

std::string short_location(const std::source_location& where) {
  std::string_view file = where.file_name();
  if (const auto slash = file.find_last_of('/'); slash != std::string_view::npos) file.remove_prefix(slash + 1);
  return internal::concat(file, ':', where.line());
}

Error::Error(Code code, std::string detail) : code_(code), detail_(std::move(detail)) { compose(); }
Error::~Error() = default;
Error::Error(const Error&) = default;
Error& Error::operator=(const Error&) = default;

std::string Error::message() const { return message_.substr(code_name(code_).size() + 2); }

Error Error::hint(std::string advice) const {
  Error copy = *this;
  if (copy.hint_.empty()) copy.hint_ = std::move(advice);
  copy.compose();
  return copy;
}

Error Error::at_node(std::string_view op, std::string_view name, std::string_view made_at) const {
  Error copy = *this;
  if (copy.node_.empty()) {
    copy.op_ = op;
    copy.node_ = name;
    copy.made_at_ = made_at;
  }
  copy.compose();
  return copy;
}

Error Error::made_at(std::string_view place) const {
  Error copy = *this;
  if (copy.made_at_.empty()) copy.made_at_ = place;
  copy.compose();
  return copy;
}

Error Error::in(std::string_view context) const {
  Error copy = *this;
  copy.detail_ = internal::concat(context, ": ", detail_);
  copy.compose();
  return copy;
}

void Error::compose() {
  message_ = code_name(code_) + ": ";
  if (!node_.empty()) message_ += internal::concat(op_, " '", node_, "': ");
  message_ += detail_;
  const bool more = !made_at_.empty() || !hint_.empty();
  if (more && !detail_.empty() && detail_.back() != '.') message_ += '.';
  if (!made_at_.empty()) message_ += internal::concat(" Made at ", made_at_, ".");
  if (!hint_.empty()) message_ += internal::concat(' ', hint_);
}

}  // namespace caudal::inline v0
