#include "caudal/formats/bundle_entry.h"

#include <cstdio>

#include "caudal/base/env.h"
#include "caudal/base/strings.h"
#include "caudal/formats/ordered_code.h"
#include "caudal/formats/tensor_messages.h"

namespace caudal::inline v0 {
namespace {

constexpr int kVersion = 1;

}  // namespace

std::string BundleEntry::encode() const {
  WireWriter out;
  out.varint_unless_default(1, static_cast<uint64_t>(dtype));
  out.message(2, encode_shape(shape));
  out.varint_unless_default(3, static_cast<uint64_t>(shard));
  out.varint_unless_default(4, static_cast<uint64_t>(offset));
  out.varint_unless_default(5, static_cast<uint64_t>(size));
  if (masked_crc != 0) out.fixed32(6, masked_crc);
  for (const TensorSlice& slice : slices) out.message(7, encode_slice(slice));
  return std::move(out).str();
}

BundleEntry BundleEntry::decode(std::string_view bytes, std::string_view key) try {
  BundleEntry entry;
  for (WireReader reader(bytes, "bundle entry"); reader.next();) {
    switch (reader.field()) {
      case 1:
        entry.dtype = decode_dtype(reader.varint());
        break;
      case 2:
        entry.shape = decode_shape(reader.bytes());
        break;
      case 3:
        entry.shard = static_cast<int>(std::min<uint64_t>(reader.varint(), INT32_MAX));
        break;
      case 4:
        entry.offset = reader.int64();
        break;
      case 5:
        entry.size = reader.int64();
        break;
      case 6:
        entry.masked_crc = reader.fixed32();
        break;
      case 7:
        entry.slices.push_back(decode_slice(reader.bytes()));
        break;
      default:
        break;
    }
  }
  if (entry.dtype == DType::kInvalid || entry.offset < 0 || entry.size < 0) throw data_loss("malformed bundle entry");
  return entry;
} catch (const Error& error) {
  throw error.in(internal::concat("tensor '", escaped(key), "'"));
}

std::string BundleHeader::encode() const {
  WireWriter version;
  version.varint(1, kVersion);
  WireWriter out;
  out.varint(1, static_cast<uint64_t>(num_shards));
  out.message(3, version);
  return std::move(out).str();
}

BundleHeader BundleHeader::decode(std::string_view bytes) {
  BundleHeader header;
  uint64_t shards = 0, min_consumer = 0;
  for (WireReader reader(bytes, "bundle header"); reader.next();) {
    if (reader.field() == 1) shards = reader.varint();
    if (reader.field() == 2 && reader.varint() != 0) throw unimplemented("checkpoints of big-endian machines");
    if (reader.field() != 3) continue;
    for (WireReader version(reader.bytes(), "version"); version.next();)
      if (version.field() == 2) min_consumer = version.varint();
  }
  if (shards == 0 || shards > 99999) throw data_loss("malformed bundle header: ", shards, " shards");
  if (min_consumer > kVersion)
    throw failed_precondition("the checkpoint needs a reader of version ", min_consumer, ", this one has ", kVersion);
  header.num_shards = static_cast<int>(shards);
  return header;
}

std::string bundle_slice_key(std::string_view name, const TensorSlice& slice) {
  std::string key;
  ordered_put_uint64(&key, 0);
  ordered_put_string(&key, name);
  ordered_put_uint64(&key, static_cast<uint64_t>(slice.rank()));
  for (const TensorSlice::Extent& extent : slice.extents()) {
    ordered_put_int64(&key, extent.start);
    ordered_put_int64(&key, extent.length);
  }
  return key;
}

std::string bundle_index_path(std::string_view prefix) { return std::string(prefix) + ".index"; }

std::string bundle_data_path(std::string_view prefix, int shard, int num_shards) {
  char suffix[40];
  std::snprintf(suffix, sizeof suffix, ".data-%05d-of-%05d", shard, num_shards);
  return std::string(prefix) + suffix;
}

std::vector<std::string> bundle_files(Env& env, std::string_view prefix) {
  std::vector<std::string> out;
  if (env.exists(bundle_index_path(prefix))) out.push_back(bundle_index_path(prefix));
  const std::string directory = directory_of(prefix);
  if (!env.exists(directory)) return out;
  const std::string start = base_name(prefix) + ".data-";
  for (const std::string& name : env.list(directory)) {
    const bool digits =
        name.size() == start.size() + 14 && name.find_first_not_of("0123456789", start.size()) == start.size() + 5;
    if (name.starts_with(start) && digits && name.compare(start.size() + 5, 4, "-of-") == 0)
      out.push_back(prefix.find('/') == std::string_view::npos ? name : join_path(directory, name));
  }
  return out;
}

}  // namespace caudal::inline v0
