#include "caudal/base/cpu.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace caudal {
namespace {

// The kernel's own list of what it offers to programs.
bool kernel_lists(const std::string& flag) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("flags")) continue;
    std::istringstream words(line);
    for (std::string word; words >> word;)
      if (word == flag) return true;
    return false;
  }
  return false;
}

TEST(Cpu, AgreesWithTheKernel) {
  const CpuFeatures& cpu = cpu_features();
  EXPECT_EQ(cpu.sse42, kernel_lists("sse4_2"));
  EXPECT_EQ(cpu.avx2, kernel_lists("avx2"));
  EXPECT_EQ(cpu.fma, kernel_lists("fma"));
  EXPECT_EQ(cpu.f16c, kernel_lists("f16c"));
  EXPECT_EQ(cpu.avx512f, kernel_lists("avx512f"));
  EXPECT_EQ(cpu.avx512bw, kernel_lists("avx512bw"));
  EXPECT_EQ(cpu.avx512vl, kernel_lists("avx512vl"));
  EXPECT_EQ(cpu.avx512dq, kernel_lists("avx512dq"));
  EXPECT_EQ(cpu.avx512_vnni, kernel_lists("avx512_vnni"));
  EXPECT_EQ(cpu.avx512_bf16, kernel_lists("avx512_bf16"));
  EXPECT_EQ(cpu.amx_int8, kernel_lists("amx_int8"));
}

TEST(Cpu, HasANameAndAnIsa) {
  EXPECT_FALSE(cpu_name().empty());
  EXPECT_EQ(isa_name(Isa::kAvx2), "avx2");
  EXPECT_TRUE(best_isa() == Isa::kPlain || cpu_features().avx2);
}

}  // namespace
}  // namespace caudal
