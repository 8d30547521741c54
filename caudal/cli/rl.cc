// caudal rl: reinforcement learning. Picks the command behind it.
#include <algorithm>
#include <cstdio>

#include "caudal/base/strings.h"
#include "caudal/cli/rl_command.h"

namespace caudal::inline v0::cli {
namespace {

constinit const RlCommandRegistrar* command_list = nullptr;

std::vector<const Command*> commands() {
  std::vector<const Command*> all;
  for (const auto* r = command_list; r != nullptr; r = r->next) all.push_back(&r->command);
  std::ranges::sort(all, {}, [](const Command* c) { return c->name; });
  return all;
}

void print_help(std::FILE* out) {
  std::fputs("Usage: caudal rl COMMAND [OPTIONS]\n\n", out);
  for (const Command* command : commands())
    std::fprintf(out, "  %-10s %s\n", std::string(command->name).c_str(), std::string(command->summary).c_str());
  std::fputs("\n  caudal rl COMMAND --help   options of a command\n", out);
}

int run_rl(const std::vector<std::string>& words) {
  if (words.empty() || words[0] == "--help" || words[0] == "-h") {
    print_help(words.empty() ? stderr : stdout);
    return words.empty() ? kExitUsage : kExitOk;
  }
  const auto all = commands();
  const auto found = std::ranges::find(all, words[0], [](const Command* c) { return c->name; });
  if (found != all.end()) return (*found)->run({words.begin() + 1, words.end()});
  std::vector<std::string> names;
  for (const Command* command : all) names.emplace_back(command->name);
  std::fprintf(stderr, "caudal: there is no command 'rl %s'. %s `caudal rl --help` lists them.\n", words[0].c_str(),
               did_you_mean(words[0], names).c_str());
  return kExitUsage;
}

}  // namespace

RlCommandRegistrar::RlCommandRegistrar(const Command& registered) : command(registered), next(command_list) {
  command_list = this;
}

CAUDAL_COMMAND({.name = "rl", .summary = "reinforcement learning: environments, games", .run = run_rl});

}  // namespace caudal::inline v0::cli
