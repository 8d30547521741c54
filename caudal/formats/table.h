// Sorted tables of byte-string keys and values in LevelDB's table format (leveldb/doc/table_format.md) as TensorFlow
// uses it: no filter, raw blocks of about 256 KiB, keys without suffix. The .index files of checkpoints are such
// tables.
//
// Ownership: a builder refers to its file; a Table owns its own. Thread safety: a builder belongs to one thread, a
// Table is immutable.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "caudal/base/env.h"
#include "caudal/base/export.h"

namespace caudal::inline v0 {

// Builds one block: keys share prefixes with their predecessor except at restart points.
class CAUDAL_API BlockBuilder {
 public:
  explicit BlockBuilder(int restart_interval) : restart_interval_(restart_interval) {}
  void add(std::string_view key, std::string_view value);
  // Bytes that finish() would give now.
  size_t size() const { return bytes_.size() + 4 * restarts_.size() + 4; }
  bool empty() const { return bytes_.empty(); }
  // The block; the builder is empty afterwards.
  std::string finish();

 private:
  int restart_interval_;
  int since_restart_ = 0;
  std::string bytes_;
  std::vector<uint32_t> restarts_{0};
  std::string last_key_;
};

class CAUDAL_API TableBuilder {
 public:
  explicit TableBuilder(WritableFile* file, size_t block_size = 256 << 10);
  // REQUIRES: key is above all keys added before (bytewise); INTERNAL otherwise.
  void add(std::string_view key, std::string_view value);
  // Writes what is left; the file is still to be synced and closed.
  void finish();

 private:
  void flush_block();
  std::string write_block(std::string block);  // gives its handle

  WritableFile* file_;
  size_t block_size_;
  BlockBuilder data_{16};
  BlockBuilder index_{1};
  std::string last_key_;
  std::string pending_handle_;  // of a block whose index entry waits for the next key
  uint64_t offset_ = 0;
};

class CAUDAL_API Table {
 public:
  // DATA_LOSS, naming the file, unless it is a table with intact index.
  explicit Table(std::unique_ptr<RandomAccessFile> file);

  struct Entry {
    std::string key, value;
  };
  // All entries in order. DATA_LOSS if a block is damaged.
  std::vector<Entry> read_all() const;
  // The value of a key, if it is there; reads one block. DATA_LOSS if that is damaged.
  std::optional<std::string> find(std::string_view key) const;

 private:
  struct Handle {
    uint64_t offset, size;
  };
  Handle parse_handle(std::string_view bytes) const;
  std::string read_block(Handle handle) const;
  // Appends the entries of a block.
  void parse_block(std::string_view block, std::vector<Entry>* out) const;
  [[noreturn]] void fail(std::string_view what) const;

  std::unique_ptr<RandomAccessFile> file_;
  std::vector<Handle> blocks_;
  std::vector<std::string> last_keys_;  // of each block, or a key between it and the next
};

}  // namespace caudal::inline v0
