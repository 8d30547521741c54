#include "caudal/ops/queue_ops.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/constant_value.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/named_resource.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/queue_resource.h"
#include "caudal/ops/random.h"

namespace caudal::inline v0 {
namespace {

using internal::QueueCaller;
using internal::QueueResource;
using internal::Tuple;

// ---- Shape functions

void reference_handle_shape(ShapeContext& c) { c.set_output(0, {2}); }

// Components of the queue that a node makes, as far as its attributes tell.
HandleData components_of(const NodeInfo& node) {
  const auto& types = node.attr<std::vector<DType>>("component_types");
  const auto& shapes = node.attr<std::vector<PartialShape>>("shapes");
  if (types.size() != shapes.size()) return {};
  HandleData parts;
  if (node.type().starts_with("PriorityQueue")) parts.push_back({int64, PartialShape::scalar()});
  for (std::size_t i = 0; i < types.size(); ++i) parts.push_back({types[i], shapes[i]});
  return parts;
}

void resource_handle_shape(ShapeContext& c) {
  c.set_output(0, PartialShape::scalar());
  c.set_output_handle(0, components_of(c.node()));
}

void dequeue_shape(ShapeContext& c) {
  unknown_shape(c);
  const HandleData& parts = c.input_handle(0);
  if (std::ssize(parts) != c.num_outputs()) return;
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, parts[i].shape);
}

void batch_shape(ShapeContext& c, std::int64_t rows) {
  unknown_shape(c);
  const HandleData& parts = c.input_handle(0);
  if (std::ssize(parts) != c.num_outputs()) return;
  for (int i = 0; i < c.num_outputs(); ++i) {
    if (!parts[i].shape.has_rank()) continue;
    std::vector<std::int64_t> dims = parts[i].shape.dims();
    dims.insert(dims.begin(), rows);
    c.set_output(i, PartialShape(std::move(dims)));
  }
}

void dequeue_many_shape(ShapeContext& c) {
  const Tensor* n = c.constant_input(1);
  const std::int64_t rows = n == nullptr || n->num_elements() != 1 ? -1 : n->to_int64s()[0];
  if (n != nullptr && rows < 0) throw invalid_argument("Input 'n' must be >= 0, but is ", rows);
  batch_shape(c, rows);
}

void dequeue_up_to_shape(ShapeContext& c) { batch_shape(c, -1); }

// A reference handle in, scalars out.
void reference_query_shape(ShapeContext& c) {
  if (!c.input(0).compatible(PartialShape{2})) {
    throw invalid_argument("the handle must be a vector of 2 strings, not ", c.input(0));
  }
  scalar_shape(c);
}

// ---- Kernels

QueueResource::Spec spec_of(const NodeInfo& node, const internal::ResourceName& id) {
  QueueResource::Spec spec;
  spec.op = node.type();
  spec.name = id.name;
  spec.capacity = node.attr<std::int64_t>("capacity");
  spec.types = node.attr<std::vector<DType>>("component_types");
  spec.shapes = node.attr<std::vector<PartialShape>>("shapes");
  if (spec.kind() != "PaddingFIFOQueue") spec.shapes = internal::declared_shapes(std::move(spec.shapes));
  if (spec.kind() == "PriorityQueue") {
    spec.types.insert(spec.types.begin(), int64);
    if (!spec.shapes.empty()) spec.shapes.insert(spec.shapes.begin(), PartialShape::scalar());
  }
  if (spec.kind() == "RandomShuffleQueue") {
    spec.min_after_dequeue = node.attr<std::int64_t>("min_after_dequeue");
    spec.seed = node.attr<std::int64_t>("seed");
    spec.seed2 = node.attr<std::int64_t>("seed2");
  }
  return spec;
}

class QueueKernel final : public Kernel {
 public:
  explicit QueueKernel(PrepareContext& c)
      : id_(internal::resource_name(c.node())),
        spec_(spec_of(c.node(), id_)),
        handle_(c, id_, "tensorflow::QueueInterface", components_of(c.node())) {
    QueueResource::make(spec_);  // tells what is wrong before anything runs
  }
  void run(RunContext& c) const override {
    const auto queue = c.step().resources->get_or_create<QueueResource>(id_.container, id_.name,
                                                                        [this] { return QueueResource::make(spec_); });
    queue->check_matches(spec_);
    handle_.set(c);
  }

 private:
  internal::ResourceName id_;
  QueueResource::Spec spec_;
  internal::HandleOutput handle_;
};

// Refuses a node whose types are not the queue's: `mine` and `theirs` without the handle.
void check_signature(const RunContext& c, const std::vector<DType>& mine, const std::vector<DType>& theirs,
                     bool inputs) {
  if (mine == theirs) return;
  const std::string handle = c.node().input_types[0] == DType::kResource ? "resource" : "string_ref";
  const auto signature = [&](const std::vector<DType>& types) {
    const std::string words = internal::type_words(types);
    return inputs ? handle + (words.empty() ? "" : ", ") + words + "->" : handle + "->" + words;
  };
  throw invalid_argument("Signature mismatch, have: ", signature(mine), " expected: ", signature(theirs));
}

QueueCaller caller_of(const RunContext& c) { return {c.step().cancellation, &c.step().device->allocator()}; }

class EnqueueKernel final : public WaitingKernel {
 public:
  explicit EnqueueKernel(bool many) : many_(many) {}
  void run_async(RunContext& c, Done done) const override {
    internal::start_wait(done, [&] {
      const auto queue = internal::resource_of<QueueResource>(c);
      check_signature(c, {c.node().input_types.begin() + 1, c.node().input_types.end()}, queue->spec().types, true);
      Tuple tuple;
      for (int i = 1; i < c.num_inputs(); ++i) tuple.push_back(c.take_input(i));
      auto finish = [queue, done](const Error* error) { done(error); };
      if (many_) {
        queue->enqueue_many(caller_of(c), std::move(tuple), finish);
      } else {
        queue->enqueue(caller_of(c), std::move(tuple), finish);
      }
    });
  }

 private:
  bool many_;
};

enum class Take { kOne, kMany, kUpTo };

class DequeueKernel final : public WaitingKernel {
 public:
  explicit DequeueKernel(Take take) : take_(take) {}
  void run_async(RunContext& c, Done done) const override {
    internal::start_wait(done, [&] {
      const auto queue = internal::resource_of<QueueResource>(c);
      const std::int64_t n = take_ == Take::kOne ? 1 : scalar_int(c.input(1), "n");
      if (n < 0) {
        throw invalid_argument(take_ == Take::kMany ? "DequeueManyOp" : "DequeueUpToOp", " requested ", n,
                               " < 0 elements");
      }
      check_signature(c, c.node().output_types, queue->spec().types, false);
      auto finish = [queue, &c, done](const Error* error, Tuple tuple) {
        for (std::size_t i = 0; i < tuple.size(); ++i) c.set_output(static_cast<int>(i), std::move(tuple[i]));
        done(error);
      };
      if (take_ == Take::kOne) {
        queue->dequeue(caller_of(c), finish);
      } else {
        queue->dequeue_many(caller_of(c), n, take_ == Take::kUpTo, finish);
      }
    });
  }

 private:
  Take take_;
};

class CloseKernel final : public WaitingKernel {
 public:
  explicit CloseKernel(PrepareContext& c) : cancel_(c.attr<bool>("cancel_pending_enqueues")) {}
  void run_async(RunContext& c, Done done) const override {
    internal::start_wait(done, [&] {
      const auto queue = internal::resource_of<QueueResource>(c);
      queue->close(c.step().cancellation, cancel_, [queue, done](const Error* error) { done(error); });
    });
  }

 private:
  bool cancel_;
};

// TensorFlow has the attribute and no timeouts.
void check_timeout(const PrepareContext& c) {
  if (c.attr<std::int64_t>("timeout_ms") != -1) {
    throw invalid_argument("Timeout not supported yet.").hint("Give the run a timeout instead.");
  }
}

template <bool many>
std::unique_ptr<Kernel> prepare_enqueue(PrepareContext& c) {
  check_timeout(c);
  return std::make_unique<EnqueueKernel>(many);
}
template <Take take>
std::unique_ptr<Kernel> prepare_dequeue(PrepareContext& c) {
  check_timeout(c);
  return std::make_unique<DequeueKernel>(take);
}
template <class K>
std::unique_ptr<Kernel> prepare(PrepareContext& c) {
  return std::make_unique<K>(c);
}

void run_size(RunContext& c) {
  const std::int64_t size = internal::resource_of<QueueResource>(c)->size();
  c.allocate_output(0, {}).data<std::int32_t>()[0] = static_cast<std::int32_t>(size);
}

void run_is_closed(RunContext& c) {
  const bool closed = internal::resource_of<QueueResource>(c)->is_closed();
  c.allocate_output(0, {}).data<bool>()[0] = closed;
}

// The reference form of a resource handle.
void run_fake_queue(RunContext& c) {
  const internal::ResourceName id = internal::resource_name(c, 0);
  auto reference = std::make_shared<VariableStorage>(id.name, DType::kString, PartialShape{2});
  reference->assign(Tensor(std::vector<std::string>{id.container, id.name}));
  c.set_output_ref(0, std::move(reference));
}

// ---- Registrations

#define CAUDAL_QUEUE_ATTRS "component_types: list(type) >= 1; shapes: list(shape) >= 0 = []; capacity: int = -1; "
#define CAUDAL_NAME_ATTRS "container: string = ''; shared_name: string = ''"

// A kind of queue, with a reference and with a resource as its handle.
#define CAUDAL_REGISTER_QUEUE(op, attributes) \
  CAUDAL_REGISTER_OP({                        \
      .name = op,                             \
      .outputs = "handle: Ref(string)",       \
      .attrs = attributes CAUDAL_NAME_ATTRS,  \
      .stateful = true,                       \
      .shape = reference_handle_shape,        \
      .gradient = not_differentiable,         \
      .cpu = prepare<QueueKernel>,            \
  });                                         \
  CAUDAL_REGISTER_OP({                        \
      .name = op "V2",                        \
      .outputs = "handle: resource",          \
      .attrs = attributes CAUDAL_NAME_ATTRS,  \
      .stateful = true,                       \
      .shape = resource_handle_shape,         \
      .gradient = not_differentiable,         \
      .cpu = prepare<QueueKernel>,            \
  })

CAUDAL_REGISTER_QUEUE("FIFOQueue", CAUDAL_QUEUE_ATTRS);
CAUDAL_REGISTER_QUEUE("PaddingFIFOQueue", CAUDAL_QUEUE_ATTRS);
CAUDAL_REGISTER_QUEUE("RandomShuffleQueue",
                      CAUDAL_QUEUE_ATTRS "min_after_dequeue: int = 0; seed: int = 0; seed2: int = 0; ");
CAUDAL_REGISTER_QUEUE("PriorityQueue",
                      "component_types: list(type) >= 0 = []; shapes: list(shape) >= 0; capacity: int = -1; ");

CAUDAL_REGISTER_OP({
    .name = "FakeQueue",
    .inputs = "resource: resource",
    .outputs = "handle: Ref(string)",
    .stateful = true,
    .shape = reference_handle_shape,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_fake_queue>,
});

// An op on a queue, for both kinds of handle.
#define CAUDAL_REGISTER_QUEUE_USE(op, ins, outs, attributes, reference_shape, resource_shape, prepare_fn) \
  CAUDAL_REGISTER_OP({                                                                                    \
      .name = op,                                                                                         \
      .inputs = "handle: Ref(string)" ins,                                                                \
      .outputs = outs,                                                                                    \
      .attrs = attributes,                                                                                \
      .shape = reference_shape,                                                                           \
      .gradient = not_differentiable,                                                                     \
      .cpu = prepare_fn,                                                                                  \
  });                                                                                                     \
  CAUDAL_REGISTER_OP({                                                                                    \
      .name = op "V2",                                                                                    \
      .inputs = "handle: resource" ins,                                                                   \
      .outputs = outs,                                                                                    \
      .attrs = attributes,                                                                                \
      .stateful = true,                                                                                   \
      .shape = resource_shape,                                                                            \
      .gradient = not_differentiable,                                                                     \
      .cpu = prepare_fn,                                                                                  \
  })

CAUDAL_REGISTER_QUEUE_USE("QueueEnqueue", "; components: Tcomponents", "",
                          "Tcomponents: list(type) >= 1; timeout_ms: int = -1", unknown_shape, unknown_shape,
                          prepare_enqueue<false>);
CAUDAL_REGISTER_QUEUE_USE("QueueEnqueueMany", "; components: Tcomponents", "",
                          "Tcomponents: list(type) >= 1; timeout_ms: int = -1", unknown_shape, unknown_shape,
                          prepare_enqueue<true>);
CAUDAL_REGISTER_QUEUE_USE("QueueDequeue", "", "components: component_types",
                          "component_types: list(type) >= 1; timeout_ms: int = -1", unknown_shape, dequeue_shape,
                          prepare_dequeue<Take::kOne>);
CAUDAL_REGISTER_QUEUE_USE("QueueDequeueMany", "; n: int32", "components: component_types",
                          "component_types: list(type) >= 1; timeout_ms: int = -1", unknown_shape, dequeue_many_shape,
                          prepare_dequeue<Take::kMany>);
CAUDAL_REGISTER_QUEUE_USE("QueueDequeueUpTo", "; n: int32", "components: component_types",
                          "component_types: list(type) >= 1; timeout_ms: int = -1", unknown_shape, dequeue_up_to_shape,
                          prepare_dequeue<Take::kUpTo>);
CAUDAL_REGISTER_QUEUE_USE("QueueClose", "", "", "cancel_pending_enqueues: bool = false", reference_query_shape,
                          no_outputs_shape, prepare<CloseKernel>);
CAUDAL_REGISTER_QUEUE_USE("QueueSize", "", "size: int32", "", reference_query_shape, unchanged_shape,
                          kernel_of<run_size>);
CAUDAL_REGISTER_QUEUE_USE("QueueIsClosed", "", "is_closed: bool", "", scalar_shape, scalar_shape,
                          kernel_of<run_is_closed>);

// ---- The classes

std::string last_part(const std::string& name) { return name.substr(name.rfind('/') + 1); }

// What two shapes have in common.
PartialShape common(const PartialShape& a, const PartialShape& b) {
  if (a.rank() != b.rank() || !a.has_rank()) return PartialShape::unknown();
  std::vector<std::int64_t> dims = a.dims();
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] != b.dims()[i]) dims[i] = -1;
  }
  return PartialShape(std::move(dims));
}

struct QueueNode {
  std::string op, name, shared_name;
  std::source_location where;
};

OpBuilder queue_builder(const QueueNode& node, std::int64_t capacity, const std::vector<DType>& dtypes,
                        const std::vector<PartialShape>& shapes) {
  OpBuilder builder(node.op, {.name = node.name, .where = node.where});
  builder.attr("component_types", dtypes).attr("shapes", shapes).attr("capacity", capacity);
  builder.attr("shared_name", node.shared_name);
  return builder;
}

}  // namespace

QueueBase::QueueBase(const Output& queue_ref, std::vector<DType> dtypes, std::vector<PartialShape> shapes,
                     std::vector<std::string> names) {
  set(queue_ref, std::move(dtypes), std::move(shapes), std::move(names));
}

void QueueBase::set(const Output& queue_ref, std::vector<DType> dtypes, std::vector<PartialShape> shapes,
                    std::vector<std::string> names) {
  if (shapes.empty()) shapes.resize(dtypes.size());
  if (shapes.size() != dtypes.size()) {
    throw invalid_argument("Queue shapes must have the same length as dtypes, received ", shapes.size(), " shapes, ",
                           dtypes.size(), " dtypes");
  }
  if (!names.empty() && names.size() != dtypes.size()) {
    throw invalid_argument("Queue names must have the same length as dtypes, received ", names.size(), " names, ",
                           dtypes.size(), " dtypes");
  }
  ref_ = queue_ref;
  dtypes_ = std::move(dtypes);
  shapes_ = std::move(shapes);
  names_ = std::move(names);
}

std::size_t QueueBase::component(std::string_view name) const {
  const auto found = std::ranges::find(names_, name);
  if (found == names_.end()) throw not_found("queue '", this->name(), "' has no component '", name, "'");
  return static_cast<std::size_t>(found - names_.begin());
}

std::string QueueBase::op(const std::string& name) const { return ref_.dtype() == resource ? name + "V2" : name; }

OpOptions QueueBase::named(const std::string& suffix, const OpOptions& options) const {
  return {.name = options.name.empty() ? last_part(name()) + suffix : options.name, .where = options.where};
}

std::vector<Output> QueueBase::checked(const OperandList& values, bool many) const {
  if (values.size() != dtypes_.size()) {
    throw invalid_argument("a tuple of queue '", name(), "' has ", dtypes_.size(), " components, not ", values.size());
  }
  std::vector<Output> outputs;
  std::int64_t rows = -1;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Output value = values[i].to_output(dtypes_[i], "component_" + std::to_string(i));
    const auto refuse = [&] {
      return invalid_argument("component ", i, " of queue '", name(), "' is ", dtypes_[i], shapes_[i],
                              many ? ", in batches; the value is " : "; the value is ", value.describe());
    };
    if (value.dtype() != dtypes_[i]) throw refuse();
    PartialShape shape = value.shape();
    if (many && shape.has_rank()) {
      if (shape.rank() == 0) throw refuse();
      const std::int64_t size = shape.dim(0);
      if (size >= 0 && rows >= 0 && size != rows) throw refuse();
      rows = std::max(rows, size);
      shape = PartialShape({shape.dims().begin() + 1, shape.dims().end()});
    }
    if (!shape.compatible(shapes_[i])) throw refuse();
    outputs.push_back(value);
  }
  return outputs;
}

Operation QueueBase::enqueue(const OperandList& values, const OpOptions& options) const {
  const LocationScope where(options.where);
  const NameScope scope(named("_enqueue", options).name);
  return OpBuilder(op("QueueEnqueue"), {.name = scope.prefix(), .where = options.where})
      .input(ref_)
      .inputs(checked(values, false))
      .build_operation();
}

Operation QueueBase::enqueue_many(const OperandList& values, const OpOptions& options) const {
  const LocationScope where(options.where);
  const NameScope scope(named("_EnqueueMany", options).name);
  return OpBuilder(op("QueueEnqueueMany"), {.name = scope.prefix(), .where = options.where})
      .input(ref_)
      .inputs(checked(values, true))
      .build_operation();
}

std::vector<Output> QueueBase::with_shapes(Node& node, const std::optional<std::int64_t>& rows) const {
  std::vector<Output> outputs = outputs_of(node);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!shapes_[i].has_rank()) continue;
    std::vector<std::int64_t> dims = shapes_[i].dims();
    if (rows) dims.insert(dims.begin(), *rows);
    outputs[i].set_shape(PartialShape(std::move(dims)));
  }
  return outputs;
}

std::vector<Output> QueueBase::dequeue(const OpOptions& options) const {
  return with_shapes(OpBuilder(op("QueueDequeue"), named("_Dequeue", options))
                         .input(ref_)
                         .attr("component_types", dtypes_)
                         .build_node(),
                     std::nullopt);
}

std::vector<Output> QueueBase::dequeue_many(const Operand& n, const OpOptions& options) const {
  return dequeue_rows("QueueDequeueMany", "_DequeueMany", n, options);
}

std::vector<Output> QueueBase::dequeue_up_to(const Operand& n, const OpOptions& options) const {
  return dequeue_rows("QueueDequeueUpTo", "_DequeueUpTo", n, options);
}

std::vector<Output> QueueBase::dequeue_rows(const std::string& type, const std::string& suffix, const Operand& n,
                                            const OpOptions& options) const {
  const LocationScope where(options.where);
  const NameScope scope(named(suffix, options).name);
  const Output count = n.to_output(int32, "n");
  const Tensor* known = type == "QueueDequeueMany" ? constant_value(count) : nullptr;
  return with_shapes(OpBuilder(op(type), {.name = scope.prefix(), .where = options.where})
                         .input(ref_)
                         .input(count)
                         .attr("component_types", dtypes_)
                         .build_node(),
                     known != nullptr ? scalar_int(*known, "n") : -1);
}

Operation QueueBase::close(bool cancel_pending_enqueues, const OpOptions& options) const {
  return OpBuilder(op("QueueClose"), named("_Close", options))
      .input(ref_)
      .attr("cancel_pending_enqueues", cancel_pending_enqueues)
      .build_operation();
}

Output QueueBase::size(const OpOptions& options) const {
  return OpBuilder(op("QueueSize"), named("_Size", options)).input(ref_).build();
}

Output QueueBase::is_closed(const OpOptions& options) const {
  return OpBuilder(op("QueueIsClosed"), named("_Is_Closed", options)).input(ref_).build();
}

QueueBase QueueBase::from_list(const Operand& index, const std::vector<QueueBase>& queues) {
  const LocationScope where(index.where());
  if (queues.empty()) throw invalid_argument("A list of queues expected");
  const QueueBase& first = queues[0];
  std::vector<PartialShape> shapes = first.shapes_;
  std::vector<Output> refs;
  for (const QueueBase& queue : queues) {
    if (queue.dtypes_ != first.dtypes_) throw invalid_argument("Queues do not have matching component dtypes.");
    if (queue.names_ != first.names_) throw invalid_argument("Queues do not have matching component names.");
    for (std::size_t i = 0; i < shapes.size(); ++i) shapes[i] = common(shapes[i], queue.shapes_[i]);
    refs.push_back(queue.ref_);
  }
  const Output stacked = OpBuilder("Pack", {.name = "stack"}).inputs(refs).build();
  const Output selected =
      OpBuilder("GatherV2", {.name = "GatherV2"}).input(stacked).input(index, int32).input(0).build();
  return QueueBase(selected, first.dtypes_, std::move(shapes), first.names_);
}

FIFOQueue::FIFOQueue(std::int64_t capacity, std::vector<DType> dtypes, const QueueOptions& options) {
  const QueueNode node{"FIFOQueueV2", options.name.empty() ? "fifo_queue" : options.name, options.shared_name,
                       options.where};
  const Output ref = queue_builder(node, capacity, dtypes, options.shapes).build();
  set(ref, std::move(dtypes), options.shapes, options.names);
}

RandomShuffleQueue::RandomShuffleQueue(std::int64_t capacity, std::int64_t min_after_dequeue, std::vector<DType> dtypes,
                                       const RandomShuffleQueueOptions& options) {
  const RandomSeeds seeds = get_seed(default_graph(), options.seed);
  const QueueNode node{"RandomShuffleQueueV2", options.name.empty() ? "random_shuffle_queue" : options.name,
                       options.shared_name, options.where};
  const Output ref = queue_builder(node, capacity, dtypes, options.shapes)
                         .attr("min_after_dequeue", min_after_dequeue)
                         .attr("seed", seeds.seed)
                         .attr("seed2", seeds.seed2)
                         .build();
  set(ref, std::move(dtypes), options.shapes, options.names);
}

PaddingFIFOQueue::PaddingFIFOQueue(std::int64_t capacity, std::vector<DType> dtypes, std::vector<PartialShape> shapes,
                                   const QueueOptions& options) {
  const QueueNode node{"PaddingFIFOQueueV2", options.name.empty() ? "padding_fifo_queue" : options.name,
                       options.shared_name, options.where};
  const Output ref = queue_builder(node, capacity, dtypes, shapes).build();
  set(ref, std::move(dtypes), std::move(shapes), options.names);
}

PriorityQueue::PriorityQueue(std::int64_t capacity, std::vector<DType> dtypes, const QueueOptions& options) {
  const QueueNode node{"PriorityQueueV2", options.name.empty() ? "priority_queue" : options.name, options.shared_name,
                       options.where};
  const Output ref = queue_builder(node, capacity, dtypes, options.shapes).build();
  std::vector<PartialShape> shapes = options.shapes;
  if (!shapes.empty()) shapes.insert(shapes.begin(), PartialShape::scalar());
  dtypes.insert(dtypes.begin(), int64);
  set(ref, std::move(dtypes), std::move(shapes), options.names);
}

}  // namespace caudal::inline v0
