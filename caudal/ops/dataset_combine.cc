// Datasets made of the elements of others as they are: take, skip, repeat, shard, zip, concatenate, choose.
#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "caudal/base/error.h"
#include "caudal/ops/dataset.h"

namespace caudal::inline v0 {
namespace {

using namespace ops;  // NOLINT: the family is all about them

// ---- TakeDataset: the first `count` elements; -1 is all

class TakeDataset final : public UnaryDataset {
 public:
  TakeDataset(Spec spec, DatasetPtr input, std::int64_t count)
      : UnaryDataset(std::move(spec), std::move(input)), count_(count) {}
  bool takes_all() const { return count_ < 0; }
  std::int64_t count() const { return count_; }
  std::int64_t cardinality() const override {
    const std::int64_t n = input().cardinality();
    if (n == kUnknownCardinality) return n;
    if (n == kInfiniteCardinality || takes_all()) return takes_all() ? n : count_;
    return std::min(n, count_);
  }
  std::unique_ptr<DatasetIterator> make_iterator(const Iteration& c) const override;

 private:
  const std::int64_t count_;
};

class TakeIterator final : public UnaryIterator<TakeDataset> {
 public:
  using UnaryIterator::UnaryIterator;
  bool next(const Iteration& c, Element& out) override {
    if (!dataset().takes_all() && taken_ >= dataset().count()) return false;
    if (!input().next(c, out)) return false;
    ++taken_;
    return true;
  }
  void transfer(const Iteration& c, StateArchive& archive) override {
    archive.tag("Take");
    archive.number(taken_);
    transfer_input(c, archive);
  }

 private:
  std::int64_t taken_ = 0;
};

std::unique_ptr<DatasetIterator> TakeDataset::make_iterator(const Iteration& c) const {
  return std::make_unique<TakeIterator>(*this, c);
}

DatasetPtr make_take(RunContext& c) {
  return std::make_shared<TakeDataset>(dataset_spec(c.node()), dataset_input(c, 0), int_input(c, 1, "count"));
}

// ---- SkipDataset: what follows the first `count` elements; -1 is nothing

class SkipDataset final : public UnaryDataset {
 public:
  SkipDataset(Spec spec, DatasetPtr input, std::int64_t count)
      : UnaryDataset(std::move(spec), std::move(input)), count_(count) {}
  std::int64_t count() const { return count_; }
  std::int64_t cardinality() const override {
    const std::int64_t n = input().cardinality();
    if (n == kInfiniteCardinality || n == kUnknownCardinality) return count_ < 0 ? 0 : n;
    return count_ < 0 ? 0 : std::max<std::int64_t>(0, n - count_);
  }
  std::unique_ptr<DatasetIterator> make_iterator(const Iteration& c) const override;

 private:
  const std::int64_t count_;
};

class SkipIterator final : public UnaryIterator<SkipDataset> {
 public:
  using UnaryIterator::UnaryIterator;
  bool next(const Iteration& c, Element& out) override {
    if (dataset().count() < 0) return false;
    for (; skipped_ < dataset().count(); ++skipped_) {
      if (!input().next(c, out)) return false;
      c.check();
    }
    return input().next(c, out);
  }
  void transfer(const Iteration& c, StateArchive& archive) override {
    archive.tag("Skip");
    archive.number(skipped_);
    transfer_input(c, archive);
  }

 private:
  std::int64_t skipped_ = 0;
};

std::unique_ptr<DatasetIterator> SkipDataset::make_iterator(const Iteration& c) const {
  return std::make_unique<SkipIterator>(*this, c);
}

DatasetPtr make_skip(RunContext& c) {
  return std::make_shared<SkipDataset>(dataset_spec(c.node()), dataset_input(c, 0), int_input(c, 1, "count"));
}

// ---- RepeatDataset: `count` passes over the input; -1 is without end

class RepeatDataset final : public UnaryDataset {
 public:
  RepeatDataset(Spec spec, DatasetPtr input, std::int64_t count)
      : UnaryDataset(std::move(spec), std::move(input)), count_(count) {}
  std::int64_t count() const { return count_; }
  std::int64_t cardinality() const override {
    const std::int64_t n = input().cardinality();
    if (count_ == 0 || n == 0) return 0;
    if (count_ < 0) return n == kUnknownCardinality ? n : kInfiniteCardinality;
    if (n < 0) return n;
    return n > std::numeric_limits<std::int64_t>::max() / count_ ? kUnknownCardinality : n * count_;
  }
  std::unique_ptr<DatasetIterator> make_iterator(const Iteration& c) const override;

 private:
  const std::int64_t count_;
};

class RepeatIterator final : public UnaryIterator<RepeatDataset> {
 public:
  using UnaryIterator::UnaryIterator;
  bool next(const Iteration& c, Element& out) override {
    while (goes_on()) {
      if (input().next(c, out)) {
        gave_any_ = true;
        return true;
      }
      if (dataset().count() < 0 && !gave_any_) return false;  // nothing without end is nothing
      ++pass_;
      gave_any_ = false;
      if (goes_on() || begins_one_more()) reset_input(c);
      c.check();
    }
    return false;
  }
  void transfer(const Iteration& c, StateArchive& archive) override {
    archive.tag("Repeat");
    archive.number(pass_);
    archive.flag(gave_any_);
    transfer_input(c, archive);
  }

 private:
  bool goes_on() const { return dataset().count() < 0 || pass_ < dataset().count(); }
  // TensorFlow begins a pass after the last one, for which shuffles further below draw seeds; not where it melts the
  // repetition into a shuffle right below, or drops one that repeats nothing.
  bool begins_one_more() const {
    const std::string& below = dataset().input().name();
    const bool melted = below == "ShuffleDataset" || below == "ShuffleDatasetV2" || below == "ShuffleDatasetV3";
    return dataset().count() > 1 && !melted;
  }

  std::int64_t pass_ = 0;
  bool gave_any_ = false;  // in this pass
};

std::unique_ptr<DatasetIterator> RepeatDataset::make_iterator(const Iteration& c) const {
  return std::make_unique<RepeatIterator>(*this, c);
}

DatasetPtr make_repeat(RunContext& c) {
  return std::make_shared<RepeatDataset>(dataset_spec(c.node()), dataset_input(c, 0), int_input(c, 1, "count"));
}

// ---- ShardDataset: every `shards`-th element, from `index` on

class ShardDataset final : public UnaryDataset {
 public:
  ShardDataset(Spec spec, DatasetPtr input, std::int64_t shards, std::int64_t index, bool require_non_empty)
      : UnaryDataset(std::move(spec), std::move(input)),
        shards_(shards),
        index_(index),
        require_non_empty_(require_non_empty) {}
  std::int64_t shards() const { return shards_; }
  std::int64_t index() const { return index_; }
  bool requires_elements() const { return require_non_empty_; }
  std::int64_t cardinality() const override {
    const std::int64_t n = input().cardinality();
    return n < 0 ? n : n / shards_ + (index_ < n % shards_ ? 1 : 0);
  }
  std::unique_ptr<DatasetIterator> make_iterator(const Iteration& c) const override;

 private:
  const std::int64_t shards_, index_;
  const bool require_non_empty_;
};

class ShardIterator final : public UnaryIterator<ShardDataset> {
 public:
  using UnaryIterator::UnaryIterator;
  bool next(const Iteration& c, Element& out) override {
    for (; input().next(c, out); c.check()) {
      if (position_++ % dataset().shards() == dataset().index()) return true;
    }
    if (dataset().requires_elements() && position_ < dataset().shards()) {
      throw invalid_argument("Could not apply FILE based sharding: the dataset only has ", position_,
                             " element(s), which is not enough for the required ", dataset().shards(),
                             " shards/workers.");
    }
    return false;
  }
  void transfer(const Iteration& c, StateArchive& archive) override {
    archive.tag("Shard");
    archive.number(position_);
    transfer_input(c, archive);
  }

 private:
  std::int64_t position_ = 0;
};

std::unique_ptr<DatasetIterator> ShardDataset::make_iterator(const Iteration& c) const {
  return std::make_unique<ShardIterator>(*this, c);
}

DatasetPtr make_shard(RunContext& c) {
  const std::int64_t shards = int_input(c, 1, "num_shards"), index = int_input(c, 2, "index");
  if (shards <= 0)
    throw invalid_argument("Number of shards must be greater than zero (currently num_shards = ", shards, ").");
  if (index < 0 || index >= shards) {
    throw invalid_argument("Index must be between 0 and ", shards - 1, " (currently index = ", index, ").");
  }
  return std::make_shared<ShardDataset>(dataset_spec(c.node()), dataset_input(c, 0), shards, index,
                                        c.node().attr<bool>("require_non_empty"));
}

// ---- Datasets on top of several others

class ManyDataset : public Dataset {
 public:
  ManyDataset(Spec spec, std::vector<DatasetPtr> inputs) : Dataset(std::move(spec)), inputs_(std::move(inputs)) {}
  const std::vector<DatasetPtr>& inputs() const { return inputs_; }
  bool may_wait() const override {
    return std::any_of(inputs_.begin(), inputs_.end(), [](const DatasetPtr& input) { return input->may_wait(); });
  }

 private:
  const std::vector<DatasetPtr> inputs_;
};

template <class D>
class ManyIterator : public IteratorOf<D> {
 public:
  ManyIterator(const D& dataset, const Iteration& c) : IteratorOf<D>(dataset) {
    for (const DatasetPtr& input : dataset.inputs()) inputs_.push_back(input->make_iterator(c));
  }

 protected:
  std::vector<std::unique_ptr<DatasetIterator>>& inputs() { return inputs_; }
  void transfer_inputs(const Iteration& c, StateArchive& archive) {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      transfer_iterator(c, archive, *this->dataset().inputs()[i], inputs_[i]);
    }
  }

 private:
  std::vector<std::unique_ptr<DatasetIterator>> inputs_;
};

std::vector<DatasetPtr> dataset_inputs(const RunContext& c, int first) {
  std::vector<DatasetPtr> inputs;
  for (int i = first; i < c.num_inputs(); ++i) inputs.push_back(dataset_input(c, i));
  return inputs;
}

// ---- ZipDataset: the components of one element of each, until the first of them ends

class ZipDataset final : public ManyDataset {
 public:
  using ManyDataset::ManyDataset;
  std::int64_t cardinality() const override {
    std::int64_t least = kInfiniteCardinality;
    for (const DatasetPtr& input : inputs()) {
      const std::int64_t n = input->cardinality();
      if (n == kUnknownCardinality) return n;
      if (n != kInfiniteCardinality && (least == kInfiniteCardinality || n < least)) least = n;
    }
    return least;
  }
  std::unique_ptr<DatasetIterator> make_iterator(const Iteration& c) const override;
};

class ZipIterator final : public ManyIterator<ZipDataset> {
 public:
  using ManyIterator::ManyIterator;
  // An error of one input must not put the others out of step, so all are asked before it is thrown.
  bool next(const Iteration& c, Element& out) override {
    out.clear();
    std::optional<Error> failure;
    for (auto& input : inputs()) {
      Element element;
      try {
        if (!input->next(c, element)) return false;
      } catch (const Error& error) {
        if (!failure) failure = error;
      }
      out.insert(out.end(), std::make_move_iterator(element.begin()), std::make_move_iterator(element.end()));
    }
    if (failure) throw Error(*failure);
    return true;
  }
  void transfer(const Iteration& c, StateArchive& archive) override {
    archive.tag("Zip");
    transfer_inputs(c, archive);
  }
};

std::unique_ptr<DatasetIterator> ZipDataset::make_iterator(const Iteration& c) const {
  return std::make_unique<ZipIterator>(*this, c);
}

DatasetPtr make_zip(RunContext& c) {
  return std::make_shared<ZipDataset>(dataset_spec(c.node()), dataset_inputs(c, 0));
}

// ---- ConcatenateDataset: one after another

class ConcatenateDataset final : public ManyDataset {
 public:
  using ManyDataset::ManyDataset;
  std::int64_t cardinality() const override {
    std::int64_t sum = 0;
    for (const DatasetPtr& input : inputs()) {
      const std::int64_t n = input->cardinality();
      if (n == kInfiniteCardinality) return n;
      sum = n < 0 || sum < 0 ? kUnknownCardinality : sum + n;
    }
    return sum;
  }
  std::unique_ptr<DatasetIterator> make_iterator(const Iteration& c) const override;
};

class ConcatenateIterator final : public IteratorOf<ConcatenateDataset> {
 public:
  ConcatenateIterator(const ConcatenateDataset& dataset, const Iteration& c)
      : IteratorOf(dataset), now_(dataset.inputs()[0]->make_iterator(c)) {}
  bool next(const Iteration& c, Element& out) override {
    while (now_ != nullptr) {
      if (now_->next(c, out)) return true;
      now_ = ++input_ < std::ssize(dataset().inputs()) ? dataset().inputs()[input_]->make_iterator(c) : nullptr;
    }
    return false;
  }
  void transfer(const Iteration& c, StateArchive& archive) override {
    archive.tag("Concatenate");
    archive.number(input_);
    if (input_ < 0 || input_ > std::ssize(dataset().inputs())) throw data_loss("the saved position is input ", input_);
    if (input_ == std::ssize(dataset().inputs())) {
      now_ = nullptr;
    } else {
      transfer_iterator(c, archive, *dataset().inputs()[input_], now_);
    }
  }

 private:
  std::int64_t input_ = 0;
  std::unique_ptr<DatasetIterator> now_;
};

std::unique_ptr<DatasetIterator> ConcatenateDataset::make_iterator(const Iteration& c) const {
  return std::make_unique<ConcatenateIterator>(*this, c);
}

DatasetPtr make_concatenate(RunContext& c) {
  std::vector<DatasetPtr> inputs = dataset_inputs(c, 0);
  if (inputs[0]->types() != inputs[1]->types()) {
    throw invalid_argument("input dataset and dataset to concatenate have different output_types ",
                           AttrValue(inputs[0]->types()), " and ", AttrValue(inputs[1]->types()));
  }
  return std::make_shared<ConcatenateDataset>(dataset_spec(c.node()), std::move(inputs));
}

// ---- DirectedInterleaveDataset: the first input says from which of the others the next element comes

class DirectedDataset final : public ManyDataset {
 public:
  DirectedDataset(Spec spec, std::vector<DatasetPtr> inputs, bool stop_on_empty)
      : ManyDataset(std::move(spec), std::move(inputs)), stop_on_empty_(stop_on_empty) {}
  bool stops_on_empty() const { return stop_on_empty_; }
  std::int64_t cardinality() const override { return kUnknownCardinality; }
  std::unique_ptr<DatasetIterator> make_iterator(const Iteration& c) const override;

 private:
  const bool stop_on_empty_;
};

class DirectedIterator final : public ManyIterator<DirectedDataset> {
 public:
  using ManyIterator::ManyIterator;
  bool next(const Iteration& c, Element& out) override {
    for (; !ended_; c.check()) {
      Element choice;
      if (!inputs()[0]->next(c, choice)) break;
      const std::int64_t chosen = choice[0].item<std::int64_t>();
      if (chosen < 0 || chosen + 1 >= std::ssize(inputs())) {
        throw invalid_argument("Selector index out of range: ", chosen, " >= ", inputs().size() - 1);
      }
      auto& input = inputs()[static_cast<std::size_t>(chosen) + 1];
      if (input == nullptr) continue;
      if (input->next(c, out)) return true;
      input = nullptr;
      ended_ = dataset().stops_on_empty() ||
               std::all_of(inputs().begin() + 1, inputs().end(), [](const auto& open) { return open == nullptr; });
    }
    ended_ = true;
    return false;
  }
  void transfer(const Iteration& c, StateArchive& archive) override {
    archive.tag("DirectedInterleave");
    archive.flag(ended_);
    transfer_inputs(c, archive);
  }

 private:
  bool ended_ = false;
};

std::unique_ptr<DatasetIterator> DirectedDataset::make_iterator(const Iteration& c) const {
  return std::make_unique<DirectedIterator>(*this, c);
}

DatasetPtr make_directed(RunContext& c) {
  std::vector<DatasetPtr> inputs = dataset_inputs(c, 0);
  const Dataset& selector = *inputs[0];
  if (selector.types().size() != 1 || selector.types()[0] != DType::kInt64 ||
      !selector.shapes()[0].compatible(PartialShape::scalar())) {
    throw invalid_argument("The selector dataset must produce scalar DT_INT64 elements.");
  }
  return std::make_shared<DirectedDataset>(dataset_spec(c.node()), std::move(inputs),
                                           c.node().attr<bool>("stop_on_empty_dataset"));
}

}  // namespace

// ---- Registrations

CAUDAL_REGISTER_DATASET("TakeDataset", "input_dataset: variant; count: int64", CAUDAL_DATASET_ATTRS, false,
                        ops::prepare_dataset<make_take>);
CAUDAL_REGISTER_DATASET("SkipDataset", "input_dataset: variant; count: int64", CAUDAL_DATASET_ATTRS, false,
                        ops::prepare_dataset<make_skip>);
CAUDAL_REGISTER_DATASET("RepeatDataset", "input_dataset: variant; count: int64", CAUDAL_DATASET_ATTRS, false,
                        ops::prepare_dataset<make_repeat>);
CAUDAL_REGISTER_DATASET("ShardDataset", "input_dataset: variant; num_shards: int64; index: int64",
                        "require_non_empty: bool = false; " CAUDAL_DATASET_ATTRS, false,
                        ops::prepare_dataset<make_shard>);
CAUDAL_REGISTER_DATASET("ZipDataset", "input_datasets: N * variant",
                        CAUDAL_DATASET_TYPES "; N: int >= 1; metadata: string = ''", false,
                        ops::prepare_dataset<make_zip>);
CAUDAL_REGISTER_DATASET("ConcatenateDataset", "input_dataset: variant; another_dataset: variant", CAUDAL_DATASET_ATTRS,
                        false, ops::prepare_dataset<make_concatenate>);
CAUDAL_REGISTER_DATASET("DirectedInterleaveDataset",
                        "selector_input_dataset: variant; data_input_datasets: N * variant",
                        CAUDAL_DATASET_TYPES "; N: int >= 1; stop_on_empty_dataset: bool = false", false,
                        ops::prepare_dataset<make_directed>);

}  // namespace caudal::inline v0
