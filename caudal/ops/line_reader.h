// Lines of a file, without their ends; carriage returns are dropped, as TensorFlow drops them.
//
// Ownership: a reader owns its file. Thread safety: one thread at a time.
#pragma once

#include <memory>
#include <string>

#include "caudal/base/env.h"

namespace caudal::inline v0::internal {

// The file, inflated if `compression` ("", "ZLIB", "GZIP") says so.
std::unique_ptr<SequentialFile> open_inflated(Env& env, const std::string& path, const std::string& compression);

class LineReader {
 public:
  explicit LineReader(std::unique_ptr<SequentialFile> file) : file_(std::move(file)) {}
  // False at the end of the file; a last line without an end counts.
  bool next(std::string* line);

 private:
  std::unique_ptr<SequentialFile> file_;
  std::string block_;
  std::size_t position_ = 0;
};

}  // namespace caudal::inline v0::internal
