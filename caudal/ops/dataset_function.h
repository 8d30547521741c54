// Functions that datasets call for their elements.
//
// The dataset holds a CapturedFunction: the function's name and attributes and the values it captured when the dataset
// was made. An iterator binds it to the session that it runs in and calls it. Thread safety: a BoundFunction may be
// called by several threads at once.
#pragma once

#include <string>
#include <vector>

#include "caudal/core/function_runtime.h"
#include "caudal/ops/dataset.h"
#include "caudal/ops/function_call.h"

namespace caudal::inline v0::ops {

// What a kernel knows of a function when it is prepared. Throws what planning the function throws.
struct PreparedFunction {
  FunctionAttr function;
  bool can_wait = false;
  bool stateful = false;
  std::vector<DType> result_types;
};
// Attribute `attr` of the node.
PreparedFunction prepare_function(PrepareContext& c, std::string_view attr);

struct CapturedFunction {
  PreparedFunction prepared;
  std::vector<Tensor> captures;
};
// With inputs [first, first + count) of the node as captures.
CapturedFunction capture(const RunContext& c, const PreparedFunction& function, int first, int count);
// Inputs of the list argument `argument` as captures.
CapturedFunction capture(const RunContext& c, const PreparedFunction& function, std::string_view argument);

class BoundFunction {
 public:
  // Throws INVALID_ARGUMENT unless it takes `arguments` besides the captures.
  BoundFunction(const Iteration& c, const CapturedFunction& function);
  // The results for `arguments`, which are followed by the captures. Works in this thread, also where it has to wait.
  Element operator()(const Iteration& c, Element arguments) const;

 private:
  FunctionRuntime::Handle handle_;
  NodeStates* states_;  // of the pass
  std::vector<Tensor> captures_;
};

// Calls the function of a map or scan. Where it need not keep the number of elements, OUT_OF_RANGE ends the sequence:
// false. Else that is INVALID_ARGUMENT.
bool call_or_end(const Iteration& c, const BoundFunction& function, Element arguments, bool preserve_cardinality,
                 Element& results);

// The result of a predicate. Throws INVALID_ARGUMENT unless it is a scalar bool.
bool predicate_value(const Element& results);

}  // namespace caudal::inline v0::ops
