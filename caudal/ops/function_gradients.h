// Gradients of calls of functions. Internal to ops and runtime.
//
// The gradient of a call is a function of its own, traced over the body of the called one. What it needs from inside of
// the body (TensorFlow: intermediates) the call gives as further results: the call is extended (Graph::extend) to call
// a body that returns them, so that nothing is computed twice and random numbers are the same in both directions. Of a
// loop those values are kept in lists, one element per iteration, and taken back in reverse.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "caudal/autodiff/gradient.h"
#include "caudal/graph/function_body.h"

namespace caudal::inline v0::ops {

// Gradient functions of PartitionedCall, If, Case, While, and of nodes whose op is a function.
void call_gradient(GradientContext& context);
void if_gradient(GradientContext& context);
void case_gradient(GradientContext& context);
void while_gradient(GradientContext& context);
void named_call_gradient(GradientContext& context);

// (x..., dy...) -> (dx...) for y = function(x): the library's gradient function if one is set for it, else computed
// from the body, which is run again. Results without a gradient are zeros. Throws NOT_FOUND for an unknown function.
FunctionBody symbolic_gradient_body(const FunctionAttr& function, std::shared_ptr<FunctionLibrary> library);

// ---- Shared by the gradients of calls

// A function that a node calls, as a graph that gradients are taken over.
FunctionBody forward_body(Graph& graph, const FunctionAttr& function);

// True if gradients flow through values of this type: numbers, and lists of them (DT_VARIANT).
bool carries_gradient(DType dtype);

// Zeros for the gradient of `x`: of its type, or of the variable's that a handle names.
Output zero_gradient(const Output& x);
// The type of gradients of `x`; kInvalid for a handle of unknown content.
DType gradient_type(const Output& x);

// Gradients of results with respect to arguments, traced into a function.
class BackwardFunction {
 public:
  // For gradients that arrive at results `ys` of `body` (positions).
  BackwardFunction(FunctionBody& body, std::string_view name, const std::vector<int>& ys);

  // By argument: the gradient in the traced graph, or none.
  const std::vector<Output>& gradients() const { return gradients_; }
  // Makes the gradients of arguments `xs` the results; zeros where there is none.
  void return_gradients(const std::vector<int>& xs);
  FunctionBuilder& builder() { return builder_; }
  // What the function needs of the body besides its arguments.
  std::vector<Output> intermediates() const;

 private:
  FunctionBody& body_;
  FunctionBuilder builder_;
  std::vector<Output> gradients_;
};

}  // namespace caudal::inline v0::ops
