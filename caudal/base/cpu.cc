#include "caudal/base/cpu.h"

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "caudal/base/error.h"

namespace caudal::inline v0 {
namespace {

struct Leaf {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Leaf leaf(unsigned number, unsigned sub = 0) {
  Leaf out;
  __get_cpuid_count(number, sub, &out.eax, &out.ebx, &out.ecx, &out.edx);
  return out;
}

bool bit(unsigned word, int index) { return ((word >> index) & 1) != 0; }

// Which register sets the operating system saves (XCR0). REQUIRES: OSXSAVE.
uint64_t saved_registers() {
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t{high} << 32) | low;
}

// Linux hands out the tile registers only to a process that asks.
bool request_tiles() {
  constexpr int kArchReqXcompPerm = 0x1023;
  constexpr int kTileData = 18;
  return syscall(SYS_arch_prctl, kArchReqXcompPerm, kTileData) == 0;
}

CpuFeatures detect() {
  CpuFeatures out;
  const Leaf one = leaf(1);
  out.sse42 = bit(one.ecx, 20);
  if (!bit(one.ecx, 27)) return out;  // OSXSAVE
  const uint64_t saved = saved_registers();
  const bool ymm = (saved & 0x6) == 0x6;
  const bool zmm = ymm && (saved & 0xe0) == 0xe0;
  const bool tiles = (saved & 0x60000) == 0x60000;
  const Leaf seven = leaf(7);
  const Leaf seven_one = seven.eax >= 1 ? leaf(7, 1) : Leaf{};
  out.avx2 = ymm && bit(seven.ebx, 5);
  out.fma = ymm && bit(one.ecx, 12);
  out.f16c = ymm && bit(one.ecx, 29);
  out.avx512f = zmm && bit(seven.ebx, 16);
  out.avx512dq = zmm && bit(seven.ebx, 17);
  out.avx512bw = zmm && bit(seven.ebx, 30);
  out.avx512vl = zmm && bit(seven.ebx, 31);
  out.avx512_vnni = zmm && bit(seven.ecx, 11);
  out.avx512_bf16 = zmm && bit(seven_one.eax, 5);
  if (tiles && bit(seven.edx, 24) && request_tiles()) {
    out.amx_bf16 = bit(seven.edx, 22);
    out.amx_int8 = bit(seven.edx, 25);
  }
  return out;
}

Isa machine_isa() {
  const CpuFeatures& cpu = cpu_features();
  if (!(cpu.avx2 && cpu.fma && cpu.f16c)) return Isa::kPlain;
  return cpu.avx512f && cpu.avx512bw && cpu.avx512vl && cpu.avx512dq ? Isa::kAvx512 : Isa::kAvx2;
}

Isa allowed_isa() {
  const char* text = std::getenv("CAUDAL_MAX_ISA");
  if (text == nullptr || *text == '\0') return Isa::kAvx512;
  for (const Isa isa : {Isa::kPlain, Isa::kAvx2, Isa::kAvx512})
    if (isa_name(isa) == text) return isa;
  throw invalid_argument("CAUDAL_MAX_ISA is '", text, "'").hint("Use plain, avx2 or avx512.");
}

}  // namespace

const CpuFeatures& cpu_features() {
  static const CpuFeatures features = detect();
  return features;
}

std::string_view isa_name(Isa isa) {
  switch (isa) {
    case Isa::kPlain:
      return "plain";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
  }
  return "?";
}

Isa best_isa() {
  static const Isa isa = std::min(machine_isa(), allowed_isa());
  return isa;
}

std::string cpu_name() {
  if (leaf(0x80000000).eax < 0x80000004) return "unknown x86-64";
  char text[49] = {};
  for (unsigned i = 0; i < 3; ++i) {
    const Leaf part = leaf(0x80000002 + i);
    std::memcpy(text + 16 * i, &part, 16);
  }
  std::string_view name = text;
  while (!name.empty() && name.back() == ' ') name.remove_suffix(1);
  while (!name.empty() && name.front() == ' ') name.remove_prefix(1);
  return std::string(name);
}

}  // namespace caudal::inline v0
