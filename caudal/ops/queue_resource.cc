#include "caudal/ops/queue_resource.h"

#include <algorithm>
#include <deque>
#include <queue>
#include <random>
#include <utility>

#include "caudal/base/philox.h"
#include "caudal/ops/strided_copy.h"

namespace caudal::inline v0::internal {
namespace {

enum Line { kEnqueues, kDequeues };  // closes stand among the enqueues: they wait for those before them

// Row `index` of each component, as own memory: the batch must not live as long as its last tuple.
Tuple tuple_of(const Tuple& batch, std::int64_t index, Allocator& allocator) {
  Tuple tuple;
  tuple.reserve(batch.size());
  for (const Tensor& component : batch) {
    tuple.push_back(component.rows(index, index + 1).reshape(component.shape().remove(0)).clone(allocator));
  }
  return tuple;
}

// One component of the tuples, along a new first dimension.
Tensor pack_component(const std::vector<Tuple>& tuples, std::size_t component, Allocator& allocator) {
  const Tensor& first = tuples[0][component];
  Tensor packed(first.dtype(), first.shape().insert(0, std::ssize(tuples)), allocator);
  const auto bytes = first.num_elements() * static_cast<std::int64_t>(dtype_size(first.dtype()));
  for (std::size_t i = 0; i < tuples.size(); ++i) {
    copy_elements(first.dtype(), tuples[i][component].raw(), packed.raw() + static_cast<std::int64_t>(i) * bytes,
                  first.num_elements());
  }
  return packed;
}

PartialShape prepended(std::int64_t size, const PartialShape& shape) {
  if (!shape.has_rank()) return shape;
  std::vector<std::int64_t> dims = shape.dims();
  dims.insert(dims.begin(), size);
  return PartialShape(std::move(dims));
}

// ---- The four kinds

class FifoQueue : public QueueResource {
 public:
  explicit FifoQueue(Spec spec) : QueueResource(std::move(spec)) {}

 protected:
  std::int64_t count() const override { return std::ssize(tuples_); }
  void push(Tuple tuple) override { tuples_.push_back(std::move(tuple)); }
  Tuple pop() override {
    Tuple tuple = std::move(tuples_.front());
    tuples_.pop_front();
    return tuple;
  }
  void put_back(std::vector<Tuple> tuples) override {
    for (auto it = tuples.rbegin(); it != tuples.rend(); ++it) tuples_.push_front(std::move(*it));
  }

 private:
  std::deque<Tuple> tuples_;
};

// Draws by Philox as TensorFlow does: the drawn tuple's place is taken by the last one.
class ShuffleQueue final : public QueueResource {
 public:
  explicit ShuffleQueue(Spec spec) : QueueResource(std::move(spec)), random_(generator()) {}

 protected:
  std::int64_t count() const override { return std::ssize(tuples_); }
  std::int64_t available() const override {
    return closed() ? count() : std::max<std::int64_t>(0, count() - spec().min_after_dequeue);
  }
  void push(Tuple tuple) override { tuples_.push_back(std::move(tuple)); }
  Tuple pop() override {
    const std::size_t drawn = random_() % tuples_.size();
    std::swap(tuples_[drawn], tuples_.back());
    Tuple tuple = std::move(tuples_.back());
    tuples_.pop_back();
    return tuple;
  }
  void put_back(std::vector<Tuple> tuples) override {
    for (auto it = tuples.rbegin(); it != tuples.rend(); ++it) tuples_.push_back(std::move(*it));
  }

 private:
  PhiloxRandom generator() const {
    if (spec().seed != 0 || spec().seed2 != 0) {
      return PhiloxRandom(static_cast<std::uint64_t>(spec().seed), static_cast<std::uint64_t>(spec().seed2));
    }
    return PhiloxState(0, 0).generator();
  }

  std::vector<Tuple> tuples_;
  PhiloxSingles random_;
};

// Its batches hold zeros where a tuple is smaller than the largest one.
class PaddingQueue final : public FifoQueue {
 public:
  explicit PaddingQueue(Spec spec) : FifoQueue(std::move(spec)) {}

 protected:
  bool fits(const Shape& shape, const PartialShape& expected) const override { return expected.compatible(shape); }

  Tuple pack(std::vector<Tuple> tuples, Allocator& allocator) const override {
    Tuple packed;
    for (std::size_t i = 0; i < spec().types.size(); ++i) {
      packed.push_back(spec().shapes[i].is_fully_known() ? pack_component(tuples, i, allocator)
                                                         : pad_component(tuples, i, allocator));
    }
    return packed;
  }

 private:
  Tensor pad_component(const std::vector<Tuple>& tuples, std::size_t component, Allocator& allocator) const {
    std::vector<std::int64_t> largest = spec().shapes[component].dims();
    for (std::size_t d = 0; d < largest.size(); ++d) {
      if (largest[d] >= 0) continue;
      largest[d] = 0;
      for (const Tuple& tuple : tuples) largest[d] = std::max(largest[d], tuple[component].dim(static_cast<int>(d)));
    }
    static ThreadPool here(1);
    const Shape slice(largest);
    const DType dtype = spec().types[component];
    Tensor packed = Tensor::zeros(dtype, slice.insert(0, std::ssize(tuples)), allocator);
    const auto bytes = slice.num_elements() * static_cast<std::int64_t>(dtype_size(dtype));
    for (std::size_t i = 0; i < tuples.size(); ++i) {
      const Tensor& from = tuples[i][component];
      if (from.num_elements() == 0) continue;
      strided_copy(here, dtype, from.shape().dims(), from.raw(), from.shape().strides(),
                   packed.raw() + static_cast<std::int64_t>(i) * bytes, slice.strides());
    }
    return packed;
  }
};

// The smallest number first; equal ones in the order that TensorFlow's heap gives them.
class PriorityQueueResource final : public QueueResource {
 public:
  explicit PriorityQueueResource(Spec spec) : QueueResource(std::move(spec)) {}

 protected:
  std::int64_t count() const override { return std::ssize(heap_); }
  void push(Tuple tuple) override {
    if (tuple[0].rank() != 0) {
      throw invalid_argument("Expected the priority element to be a scalar, but received shape: ", tuple[0].shape());
    }
    heap_.push_back({tuple[0].item<std::int64_t>(), std::move(tuple)});
    std::push_heap(heap_.begin(), heap_.end(), Later());
  }
  Tuple pop() override {
    std::pop_heap(heap_.begin(), heap_.end(), Later());
    Tuple tuple = std::move(heap_.back().tuple);
    heap_.pop_back();
    return tuple;
  }
  void put_back(std::vector<Tuple> tuples) override {
    for (Tuple& tuple : tuples) push(std::move(tuple));
  }
  bool takes_in_parts() const override { return false; }  // a batch is sorted
  Error no_shapes() const override {
    return invalid_argument("PriorityQueue's DequeueMany requires the components to have specified shapes.");
  }

 private:
  struct Item {
    std::int64_t priority;
    Tuple tuple;
  };
  struct Later {
    bool operator()(const Item& a, const Item& b) const { return a.priority > b.priority; }
  };
  std::vector<Item> heap_;
};

void check_priority(const QueueResource::Spec& spec) {
  if (spec.types[0] != int64) {
    throw invalid_argument("PriorityQueue priority index component must be type int64, but dtype is: ",
                           type_word(spec.types[0]));
  }
  if (!spec.shapes.empty() && spec.shapes[0] != PartialShape::scalar()) {
    throw invalid_argument("PriorityQueue priority index component must be a scalar, but shape is: ", spec.shapes[0]);
  }
}

void check_shuffle(const QueueResource::Spec& spec) {
  if (spec.min_after_dequeue < 0) {
    throw invalid_argument("min_after_dequeue ", spec.min_after_dequeue, " must be >= 0");
  }
  if (spec.min_after_dequeue >= spec.capacity) {
    throw invalid_argument("min_after_dequeue ", spec.min_after_dequeue, " must be < capacity ", spec.capacity);
  }
}

void check_shapes(const QueueResource::Spec& spec, bool partial) {
  if (!spec.shapes.empty() && spec.shapes.size() != spec.types.size()) {
    throw invalid_argument("Different number of component types.  Types: ", type_words(spec.types),
                           ", Shapes: ", shape_words(spec.shapes));
  }
  if (partial && spec.shapes.empty()) {
    throw invalid_argument("Shapes must be provided for all components, but received ", spec.types.size(),
                           " dtypes and 0 shapes.");
  }
  for (const PartialShape& shape : spec.shapes) {
    if (partial && !shape.has_rank()) throw invalid_argument("shape ", shape, " must have known rank.");
    if (!partial && !shape.is_fully_known()) {
      throw invalid_argument("Shape ", shape, " is not fully defined")
          .hint("Use a PaddingFIFOQueue for components of varying sizes.");
    }
  }
}

}  // namespace

std::string type_word(DType dtype) {
  switch (dtype) {
    case float32:
      return "float";
    case float64:
      return "double";
    case float16:
      return "half";
    default:
      return std::string(dtype_name(dtype));
  }
}

std::string type_words(const std::vector<DType>& dtypes) {
  std::string words;
  for (const DType dtype : dtypes) words += (words.empty() ? "" : ", ") + type_word(dtype);
  return words;
}

std::string shape_words(const std::vector<PartialShape>& shapes) {
  std::string words;
  for (const PartialShape& shape : shapes) words += (words.empty() ? "" : ", ") + shape.to_string();
  return "[" + words + "]";
}

std::vector<PartialShape> declared_shapes(std::vector<PartialShape> shapes) {
  for (PartialShape& shape : shapes) {
    if (!shape.has_rank()) shape = PartialShape::scalar();
  }
  return shapes;
}

std::string QueueResource::Spec::kind() const { return op.ends_with("V2") ? op.substr(0, op.size() - 2) : op; }

std::shared_ptr<QueueResource> QueueResource::make(Spec spec) {
  if (spec.capacity < 0) spec.capacity = kUnbounded;
  if (spec.types.empty()) throw invalid_argument("Empty component types for queue ", spec.name);
  const std::string kind = spec.kind();
  check_shapes(spec, kind == "PaddingFIFOQueue");
  if (kind == "FIFOQueue") return std::make_shared<FifoQueue>(std::move(spec));
  if (kind == "PaddingFIFOQueue") return std::make_shared<PaddingQueue>(std::move(spec));
  if (kind == "PriorityQueue") {
    check_priority(spec);
    return std::make_shared<PriorityQueueResource>(std::move(spec));
  }
  check_shuffle(spec);
  return std::make_shared<ShuffleQueue>(std::move(spec));
}

QueueResource::QueueResource(Spec spec) : WaitingRoom(2, Order::kFirstOnly), spec_(std::move(spec)) {}

std::string QueueResource::describe() const {
  return spec_.kind() + " '" + spec_.name + "' of " + type_words(spec_.types);
}

void QueueResource::check_matches(const Spec& wanted) const {
  const auto differs = [&](std::string_view what, const auto& has, const auto& requested) {
    return invalid_argument("Shared queue '", spec_.name, "' has ", what, " ", has, " but requested ", what,
                            what.ends_with('s') ? " were " : " was ", requested);
  };
  if (wanted.kind() != spec_.kind()) throw invalid_argument("Expected ", spec_.kind(), ", found ", wanted.op);
  const std::int64_t capacity = wanted.capacity < 0 ? kUnbounded : wanted.capacity;
  if (capacity != spec_.capacity) throw differs("capacity", spec_.capacity, capacity);
  if (wanted.min_after_dequeue != spec_.min_after_dequeue) {
    throw differs("min_after_dequeue", spec_.min_after_dequeue, wanted.min_after_dequeue);
  }
  if ((wanted.seed != 0 || wanted.seed2 != 0) && (wanted.seed != spec_.seed || wanted.seed2 != spec_.seed2)) {
    throw invalid_argument("Shared queue '", spec_.name, "' has random seeds (", spec_.seed, ", ", spec_.seed2,
                           ") but requested seeds are (", wanted.seed, ", ", wanted.seed2, ").");
  }
  if (wanted.types != spec_.types) {
    throw differs("component types", type_words(spec_.types), type_words(wanted.types));
  }
  bool same = wanted.shapes.size() == spec_.shapes.size();
  for (std::size_t i = 0; same && i < spec_.shapes.size(); ++i) {
    same = spec_.kind() == "PaddingFIFOQueue" ? wanted.shapes[i].compatible(spec_.shapes[i])
                                              : wanted.shapes[i] == spec_.shapes[i];
  }
  if (!same) throw differs("component shapes", shape_words(spec_.shapes), shape_words(wanted.shapes));
}

// ---- Checks

Error QueueResource::is_closed_error() const { return cancelled(spec_.kind(), " '", spec_.name, "' is closed."); }

Error QueueResource::insufficient(std::int64_t requested, std::int64_t present) const {
  return out_of_range(spec_.kind(), " '", spec_.name, "' is closed and has insufficient elements (requested ",
                      requested, ", current size ", present, ")");
}

Error QueueResource::no_shapes() const {
  return invalid_argument(spec_.kind(),
                          "'s DequeueMany and DequeueUpTo require the components to have specified shapes.");
}

bool QueueResource::fits(const Shape& shape, const PartialShape& expected) const {
  return expected == PartialShape(shape);
}

void QueueResource::check_types(const Tuple& tuple) const {
  if (tuple.size() != spec_.types.size()) {
    throw invalid_argument("Wrong number of components in tuple. Expected ", spec_.types.size(), ", got ",
                           tuple.size());
  }
  for (std::size_t i = 0; i < tuple.size(); ++i) {
    if (tuple[i].dtype() != spec_.types[i]) {
      throw invalid_argument("Type mismatch in tuple component ", i, ". Expected ", type_word(spec_.types[i]), ", got ",
                             type_word(tuple[i].dtype()));
    }
  }
}

void QueueResource::check_tuple(const Tuple& tuple) const {
  check_types(tuple);
  for (std::size_t i = 0; i < spec_.shapes.size(); ++i) {
    if (!fits(tuple[i].shape(), spec_.shapes[i])) {
      throw invalid_argument("Shape mismatch in tuple component ", i, ". Expected ", spec_.shapes[i], ", got ",
                             tuple[i].shape());
    }
  }
}

std::int64_t QueueResource::check_batch(const Tuple& batch) const {
  check_types(batch);
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (batch[i].rank() == 0) {
      throw invalid_argument("component ", i, " is a scalar and no batch of tuples")
          .hint("Use enqueue() for one tuple.");
    }
  }
  const std::int64_t size = batch[0].dim(0);
  for (std::size_t i = 0; i < spec_.shapes.size(); ++i) {
    const PartialShape expected = prepended(size, spec_.shapes[i]);
    if (!fits(batch[i].shape(), expected)) {
      throw invalid_argument("Shape mismatch in tuple component ", i, ". Expected ", expected, ", got ",
                             batch[i].shape());
    }
  }
  for (std::size_t i = 1; i < batch.size(); ++i) {
    if (batch[i].dim(0) != size) {
      throw invalid_argument("All input tensors must have the same size in the 0th dimension. Component ", i, " has ",
                             batch[i].dim(0), ", and should have ", size);
    }
  }
  return size;
}

// ---- Putting in

void QueueResource::enqueue(const QueueCaller& caller, Tuple tuple, Done done) {
  check_tuple(tuple);
  const auto attempt = [this, tuple = std::move(tuple)]() mutable {
    if (closed_) throw is_closed_error();
    if (count() >= spec_.capacity) return Outcome::kWait;
    push(std::move(tuple));
    return Outcome::kDone;
  };
  wait(kEnqueues, {.attempt = attempt,
                   .done = std::move(done),
                   .cancellation = caller.cancellation,
                   .cancelled = "Enqueue operation was cancelled"});
}

void QueueResource::enqueue_many(const QueueCaller& caller, Tuple batch, Done done) {
  const std::int64_t size = check_batch(batch);
  if (size == 0) return done(nullptr);
  const auto attempt = [this, batch = std::move(batch), size, next = std::int64_t{0},
                        allocator = caller.allocator]() mutable {
    return try_enqueue_many(batch, size, &next, *allocator);
  };
  wait(kEnqueues, {.attempt = attempt,
                   .done = std::move(done),
                   .cancellation = caller.cancellation,
                   .cancelled = "Enqueue operation was cancelled"});
}

WaitingRoom::Outcome QueueResource::try_enqueue_many(const Tuple& batch, std::int64_t size, std::int64_t* next,
                                                     Allocator& allocator) {
  if (closed_) throw is_closed_error();
  Outcome outcome = Outcome::kWait;
  while (count() < spec_.capacity) {
    outcome = Outcome::kProgress;
    push(tuple_of(batch, *next, allocator));
    if (++*next == size) return Outcome::kDone;
  }
  return outcome;
}

// ---- Taking out

void QueueResource::dequeue(const QueueCaller& caller, TupleDone done) {
  const auto taken = std::make_shared<Tuple>();
  const auto attempt = [this, taken] {
    if (closed_ && count() == 0) throw insufficient(1, 0);
    if (available() == 0) return Outcome::kWait;
    *taken = pop();
    return Outcome::kDone;
  };
  wait(kDequeues, {.attempt = attempt,
                   .done = [taken, done = std::move(done)](const Error* error) { done(error, std::move(*taken)); },
                   .cancellation = caller.cancellation,
                   .cancelled = "Dequeue operation was cancelled"});
}

// A dequeue_many on its way.
struct QueueResource::Batch {
  std::int64_t wanted;
  bool up_to;
  std::vector<Tuple> taken;
  std::int64_t missing() const { return wanted - std::ssize(taken); }
};

void QueueResource::dequeue_many(const QueueCaller& caller, std::int64_t count, bool up_to, TupleDone done) {
  if (spec_.shapes.empty()) throw no_shapes();
  if (count == 0) {
    Tuple empty;
    for (std::size_t i = 0; i < spec_.types.size(); ++i) {
      std::vector<std::int64_t> dims = prepended(0, spec_.shapes[i]).dims();
      for (auto& dim : dims) dim = std::max<std::int64_t>(dim, 0);
      empty.emplace_back(spec_.types[i], Shape(dims), *caller.allocator);
    }
    return done(nullptr, std::move(empty));
  }
  const auto batch = std::make_shared<Batch>(Batch{.wanted = count, .up_to = up_to, .taken = {}});
  auto finish = [this, batch, allocator = caller.allocator, done = std::move(done)](const Error* error) {
    if (error != nullptr) return done(error, {});
    Tuple packed;
    try {
      packed = pack(std::move(batch->taken), *allocator);
    } catch (const Error& failure) {
      return done(&failure, {});
    }
    done(nullptr, std::move(packed));
  };
  wait(kDequeues, {.attempt = [this, batch] { return try_take(*batch); },
                   .done = std::move(finish),
                   .cancellation = caller.cancellation,
                   .cancelled = "Dequeue operation was cancelled",
                   .undo = [this, batch] { put_back(std::exchange(batch->taken, {})); }});
}

WaitingRoom::Outcome QueueResource::try_take(Batch& batch) {
  if (closed_ && count() < batch.missing()) {
    if (const Outcome outcome = give_up(batch); outcome != Outcome::kDone) return outcome;
  }
  const std::int64_t present = available();
  if (!takes_in_parts() && present < batch.missing()) return Outcome::kWait;
  const std::int64_t take = std::min(present, batch.missing());
  for (std::int64_t i = 0; i < take; ++i) batch.taken.push_back(pop());
  if (batch.missing() == 0) return Outcome::kDone;
  return take > 0 ? Outcome::kProgress : Outcome::kWait;
}

// The queue is closed and will not have enough. Gives back what was taken; kDone if the batch shall be what is left.
WaitingRoom::Outcome QueueResource::give_up(Batch& batch) {
  const std::int64_t missing = batch.missing(), present = count();
  put_back(std::exchange(batch.taken, {}));
  if (!batch.up_to) throw insufficient(missing, present);
  if (count() > 0) {
    batch.wanted = count();
    return Outcome::kDone;
  }
  // An enqueue that came before the end may be about to fail or to bring something.
  if (anyone_waits(kEnqueues)) return Outcome::kProgress;
  throw insufficient(missing, present);
}

Tuple QueueResource::pack(std::vector<Tuple> tuples, Allocator& allocator) const {
  Tuple packed;
  for (std::size_t i = 0; i < spec_.types.size(); ++i) packed.push_back(pack_component(tuples, i, allocator));
  return packed;
}

// ---- Closing

void QueueResource::close(CancellationToken* cancellation, bool cancel_pending_enqueues, Done done) {
  if (cancel_pending_enqueues) {
    change_and_end([this] { closed_ = true; }, kEnqueues, cancelled("Enqueue operation was cancelled"));
    return done(nullptr);
  }
  const auto attempt = [this] {
    if (closed_) throw cancelled("Queue '", spec_.name, "' is already closed.");
    closed_ = true;
    return Outcome::kDone;
  };
  wait(kEnqueues, {.attempt = attempt,
                   .done = std::move(done),
                   .cancellation = cancellation,
                   .cancelled = "Close operation was cancelled"});
}

std::int64_t QueueResource::size() const {
  return look([this] { return count(); });
}
bool QueueResource::is_closed() const {
  return look([this] { return closed_; });
}

}  // namespace caudal::inline v0::internal
