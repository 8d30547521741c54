#include "caudal/ops/accumulator_ops.h"

#include <memory>
#include <utility>

#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/accumulator_resource.h"
#include "caudal/ops/named_resource.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/queue_resource.h"

namespace caudal::inline v0 {
namespace {

using internal::AccumulatorResource;
using internal::DenseAccumulator;
using internal::SparseAccumulator;

// ---- Shape functions

void reference_handle_shape(ShapeContext& c) { c.set_output(0, {2}); }

void scalar_argument_shape(ShapeContext& c) {
  c.with_rank(1, 0);
  unknown_shape(c);
}

// ---- Kernels

// Makes an accumulator of kind A, whose handle is a reference or a resource.
template <class A>
class AccumulatorKernel final : public Kernel {
 public:
  explicit AccumulatorKernel(PrepareContext& c)
      : id_(internal::resource_name(c.node())), handle_(c, id_, "tensorflow::ConditionalAccumulatorBase") {
    spec_.name = id_.name;
    spec_.dtype = c.attr<DType>("dtype");
    spec_.shape = c.attr<PartialShape>("shape");
    spec_.mean = c.attr<std::string>("reduction_type") == "MEAN";
    if (spec_.dtype != float16 && spec_.dtype != float32 && spec_.dtype != float64) {
      throw unimplemented("no accumulator of ", spec_.dtype).hint("Use float16, float32 or float64.");
    }
  }
  void run(RunContext& c) const override {
    c.step().resources->get_or_create<AccumulatorResource>(id_.container, id_.name,
                                                           [this] { return std::make_shared<A>(spec_); });
    handle_.set(c);
  }

 private:
  internal::ResourceName id_;
  AccumulatorResource::Spec spec_;
  internal::HandleOutput handle_;
};

// The accumulator of kind A behind input 0; `dtype`: the node's.
template <class A>
std::shared_ptr<A> accumulator_of(const RunContext& c, DType dtype) {
  auto accumulator = std::dynamic_pointer_cast<A>(internal::resource_of<AccumulatorResource>(c));
  if (accumulator == nullptr) {
    throw invalid_argument("the accumulator is not of the kind that ", c.node().type(), " takes");
  }
  if (accumulator->spec().dtype != dtype) {
    throw invalid_argument("Signature mismatch, have: ", internal::type_word(dtype),
                           " expected: ", internal::type_word(accumulator->spec().dtype), ", the accumulator's type");
  }
  return accumulator;
}

template <class T>
T scalar_input(const RunContext& c, int i) {
  const Tensor& value = c.input(i);
  if (value.rank() != 0) {
    throw invalid_argument("Argument ", c.node().op->def.inputs[i].name, " must be scalar, but had bad shape ",
                           value.shape());
  }
  return value.item<T>();
}

void run_apply(RunContext& c) {
  accumulator_of<DenseAccumulator>(c, c.input(2).dtype())->apply(scalar_input<std::int64_t>(c, 1), c.input(2));
}

void run_sparse_apply(RunContext& c) {
  const Tensor* shape = c.node().attr<bool>("has_known_shape") ? &c.input(4) : nullptr;
  accumulator_of<SparseAccumulator>(c, c.input(3).dtype())
      ->apply(scalar_input<std::int64_t>(c, 1), c.input(2), c.input(3), shape);
}

template <class A>
class TakeKernel final : public WaitingKernel {
 public:
  explicit TakeKernel(PrepareContext& c) : dtype_(c.attr<DType>("dtype")) {}
  void run_async(RunContext& c, Done done) const override {
    internal::start_wait(done, [&] {
      const auto accumulator = accumulator_of<A>(c, dtype_);
      accumulator->take(c.step().cancellation, scalar_input<std::int32_t>(c, 1),
                        [accumulator, &c, done](const Error* error, std::vector<Tensor> result) {
                          for (std::size_t i = 0; i < result.size(); ++i) {
                            c.set_output(static_cast<int>(i), std::move(result[i]));
                          }
                          done(error);
                        });
    });
  }

 private:
  DType dtype_;
};

void run_num_accumulated(RunContext& c) {
  const auto count = internal::resource_of<AccumulatorResource>(c)->num_accumulated();
  c.allocate_output(0, {}).data<std::int32_t>()[0] = static_cast<std::int32_t>(count);
}

void run_set_global_step(RunContext& c) {
  internal::resource_of<AccumulatorResource>(c)->set_global_step(scalar_input<std::int64_t>(c, 1));
}

template <class K>
std::unique_ptr<Kernel> prepare(PrepareContext& c) {
  return std::make_unique<K>(c);
}

// ---- Registrations

#define CAUDAL_ACCUMULATOR_ATTRS                                                        \
  "dtype: numbertype; shape: shape; container: string = ''; shared_name: string = ''; " \
  "reduction_type: {'MEAN', 'SUM'} = 'MEAN'"

#define CAUDAL_REGISTER_ACCUMULATOR(op, handle, shape_fn, kind) \
  CAUDAL_REGISTER_OP({                                          \
      .name = op,                                               \
      .outputs = handle,                                        \
      .attrs = CAUDAL_ACCUMULATOR_ATTRS,                        \
      .stateful = true,                                         \
      .shape = shape_fn,                                        \
      .gradient = not_differentiable,                           \
      .cpu = prepare<AccumulatorKernel<kind>>,                  \
  })
CAUDAL_REGISTER_ACCUMULATOR("ConditionalAccumulator", "handle: Ref(string)", reference_handle_shape, DenseAccumulator);
CAUDAL_REGISTER_ACCUMULATOR("ResourceConditionalAccumulator", "handle: resource", scalar_shape, DenseAccumulator);
CAUDAL_REGISTER_ACCUMULATOR("SparseConditionalAccumulator", "handle: Ref(string)", reference_handle_shape,
                            SparseAccumulator);

#define CAUDAL_REGISTER_ACCUMULATOR_USE(op, handle, is_stateful, ins, outs, attributes, shape_fn, prepare_fn) \
  CAUDAL_REGISTER_OP({                                                                                        \
      .name = op,                                                                                             \
      .inputs = "handle: " handle ins,                                                                        \
      .outputs = outs,                                                                                        \
      .attrs = attributes,                                                                                    \
      .stateful = is_stateful,                                                                                \
      .shape = shape_fn,                                                                                      \
      .gradient = not_differentiable,                                                                         \
      .cpu = prepare_fn,                                                                                      \
  })
// What the reference and the resource form of dense accumulators share.
#define CAUDAL_REGISTER_ACCUMULATOR_USES(prefix, handle, is_stateful)                                                 \
  CAUDAL_REGISTER_ACCUMULATOR_USE(prefix "AccumulatorApplyGradient", handle, is_stateful,                             \
                                  "; local_step: int64; gradient: dtype", "", "dtype: numbertype",                    \
                                  scalar_argument_shape, kernel_of<run_apply>);                                       \
  CAUDAL_REGISTER_ACCUMULATOR_USE(prefix "AccumulatorTakeGradient", handle, is_stateful, "; num_required: int32",     \
                                  "average: dtype", "dtype: numbertype", scalar_argument_shape,                       \
                                  prepare<TakeKernel<DenseAccumulator>>);                                             \
  CAUDAL_REGISTER_ACCUMULATOR_USE(prefix "AccumulatorNumAccumulated", handle, is_stateful, "",                        \
                                  "num_accumulated: int32", "", scalar_shape, kernel_of<run_num_accumulated>);        \
  CAUDAL_REGISTER_ACCUMULATOR_USE(prefix "AccumulatorSetGlobalStep", handle, is_stateful, "; new_global_step: int64", \
                                  "", "", scalar_argument_shape, kernel_of<run_set_global_step>)
CAUDAL_REGISTER_ACCUMULATOR_USES("", "Ref(string)", false);
CAUDAL_REGISTER_ACCUMULATOR_USES("Resource", "resource", true);
CAUDAL_REGISTER_ACCUMULATOR_USE("SparseAccumulatorApplyGradient", "Ref(string)", false,
                                "; local_step: int64; gradient_indices: int64; gradient_values: dtype; "
                                "gradient_shape: int64",
                                "", "dtype: numbertype; has_known_shape: bool", scalar_argument_shape,
                                kernel_of<run_sparse_apply>);
CAUDAL_REGISTER_ACCUMULATOR_USE("SparseAccumulatorTakeGradient", "Ref(string)", false, "; num_required: int32",
                                "indices: int64; values: dtype; shape: int64", "dtype: numbertype",
                                scalar_argument_shape, prepare<TakeKernel<SparseAccumulator>>);

// ---- The classes

Output accumulator(const std::string& op, const std::string& default_name, DType dtype,
                   const AccumulatorOptions& options) {
  return OpBuilder(op, {.name = options.name.empty() ? default_name : options.name, .where = options.where})
      .attr("dtype", dtype)
      .attr("shape", options.shape)
      .attr("shared_name", options.shared_name)
      .attr("reduction_type", options.reduction_type)
      .build();
}

std::string last_part(const std::string& name) { return name.substr(name.rfind('/') + 1); }

Output as_int64(const Operand& operand) {
  const Output value = operand.to_output(int64);
  return value.dtype() == int64 ? value : OpBuilder("Cast", {}).input(value).attr("DstT", int64).build();
}

OpOptions counted(const Output& ref, const OpOptions& options) {
  if (!options.name.empty()) return options;
  return {.name = last_part(ref.node()->name()) + "_NumAccumulated", .where = options.where};
}

}  // namespace

ConditionalAccumulator::ConditionalAccumulator(DType dtype, const AccumulatorOptions& options)
    : ref_(accumulator("ResourceConditionalAccumulator", "conditional_accumulator", dtype, options)),
      dtype_(dtype),
      shape_(options.shape) {}

std::string ConditionalAccumulator::name() const { return last_part(ref_.node()->name()); }

Operation ConditionalAccumulator::apply_grad(const Operand& gradient, const Operand& local_step,
                                             const OpOptions& options) const {
  const LocationScope where(options.where);
  const Output value = gradient.to_output(dtype_);
  if (!value.shape().compatible(shape_)) {
    throw invalid_argument("gradients of accumulator '", name(), "' are ", dtype_, shape_, ", not ", value.describe());
  }
  return OpBuilder("ResourceAccumulatorApplyGradient", options)
      .input(ref_)
      .input(as_int64(local_step))
      .input(value)
      .build_operation();
}

Output ConditionalAccumulator::take_grad(const Operand& num_required, const OpOptions& options) const {
  const LocationScope where(options.where);
  const Output taken = OpBuilder("ResourceAccumulatorTakeGradient", options)
                           .input(ref_)
                           .input(num_required, int32)
                           .attr("dtype", dtype_)
                           .build();
  taken.set_shape(shape_);
  return taken;
}

Output ConditionalAccumulator::num_accumulated(const OpOptions& options) const {
  return OpBuilder("ResourceAccumulatorNumAccumulated", counted(ref_, options)).input(ref_).build();
}

Operation ConditionalAccumulator::set_global_step(const Operand& step, const OpOptions& options) const {
  const LocationScope where(options.where);
  return OpBuilder("ResourceAccumulatorSetGlobalStep", options).input(ref_).input(as_int64(step)).build_operation();
}

SparseConditionalAccumulator::SparseConditionalAccumulator(DType dtype, const AccumulatorOptions& options)
    : ref_(accumulator("SparseConditionalAccumulator", "sparse_conditional_accumulator", dtype, options)),
      dtype_(dtype) {}

std::string SparseConditionalAccumulator::name() const { return last_part(ref_.node()->name()); }

Operation SparseConditionalAccumulator::apply_grad(const Operand& indices, const Operand& values,
                                                   const std::optional<Operand>& shape, const Operand& local_step,
                                                   const OpOptions& options) const {
  const LocationScope where(options.where);
  const Operand none(std::vector<std::int64_t>{});
  return OpBuilder("SparseAccumulatorApplyGradient", options)
      .input(ref_)
      .input(as_int64(local_step))
      .input(as_int64(indices))
      .input(values, dtype_)
      .input(as_int64(shape ? *shape : none))
      .attr("has_known_shape", shape.has_value())
      .build_operation();
}

Operation SparseConditionalAccumulator::apply_indexed_slices_grad(const IndexedSlices& gradient,
                                                                  const Operand& local_step,
                                                                  const OpOptions& options) const {
  std::optional<Operand> shape;
  if (gradient.dense_shape) shape = Operand(gradient.dense_shape);
  return apply_grad(gradient.indices, gradient.values, shape, local_step, options);
}

IndexedSlices SparseConditionalAccumulator::take_indexed_slices_grad(const Operand& num_required,
                                                                     const OpOptions& options) const {
  const LocationScope where(options.where);
  Node& node = OpBuilder("SparseAccumulatorTakeGradient", options)
                   .input(ref_)
                   .input(num_required, int32)
                   .attr("dtype", dtype_)
                   .build_node();
  IndexedSlices slices;
  slices.indices = node.output(0);
  slices.values = node.output(1);
  slices.dense_shape = node.output(2);
  return slices;
}

Output SparseConditionalAccumulator::num_accumulated(const OpOptions& options) const {
  return OpBuilder("AccumulatorNumAccumulated", counted(ref_, options)).input(ref_).build();
}

Operation SparseConditionalAccumulator::set_global_step(const Operand& step, const OpOptions& options) const {
  const LocationScope where(options.where);
  return OpBuilder("AccumulatorSetGlobalStep", options).input(ref_).input(as_int64(step)).build_operation();
}

}  // namespace caudal::inline v0
