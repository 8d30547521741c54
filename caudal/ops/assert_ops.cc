#include "caudal/ops/assert_ops.h"

#include <algorithm>

#include "caudal/base/error.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/control_flow.h"

namespace caudal::inline v0 {
namespace {

// ---- Shape function

void assert_shape(ShapeContext& c) { c.with_rank(0, 0); }

// ---- Kernel

// "[1. 2. 3. ...]": the first elements of a tensor; a text as it is.
std::string summary_of(const Tensor& value, std::int64_t most) {
  if (value.rank() == 0 && value.dtype() == string) return "[" + value.item<std::string>() + "]";
  const std::int64_t all = value.num_elements();
  const std::int64_t shown = most < 0 ? all : std::min(most, all);
  std::string text = value.reshape({all}).rows(0, shown).to_string();
  if (shown < all && text.ends_with(']')) text.insert(text.size() - 1, shown > 0 ? " ..." : "...");
  return text;
}

void run_assert(RunContext& c) {
  const Tensor& condition = c.input(0);
  if (condition.rank() != 0) throw invalid_argument("the condition must be a scalar, not ", condition.describe());
  if (condition.item<bool>()) return;
  std::string message = "assertion failed:";
  const std::int64_t most = c.node().attr<std::int64_t>("summarize");
  for (int i = 1; i < c.num_inputs(); ++i) message += " " + summary_of(c.input(i), most);
  throw Error(Code::kInvalidArgument, message);
}

// ---- Registration

CAUDAL_REGISTER_OP({
    .name = "Assert",
    .inputs = "condition: bool; data: T",
    .attrs = "T: list(type) >= 1; summarize: int = 3",
    .stateful = true,
    .shape = assert_shape,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_assert>,
});

}  // namespace

// ---- Public function

Operation Assert(const Operand& condition, const std::vector<Operand>& data, const AssertOptions& options) {
  const LocationScope where(options.where);
  std::vector<Output> values;
  for (const Operand& operand : data) values.push_back(operand.to_output());
  const Output good = condition.to_output(boolean);
  const auto build = [&](const std::string& name) {
    return OpBuilder("Assert", {.name = name, .where = options.where})
        .input(good)
        .inputs(values)
        .attr("summarize", options.summarize)
        .build_operation();
  };
  const auto is_light = [](const Output& value) { return value.dtype() == string || value.dtype() == int32; };
  if (std::ranges::all_of(values, is_light)) return build(options.name);
  // What may live on another device is only looked at when the assertion fails.
  const NameScope scope(options.name.empty() ? "Assert" : options.name);
  return cond(
      good, [] { return no_op(); }, [&] { return build("Assert"); }, {.name = "AssertGuard"});
}

}  // namespace caudal::inline v0
