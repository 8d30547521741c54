// Datasets from values at hand: tensors, their rows, numbers, random numbers, functions.
#include <atomic>
#include <utility>

#include "caudal/base/error.h"
#include "caudal/graph/builder.h"
#include "caudal/ops/dataset_function.h"
#include "caudal/ops/seed_generator.h"

namespace caudal::inline v0 {
namespace {

using namespace ops;  // NOLINT: the family is all about them

// ---- TensorDataset: one element

class TensorDataset final : public Dataset {
 public:
  TensorDataset(Spec spec, Element element) : Dataset(std::move(spec)), element_(std::move(element)) {}
  const Element& element() const { return element_; }
  std::int64_t cardinality() const override { return 1; }
  std::unique_ptr<DatasetIterator> make_iterator(const Iteration& c) const override;

 private:
  const Element element_;
};

class TensorIterator final : public IteratorOf<TensorDataset> {
 public:
  using IteratorOf::IteratorOf;
  bool next(const Iteration&, Element& out) override {
    if (std::exchange(taken_, true)) return false;
    out = dataset().element();
    return true;
  }
  void transfer(const Iteration&, StateArchive& archive) override {
    archive.tag("Tensor");
    archive.flag(taken_);
  }

 private:
  bool taken_ = false;
};

std::unique_ptr<DatasetIterator> TensorDataset::make_iterator(const Iteration&) const {
  return std::make_unique<TensorIterator>(*this);
}

Element all_inputs(const RunContext& c) {
  Element values;
  for (int i = 0; i < c.num_inputs(); ++i) values.push_back(c.take_input(i));
  return values;
}

DatasetPtr make_tensor(RunContext& c) {
  Element element = all_inputs(c);
  Dataset::Spec spec = dataset_spec(c.node());
  check_element(element, spec.types, spec.shapes);
  return std::make_shared<TensorDataset>(std::move(spec), std::move(element));
}

// ---- TensorSliceDataset: the rows of tensors

class SliceDataset final : public Dataset {
 public:
  SliceDataset(Spec spec, Element stacks) : Dataset(std::move(spec)), stacks_(std::move(stacks)) {}
  const Element& stacks() const { return stacks_; }
  std::int64_t cardinality() const override { return stacks_[0].dim(0); }
  std::unique_ptr<DatasetIterator> make_iterator(const Iteration& c) const override;

 private:
  const Element stacks_;
};

class SliceIterator final : public IteratorOf<SliceDataset> {
 public:
  using IteratorOf::IteratorOf;
  bool next(const Iteration&, Element& out) override {
    if (row_ >= dataset().cardinality()) return false;
    out.clear();
    for (const Tensor& stack : dataset().stacks()) out.push_back(take_row(stack, row_));
    ++row_;
    return true;
  }
  void transfer(const Iteration&, StateArchive& archive) override {
    archive.tag("TensorSlice");
    archive.number(row_);
    if (row_ < 0) throw data_loss("the saved position is row ", row_);
  }

 private:
  std::int64_t row_ = 0;
};

std::unique_ptr<DatasetIterator> SliceDataset::make_iterator(const Iteration&) const {
  return std::make_unique<SliceIterator>(*this);
}

DatasetPtr make_slices(RunContext& c) {
  Element stacks = all_inputs(c);
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    if (stacks[i].rank() == 0) throw invalid_argument("component ", i, " is a scalar: it has no rows");
    if (stacks[i].dim(0) != stacks[0].dim(0)) {
      throw invalid_argument("components differ in their number of rows: component 0 has ", stacks[0].dim(0),
                             ", component ", i, " ", stacks[i].dim(0));
    }
  }
  return std::make_shared<SliceDataset>(dataset_spec(c.node()), std::move(stacks));
}

// ---- SparseTensorSliceDataset: the rows of a sparse tensor, as (indices, values, shape)

class SparseSliceDataset final : public Dataset {
 public:
  SparseSliceDataset(Spec spec, Tensor indices, Tensor values, Tensor dense_shape)
      : Dataset(std::move(spec)),
        indices_(std::move(indices)),
        values_(std::move(values)),
        dense_shape_(std::move(dense_shape)) {}
  const Tensor& indices() const { return indices_; }
  const Tensor& values() const { return values_; }
  const Tensor& dense_shape() const { return dense_shape_; }
  std::int64_t cardinality() const override { return dense_shape_.data<std::int64_t>()[0]; }
  std::unique_ptr<DatasetIterator> make_iterator(const Iteration& c) const override;

 private:
  const Tensor indices_, values_, dense_shape_;
};

class SparseSliceIterator final : public IteratorOf<SparseSliceDataset> {
 public:
  using IteratorOf::IteratorOf;
  bool next(const Iteration&, Element& out) override {
    if (row_ >= dataset().cardinality()) return false;
    const Tensor& indices = dataset().indices();
    const std::int64_t rank = indices.dim(1);
    const auto row_of = [&](std::int64_t i) { return indices.data<std::int64_t>()[i * rank]; };
    const std::int64_t begin = at_;
    while (at_ < indices.dim(0) && row_of(at_) == row_) ++at_;
    Tensor row_indices(DType::kInt64, Shape({at_ - begin, rank - 1}));
    for (std::int64_t i = begin; i < at_; ++i) {
      for (std::int64_t d = 1; d < rank; ++d) {
        row_indices.data<std::int64_t>()[(i - begin) * (rank - 1) + d - 1] = indices.data<std::int64_t>()[i * rank + d];
      }
    }
    out = {std::move(row_indices), dataset().values().rows(begin, at_), dataset().dense_shape().rows(1, rank)};
    ++row_;
    return true;
  }
  void transfer(const Iteration&, StateArchive& archive) override {
    archive.tag("SparseTensorSlice");
    archive.number(row_);
    archive.number(at_);
    if (at_ < 0 || at_ > dataset().indices().dim(0)) throw data_loss("the saved position is value ", at_);
  }

 private:
  std::int64_t row_ = 0, at_ = 0;
};

std::unique_ptr<DatasetIterator> SparseSliceDataset::make_iterator(const Iteration&) const {
  return std::make_unique<SparseSliceIterator>(*this);
}

DatasetPtr make_sparse_slices(RunContext& c) {
  const Tensor indices = c.take_input(0), values = c.take_input(1), shape = c.take_input(2);
  if (indices.rank() != 2)
    throw invalid_argument("Input indices should be a matrix but received shape ", indices.shape());
  if (values.rank() != 1) throw invalid_argument("Input values should be a vector but received shape ", values.shape());
  if (shape.rank() != 1 || shape.dim(0) < 1) {
    throw invalid_argument("Input shape should be a vector but received shape ", shape.shape());
  }
  if (indices.dim(0) != values.dim(0)) {
    throw invalid_argument("Number of values must match first dimension of indices. Got ", values.dim(0),
                           " values, indices shape: ", indices.shape());
  }
  const std::int64_t rank = shape.dim(0);
  if (indices.dim(1) != rank) {
    throw invalid_argument("Number of dimensions must match second dimension of indices. Got ", rank,
                           " dimensions, indices shape: ", indices.shape());
  }
  std::int64_t before = 0;
  for (std::int64_t i = 0; i < indices.dim(0); ++i) {
    for (std::int64_t d = 0; d < rank; ++d) {
      const std::int64_t index = indices.data<std::int64_t>()[i * rank + d];
      if (index < 0 || index >= shape.data<std::int64_t>()[d]) {
        throw invalid_argument("index ", index, " of value ", i, " is not within the dense shape");
      }
    }
    const std::int64_t row = indices.data<std::int64_t>()[i * rank];
    if (row < before)
      throw unimplemented(
          "The SparseTensor must be ordered in the batch dimension; handling arbitrarily ordered input is not "
          "currently supported.");
    before = row;
  }
  Dataset::Spec spec{{DType::kInt64, values.dtype(), DType::kInt64},
                     {PartialShape({-1, rank - 1}), PartialShape({-1}), PartialShape({rank - 1})},
                     c.node().type()};
  return std::make_shared<SparseSliceDataset>(std::move(spec), indices, values, shape);
}

// ---- RangeDataset

class RangeDataset final : public Dataset {
 public:
  RangeDataset(Spec spec, std::int64_t start, std::int64_t stop, std::int64_t step)
      : Dataset(std::move(spec)), start_(start), step_(step) {
    // In unsigned numbers, which cannot overflow.
    const auto distance =
        static_cast<std::uint64_t>(step > 0 ? stop : start) - static_cast<std::uint64_t>(step > 0 ? start : stop);
    const std::uint64_t stride = step > 0 ? static_cast<std::uint64_t>(step) : -static_cast<std::uint64_t>(step);
    const bool empty = step > 0 ? start >= stop : start <= stop;
    count_ = empty ? 0 : static_cast<std::int64_t>((distance - 1) / stride + 1);
  }
  std::int64_t value(std::int64_t i) const {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(start_) +
                                     static_cast<std::uint64_t>(i) * static_cast<std::uint64_t>(step_));
  }
  std::int64_t cardinality() const override { return count_; }
  std::unique_ptr<DatasetIterator> make_iterator(const Iteration& c) const override;

 private:
  const std::int64_t start_, step_;
  std::int64_t count_;
};

class RangeIterator final : public IteratorOf<RangeDataset> {
 public:
  using IteratorOf::IteratorOf;
  bool next(const Iteration&, Element& out) override {
    if (i_ >= dataset().cardinality()) return false;
    out = {convert_number(Tensor(dataset().value(i_++)), dataset().types()[0])};
    return true;
  }
  void transfer(const Iteration&, StateArchive& archive) override {
    archive.tag("Range");
    archive.number(i_);
  }

 private:
  std::int64_t i_ = 0;
};

std::unique_ptr<DatasetIterator> RangeDataset::make_iterator(const Iteration&) const {
  return std::make_unique<RangeIterator>(*this);
}

DatasetPtr make_range(RunContext& c) {
  const std::int64_t step = int_input(c, 2, "step");
  if (step == 0) throw invalid_argument("step must be a non-zero integer.");
  return std::make_shared<RangeDataset>(dataset_spec(c.node()), int_input(c, 0, "start"), int_input(c, 1, "stop"),
                                        step);
}

// ---- RandomDataset: an endless sequence of 32-bit numbers, as int64

class RandomDataset final : public Dataset {
 public:
  RandomDataset(Spec spec, std::shared_ptr<SeedGenerator> seeds) : Dataset(std::move(spec)), seeds_(std::move(seeds)) {}
  SeedGenerator& seeds() const { return *seeds_; }
  std::int64_t cardinality() const override { return kInfiniteCardinality; }
  std::unique_ptr<DatasetIterator> make_iterator(const Iteration& c) const override;

 private:
  const std::shared_ptr<SeedGenerator> seeds_;
};

class RandomIterator final : public IteratorOf<RandomDataset> {
 public:
  explicit RandomIterator(const RandomDataset& dataset) : IteratorOf(dataset), numbers_(dataset.seeds().next()) {}
  bool next(const Iteration&, Element& out) override {
    out = {Tensor(static_cast<std::int64_t>(numbers_()))};
    return true;
  }
  void transfer(const Iteration&, StateArchive& archive) override {
    archive.tag("Random");
    dataset().seeds().transfer(archive);
    numbers_.transfer(archive);
  }

 private:
  SeededNumbers numbers_;
};

std::unique_ptr<DatasetIterator> RandomDataset::make_iterator(const Iteration&) const {
  return std::make_unique<RandomIterator>(*this);
}

DatasetPtr make_random(RunContext& c) {
  const bool again = find_attr(c.node().attrs, "rerandomize_each_iteration") != nullptr &&
                     c.node().attr<bool>("rerandomize_each_iteration");
  const Seeds seeds{int_input(c, 0, "seed"), int_input(c, 1, "seed2")};
  return std::make_shared<RandomDataset>(dataset_spec(c.node()), seed_generator(c, 2, seeds, again));
}

// ---- GeneratorDataset: what a function gives, call after call, until it says OUT_OF_RANGE

class GeneratorDataset final : public Dataset {
 public:
  struct Functions {
    CapturedFunction init, next, finalize;
  };
  GeneratorDataset(Spec spec, Functions functions) : Dataset(std::move(spec)), functions_(std::move(functions)) {}
  const Functions& functions() const { return functions_; }
  std::int64_t cardinality() const override { return kUnknownCardinality; }
  bool may_wait() const override {
    return functions_.init.prepared.can_wait || functions_.next.prepared.can_wait ||
           functions_.finalize.prepared.can_wait;
  }
  std::unique_ptr<DatasetIterator> make_iterator(const Iteration& c) const override;

 private:
  const Functions functions_;
};

class GeneratorIterator final : public IteratorOf<GeneratorDataset> {
 public:
  GeneratorIterator(const GeneratorDataset& dataset, const Iteration& c)
      : IteratorOf(dataset),
        host_(c.host),
        init_(c, dataset.functions().init),
        next_(c, dataset.functions().next),
        finalize_(c, dataset.functions().finalize) {}
  ~GeneratorIterator() override { finish({&host_->background(), host_}); }

  bool next(const Iteration& c, Element& out) override {
    if (ended_) return false;
    if (!started_) {
      state_ = init_(c, {});
      started_ = true;
    }
    try {
      out = next_(c, state_);
    } catch (const Error& error) {
      if (error.code() != Code::kOutOfRange) throw;
      ended_ = true;
      finish(c);
      return false;
    }
    ++count_;
    return true;
  }

  // A generator's own state is not known here: a restored pass calls it as often as the saved one did.
  void transfer(const Iteration& c, StateArchive& archive) override {
    archive.tag("Generator");
    std::int64_t count = count_;
    bool ended = ended_;
    archive.number(count);
    archive.flag(ended);
    Element element;
    while (!archive.saving() && count_ < count && next(c, element)) c.check();
    if (!archive.saving() && ended) ended_ = true;
  }

 private:
  // Once; what it throws at the end of everything concerns nobody.
  void finish(const Iteration& c) {
    if (!std::exchange(started_, false)) return;
    try {
      finalize_(c, state_);
    } catch (const Error&) {
      if (ended_) throw;
    }
  }

  const std::shared_ptr<IteratorHost> host_;
  const BoundFunction init_, next_, finalize_;
  Element state_;
  bool started_ = false, ended_ = false;
  std::int64_t count_ = 0;
};

std::unique_ptr<DatasetIterator> GeneratorDataset::make_iterator(const Iteration& c) const {
  return std::make_unique<GeneratorIterator>(*this, c);
}

class GeneratorKernel final : public Kernel {
 public:
  explicit GeneratorKernel(PrepareContext& c)
      : init_(prepare_function(c, "init_func")),
        next_(prepare_function(c, "next_func")),
        finalize_(prepare_function(c, "finalize_func")) {}
  void run(RunContext& c) const override {
    GeneratorDataset::Functions functions{capture(c, init_, "init_func_other_args"),
                                          capture(c, next_, "next_func_other_args"),
                                          capture(c, finalize_, "finalize_func_other_args")};
    c.set_output(0, dataset_tensor(std::make_shared<GeneratorDataset>(dataset_spec(c.node()), std::move(functions))));
  }

 private:
  const PreparedFunction init_, next_, finalize_;
};

std::unique_ptr<Kernel> prepare_generator(PrepareContext& c) { return std::make_unique<GeneratorKernel>(c); }

}  // namespace

// ---- Registrations

CAUDAL_REGISTER_DATASET("TensorDataset", "components: Toutput_types",
                        "Toutput_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ''", true,
                        ops::prepare_dataset<make_tensor>);
CAUDAL_REGISTER_DATASET("TensorSliceDataset", "components: Toutput_types",
                        "Toutput_types: list(type) >= 1; output_shapes: list(shape) >= 1; is_files: bool = false; "
                        "metadata: string = ''; replicate_on_split: bool = false",
                        true, ops::prepare_dataset<make_slices>);
CAUDAL_REGISTER_DATASET("SparseTensorSliceDataset", "indices: int64; values: Tvalues; dense_shape: int64",
                        "Tvalues: type", true, ops::prepare_dataset<make_sparse_slices>);
CAUDAL_REGISTER_DATASET("RangeDataset", "start: int64; stop: int64; step: int64",
                        CAUDAL_DATASET_ATTRS "; replicate_on_split: bool = false", true,
                        ops::prepare_dataset<make_range>);
CAUDAL_REGISTER_DATASET("RandomDataset", "seed: int64; seed2: int64", CAUDAL_DATASET_ATTRS, true,
                        ops::prepare_dataset<make_random>);
CAUDAL_REGISTER_DATASET("RandomDatasetV2", "seed: int64; seed2: int64; seed_generator: resource",
                        "rerandomize_each_iteration: bool = false; " CAUDAL_DATASET_ATTRS, true,
                        ops::prepare_dataset<make_random>);
CAUDAL_REGISTER_DATASET("GeneratorDataset",
                        "init_func_other_args: Tinit_func_args; next_func_other_args: Tnext_func_args; "
                        "finalize_func_other_args: Tfinalize_func_args",
                        "init_func: func; next_func: func; finalize_func: func; Tinit_func_args: list(type) >= 0; "
                        "Tnext_func_args: list(type) >= 0; Tfinalize_func_args: list(type) >= 0; " CAUDAL_DATASET_ATTRS,
                        true, prepare_generator);

}  // namespace caudal::inline v0
