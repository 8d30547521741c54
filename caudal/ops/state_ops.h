// State that is neither variable nor queue: tensors that a session keeps under a handle, variables of one step,
// constants that lie in a file.
//
// Thread safety: as building a graph.
#pragma once

#include <string>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0 {

// A string that names `value` in the session until it is deleted; feed it where get_session_tensor wants a handle.
CAUDAL_API Output get_session_handle(const Operand& value, const OpOptions& options = {});
// The tensor behind a handle. INVALID_ARGUMENT, when run, if the session has none of that name or it is no `dtype`.
CAUDAL_API Output get_session_tensor(const Operand& handle, DType dtype, const OpOptions& options = {});
CAUDAL_API Operation delete_session_tensor(const Operand& handle, const OpOptions& options = {});

namespace raw_ops {

struct TemporaryVariableOptions {
  std::string var_name;  // default: the node's name
  std::string name;
  std::source_location where = std::source_location::current();
};
// A reference to a tensor that lives until destroy_temporary_variable of the same var_name, at most as long as the
// step. ALREADY_EXISTS, when run, if the step has one of that name.
CAUDAL_API Output temporary_variable(const PartialShape& shape, DType dtype,
                                     const TemporaryVariableOptions& options = {});
// Its last value. NOT_FOUND if there is no such variable.
CAUDAL_API Output destroy_temporary_variable(const Output& ref, const std::string& var_name,
                                             const OpOptions& options = {});

// The bytes of a file as a tensor of a plain type. NOT_FOUND without the file, INVALID_ARGUMENT if it is too short.
CAUDAL_API Output immutable_const(DType dtype, const PartialShape& shape, const std::string& memory_region_name,
                                  const OpOptions& options = {});

}  // namespace raw_ops
}  // namespace caudal::inline v0
