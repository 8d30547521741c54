// Datasets that call a function for each element: map, filter, take_while, scan.
#include <utility>

#include "caudal/base/error.h"
#include "caudal/ops/dataset_function.h"
#include "caudal/ops/work_ahead.h"

namespace caudal::inline v0 {
namespace {

using namespace ops;  // NOLINT: the family is all about them

class FunctionDataset : public UnaryDataset {
 public:
  FunctionDataset(Spec spec, DatasetPtr input, CapturedFunction function)
      : UnaryDataset(std::move(spec), std::move(input)), function_(std::move(function)) {}
  const CapturedFunction& function() const { return function_; }
  bool may_wait() const override { return function_.prepared.can_wait || UnaryDataset::may_wait(); }

 private:
  const CapturedFunction function_;
};

// ---- MapDataset and ParallelMapDataset

class MapDataset final : public FunctionDataset {
 public:
  // `calls` at a time.
  MapDataset(Spec spec, DatasetPtr input, CapturedFunction function, int calls, bool preserve_cardinality)
      : FunctionDataset(std::move(spec), std::move(input), std::move(function)),
        calls_(calls),
        preserve_cardinality_(preserve_cardinality) {}
  int calls() const { return calls_; }
  bool preserves_cardinality() const { return preserve_cardinality_; }
  std::int64_t cardinality() const override {
    const std::int64_t count = input().cardinality();
    return preserve_cardinality_ || count == kInfiniteCardinality ? count : kUnknownCardinality;
  }
  std::unique_ptr<DatasetIterator> make_iterator(const Iteration& c) const override;

 private:
  const int calls_;
  const bool preserve_cardinality_;
};

class MapIterator final : public UnaryIterator<MapDataset> {
 public:
  MapIterator(const MapDataset& dataset, const Iteration& c)
      : UnaryIterator(dataset, c), function_(c, dataset.function()) {}
  bool next(const Iteration& c, Element& out) override {
    Element element;
    if (ended_ || !input().next(c, element)) return false;
    ended_ = !call_or_end(c, function_, std::move(element), dataset().preserves_cardinality(), out);
    return !ended_;
  }
  void transfer(const Iteration& c, StateArchive& archive) override {
    archive.tag("Map");
    archive.flag(ended_);
    transfer_input(c, archive);
  }

 private:
  const BoundFunction function_;
  bool ended_ = false;
};

class ParallelMapIterator final : public UnaryIterator<MapDataset> {
 public:
  ParallelMapIterator(const MapDataset& dataset, const Iteration& c)
      : UnaryIterator(dataset, c),
        function_(c, dataset.function()),
        ahead_(
            c, [this](const Iteration& i, Element& element) { return input().next(i, element); },
            [this](const Iteration& i, Element element) { return call(i, std::move(element)); }, dataset.calls(),
            dataset.calls()) {}
  // An element without components stands for the end that a function asked for.
  bool next(const Iteration& c, Element& out) override {
    if (ended_ || !ahead_.next(c, out)) return false;
    ended_ = out.empty();
    return !ended_;
  }
  void transfer(const Iteration& c, StateArchive& archive) override {
    archive.tag("ParallelMap");
    archive.flag(ended_);
    ahead_.transfer(archive, [&] { transfer_input(c, archive); });
  }

 private:
  Element call(const Iteration& c, Element element) const {
    Element results;
    return call_or_end(c, function_, std::move(element), dataset().preserves_cardinality(), results) ? results
                                                                                                     : Element();
  }

  const BoundFunction function_;
  bool ended_ = false;
  WorkAhead ahead_;
};

// A function with state (random numbers) is called in the order of the elements, whatever is asked for: otherwise a
// seeded run would not be the same twice.
std::unique_ptr<DatasetIterator> MapDataset::make_iterator(const Iteration& c) const {
  if (calls_ == 1 || function().prepared.stateful) return std::make_unique<MapIterator>(*this, c);
  return std::make_unique<ParallelMapIterator>(*this, c);
}

// ---- FilterDataset

class FilterDataset final : public FunctionDataset {
 public:
  using FunctionDataset::FunctionDataset;
  std::int64_t cardinality() const override { return kUnknownCardinality; }
  std::unique_ptr<DatasetIterator> make_iterator(const Iteration& c) const override;
};

class FilterIterator final : public UnaryIterator<FilterDataset> {
 public:
  FilterIterator(const FilterDataset& dataset, const Iteration& c)
      : UnaryIterator(dataset, c), predicate_(c, dataset.function()) {}
  bool next(const Iteration& c, Element& out) override {
    while (input().next(c, out)) {
      if (predicate_value(predicate_(c, out))) return true;
      c.check();
    }
    return false;
  }
  void transfer(const Iteration& c, StateArchive& archive) override {
    archive.tag("Filter");
    transfer_input(c, archive);
  }

 private:
  const BoundFunction predicate_;
};

std::unique_ptr<DatasetIterator> FilterDataset::make_iterator(const Iteration& c) const {
  return std::make_unique<FilterIterator>(*this, c);
}

// ---- FilterByLastComponentDataset: the last component says whether the others stay

class FilterByLastDataset final : public UnaryDataset {
 public:
  using UnaryDataset::UnaryDataset;
  std::int64_t cardinality() const override { return kUnknownCardinality; }
  std::unique_ptr<DatasetIterator> make_iterator(const Iteration& c) const override;
};

class FilterByLastIterator final : public UnaryIterator<FilterByLastDataset> {
 public:
  using UnaryIterator::UnaryIterator;
  bool next(const Iteration& c, Element& out) override {
    while (input().next(c, out)) {
      const bool stays = !out.empty() && predicate_value({out.back()});
      if (!out.empty()) out.pop_back();
      if (stays) return true;
      c.check();
    }
    return false;
  }
  void transfer(const Iteration& c, StateArchive& archive) override {
    archive.tag("FilterByLastComponent");
    transfer_input(c, archive);
  }
};

std::unique_ptr<DatasetIterator> FilterByLastDataset::make_iterator(const Iteration& c) const {
  return std::make_unique<FilterByLastIterator>(*this, c);
}

DatasetPtr make_filter_by_last(RunContext& c) {
  return std::make_shared<FilterByLastDataset>(dataset_spec(c.node()), dataset_input(c, 0));
}

// ---- TakeWhileDataset

class TakeWhileDataset final : public FunctionDataset {
 public:
  using FunctionDataset::FunctionDataset;
  std::int64_t cardinality() const override { return kUnknownCardinality; }
  std::unique_ptr<DatasetIterator> make_iterator(const Iteration& c) const override;
};

class TakeWhileIterator final : public UnaryIterator<TakeWhileDataset> {
 public:
  TakeWhileIterator(const TakeWhileDataset& dataset, const Iteration& c)
      : UnaryIterator(dataset, c), predicate_(c, dataset.function()) {}
  bool next(const Iteration& c, Element& out) override {
    if (ended_ || !input().next(c, out)) return false;
    ended_ = !predicate_value(predicate_(c, out));
    return !ended_;
  }
  void transfer(const Iteration& c, StateArchive& archive) override {
    archive.tag("TakeWhile");
    archive.flag(ended_);
    transfer_input(c, archive);
  }

 private:
  const BoundFunction predicate_;
  bool ended_ = false;
};

std::unique_ptr<DatasetIterator> TakeWhileDataset::make_iterator(const Iteration& c) const {
  return std::make_unique<TakeWhileIterator>(*this, c);
}

// ---- ScanDataset: (state, element) -> (state, result)

class ScanDataset final : public FunctionDataset {
 public:
  ScanDataset(Spec spec, DatasetPtr input, CapturedFunction function, Element initial, bool preserve_cardinality)
      : FunctionDataset(std::move(spec), std::move(input), std::move(function)),
        initial_(std::move(initial)),
        preserve_cardinality_(preserve_cardinality) {}
  const Element& initial() const { return initial_; }
  bool preserves_cardinality() const { return preserve_cardinality_; }
  std::int64_t cardinality() const override {
    return preserve_cardinality_ ? input().cardinality() : kUnknownCardinality;
  }
  std::unique_ptr<DatasetIterator> make_iterator(const Iteration& c) const override;

 private:
  const Element initial_;
  const bool preserve_cardinality_;
};

class ScanIterator final : public UnaryIterator<ScanDataset> {
 public:
  ScanIterator(const ScanDataset& dataset, const Iteration& c)
      : UnaryIterator(dataset, c), function_(c, dataset.function()), state_(dataset.initial()) {}
  bool next(const Iteration& c, Element& out) override {
    Element element;
    if (ended_ || !input().next(c, element)) return false;
    Element arguments = state_;
    arguments.insert(arguments.end(), element.begin(), element.end());
    Element results;
    ended_ = !call_or_end(c, function_, std::move(arguments), dataset().preserves_cardinality(), results);
    if (ended_) return false;
    if (results.size() != state_.size() + dataset().types().size()) {
      throw invalid_argument("the function of scan gives ", results.size(), " values for ", state_.size(),
                             " of the state and ", dataset().types().size(), " of the element");
    }
    const auto cut = results.begin() + static_cast<std::ptrdiff_t>(state_.size());
    for (std::size_t i = 0; i < state_.size(); ++i) {
      if (results[i].dtype() != state_[i].dtype()) {
        throw invalid_argument("the function of scan gives ", results[i].describe(), " as value ", i,
                               " of the state; it began with ", state_[i].describe());
      }
    }
    state_.assign(results.begin(), cut);
    out.assign(cut, results.end());
    return true;
  }
  void transfer(const Iteration& c, StateArchive& archive) override {
    archive.tag("Scan");
    archive.flag(ended_);
    archive.tensors(state_);
    transfer_input(c, archive);
  }

 private:
  const BoundFunction function_;
  Element state_;
  bool ended_ = false;
};

std::unique_ptr<DatasetIterator> ScanDataset::make_iterator(const Iteration& c) const {
  return std::make_unique<ScanIterator>(*this, c);
}

// ---- Kernels

// Makes a D from the input dataset and the function of an attribute.
template <class D>
class FunctionDatasetKernel final : public Kernel {
 public:
  FunctionDatasetKernel(PrepareContext& c, std::string_view attr) : function_(prepare_function(c, attr)) {}
  void run(RunContext& c) const override {
    c.set_output(0, dataset_tensor(std::make_shared<D>(dataset_spec(c.node()), dataset_input(c, 0),
                                                       capture(c, function_, "other_arguments"))));
  }

 private:
  const PreparedFunction function_;
};

template <class D>
std::unique_ptr<Kernel> prepare_predicate(PrepareContext& c) {
  return std::make_unique<FunctionDatasetKernel<D>>(c, "predicate");
}

class MapKernel final : public Kernel {
 public:
  MapKernel(PrepareContext& c, bool parallel) : function_(prepare_function(c, "f")), parallel_(parallel) {}
  void run(RunContext& c) const override {
    const int calls = parallel_ ? parallel_calls(c, int_input(c, c.num_inputs() - 1, "num_parallel_calls")) : 1;
    c.set_output(0, dataset_tensor(std::make_shared<MapDataset>(dataset_spec(c.node()), dataset_input(c, 0),
                                                                capture(c, function_, "other_arguments"), calls,
                                                                c.node().attr<bool>("preserve_cardinality"))));
  }

 private:
  const PreparedFunction function_;
  const bool parallel_;
};

template <bool parallel>
std::unique_ptr<Kernel> prepare_map(PrepareContext& c) {
  return std::make_unique<MapKernel>(c, parallel);
}

class ScanKernel final : public Kernel {
 public:
  explicit ScanKernel(PrepareContext& c) : function_(prepare_function(c, "f")) {}
  void run(RunContext& c) const override {
    const ArgRange range = arg_range(c.node().op->def.inputs, c.node().attrs, "initial_state");
    Element initial;
    for (int i = range.begin; i < range.end; ++i) initial.push_back(c.take_input(i));
    c.set_output(0, dataset_tensor(std::make_shared<ScanDataset>(
                        dataset_spec(c.node()), dataset_input(c, 0), capture(c, function_, "other_arguments"),
                        std::move(initial), c.node().attr<bool>("preserve_cardinality"))));
  }

 private:
  const PreparedFunction function_;
};

std::unique_ptr<Kernel> prepare_scan(PrepareContext& c) { return std::make_unique<ScanKernel>(c); }

}  // namespace

// ---- Registrations

CAUDAL_REGISTER_DATASET("MapDataset", "input_dataset: variant; other_arguments: Targuments",
                        "f: func; Targuments: list(type) >= 0; " CAUDAL_DATASET_TYPES
                        "; use_inter_op_parallelism: bool = true; preserve_cardinality: bool = false; "
                        "force_synchronous: bool = false; metadata: string = ''",
                        false, prepare_map<false>);
CAUDAL_REGISTER_DATASET("ParallelMapDataset",
                        "input_dataset: variant; other_arguments: Targuments; num_parallel_calls: int32",
                        "f: func; Targuments: list(type) >= 0; " CAUDAL_DATASET_TYPES
                        "; use_inter_op_parallelism: bool = true; sloppy: bool = false; "
                        "preserve_cardinality: bool = false; metadata: string = ''",
                        false, prepare_map<true>);
CAUDAL_REGISTER_DATASET("ParallelMapDatasetV2",
                        "input_dataset: variant; other_arguments: Targuments; num_parallel_calls: int64",
                        "f: func; Targuments: list(type) >= 0; " CAUDAL_DATASET_TYPES
                        "; use_inter_op_parallelism: bool = true; deterministic: string = 'default'; "
                        "preserve_cardinality: bool = false; use_unbounded_threadpool: bool = false; "
                        "metadata: string = ''",
                        false, prepare_map<true>);
CAUDAL_REGISTER_DATASET("FilterDataset", "input_dataset: variant; other_arguments: Targuments",
                        "predicate: func; Targuments: list(type) >= 0; " CAUDAL_DATASET_ATTRS, false,
                        prepare_predicate<FilterDataset>);
CAUDAL_REGISTER_DATASET("TakeWhileDataset", "input_dataset: variant; other_arguments: Targuments",
                        "predicate: func; Targuments: list(type) >= 0; " CAUDAL_DATASET_ATTRS, false,
                        prepare_predicate<TakeWhileDataset>);
CAUDAL_REGISTER_DATASET("ScanDataset", "input_dataset: variant; initial_state: Tstate; other_arguments: Targuments",
                        "f: func; Tstate: list(type) >= 1; Targuments: list(type) >= 0; " CAUDAL_DATASET_TYPES
                        "; preserve_cardinality: bool = false; use_default_device: bool = true; metadata: string = ''",
                        false, prepare_scan);
CAUDAL_REGISTER_OP({.name = "FilterByLastComponentDataset",
                    .inputs = "input_dataset: variant",
                    .outputs = "output: variant",
                    .attrs = CAUDAL_DATASET_TYPES,
                    .shape = ops::dataset_shape,
                    .gradient = not_differentiable,
                    .cpu = ops::prepare_dataset<make_filter_by_last>});

}  // namespace caudal::inline v0
