// Calls of functions as nodes: PartitionedCall and its kin, If, Case, While, For, as TensorFlow's version 2 control
// flow makes them. cond() and while_loop() of control_flow.h are what programs use; these build one node from traced
// functions (graph/function_body.h).
//
// Functions run in the caller's step. Errors carry the code of the node that failed in the body and name the function.
#pragma once

#include <vector>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"
#include "caudal/graph/function_body.h"

namespace caudal::inline v0 {

// f(arguments..., captures...): a StatefulPartitionedCall if the function has stateful nodes, else a PartitionedCall.
// Throws INVALID_ARGUMENT if types or number do not fit. Differentiable.
CAUDAL_API std::vector<Output> call_function(const TracedFunction& function, const std::vector<Output>& arguments,
                                             const OpOptions& options = {});

namespace raw_ops {

// cond ? then_branch(inputs) : else_branch(inputs). cond: scalar (true if not zero or not empty), or any other shape
// (true if it has elements). Both branches give the same types; output_shapes are facts for what follows. Both
// functions must take `inputs` and nothing else: their captures are not added. Stateless nodes where both branches are.
CAUDAL_API std::vector<Output> if_else(const Operand& cond, const std::vector<Output>& inputs,
                                       const TracedFunction& then_branch, const TracedFunction& else_branch,
                                       const OpOptions& options = {});
// branches[branch_index](inputs); the last one for an index out of range. branch_index: int32 scalar.
CAUDAL_API std::vector<Output> switch_case(const Operand& branch_index, const std::vector<Output>& inputs,
                                           const std::vector<TracedFunction>& branches, const OpOptions& options = {});

struct WhileOptions {
  int parallel_iterations = 10;
  std::string name;
  std::source_location where = std::source_location::current();
};
// While cond(values) holds: values = body(values). Gives the last values.
CAUDAL_API std::vector<Output> while_do(const std::vector<Output>& inputs, const TracedFunction& cond,
                                        const TracedFunction& body, const WhileOptions& options = {});

// A value of `dtype` that is never read: what a branch gives where only the others have something.
CAUDAL_API Output fake_param(DType dtype, const PartialShape& shape, const OpOptions& options = {});
// Whether a tensor counts as true: a scalar that is not zero or not empty, any other with elements.
CAUDAL_API Output to_bool(const Operand& input, const OpOptions& options = {});

}  // namespace raw_ops
}  // namespace caudal::inline v0
