// Resources that an op makes and others find again: what queues, barriers, accumulators and readers share.
//
// A node with attributes `container` and `shared_name` names a resource. Those who use it get a handle: a scalar of
// DT_RESOURCE, or, in the older ops, a reference to a string vector [container, name]. Without a shared name the
// resource is the node's own.
// Thread safety: as kernels.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "caudal/core/device.h"
#include "caudal/core/kernel.h"
#include "caudal/core/resource_manager.h"
#include "caudal/core/step_context.h"
#include "caudal/core/variable_storage.h"

namespace caudal::inline v0::internal {

struct ResourceName {
  std::string container, name;
};

// From the node's attributes.
ResourceName resource_name(const NodeInfo& node);
// From input i, in either form. Throws INVALID_ARGUMENT for what is no handle.
ResourceName resource_name(const RunContext& context, int i);

// Gives output 0 of a node its handle, in the form that the op has.
class HandleOutput {
 public:
  // `type_name`: how handles of this kind are labelled; `parts`: for shape inference.
  HandleOutput(const PrepareContext& context, const ResourceName& id, std::string type_name,
               std::vector<ResourceHandle::Part> parts = {});
  void set(RunContext& context) const;

 private:
  Tensor handle_;                               // DT_RESOURCE
  std::shared_ptr<VariableStorage> reference_;  // or a reference
};

// The T behind handle input i. Throws NOT_FOUND if there is none.
template <class T>
std::shared_ptr<T> resource_of(const RunContext& context, int i = 0) {
  if (context.node().input_types[i] == DType::kResource) {
    const auto& owned = context.input(i).item<ResourceHandle>().owned;
    if (auto resource = std::dynamic_pointer_cast<T>(owned)) return resource;
  }
  const ResourceName id = resource_name(context, i);
  return context.step().resources->get<T>(id.container, id.name);
}

// Runs `start`, which begins a wait and passes `done` on; what it throws before ends the node.
template <class Start>
void start_wait(const Kernel::Done& done, const Start& start) {
  try {
    start();
  } catch (const Error& error) {
    done(&error);
  } catch (const std::exception& error) {  // no memory
    const Error failure = resource_exhausted(error.what());
    done(&failure);
  }
}

}  // namespace caudal::inline v0::internal
