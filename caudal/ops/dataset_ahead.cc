// Datasets that change when elements are made, or what becomes of errors, and not which: prefetch, ignore_errors,
// assert_cardinality, and the marks that TensorFlow's optimiser of pipelines leaves, which mean nothing here.
#include <utility>

#include "caudal/base/error.h"
#include "caudal/base/log.h"
#include "caudal/ops/dataset.h"
#include "caudal/ops/work_ahead.h"

namespace caudal::inline v0 {
namespace {

using namespace ops;  // NOLINT: the family is all about them

// ---- PrefetchDataset

// Elements ahead where the pipeline is to find out by itself.
constexpr std::int64_t kChosenBuffer = 2;

class PrefetchDataset final : public UnaryDataset {
 public:
  PrefetchDataset(Spec spec, DatasetPtr input, std::int64_t buffer_size)
      : UnaryDataset(std::move(spec), std::move(input)), buffer_size_(buffer_size) {}
  std::int64_t buffer_size() const { return buffer_size_; }
  std::unique_ptr<DatasetIterator> make_iterator(const Iteration& c) const override;

 private:
  const std::int64_t buffer_size_;
};

class PrefetchIterator final : public UnaryIterator<PrefetchDataset> {
 public:
  PrefetchIterator(const PrefetchDataset& dataset, const Iteration& c)
      : UnaryIterator(dataset, c),
        ahead_(
            c, [this](const Iteration& i, Element& element) { return input().next(i, element); }, {}, 1,
            dataset.buffer_size()) {}
  bool next(const Iteration& c, Element& out) override { return ahead_.next(c, out); }
  void transfer(const Iteration& c, StateArchive& archive) override {
    archive.tag("Prefetch");
    ahead_.transfer(archive, [&] { transfer_input(c, archive); });
  }

 private:
  WorkAhead ahead_;
};

std::unique_ptr<DatasetIterator> PrefetchDataset::make_iterator(const Iteration& c) const {
  return std::make_unique<PrefetchIterator>(*this, c);
}

DatasetPtr make_prefetch(RunContext& c) {
  std::int64_t size = int_input(c, 1, "buffer_size");
  if (size < -1) throw invalid_argument("buffer_size must be >= 0 or set buffer_size to be -1 for auto-tuning");
  if (size == -1) size = kChosenBuffer;
  const DatasetPtr input = dataset_input(c, 0);
  if (size == 0) return input;
  return std::make_shared<PrefetchDataset>(dataset_spec(c.node()), input, size);
}

// ---- IgnoreErrorsDataset

class IgnoreErrorsDataset final : public UnaryDataset {
 public:
  IgnoreErrorsDataset(Spec spec, DatasetPtr input, bool log_warning, std::int64_t most)
      : UnaryDataset(std::move(spec), std::move(input)), log_warning_(log_warning), most_(most) {}
  bool logs() const { return log_warning_; }
  std::int64_t most() const { return most_; }
  std::int64_t cardinality() const override {
    return input().cardinality() == kInfiniteCardinality ? kInfiniteCardinality : kUnknownCardinality;
  }
  std::unique_ptr<DatasetIterator> make_iterator(const Iteration& c) const override;

 private:
  const bool log_warning_;
  const std::int64_t most_;  // -1: any number
};

class IgnoreErrorsIterator final : public UnaryIterator<IgnoreErrorsDataset> {
 public:
  using UnaryIterator::UnaryIterator;
  bool next(const Iteration& c, Element& out) override {
    for (;; c.check()) {
      try {
        out.clear();
        return input().next(c, out);
      } catch (const Error& error) {
        if (error.code() == Code::kCancelled) throw;
        ignore(c, error);
      }
    }
  }
  void transfer(const Iteration& c, StateArchive& archive) override {
    archive.tag("IgnoreErrors");
    archive.number(ignored_);
    transfer_input(c, archive);
  }

 private:
  void ignore(const Iteration& c, const Error& error) {
    if (dataset().most() >= 0 && ignored_ >= dataset().most()) {
      throw error.in(internal::concat("after ", ignored_, " bad records that were ignored, one more"))
          .hint("Repair the data, or allow more with ignore_errors(max_count).");
    }
    ++ignored_;
    c.host->count_ignored();
    if (dataset().logs()) log_warning("Error raised with error message ", error.what());
  }

  std::int64_t ignored_ = 0;
};

std::unique_ptr<DatasetIterator> IgnoreErrorsDataset::make_iterator(const Iteration& c) const {
  return std::make_unique<IgnoreErrorsIterator>(*this, c);
}

// How many errors may be ignored is an attribute of our own, which TensorFlow passes over.
DatasetPtr make_ignore_errors(RunContext& c) {
  const AttrValue* most = find_attr(c.node().attrs, "_max_errors");
  const auto* number = most == nullptr ? nullptr : most->get_if<std::int64_t>();
  return std::make_shared<IgnoreErrorsDataset>(dataset_spec(c.node()), dataset_input(c, 0),
                                               c.node().attr<bool>("log_warning"), number == nullptr ? -1 : *number);
}

// ---- AssertCardinalityDataset

class AssertCardinalityDataset final : public UnaryDataset {
 public:
  AssertCardinalityDataset(Spec spec, DatasetPtr input, std::int64_t cardinality)
      : UnaryDataset(std::move(spec), std::move(input)), cardinality_(cardinality) {}
  std::int64_t cardinality() const override { return cardinality_; }
  std::unique_ptr<DatasetIterator> make_iterator(const Iteration& c) const override;

 private:
  const std::int64_t cardinality_;
};

class AssertCardinalityIterator final : public UnaryIterator<AssertCardinalityDataset> {
 public:
  using UnaryIterator::UnaryIterator;
  bool next(const Iteration& c, Element& out) override {
    const std::int64_t wanted = dataset().cardinality();
    if (input().next(c, out)) {
      if (++count_ > wanted && wanted != kInfiniteCardinality && wanted != kUnknownCardinality) {
        throw failed_precondition("Input dataset was expected to contain ", elements(wanted),
                                  " but contained at least ", elements(count_), ".");
      }
      return true;
    }
    if (wanted != kUnknownCardinality && count_ != wanted) {
      throw failed_precondition("Input dataset was expected to contain ",
                                wanted == kInfiniteCardinality ? "an infinite number of elements" : elements(wanted),
                                " but contained only ", elements(count_), ".");
    }
    return false;
  }
  void transfer(const Iteration& c, StateArchive& archive) override {
    archive.tag("AssertCardinality");
    archive.number(count_);
    transfer_input(c, archive);
  }

 private:
  static std::string elements(std::int64_t n) { return internal::concat(n, n == 1 ? " element" : " elements"); }

  std::int64_t count_ = 0;
};

std::unique_ptr<DatasetIterator> AssertCardinalityDataset::make_iterator(const Iteration& c) const {
  return std::make_unique<AssertCardinalityIterator>(*this, c);
}

DatasetPtr make_assert_cardinality(RunContext& c) {
  return std::make_shared<AssertCardinalityDataset>(dataset_spec(c.node()), dataset_input(c, 0),
                                                    int_input(c, 1, "cardinality"));
}

// ---- What changes nothing

DatasetPtr make_same(RunContext& c) { return dataset_input(c, 0); }

}  // namespace

// ---- Registrations

CAUDAL_REGISTER_DATASET("PrefetchDataset", "input_dataset: variant; buffer_size: int64",
                        CAUDAL_DATASET_TYPES
                        "; slack_period: int = 0; legacy_autotune: bool = true; "
                        "buffer_size_min: int = 0; metadata: string = ''",
                        false, ops::prepare_dataset<make_prefetch>);
CAUDAL_REGISTER_DATASET("IgnoreErrorsDataset", "input_dataset: variant",
                        CAUDAL_DATASET_TYPES "; log_warning: bool = false", false,
                        ops::prepare_dataset<make_ignore_errors>);
CAUDAL_REGISTER_DATASET("AssertCardinalityDataset", "input_dataset: variant; cardinality: int64", CAUDAL_DATASET_TYPES,
                        false, ops::prepare_dataset<make_assert_cardinality>);
CAUDAL_REGISTER_DATASET("OptionsDataset", "input_dataset: variant", "serialized_options: string; " CAUDAL_DATASET_ATTRS,
                        false, ops::prepare_dataset<make_same>);
CAUDAL_REGISTER_DATASET("ModelDataset", "input_dataset: variant",
                        "algorithm: int = 0; cpu_budget: int = 0; ram_budget: int = 0; " CAUDAL_DATASET_TYPES, false,
                        ops::prepare_dataset<make_same>);
CAUDAL_REGISTER_DATASET("OptimizeDataset", "input_dataset: variant; optimizations: string",
                        CAUDAL_DATASET_TYPES "; optimization_configs: list(string) = []", false,
                        ops::prepare_dataset<make_same>);
CAUDAL_REGISTER_DATASET("OptimizeDatasetV2",
                        "input_dataset: variant; optimizations_enabled: string; optimizations_disabled: string; "
                        "optimizations_default: string",
                        CAUDAL_DATASET_TYPES "; optimization_configs: list(string) = []", false,
                        ops::prepare_dataset<make_same>);
CAUDAL_REGISTER_DATASET("FinalizeDataset", "input_dataset: variant",
                        "has_captured_ref: bool = false; " CAUDAL_DATASET_TYPES, false,
                        ops::prepare_dataset<make_same>);
CAUDAL_REGISTER_DATASET("NonSerializableDataset", "input_dataset: variant", CAUDAL_DATASET_TYPES, false,
                        ops::prepare_dataset<make_same>);
CAUDAL_REGISTER_DATASET("MaxIntraOpParallelismDataset", "input_dataset: variant; max_intra_op_parallelism: int64",
                        CAUDAL_DATASET_TYPES, false, ops::prepare_dataset<make_same>);
CAUDAL_REGISTER_DATASET("PrivateThreadPoolDataset", "input_dataset: variant; num_threads: int64", CAUDAL_DATASET_TYPES,
                        false, ops::prepare_dataset<make_same>);
CAUDAL_REGISTER_DATASET("RewriteDataset", "input_dataset: variant; rewrite_name: string", CAUDAL_DATASET_TYPES, false,
                        ops::prepare_dataset<make_same>);

}  // namespace caudal::inline v0
