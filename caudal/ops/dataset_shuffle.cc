// Datasets in random order, and random samples. The orders are TensorFlow's for the same seeds.
#include <algorithm>
#include <deque>
#include <limits>
#include <utility>

#include "caudal/base/error.h"
#include "caudal/ops/dataset.h"
#include "caudal/ops/seed_generator.h"

namespace caudal::inline v0 {
namespace {

using namespace ops;  // NOLINT: the family is all about them

// The buffer holds elements of at most so many passes over the input.
constexpr std::ptrdiff_t kMaxPassesInBuffer = 3;

// `count` passes over the input (-1: without end) through a buffer of `buffer_size` elements, from which the next one
// is drawn; elements of one pass never follow those of the next.
class ShuffleDataset final : public UnaryDataset {
 public:
  ShuffleDataset(Spec spec, DatasetPtr input, std::int64_t buffer_size, std::int64_t count,
                 std::shared_ptr<SeedGenerator> seeds)
      : UnaryDataset(std::move(spec), std::move(input)),
        buffer_size_(buffer_size),
        count_(count),
        seeds_(std::move(seeds)) {}
  std::int64_t buffer_size() const { return buffer_size_; }
  std::int64_t count() const { return count_; }
  SeedGenerator& seeds() const { return *seeds_; }
  std::int64_t cardinality() const override {
    const std::int64_t n = input().cardinality();
    if (count_ == -1 || n == kInfiniteCardinality) return n == 0 ? 0 : kInfiniteCardinality;
    return n == kUnknownCardinality ? n : n * count_;
  }
  std::unique_ptr<DatasetIterator> make_iterator(const Iteration& c) const override;

 private:
  const std::int64_t buffer_size_, count_;
  const std::shared_ptr<SeedGenerator> seeds_;
};

class ShuffleIterator final : public IteratorOf<ShuffleDataset> {
 public:
  ShuffleIterator(const ShuffleDataset& dataset, const Iteration& c)
      : IteratorOf(dataset), numbers_(dataset.seeds().next()), charge_(c) {}

  bool next(const Iteration& c, Element& out) override {
    fill(c);
    if (size_ == 0) return false;
    while (passes_.front().empty()) {
      passes_.pop_front();
      numbers_ = SeededNumbers(dataset().seeds().next());
    }
    // The drawn element changes places with the first of its pass, which then leaves.
    auto& pass = passes_.front();
    const std::size_t drawn = numbers_() % pass.size();
    out = std::move(pass[drawn]);
    if (drawn != 0) pass[drawn] = std::move(pass.front());
    pass.pop_front();
    --size_;
    charge_.remove(out);
    return true;
  }

  void transfer(const Iteration& c, StateArchive& archive) override {
    archive.tag("Shuffle");
    dataset().seeds().transfer(archive);
    numbers_.transfer(archive);
    archive.number(begun_);
    archive.flag(gave_any_);
    transfer_iterator(c, archive, dataset().input(), input_);
    passes_.resize(archive.count(passes_.size()));
    size_ = 0;
    for (auto& pass : passes_) {
      pass.resize(archive.count(pass.size()));
      for (Element& element : pass) {
        archive.tensors(element);
        if (!archive.saving()) charge_.add(element);
      }
      size_ += std::ssize(pass);
    }
    if (!archive.saving() && input_ != nullptr && passes_.empty()) throw data_loss("the saved position has no pass");
  }

 private:
  bool is_full() const {
    if (input_ == nullptr && dataset().count() != -1 && begun_ >= dataset().count()) return true;
    return (std::ssize(passes_) > kMaxPassesInBuffer && size_ > 0) || size_ >= dataset().buffer_size();
  }

  void fill(const Iteration& c) {
    while (!is_full()) {
      c.check();
      if (input_ == nullptr) {
        passes_.emplace_back();
        input_ = dataset().input().make_iterator(c);
        ++begun_;
      }
      Element element;
      if (input_->next(c, element)) {
        gave_any_ = true;
        charge_.add(element);
        passes_.back().push_back(std::move(element));
        ++size_;
        continue;
      }
      input_.reset();
      if (!gave_any_ && dataset().count() == -1) return;  // nothing without end is nothing
    }
  }

  SeededNumbers numbers_;
  ElementCharge charge_;
  std::unique_ptr<DatasetIterator> input_;  // none between passes
  std::deque<std::deque<Element>> passes_;  // the buffer, by pass
  std::int64_t size_ = 0;                   // of the buffer
  std::int64_t begun_ = 0;                  // passes
  bool gave_any_ = false;
};

std::unique_ptr<DatasetIterator> ShuffleDataset::make_iterator(const Iteration& c) const {
  return std::make_unique<ShuffleIterator>(*this, c);
}

std::int64_t buffer_size_input(const RunContext& c, const Dataset& input) {
  std::int64_t size = int_input(c, 1, "buffer_size");
  if (size == -2) {  // UNKNOWN: everything
    const std::int64_t n = input.cardinality();
    if (n == kInfiniteCardinality) throw invalid_argument("a dataset without end cannot be shuffled as a whole");
    size = n == kUnknownCardinality ? std::numeric_limits<std::int64_t>::max() : std::max<std::int64_t>(n, 1);
  }
  if (size <= 0) throw invalid_argument("buffer_size must be greater than zero or UNKNOWN_CARDINALITY");
  return size;
}

bool reshuffles(const NodeInfo& node) {
  return find_attr(node.attrs, "reshuffle_each_iteration") == nullptr || node.attr<bool>("reshuffle_each_iteration");
}

DatasetPtr make_shuffle(RunContext& c) {
  const DatasetPtr input = dataset_input(c, 0);
  const std::int64_t size = buffer_size_input(c, *input);
  const bool by_handle = c.node().type() == "ShuffleDatasetV2";
  const Seeds seeds = by_handle ? Seeds{} : Seeds{int_input(c, 2, "seed"), int_input(c, 3, "seed2")};
  auto generator = seed_generator(c, by_handle ? 2 : 4, seeds, reshuffles(c.node()));
  return std::make_shared<ShuffleDataset>(dataset_spec(c.node()), input, size, 1, std::move(generator));
}

DatasetPtr make_shuffle_and_repeat(RunContext& c) {
  const DatasetPtr input = dataset_input(c, 0);
  const std::int64_t size = buffer_size_input(c, *input), count = int_input(c, 4, "count");
  if (count < 1 && count != -1) throw invalid_argument("count must be greater than zero or equal to -1.");
  const Seeds seeds{int_input(c, 2, "seed"), int_input(c, 3, "seed2")};
  auto generator = seed_generator(c, 5, seeds, reshuffles(c.node()));
  return std::make_shared<ShuffleDataset>(dataset_spec(c.node()), input, size, count, std::move(generator));
}

// ---- SamplingDataset: each element with probability `rate`

class SamplingDataset final : public UnaryDataset {
 public:
  SamplingDataset(Spec spec, DatasetPtr input, float rate, const Seeds& seeds)
      : UnaryDataset(std::move(spec), std::move(input)), rate_(rate), seeds_(seeds) {}
  float rate() const { return rate_; }
  const Seeds& seeds() const { return seeds_; }
  std::int64_t cardinality() const override { return kUnknownCardinality; }
  std::unique_ptr<DatasetIterator> make_iterator(const Iteration& c) const override;

 private:
  const float rate_;
  const Seeds seeds_;
};

class SamplingIterator final : public UnaryIterator<SamplingDataset> {
 public:
  SamplingIterator(const SamplingDataset& dataset, const Iteration& c)
      : UnaryIterator(dataset, c), numbers_(dataset.seeds()) {}
  bool next(const Iteration& c, Element& out) override {
    for (; input().next(c, out); c.check()) {
      if (numbers_.uniform() < dataset().rate()) return true;
    }
    return false;
  }
  void transfer(const Iteration& c, StateArchive& archive) override {
    archive.tag("Sampling");
    numbers_.transfer(archive);
    transfer_input(c, archive);
  }

 private:
  SeededNumbers numbers_;
};

std::unique_ptr<DatasetIterator> SamplingDataset::make_iterator(const Iteration& c) const {
  return std::make_unique<SamplingIterator>(*this, c);
}

DatasetPtr make_sampling(RunContext& c) {
  if (c.input(1).rank() != 0) throw invalid_argument("rate must be a scalar, not ", c.input(1).describe());
  const SeedGenerator chosen({int_input(c, 2, "seed"), int_input(c, 3, "seed2")}, false);
  return std::make_shared<SamplingDataset>(dataset_spec(c.node()), dataset_input(c, 0), c.input(1).item<float>(),
                                           chosen.seeds());
}

}  // namespace

// ---- Registrations

#define CAUDAL_SHUFFLE_ATTRS "reshuffle_each_iteration: bool = true; " CAUDAL_DATASET_ATTRS
CAUDAL_REGISTER_DATASET("ShuffleDataset", "input_dataset: variant; buffer_size: int64; seed: int64; seed2: int64",
                        CAUDAL_SHUFFLE_ATTRS, false, ops::prepare_dataset<make_shuffle>);
CAUDAL_REGISTER_DATASET("ShuffleDatasetV2", "input_dataset: variant; buffer_size: int64; seed_generator: resource",
                        CAUDAL_DATASET_ATTRS, true, ops::prepare_dataset<make_shuffle>);
CAUDAL_REGISTER_DATASET("ShuffleDatasetV3",
                        "input_dataset: variant; buffer_size: int64; seed: int64; seed2: int64; "
                        "seed_generator: resource",
                        CAUDAL_SHUFFLE_ATTRS, true, ops::prepare_dataset<make_shuffle>);
CAUDAL_REGISTER_DATASET("ShuffleAndRepeatDataset",
                        "input_dataset: variant; buffer_size: int64; seed: int64; seed2: int64; count: int64",
                        CAUDAL_DATASET_TYPES "; reshuffle_each_iteration: bool = true; metadata: string = ''", false,
                        ops::prepare_dataset<make_shuffle_and_repeat>);
CAUDAL_REGISTER_DATASET("ShuffleAndRepeatDatasetV2",
                        "input_dataset: variant; buffer_size: int64; seed: int64; seed2: int64; count: int64; "
                        "seed_generator: resource",
                        CAUDAL_SHUFFLE_ATTRS, true, ops::prepare_dataset<make_shuffle_and_repeat>);
CAUDAL_REGISTER_DATASET("SamplingDataset", "input_dataset: variant; rate: float; seed: int64; seed2: int64",
                        CAUDAL_DATASET_TYPES, false, ops::prepare_dataset<make_sampling>);

}  // namespace caudal::inline v0
