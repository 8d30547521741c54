#include "caudal/formats/bundle_reader.h"

#include <algorithm>
#include <utility>

#include "caudal/base/crc32c.h"
#include "caudal/base/glob.h"
#include "caudal/base/strings.h"
#include "caudal/formats/coding.h"
#include "caudal/formats/table.h"

namespace caudal::inline v0 {
namespace {

// More are opened when needed only: descriptors are scarce.
constexpr int kShardsOpenedAtOnce = 64;

// A bool may hold 0 or 1 only; a file may hold anything.
void normalise_bools(Tensor* tensor) {
  auto* bytes = reinterpret_cast<unsigned char*>(tensor->raw());
  for (int64_t i = 0; i < tensor->num_elements(); ++i) bytes[i] = bytes[i] != 0 ? 1 : 0;
}

}  // namespace

BundleReader::BundleReader(Env& env, std::string prefix) : env_(env), prefix_(std::move(prefix)) {
  load();
  try {
    open_shards();
  } catch (const Error& error) {
    if (error.code() != Code::kNotFound) throw;
    // Replaced between the two steps? If files are really missing, the tensors in them will say so.
    load();
    try {
      open_shards();
    } catch (const Error& still) {
      if (still.code() != Code::kNotFound) throw;
    }
  }
}

Error BundleReader::no_checkpoint() const {
  const Error error = not_found(bundle_index_path(prefix_), ": there is no such checkpoint");
  const std::string directory = directory_of(prefix_);
  if (!env_.is_directory(directory)) return error;
  std::vector<std::string> others;
  for (const std::string& name : env_.list(directory))
    if (name.ends_with(".index")) others.push_back(name.substr(0, name.size() - 6));
  const std::string near = did_you_mean(base_name(prefix_), others);
  return near.empty() ? error : error.hint(near);
}

void BundleReader::load() {
  const std::string path = bundle_index_path(prefix_);
  if (!env_.exists(path)) {
    if (load_v1()) return;
    throw no_checkpoint();
  }
  std::vector<Table::Entry> rows = Table(env_.open_random_access(path)).read_all();
  if (rows.empty() || !rows.front().key.empty()) throw data_loss(path, ": has no header");
  entries_.clear();
  names_.clear();
  try {
    num_shards_ = BundleHeader::decode(rows.front().value).num_shards;
    for (size_t i = 1; i < rows.size(); ++i) {
      if (rows[i].key.front() != '\0') names_.push_back(rows[i].key);
      BundleEntry entry = BundleEntry::decode(rows[i].value, rows[i].key);
      if (entry.shard >= num_shards_)
        throw data_loss("tensor '", escaped(rows[i].key), "' lies in shard ", entry.shard, " of ", num_shards_);
      entries_.emplace_hint(entries_.end(), std::move(rows[i].key), std::move(entry));
    }
  } catch (const Error& error) {
    throw error.in(path);
  }
}

// Without a bundle the name may be that of a V1 file, or a pattern for several. False if there is none either.
bool BundleReader::load_v1() {
  v1_files_.clear();
  for (const std::string& path : match_files(env_, prefix_)) {
    if (!env_.is_directory(path)) v1_files_.emplace_back(env_, path);
  }
  entries_.clear();
  names_.clear();
  for (const SliceFileReader& file : v1_files_) {
    for (const auto& [name, saved] : file.tensors()) {
      BundleEntry& entry = entries_[name];
      if (entry.slices.empty()) {
        entry.dtype = saved.dtype;
        entry.shape = saved.shape;
        names_.push_back(name);
      } else if (entry.dtype != saved.dtype || entry.shape != saved.shape) {
        throw data_loss(prefix_, ": tensor '", escaped(name, 400), "' has two types or shapes");
      }
      entry.slices.insert(entry.slices.end(), saved.slices.begin(), saved.slices.end());
    }
  }
  std::sort(names_.begin(), names_.end());
  return !v1_files_.empty();
}

void BundleReader::open_shards() {
  shards_.clear();
  for (int number = 0; number < std::min(num_shards_, kShardsOpenedAtOnce); ++number) shard(number);
}

RandomAccessFile& BundleReader::shard(int number) const {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<RandomAccessFile>& file = shards_[number];
  if (file == nullptr) file = env_.open_random_access(bundle_data_path(prefix_, number, num_shards_));
  return *file;
}

const BundleEntry* BundleReader::find(std::string_view name) const {
  const auto found = entries_.find(name);
  return found == entries_.end() || name.empty() ? nullptr : &found->second;
}

const BundleEntry& BundleReader::entry(std::string_view name) const {
  if (const BundleEntry* found = find(name)) return *found;
  const Error error = not_found("Key ", escaped(name, 400), " not found in checkpoint ", prefix_);
  const std::string near = did_you_mean(name, names_);
  throw near.empty() ? error : error.hint(near);
}

Tensor BundleReader::read(std::string_view name) const {
  const BundleEntry& found = entry(name);
  try {
    if (found.slices.empty()) return read_entry(found);
    return read_parts(name, found, TensorSlice::whole(found.shape.rank()).resolved(found.shape));
  } catch (const Error& error) {
    throw error.in(internal::concat("tensor '", escaped(name, 400), "'"));
  }
}

Tensor BundleReader::read(std::string_view name, DType dtype) const {
  const BundleEntry& found = entry(name);
  if (found.dtype != dtype)
    throw invalid_argument("tensor '", escaped(name, 400), "': expected dtype ", dtype_name(dtype),
                           " does not equal original dtype ", dtype_name(found.dtype), " (", dtype_name(found.dtype),
                           found.shape.to_string(), " in checkpoint ", prefix_, ")");
  return read(name);
}

Tensor BundleReader::read_slice(std::string_view name, const TensorSlice& slice) const {
  const BundleEntry& found = entry(name);
  try {
    const TensorSlice wanted = slice.resolved(found.shape);
    if (!found.slices.empty()) return read_parts(name, found, wanted);
    const TensorSlice all = TensorSlice::whole(slice.rank()).resolved(found.shape);
    const Tensor whole = read_entry(found);
    if (wanted == all) return whole;
    Tensor part(found.dtype, wanted.shape());
    copy_region(wanted, all, whole, wanted, &part);
    return part;
  } catch (const Error& error) {
    throw error.in(internal::concat("tensor '", escaped(name, 400), "'"));
  }
}

// Refuses, before memory is taken, what cannot be right.
void BundleReader::check_extent(const BundleEntry& entry) const {
  const RandomAccessFile& file = shard(entry.shard);
  const auto end = static_cast<int64_t>(file.size());
  if (entry.size > end || entry.offset > end - entry.size)
    throw out_of_range(file.path(), ": has ", end, " bytes, but ", entry.size, " are needed at ", entry.offset);
  const int64_t elements = entry.shape.num_elements();
  // A string takes a byte at least, for its length.
  const auto element = entry.dtype == DType::kString ? int64_t{1} : static_cast<int64_t>(dtype_size(entry.dtype));
  const bool fits = elements <= entry.size / element;
  if (!fits || (entry.dtype != DType::kString && elements * element != entry.size))
    throw data_loss(file.path(), ": ", entry.size, " bytes at ", entry.offset, " are no ", dtype_name(entry.dtype),
                    entry.shape.to_string());
}

Tensor BundleReader::read_entry(const BundleEntry& entry) const {
  if (!is_plain(entry.dtype) && entry.dtype != DType::kString)
    throw unimplemented("reading of ", dtype_name(entry.dtype), " values");
  check_extent(entry);
  return entry.dtype == DType::kString ? read_strings(entry) : read_plain(entry);
}

Tensor BundleReader::read_plain(const BundleEntry& entry) const {
  const RandomAccessFile& file = shard(entry.shard);
  Tensor tensor(entry.dtype, entry.shape);
  read_exactly(file, static_cast<uint64_t>(entry.offset), tensor.raw(), static_cast<size_t>(entry.size));
  if (masked_crc32c(tensor.raw_bytes()) != entry.masked_crc)
    throw data_loss(file.path(), ": the checksum of the ", entry.size, " bytes at ", entry.offset, " is wrong");
  if (entry.dtype == DType::kBool) normalise_bools(&tensor);
  return tensor;
}

Tensor BundleReader::read_strings(const BundleEntry& entry) const {
  const RandomAccessFile& file = shard(entry.shard);
  std::string bytes(static_cast<size_t>(entry.size), '\0');
  read_exactly(file, static_cast<uint64_t>(entry.offset), bytes.data(), bytes.size());
  const auto fail = [&](std::string_view what) {
    throw data_loss(file.path(), ": ", what, " in the strings at ", entry.offset);
  };
  ByteReader reader(bytes);
  std::vector<uint64_t> lengths(static_cast<size_t>(entry.shape.num_elements()));
  uint32_t crc = 0;
  for (uint64_t& length : lengths) {
    if (!reader.varint(&length)) fail("a length is malformed");
    crc = length <= UINT32_MAX ? crc32c_extend(crc, &length, 4) : crc32c_extend(crc, &length, 8);
  }
  std::string_view stored;
  if (!reader.bytes(4, &stored) || get_fixed<uint32_t>(stored.data()) != crc32c_mask(crc))
    fail("the checksum of the lengths is wrong");
  crc = crc32c_extend(crc, stored);
  if (crc32c_mask(crc32c_extend(crc, reader.rest())) != entry.masked_crc) fail("the checksum is wrong");
  Tensor tensor(entry.dtype, entry.shape);
  std::string* out = tensor.data<std::string>();
  for (const uint64_t length : lengths) {
    std::string_view value;
    if (!reader.bytes(length, &value)) fail("a length is wrong");
    *out++ = value;
  }
  if (!reader.empty()) fail("bytes are left over");
  return tensor;
}

// The entry of a part of a V2 checkpoint.
const BundleEntry& BundleReader::part_entry(std::string_view name, const BundleEntry& whole,
                                            const TensorSlice& slice) const {
  const BundleEntry* part = find(bundle_slice_key(name, slice));
  if (part == nullptr) throw data_loss("the part ", slice.to_string(), " is missing");
  if (part->dtype != whole.dtype || part->shape != slice.resolved(whole.shape).shape() || !part->slices.empty()) {
    throw data_loss("the part ", slice.to_string(), " has a wrong type or shape");
  }
  check_extent(*part);
  return *part;
}

Tensor BundleReader::read_v1_part(std::string_view name, const TensorSlice& slice) const {
  for (const SliceFileReader& file : v1_files_) {
    const auto found = file.tensors().find(name);
    if (found == file.tensors().end()) continue;
    const std::vector<TensorSlice>& slices = found->second.slices;
    if (std::find(slices.begin(), slices.end(), slice) != slices.end()) return file.read(name, found->second, slice);
  }
  throw data_loss("the part ", slice.to_string(), " is missing");
}

Tensor BundleReader::read_parts(std::string_view name, const BundleEntry& entry, const TensorSlice& wanted) const {
  struct Part {
    const BundleEntry* entry;  // of a V2 checkpoint
    Tensor values;             // of a V1 checkpoint
    TensorSlice slice, common;
  };
  std::vector<Part> parts;
  const Shape shape = wanted.shape();
  int64_t missing = shape.num_elements();
  for (const TensorSlice& slice : entry.slices) {
    Part part{nullptr, {}, slice.resolved(entry.shape), {}};
    if (!part.slice.intersect(wanted, &part.common)) continue;
    // What is not in the files is found out before memory is taken for the whole.
    if (v1_files_.empty()) {
      part.entry = &part_entry(name, entry, slice);
    } else {
      part.values = read_v1_part(name, slice);
    }
    missing -= part.common.shape().num_elements();
    if (missing < 0) throw data_loss("parts overlap at ", slice.to_string());
    parts.push_back(std::move(part));
  }
  if (missing > 0) throw data_loss(missing, " elements of ", wanted.to_string(), " are in none of its parts");
  if (parts.size() == 1 && parts[0].values.valid() && parts[0].slice == wanted) return parts[0].values;
  Tensor out = Tensor::zeros(entry.dtype, shape);
  for (const Part& part : parts) {
    copy_region(part.common, part.slice, part.entry != nullptr ? read_entry(*part.entry) : part.values, wanted, &out);
  }
  return out;
}

}  // namespace caudal::inline v0
