// How kernels call functions of the graph's library (If, While, PartitionedCall) without knowing plans or executors.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "caudal/base/error.h"
#include "caudal/base/export.h"
#include "caudal/core/attr.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0 {

struct StepContext;

// Lives in the session, shared by its steps. Thread-safe.
class CAUDAL_API FunctionRuntime {
 public:
  using Handle = std::int64_t;
  // The error, or null and the results.
  using Done = std::function<void(const Error* error, std::vector<Tensor> results)>;

  static constexpr int kMaxDepth = 1000;  // of nested calls; beyond: RESOURCE_EXHAUSTED

  virtual ~FunctionRuntime();
  // Plans the body for the given attributes and argument shapes; the same arguments give the same handle. Throws
  // NOT_FOUND for an unknown function, INVALID_ARGUMENT for a body that does not fit.
  virtual Handle instantiate(const FunctionAttr& function, const std::vector<PartialShape>& argument_shapes) = 0;
  // Runs with the caller's step: its cancellation, deadline, rendezvous and containers. Never blocks; calls done once.
  virtual void run_async(Handle handle, const StepContext& caller, std::vector<Tensor> arguments, Done done) = 0;
};

}  // namespace caudal::inline v0
