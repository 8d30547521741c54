// Seeds of shuffling and random datasets, as TensorFlow draws them.
//
// A dataset owns a SeedGenerator, or gets one by a resource handle; each pass over it takes the next pair of seeds and
// makes SeededNumbers of them. With reshuffling the pairs differ from pass to pass, else they are always the same.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "caudal/base/philox.h"
#include "caudal/core/kernel.h"
#include "caudal/ops/dataset_state.h"
#include "caudal/tensor/resource_handle.h"

namespace caudal::inline v0::ops {

struct Seeds {
  std::int64_t seed = 0, seed2 = 0;
};

// The sequence of 32-bit numbers that a pair of seeds gives. Not thread-safe.
class SeededNumbers {
 public:
  explicit SeededNumbers(const Seeds& seeds) : seeds_(seeds), numbers_(generator()) {}
  std::uint32_t operator()() {
    ++drawn_;
    return numbers_();
  }
  // In [0, 1), 23 bits.
  float uniform();
  void transfer(StateArchive& archive);

 private:
  PhiloxRandom generator() const {
    return PhiloxRandom(static_cast<std::uint64_t>(seeds_.seed), static_cast<std::uint64_t>(seeds_.seed2));
  }
  Seeds seeds_;
  std::int64_t drawn_ = 0;
  PhiloxSingles numbers_;
};

// Thread-safe.
class SeedGenerator final : public Resource {
 public:
  // Draws both seeds from the system if both are zero. `changes`: each next() gives another pair.
  SeedGenerator(const Seeds& seeds, bool changes);
  std::string describe() const override;
  bool changes() const { return changes_; }
  // Those it was made with, or drew.
  const Seeds& seeds() const { return seeds_; }
  Seeds next();
  void transfer(StateArchive& archive);

 private:
  std::mutex mutex_;
  Seeds seeds_;
  const bool changes_;
  SeededNumbers numbers_;
};

// The generator of a dataset op: the one behind the handle of input `i` if the node has that input and it holds one,
// else a new one.
std::shared_ptr<SeedGenerator> seed_generator(const RunContext& c, int i, const Seeds& seeds, bool changes);

}  // namespace caudal::inline v0::ops
