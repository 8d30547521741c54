// What this processor and operating system can do. All functions are thread safe; the answers never change.
#pragma once

#include <string>
#include <string_view>

#include "caudal/base/export.h"

namespace caudal::inline v0 {

// A feature is true only if the operating system saves its registers too.
struct CpuFeatures {
  bool sse42 = false;
  bool avx2 = false, fma = false, f16c = false;
  bool avx512f = false, avx512bw = false, avx512vl = false, avx512dq = false;
  bool avx512_vnni = false, avx512_bf16 = false;
  // Tile registers, with the kernel's permission obtained for this process.
  bool amx_bf16 = false, amx_int8 = false;
};

CAUDAL_API const CpuFeatures& cpu_features();

// Instruction sets that kernels are written for; each includes those before it.
enum class Isa {
  kPlain,   // what every x86-64 has (SSE2)
  kAvx2,    // AVX2, FMA and F16C
  kAvx512,  // AVX-512 F, BW, VL and DQ
};

// "plain", "avx2" or "avx512".
CAUDAL_API std::string_view isa_name(Isa isa);

// The best set that this machine has, not above the environment variable CAUDAL_MAX_ISA (plain, avx2 or avx512).
// INVALID_ARGUMENT if that holds another word.
CAUDAL_API Isa best_isa();

// The processor's own name, such as "AMD EPYC 9B45".
CAUDAL_API std::string cpu_name();

}  // namespace caudal::inline v0
