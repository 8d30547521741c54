// Commands of `caudal rl`. Each is one file that registers itself, as commands of the program do:
//
//   CAUDAL_RL_COMMAND({.name = "envs", .summary = "all environments", .run = run_envs});
#pragma once

#include "caudal/cli/command.h"

namespace caudal::inline v0::cli {

class RlCommandRegistrar {
 public:
  explicit RlCommandRegistrar(const Command& command);
  const Command& command;
  const RlCommandRegistrar* next;
};

#define CAUDAL_RL_COMMAND(...)                                                      \
  namespace {                                                                       \
  constexpr ::caudal::cli::Command kRlCommand = ::caudal::cli::Command __VA_ARGS__; \
  const ::caudal::cli::RlCommandRegistrar rl_command_registrar(kRlCommand);         \
  }                                                                                 \
  static_assert(true)

}  // namespace caudal::inline v0::cli
