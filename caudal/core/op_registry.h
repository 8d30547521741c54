// The op contract: an op is one registration that names its definition, shape function, gradient and kernel.
//
//   CAUDAL_REGISTER_OP({
//       .name = "Relu",
//       .inputs = "features: T",
//       .outputs = "activations: T",
//       .attrs = "T: realnumbertype",
//       .shape = unchanged_shape,
//       .gradient = relu_gradient,
//       .cpu = prepare_relu,
//   });
//
// Name, shape, gradient and cpu are mandatory; the compiler says so. Where an op has no gradient it says why:
// not_differentiable (gradients stop here silently) or no_gradient (asking for one is an error).
// Registrations only store views of literals: a definition is parsed when the op is first looked up.
// Thread safety: look-ups are safe from any thread; registration happens before main.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/core/op_def.h"

namespace caudal::inline v0 {

class GradientContext;  // autodiff/gradient.h
class Kernel;           // core/kernel.h
class NodeState;        // core/node_state.h
class PrepareContext;   // core/kernel.h
class ShapeContext;     // core/shape_context.h
struct NodeInfo;

using ShapeFn = void (*)(ShapeContext&);
using GradientFn = void (*)(GradientContext&);
using PrepareFn = std::unique_ptr<Kernel> (*)(PrepareContext&);
using StateFn = std::unique_ptr<NodeState> (*)(const NodeInfo&);

// What the executor does itself with a node, because it decides whether and how often others run (TensorFlow's v1
// control flow: "Dynamic Control Flow in TensorFlow", Abadi et al. 2017). Ops of all kinds but kNone, kLoopCond and
// kControlTrigger have no kernel of their own.
enum class ControlFlow {
  kNone,
  kSwitch,         // data, pred -> (false, true): the other output is dead
  kMerge,          // the first live input and its index
  kEnter,          // attrs frame_name, is_constant, parallel_iterations
  kExit,           // the value leaves the frame when it is live
  kNextIteration,  // the value goes to the next iteration when it is live
  kLoopCond,       // marks the condition of a frame
  kControlTrigger  // runs whether its control inputs are dead or not
};

struct OpSpec {
  std::string_view name;
  std::string_view inputs = {};
  std::string_view outputs = {};
  std::string_view attrs = {};
  bool stateful = false;  // never folded, merged with its like or run speculatively
  bool commutative = false;
  bool aggregate = false;
  bool allows_uninitialized_input = false;
  bool reads_only_shapes =
      false;  // the kernel looks at its inputs' shapes, never at their values (Shape, Size, ZerosLike)
  int deprecated_version = 0;
  ShapeFn shape = nullptr;
  GradientFn gradient = nullptr;
  PrepareFn cpu = nullptr;
  ControlFlow control = ControlFlow::kNone;
  StateFn state = nullptr;  // makes the NodeState of ops that have one (core/node_state.h)
};

// Gradient of an op through which none flows: comparisons, shapes, integers.
CAUDAL_API void not_differentiable(GradientContext& context);
// Gradient of an op for which TensorFlow has none: asking for it is NOT_FOUND ("No gradient defined for operation").
CAUDAL_API void no_gradient(GradientContext& context);
// Kernel of an op that a plan resolves and never runs (Placeholder: feed it).
CAUDAL_API std::unique_ptr<Kernel> no_kernel(PrepareContext& context);

// Kernel of the ops that the executor carries out itself (OpSpec::control).
CAUDAL_API std::unique_ptr<Kernel> control_flow_kernel(PrepareContext& context);

struct Op {
  const OpSpec* spec;
  OpDef def;
  const std::string& name() const { return def.name; }
};

// The op, or null if there is none of that name.
CAUDAL_API const Op* find_op(std::string_view name);
// Throws NOT_FOUND with the nearest names.
CAUDAL_API const Op& lookup_op(std::string_view name);
// All names, sorted. Parses nothing.
CAUDAL_API std::vector<std::string_view> registered_ops();

// The kernel of `op` for a device type ("CPU", "GPU"), or null.
CAUDAL_API PrepareFn find_kernel(const Op& op, std::string_view device_type);

namespace internal {

consteval OpSpec checked(OpSpec spec) {
  if (spec.name.empty()) throw "an op needs a name";
  if (spec.shape == nullptr) throw "an op needs a shape function";
  if (spec.gradient == nullptr) throw "an op needs a gradient, not_differentiable or no_gradient";
  if (spec.cpu == nullptr) throw "an op needs a CPU kernel";
  return spec;
}

// A link of the list of all registrations; lives as long as the program.
class CAUDAL_API OpRegistrar {
 public:
  explicit OpRegistrar(const OpSpec& spec);
  const OpSpec& spec;
  const OpRegistrar* next;
};

// A kernel for another device type, kept apart so that a device is an addition (modules/).
class CAUDAL_API KernelRegistrar {
 public:
  KernelRegistrar(std::string_view op, std::string_view device_type, PrepareFn prepare);
  std::string_view op, device_type;
  PrepareFn prepare;
  const KernelRegistrar* next;
};

}  // namespace internal

#define CAUDAL_CONCAT_(a, b) a##b
#define CAUDAL_CONCAT(a, b) CAUDAL_CONCAT_(a, b)
#define CAUDAL_REGISTER_OP_(id, ...)                                                                                  \
  namespace {                                                                                                         \
  constexpr ::caudal::OpSpec CAUDAL_CONCAT(op_spec_, id) = ::caudal::internal::checked(::caudal::OpSpec __VA_ARGS__); \
  const ::caudal::internal::OpRegistrar CAUDAL_CONCAT(op_registrar_, id)(CAUDAL_CONCAT(op_spec_, id));                \
  }                                                                                                                   \
  static_assert(true)
#define CAUDAL_REGISTER_OP(...) CAUDAL_REGISTER_OP_(__COUNTER__, __VA_ARGS__)
#define CAUDAL_REGISTER_KERNEL(op, device_type, prepare)                                                          \
  static const ::caudal::internal::KernelRegistrar CAUDAL_CONCAT(kernel_registrar_, __COUNTER__)(op, device_type, \
                                                                                                 prepare)

}  // namespace caudal::inline v0
