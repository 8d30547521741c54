// Conditions: cond, case_of.
#include <algorithm>
#include <atomic>

#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/assert_ops.h"
#include "caudal/ops/cast.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/control_flow.h"
#include "caudal/ops/control_flow_checks.h"
#include "caudal/ops/control_flow_contexts.h"
#include "caudal/ops/control_flow_v2.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/joining.h"
#include "caudal/ops/reduction.h"

namespace caudal::inline v0 {
namespace {

std::atomic<bool> v2_enabled{false};

struct Branch {
  Outputs results;
  BranchResult::Form form;
};

Branch build_branch(CondContext& context, const BranchFn& fn) {
  const ContextScope inside(&context);
  const BranchResult returned = fn();
  Branch branch{.results = {}, .form = returned.form()};
  if (returned.form() == BranchResult::Form::kOperation) {
    if (!returned.operation()) throw invalid_argument("a branch of cond() returns no operation");
    branch.results = {with_dependencies({returned.operation()}, context.pivot())};
  } else {
    for (const Operand& value : returned.values()) branch.results.push_back(context.branch_result(value.to_output()));
  }
  context.export_results(branch.results);
  return branch;
}

void check_branches(const Branch& if_true, const Branch& if_false) {
  if ((if_true.form == BranchResult::Form::kOperation) != (if_false.form == BranchResult::Form::kOperation)) {
    throw invalid_argument("one branch of cond() returns an operation, the other one tensors");
  }
  internal::check_same_results(if_true.results, if_false.results, "true_fn of cond()", "false_fn");
}

void check_predicate(const Output& pred, std::string_view what) {
  const bool scalar = !pred.shape().has_rank() || pred.shape().rank() == 0;
  if (pred.dtype() == DType::kBool && scalar) return;
  throw invalid_argument(what, " must be a bool scalar, not ", pred.describe())
      .hint("Compare, or reduce with reduce_all() or reduce_any().");
}

Outputs cond_v1(const Output& pred, const BranchFn& true_fn, const BranchFn& false_fn) {
  Graph& graph = pred.graph();
  const auto sides = raw_ops::switch_(pred, pred);
  const Output runs_true = identity(sides.if_true, {.name = "switch_t"});
  const Output runs_false = identity(sides.if_false, {.name = "switch_f"});
  const Output id = identity(pred, {.name = "pred_id"});
  auto& if_true = graph.own(std::make_unique<CondContext>(graph, id, runs_true, 1));
  const Branch when_true = build_branch(if_true, true_fn);
  auto& if_false = graph.own(std::make_unique<CondContext>(graph, id, runs_false, 0));
  const Branch when_false = build_branch(if_false, false_fn);
  check_branches(when_true, when_false);
  Outputs merged;
  for (std::size_t i = 0; i < when_true.results.size(); ++i) {
    merged.push_back(raw_ops::merge({when_false.results[i], when_true.results[i]}).output);
  }
  if (if_true.outer() == nullptr) {
    add_to_context_collection(if_true);
    add_to_context_collection(if_false);
  }
  return merged;
}

// The predicates as a vector under their names, for messages.
struct Predicates {
  Output vector;
  std::string names;
};
Predicates joined(const Outputs& predicates) {
  std::string names;
  for (const Output& predicate : predicates) names += (names.empty() ? "" : ", ") + predicate.name();
  return {stack(predicates, 0, {.name = "preds_c"}), names};
}

Operation assert_at_most(const Outputs& predicates, int n, const std::string& message) {
  const Predicates all = joined(predicates);
  const Output count = reduce_sum(cast(all.vector, DType::kInt32), {.name = "num_true_conds"});
  const Output good = less_equal(count, constant(n, {.name = "n_true_conds"}));
  const std::string text =
      message + ": more than " + std::to_string(n) + " conditions (" + all.names + ") evaluated as True:";
  return Assert(good, {text, all.vector}, {.summarize = static_cast<std::int64_t>(predicates.size())});
}

BranchResult chain(const std::vector<PredicateAndFn>& pairs, const Outputs& predicates, std::size_t i,
                   const BranchFn& otherwise, const CondOptions& options) {
  if (i == predicates.size()) return otherwise();
  BranchResult::Form form = BranchResult::Form::kSeveral;
  const BranchFn chosen = [&] {
    BranchResult result = pairs[i].fn();
    form = result.form();
    return result;
  };
  const Outputs results = internal::cond(
      predicates[i], chosen, [&] { return chain(pairs, predicates, i + 1, otherwise, options); }, options);
  // An outer branch sees an operation where this one does.
  if (form == BranchResult::Form::kOperation) return Operation(results[0]);
  return results;
}

// Without a default the last function is it, and its predicate must hold.
BranchFn last_as_default(const std::vector<PredicateAndFn>& pairs, const Outputs& predicates) {
  return [&pairs, predicates]() -> BranchResult {
    const Outputs others(predicates.begin(), predicates.end() - 1);
    std::vector<Operation> checks;
    if (!others.empty()) {
      checks.push_back(assert_at_most(others, 0,
                                      "Implementation error: selected default action #" +
                                          std::to_string(others.size()) +
                                          " was called, but some of other predicates are True: "));
    }
    checks.push_back(Assert(predicates.back(), {"Input error: None of conditions evaluated as True:",
                                                stack(predicates, 0, {.name = "preds_c"})}));
    const ControlDependencies after(checks);
    return pairs.back().fn();
  };
}

}  // namespace

void enable_control_flow_v2() { v2_enabled = true; }
void disable_control_flow_v2() { v2_enabled = false; }
bool control_flow_v2_enabled() { return v2_enabled; }

Outputs internal::cond(const Operand& pred, const BranchFn& true_fn, const BranchFn& false_fn,
                       const CondOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope(options.name.empty() ? "cond" : options.name);
  const Output predicate = pred.to_output(DType::kBool);
  check_predicate(predicate, "the predicate of cond()");
  const bool v2 = options.v2.value_or(control_flow_v2_enabled()) || default_graph().capture();
  return v2 ? cond_v2(predicate, true_fn, false_fn) : cond_v1(predicate, true_fn, false_fn);
}

Outputs case_of(const std::vector<PredicateAndFn>& pairs, const CaseOptions& options) {
  const LocationScope where(options.where);
  if (pairs.empty() && options.default_fn == nullptr) {
    throw invalid_argument("case_of() without functions").made_at(short_location(options.where));
  }
  const NameScope scope(options.name.empty() ? "case" : options.name);
  Outputs predicates;
  for (const PredicateAndFn& pair : pairs) {
    predicates.push_back(pair.predicate.to_output(DType::kBool));
    check_predicate(predicates.back(), "a predicate of case_of()");
  }
  std::vector<Operation> checks;
  if (options.exclusive && !predicates.empty()) {
    checks.push_back(assert_at_most(predicates, 1, "Input error: exclusive=True"));
  }
  BranchFn otherwise = options.default_fn;
  if (otherwise == nullptr) {
    otherwise = last_as_default(pairs, predicates);
    predicates.pop_back();
  }
  const ControlDependencies after(checks);
  const BranchResult result = chain(pairs, predicates, 0, otherwise, {.v2 = options.v2});
  if (result.form() == BranchResult::Form::kOperation) {
    return {with_dependencies({result.operation()}, constant(true))};
  }
  Outputs outputs;
  for (const Operand& value : result.values()) outputs.push_back(value.to_output());
  return outputs;
}

Output with_dependencies(const std::vector<Operation>& dependencies, const Output& value, const OpOptions& options) {
  const ControlDependencies after(dependencies);
  const std::string name = options.name.empty() ? "control_dependency" : options.name;
  const AttrValue* placed = find_attr(value.node()->info().attrs, "_class");
  return OpBuilder(value.is_ref() ? "RefIdentity" : "Identity", {.name = name, .where = options.where})
      .input(value)
      .attr("_class", placed != nullptr ? *placed : AttrValue(std::vector<std::string>{"loc:@" + value.node()->name()}))
      .build();
}

Outputs tuple(const Outputs& tensors, const std::vector<Operation>& control_inputs, const OpOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope(options.name.empty() ? "tuple" : options.name);
  std::vector<Operation> waited(tensors.begin(), tensors.end());
  waited.insert(waited.end(), control_inputs.begin(), control_inputs.end());
  if (waited.empty()) throw invalid_argument("tuple() of nothing").made_at(short_location(options.where));
  std::ranges::sort(waited, {}, [](const Operation& operation) { return operation.node()->id(); });
  waited.erase(std::unique(waited.begin(), waited.end()), waited.end());
  const Operation gate = group(waited);
  Outputs results;
  for (const Output& tensor : tensors) results.push_back(with_dependencies({gate}, tensor));
  return results;
}

}  // namespace caudal::inline v0
