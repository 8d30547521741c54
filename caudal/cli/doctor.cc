// caudal doctor: what this machine offers and what the library makes of it.
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "caudal/base/cpu.h"
#include "caudal/base/strings.h"
#include "caudal/base/thread_pool.h"
#include "caudal/cli/arguments.h"
#include "caudal/cli/command.h"
#include "caudal/cli/json.h"
#include "caudal/core/op_registry.h"

namespace caudal::inline v0::cli {
namespace {

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line.empty() ? "not there" : line;
}

std::string features_text() {
  const CpuFeatures& cpu = cpu_features();
  std::vector<std::string> names;
  const auto add = [&](bool there, const char* name) {
    if (there) names.emplace_back(name);
  };
  add(cpu.avx2, "avx2");
  add(cpu.fma, "fma");
  add(cpu.avx512f, "avx512f");
  add(cpu.avx512bw, "avx512bw");
  add(cpu.avx512_vnni, "vnni");
  add(cpu.avx512_bf16, "bf16");
  add(cpu.amx_bf16, "amx");
  return join(names, " ");
}

int run_doctor(const std::vector<std::string>& words) {
  bool json = false;
  Arguments arguments("doctor", "What this machine offers and what the library makes of it.");
  arguments.flag("json", &json, "one line of JSON instead");
  int exit_code = kExitOk;
  if (!arguments.parse(words, &exit_code)) return exit_code;

  const std::string isa(isa_name(best_isa()));
  const std::string features = features_text();
  const auto threads = static_cast<std::int64_t>(default_pool().num_threads());
  const std::string huge_pages = first_line("/sys/kernel/mm/transparent_hugepage/enabled");
  const auto ops = static_cast<std::int64_t>(registered_ops().size());
  if (json) {
    std::printf("%s\n", JsonObject()
                            .add("cpu", cpu_name())
                            .add("features", features)
                            .add("isa", isa)
                            .add("threads", threads)
                            .add("huge_pages", huge_pages)
                            .add("ops", ops)
                            .str()
                            .c_str());
    return kExitOk;
  }
  std::printf("processor    %s\nfeatures     %s\nkernels      %s (CAUDAL_MAX_ISA takes less)\n", cpu_name().c_str(),
              features.c_str(), isa.c_str());
  std::printf("threads      %lld (CAUDAL_NUM_THREADS)\nhuge pages   %s\nops          %lld\n",
              static_cast<long long>(threads), huge_pages.c_str(), static_cast<long long>(ops));
  return kExitOk;
}

}  // namespace

CAUDAL_COMMAND({.name = "doctor", .summary = "what this machine offers: processor, threads, ops", .run = run_doctor});

}  // namespace caudal::inline v0::cli
