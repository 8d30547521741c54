// Ops on variables: VariableV2 with its reference edges, VarHandleOp with its resource handles, and what reads, assigns
// and counts them. Programs use class Variable (variable.h); these functions are what it is made of.
//
// A value that is read stays as it was read: updates copy the memory if somebody still holds it. A read and an update
// in one run that no edge orders may happen in either order, but a read is never half of an update.
#pragma once

#include <string>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0::raw_ops {

struct VariableOpOptions {
  std::string container;    // of the resource manager; default: the session's own
  std::string shared_name;  // name in the container; default: the node's name
  std::string name;
  std::source_location where = std::source_location::current();
};
// A variable and the reference to it. Result: reference to a `dtype` tensor of `shape`.
CAUDAL_API Output variable_v2(const PartialShape& shape, DType dtype, const VariableOpOptions& options = {});
// The handle of a variable. Result: scalar resource.
CAUDAL_API Output var_handle_op(DType dtype, const PartialShape& shape, const VariableOpOptions& options = {});
// The value. FAILED_PRECONDITION if there is none yet. Differentiable.
CAUDAL_API Output read_variable_op(const Output& resource, DType dtype, const OpOptions& options = {});

struct AssignOptions {
  bool validate_shape = true;  // false: the value may change the variable's shape
  bool use_locking = true;     // has no effect: updates always lock
  std::string name;
  std::source_location where = std::source_location::current();
};
// ref = value. `value` has the type and shape of the variable, else INVALID_ARGUMENT. Result: the reference.
CAUDAL_API Output assign(const Output& ref, const Operand& value, const AssignOptions& options = {});
// resource = value. Makes the variable if it does not exist yet.
CAUDAL_API Operation assign_variable_op(const Output& resource, const Operand& value, DType dtype,
                                        const AssignOptions& options = {});

struct UpdateOptions {
  bool use_locking = false;  // has no effect: updates always lock
  std::string name;
  std::source_location where = std::source_location::current();
};
// ref += value, ref -= value; same shape. Result: the reference.
CAUDAL_API Output assign_add(const Output& ref, const Operand& value, const UpdateOptions& options = {});
CAUDAL_API Output assign_sub(const Output& ref, const Operand& value, const UpdateOptions& options = {});
CAUDAL_API Operation assign_add_variable_op(const Output& resource, const Operand& value, DType dtype,
                                            const OpOptions& options = {});
CAUDAL_API Operation assign_sub_variable_op(const Output& resource, const Operand& value, DType dtype,
                                            const OpOptions& options = {});

// Scalar bool: whether there is a value.
CAUDAL_API Output is_variable_initialized(const Output& ref, const OpOptions& options = {});
CAUDAL_API Output var_is_initialized_op(const Output& resource, const OpOptions& options = {});

// The value of an int32 or int64 scalar variable before it is increased by one. OUT_OF_RANGE once it is `limit`.
CAUDAL_API Output count_up_to(const Output& ref, std::int64_t limit, const OpOptions& options = {});
CAUDAL_API Output resource_count_up_to(const Output& resource, std::int64_t limit, DType dtype,
                                       const OpOptions& options = {});

// Shape of the value, a vector of int32 or int64.
CAUDAL_API Output variable_shape(const Output& resource, DType out_type = int32, const OpOptions& options = {});

}  // namespace caudal::inline v0::raw_ops

namespace caudal::inline v0::internal {
// Asks for the node to lie where the variable lies, whatever the device scopes say.
CAUDAL_API OpBuilder& colocate(OpBuilder& builder, const Output& variable);
}  // namespace caudal::inline v0::internal
