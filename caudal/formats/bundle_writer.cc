#include "caudal/formats/bundle_writer.h"

#include <algorithm>
#include <set>
#include <utility>

#include "caudal/base/crc32c.h"
#include "caudal/base/strings.h"
#include "caudal/formats/coding.h"
#include "caudal/formats/table.h"
#include "caudal/formats/temporary_file.h"

namespace caudal::inline v0 {
namespace {

using Entries = std::map<std::string, BundleEntry>;

// The least number of shards for which no data file exists yet: an earlier checkpoint of this prefix stays readable
// until the index is replaced.
int free_shard_count(Env& env, const std::string& prefix, int least) {
  const std::vector<std::string> files = bundle_files(env, prefix);
  const auto taken = [&](int count) {
    const std::string suffix = bundle_data_path("", 0, count).substr(std::string(".data-00000").size());
    return std::any_of(files.begin(), files.end(), [&](const std::string& file) { return file.ends_with(suffix); });
  };
  while (taken(least)) ++least;
  return least;
}

void write_index(Env& env, const std::string& path, int num_shards, const Entries& entries) {
  const auto file = env.create(path);
  TableBuilder table(file.get());
  table.add("", BundleHeader{num_shards}.encode());
  for (const auto& [key, entry] : entries) table.add(key, entry.encode());
  table.finish();
  file->sync();
  file->close();
}

// Moves finished, synced data files to their names, then the index, then clears away what the old index referred to.
void publish(Env& env, const std::string& prefix, int num_shards, const std::vector<std::string>& data,
             const Entries& entries) {
  const std::string directory = directory_of(prefix);
  const std::vector<std::string> old_files = bundle_files(env, prefix);
  const std::string index = bundle_index_path(prefix), temporary_index = temporary_name(index);
  try {
    write_index(env, temporary_index, num_shards, entries);
    for (int shard = 0; shard < num_shards; ++shard) {
      const std::string path = bundle_data_path(prefix, shard, num_shards);
      if (shard < static_cast<int>(data.size())) {
        env.rename(data[shard], path);
      } else {
        env.create(path)->close();  // a shard without tensors
      }
    }
    env.sync_dir(directory);
    env.rename(temporary_index, index);
  } catch (...) {
    remove_quietly(env, temporary_index);
    for (int shard = 0; shard < num_shards; ++shard) remove_quietly(env, bundle_data_path(prefix, shard, num_shards));
    throw;
  }
  env.sync_dir(directory);
  for (const std::string& file : old_files)
    if (file != index) remove_quietly(env, file);
}

}  // namespace

BundleWriter::BundleWriter(Env& env, std::string prefix) : env_(env), prefix_(std::move(prefix)) {
  if (prefix_.empty() || prefix_.back() == '/') throw invalid_argument("'", prefix_, "' is no checkpoint prefix");
  env_.mkdirs(directory_of(prefix_));
  temporary_ = temporary_name(bundle_data_path(prefix_, 0, 1));
  data_ = env_.create(temporary_);
}

BundleWriter::~BundleWriter() {
  if (data_ == nullptr) return;
  data_.reset();
  remove_quietly(env_, temporary_);
}

void BundleWriter::add(std::string_view name, const Tensor& tensor) {
  if (name.empty() || name.front() == '\0') throw invalid_argument("'", escaped(name), "' is no name for a tensor");
  add_entry(std::string(name), tensor);
}

void BundleWriter::add_slice(std::string_view name, const Shape& full, const TensorSlice& slice, const Tensor& part) {
  if (name.empty() || name.front() == '\0') throw invalid_argument("'", escaped(name), "' is no name for a tensor");
  const Shape shape = slice.resolved(full).shape();
  if (!(shape == part.shape()))
    throw invalid_argument("tensor '", name, "': the part '", slice.to_string(), "' of ", full.to_string(),
                           " has shape ", shape.to_string(), ", but the value ", part.describe());
  const auto [found, fresh] = entries_.try_emplace(std::string(name));
  BundleEntry& whole = found->second;
  if (fresh) {
    whole.dtype = part.dtype();
    whole.shape = full;
  } else if (whole.slices.empty() || whole.dtype != part.dtype() || !(whole.shape == full)) {
    throw invalid_argument("tensor '", name, "': the part ", part.describe(), " of ", full.to_string(),
                           " does not go with what was added before: ", dtype_name(whole.dtype),
                           whole.shape.to_string());
  }
  whole.slices.push_back(slice);
  add_entry(bundle_slice_key(name, slice), part);
}

void BundleWriter::add_entry(std::string key, const Tensor& tensor) {
  if (!is_plain(tensor.dtype()) && tensor.dtype() != DType::kString)
    throw unimplemented("tensor '", escaped(key), "': saving of ", dtype_name(tensor.dtype()), " values");
  if (entries_.contains(key)) throw invalid_argument("tensor '", escaped(key), "' is added twice");
  BundleEntry entry;
  entry.dtype = tensor.dtype();
  entry.shape = tensor.shape();
  entry.offset = size_;
  if (tensor.dtype() == DType::kString) {
    write_strings(tensor, &entry);
  } else {
    write_plain(tensor, &entry);
  }
  size_ += entry.size;
  entries_.emplace(std::move(key), std::move(entry));
}

void BundleWriter::write_plain(const Tensor& tensor, BundleEntry* entry) {
  const std::string_view bytes = tensor.raw_bytes();
  data_->append(bytes);
  entry->size = static_cast<int64_t>(bytes.size());
  entry->masked_crc = masked_crc32c(bytes);
}

// All lengths as varints, their checksum, all bytes. The checksums run over the lengths as fixed numbers.
void BundleWriter::write_strings(const Tensor& tensor, BundleEntry* entry) {
  const auto values = tensor.flat<std::string>();
  std::string head;
  uint32_t crc = 0;
  for (const std::string& value : values) {
    put_varint(&head, value.size());
    std::string fixed;
    if (value.size() <= UINT32_MAX) {
      put_fixed(&fixed, static_cast<uint32_t>(value.size()));
    } else {
      put_fixed(&fixed, uint64_t{value.size()});
    }
    crc = crc32c_extend(crc, fixed);
  }
  std::string lengths_crc;
  put_fixed(&lengths_crc, crc32c_mask(crc));
  head += lengths_crc;
  crc = crc32c_extend(crc, lengths_crc);
  data_->append(head);
  entry->size = static_cast<int64_t>(head.size());
  for (const std::string& value : values) {
    data_->append(value);
    crc = crc32c_extend(crc, value);
    entry->size += static_cast<int64_t>(value.size());
  }
  entry->masked_crc = crc32c_mask(crc);
}

void BundleWriter::finish() {
  if (data_ == nullptr) throw failed_precondition("a checkpoint is finished once only");
  data_->sync();
  data_->close();
  publish(env_, prefix_, free_shard_count(env_, prefix_, 1), {temporary_}, entries_);
  data_.reset();
}

void remove_bundle(Env& env, const std::string& prefix) {
  for (const std::string& file : bundle_files(env, prefix)) env.remove(file);
}

void merge_bundles(Env& env, std::span<const std::string> prefixes, const std::string& merged) {
  Entries entries;
  std::vector<std::string> data;
  for (const std::string& prefix : prefixes) {
    const auto table = Table(env.open_random_access(bundle_index_path(prefix))).read_all();
    if (table.empty() || !table.front().key.empty()) throw data_loss(bundle_index_path(prefix), ": has no header");
    const int shards = BundleHeader::decode(table.front().value).num_shards;
    const int first = static_cast<int>(data.size());
    for (int shard = 0; shard < shards; ++shard) data.push_back(bundle_data_path(prefix, shard, shards));
    for (const Table::Entry& row : std::span(table).subspan(1)) {
      BundleEntry entry = BundleEntry::decode(row.value, row.key);
      const bool parts = !entry.slices.empty();
      if (!parts) entry.shard += first;
      const auto [found, fresh] = entries.try_emplace(row.key, entry);
      if (fresh) continue;
      BundleEntry& known = found->second;
      if (!parts || known.slices.empty() || known.dtype != entry.dtype || !(known.shape == entry.shape))
        throw invalid_argument("tensor '", escaped(row.key), "' is in two of the checkpoints to merge");
      known.slices.insert(known.slices.end(), entry.slices.begin(), entry.slices.end());
    }
  }
  env.mkdirs(directory_of(merged));
  // A number that is taken belongs to an earlier checkpoint of the merged prefix: empty shards make another one.
  publish(env, merged, free_shard_count(env, merged, static_cast<int>(data.size())), data, entries);
  for (const std::string& prefix : prefixes)
    if (prefix != merged) remove_quietly(env, bundle_index_path(prefix));
}

}  // namespace caudal::inline v0
