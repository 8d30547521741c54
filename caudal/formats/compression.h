// zlib and gzip streams as files: reading inflates, writing deflates.
//
// Errors: damaged or cut streams are DATA_LOSS with the offset in the compressed file. Ownership: the stream owns the
// file below it. Thread safety: as the files.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "caudal/base/env.h"
#include "caudal/base/export.h"

namespace caudal::inline v0 {

enum class Compression {
  kNone,
  kZlib,  // RFC 1950
  kGzip,  // RFC 1952; several members one after another are read as one
};

// From TensorFlow's "", "ZLIB", "GZIP". UNIMPLEMENTED for "SNAPPY", INVALID_ARGUMENT otherwise.
CAUDAL_API Compression compression_from_name(std::string_view name);

// Inflated bytes cannot be more than this times the deflated ones (deflate's limit): a cheap check before allocating.
inline constexpr uint64_t kMaxInflation = 1032;

// `path` is for messages.
CAUDAL_API std::unique_ptr<SequentialFile> inflate_file(std::unique_ptr<SequentialFile> file, Compression compression,
                                                        std::string path);
// level: 0 (store) to 9, or -1 for zlib's default.
CAUDAL_API std::unique_ptr<WritableFile> deflate_file(std::unique_ptr<WritableFile> file, Compression compression,
                                                      int level = -1);

// Inflates a raw deflate stream (no header), as zip archives hold it. REQUIRES: `size` is plausible, see kMaxInflation.
// DATA_LOSS unless it gives exactly `size` bytes.
CAUDAL_API std::string inflate_raw(std::string_view deflated, uint64_t size);

}  // namespace caudal::inline v0
