#include "caudal/ops/state_ops.h"

#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "caudal/base/env.h"
#include "caudal/core/device.h"
#include "caudal/core/kernel.h"
#include "caudal/core/resource_manager.h"
#include "caudal/core/shape_context.h"
#include "caudal/core/variable_storage.h"

namespace caudal::inline v0 {
namespace {

// ---- Shape functions

void declared_shape(ShapeContext& c) { c.set_output(0, c.attr<PartialShape>("shape")); }
void value_of_ref_shape(ShapeContext& c) { c.set_output(0, c.input(0)); }

void one_handle_shape(ShapeContext& c) { c.with_rank(0, 0); }

void session_tensor_shape(ShapeContext& c) {
  c.with_rank(0, 0);
  c.set_output(0, PartialShape::unknown());
}

// ---- Tensors of a session

class SessionTensors final : public Resource {
 public:
  std::string describe() const override { return "tensors of the session"; }

  // "node;7;/device:CPU:0": what TensorFlow's clients take apart again.
  std::string add(const std::string& node, const std::string& device, Tensor tensor) {
    std::lock_guard lock(mutex_);
    std::string handle = node + ";" + std::to_string(next_++) + ";" + device;
    tensors_[handle] = std::move(tensor);
    return handle;
  }
  Tensor get(const std::string& handle) const {
    std::lock_guard lock(mutex_);
    const auto found = tensors_.find(handle);
    if (found == tensors_.end()) throw missing(handle);
    return found->second;
  }
  void remove(const std::string& handle) {
    std::lock_guard lock(mutex_);
    if (tensors_.erase(handle) == 0) throw missing(handle);
  }

 private:
  static Error missing(const std::string& handle) {
    return invalid_argument("The tensor with handle '", handle, "' is not in the session store.");
  }
  mutable std::mutex mutex_;
  std::int64_t next_ = 0;
  std::map<std::string, Tensor> tensors_;
};

std::shared_ptr<SessionTensors> session_tensors(const RunContext& c) {
  return c.step().resources->get_or_create<SessionTensors>("_session_tensors", "",
                                                           [] { return std::make_shared<SessionTensors>(); });
}

void run_get_session_handle(RunContext& c) {
  const std::string device = c.step().device->name();
  std::string name = session_tensors(c)->add(c.node().name, device, c.take_input(0));
  if (c.node().output_types[0] == DType::kString) return c.set_output(0, Tensor(std::move(name)));
  ResourceHandle handle;
  handle.device = device;
  handle.type_name = "TensorHandle";
  handle.name = std::move(name);
  c.set_output(0, Tensor::scalar(std::move(handle)));
}

const std::string& handle_of(const RunContext& c) {
  if (c.input(0).rank() != 0) throw invalid_argument("handle must be scalar");
  return c.input(0).item<std::string>();
}

void run_get_session_tensor(RunContext& c) {
  Tensor tensor = session_tensors(c)->get(handle_of(c));
  if (tensor.dtype() != c.node().output_types[0]) {
    throw invalid_argument("the tensor with handle '", handle_of(c), "' is ", tensor.describe(), "; ",
                           c.node().output_types[0], " is wanted");
  }
  c.set_output(0, std::move(tensor));
}

void run_delete_session_tensor(RunContext& c) { session_tensors(c)->remove(handle_of(c)); }

// ---- Variables of a step

// The temporary variables of a step. A loop has one for each of its turns, all of one node.
class TemporaryVariables final : public Resource {
 public:
  std::string describe() const override { return "temporary variables of the step"; }

  void add(const std::string& name, const std::string& node, std::shared_ptr<VariableStorage> variable) {
    std::lock_guard lock(mutex_);
    Entry& entry = entries_[name];
    if (!entry.variables.empty() && entry.node != node) {
      throw already_exists("this step has a temporary variable '", name, "' already, made by '", entry.node, "'");
    }
    entry.node = node;
    entry.variables.push_back(std::move(variable));
  }
  void remove(const std::string& name, const VariableStorage* variable) {
    std::lock_guard lock(mutex_);
    const auto entry = entries_.find(name);
    const auto is_it = [&](const auto& other) { return other.get() == variable; };
    if (entry == entries_.end() || std::erase_if(entry->second.variables, is_it) == 0) {
      throw not_found("this step has no temporary variable '", name, "'");
    }
  }

 private:
  struct Entry {
    std::string node;
    std::vector<std::shared_ptr<VariableStorage>> variables;
  };
  std::mutex mutex_;
  std::map<std::string, Entry> entries_;
};

TemporaryVariables& temporary_variables(const RunContext& c) {
  return *c.step().step_resources->get_or_create<TemporaryVariables>(
      "", "temporary variables", [] { return std::make_shared<TemporaryVariables>(); });
}

void run_temporary_variable(RunContext& c) {
  const NodeInfo& node = c.node();
  const auto shape = node.attr<PartialShape>("shape").to_shape();
  if (!shape) throw invalid_argument("shape ", node.attr<PartialShape>("shape"), " must be fully known");
  const auto& var_name = node.attr<std::string>("var_name");
  const std::string& name = var_name.empty() ? node.name : var_name;
  auto variable = std::make_shared<VariableStorage>(name, node.attr<DType>("dtype"), *shape);
  variable->assign(Tensor::zeros(variable->dtype(), *shape));
  temporary_variables(c).add(name, node.name, variable);
  c.set_output_ref(0, std::move(variable));
}

void run_destroy_temporary_variable(RunContext& c) {
  const auto& name = c.node().attr<std::string>("var_name");
  if (name.empty()) throw invalid_argument("Missing var_name attribute");
  const auto variable = c.variable_ptr(0);
  Tensor last = variable->read();
  temporary_variables(c).remove(name, variable.get());
  c.set_output(0, std::move(last));
}

// ---- Constants in files

void run_immutable_const(RunContext& c) {
  const NodeInfo& node = c.node();
  const auto shape = node.attr<PartialShape>("shape").to_shape();
  if (!shape) throw invalid_argument("shape ", node.attr<PartialShape>("shape"), " must be fully known");
  if (!is_plain(node.attr<DType>("dtype"))) {
    throw unimplemented("Sorry, ", node.attr<DType>("dtype"), " is not currently supported for ImmutableConst.");
  }
  const auto& path = node.attr<std::string>("memory_region_name");
  const auto file = c.step().env->open_random_access(path);
  const std::uint64_t wanted =
      static_cast<std::uint64_t>(shape->num_elements()) * dtype_size(node.attr<DType>("dtype"));
  if (wanted > file->size()) {
    throw invalid_argument("'", path, "' has ", file->size(), " bytes; a tensor of shape ", *shape, " needs ", wanted);
  }
  read_exactly(*file, 0, c.allocate_output(0, *shape).raw(), wanted);
}

// A variable is copied when it is written while somebody reads it, whatever is asked for here.
void run_disable_copy_on_read(RunContext& c) { c.variable(0); }

}  // namespace

// ---- Registrations

CAUDAL_REGISTER_OP({.name = "GetSessionHandle",
                    .inputs = "value: T",
                    .outputs = "handle: string",
                    .attrs = "T: type",
                    .stateful = true,
                    .shape = scalar_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_get_session_handle>});

CAUDAL_REGISTER_OP({.name = "GetSessionHandleV2",
                    .inputs = "value: T",
                    .outputs = "handle: resource",
                    .attrs = "T: type",
                    .stateful = true,
                    .shape = scalar_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_get_session_handle>});

CAUDAL_REGISTER_OP({.name = "GetSessionTensor",
                    .inputs = "handle: string",
                    .outputs = "value: dtype",
                    .attrs = "dtype: type",
                    .stateful = true,
                    .shape = session_tensor_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_get_session_tensor>});

CAUDAL_REGISTER_OP({.name = "DeleteSessionTensor",
                    .inputs = "handle: string",
                    .stateful = true,
                    .shape = one_handle_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_delete_session_tensor>});

CAUDAL_REGISTER_OP({.name = "TemporaryVariable",
                    .outputs = "ref: Ref(dtype)",
                    .attrs = "shape: shape; dtype: type; var_name: string = ''",
                    .stateful = true,
                    .shape = declared_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_temporary_variable>});

CAUDAL_REGISTER_OP({.name = "DestroyTemporaryVariable",
                    .inputs = "ref: Ref(T)",
                    .outputs = "value: T",
                    .attrs = "T: type; var_name: string",
                    .shape = value_of_ref_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_destroy_temporary_variable>});

CAUDAL_REGISTER_OP({.name = "ImmutableConst",
                    .outputs = "tensor: dtype",
                    .attrs = "dtype: type; shape: shape; memory_region_name: string",
                    .shape = declared_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_immutable_const>});

CAUDAL_REGISTER_OP({.name = "DisableCopyOnRead",
                    .inputs = "resource: resource",
                    .stateful = true,
                    .shape = one_handle_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_disable_copy_on_read>});

// ---- Public functions

Output get_session_handle(const Operand& value, const OpOptions& options) {
  return OpBuilder("GetSessionHandle", options).input(value).build();
}

Output get_session_tensor(const Operand& handle, DType dtype, const OpOptions& options) {
  return OpBuilder("GetSessionTensor", options).input(handle).attr("dtype", dtype).build();
}

Operation delete_session_tensor(const Operand& handle, const OpOptions& options) {
  return OpBuilder("DeleteSessionTensor", options).input(handle).build_operation();
}

namespace raw_ops {

Output temporary_variable(const PartialShape& shape, DType dtype, const TemporaryVariableOptions& options) {
  OpBuilder builder("TemporaryVariable", {.name = options.name, .where = options.where});
  return builder.attr("shape", shape).attr("dtype", dtype).attr("var_name", options.var_name).build();
}

Output destroy_temporary_variable(const Output& ref, const std::string& var_name, const OpOptions& options) {
  return OpBuilder("DestroyTemporaryVariable", options).input(ref).attr("var_name", var_name).build();
}

Output immutable_const(DType dtype, const PartialShape& shape, const std::string& memory_region_name,
                       const OpOptions& options) {
  OpBuilder builder("ImmutableConst", options);
  return builder.attr("dtype", dtype).attr("shape", shape).attr("memory_region_name", memory_region_name).build();
}

}  // namespace raw_ops
}  // namespace caudal::inline v0
