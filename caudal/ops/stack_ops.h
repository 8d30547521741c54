// Stacks of tensors that live as long as a step: what the gradient of a loop keeps the loop's values on.
//
//   Output handle = tf::raw_ops::stack_v2(-1, tf::float32);
//   Output pushed = tf::raw_ops::stack_push_v2(handle, x);
//   ... after pushed ...
//   Output popped = tf::raw_ops::stack_pop_v2(handle, tf::float32);
//
// Nothing but control dependencies orders pushes and pops. The ops without V2 are the same with string references as
// handles. Thread safety: as building a graph; a stack locks.
#pragma once

#include <string>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0::raw_ops {

struct StackOptions {
  std::string stack_name;  // in messages; default: the node's name
  std::string name;
  std::source_location where = std::source_location::current();
};
// A new stack in every step. max_size: int32 scalar, negative for no limit. Result: its handle, a resource.
CAUDAL_API Output stack_v2(const Operand& max_size, DType elem_type, const StackOptions& options = {});
// Puts `elem` on top and gives it back. INVALID_ARGUMENT if its type is not the stack's, if the stack is full or
// closed.
CAUDAL_API Output stack_push_v2(const Output& handle, const Operand& elem, const OpOptions& options = {});
// Takes the top off. INVALID_ARGUMENT if the stack is empty or closed.
CAUDAL_API Output stack_pop_v2(const Output& handle, DType elem_type, const OpOptions& options = {});
// Frees the stack; using it afterwards is an error.
CAUDAL_API Operation stack_close_v2(const Output& handle, const OpOptions& options = {});

}  // namespace caudal::inline v0::raw_ops
