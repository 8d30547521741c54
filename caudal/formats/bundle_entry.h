// What a checkpoint's index says about one tensor, its header, and the names of its files.
//
// A checkpoint "P" consists of P.index, a table of these entries, and P.data-SSSSS-of-NNNNN, the bytes. Messages
// BundleHeaderProto and BundleEntryProto of tensorflow/core/protobuf/tensor_bundle.proto, encoded by hand.
// Thread safety: values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "caudal/base/env.h"
#include "caudal/base/export.h"
#include "caudal/formats/tensor_slice.h"
#include "caudal/tensor/dtype.h"
#include "caudal/tensor/shape.h"

namespace caudal::inline v0 {

struct CAUDAL_API BundleEntry {
  DType dtype = DType::kInvalid;
  Shape shape;
  int shard = 0;
  int64_t offset = 0;
  int64_t size = 0;
  uint32_t masked_crc = 0;
  // For a tensor saved in parts: where they lie. The parts have entries of their own, see bundle_slice_key().
  std::vector<TensorSlice> slices;

  std::string encode() const;
  // DATA_LOSS if malformed; `key` is for the message. UNIMPLEMENTED for a dtype unknown here.
  static BundleEntry decode(std::string_view bytes, std::string_view key);
};

struct CAUDAL_API BundleHeader {
  int num_shards = 1;

  std::string encode() const;
  // DATA_LOSS if malformed, UNIMPLEMENTED for big-endian files, FAILED_PRECONDITION for a too new version.
  static BundleHeader decode(std::string_view bytes);
};

// Key of the entry of one part of a tensor. It begins with a zero byte, which tensor names do not.
CAUDAL_API std::string bundle_slice_key(std::string_view name, const TensorSlice& slice);

CAUDAL_API std::string bundle_index_path(std::string_view prefix);
CAUDAL_API std::string bundle_data_path(std::string_view prefix, int shard, int num_shards);
// All files of the checkpoint that are there: index first, then data, whatever their number of shards.
CAUDAL_API std::vector<std::string> bundle_files(Env& env, std::string_view prefix);

}  // namespace caudal::inline v0
