// The one exception type of Caudal and the functions that make it.
//
// Every failure that a user can cause or meet is an Error: a canonical code (TensorFlow's, absl's and gRPC's numbers)
// and one message in one form:
//
//   INVALID_ARGUMENT: MatMul 'outputs/MatMul': inner dimensions differ: a float32[50,100], b float32[300,10]. Made at
//   train.cc:14. Give the layer 100 input units, or transpose.
//
// A kernel or shape function throws what it knows (`throw invalid_argument("inner dimensions differ: ...")`); whoever
// knows the node adds it with at_node(). Thread safety: an Error is a value.
#pragma once

#include <exception>
#include <source_location>
#include <sstream>
#include <string>
#include <string_view>

#include "caudal/base/export.h"

namespace caudal::inline v0 {

// Canonical codes; the numbers are part of the wire formats.
enum class Code : int {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

// "INVALID_ARGUMENT" and so on; "CODE(77)" for a number that is none of ours.
CAUDAL_API std::string code_name(Code code);

class CAUDAL_API Error : public std::exception {
 public:
  Error(Code code, std::string detail);
  ~Error() override;
  Error(const Error&);
  Error& operator=(const Error&);

  Code code() const { return code_; }
  // What went wrong, without code, place and advice.
  const std::string& detail() const { return detail_; }
  // Name of the node that failed; empty where no node was involved.
  const std::string& node() const { return node_; }
  // The advice given by hint(), or empty.
  const std::string& advice() const { return hint_; }
  // The whole message in the form above.
  const char* what() const noexcept override { return message_.c_str(); }
  // The whole message without the leading code, as RPC bodies carry it.
  std::string message() const;

  // Adds what to do about it, as a full sentence. An earlier hint stays.
  Error hint(std::string advice) const;
  // Adds the node (its op type, name and the user's "file:line", which may be empty). The first node named stays.
  Error at_node(std::string_view op, std::string_view name, std::string_view made_at = {}) const;
  // Adds "Made at ..." where no node was involved (an option struct, a session call).
  Error made_at(std::string_view place) const;
  // Puts "context: " before the detail, for instance a file name.
  Error in(std::string_view context) const;

 private:
  void compose();

  Code code_;
  std::string detail_, op_, node_, made_at_, hint_;
  std::string message_;
};

// "train.cc:14": the last component of the file and the line.
CAUDAL_API std::string short_location(const std::source_location& where);

namespace internal {
template <class... Parts>
std::string concat(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}
}  // namespace internal

// One function per code; the parts are streamed one after another.
#define CAUDAL_ERROR_FUNCTION(name, code)           \
  template <class... Parts>                         \
  Error name(const Parts&... parts) {               \
    return Error(code, internal::concat(parts...)); \
  }
CAUDAL_ERROR_FUNCTION(cancelled, Code::kCancelled)
CAUDAL_ERROR_FUNCTION(unknown_error, Code::kUnknown)
CAUDAL_ERROR_FUNCTION(invalid_argument, Code::kInvalidArgument)
CAUDAL_ERROR_FUNCTION(deadline_exceeded, Code::kDeadlineExceeded)
CAUDAL_ERROR_FUNCTION(not_found, Code::kNotFound)
CAUDAL_ERROR_FUNCTION(already_exists, Code::kAlreadyExists)
CAUDAL_ERROR_FUNCTION(permission_denied, Code::kPermissionDenied)
CAUDAL_ERROR_FUNCTION(resource_exhausted, Code::kResourceExhausted)
CAUDAL_ERROR_FUNCTION(failed_precondition, Code::kFailedPrecondition)
CAUDAL_ERROR_FUNCTION(aborted, Code::kAborted)
CAUDAL_ERROR_FUNCTION(out_of_range, Code::kOutOfRange)
CAUDAL_ERROR_FUNCTION(unimplemented, Code::kUnimplemented)
CAUDAL_ERROR_FUNCTION(internal_error, Code::kInternal)
CAUDAL_ERROR_FUNCTION(unavailable, Code::kUnavailable)
CAUDAL_ERROR_FUNCTION(data_loss, Code::kDataLoss)
#undef CAUDAL_ERROR_FUNCTION

}  // namespace caudal::inline v0
