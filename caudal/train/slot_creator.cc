#include "caudal/train/slot_creator.h"

#include <memory>

#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/control_flow.h"
#include "caudal/ops/shape_ops.h"

namespace caudal::inline v0::train {

Variable create_slot(const Variable& primary, const Variable::InitialValue& initial, std::string_view name) {
  const NameScope top("");
  const Variable made(initial, {.trainable = false,
                                .collections = {},
                                .validate_shape = primary.shape().to_shape().has_value(),
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

Output initialized_value(const Variable& variable) {
  if (!variable.initial_value()) return variable.read_value();
  return cond(
      variable.is_initialized(), [&] { return variable.read_value(); }, [&] { return variable.initial_value(); });
}

Variable create_filled_slot(const Variable& primary, float value, std::string_view name) {
  const auto dims = [&] {
    const auto known = primary.shape().to_shape();
    if (!known) return shape(initialized_value(primary));
    return constant(Tensor(std::vector<int>(known->dims().begin(), known->dims().end())));
  };
  return create_slot(
      primary,
      [&] {
        return fill(dims(), convert_number(Tensor(value), primary.dtype()), {.name = value == 0 ? "zeros" : "Const"});
      },
      name);
}

}  // namespace caudal::inline v0::train
