// What the families of updates share: the kernel around a formula, its shape function, and how the nodes are made.
// Thread safety: kernels are re-entrant; functions that make nodes as building a graph.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "caudal/base/thread_pool.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/kernels/sgd.h"
#include "caudal/kernels/update_rules.h"
#include "caudal/ops/training_ops.h"

namespace caudal::inline v0 {

// One update of n elements. `variables` are var and its slots, `scalars` stand in the order of the op's definition;
// `flag` is use_nesterov, update_slots or multiply_linear_by_lr.
using TrainingStep = void (*)(ThreadPool& pool, DType dtype, std::int64_t n, char* const* variables, const char* grad,
                              const kernels::StepScalar* scalars, bool flag);

// What more there is to an update; a set of bits.
enum TrainingTraits : unsigned {
  kRealOnly = 0,  // no complex variables
  kComplexToo = 1,
  kChecksSigns = 2,   // lr must be positive, l1 and l2 not negative, lr_power not positive
  kNeedsColumns = 4,  // rows without elements are INVALID_ARGUMENT
};

void training_shape(ShapeContext& c);
// Throws UNIMPLEMENTED for types that the update has not.
std::unique_ptr<Kernel> make_training_kernel(PrepareContext& c, TrainingStep step, unsigned traits);

template <TrainingStep step, unsigned traits>
std::unique_ptr<Kernel> prepare_training(PrepareContext& c) {
  return make_training_kernel(c, step, traits);
}

// A step that is one of kernels/update_rules.h.
template <kernels::UpdateRule rule>
void rule_step(ThreadPool& pool, DType dtype, std::int64_t n, char* const* variables, const char* grad,
               const kernels::StepScalar* scalars, bool flag) {
  kernels::apply_update(pool, rule, dtype, n, variables, grad, scalars, flag);
}

// The op of an update, of references or of resources, with its variables and the operands that follow.
OpBuilder update_of(const std::string& op, const std::vector<const Variable*>& variables,
                    const std::vector<const Operand*>& operands, const OpOptions& options);

template <class Options>
OpOptions update_node_options(const Options& options) {
  return {.name = options.name, .where = options.where};
}

#define CAUDAL_SLOT_REF(name) name ": Ref(T); "
#define CAUDAL_SLOT_RESOURCE(name) name ": resource; "
// The op for resources. SLOTS(kind) lists the variables; `...` are step and traits.
#define CAUDAL_REGISTER_RESOURCE_TRAINING(op, SLOTS, rest, more_attrs, ...) \
  CAUDAL_REGISTER_OP({                                                      \
      .name = "Resource" op,                                                \
      .inputs = SLOTS(CAUDAL_SLOT_RESOURCE) rest,                           \
      .attrs = "T: numbertype; " more_attrs,                                \
      .stateful = true,                                                     \
      .shape = training_shape,                                              \
      .gradient = no_gradient,                                              \
      .cpu = prepare_training<__VA_ARGS__>,                                 \
  })
// The same and its twin for references.
#define CAUDAL_REGISTER_TRAINING(op, SLOTS, rest, more_attrs, ...) \
  CAUDAL_REGISTER_OP({                                             \
      .name = op,                                                  \
      .inputs = SLOTS(CAUDAL_SLOT_REF) rest,                       \
      .outputs = "out: Ref(T)",                                    \
      .attrs = "T: numbertype; " more_attrs,                       \
      .shape = training_shape,                                     \
      .gradient = no_gradient,                                     \
      .cpu = prepare_training<__VA_ARGS__>,                        \
  });                                                              \
  CAUDAL_REGISTER_RESOURCE_TRAINING(op, SLOTS, rest, more_attrs, __VA_ARGS__)
#define CAUDAL_LOCKING "use_locking: bool = false"
#define CAUDAL_NESTEROV "use_locking: bool = false; use_nesterov: bool = false"
#define CAUDAL_UPDATE_SLOTS "use_locking: bool = false; update_slots: bool = true"
#define CAUDAL_INDICES "Tindices: {int32, int64}; "

#define CAUDAL_VAR(V) V("var")
#define CAUDAL_VAR_ACCUM(V) V("var") V("accum")
#define CAUDAL_VAR_M_V(V) V("var") V("m") V("v")

}  // namespace caudal::inline v0
