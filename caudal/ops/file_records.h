// Datasets that read files one after another.
//
// After an error the pass goes on with the next file, so that ignore_errors() passes over what is damaged, except where
// the reader of a kind of file says that it can go on itself. Internal to ops.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "caudal/base/env.h"
#include "caudal/ops/dataset.h"

namespace caudal::inline v0::ops {

// The records of one open file.
class FileRecords {
 public:
  virtual ~FileRecords();
  virtual bool next(const Iteration& c, Element& out) = 0;
  // The position within the file. REQUIRES for reading: no record was taken.
  virtual void transfer(StateArchive& archive) = 0;
  // Whether next() may be called again after an error.
  virtual bool goes_on() const { return false; }
};

class FilesDataset final : public Dataset {
 public:
  // `open` opens file number i, called `path`.
  using Open = std::function<std::unique_ptr<FileRecords>(Env& env, const std::string& path, std::size_t i)>;
  FilesDataset(Spec spec, std::vector<std::string> files, Open open)
      : Dataset(std::move(spec)), files_(std::move(files)), open_(std::move(open)) {}
  const std::vector<std::string>& files() const { return files_; }
  std::unique_ptr<FileRecords> open(Env& env, std::size_t i) const { return open_(env, files_[i], i); }
  std::int64_t cardinality() const override { return kUnknownCardinality; }
  std::unique_ptr<DatasetIterator> make_iterator(const Iteration& c) const override;

 private:
  const std::vector<std::string> files_;
  const Open open_;
};

}  // namespace caudal::inline v0::ops
