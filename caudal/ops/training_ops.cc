#include "caudal/ops/training_ops.h"

#include <algorithm>
#include <array>
#include <complex>
#include <memory>

#include "caudal/base/thread_pool.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/core/variable_storage.h"
#include "caudal/graph/scope.h"
#include "caudal/kernels/sgd.h"
#include "caudal/ops/variable_ops.h"

namespace caudal::inline v0 {
namespace {

// The arguments of an update: first the variables (var and its slots), then scalars, the gradient and perhaps indices.
struct Arguments {
  explicit Arguments(const NodeInfo& node) {
    const auto& inputs = node.op->def.inputs;
    for (int i = 0; i < static_cast<int>(inputs.size()); ++i) {
      if (inputs[i].is_ref || inputs[i].type == resource) {
        variables = i + 1;
      } else if (inputs[i].name == "grad" || inputs[i].name == "delta") {
        grad = i;
      } else if (inputs[i].name == "indices") {
        indices = i;
      } else {
        scalars.push_back(i);
      }
    }
  }
  int variables = 0, grad = -1, indices = -1;
  std::vector<int> scalars;  // in the order of the definition
};

// ---- Shape functions

PartialShape variable_shape_of(const ShapeContext& c, int i) {
  if (c.node().input_refs[i]) return c.input(i);
  return c.input_handle(i).empty() ? PartialShape() : c.input_handle(i)[0].shape;
}

void training_shape(ShapeContext& c) {
  const Arguments arguments(c.node());
  PartialShape shape = variable_shape_of(c, 0);
  const auto merge = [&](const PartialShape& other, int i) {
    const auto merged = shape.merge(other);
    if (!merged) {
      throw invalid_argument("shapes differ: ", c.input_name(0), ' ', shape, ", ", c.input_name(i), ' ', c.input(i));
    }
    shape = *merged;
  };
  for (int i = 1; i < arguments.variables; ++i) merge(variable_shape_of(c, i), i);
  for (const int i : arguments.scalars) c.with_rank(i, 0);
  const PartialShape& grad = c.input(arguments.grad);
  if (arguments.indices < 0) {
    merge(grad, arguments.grad);
  } else {
    c.with_rank(arguments.indices, 1);
    if (grad.rank() > 0) merge(grad.with_dim(0, PartialShape::kUnknown), arguments.grad);
  }
  if (c.num_outputs() > 0) c.set_output(0, shape);
}

// ---- Kernels

// One update of n elements. `scalars` in the order of the op's definition; `flag` is use_nesterov or update_slots.
using Step = void (*)(ThreadPool& pool, DType dtype, std::int64_t n, char* const* variables, const char* grad,
                      const kernels::StepScalar* scalars, bool flag);

void gradient_descent(ThreadPool& pool, DType dtype, std::int64_t n, char* const* v, const char* grad,
                      const kernels::StepScalar* s, bool) {
  kernels::apply_gradient_descent(pool, dtype, n, v[0], s[0], grad);
}
void momentum(ThreadPool& pool, DType dtype, std::int64_t n, char* const* v, const char* grad,
              const kernels::StepScalar* s, bool nesterov) {
  kernels::apply_momentum(pool, dtype, n, v[0], v[1], grad, {.rate = s[0], .momentum = s[1], .nesterov = nesterov});
}
void adam(ThreadPool& pool, DType dtype, std::int64_t n, char* const* v, const char* grad, const kernels::StepScalar* s,
          bool nesterov) {
  kernels::apply_adam(pool, dtype, n, v[0], v[1], v[2], grad,
                      {.rate = s[2],
                       .beta1 = s[3],
                       .beta2 = s[4],
                       .epsilon = s[5],
                       .beta1_power = s[0],
                       .beta2_power = s[1],
                       .nesterov = nesterov});
}
kernels::RmsPropStep rmsprop_step(const kernels::StepScalar* s) {
  return {.rate = s[0], .rho = s[1], .momentum = s[2], .epsilon = s[3]};
}
void rmsprop(ThreadPool& pool, DType dtype, std::int64_t n, char* const* v, const char* grad,
             const kernels::StepScalar* s, bool) {
  kernels::apply_rmsprop(pool, dtype, n, v[0], v[1], v[2], grad, rmsprop_step(s));
}
void centered_rmsprop(ThreadPool& pool, DType dtype, std::int64_t n, char* const* v, const char* grad,
                      const kernels::StepScalar* s, bool) {
  kernels::apply_centered_rmsprop(pool, dtype, n, v[0], v[1], v[2], v[3], grad, rmsprop_step(s));
}
void adagrad(ThreadPool& pool, DType dtype, std::int64_t n, char* const* v, const char* grad,
             const kernels::StepScalar* s, bool update_slots) {
  kernels::apply_adagrad(pool, dtype, n, v[0], v[1], grad, {.rate = s[0], .update_slots = update_slots});
}
void adagrad_v2(ThreadPool& pool, DType dtype, std::int64_t n, char* const* v, const char* grad,
                const kernels::StepScalar* s, bool update_slots) {
  kernels::apply_adagrad(pool, dtype, n, v[0], v[1], grad,
                         {.rate = s[0], .epsilon = s[1], .update_slots = update_slots});
}

class TrainingKernel final : public Kernel {
 public:
  static constexpr int kMostVariables = 4;
  static constexpr int kMostScalars = 6;

  TrainingKernel(PrepareContext& c, Step step) : arguments_(c.node()), step_(step) {
    for (const char* name : {"use_nesterov", "update_slots"}) {
      if (const AttrValue* attr = find_attr(c.node().attrs, name)) flag_ = *attr->get_if<bool>();
    }
  }

  void run(RunContext& c) const override {
    std::array<kernels::StepScalar, kMostScalars> scalars{};
    for (std::size_t i = 0; i < arguments_.scalars.size(); ++i) scalars[i] = scalar(c, arguments_.scalars[i]);
    std::array<std::shared_ptr<VariableStorage>, kMostVariables> variables;
    for (int i = 0; i < kMostVariables; ++i) variables[i] = c.variable_ptr(i < arguments_.variables ? i : 0);
    {
      const VariableStorage::Lock lock(
          {variables[0].get(), variables[1].get(), variables[2].get(), variables[3].get()});
      update(c, variables, scalars);
    }
    if (c.num_outputs() > 0) c.set_output_ref(0, variables[0]);
  }

 private:
  using Variables = std::array<std::shared_ptr<VariableStorage>, kMostVariables>;

  static kernels::StepScalar scalar(RunContext& c, int i) {
    const Tensor& value = c.input(i);
    if (value.rank() != 0) {
      throw invalid_argument(c.node().op->def.inputs[i].name, " must be a scalar, not ", value.describe());
    }
    if (value.dtype() == complex64) return kernels::StepScalar(value.item<std::complex<float>>());
    if (value.dtype() == complex128) return value.item<std::complex<double>>();
    return value.to_double();
  }

  void update(RunContext& c, const Variables& variables,
              const std::array<kernels::StepScalar, kMostScalars>& scalars) const {
    const Tensor& grad = c.input(arguments_.grad);
    std::array<char*, kMostVariables> memory{};
    Shape shape;
    // All are there and fit before the first is changed.
    for (int i = 0; i < arguments_.variables; ++i) {
      Tensor& value = variables[i]->mutable_value_locked();
      if (i == 0) shape = value.shape();
      if (value.dtype() != grad.dtype() || value.shape() != shape) {
        throw invalid_argument("variable '", variables[0]->name(), "' has shape ", shape, ", its slot '",
                               variables[i]->name(), "' is ", value.describe(), ", the gradient ", grad.describe());
      }
      memory[i] = value.raw();
    }
    if (arguments_.indices >= 0) {
      update_rows(c, variables[0]->name(), shape, memory, grad, scalars);
      return;
    }
    if (grad.shape() != shape) {
      throw invalid_argument("variable '", variables[0]->name(), "' has shape ", shape, ", the gradient ",
                             grad.shape());
    }
    step_(c.pool(), grad.dtype(), shape.num_elements(), memory.data(), grad.raw(), scalars.data(), flag_);
  }

  void update_rows(RunContext& c, const std::string& name, const Shape& shape,
                   const std::array<char*, kMostVariables>& memory, const Tensor& grad,
                   const std::array<kernels::StepScalar, kMostScalars>& scalars) const {
    const Tensor& indices = c.input(arguments_.indices);
    if (indices.rank() != 1 || shape.rank() == 0 || grad.rank() != shape.rank() || grad.dim(0) != indices.dim(0) ||
        !std::ranges::equal(grad.shape().dims().subspan(1), shape.dims().subspan(1))) {
      throw invalid_argument("variable '", name, "' has shape ", shape, ", the gradient's rows ", grad.shape(),
                             ", their indices ", indices.shape());
    }
    const auto rows = indices.to_int64s();
    for (std::size_t k = 0; k < rows.size(); ++k) {
      if (rows[k] < 0 || rows[k] >= shape[0]) {
        throw invalid_argument("indices[", k, "] is ", rows[k], "; variable '", name, "' has ", shape[0], " rows");
      }
    }
    if (shape.num_elements() == 0) return;
    const std::int64_t n = shape.num_elements() / shape[0];
    const auto row_bytes = static_cast<std::int64_t>(n * dtype_size(grad.dtype()));
    for (std::size_t k = 0; k < rows.size(); ++k) {
      std::array<char*, kMostVariables> row{};
      for (int i = 0; i < arguments_.variables; ++i) row[i] = memory[i] + rows[k] * row_bytes;
      step_(c.pool(), grad.dtype(), n, row.data(), grad.raw() + static_cast<std::int64_t>(k) * row_bytes,
            scalars.data(), flag_);
    }
  }

  Arguments arguments_;
  Step step_;
  bool flag_ = false;
};

template <Step step>
std::unique_ptr<Kernel> prepare_training(PrepareContext& c) {
  const DType dtype = c.attr<DType>("T");
  if (!is_floating(dtype) && !is_complex(dtype)) throw unimplemented("no update of ", dtype, " variables");
  return std::make_unique<TrainingKernel>(c, step);
}

// ---- Registrations

#define CAUDAL_SLOT_REF(name) name ": Ref(T); "
#define CAUDAL_SLOT_RESOURCE(name) name ": resource; "
// The op for references and its twin for resources. SLOTS(kind) lists the variables.
#define CAUDAL_REGISTER_TRAINING(op, SLOTS, rest, more_attrs, step) \
  CAUDAL_REGISTER_OP({                                              \
      .name = op,                                                   \
      .inputs = SLOTS(CAUDAL_SLOT_REF) rest,                        \
      .outputs = "out: Ref(T)",                                     \
      .attrs = "T: numbertype; " more_attrs,                        \
      .shape = training_shape,                                      \
      .gradient = no_gradient,                                      \
      .cpu = prepare_training<step>,                                \
  });                                                               \
  CAUDAL_REGISTER_OP({                                              \
      .name = "Resource" op,                                        \
      .inputs = SLOTS(CAUDAL_SLOT_RESOURCE) rest,                   \
      .attrs = "T: numbertype; " more_attrs,                        \
      .stateful = true,                                             \
      .shape = training_shape,                                      \
      .gradient = no_gradient,                                      \
      .cpu = prepare_training<step>,                                \
  })
#define CAUDAL_LOCKING "use_locking: bool = false"
#define CAUDAL_NESTEROV "use_locking: bool = false; use_nesterov: bool = false"
#define CAUDAL_UPDATE_SLOTS "use_locking: bool = false; update_slots: bool = true"
#define CAUDAL_INDICES "Tindices: {int32, int64}; "

#define CAUDAL_VAR(V) V("var")
#define CAUDAL_VAR_ACCUM(V) V("var") V("accum")
#define CAUDAL_VAR_M_V(V) V("var") V("m") V("v")
#define CAUDAL_VAR_MS_MOM(V) V("var") V("ms") V("mom")
#define CAUDAL_VAR_MG_MS_MOM(V) V("var") V("mg") V("ms") V("mom")

CAUDAL_REGISTER_TRAINING("ApplyGradientDescent", CAUDAL_VAR, "alpha: T; delta: T", CAUDAL_LOCKING, gradient_descent);
CAUDAL_REGISTER_TRAINING("ApplyMomentum", CAUDAL_VAR_ACCUM, "lr: T; grad: T; momentum: T", CAUDAL_NESTEROV, momentum);
CAUDAL_REGISTER_TRAINING("ApplyAdam", CAUDAL_VAR_M_V,
                         "beta1_power: T; beta2_power: T; lr: T; beta1: T; beta2: T; epsilon: T; grad: T",
                         CAUDAL_NESTEROV, adam);
CAUDAL_REGISTER_TRAINING("ApplyRMSProp", CAUDAL_VAR_MS_MOM, "lr: T; rho: T; momentum: T; epsilon: T; grad: T",
                         CAUDAL_LOCKING, rmsprop);
CAUDAL_REGISTER_TRAINING("ApplyCenteredRMSProp", CAUDAL_VAR_MG_MS_MOM,
                         "lr: T; rho: T; momentum: T; epsilon: T; grad: T", CAUDAL_LOCKING, centered_rmsprop);
CAUDAL_REGISTER_TRAINING("ApplyAdagrad", CAUDAL_VAR_ACCUM, "lr: T; grad: T", CAUDAL_UPDATE_SLOTS, adagrad);
CAUDAL_REGISTER_TRAINING("ApplyAdagradV2", CAUDAL_VAR_ACCUM, "lr: T; epsilon: T; grad: T", CAUDAL_UPDATE_SLOTS,
                         adagrad_v2);
CAUDAL_REGISTER_TRAINING("SparseApplyMomentum", CAUDAL_VAR_ACCUM, "lr: T; grad: T; indices: Tindices; momentum: T",
                         CAUDAL_INDICES CAUDAL_NESTEROV, momentum);
CAUDAL_REGISTER_TRAINING("SparseApplyRMSProp", CAUDAL_VAR_MS_MOM,
                         "lr: T; rho: T; momentum: T; epsilon: T; grad: T; indices: Tindices",
                         CAUDAL_INDICES CAUDAL_LOCKING, rmsprop);
CAUDAL_REGISTER_TRAINING("SparseApplyCenteredRMSProp", CAUDAL_VAR_MG_MS_MOM,
                         "lr: T; rho: T; momentum: T; epsilon: T; grad: T; indices: Tindices",
                         CAUDAL_INDICES CAUDAL_LOCKING, centered_rmsprop);
CAUDAL_REGISTER_TRAINING("SparseApplyAdagrad", CAUDAL_VAR_ACCUM, "lr: T; grad: T; indices: Tindices",
                         CAUDAL_INDICES CAUDAL_UPDATE_SLOTS, adagrad);
CAUDAL_REGISTER_TRAINING("SparseApplyAdagradV2", CAUDAL_VAR_ACCUM, "lr: T; epsilon: T; grad: T; indices: Tindices",
                         CAUDAL_INDICES CAUDAL_UPDATE_SLOTS, adagrad_v2);

// ---- Public functions

// The op of an update, of references or of resources, with everything but its attributes of its own.
OpBuilder update_of(const std::string& op, const std::vector<const Variable*>& variables,
                    const std::vector<const Operand*>& operands, const OpOptions& options) {
  const Variable& var = *variables[0];
  OpBuilder builder(var.is_resource() ? "Resource" + op : op, options);
  for (const Variable* variable : variables) builder.input(variable->handle());
  for (const Operand* operand : operands) builder.input(*operand, var.dtype());
  internal::colocate(builder, var.handle());
  return builder;
}

template <class Options>
OpOptions node_options(const Options& options) {
  return {.name = options.name, .where = options.where};
}

}  // namespace

IndexedSlices sum_duplicates(const IndexedSlices& slices, const std::source_location& where) {
  const LocationScope location(where);
  Node& unique = OpBuilder("Unique", {}).input(slices.indices).build_node();
  const Output count = OpBuilder("Size", {}).input(unique.output(0)).build();
  const Output values =
      OpBuilder("UnsortedSegmentSum", {}).input(slices.values).input(unique.output(1)).input(count).build();
  return {.values = values, .indices = unique.output(0), .dense_shape = slices.dense_shape};
}

namespace raw_ops {

Operation apply_gradient_descent(const Variable& var, const Operand& alpha, const Operand& delta,
                                 const ApplyOptions& options) {
  return update_of("ApplyGradientDescent", {&var}, {&alpha, &delta}, node_options(options))
      .attr("use_locking", options.use_locking)
      .build_operation();
}

Operation apply_momentum(const Variable& var, const Variable& accum, const Operand& lr, const Operand& grad,
                         const Operand& momentum, const ApplyNesterovOptions& options) {
  return update_of("ApplyMomentum", {&var, &accum}, {&lr, &grad, &momentum}, node_options(options))
      .attr("use_locking", options.use_locking)
      .attr("use_nesterov", options.use_nesterov)
      .build_operation();
}

Operation apply_adam(const Variable& var, const Variable& m, const Variable& v, const Operand& beta1_power,
                     const Operand& beta2_power, const Operand& lr, const Operand& beta1, const Operand& beta2,
                     const Operand& epsilon, const Operand& grad, const ApplyNesterovOptions& options) {
  return update_of("ApplyAdam", {&var, &m, &v}, {&beta1_power, &beta2_power, &lr, &beta1, &beta2, &epsilon, &grad},
                   node_options(options))
      .attr("use_locking", options.use_locking)
      .attr("use_nesterov", options.use_nesterov)
      .build_operation();
}

Operation apply_rmsprop(const Variable& var, const Variable& ms, const Variable& mom, const Operand& lr,
                        const Operand& rho, const Operand& momentum, const Operand& epsilon, const Operand& grad,
                        const ApplyOptions& options) {
  return update_of("ApplyRMSProp", {&var, &ms, &mom}, {&lr, &rho, &momentum, &epsilon, &grad}, node_options(options))
      .attr("use_locking", options.use_locking)
      .build_operation();
}

Operation apply_centered_rmsprop(const Variable& var, const Variable& mg, const Variable& ms, const Variable& mom,
                                 const Operand& lr, const Operand& rho, const Operand& momentum, const Operand& epsilon,
                                 const Operand& grad, const ApplyOptions& options) {
  return update_of("ApplyCenteredRMSProp", {&var, &mg, &ms, &mom}, {&lr, &rho, &momentum, &epsilon, &grad},
                   node_options(options))
      .attr("use_locking", options.use_locking)
      .build_operation();
}

Operation apply_adagrad(const Variable& var, const Variable& accum, const Operand& lr, const Operand& grad,
                        const ApplyAdagradOptions& options) {
  return update_of("ApplyAdagrad", {&var, &accum}, {&lr, &grad}, node_options(options))
      .attr("use_locking", options.use_locking)
      .attr("update_slots", options.update_slots)
      .build_operation();
}

Operation apply_adagrad_v2(const Variable& var, const Variable& accum, const Operand& lr, const Operand& epsilon,
                           const Operand& grad, const ApplyAdagradOptions& options) {
  return update_of("ApplyAdagradV2", {&var, &accum}, {&lr, &epsilon, &grad}, node_options(options))
      .attr("use_locking", options.use_locking)
      .attr("update_slots", options.update_slots)
      .build_operation();
}

Operation sparse_apply_momentum(const Variable& var, const Variable& accum, const Operand& lr, const Operand& grad,
                                const Operand& indices, const Operand& momentum, const ApplyNesterovOptions& options) {
  return update_of("SparseApplyMomentum", {&var, &accum}, {&lr, &grad}, node_options(options))
      .input(indices, int32)
      .input(momentum, var.dtype())
      .attr("use_locking", options.use_locking)
      .attr("use_nesterov", options.use_nesterov)
      .build_operation();
}

Operation sparse_apply_rmsprop(const Variable& var, const Variable& ms, const Variable& mom, const Operand& lr,
                               const Operand& rho, const Operand& momentum, const Operand& epsilon, const Operand& grad,
                               const Operand& indices, const ApplyOptions& options) {
  return update_of("SparseApplyRMSProp", {&var, &ms, &mom}, {&lr, &rho, &momentum, &epsilon, &grad},
                   node_options(options))
      .input(indices, int32)
      .attr("use_locking", options.use_locking)
      .build_operation();
}

Operation sparse_apply_centered_rmsprop(const Variable& var, const Variable& mg, const Variable& ms,
                                        const Variable& mom, const Operand& lr, const Operand& rho,
                                        const Operand& momentum, const Operand& epsilon, const Operand& grad,
                                        const Operand& indices, const ApplyOptions& options) {
  return update_of("SparseApplyCenteredRMSProp", {&var, &mg, &ms, &mom}, {&lr, &rho, &momentum, &epsilon, &grad},
                   node_options(options))
      .input(indices, int32)
      .attr("use_locking", options.use_locking)
      .build_operation();
}

Operation sparse_apply_adagrad(const Variable& var, const Variable& accum, const Operand& lr, const Operand& grad,
                               const Operand& indices, const ApplyAdagradOptions& options) {
  return update_of("SparseApplyAdagrad", {&var, &accum}, {&lr, &grad}, node_options(options))
      .input(indices, int32)
      .attr("use_locking", options.use_locking)
      .attr("update_slots", options.update_slots)
      .build_operation();
}

Operation sparse_apply_adagrad_v2(const Variable& var, const Variable& accum, const Operand& lr, const Operand& epsilon,
                                  const Operand& grad, const Operand& indices, const ApplyAdagradOptions& options) {
  return update_of("SparseApplyAdagradV2", {&var, &accum}, {&lr, &epsilon, &grad}, node_options(options))
      .input(indices, int32)
      .attr("use_locking", options.use_locking)
      .attr("update_slots", options.update_slots)
      .build_operation();
}

}  // namespace raw_ops
}  // namespace caudal::inline v0
