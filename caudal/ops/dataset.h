// Datasets: what TensorFlow's dataset ops make and its iterator ops read.
//
// A dataset op gives a scalar DT_VARIANT that holds a Dataset: an immutable description of a sequence of elements (each
// a list of tensors) on top of other datasets. make_iterator() starts a pass over it; DatasetIterator::next() gives one
// element after another. An iterator's position is saved and restored by transfer() (dataset_state.h), so that a
// resumed run gets the very next element.
//
//   class TakeDataset final : public UnaryDataset { ... };                     // the description
//   class TakeIterator final : public DatasetIterator { ... };                 // one pass
//   CAUDAL_REGISTER_DATASET("TakeDataset", "input_dataset: variant; count: int64", ..., prepare_dataset<make_take>);
//
// Ownership: datasets are shared and keep their inputs; an iterator keeps its dataset; everything that an iterator
// starts (threads) ends with it. Thread safety: datasets are immutable; an iterator is used by one thread at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "caudal/core/cancellation.h"
#include "caudal/core/kernel.h"
#include "caudal/core/node_state.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/rendezvous.h"
#include "caudal/core/resource_manager.h"
#include "caudal/ops/dataset_state.h"
#include "caudal/ops/row_copy.h"
#include "caudal/tensor/tensor.h"
#include "caudal/tensor/variant.h"

namespace caudal::inline v0::ops {

using Element = std::vector<Tensor>;

inline constexpr std::int64_t kInfiniteCardinality = -1;
inline constexpr std::int64_t kUnknownCardinality = -2;

// What the iterators of one pass share beyond steps: a step of their own for threads that work ahead.
class IteratorHost {
 public:
  // Takes what lasts as long as the session from `step`.
  explicit IteratorHost(const StepContext& step);
  const StepContext& background() const { return step_; }
  // Cancels what works in the background.
  void end() { token_.cancel(cancelled("the iterator has ended")); }
  // States of the functions that the pass calls (random counters): they begin anew with it.
  NodeStates& states() { return states_; }
  // Errors that ignore_errors() passed over.
  void count_ignored() { ignored_.fetch_add(1); }
  std::int64_t ignored() const { return ignored_.load(); }

 private:
  std::atomic<std::int64_t> ignored_{0};
  NodeStates states_;
  CancellationToken token_;
  ResourceManager step_resources_;
  LocalRendezvous rendezvous_;
  StepContext step_;
};

// Where a call of next() happens.
struct Iteration {
  const StepContext* step;  // whose cancellation and deadline count
  std::shared_ptr<IteratorHost> host;

  // Throws if the step was cancelled or its time is over. Loops that may run long without giving an element call it.
  void check() const;
  // The same iterators from a thread that works ahead.
  Iteration in_background() const { return {&host->background(), host}; }
};

// What buffered elements cost beside their plain values, which the tensors' own memory counts: a charge on the
// session's account, so that a pipeline from outside cannot take all memory in small pieces.
class ElementCharge {
 public:
  explicit ElementCharge(const Iteration& c) : account_(c.step->memory) {}
  ~ElementCharge() { clear(); }
  ElementCharge(const ElementCharge&) = delete;
  ElementCharge& operator=(const ElementCharge&) = delete;
  // Throws RESOURCE_EXHAUSTED if that is too much.
  void add(const Element& element);
  void remove(const Element& element);
  void clear();

 private:
  static std::size_t cost(const Element& element);
  MemoryAccount* const account_;
  std::size_t bytes_ = 0;
};

class DatasetIterator {
 public:
  virtual ~DatasetIterator();
  // The next element into `out`, or false: the end, now and for good. What it throws is the element's error; the next
  // call goes on behind it.
  virtual bool next(const Iteration& c, Element& out) = 0;
  // Writes the position, or goes to one that an equal dataset's iterator wrote. REQUIRES for reading: no element was
  // taken yet.
  virtual void transfer(const Iteration& c, StateArchive& archive) = 0;
};

using DatasetPtr = std::shared_ptr<const class Dataset>;

class Dataset : public VariantValue, public std::enable_shared_from_this<Dataset> {
 public:
  struct Spec {
    std::vector<DType> types;
    std::vector<PartialShape> shapes;
    std::string name;  // of the op: "MapDataset"
  };
  explicit Dataset(Spec spec) : spec_(std::move(spec)) {}

  std::string_view type_name() const final;
  std::string to_string() const final { return "<" + spec_.name + ">"; }
  const std::vector<DType>& types() const { return spec_.types; }
  const std::vector<PartialShape>& shapes() const { return spec_.shapes; }
  const std::string& name() const { return spec_.name; }

  virtual std::unique_ptr<DatasetIterator> make_iterator(const Iteration& c) const = 0;
  // Number of elements, kInfiniteCardinality or kUnknownCardinality.
  virtual std::int64_t cardinality() const = 0;
  // Whether a function on the way may wait for other nodes, so that next() must not keep a step's thread.
  virtual bool may_wait() const { return false; }

 private:
  const Spec spec_;
};

// A dataset on top of one other.
class UnaryDataset : public Dataset {
 public:
  UnaryDataset(Spec spec, DatasetPtr input) : Dataset(std::move(spec)), input_(std::move(input)) {}
  const Dataset& input() const { return *input_; }
  std::int64_t cardinality() const override { return input_->cardinality(); }
  bool may_wait() const override { return input_->may_wait(); }

 private:
  const DatasetPtr input_;
};

// The iterator over a D, which it keeps.
template <class D>
class IteratorOf : public DatasetIterator {
 public:
  explicit IteratorOf(const D& dataset)
      : keeper_(dataset.shared_from_this()), dataset_(static_cast<const D&>(*keeper_)) {}
  const D& dataset() const { return dataset_; }

 private:
  const DatasetPtr keeper_;
  const D& dataset_;
};

// An iterator over a D on top of an iterator over its input.
template <class D>
class UnaryIterator : public IteratorOf<D> {
 public:
  UnaryIterator(const D& dataset, const Iteration& c)
      : IteratorOf<D>(dataset), input_(dataset.input().make_iterator(c)) {}

 protected:
  DatasetIterator& input() { return *input_; }
  void reset_input(const Iteration& c) { input_ = this->dataset().input().make_iterator(c); }
  void transfer_input(const Iteration& c, StateArchive& archive) { input_->transfer(c, archive); }

 private:
  std::unique_ptr<DatasetIterator> input_;
};

// A list of iterators as part of a state.
void transfer_iterator(const Iteration& c, StateArchive& archive, const Dataset& dataset,
                       std::unique_ptr<DatasetIterator>& iterator);

// ---- For kernels

// Attributes output_types (or Toutput_types) and output_shapes of a node.
Dataset::Spec dataset_spec(const NodeInfo& node);
// The dataset in a tensor. Throws INVALID_ARGUMENT if it holds none.
DatasetPtr dataset_in(const Tensor& tensor);
inline DatasetPtr dataset_input(const RunContext& c, int i) { return dataset_in(c.input(i)); }
Tensor dataset_tensor(DatasetPtr dataset);
// Scalar arguments of dataset ops. Throw INVALID_ARGUMENT, naming the input, for another rank.
std::int64_t int_input(const RunContext& c, int i, std::string_view name);
bool bool_input(const RunContext& c, int i, std::string_view name);
std::string string_input(const RunContext& c, int i, std::string_view name);
// A scalar or vector of strings.
std::vector<std::string> strings_input(const RunContext& c, int i, std::string_view name);

// Throws INVALID_ARGUMENT unless an element has these types and shapes.
void check_element(const Element& element, const std::vector<DType>& types, const std::vector<PartialShape>& shapes);
// Throws INVALID_ARGUMENT unless a dataset's elements may have them.
void check_dataset(const Dataset& dataset, const std::vector<DType>& types, const std::vector<PartialShape>& shapes);

// The kernel of a dataset op whose dataset `make` makes from the inputs.
template <DatasetPtr (*make)(RunContext&)>
std::unique_ptr<Kernel> prepare_dataset(PrepareContext&) {
  class DatasetKernel final : public Kernel {
    void run(RunContext& c) const override { c.set_output(0, dataset_tensor(make(c))); }
  };
  return std::make_unique<DatasetKernel>();
}

// Shape function: a scalar handle; inputs that are datasets are scalars.
void dataset_shape(ShapeContext& c);
// Shape function of ops that give an element: attribute output_shapes.
void element_shape(ShapeContext& c);

#define CAUDAL_DATASET_TYPES "output_types: list(type) >= 1; output_shapes: list(shape) >= 1"
#define CAUDAL_DATASET_ATTRS CAUDAL_DATASET_TYPES "; metadata: string = ''"
#define CAUDAL_REGISTER_DATASET(op, ins, attributes, is_stateful, prepare) \
  CAUDAL_REGISTER_OP({.name = op,                                          \
                      .inputs = ins,                                       \
                      .outputs = "handle: variant",                        \
                      .attrs = attributes,                                 \
                      .stateful = is_stateful,                             \
                      .shape = ops::dataset_shape,                         \
                      .gradient = not_differentiable,                      \
                      .cpu = prepare})

}  // namespace caudal::inline v0::ops
