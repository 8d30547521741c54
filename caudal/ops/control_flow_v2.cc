#include "caudal/ops/control_flow_v2.h"

#include <algorithm>
#include <memory>

#include "caudal/base/error.h"
#include "caudal/graph/function_body.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/control_flow_checks.h"
#include "caudal/ops/functional_ops.h"

namespace caudal::inline v0 {
namespace internal {
namespace {

// The graph that a call belongs to: the function that is being traced, or that of its operand.
Graph& graph_around(const Output& operand) { return default_graph().capture() ? default_graph() : operand.graph(); }

Outputs branch_outputs(const BranchResult& result) {
  if (result.form() == BranchResult::Form::kOperation) {
    return {with_dependencies({result.operation()}, constant(true))};
  }
  Outputs outputs;
  for (const Operand& value : result.values()) outputs.push_back(value.to_output());
  return outputs;
}

// Appends those of `more` that are not there yet.
void unite(Outputs& all, const Outputs& more) {
  for (const Output& output : more) {
    if (std::ranges::find(all, output) == all.end()) all.push_back(output);
  }
}

// Branches that take the same inputs: what any of them uses.
struct Branches {
  std::vector<TracedFunction> functions;
  Outputs inputs;
};
Branches traced(Graph& graph, const std::vector<const BranchFn*>& fns, const std::vector<std::string>& names) {
  std::vector<std::unique_ptr<FunctionBuilder>> builders;
  Branches branches;
  for (std::size_t i = 0; i < fns.size(); ++i) {
    builders.push_back(std::make_unique<FunctionBuilder>(graph, names[i]));
    builders[i]->trace([&](const Outputs&) { return branch_outputs((*fns[i])()); });
    check_same_results(builders[0]->results(), builders[i]->results(), names[0], names[i]);
    unite(branches.inputs, builders[i]->captures());
  }
  for (const auto& builder : builders) branches.functions.push_back(builder->finish(&branches.inputs));
  return branches;
}

}  // namespace

Outputs cond_v2(const Output& pred, const BranchFn& true_fn, const BranchFn& false_fn) {
  const Branches branches = traced(graph_around(pred), {&true_fn, &false_fn}, {"cond_true", "cond_false"});
  return raw_ops::if_else(pred, branches.inputs, branches.functions[0], branches.functions[1]);
}

Outputs while_v2(const LoopCondition& condition, const LoopBody& body, const Outputs& variables,
                 const std::vector<PartialShape>& shapes, int parallel_iterations) {
  Graph& graph = graph_around(variables[0]);
  FunctionBuilder cond_builder(graph, "while_cond"), body_builder(graph, "while_body");
  for (std::size_t i = 0; i < variables.size(); ++i) {
    FunctionArgument argument = argument_like(variables[i]);
    argument.shape = shapes[i];
    cond_builder.add_argument(argument);
    body_builder.add_argument(argument);
  }
  cond_builder.trace([&](const Outputs& arguments) { return Outputs{condition(arguments)}; });
  const Output goes_on = cond_builder.results()[0];
  if (goes_on.dtype() != DType::kBool || (goes_on.shape().has_rank() && goes_on.shape().rank() != 0)) {
    throw invalid_argument("the condition of a loop must be a bool scalar, not ", goes_on.describe())
        .hint("Compare, or reduce with reduce_all() or reduce_any().");
  }
  Outputs results = body_builder.trace(body);
  if (results.size() != variables.size()) {
    throw invalid_argument("the body of the loop returns ", results.size(), " tensors for ", variables.size(),
                           " loop variables")
        .hint("Return every variable, in the order of loop_vars, also those that stay as they are.");
  }
  for (std::size_t i = 0; i < variables.size(); ++i) check_loop_variable(variables[i], shapes[i], results[i]);
  // What the loop only reads it carries along.
  Outputs invariants = cond_builder.captures();
  unite(invariants, body_builder.captures());
  for (const Output& invariant : invariants) results.push_back(body_builder.capture(invariant));
  body_builder.set_results(results);
  Outputs inputs = variables;
  inputs.insert(inputs.end(), invariants.begin(), invariants.end());
  Outputs last = raw_ops::while_do(inputs, cond_builder.finish(&invariants), body_builder.finish(&invariants),
                                   {.parallel_iterations = parallel_iterations});
  last.resize(variables.size());
  return last;
}

}  // namespace internal

Outputs switch_case(const Operand& branch_index, const std::vector<BranchFn>& branches,
                    const SwitchCaseOptions& options) {
  const LocationScope where(options.where);
  try {
    if (branches.empty()) throw invalid_argument("switch_case() without branches");
    const NameScope scope(options.name.empty() ? "switch_case" : options.name);
    const Output index = branch_index.to_output(DType::kInt32);
    std::vector<const BranchFn*> fns;
    for (const BranchFn& branch : branches) fns.push_back(&branch);
    if (options.default_fn) fns.push_back(&options.default_fn);
    std::vector<std::string> names;
    for (std::size_t i = 0; i < fns.size(); ++i) names.push_back("switch_case_branch" + std::to_string(i));
    const auto traced = internal::traced(internal::graph_around(index), fns, names);
    return raw_ops::switch_case(index, traced.inputs, traced.functions);
  } catch (const Error& error) {
    throw error.made_at(short_location(options.where));
  }
}

}  // namespace caudal::inline v0
