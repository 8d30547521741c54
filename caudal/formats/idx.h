// IDX files, the format of MNIST and its relatives: two zero bytes, the type, the rank, big-endian 32-bit sizes, then
// big-endian elements. Also compressed with gzip, told by its first bytes, whatever the name.
//
//   Tensor pictures = read_idx(env, "train-images-idx3-ubyte.gz");   // uint8[60000,28,28]
//
// Errors: DATA_LOSS for anything malformed, cut or too long; sizes are checked against the file before memory is taken.
// Thread safety: functions of their arguments.
#pragma once

#include <string>

#include "caudal/base/env.h"
#include "caudal/base/export.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0 {

// A tensor of uint8, int8, int16, int32, float32 or float64.
CAUDAL_API Tensor read_idx(Env& env, const std::string& path);
// The first `rows` of it (all if there are fewer), without reading the rest. REQUIRES: rows >= 0.
CAUDAL_API Tensor read_idx(Env& env, const std::string& path, int64_t rows);

// Writes an uncompressed file. INVALID_ARGUMENT for other types, ranks above 255 and sizes of 2^32 or more.
CAUDAL_API void write_idx(Env& env, const std::string& path, const Tensor& tensor);

}  // namespace caudal::inline v0
