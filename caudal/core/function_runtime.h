// How kernels call functions of the graph's library (If, While, PartitionedCall) without knowing plans or executors.
//
//   class CallKernel : prepare(): handle_ = context.functions().instantiate(context.attr<FunctionAttr>("f"));
//                      can_wait(): functions.signature(handle_).can_wait
//                      run():      results = step().functions->run(handle_, step(), arguments)
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "caudal/base/error.h"
#include "caudal/base/export.h"
#include "caudal/core/attr.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0 {

class NodeStates;
struct StepContext;

// Lives in the session, shared by its steps. Thread-safe.
class CAUDAL_API FunctionRuntime {
 public:
  using Handle = std::int64_t;
  // The error, or null and the results.
  using Done = std::function<void(const Error* error, std::vector<Tensor> results)>;

  struct Signature {
    std::string name;
    std::vector<DType> argument_types, result_types;
    std::vector<PartialShape> result_shapes;
    bool can_wait = false;  // holds a node that may wait, also through calls; true while a recursion is being planned
    bool stateful = false;
  };

  // What calls functions outside of steps, in threads of its own (iterators over datasets), and so must end before the
  // runtime does. functions_end() may be called once and must not return while a call is in progress.
  class CAUDAL_API User {
   public:
    virtual ~User();
    virtual void functions_end() noexcept = 0;
  };

  static constexpr int kMaxDepth = 1000;  // of nested calls; beyond: RESOURCE_EXHAUSTED

  virtual ~FunctionRuntime();
  // Plans the body for the given attributes; the same function and attributes give the same handle, also from within
  // the planning of that very body (recursion). Throws NOT_FOUND for an unknown function, INVALID_ARGUMENT for a body
  // that does not fit.
  virtual Handle instantiate(const FunctionAttr& function) = 0;
  // Valid as long as the runtime.
  virtual const Signature& signature(Handle handle) const = 0;
  // Runs in this thread with the caller's step: its cancellation, deadline, rendezvous and containers; states of the
  // body's nodes are the instantiation's. Throws what the body throws. REQUIRES: the signature cannot wait.
  virtual std::vector<Tensor> run(Handle handle, const StepContext& caller, std::vector<Tensor> arguments) = 0;
  // The same with states of the body's own nodes kept in `states`: of an iterator, which begins anew with each pass.
  virtual std::vector<Tensor> run(Handle handle, const StepContext& caller, NodeStates& states,
                                  std::vector<Tensor> arguments) = 0;
  // The same for any function. Never blocks; calls done once, maybe before it returns. `caller` must live until then.
  virtual void run_async(Handle handle, const StepContext& caller, std::vector<Tensor> arguments, Done done) = 0;

  // `user` is told when the runtime ends, if it still lives then.
  void add_user(std::weak_ptr<User> user);

 protected:
  // Implementations call it at the start of their destructor.
  void end_users();

 private:
  std::mutex users_mutex_;
  std::vector<std::weak_ptr<User>> users_;
};

}  // namespace caudal::inline v0
