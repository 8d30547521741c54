#include <algorithm>
#include <cstdio>
#include <exception>

#include "caudal/base/error.h"
#include "caudal/base/strings.h"
#include "caudal/cli/command.h"
#include "caudal/cli/json.h"

namespace caudal::inline v0::cli {
namespace {

constinit const CommandRegistrar* command_list = nullptr;

std::vector<const Command*> commands() {
  std::vector<const Command*> all;
  for (const auto* r = command_list; r != nullptr; r = r->next) all.push_back(&r->command);
  std::ranges::sort(all, {}, [](const Command* c) { return c->name; });
  return all;
}

void print_help(std::FILE* out) {
  std::fputs("Usage: caudal COMMAND [OPTIONS]\n\n", out);
  for (const Command* command : commands()) {
    std::fprintf(out, "  %-10s %s\n", std::string(command->name).c_str(), std::string(command->summary).c_str());
  }
  std::fputs(
      "\n  caudal COMMAND --help   options of a command\n  caudal --version        the version\n\n"
      "Exit codes: 0 fine, 1 failed, 2 wrong usage, 130 interrupted.\n",
      out);
}

void report(const Error& error, bool json) {
  std::fprintf(stderr, "caudal: %s\n", error.what());
  if (!json) return;
  const std::string line = JsonObject().add("error", error.message()).add("code", code_name(error.code())).str();
  std::printf("%s\n", line.c_str());
}

}  // namespace

CommandRegistrar::CommandRegistrar(const Command& registered) : command(registered), next(command_list) {
  command_list = this;
}

int main(int argc, const char* const* argv) {
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (words.empty() || words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    print_help(words.empty() ? stderr : stdout);
    return words.empty() ? kExitUsage : kExitOk;
  }
  if (words[0] == "--version") {
    std::printf("caudal %s\n", CAUDAL_VERSION);
    return kExitOk;
  }
  const auto all = commands();
  const auto found = std::ranges::find(all, words[0], [](const Command* c) { return c->name; });
  if (found == all.end()) {
    std::vector<std::string> names;
    for (const Command* command : all) names.emplace_back(command->name);
    std::fprintf(stderr, "caudal: there is no command '%s'. %s `caudal --help` lists them.\n", words[0].c_str(),
                 did_you_mean(words[0], names).c_str());
    return kExitUsage;
  }
  const std::vector<std::string> rest(words.begin() + 1, words.end());
  const bool json = std::ranges::find(rest, "--json") != rest.end();
  try {
    return (*found)->run(rest);
  } catch (const Error& error) {
    report(error, json);
  } catch (const std::bad_alloc&) {
    report(resource_exhausted("out of memory"), json);
  } catch (const std::exception& error) {
    report(internal_error(error.what()), json);
  }
  return kExitFailed;
}

}  // namespace caudal::inline v0::cli
