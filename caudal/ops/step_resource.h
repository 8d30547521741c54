// Things that live as long as a step (stacks, tensor arrays), and how a kernel finds the one behind its handle.
//
// A resource handle carries its thing along. The older ops' handles are string vectors [container, name]; their things
// lie in the step's own container under the name "container" + "name".
// Thread safety: all functions.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "caudal/core/kernel.h"
#include "caudal/core/resource_manager.h"
#include "caudal/core/variable_storage.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0 {

// "_stacks" + "name_7" of a string handle. Throws INVALID_ARGUMENT, naming it `what`, unless it has two elements.
std::pair<std::string, std::string> parse_step_handle(const Tensor& handle, std::string_view what);

// "forward_7": `name` with a number that no other call gets.
std::string unique_step_name(const std::string& name);

// The T behind handle input i. Throws NOT_FOUND if the step has no such thing, INVALID_ARGUMENT if it is something
// else. `what` names the handle in messages: "Stack handle".
template <class T>
std::shared_ptr<T> step_resource(const RunContext& c, int i, std::string_view what) {
  const Tensor input = c.node().input_refs[i] ? c.variable(i).read() : c.input(i);
  const ResourceManager& step = *c.step().step_resources;
  if (input.dtype() != DType::kResource) {
    const auto [container, name] = parse_step_handle(input, what);
    return step.get<T>("", container + name);
  }
  const auto& handle = input.item<ResourceHandle>();
  if (handle.owned == nullptr) return step.get<T>("", handle.name);
  auto found = std::dynamic_pointer_cast<T>(handle.owned);
  if (found == nullptr) throw invalid_argument(what, " is the handle of something else: ", handle.owned->describe());
  return found;
}

// Puts the handle of `thing`, called `container` + `name`, into output 0: a resource handle, a string vector or a
// reference to one, as the op wants. A string handle makes the thing known to the step by that name.
template <class T>
void set_step_handle(RunContext& c, const std::string& container, const std::string& name,
                     const std::shared_ptr<T>& thing);

namespace internal {
void set_resource_handle(RunContext& c, const std::string& name, std::shared_ptr<Resource> thing);
void set_string_handle(RunContext& c, const std::string& container, const std::string& name);
}  // namespace internal

template <class T>
void set_step_handle(RunContext& c, const std::string& container, const std::string& name,
                     const std::shared_ptr<T>& thing) {
  if (c.node().output_types[0] == DType::kResource) {
    internal::set_resource_handle(c, container + name, thing);
  } else {
    c.step().step_resources->get_or_create<T>("", container + name, [&] { return thing; });
    internal::set_string_handle(c, container, name);
  }
}

}  // namespace caudal::inline v0
