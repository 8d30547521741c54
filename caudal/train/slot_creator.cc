#include "caudal/train/slot_creator.h"

#include <memory>

#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"

namespace caudal::inline v0::train {

Variable create_slot(const Variable& primary, const Variable::InitialValue& initial, std::string_view name) {
  const NameScope top("");
  const Variable made(initial, {.trainable = false,
                                .collections = {},
                                .name = primary.op_name() + "/" + std::string(name),
                                .use_resource = primary.is_resource()});
  Variable::Parts parts = made.parts();
  if (primary.slice() != nullptr && made.shape().rank() != 0) {
    VariableSlice slice = *primary.slice();
    slice.full_name += made.op_name().substr(primary.op_name().size());
    parts.slice = std::make_shared<VariableSlice>(std::move(slice));
  }
  const Variable slot(parts);
  add_to_collection(graph_keys::kGlobalVariables, slot);
  return slot;
}

Variable create_filled_slot(const Variable& primary, float value, std::string_view name) {
  const auto shape = primary.shape().to_shape();
  if (!shape) {
    throw invalid_argument("no slot '", name, "' for variable '", primary.op_name(),
                           "': its shape is not known: ", primary.shape());
  }
  return create_slot(
      primary,
      [&] {
        const Output dims = constant(Tensor(std::vector<int>(shape->dims().begin(), shape->dims().end())));
        return fill(dims, convert_number(Tensor(value), primary.dtype()), {.name = value == 0 ? "zeros" : "Const"});
      },
      name);
}

}  // namespace caudal::inline v0::train
