// caudal_bench: runs benchmark cases and prints a JSON line for each: {"case", "values"}.
#include <cstdio>
#include <exception>

#include "bench.h"

namespace bench {
namespace {

constexpr char kUsage[] =
    "Usage: caudal_bench [--quick] [--dir DIR] CASE...   run cases, e.g. train/mlp_50\n"
    "       caudal_bench --list                          their names\n"
    "       caudal_bench --first-inference               one picture through LeNet-5, to be timed from outside\n";

std::vector<Case> all_cases() {
  std::vector<Case> all;
  for (auto* cases : {train_cases, overhead_cases, io_cases, start_cases, env_cases}) {
    for (Case& one : cases()) all.push_back(std::move(one));
  }
  return all;
}

int run(int argc, char** argv) {
  Settings settings;
  std::vector<std::string> names;
  const std::vector<Case> all = all_cases();
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--list") {
      for (const Case& one : all) std::printf("%s\n", one.name.c_str());
      return 0;
    }
    if (word == "--first-inference") {
      std::printf("%g\n", first_inference());
      return 0;
    }
    if (word == "--quick") {
      const std::string directory = settings.directory;
      settings = quick_settings();
      settings.directory = directory;
    } else if (word == "--dir" && i + 1 < argc) {
      settings.directory = argv[++i];
    } else if (word.starts_with("-")) {
      std::fputs(kUsage, stderr);
      return 2;
    } else {
      names.push_back(word);
    }
  }
  for (const std::string& name : names) {
    bool found = false;
    for (const Case& one : all) {
      if (one.name != name) continue;
      found = true;
      print_line(name, one.run(settings));
    }
    if (!found) {
      std::fprintf(stderr, "caudal_bench: there is no case '%s'; --list names them\n", name.c_str());
      return 2;
    }
  }
  if (names.empty()) std::fputs(kUsage, stderr);
  return names.empty() ? 2 : 0;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  try {
    return bench::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "caudal_bench: %s\n", error.what());
    return 1;
  }
}
