// Datasets of datasets: a function makes one of each element, and their elements come one after another (flat_map) or
// in turns (interleave).
#include <algorithm>
#include <map>
#include <utility>

#include "caudal/base/error.h"
#include "caudal/ops/dataset_function.h"
#include "caudal/ops/work_ahead.h"

namespace caudal::inline v0 {
namespace {

using namespace ops;  // NOLINT: the family is all about them

// `cycle_length` datasets are open at a time; each gives `block_length` elements before it is the next one's turn. One
// at a time is flat_map. The parallel forms give the same elements in the same order.
class InterleaveDataset final : public UnaryDataset {
 public:
  InterleaveDataset(Spec spec, DatasetPtr input, CapturedFunction function, std::int64_t cycle_length,
                    std::int64_t block_length)
      : UnaryDataset(std::move(spec), std::move(input)),
        function_(std::move(function)),
        cycle_length_(cycle_length),
        block_length_(block_length) {}
  const CapturedFunction& function() const { return function_; }
  std::int64_t cycle_length() const { return cycle_length_; }
  std::int64_t block_length() const { return block_length_; }
  std::int64_t cardinality() const override { return kUnknownCardinality; }
  bool may_wait() const override { return function_.prepared.can_wait || UnaryDataset::may_wait(); }
  std::unique_ptr<DatasetIterator> make_iterator(const Iteration& c) const override;

 private:
  const CapturedFunction function_;
  const std::int64_t cycle_length_, block_length_;
};

class InterleaveIterator final : public UnaryIterator<InterleaveDataset> {
 public:
  InterleaveIterator(const InterleaveDataset& dataset, const Iteration& c)
      : UnaryIterator(dataset, c), function_(c, dataset.function()) {}

  bool next(const Iteration& c, Element& out) override {
    for (;;) {
      if (input_ended_ && open_.empty()) return false;
      if (const auto turn = open_.find(place_); turn != open_.end()) {
        if (turn->second.elements->next(c, out)) {
          if (++taken_ == dataset().block_length()) next_place();
          return true;
        }
        open_.erase(turn);
        next_place();
      } else if (input_ended_) {
        next_place();
      } else {
        Element arguments;
        if (input().next(c, arguments)) {
          open_.emplace(place_, open(c, std::move(arguments)));
        } else {
          input_ended_ = true;
        }
      }
      c.check();
    }
  }

  void transfer(const Iteration& c, StateArchive& archive) override {
    archive.tag("Interleave");
    archive.flag(input_ended_);
    archive.number(place_);
    archive.number(taken_);
    transfer_input(c, archive);
    std::vector<std::int64_t> places;
    for (const auto& [place, child] : open_) places.push_back(place);
    archive.numbers(places);
    for (const std::int64_t place : places) {
      Element arguments;
      if (archive.saving()) arguments = open_.at(place).arguments;
      archive.tensors(arguments);
      if (!archive.saving()) open_.insert_or_assign(place, open(c, std::move(arguments)));
      open_.at(place).elements->transfer(c, archive);
    }
  }

 private:
  struct Child {
    Element arguments;  // that the dataset was made of
    std::unique_ptr<DatasetIterator> elements;
  };

  Child open(const Iteration& c, Element arguments) const {
    const Element results = function_(c, arguments);
    if (results.size() != 1)
      throw invalid_argument("`f` must return a single dataset, not ", results.size(), " values");
    const DatasetPtr made = dataset_in(results[0]);
    check_dataset(*made, dataset().types(), dataset().shapes());
    return {std::move(arguments), made->make_iterator(c)};
  }

  void next_place() {
    taken_ = 0;
    place_ = (place_ + 1) % dataset().cycle_length();
    // Once nothing new can be opened, empty places are passed over at once.
    if (!input_ended_ || open_.empty()) return;
    const auto turn = open_.lower_bound(place_);
    place_ = turn == open_.end() ? open_.begin()->first : turn->first;
  }

  const BoundFunction function_;
  std::map<std::int64_t, Child> open_;  // by place in the cycle
  std::int64_t place_ = 0, taken_ = 0;
  bool input_ended_ = false;
};

std::unique_ptr<DatasetIterator> InterleaveDataset::make_iterator(const Iteration& c) const {
  return std::make_unique<InterleaveIterator>(*this, c);
}

// ---- Kernels

class InterleaveKernel final : public Kernel {
 public:
  explicit InterleaveKernel(PrepareContext& c) : function_(prepare_function(c, "f")) {}
  void run(RunContext& c) const override {
    const auto& inputs = c.node().op->def.inputs;
    const auto argument = [&](std::string_view name, std::int64_t absent) {
      const bool there = std::any_of(inputs.begin(), inputs.end(), [&](const ArgDef& arg) { return arg.name == name; });
      return there ? int_input(c, arg_range(inputs, c.node().attrs, name).begin, name) : absent;
    };
    std::int64_t cycle = argument("cycle_length", 1);
    if (cycle == -1 && c.node().type() != "InterleaveDataset") cycle = parallel_calls(c, -1);
    if (cycle <= 0) throw invalid_argument("`cycle_length` must be > 0");
    const std::int64_t block = argument("block_length", 1);
    if (block <= 0) throw invalid_argument("`block_length` must be > 0");
    const std::int64_t calls = argument("num_parallel_calls", 1);
    if (calls < 1 && calls != -1) throw invalid_argument("num_parallel_calls must be greater than zero.");
    if (calls > cycle) throw invalid_argument("num_parallel_calls must less than or equal to cycle_length.");
    c.set_output(
        0, dataset_tensor(std::make_shared<InterleaveDataset>(dataset_spec(c.node()), dataset_input(c, 0),
                                                              capture(c, function_, "other_arguments"), cycle, block)));
  }

 private:
  const PreparedFunction function_;
};

std::unique_ptr<Kernel> prepare_interleave(PrepareContext& c) { return std::make_unique<InterleaveKernel>(c); }

}  // namespace

// ---- Registrations

CAUDAL_REGISTER_DATASET("FlatMapDataset", "input_dataset: variant; other_arguments: Targuments",
                        "f: func; Targuments: list(type) >= 0; " CAUDAL_DATASET_ATTRS, false, prepare_interleave);
CAUDAL_REGISTER_DATASET("InterleaveDataset",
                        "input_dataset: variant; other_arguments: Targuments; cycle_length: int64; block_length: int64",
                        "f: func; Targuments: list(type) >= 0; " CAUDAL_DATASET_ATTRS, false, prepare_interleave);
CAUDAL_REGISTER_DATASET("ParallelInterleaveDatasetV2",
                        "input_dataset: variant; other_arguments: Targuments; cycle_length: int64; "
                        "block_length: int64; num_parallel_calls: int64",
                        "f: func; Targuments: list(type) >= 0; " CAUDAL_DATASET_TYPES
                        "; sloppy: bool = false; metadata: string = ''",
                        false, prepare_interleave);
CAUDAL_REGISTER_DATASET(
    "ParallelInterleaveDatasetV3",
    "input_dataset: variant; other_arguments: Targuments; cycle_length: int64; "
    "block_length: int64; num_parallel_calls: int64",
    "f: func; deterministic: string = 'default'; Targuments: list(type) >= 0; " CAUDAL_DATASET_ATTRS, false,
    prepare_interleave);
CAUDAL_REGISTER_DATASET(
    "ParallelInterleaveDatasetV4",
    "input_dataset: variant; other_arguments: Targuments; cycle_length: int64; "
    "block_length: int64; buffer_output_elements: int64; prefetch_input_elements: int64; "
    "num_parallel_calls: int64",
    "f: func; deterministic: string = 'default'; Targuments: list(type) >= 0; " CAUDAL_DATASET_ATTRS, false,
    prepare_interleave);

}  // namespace caudal::inline v0
