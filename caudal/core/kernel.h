// The kernel contract.
//
// prepare(PrepareContext&) is called once per node and plan (again when a plan is specialised for static shapes) and
// returns a Kernel. Kernel::run is const and re-entrant: many runs share one kernel; whatever differs per run lies in
// the RunContext, whatever lasts lies in variables, resources and NodeState. A plain kernel must not wait. One that can
// wait overrides run_async: it never blocks, listens to the step's cancellation token and calls done exactly once.
//
//   class SoftplusKernel : public Kernel {
//    public:
//     void run(RunContext& c) const override {
//       const Tensor& x = c.input(0);
//       softplus(x.flat<float>(), c.allocate_output(0, x.shape()).flat<float>(), c.pool());
//     }
//   };
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "caudal/base/error.h"
#include "caudal/base/export.h"
#include "caudal/core/node_info.h"
#include "caudal/core/step_context.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0 {

class FunctionRuntime;
class NodeState;
class RunContext;
class ThreadPool;
class VariableStorage;

class CAUDAL_API Kernel {
 public:
  using Done = std::function<void(const Error* error)>;

  virtual ~Kernel();
  virtual void run(RunContext& context) const = 0;
  // True if run_async must be used: the kernel may wait for something.
  virtual bool can_wait() const { return false; }
  // The context stays valid until done was called.
  virtual void run_async(RunContext& context, Done done) const;
};

// Base of kernels that may wait: queues, receives, calls of functions that wait. They implement run_async alone.
class CAUDAL_API WaitingKernel : public Kernel {
 public:
  bool can_wait() const override { return true; }
  // INTERNAL: the executor always takes run_async.
  void run(RunContext& context) const final;
  void run_async(RunContext& context, Done done) const override = 0;
};

// A kernel without state of its own: PrepareFn from a function. `.cpu = kernel_of<run_relu>`
template <void (*run_fn)(RunContext&)>
std::unique_ptr<Kernel> kernel_of(PrepareContext&) {
  class FunctionKernel final : public Kernel {
    void run(RunContext& context) const override { run_fn(context); }
  };
  return std::make_unique<FunctionKernel>();
}

// What a kernel knows and says before it runs. Filled by plan/; a kernel only calls it.
class CAUDAL_API PrepareContext {
 public:
  struct Input {
    PartialShape shape;                // as far as it is known in this plan
    const Tensor* constant = nullptr;  // the value, if it never changes
  };
  struct Pair {
    int input;
    int output;
  };

  // `functions` may be null: then the node's graph has none.
  PrepareContext(const NodeInfo& node, std::vector<Input> inputs, Device& device, bool deterministic,
                 FunctionRuntime* functions = nullptr);

  const NodeInfo& node() const { return node_; }
  template <class T>
  const T& attr(std::string_view name) const {
    return node_.attr<T>(name);
  }
  int num_inputs() const { return node_.num_inputs(); }
  int num_outputs() const { return node_.num_outputs(); }
  DType input_type(int i) const { return node_.input_types[i]; }
  DType output_type(int i) const { return node_.output_types[i]; }
  const PartialShape& input_shape(int i) const { return inputs_[i].shape; }
  // Null unless the value is known now and for good.
  const Tensor* constant_input(int i) const { return inputs_[i].constant; }
  Device& device() const { return device_; }
  // For kernels that call functions: instantiate here, run in the kernel. Throws NOT_FOUND without a library.
  FunctionRuntime& functions() const;
  // True if results may not depend on the number of threads even where that costs speed.
  bool deterministic() const { return deterministic_; }

  // `output` may be written over the memory of `input` (same byte size; the kernel reads element i before it writes
  // it).
  void allow_in_place(int input, int output) { in_place_.push_back({input, output}); }
  // `output` is `input` seen under another shape: it shares the memory (Reshape, Identity).
  void alias(int input, int output) { aliases_.push_back({input, output}); }
  // RunContext::scratch() will have so many bytes, aligned for any type.
  void set_scratch_bytes(std::size_t bytes) { scratch_bytes_ = bytes; }

  const std::vector<Pair>& in_place() const { return in_place_; }
  const std::vector<Pair>& aliases() const { return aliases_; }
  std::size_t scratch_bytes() const { return scratch_bytes_; }

 private:
  const NodeInfo& node_;
  std::vector<Input> inputs_;
  Device& device_;
  bool deterministic_;
  FunctionRuntime* functions_;
  std::vector<Pair> in_place_, aliases_;
  std::size_t scratch_bytes_ = 0;
};

// The value on an edge while a step runs.
struct Value {
  Tensor tensor;                         // invalid: not there yet, dead, or an uninitialised variable
  std::shared_ptr<VariableStorage> ref;  // set on reference edges; the tensor is then read when the consumer starts
  bool dead = false;                     // comes from a branch that was not taken
};

// One node in one run. Made and kept by the executor; used by one thread at a time.
class CAUDAL_API RunContext {
 public:
  // Where an output goes if its shape is the planned one: memory lent by the run's arena.
  struct PlannedOutput {
    Shape shape;
    BufferRef memory;  // none: allocate
  };
  struct Frame {
    std::span<Value* const> inputs;
    std::span<Value> outputs;
    std::span<PlannedOutput> planned;                // empty, or one per output
    std::span<const PrepareContext::Pair> in_place;  // pairs that the plan grants: the input dies with this node
    std::span<const PrepareContext::Pair> aliases;   // as declared by the kernel
    std::span<std::byte> scratch;
  };

  RunContext(const NodeInfo& node, Frame frame, StepContext* step);

  const NodeInfo& node() const { return *node_; }
  StepContext& step() const { return *step_; }
  ThreadPool& pool() const;

  int num_inputs() const { return static_cast<int>(frame_.inputs.size()); }
  int num_outputs() const { return static_cast<int>(frame_.outputs.size()); }
  // The value of input i; of a reference, the variable's value when the node started. Throws FAILED_PRECONDITION for an
  // uninitialised variable.
  const Tensor& input(int i) const;
  bool is_ref_input(int i) const { return frame_.inputs[i]->ref != nullptr; }
  // The variable behind a reference input, or behind a DT_RESOURCE handle of input i. Throws NOT_FOUND /
  // FAILED_PRECONDITION / INVALID_ARGUMENT.
  VariableStorage& variable(int i) const;
  std::shared_ptr<VariableStorage> variable_ptr(int i) const;
  // A tensor that may be kept beyond the step: the input itself if nobody else needs or lends its memory, else a copy.
  Tensor take_input(int i) const;
  // The input, to be handed on to a function in this step: given away if the node may overwrite it (allow_in_place), so
  // that the function may, too.
  Tensor pass_input(int i);

  // Memory for output i: from the plan's arena, over an input that dies here, or fresh. Not cleared.
  Tensor& allocate_output(int i, const Shape& shape);
  // Hands over a tensor. Memory lent by the step is copied unless prepare() said alias().
  void set_output(int i, Tensor tensor);
  void set_output_ref(int i, std::shared_ptr<VariableStorage> variable);
  // Output i carries nothing: what depends on it does not run (a receive of what an untaken branch would have sent).
  void set_dead(int i) { frame_.outputs[i].dead = true; }
  const Tensor& output(int i) const { return frame_.outputs[i].tensor; }
  // The scratch bytes asked for at prepare time; contents are arbitrary.
  std::span<std::byte> scratch() const { return frame_.scratch; }
  // Temporary memory whose size only the run knows.
  Tensor allocate_temporary(DType dtype, const Shape& shape) const;

  NodeState& node_state() const;
  template <class T>
  T& state() const {
    return static_cast<T&>(node_state());
  }

  // For the executor: reads reference inputs; forgets what the last run left.
  void start();
  void finish() { loaded_.clear(); }
  void set_step(StepContext* step) { step_ = step; }
  const Frame& frame() const { return frame_; }

 private:
  bool try_in_place(int i, const Shape& shape);

  const NodeInfo* node_;
  Frame frame_;
  StepContext* step_;
  std::vector<Tensor> loaded_;  // values of reference inputs, read at start()
};

}  // namespace caudal::inline v0
