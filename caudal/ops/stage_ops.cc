#include "caudal/ops/stage_ops.h"

#include <deque>
#include <memory>
#include <utility>

#include "caudal/core/device.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/resource_manager.h"
#include "caudal/core/shape_context.h"
#include "caudal/core/step_context.h"
#include "caudal/core/waiting_room.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/named_resource.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/staging.h"

namespace caudal::inline v0 {
namespace {

using Tuple = std::vector<Tensor>;

// ---- The resource

class StagingBuffer final : public Resource, public WaitingRoom {
 public:
  explicit StagingBuffer(const NodeInfo& node)
      : WaitingRoom(2, Order::kAny), name_(internal::area_name(node)), room_(node) {}

  std::string describe() const override { return "staging area '" + name_ + "'"; }

  void put(CancellationToken* token, Tuple tuple, Done done) {
    const std::int64_t bytes = internal::bytes_of(tuple);
    room_.check(bytes);
    const auto attempt = [this, tuple = std::move(tuple), bytes]() mutable {
      if (!room_.has_memory(bytes) || !room_.has_place(std::ssize(tuples_))) return Outcome::kWait;
      room_.add(bytes);
      tuples_.push_back(std::move(tuple));
      return Outcome::kDone;
    };
    wait(0, {.attempt = attempt,
             .done = std::move(done),
             .cancellation = token,
             .cancelled = "Stage operation was cancelled"});
  }

  using TupleDone = std::function<void(const Error* error, Tuple tuple)>;
  void get(CancellationToken* token, TupleDone done) {
    const auto taken = std::make_shared<Tuple>();
    const auto attempt = [this, taken] {
      if (tuples_.empty()) return Outcome::kWait;
      *taken = std::move(tuples_.front());
      tuples_.pop_front();
      room_.remove(internal::bytes_of(*taken));
      return Outcome::kDone;
    };
    await(token, attempt, taken, std::move(done), "Unstage operation was cancelled");
  }
  void peek(CancellationToken* token, std::int64_t index, TupleDone done) {
    const auto seen = std::make_shared<Tuple>();
    const auto attempt = [this, seen, index] {
      if (index >= std::ssize(tuples_)) return Outcome::kWait;
      *seen = tuples_[index];
      return Outcome::kDone;
    };
    await(token, attempt, seen, std::move(done), "StagePeek operation was cancelled");
  }
  std::int64_t size() const {
    return look([this] { return std::ssize(tuples_); });
  }
  void clear() {
    change([this] {
      tuples_.clear();
      room_.clear();
    });
  }

 private:
  template <class Attempt>
  void await(CancellationToken* token, const Attempt& attempt, const std::shared_ptr<Tuple>& result, TupleDone done,
             std::string cancelled_text) {
    wait(1, {.attempt = attempt,
             .done = [result, done = std::move(done)](const Error* error) { done(error, std::move(*result)); },
             .cancellation = token,
             .cancelled = std::move(cancelled_text)});
  }

  const std::string name_;
  internal::StagingRoom room_;
  std::deque<Tuple> tuples_;
};

// ---- Kernels

std::shared_ptr<StagingBuffer> buffer_of(const RunContext& c) {
  const NodeInfo& node = c.node();
  return c.step().resources->get_or_create<StagingBuffer>(node.attr<std::string>("container"),
                                                          internal::area_name(node),
                                                          [&] { return std::make_shared<StagingBuffer>(node); });
}

class StageKernel final : public WaitingKernel {
 public:
  void run_async(RunContext& c, Done done) const override {
    internal::start_wait(done, [&] {
      const auto buffer = buffer_of(c);
      Tuple tuple;
      for (int i = 0; i < c.num_inputs(); ++i) tuple.push_back(c.take_input(i));
      buffer->put(c.step().cancellation, std::move(tuple), [buffer, done](const Error* error) { done(error); });
    });
  }
};

// Unstage and StagePeek.
class UnstageKernel final : public WaitingKernel {
 public:
  void run_async(RunContext& c, Done done) const override {
    internal::start_wait(done, [&] {
      const auto buffer = buffer_of(c);
      const auto finish = [buffer, &c, done](const Error* error, Tuple tuple) { deliver(c, done, error, tuple); };
      if (c.num_inputs() == 0) return buffer->get(c.step().cancellation, finish);
      if (c.input(0).rank() != 0) throw invalid_argument("index must be scalar");
      const std::int64_t index = scalar_int(c.input(0), "index");
      if (index < 0) throw invalid_argument("index is ", index, " < 0");
      buffer->peek(c.step().cancellation, index, finish);
    });
  }

 private:
  static void deliver(RunContext& c, const Done& done, const Error* error, Tuple& tuple) {
    if (error != nullptr) return done(error);
    bool fits = std::ssize(tuple) == c.num_outputs();
    for (int i = 0; fits && i < c.num_outputs(); ++i) fits = tuple[i].dtype() == c.node().output_types[i];
    if (!fits) {
      const Error mismatch = invalid_argument("Mismatch stage/unstage: ", tuple.size(), " vs. ", c.num_outputs())
                                 .hint("Both nodes name the same types in their attribute 'dtypes'.");
      return done(&mismatch);
    }
    for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, std::move(tuple[i]));
    done(nullptr);
  }
};

template <class K>
std::unique_ptr<Kernel> prepare(PrepareContext&) {
  return std::make_unique<K>();
}

void run_stage_size(RunContext& c) {
  c.allocate_output(0, {}).data<std::int32_t>()[0] = static_cast<std::int32_t>(buffer_of(c)->size());
}
void run_stage_clear(RunContext& c) { buffer_of(c)->clear(); }

// ---- Registrations

#define CAUDAL_STAGE_ATTRS(types)                                      \
  "capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: " types \
  "; container: string = ''; "                                         \
  "shared_name: string = ''"

CAUDAL_REGISTER_OP({
    .name = "Stage",
    .inputs = "values: dtypes",
    .attrs = CAUDAL_STAGE_ATTRS("list(type) >= 1"),
    .stateful = true,
    .shape = unknown_shape,
    .gradient = not_differentiable,
    .cpu = prepare<StageKernel>,
});
CAUDAL_REGISTER_OP({
    .name = "Unstage",
    .outputs = "values: dtypes",
    .attrs = CAUDAL_STAGE_ATTRS("list(type) >= 1"),
    .stateful = true,
    .shape = unknown_shape,
    .gradient = not_differentiable,
    .cpu = prepare<UnstageKernel>,
});
CAUDAL_REGISTER_OP({
    .name = "StagePeek",
    .inputs = "index: int32",
    .outputs = "values: dtypes",
    .attrs = CAUDAL_STAGE_ATTRS("list(type) >= 1"),
    .stateful = true,
    .shape = unknown_shape,
    .gradient = not_differentiable,
    .cpu = prepare<UnstageKernel>,
});
CAUDAL_REGISTER_OP({
    .name = "StageSize",
    .outputs = "size: int32",
    .attrs = CAUDAL_STAGE_ATTRS("list(type)"),
    .stateful = true,
    .shape = scalar_shape,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_stage_size>,
});
CAUDAL_REGISTER_OP({
    .name = "StageClear",
    .attrs = CAUDAL_STAGE_ATTRS("list(type)"),
    .stateful = true,
    .shape = unknown_shape,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_stage_clear>,
});

// ---- The class

OpBuilder stage_builder(const std::string& op, const std::string& area, const std::string& suffix,
                        const std::vector<DType>& dtypes, const StagingAreaOptions& area_options,
                        const OpOptions& options) {
  OpBuilder builder(op, {.name = options.name.empty() ? area + suffix : options.name, .where = options.where});
  builder.attr("dtypes", dtypes).attr("shared_name", area);
  builder.attr("capacity", area_options.capacity).attr("memory_limit", area_options.memory_limit);
  return builder;
}

std::vector<Output> shaped(Node& node, const std::vector<PartialShape>& shapes) {
  std::vector<Output> outputs = outputs_of(node);
  for (std::size_t i = 0; i < shapes.size(); ++i) outputs[i].set_shape(shapes[i]);
  return outputs;
}

std::vector<int> all_of(const std::vector<DType>& dtypes) {
  std::vector<int> indices;
  for (int i = 0; i < std::ssize(dtypes); ++i) indices.push_back(i);
  return indices;
}

}  // namespace

std::vector<Output> internal::staged_values(const std::string& area, const OperandList& values,
                                            const std::vector<int>& indices, const std::vector<DType>& dtypes,
                                            const std::vector<PartialShape>& shapes) {
  if (values.size() != indices.size()) {
    throw invalid_argument("Unexpected number of inputs ", values.size(), " vs ", indices.size(), " of ", area);
  }
  std::vector<Output> outputs;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const int component = indices[i];
    const Output value = values[i].to_output(dtypes[component]);
    const PartialShape shape = shapes.empty() ? PartialShape() : shapes[component];
    if (value.dtype() != dtypes[component] || !value.shape().compatible(shape)) {
      throw invalid_argument("component ", component, " of ", area, " is ", dtypes[component], shape, "; the value is ",
                             value.describe());
    }
    outputs.push_back(value);
  }
  return outputs;
}

StagingArea::StagingArea(std::vector<DType> dtypes, const StagingAreaOptions& options)
    : name_(options.shared_name.empty() ? default_graph().unique_name("StagingArea") : options.shared_name),
      dtypes_(std::move(dtypes)),
      options_(options) {
  if (!options.shapes.empty() && options.shapes.size() != dtypes_.size()) {
    throw invalid_argument("StagingArea shapes must be the same length as dtypes");
  }
}

Operation StagingArea::put(const OperandList& values, const OpOptions& options) const {
  const LocationScope where(options.where);
  const NameScope scope(options.name.empty() ? name_ + "_put" : options.name);
  return stage_builder("Stage", name_, "", dtypes_, options_, {.name = scope.prefix(), .where = options.where})
      .inputs(internal::staged_values(name_, values, all_of(dtypes_), dtypes_, options_.shapes))
      .build_operation();
}

std::vector<Output> StagingArea::get(const OpOptions& options) const {
  return shaped(stage_builder("Unstage", name_, "_get", dtypes_, options_, options).build_node(), options_.shapes);
}

std::vector<Output> StagingArea::peek(const Operand& index, const OpOptions& options) const {
  const LocationScope where(options.where);
  return shaped(stage_builder("StagePeek", name_, "_peek", dtypes_, options_, options).input(index, int32).build_node(),
                options_.shapes);
}

Output StagingArea::size(const OpOptions& options) const {
  return stage_builder("StageSize", name_, "_size", dtypes_, options_, options).build();
}

Operation StagingArea::clear(const OpOptions& options) const {
  return stage_builder("StageClear", name_, "_clear", dtypes_, options_, options).build_operation();
}

}  // namespace caudal::inline v0
