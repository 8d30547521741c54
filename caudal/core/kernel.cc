#include "caudal/core/kernel.h"

#include <algorithm>
#include <utility>

#include "caudal/core/device.h"
#include "caudal/core/node_state.h"
#include "caudal/core/resource_manager.h"
#include "caudal/core/variable_storage.h"

namespace caudal::inline v0 {

Kernel::~Kernel() = default;
Tracer::~Tracer() = default;
TaskQueue::~TaskQueue() = default;
Stream::~Stream() = default;
Device::~Device() = default;

void Kernel::run_async(RunContext& context, Done done) const {
  try {
    run(context);
  } catch (const Error& error) {
    done(&error);
    return;
  }
  done(nullptr);
}

void WaitingKernel::run(RunContext& context) const {
  throw internal_error(context.node().type(), " may wait and was run as if it never did");
}

PrepareContext::PrepareContext(const NodeInfo& node, std::vector<Input> inputs, Device& device, bool deterministic,
                               FunctionRuntime* functions)
    : node_(node), inputs_(std::move(inputs)), device_(device), deterministic_(deterministic), functions_(functions) {}

FunctionRuntime& PrepareContext::functions() const {
  if (functions_ == nullptr) throw not_found("the graph of ", node_.type(), " '", node_.name, "' has no functions");
  return *functions_;
}

RunContext::RunContext(const NodeInfo& node, Frame frame, StepContext* step)
    : node_(&node), frame_(frame), step_(step) {}

ThreadPool& RunContext::pool() const { return step_->device->pool(); }

void RunContext::start() {
  for (std::size_t i = 0; i < frame_.inputs.size(); ++i) {
    if (frame_.inputs[i]->ref == nullptr || node_->input_refs[i]) continue;
    loaded_.resize(frame_.inputs.size());
    loaded_[i] = node_->op->def.allows_uninitialized_input ? frame_.inputs[i]->ref->read_if_initialized()
                                                           : frame_.inputs[i]->ref->read();
  }
}

const Tensor& RunContext::input(int i) const {
  const Value& value = *frame_.inputs[i];
  if (value.ref == nullptr) return value.tensor;
  if (node_->input_refs[i]) throw internal_error("reference input ", i, " was read as a value: use variable()");
  return loaded_[i];
}

std::shared_ptr<VariableStorage> RunContext::variable_ptr(int i) const {
  const Value& value = *frame_.inputs[i];
  if (value.ref != nullptr) return value.ref;
  if (node_->input_types[i] != DType::kResource) {
    throw invalid_argument("input ", i, " is no variable but a value ", value.tensor.describe());
  }
  const ResourceHandle& handle = value.tensor.item<ResourceHandle>();
  if (handle.owned != nullptr) {
    auto variable = std::dynamic_pointer_cast<VariableStorage>(handle.owned);
    if (variable == nullptr) throw invalid_argument(handle.owned->describe(), " is no variable");
    return variable;
  }
  auto variable = step_->resources->find<VariableStorage>(handle.container, handle.name);
  if (variable == nullptr) {
    throw failed_precondition("Attempting to use uninitialized value ", handle.name, ", a variable of container '",
                              handle.container.empty() ? "localhost" : handle.container, "'")
        .hint("Run global_variables_initializer() or restore a checkpoint first.");
  }
  return variable;
}

VariableStorage& RunContext::variable(int i) const { return *variable_ptr(i); }

Tensor RunContext::take_input(int i) const { return input(i).keep(); }

Tensor RunContext::pass_input(int i) {
  Value& value = *frame_.inputs[i];
  const bool dies_here = std::ranges::any_of(frame_.in_place, [i](const auto& pair) { return pair.input == i; });
  if (value.ref == nullptr && dies_here && std::ranges::count(frame_.inputs, &value) == 1) {
    return std::move(value.tensor);
  }
  return input(i);
}

bool RunContext::try_in_place(int i, const Shape& shape) {
  const DType dtype = node_->output_types[i];
  for (const auto& pair : frame_.in_place) {
    if (pair.output != i) continue;
    const Value& value = *frame_.inputs[pair.input];
    if (value.ref != nullptr) continue;
    const Tensor& input = value.tensor;
    if (!input.is_sole_owner() || input.is_lent() || dtype_size(input.dtype()) != dtype_size(dtype) ||
        input.num_elements() != shape.num_elements()) {
      continue;
    }
    frame_.outputs[i].tensor = Tensor(dtype, shape, input.buffer(), input.byte_offset());
    return true;
  }
  return false;
}

Tensor& RunContext::allocate_output(int i, const Shape& shape) {
  Tensor& output = frame_.outputs[i].tensor;
  const DType dtype = node_->output_types[i];
  if (!frame_.planned.empty()) {
    const PlannedOutput& planned = frame_.planned[i];
    if (planned.memory && planned.shape == shape) {
      output = Tensor(dtype, shape, planned.memory);
      return output;
    }
  }
  if (!try_in_place(i, shape)) output = Tensor(dtype, shape, step_->device->allocator());
  return output;
}

void RunContext::set_output(int i, Tensor tensor) {
  if (tensor.dtype() != node_->output_types[i]) {
    throw internal_error("output ", i, " is ", tensor.describe(), "; its type is ", node_->output_types[i]);
  }
  const bool may_share =
      !tensor.is_lent() || std::ranges::any_of(frame_.aliases, [i](const auto& pair) { return pair.output == i; });
  frame_.outputs[i].tensor = may_share ? std::move(tensor) : tensor.clone(step_->device->allocator());
}

void RunContext::set_output_ref(int i, std::shared_ptr<VariableStorage> variable) {
  frame_.outputs[i].ref = std::move(variable);
}

Tensor RunContext::allocate_temporary(DType dtype, const Shape& shape) const {
  return Tensor(dtype, shape, step_->device->allocator());
}

NodeState& RunContext::node_state() const { return step_->states->get(*node_); }

}  // namespace caudal::inline v0
