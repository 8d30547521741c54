#include "caudal/formats/table.h"

#include <algorithm>
#include <utility>

#include "caudal/base/crc32c.h"
#include "caudal/formats/coding.h"
#include "caudal/formats/snappy.h"

namespace caudal::inline v0 {
namespace {

constexpr uint64_t kMagic = 0xdb4775248b80fb57;
constexpr size_t kFooterSize = 48;
constexpr size_t kTrailerSize = 5;  // compression type and checksum
constexpr char kRaw = 0, kSnappy = 1;
constexpr uint64_t kMaxBlock = uint64_t{1} << 30;

size_t common_prefix(std::string_view a, std::string_view b) {
  return static_cast<size_t>(std::mismatch(a.begin(), a.begin() + std::min(a.size(), b.size()), b.begin()).first -
                             a.begin());
}

// A short string in [key, limit), where key < limit.
std::string separator(std::string key, std::string_view limit) {
  const size_t at = common_prefix(key, limit);
  if (at >= std::min(key.size(), limit.size())) return key;
  const auto byte = static_cast<unsigned char>(key[at]);
  if (byte < 0xff && byte + 1 < static_cast<unsigned char>(limit[at])) {
    key.resize(at + 1);
    key[at] = static_cast<char>(byte + 1);
  }
  return key;
}

// A short string that is not below key.
std::string successor(std::string key) {
  for (size_t i = 0; i < key.size(); ++i) {
    const auto byte = static_cast<unsigned char>(key[i]);
    if (byte == 0xff) continue;
    key.resize(i + 1);
    key[i] = static_cast<char>(byte + 1);
    break;
  }
  return key;
}

}  // namespace

void BlockBuilder::add(std::string_view key, std::string_view value) {
  size_t shared = 0;
  if (since_restart_ == restart_interval_) {
    restarts_.push_back(static_cast<uint32_t>(bytes_.size()));
    since_restart_ = 0;
  } else {
    shared = common_prefix(last_key_, key);
  }
  put_varint(&bytes_, shared);
  put_varint(&bytes_, key.size() - shared);
  put_varint(&bytes_, value.size());
  bytes_ += key.substr(shared);
  bytes_ += value;
  last_key_ = key;
  ++since_restart_;
}

std::string BlockBuilder::finish() {
  for (const uint32_t restart : restarts_) put_fixed(&bytes_, restart);
  put_fixed(&bytes_, static_cast<uint32_t>(restarts_.size()));
  restarts_ = {0};
  since_restart_ = 0;
  last_key_.clear();
  return std::exchange(bytes_, {});
}

TableBuilder::TableBuilder(WritableFile* file, size_t block_size) : file_(file), block_size_(block_size) {}

void TableBuilder::add(std::string_view key, std::string_view value) {
  if (offset_ + data_.size() > 8 && key <= last_key_) throw internal_error("table keys out of order or repeated");
  if (!pending_handle_.empty()) index_.add(separator(last_key_, key), std::exchange(pending_handle_, {}));
  data_.add(key, value);
  last_key_ = key;
  if (data_.size() >= block_size_) flush_block();
}

void TableBuilder::flush_block() {
  if (!data_.empty()) pending_handle_ = write_block(data_.finish());
}

std::string TableBuilder::write_block(std::string block) {
  std::string handle;
  put_varint(&handle, offset_);
  put_varint(&handle, block.size());
  block += kRaw;
  put_fixed(&block, masked_crc32c(block));
  file_->append(block);
  offset_ += block.size();
  return handle;
}

void TableBuilder::finish() {
  flush_block();
  std::string footer = write_block(BlockBuilder(1).finish());  // no meta blocks
  if (!pending_handle_.empty()) index_.add(successor(last_key_), std::exchange(pending_handle_, {}));
  footer += write_block(index_.finish());
  footer.resize(kFooterSize - 8);
  put_fixed(&footer, kMagic);
  file_->append(footer);
}

Table::Table(std::unique_ptr<RandomAccessFile> file) : file_(std::move(file)) {
  if (file_->size() < kFooterSize) fail("is too short for a table");
  char bytes[kFooterSize];
  read_exactly(*file_, file_->size() - kFooterSize, bytes, kFooterSize);
  if (get_fixed<uint64_t>(bytes + kFooterSize - 8) != kMagic) fail("is not a table (wrong magic number)");
  ByteReader footer({bytes, kFooterSize - 8});
  uint64_t ignored;
  Handle index;
  if (!footer.varint(&ignored) || !footer.varint(&ignored) || !footer.varint(&index.offset) ||
      !footer.varint(&index.size))
    fail("has a damaged footer");
  std::vector<Entry> handles;
  parse_block(read_block(index), &handles);
  for (Entry& entry : handles) {
    blocks_.push_back(parse_handle(entry.value));
    last_keys_.push_back(std::move(entry.key));
  }
}

void Table::fail(std::string_view what) const { throw data_loss(file_->path(), ": ", what); }

Table::Handle Table::parse_handle(std::string_view bytes) const {
  ByteReader reader(bytes);
  Handle handle;
  if (!reader.varint(&handle.offset) || !reader.varint(&handle.size)) fail("has a damaged index");
  return handle;
}

std::string Table::read_block(Handle handle) const {
  const uint64_t end = file_->size() - kFooterSize;
  if (handle.size > end || handle.offset > end - handle.size || end - handle.size - handle.offset < kTrailerSize)
    fail("has a block outside the file");
  if (handle.size > kMaxBlock) throw resource_exhausted(file_->path(), ": has a block of ", handle.size, " bytes");
  std::string block(handle.size + kTrailerSize, '\0');
  read_exactly(*file_, handle.offset, block.data(), block.size());
  const auto stored = get_fixed<uint32_t>(block.data() + handle.size + 1);
  if (stored != masked_crc32c(std::string_view(block).substr(0, handle.size + 1)))
    fail(internal::concat("the checksum of the block at ", handle.offset, " is wrong"));
  const char type = block[handle.size];
  block.resize(handle.size);
  if (type == kRaw) return block;
  if (type != kSnappy) fail("has a block of unknown compression");
  try {
    return snappy_uncompress(block, kMaxBlock);
  } catch (const Error& error) {
    throw error.in(file_->path());
  }
}

void Table::parse_block(std::string_view block, std::vector<Entry>* out) const {
  if (block.size() < 4) fail("has a damaged block");
  const uint64_t restarts = get_fixed<uint32_t>(block.data() + block.size() - 4);
  if (restarts > (block.size() - 4) / 4) fail("has a damaged block");
  ByteReader reader(block.substr(0, block.size() - 4 - 4 * restarts));
  std::string key;
  while (!reader.empty()) {
    uint32_t shared, own, value_size;
    std::string_view tail, value;
    if (!reader.varint32(&shared) || !reader.varint32(&own) || !reader.varint32(&value_size) ||
        !reader.bytes(own, &tail) || !reader.bytes(value_size, &value) || shared > key.size())
      fail("has a damaged block");
    key.resize(shared);
    key += tail;
    out->push_back({key, std::string(value)});
  }
}

std::vector<Table::Entry> Table::read_all() const {
  std::vector<Entry> out;
  for (const Handle& handle : blocks_) parse_block(read_block(handle), &out);
  for (size_t i = 1; i < out.size(); ++i)
    if (out[i].key <= out[i - 1].key) fail("has keys out of order");
  return out;
}

std::optional<std::string> Table::find(std::string_view key) const {
  const auto at = std::lower_bound(last_keys_.begin(), last_keys_.end(), key);
  if (at == last_keys_.end()) return std::nullopt;
  std::vector<Entry> entries;
  parse_block(read_block(blocks_[at - last_keys_.begin()]), &entries);
  for (Entry& entry : entries) {
    if (entry.key == key) return std::move(entry.value);
  }
  return std::nullopt;
}

}  // namespace caudal::inline v0
