// Arguments and results of function bodies as nodes. A plan of a body feeds the arguments and fetches the results.
#include "caudal/base/error.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"

namespace caudal::inline v0 {
namespace {

// ---- Shape functions

// A list attribute of a file, which may be of any kind: null where it is not of this one.
template <class T>
const std::vector<T>* list_attr(const ShapeContext& c, std::string_view name) {
  const AttrValue* value = find_attr(c.node().attrs, name);
  return value == nullptr ? nullptr : value->get_if<std::vector<T>>();
}

void argument_shape(ShapeContext& c) {
  const auto* shapes = list_attr<PartialShape>(c, "_output_shapes");
  c.set_output(0, shapes != nullptr && !shapes->empty() ? shapes->front() : PartialShape::unknown());
  if (c.node().output_types[0] != DType::kResource) return;
  c.set_output(0, Shape());
  const auto* handle_types = list_attr<DType>(c, "_handle_dtypes");
  const auto* handle_shapes = list_attr<PartialShape>(c, "_handle_shapes");
  if (handle_types == nullptr || handle_shapes == nullptr || handle_types->size() != handle_shapes->size()) return;
  HandleData handle;
  for (std::size_t i = 0; i < handle_types->size(); ++i) handle.push_back({(*handle_types)[i], (*handle_shapes)[i]});
  c.set_output_handle(0, std::move(handle));
}

// ---- Kernels

void run_result(RunContext&) {}

}  // namespace

// ---- Registrations

#define CAUDAL_ARGUMENT_OP(op)             \
  CAUDAL_REGISTER_OP({                     \
      .name = op,                          \
      .outputs = "output: T",              \
      .attrs = "T: type; index: int >= 0", \
      .stateful = true,                    \
      .shape = argument_shape,             \
      .gradient = not_differentiable,      \
      .cpu = no_kernel,                    \
  })

#define CAUDAL_RESULT_OP(op)               \
  CAUDAL_REGISTER_OP({                     \
      .name = op,                          \
      .inputs = "input: T",                \
      .attrs = "T: type; index: int >= 0", \
      .stateful = true,                    \
      .shape = no_outputs_shape,           \
      .gradient = not_differentiable,      \
      .cpu = kernel_of<run_result>,        \
  })

CAUDAL_ARGUMENT_OP("_Arg");
CAUDAL_ARGUMENT_OP("_DeviceArg");
CAUDAL_RESULT_OP("_Retval");
CAUDAL_RESULT_OP("_DeviceRetval");

}  // namespace caudal::inline v0
