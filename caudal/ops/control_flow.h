// Conditions and loops in graphs.
//
//   Output y = cond(less(x, 0), [&] { return x * 0.1; }, [&] { return x; });
//
//   auto out = while_loop([](const Outputs& v) { return less(v[0], 10); },
//                         [&](const Outputs& v) -> Outputs { return {v[0] + 1, v[1] * w}; }, {0, x});
//
//   Output squares = map_fn([](const Output& row) { return row * row; }, rows);
//
// Branches and bodies are functions that build nodes once; what they use from outside is brought in. Only nodes that a
// branch makes are the branch's own: what was made before runs whichever branch is taken.
//
// Two forms of graphs come out, as in TensorFlow: v1 (Switch, Merge, Enter, ...; the default) and v2 (If, While, Case,
// which call functions; enable_control_flow_v2()). Both have gradients; only v2's can be differentiated again through a
// loop. Thread safety: as building a graph.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"
#include "caudal/ops/operand_list.h"

namespace caudal::inline v0 {

using Outputs = std::vector<Output>;

// From now on, in all threads, conditions and loops are built in v2 form, or in v1 form.
CAUDAL_API void enable_control_flow_v2();
CAUDAL_API void disable_control_flow_v2();
CAUDAL_API bool control_flow_v2_enabled();

// What a branch returns: a tensor (or number), several, or an operation that it is run for.
class CAUDAL_API BranchResult {
 public:
  template <class T>
    requires std::is_convertible_v<T, Operand>
  BranchResult(const T& value, std::source_location where = std::source_location::current())  // NOLINT
      : values_{Operand(value, where)}, form_(Form::kOne) {}
  BranchResult(Operation operation) : operation_(operation), form_(Form::kOperation) {}         // NOLINT
  BranchResult(const Outputs& values) : BranchResult(values.begin(), values.end()) {}           // NOLINT
  BranchResult(const std::vector<Operand>& values) : values_(values), form_(Form::kSeveral) {}  // NOLINT

  enum class Form { kOne, kSeveral, kOperation };
  Form form() const { return form_; }
  const std::vector<Operand>& values() const { return values_; }
  const Operation& operation() const { return operation_; }

 private:
  template <class Iterator>
  BranchResult(Iterator begin, Iterator end) : values_(begin, end), form_(Form::kSeveral) {}

  std::vector<Operand> values_;
  Operation operation_;
  Form form_;
};
using BranchFn = std::function<BranchResult()>;

struct CondOptions {
  std::optional<bool> v2;  // the form; default: as enabled
  std::string name = {};
  std::source_location where = std::source_location::current();
};

namespace internal {

// What a call of a branch function type gives back from cond(): as the function returns.
template <class F>
using BranchOutput =
    std::conditional_t<std::is_same_v<std::invoke_result_t<F>, Operation>, Operation,
                       std::conditional_t<std::is_convertible_v<std::invoke_result_t<F>, Outputs>, Outputs, Output>>;

template <class Wanted>
Wanted as_branch_output(const Outputs& results) {
  if constexpr (std::is_same_v<Wanted, Outputs>)
    return results;
  else if constexpr (std::is_same_v<Wanted, Operation>)
    return Operation(results[0]);
  else
    return results[0];
}

CAUDAL_API Outputs cond(const Operand& pred, const BranchFn& true_fn, const BranchFn& false_fn,
                        const CondOptions& options);

}  // namespace internal

// true_fn() if the bool scalar `pred` is true when the graph runs, else false_fn(). Both must return as many tensors,
// of the same types; where shapes differ the result's is unknown. The result has the form of what true_fn returns: one
// tensor, a vector, or an operation. Throws INVALID_ARGUMENT for results that differ.
template <class TrueFn, class FalseFn>
internal::BranchOutput<TrueFn> cond(const Operand& pred, TrueFn&& true_fn, FalseFn&& false_fn,
                                    const CondOptions& options = {}) {
  return internal::as_branch_output<internal::BranchOutput<TrueFn>>(
      internal::cond(pred, BranchFn(true_fn), BranchFn(false_fn), options));
}

struct PredicateAndFn {
  Operand predicate;
  BranchFn fn;
};
struct CaseOptions {
  BranchFn default_fn = nullptr;  // without one, the run fails if no predicate is true
  bool exclusive = false;         // the run fails if two predicates are true
  std::optional<bool> v2;
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// The results of the first function whose predicate is true, else of the default: tf.case.
CAUDAL_API Outputs case_of(const std::vector<PredicateAndFn>& pairs, const CaseOptions& options = {});

struct SwitchCaseOptions {
  BranchFn default_fn = nullptr;  // for all other indices; the last branch without one
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// The results of branches[branch_index] (int32 scalar). Always a Case op with functions, as TensorFlow builds it.
CAUDAL_API Outputs switch_case(const Operand& branch_index, const std::vector<BranchFn>& branches,
                               const SwitchCaseOptions& options = {});

struct WhileOptions {
  std::vector<PartialShape> shape_invariants = {};  // of the variables; default: their first shapes
  int parallel_iterations = 10;                     // so many iterations may be under way at once
  bool back_prop = true;                            // false: gradients stop at the loop
  bool swap_memory = false;                         // kept for the graph's sake; there is nothing to swap to
  std::optional<Operand> maximum_iterations;        // scalar; the loop ends then, whatever the condition says
  std::optional<bool> v2;                           // the form; default: as enabled
  std::string name = {};
  std::source_location where = std::source_location::current();
};
using LoopCondition = std::function<Output(const Outputs&)>;
using LoopBody = std::function<Outputs(const Outputs&)>;

// body, again and again, as long as the condition (bool scalar) of the loop variables holds; returns their last values.
// The body returns as many tensors as there are variables, of their types and shapes; sizes that change must be left
// open in shape_invariants. Throws INVALID_ARGUMENT where that does not hold.
CAUDAL_API Outputs while_loop(const LoopCondition& condition, const LoopBody& body, const OperandList& loop_vars,
                              const WhileOptions& options = {});

// `value`, once `dependencies` have run.
CAUDAL_API Output with_dependencies(const std::vector<Operation>& dependencies, const Output& value,
                                    const OpOptions& options = {});
// All `tensors`, none of which is there before all of them and `control_inputs` are: tf.tuple.
CAUDAL_API Outputs tuple(const Outputs& tensors, const std::vector<Operation>& control_inputs = {},
                         const OpOptions& options = {});

}  // namespace caudal::inline v0
