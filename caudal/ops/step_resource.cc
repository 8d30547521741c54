#include "caudal/ops/step_resource.h"

#include <atomic>

#include "caudal/core/device.h"
#include "caudal/core/variable_storage.h"

namespace caudal::inline v0 {

std::pair<std::string, std::string> parse_step_handle(const Tensor& handle, std::string_view what) {
  if (handle.num_elements() != 2) {
    throw invalid_argument(what, " must have two elements, but had shape: ", handle.shape());
  }
  const auto parts = handle.flat<std::string>();
  return {parts[0], parts[1]};
}

std::string unique_step_name(const std::string& name) {
  static std::atomic<std::int64_t> next{0};
  return name + "_" + std::to_string(next.fetch_add(1));
}

void internal::set_resource_handle(RunContext& c, const std::string& name, std::shared_ptr<Resource> thing) {
  ResourceHandle handle;
  handle.device = c.step().device->name();
  handle.container = "step";
  handle.name = name;
  handle.owned = std::move(thing);
  c.set_output(0, Tensor::scalar(std::move(handle)));
}

void internal::set_string_handle(RunContext& c, const std::string& container, const std::string& name) {
  const Tensor handle(std::vector<std::string>{container, name});
  if (!c.node().output_refs[0]) return c.set_output(0, handle);
  auto variable = std::make_shared<VariableStorage>(name, DType::kString, PartialShape{2});
  variable->assign(handle);
  c.set_output_ref(0, std::move(variable));
}

}  // namespace caudal::inline v0
