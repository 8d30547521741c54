#include "caudal/ops/barrier_ops.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/named_resource.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/queue_resource.h"
#include "caudal/ops/strided_copy.h"

namespace caudal::inline v0 {
namespace {

using internal::QueueCaller;
using internal::QueueResource;
using internal::Tuple;

// ---- Shape functions

void reference_handle_shape(ShapeContext& c) { c.set_output(0, {2}); }

void check_handle(ShapeContext& c) {
  if (!c.input(0).compatible(PartialShape{2})) {
    throw invalid_argument("the handle must be a vector of 2 strings, not ", c.input(0));
  }
}

void query_shape(ShapeContext& c) {
  check_handle(c);
  scalar_shape(c);
}

void insert_many_shape(ShapeContext& c) {
  check_handle(c);
  const PartialShape keys = c.with_rank(1, 1), values = c.with_rank_at_least(2, 1);
  if (values.has_rank()) ShapeContext::merge_dim(keys.dim(0), values.dim(0), "keys and values");
}

// ---- The resource

// Incomplete tuples by key, and a priority queue of complete ones: (insertion, key, components).
class BarrierResource final : public Resource {
 public:
  BarrierResource(std::vector<DType> types, std::vector<PartialShape> shapes, std::string name)
      : types_(std::move(types)), shapes_(std::move(shapes)), name_(std::move(name)) {
    QueueResource::Spec spec;
    spec.op = "PriorityQueue";
    spec.name = name_ + "_queue";
    spec.types = {int64, string};
    spec.shapes = {PartialShape::scalar(), PartialShape::scalar()};
    for (const DType type : types_) spec.types.push_back(type);
    for (const PartialShape& shape : shapes_) spec.shapes.push_back(shape);
    ready_ = QueueResource::make(std::move(spec));
  }

  const std::vector<DType>& types() const { return types_; }
  std::string describe() const override { return "barrier '" + name_ + "'"; }

  void check_matches(const std::vector<DType>& types, const std::vector<PartialShape>& shapes) const;
  // Puts component `index` of the tuples `keys` in. What becomes complete is ready at once.
  void insert_many(const QueueCaller& caller, const Tensor& keys, std::size_t index, const Tensor& values);
  // Throws OUT_OF_RANGE where it is known that there will never be enough.
  void take_many(const QueueCaller& caller, std::int64_t count, bool allow_small_batch, QueueResource::TupleDone done);
  void close(bool cancel_pending_enqueues);
  std::int64_t ready_size() const { return ready_->size(); }
  std::int64_t incomplete_size() const {
    const std::lock_guard lock(mutex_);
    return std::ssize(incomplete_);
  }

 private:
  struct Incomplete {
    std::int64_t insertion;
    Tuple components;  // invalid where there is none yet
  };
  Incomplete& entry_of(const std::string& key, std::int64_t position, bool* is_new);
  void check_open(std::int64_t inserted) const;
  // What is complete now, and complete tuples of the queue.
  std::vector<Tuple> insert_locked(const Tensor& keys, std::size_t index, const Tensor& values, Allocator& allocator);
  void make_ready(const QueueCaller& caller, std::vector<Tuple> tuples);

  const std::vector<DType> types_;
  const std::vector<PartialShape> shapes_;
  const std::string name_;
  std::shared_ptr<QueueResource> ready_;
  mutable std::mutex mutex_;
  bool closed_ = false, cancelled_ = false;
  std::int64_t insertion_ = std::numeric_limits<std::int64_t>::min();
  std::map<std::string, Incomplete> incomplete_;
};

void BarrierResource::check_matches(const std::vector<DType>& types, const std::vector<PartialShape>& shapes) const {
  if (types != types_) {
    throw invalid_argument("Shared barrier '", name_, "' has component types ", internal::type_words(types_),
                           " but requested component types were ", internal::type_words(types));
  }
  if (shapes != shapes_) {
    throw invalid_argument("Shared barrier '", name_, "' has component shapes ", internal::shape_words(shapes_),
                           " but requested component shapes were ", internal::shape_words(shapes));
  }
}

void BarrierResource::check_open(std::int64_t inserted) const {
  if (!closed_ || (!cancelled_ && (inserted == 0 || !incomplete_.empty()))) return;
  throw cancelled("Barrier ", name_, " is closed.  Pending enqueues cancelled: ", cancelled_,
                  ".  Number of new insertions: ", inserted, ".  Number of incomplete keys: ", incomplete_.size(), ".");
}

BarrierResource::Incomplete& BarrierResource::entry_of(const std::string& key, std::int64_t position, bool* is_new) {
  const auto found = incomplete_.find(key);
  if (found != incomplete_.end()) return found->second;
  if (closed_) {
    throw cancelled("Barrier ", name_, " is closed, but attempted to insert a brand new key: ", key,
                    ".  Pending enqueues cancelled: ", cancelled_, ".  Insertion index: ", position,
                    ".  Number of incomplete keys: ", incomplete_.size(), ".");
  }
  *is_new = true;
  return incomplete_.emplace(key, Incomplete{insertion_, Tuple(types_.size())}).first->second;
}

std::vector<Tuple> BarrierResource::insert_locked(const Tensor& keys, std::size_t index, const Tensor& values,
                                                  Allocator& allocator) {
  std::vector<Tuple> complete;
  bool any_new = false;
  for (std::int64_t i = 0; i < keys.num_elements(); ++i) {
    const std::string& key = keys.data<std::string>()[i];
    Incomplete& entry = entry_of(key, i, &any_new);
    if (entry.components[index].valid()) {
      throw invalid_argument("Key ", key, " already has a value for component ", index, " in barrier ", name_);
    }
    entry.components[index] = values.rows(i, i + 1).reshape(values.shape().remove(0)).clone(allocator);
    if (std::ranges::all_of(entry.components, &Tensor::valid)) {
      Tuple tuple{Tensor(entry.insertion), Tensor(key)};
      tuple.insert(tuple.end(), entry.components.begin(), entry.components.end());
      complete.push_back(std::move(tuple));
      incomplete_.erase(key);
    }
  }
  if (any_new) ++insertion_;
  return complete;
}

void BarrierResource::insert_many(const QueueCaller& caller, const Tensor& keys, std::size_t index,
                                  const Tensor& values) {
  if (keys.num_elements() > 0 && values.num_elements() == 0) {
    throw invalid_argument("Tensors with no elements are not supported ", name_, ": received shape ", values.shape());
  }
  if (values.rank() == 0 || values.dim(0) != keys.num_elements()) {
    throw invalid_argument(keys.num_elements(), " keys, but values ", values.shape());
  }
  const PartialShape component(values.shape().remove(0));
  if (keys.num_elements() > 0 && component != shapes_[index]) {
    throw invalid_argument("Shape mismatch in tuple component ", index + 2, ". Expected ", shapes_[index], ", got ",
                           component);
  }
  std::vector<Tuple> complete;
  {
    const std::lock_guard lock(mutex_);
    check_open(keys.num_elements());
    complete = insert_locked(keys, index, values, *caller.allocator);
  }
  make_ready(caller, std::move(complete));
  // Closed with tuples pending, of which this was the last.
  const bool finished = [&] {
    const std::lock_guard lock(mutex_);
    return closed_ && incomplete_.empty();
  }();
  if (finished && !ready_->is_closed()) ready_->close(nullptr, false, [](const Error*) {});
}

// The queue is unbounded: nothing waits here.
void BarrierResource::make_ready(const QueueCaller& caller, std::vector<Tuple> tuples) {
  for (Tuple& tuple : tuples) {
    ready_->enqueue({nullptr, caller.allocator}, std::move(tuple), [](const Error*) {});
  }
}

void BarrierResource::take_many(const QueueCaller& caller, std::int64_t count, bool allow_small_batch,
                                QueueResource::TupleDone done) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) {
      std::int64_t available = ready_size();
      if (allow_small_batch) {
        count = std::min(count, available);
      } else {
        available += std::ssize(incomplete_);
      }
      if (available < std::max<std::int64_t>(count, 1)) {
        throw out_of_range("Barrier '", name_, "' is closed and has insufficient elements (requested ", count,
                           ", total size ", available, ")");
      }
    }
  }
  ready_->dequeue_many(caller, count, allow_small_batch, std::move(done));
}

void BarrierResource::close(bool cancel_pending_enqueues) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_ && (cancelled_ || !cancel_pending_enqueues)) {
      throw cancelled("Barrier '", name_, "' is already closed.");
    }
    closed_ = true;
    cancelled_ = cancel_pending_enqueues;
    if (cancelled_) incomplete_.clear();
    if (!incomplete_.empty()) return;
  }
  if (!ready_->is_closed()) ready_->close(nullptr, cancel_pending_enqueues, [](const Error*) {});
}

// ---- Kernels

class BarrierKernel final : public Kernel {
 public:
  explicit BarrierKernel(PrepareContext& c)
      : id_(internal::resource_name(c.node())),
        types_(c.attr<std::vector<DType>>("component_types")),
        shapes_(internal::declared_shapes(c.attr<std::vector<PartialShape>>("shapes"))),
        handle_(c, id_, "tensorflow::barrier::Barrier") {
    if (shapes_.size() != types_.size()) throw invalid_argument("All of the component shapes must be specified");
    if (c.attr<std::int64_t>("capacity") != -1) {
      throw invalid_argument(
          "Barrier only accepts capacity=-1.  Feed the inputs to your Barrier through a queue to enforce a limited "
          "capacity.");
    }
    make();  // tells what is wrong before anything runs
  }
  void run(RunContext& c) const override {
    c.step()
        .resources->get_or_create<BarrierResource>(id_.container, id_.name, [this] { return make(); })
        ->check_matches(types_, shapes_);
    handle_.set(c);
  }

 private:
  std::shared_ptr<BarrierResource> make() const { return std::make_shared<BarrierResource>(types_, shapes_, id_.name); }

  internal::ResourceName id_;
  std::vector<DType> types_;
  std::vector<PartialShape> shapes_;
  internal::HandleOutput handle_;
};

QueueCaller caller_of(const RunContext& c) { return {c.step().cancellation, &c.step().device->allocator()}; }

void run_insert_many(RunContext& c) {
  const auto barrier = internal::resource_of<BarrierResource>(c);
  const std::int64_t index = c.node().attr<std::int64_t>("component_index");
  const auto count = std::ssize(barrier->types());
  if (index < 0 || index >= count) {
    throw invalid_argument("The component ID is out of range ", index, " > num_components (= ", count, ")");
  }
  if (c.input(2).dtype() != barrier->types()[index]) {
    throw invalid_argument("Signature mismatch, have: string_ref, string, ", internal::type_word(c.input(2).dtype()),
                           "-> expected: string_ref, string, ", internal::type_word(barrier->types()[index]), "->");
  }
  barrier->insert_many(caller_of(c), c.input(1), static_cast<std::size_t>(index), c.input(2));
}

class TakeManyKernel final : public WaitingKernel {
 public:
  explicit TakeManyKernel(PrepareContext& c)
      : allow_small_batch_(c.attr<bool>("allow_small_batch")), types_(c.attr<std::vector<DType>>("component_types")) {
    if (c.attr<std::int64_t>("timeout_ms") != -1) {
      throw invalid_argument("Timeout not supported yet.").hint("Give the run a timeout instead.");
    }
  }
  void run_async(RunContext& c, Done done) const override {
    internal::start_wait(done, [&] {
      const auto barrier = internal::resource_of<BarrierResource>(c);
      if (c.input(1).rank() != 0) throw invalid_argument("num_elements must be a scalar.");
      const std::int64_t count = scalar_int(c.input(1), "num_elements");
      if (count < 0) throw invalid_argument("num_elements is ", count, " < 0");
      if (types_ != barrier->types()) {
        throw invalid_argument("Signature mismatch, have: string_ref, int32->int64, string, ",
                               internal::type_words(types_), " expected: string_ref, int32->int64, string, ",
                               internal::type_words(barrier->types()));
      }
      barrier->take_many(caller_of(c), count, allow_small_batch_, [barrier, &c, done](const Error* error, Tuple tuple) {
        for (std::size_t i = 0; i < tuple.size(); ++i) {
          c.set_output(static_cast<int>(i), std::move(tuple[i]));
        }
        done(error);
      });
    });
  }

 private:
  bool allow_small_batch_;
  std::vector<DType> types_;
};

void run_close(RunContext& c) {
  internal::resource_of<BarrierResource>(c)->close(c.node().attr<bool>("cancel_pending_enqueues"));
}

void run_ready_size(RunContext& c) {
  const auto size = internal::resource_of<BarrierResource>(c)->ready_size();
  c.allocate_output(0, {}).data<std::int32_t>()[0] = static_cast<std::int32_t>(size);
}

void run_incomplete_size(RunContext& c) {
  const auto size = internal::resource_of<BarrierResource>(c)->incomplete_size();
  c.allocate_output(0, {}).data<std::int32_t>()[0] = static_cast<std::int32_t>(size);
}

template <class K>
std::unique_ptr<Kernel> prepare(PrepareContext& c) {
  return std::make_unique<K>(c);
}

// ---- Registrations

CAUDAL_REGISTER_OP({
    .name = "Barrier",
    .outputs = "handle: Ref(string)",
    .attrs = "component_types: list(type) >= 1; shapes: list(shape) >= 0 = []; capacity: int = -1; "
             "container: string = ''; shared_name: string = ''",
    .stateful = true,
    .shape = reference_handle_shape,
    .gradient = not_differentiable,
    .cpu = prepare<BarrierKernel>,
});
CAUDAL_REGISTER_OP({
    .name = "BarrierInsertMany",
    .inputs = "handle: Ref(string); keys: string; values: T",
    .attrs = "T: type; component_index: int",
    .shape = insert_many_shape,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_insert_many>,
});
CAUDAL_REGISTER_OP({
    .name = "BarrierTakeMany",
    .inputs = "handle: Ref(string); num_elements: int32",
    .outputs = "indices: int64; keys: string; values: component_types",
    .attrs = "component_types: list(type) >= 1; allow_small_batch: bool = false; wait_for_incomplete: bool = false; "
             "timeout_ms: int = -1",
    .shape = unknown_shape,
    .gradient = not_differentiable,
    .cpu = prepare<TakeManyKernel>,
});
CAUDAL_REGISTER_OP({
    .name = "BarrierClose",
    .inputs = "handle: Ref(string)",
    .attrs = "cancel_pending_enqueues: bool = false",
    .shape = query_shape,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_close>,
});
CAUDAL_REGISTER_OP({
    .name = "BarrierReadySize",
    .inputs = "handle: Ref(string)",
    .outputs = "size: int32",
    .shape = query_shape,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_ready_size>,
});
CAUDAL_REGISTER_OP({
    .name = "BarrierIncompleteSize",
    .inputs = "handle: Ref(string)",
    .outputs = "size: int32",
    .shape = query_shape,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_incomplete_size>,
});

PartialShape with_rows(const PartialShape& shape, std::int64_t rows) {
  std::vector<std::int64_t> dims = shape.dims();
  dims.insert(dims.begin(), rows);
  return PartialShape(std::move(dims));
}

}  // namespace

// ---- The class

Barrier::Barrier(std::vector<DType> types, const BarrierOptions& options)
    : types_(std::move(types)), shapes_(options.shapes) {
  if (shapes_.size() != types_.size()) {
    throw invalid_argument("a barrier of ", types_.size(), " types has ", shapes_.size(), " shapes");
  }
  for (const PartialShape& shape : shapes_) {
    if (!shape.is_fully_known() || shape.num_elements() == 0) {
      throw invalid_argument("Empty tensors are not supported, but received shape ", shape)
          .hint("A component's shape is fully known and has elements.");
    }
  }
  ref_ = OpBuilder("Barrier", {.name = options.name.empty() ? "barrier" : options.name, .where = options.where})
             .attr("component_types", types_)
             .attr("shapes", shapes_)
             .attr("shared_name", options.shared_name)
             .build();
}

OpOptions Barrier::named(const std::string& suffix, const OpOptions& options) const {
  if (!options.name.empty()) return options;
  return {.name = name().substr(name().rfind('/') + 1) + suffix, .where = options.where};
}

Operation Barrier::insert_many(int component_index, const Operand& keys, const Operand& values,
                               const OpOptions& options) const {
  if (component_index < 0 || component_index >= std::ssize(types_)) {
    throw invalid_argument("barrier '", name(), "' has ", types_.size(), " components and none at ", component_index);
  }
  const LocationScope where(options.where);
  return OpBuilder("BarrierInsertMany", named("_BarrierInsertMany", options))
      .input(ref_)
      .input(keys)
      .input(values, types_[component_index])
      .attr("component_index", component_index)
      .build_operation();
}

Barrier::Taken Barrier::take_many(const Operand& num_elements, const TakeManyOptions& options) const {
  const LocationScope where(options.where);
  Node& node = OpBuilder("BarrierTakeMany", named("_BarrierTakeMany", {.name = options.name, .where = options.where}))
                   .input(ref_)
                   .input(num_elements, int32)
                   .attr("component_types", types_)
                   .attr("allow_small_batch", options.allow_small_batch)
                   .build_node();
  const Tensor* count = num_elements.value();
  const std::int64_t rows = options.allow_small_batch || count == nullptr ? -1 : scalar_int(*count, "num_elements");
  Taken taken{node.output(0), node.output(1), {}};
  taken.indices.set_shape({rows});
  taken.keys.set_shape({rows});
  for (int i = 0; i < std::ssize(types_); ++i) {
    taken.values.push_back(node.output(i + 2));
    taken.values.back().set_shape(with_rows(shapes_[i], rows));
  }
  return taken;
}

Operation Barrier::close(bool cancel_pending_enqueues, const OpOptions& options) const {
  return OpBuilder("BarrierClose", named("_BarrierClose", options))
      .input(ref_)
      .attr("cancel_pending_enqueues", cancel_pending_enqueues)
      .build_operation();
}

Output Barrier::ready_size(const OpOptions& options) const {
  return OpBuilder("BarrierReadySize", named("_BarrierReadySize", options)).input(ref_).build();
}

Output Barrier::incomplete_size(const OpOptions& options) const {
  return OpBuilder("BarrierIncompleteSize", named("_BarrierIncompleteSize", options)).input(ref_).build();
}

}  // namespace caudal::inline v0
