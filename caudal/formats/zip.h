// ZIP archives (PKWARE APPNOTE 6.3): reading stored and deflated members, writing stored ones. Enough for .npz and
// .keras.
//
// Errors: DATA_LOSS for malformed archives and wrong checksums; UNIMPLEMENTED for encryption and other methods; sizes
// are checked before memory is taken. Thread safety: functions of their arguments; a builder belongs to one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "caudal/base/export.h"

namespace caudal::inline v0 {

struct ZipMember {
  std::string name;
  uint64_t offset = 0;  // of its local header
  uint64_t stored_size = 0, size = 0;
  uint32_t crc = 0;
  uint16_t method = 0;
};

// The members as the central directory lists them.
CAUDAL_API std::vector<ZipMember> zip_members(std::string_view archive);
// The content of one of them.
CAUDAL_API std::string zip_extract(std::string_view archive, const ZipMember& member);

class CAUDAL_API ZipBuilder {
 public:
  void add(std::string_view name, std::string_view content);
  std::string finish() &&;

 private:
  std::string out_, directory_;
  uint64_t count_ = 0;
};

}  // namespace caudal::inline v0
