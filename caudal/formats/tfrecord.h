// TFRecord files: a sequence of byte strings, each framed as
//
//   uint64 length, uint32 masked CRC-32C of the 8 length bytes, data, uint32 masked CRC-32C of the data
//
// little-endian, the whole file plain or one zlib or gzip stream.
// Ownership: readers and writers own their file; the Env must outlive them. Thread safety: one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "caudal/base/env.h"
#include "caudal/base/export.h"
#include "caudal/formats/compression.h"

namespace caudal::inline v0 {

struct RecordReaderOptions {
  Compression compression = Compression::kNone;
  // A file cut inside the 12 bytes before the data is DATA_LOSS; with true it counts as a plain end, as TensorFlow's
  // readers have it and as following a file that is being written needs it.
  bool partial_header_is_end = false;
  // Longer records are RESOURCE_EXHAUSTED.
  uint64_t max_record_bytes = uint64_t{1} << 31;
  // Where to begin in the (inflated) file: the start of a record.
  uint64_t offset = 0;
};

class CAUDAL_API RecordReader {
 public:
  RecordReader(Env& env, const std::string& path, const RecordReaderOptions& options = {});
  // Over any file; `path` is for messages.
  RecordReader(std::unique_ptr<SequentialFile> file, std::string path, const RecordReaderOptions& options = {});

  // Reads the next record; false at the end of the file. DATA_LOSS, naming the file and the offset in the inflated
  // stream, if a checksum is wrong ("corrupted record at 12": the record's own offset for the length, that of the data
  // for the data) or the file is cut ("truncated record at 0"), and the record's number, "(record 1)" for the first
  // one, unless reading began in the middle. Memory grows with the bytes really there, not with the length that a
  // damaged file states. After an error the reader stays where it is.
  bool next(std::string* record);

  // Offset behind the last record read.
  uint64_t offset() const { return offset_; }

 private:
  std::string_view peek(size_t size);
  std::string_view buffered() const;
  void put_back(std::string_view data);
  void read_data(uint64_t size, std::string* record);
  std::string number() const;

  std::unique_ptr<SequentialFile> file_;
  std::string path_;
  RecordReaderOptions options_;
  uint64_t offset_ = 0, records_ = 0;
  std::string buffer_;
  size_t used_ = 0, end_ = 0;  // bytes of the buffer already consumed, and read at all
};

class CAUDAL_API RecordWriter {
 public:
  RecordWriter(Env& env, const std::string& path, Compression compression = Compression::kNone, int level = -1);
  explicit RecordWriter(std::unique_ptr<WritableFile> file);

  void write(std::string_view record);
  void flush() { file_->flush(); }
  void sync() { file_->sync(); }
  void close() { file_->close(); }

 private:
  std::unique_ptr<WritableFile> file_;
};

// One framed record, as written to an uncompressed file.
CAUDAL_API std::string framed_record(std::string_view record);

}  // namespace caudal::inline v0
