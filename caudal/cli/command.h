// Commands of the binary. A command is one file that registers itself:
//
//   CAUDAL_COMMAND({.name = "doctor", .summary = "what this machine offers", .run = run_doctor});
//
// `run` gets the words behind the command's name and returns the exit code. Exit codes: 0 fine, 1 failed (an Error), 2
// wrong usage, 130 interrupted.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "caudal/base/export.h"

namespace caudal::inline v0::cli {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitInterrupted = 130;

struct Command {
  std::string_view name;
  std::string_view summary;  // one line of `caudal --help`
  int (*run)(const std::vector<std::string>& arguments) = nullptr;
};

class CommandRegistrar {
 public:
  explicit CommandRegistrar(const Command& command);
  const Command& command;
  const CommandRegistrar* next;
};

#define CAUDAL_COMMAND(...)                                                       \
  namespace {                                                                     \
  constexpr ::caudal::cli::Command kCommand = ::caudal::cli::Command __VA_ARGS__; \
  const ::caudal::cli::CommandRegistrar command_registrar(kCommand);              \
  }                                                                               \
  static_assert(true)

// The program: picks the command, reports errors (as JSON on stdout where --json was given), returns the exit code.
CAUDAL_API int main(int argc, const char* const* argv);

}  // namespace caudal::inline v0::cli
