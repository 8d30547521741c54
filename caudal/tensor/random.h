// Random numbers of the 16-bit types, as TensorFlow draws them; the others are in caudal/base/philox.h.
//
// Thread safety: functions of their arguments.
#pragma once

#include <span>

#include "caudal/base/export.h"
#include "caudal/base/philox.h"
#include "caudal/tensor/dtype.h"

namespace caudal::inline v0 {

// [0, 1) with 10 (Half) or 7 (BFloat16) random bits.
CAUDAL_API void fill_uniform(const PhiloxRandom& generator, std::span<Half> out, ThreadPool& pool);
CAUDAL_API void fill_uniform(const PhiloxRandom& generator, std::span<BFloat16> out, ThreadPool& pool);
// The float's normals, rounded.
CAUDAL_API void fill_normal(const PhiloxRandom& generator, std::span<Half> out, ThreadPool& pool);
CAUDAL_API void fill_normal(const PhiloxRandom& generator, std::span<BFloat16> out, ThreadPool& pool);
CAUDAL_API void fill_truncated_normal(const PhiloxRandom& generator, std::span<Half> out, ThreadPool& pool);
CAUDAL_API void fill_truncated_normal(const PhiloxRandom& generator, std::span<BFloat16> out, ThreadPool& pool);

}  // namespace caudal::inline v0
