// The functions of one session: instantiated once, planned and run like graphs.
#pragma once

#include <memory>

#include "caudal/base/export.h"
#include "caudal/core/function_runtime.h"
#include "caudal/graph/function.h"
#include "caudal/plan/program.h"

namespace caudal::inline v0 {

class Device;
class NodeStates;

// Calls of functions of `library` on `device`. States of a function's nodes are kept in a child of `states`, one per
// instantiation. A function that is added to the library later is seen at its first call.
// Thread-safe; `device` and `states` must outlive the runtime.
CAUDAL_API std::unique_ptr<FunctionRuntime> make_function_runtime(std::shared_ptr<FunctionLibrary> library,
                                                                  Device& device, const PlanOptions& options,
                                                                  NodeStates& states);

}  // namespace caudal::inline v0
