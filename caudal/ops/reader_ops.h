// Readers: records of files whose names come from a queue (tf.TextLineReader and its like).
//
//   auto names = tf::train::string_input_producer(files);
//   tf::TextLineReader reader({.skip_header_lines = 1});
//   auto [key, line] = reader.read(names);
//
// A read waits for a name if the last file is used up, without blocking a thread, and ends with OUT_OF_RANGE once the
// queue is closed and empty. Small handles, valid as long as their graph. Thread safety: as building a graph; runs may
// share a reader and take turns.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"
#include "caudal/ops/queue_ops.h"

namespace caudal::inline v0 {

class CAUDAL_API ReaderBase {
 public:
  const Output& reader_ref() const { return ref_; }

  // The next record: key and value, string scalars.
  std::pair<Output, Output> read(const QueueBase& queue, const OpOptions& options = {}) const;
  // Up to num_records (int64 scalar) of one file: string vectors, not empty.
  std::pair<Output, Output> read_up_to(const QueueBase& queue, const Operand& num_records,
                                       const OpOptions& options = {}) const;
  // int64 scalars: records given so far; files used up.
  Output num_records_produced(const OpOptions& options = {}) const;
  Output num_work_units_completed(const OpOptions& options = {}) const;
  // A string scalar, and going back to it. UNIMPLEMENTED but for WholeFileReader and IdentityReader, as in TensorFlow.
  Output serialize_state(const OpOptions& options = {}) const;
  Operation restore_state(const Operand& state, const OpOptions& options = {}) const;
  // Back to the beginning, as if nothing had been read.
  Operation reset(const OpOptions& options = {}) const;

 protected:
  explicit ReaderBase(const Output& ref) : ref_(ref) {}

 private:
  Output ref_;
};

// A file's content, under its name.
class CAUDAL_API WholeFileReader : public ReaderBase {
 public:
  explicit WholeFileReader(const OpOptions& options = {});
};

// The names themselves.
class CAUDAL_API IdentityReader : public ReaderBase {
 public:
  explicit IdentityReader(const OpOptions& options = {});
};

// Lines without their ends, under "file:number".
class CAUDAL_API TextLineReader : public ReaderBase {
 public:
  struct Options {
    std::int64_t skip_header_lines = 0;
    std::string name = {};
    std::source_location where = std::source_location::current();
  };
  explicit TextLineReader(const Options& options);
};

// Records of record_bytes, under "file:number".
class CAUDAL_API FixedLengthRecordReader : public ReaderBase {
 public:
  struct Options {
    std::int64_t header_bytes = 0, footer_bytes = 0;  // around all records
    std::int64_t hop_bytes = 0;                       // from one record to the next; 0: record_bytes
    std::string encoding = {};                        // "", "ZLIB" or "GZIP"
    std::string name = {};
    std::source_location where = std::source_location::current();
  };
  FixedLengthRecordReader(std::int64_t record_bytes, const Options& options);
};

// Records of TFRecord files, under "file:offset".
class CAUDAL_API TFRecordReader : public ReaderBase {
 public:
  struct Options {
    std::string compression_type = {};  // "", "ZLIB" or "GZIP"
    std::string name = {};
    std::source_location where = std::source_location::current();
  };
  explicit TFRecordReader(const Options& options);
};

}  // namespace caudal::inline v0
