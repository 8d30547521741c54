// CRC-32C (Castagnoli), the checksum of TFRecord files, tables and tensor bundles.
//
// Thread safety: functions of their arguments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "caudal/base/export.h"

namespace caudal::inline v0 {

// The checksum of A followed by `data`, where `crc` is that of A.
CAUDAL_API uint32_t crc32c_extend(uint32_t crc, const void* data, size_t size);

inline uint32_t crc32c(std::string_view data) { return crc32c_extend(0, data.data(), data.size()); }
inline uint32_t crc32c_extend(uint32_t crc, std::string_view data) {
  return crc32c_extend(crc, data.data(), data.size());
}

// Stored checksums are masked, because the checksum of data that contains its own checksum is weak.
inline uint32_t crc32c_mask(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }
inline uint32_t crc32c_unmask(uint32_t masked) {
  const uint32_t rotated = masked - 0xa282ead8u;
  return (rotated >> 17) | (rotated << 15);
}
inline uint32_t masked_crc32c(std::string_view data) { return crc32c_mask(crc32c(data)); }

namespace internal {
// The version without special instructions, for tests and old processors.
CAUDAL_API uint32_t crc32c_extend_portable(uint32_t crc, const void* data, size_t size);
}  // namespace internal

}  // namespace caudal::inline v0
