// How kernels call functions: one after another, in the thread where they cannot wait, else without blocking.
//
// A kernel says which calls a run makes (CallSequence); CallingKernel makes them. Internal to ops.
#pragma once

#include <memory>
#include <vector>

#include "caudal/core/function_runtime.h"
#include "caudal/core/kernel.h"

namespace caudal::inline v0::ops {

// A function that a kernel calls, planned when the kernel is prepared.
struct CalledFunction {
  FunctionRuntime::Handle handle = 0;
  bool can_wait = false;
};

// Instantiates `function`. Throws INVALID_ARGUMENT unless it takes and gives these types.
CalledFunction instantiate_call(PrepareContext& context, const FunctionAttr& function,
                                const std::vector<DType>& arguments, const std::vector<DType>& results);

// The calls of one run of a node. Used by one thread at a time.
class CallSequence {
 public:
  using Handle = FunctionRuntime::Handle;
  virtual ~CallSequence();
  // The next call; false if all have been made.
  virtual bool next(Handle& handle, std::vector<Tensor>& arguments) = 0;
  virtual void accept(std::vector<Tensor> results) = 0;
  // Sets the node's outputs.
  virtual void finish() = 0;
};

class CallingKernel : public Kernel {
 public:
  bool can_wait() const override { return can_wait_; }
  void run(RunContext& context) const override;
  void run_async(RunContext& context, Done done) const override;

 protected:
  virtual std::unique_ptr<CallSequence> start(RunContext& context) const = 0;
  // Adds a function that start()'s sequences call.
  FunctionRuntime::Handle add(const CalledFunction& function);

 private:
  bool can_wait_ = false;
};

// Inputs [first, ...) of the node, handed over where nobody else needs them.
std::vector<Tensor> call_arguments(RunContext& context, int first);
// Asks that call_arguments() may hand over inputs [first, ...).
void allow_hand_over(PrepareContext& context, int first);
// Sets all outputs. Throws INVALID_ARGUMENT for a result whose shape contradicts attribute "output_shapes", which plans
// rely on.
void set_call_results(RunContext& context, std::vector<Tensor> results);

// A condition's value: a scalar that is not zero or not empty, any other tensor with elements. Throws INVALID_ARGUMENT
// for types that have no such meaning.
bool to_bool(const Tensor& value);

}  // namespace caudal::inline v0::ops
