// Data sets in memory: rows of features and labels, cut into batches.
//
//   auto sets = data::load_idx("/usr/share/datasets/fashion-mnist");
//   for (const auto& [images, labels] : sets.train.batches(50)) sess.run(train, {{X, images}, {y, labels}});
//
// Ownership: a DataSet shares its tensors. Thread safety: a DataSet is immutable; a BatchStream belongs to one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "caudal/base/export.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0::data {

struct Batch {
  Tensor features;  // [n, ...]
  Tensor labels;    // [n, ...]
};

struct BatchOptions {
  bool shuffle = true;          // a new order each epoch
  std::uint64_t seed = 0;       // with the epoch's number it fixes the order
  bool drop_remainder = false;  // leave out the last batch if it is smaller
  // uint8 features become float32 in [0, 1]; other types stay as they are.
  bool scale_uint8 = true;
  // Batches made ahead by a thread of the stream; 0: made when asked for.
  int prefetch = 2;
};

// Where a stream is. Restoring it continues with the very batch that would have come next.
struct StreamPosition {
  std::uint64_t seed = 0;
  std::int64_t epoch = 0;
  std::int64_t row = 0;  // rows of this epoch that were handed out
  friend bool operator==(const StreamPosition&, const StreamPosition&) = default;
};

class DataSet;

// An endless sequence of epochs of batches.
class CAUDAL_API BatchStream {
 public:
  BatchStream(const DataSet& rows, std::int64_t batch_size, const BatchOptions& options);
  ~BatchStream();
  BatchStream(BatchStream&&) noexcept;
  BatchStream& operator=(BatchStream&&) noexcept;

  // The next batch of this epoch; false at its end, after which the next epoch begins.
  bool next(Batch& batch);
  // The next batch, into the next epoch if need be: next_batch() of TensorFlow's tutorials.
  Batch next();
  StreamPosition position() const;
  // Throws INVALID_ARGUMENT for a position that this data set does not have.
  void restore(const StreamPosition& position);
  std::int64_t batches_per_epoch() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// One epoch of a stream as a range.
class CAUDAL_API BatchRange {
 public:
  explicit BatchRange(BatchStream stream) : stream_(std::move(stream)) {}
  class Iterator {
   public:
    Iterator() = default;
    explicit Iterator(BatchRange* range) : range_(range) { ++*this; }
    const Batch& operator*() const { return range_->batch_; }
    Iterator& operator++() {
      if (!range_->stream_.next(range_->batch_)) range_ = nullptr;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return range_ != other.range_; }

   private:
    BatchRange* range_ = nullptr;
  };
  Iterator begin() { return Iterator(this); }
  Iterator end() { return {}; }

 private:
  BatchStream stream_;
  Batch batch_;
};

class CAUDAL_API DataSet {
 public:
  DataSet() = default;
  // Throws INVALID_ARGUMENT unless both have as many rows.
  DataSet(Tensor features, Tensor labels);

  std::int64_t size() const { return features_.valid() ? features_.dim(0) : 0; }
  const Tensor& features() const { return features_; }
  const Tensor& labels() const { return labels_; }
  // Rows [begin, end).
  DataSet rows(std::int64_t begin, std::int64_t end) const;
  // A stream of epochs; a range over one epoch.
  BatchStream stream(std::int64_t batch_size, const BatchOptions& options = {}) const;
  BatchRange batches(std::int64_t batch_size, const BatchOptions& options = {}) const {
    return BatchRange(stream(batch_size, options));
  }
  // The rows of those indices in that order, with uint8 features scaled if asked for.
  Batch gather(const std::int64_t* indices, std::int64_t count, bool scale_uint8) const;

 private:
  Tensor features_, labels_;
};

struct DataSets {
  DataSet train, validation, test;
};

struct LoadIdxOptions {
  std::int64_t validation_size = 5000;  // taken from the end of the training rows
};

// The four files of MNIST-like sets in a directory: train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-..., each
// also with ".gz". Features are uint8 [n, height, width, 1]; labels int64 [n]. Throws NOT_FOUND naming what is missing,
// DATA_LOSS for damaged files, INVALID_ARGUMENT for files that do not belong together.
CAUDAL_API DataSets load_idx(const std::string& directory, const LoadIdxOptions& options = {});

// A permutation of 0..n-1 that (seed, epoch) fix on every machine: Fisher and Yates's shuffle driven by Philox 4x32-10.
CAUDAL_API std::vector<std::int64_t> permutation(std::int64_t n, std::uint64_t seed, std::int64_t epoch);

}  // namespace caudal::inline v0::data
