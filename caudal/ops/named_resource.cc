#include "caudal/ops/named_resource.h"

namespace caudal::inline v0::internal {

ResourceName resource_name(const NodeInfo& node) {
  ResourceName id{node.attr<std::string>("container"), node.attr<std::string>("shared_name")};
  if (id.name.empty()) id.name = "_" + node.name;  // no shared name is like this
  return id;
}

ResourceName resource_name(const RunContext& context, int i) {
  if (context.node().input_types[i] == DType::kResource) {
    const Tensor& handle = context.input(i);
    if (handle.num_elements() == 0) throw invalid_argument("input ", i, " holds no handle");
    const auto& id = handle.item<ResourceHandle>();
    return {id.container, id.name};
  }
  const Tensor id = context.variable_ptr(i)->read();
  if (id.dtype() != DType::kString || id.num_elements() != 2) {
    throw invalid_argument("input ", i, " must be a handle, a string vector of container and name, not ",
                           id.describe());
  }
  return {id.data<std::string>()[0], id.data<std::string>()[1]};
}

HandleOutput::HandleOutput(const PrepareContext& context, const ResourceName& id, std::string type_name,
                           std::vector<ResourceHandle::Part> parts) {
  if (context.output_type(0) == DType::kResource) {
    ResourceHandle handle;
    handle.device = context.device().name();
    handle.container = id.container;
    handle.name = id.name;
    handle.type_name = std::move(type_name);
    handle.parts = std::move(parts);
    handle_ = Tensor::scalar(std::move(handle));
  } else {
    reference_ = std::make_shared<VariableStorage>(id.name, DType::kString, PartialShape{2});
    reference_->assign(Tensor(std::vector<std::string>{id.container, id.name}));
  }
}

void HandleOutput::set(RunContext& context) const {
  if (reference_ != nullptr) {
    context.set_output_ref(0, reference_);
  } else {
    context.set_output(0, handle_);
  }
}

}  // namespace caudal::inline v0::internal
