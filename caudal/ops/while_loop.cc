// Loops: while_loop.
#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/control_flow.h"
#include "caudal/ops/control_flow_contexts.h"
#include "caudal/ops/control_flow_v2.h"
#include "caudal/ops/elementwise_binary.h"

namespace caudal::inline v0 {
namespace {

// A loop as it is built: with the counter that maximum_iterations asks for as its first variable.
struct Loop {
  LoopCondition condition;
  LoopBody body;
  Outputs variables;
  std::vector<PartialShape> shapes;
};

Outputs without_first(const Outputs& variables) { return {variables.begin() + 1, variables.end()}; }

void add_counter(Loop& loop, const Output& maximum) {
  const Output start = constant(Tensor::zeros(maximum.dtype(), Shape{}), {.name = "iteration_counter"});
  loop.variables.insert(loop.variables.begin(), start);
  loop.shapes.insert(loop.shapes.begin(), PartialShape::scalar());
  loop.condition = [maximum, condition = std::move(loop.condition)](const Outputs& variables) {
    const Output below = less(variables[0], maximum);
    return logical_and(below, condition(without_first(variables)));
  };
  loop.body = [body = std::move(loop.body)](const Outputs& variables) {
    Outputs results = {add(variables[0], 1)};
    for (const Output& result : body(without_first(variables))) results.push_back(result);
    return results;
  };
}

std::vector<PartialShape> shapes_of(const Outputs& variables, const std::vector<PartialShape>& invariants) {
  if (!invariants.empty() && invariants.size() != variables.size()) {
    throw invalid_argument("while_loop(): ", invariants.size(), " shape invariants for ", variables.size(),
                           " loop variables");
  }
  if (!invariants.empty()) return invariants;
  std::vector<PartialShape> shapes;
  for (const Output& variable : variables) shapes.push_back(variable.shape());
  return shapes;
}

Outputs while_v1(const Loop& loop, const LoopSettings& settings) {
  Graph& graph = loop.variables[0].graph();
  auto& context = graph.own(std::make_unique<WhileContext>(graph, "while_context", settings));
  Outputs exits = context.build(loop.condition, loop.body, loop.variables, loop.shapes);
  if (context.outer() == nullptr) add_to_context_collection(context);
  return exits;
}

}  // namespace

Outputs while_loop(const LoopCondition& condition, const LoopBody& body, const OperandList& loop_vars,
                   const WhileOptions& options) {
  const LocationScope where(options.where);
  try {
    if (loop_vars.size() == 0) throw invalid_argument("while_loop() without loop variables");
    const NameScope scope(options.name.empty() ? "while" : options.name);
    LoopSettings settings{.maximum_iterations = {},
                          .parallel_iterations = options.parallel_iterations,
                          .back_prop = options.back_prop,
                          .swap_memory = options.swap_memory};
    if (options.maximum_iterations) {
      settings.maximum_iterations = options.maximum_iterations->to_output(DType::kInvalid, "maximum_iterations");
    }
    Loop loop{.condition = condition, .body = body, .variables = {}, .shapes = {}};
    for (const Operand& variable : loop_vars) loop.variables.push_back(variable.to_output());
    loop.shapes = shapes_of(loop.variables, options.shape_invariants);
    if (settings.maximum_iterations) {
      const PartialShape& shape = settings.maximum_iterations.shape();
      if (shape.has_rank() && shape.rank() != 0) {
        throw invalid_argument("maximum_iterations must be a scalar, not ", settings.maximum_iterations.describe());
      }
      add_counter(loop, settings.maximum_iterations);
    }
    const bool v2 = options.v2.value_or(control_flow_v2_enabled()) || default_graph().capture();
    const Outputs exits =
        v2 ? internal::while_v2(loop.condition, loop.body, loop.variables, loop.shapes, options.parallel_iterations)
           : while_v1(loop, settings);
    return settings.maximum_iterations ? without_first(exits) : exits;
  } catch (const Error& error) {
    throw error.made_at(short_location(options.where));
  }
}

}  // namespace caudal::inline v0
