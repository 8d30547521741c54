#include "caudal/ops/variable_nd.h"

#include <algorithm>
#include <memory>
#include <string>

#include "caudal/autodiff/gradient.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/core/variable_storage.h"
#include "caudal/graph/scope.h"
#include "caudal/kernels/elementwise.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/gather_kernel.h"
#include "caudal/ops/nd_index.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/slice_kernel.h"
#include "caudal/ops/slice_spec.h"
#include "caudal/ops/strided_copy.h"
#include "caudal/ops/variable_ops.h"

namespace caudal::inline v0 {
namespace {

// ---- Shape functions

PartialShape target_shape(ShapeContext& c) {
  if (c.node().input_types[0] != DType::kResource) return c.input(0);
  c.with_rank(0, 0);
  return c.input_handle(0).empty() ? PartialShape() : c.input_handle(0)[0].shape;
}

void scatter_nd_shape(ShapeContext& c) {
  const PartialShape target = target_shape(c);
  const PartialShape indices = c.with_rank_at_least(1, 1), updates = c.input(2);
  if (target.has_rank() && indices.has_rank() && indices[-1] >= 0 && updates.has_rank()) {
    if (indices[-1] > target.rank()) {
      throw invalid_argument("indices ", indices, " name more dimensions than ", target, " has");
    }
    std::vector<std::int64_t> wanted(indices.dims().begin(), indices.dims().end() - 1);
    wanted.insert(wanted.end(), target.dims().begin() + indices[-1], target.dims().end());
    if (!updates.compatible(PartialShape(wanted))) {
      throw invalid_argument("updates must have shape ", PartialShape(wanted), ", not ", updates, ": Dimensions [0,",
                             indices.rank() - 1, ") of indices[shape=", indices, "] must match dimensions [0,",
                             indices.rank() - 1, ") of updates[shape=", updates, "]");
    }
  }
  if (c.num_outputs() > 0) c.set_output(0, target);
}

void resource_gather_nd_shape(ShapeContext& c) {
  const PartialShape params = target_shape(c), indices = c.with_rank_at_least(1, 1);
  if (!params.has_rank() || !indices.has_rank() || indices[-1] < 0) return;
  if (indices[-1] > params.rank()) {
    throw invalid_argument("indices ", indices, " name more dimensions than ", params, " has");
  }
  std::vector<std::int64_t> dims(indices.dims().begin(), indices.dims().end() - 1);
  dims.insert(dims.end(), params.dims().begin() + indices[-1], params.dims().end());
  c.set_output(0, PartialShape(std::move(dims)));
}

void slice_assign_shape(ShapeContext& c) {
  for (int i = 1; i < 4; ++i) c.with_rank(i, 1);
  const PartialShape target = target_shape(c);
  if (c.num_outputs() > 0) c.set_output(0, target);
}

// ---- Kernels

enum class PlaceOp { kUpdate, kAdd, kSub, kMin, kMax };

// Flags add up by "or" and are subtracted as TensorFlow subtracts them: false where both are alike.
kernels::BinaryLoop loop_of(PlaceOp op, DType dtype) {
  using kernels::BinaryOp;
  if (dtype == DType::kBool && op == PlaceOp::kAdd) return kernels::find_binary(BinaryOp::kLogicalOr, dtype);
  if (dtype == DType::kBool && op == PlaceOp::kSub) return kernels::find_binary(BinaryOp::kNotEqual, dtype);
  constexpr BinaryOp kOps[] = {BinaryOp::kAdd, BinaryOp::kSub, BinaryOp::kMinimum, BinaryOp::kMaximum};
  return kernels::find_binary(kOps[static_cast<int>(op) - 1], dtype);
}

class ScatterNdKernel final : public Kernel {
 public:
  ScatterNdKernel(PlaceOp op, kernels::BinaryLoop loop) : op_(op), loop_(loop) {}

  void run(RunContext& c) const override {
    if (!c.node().input_refs[0] && c.node().input_types[0] != DType::kResource) return run_on_copy(c);
    VariableStorage& variable = c.variable(0);
    if (variable.dtype() != c.input(2).dtype()) {
      throw invalid_argument(variable.describe(), " is updated with ", c.input(2).describe());
    }
    variable.update([&](Tensor& value) { write(c, value); });
    if (c.num_outputs() > 0) c.set_output_ref(0, c.variable_ptr(0));
  }

 private:
  void run_on_copy(RunContext& c) const {
    const Tensor input = c.input(0);
    Tensor& y = c.allocate_output(0, input.shape());
    if (y.raw() != input.raw()) copy_elements(c.pool(), y.dtype(), input.raw(), y.raw(), y.num_elements());
    write(c, y);
  }

  void write(RunContext& c, Tensor& value) const {
    const Tensor &indices = c.input(1), &updates = c.input(2);
    check_updates(indices, updates.shape(), value.shape());
    const auto offsets = slice_offsets(indices, value.shape());
    check_offsets(c.node(), offsets, indices, value.shape(), "shape");
    if (offsets.empty() || updates.num_elements() == 0) return;
    const std::int64_t inner = updates.num_elements() / static_cast<std::int64_t>(offsets.size());
    const std::int64_t bytes = inner * static_cast<std::int64_t>(dtype_size(value.dtype()));
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      if (offsets[i] < 0) continue;
      char* to = value.raw() + offsets[i] * bytes;
      const char* from = updates.raw() + static_cast<std::int64_t>(i) * bytes;
      if (op_ == PlaceOp::kUpdate) {
        copy_elements(value.dtype(), from, to, inner);
      } else if (!loop_(to, 1, from, 1, to, inner)) {
        throw internal_error("an update failed");
      }
    }
  }

  PlaceOp op_;
  kernels::BinaryLoop loop_;
};

template <PlaceOp op>
std::unique_ptr<Kernel> prepare_scatter_nd(PrepareContext& c) {
  const DType dtype = c.input_type(2);
  kernels::BinaryLoop loop;
  if (op != PlaceOp::kUpdate) {
    loop = loop_of(op, dtype);
    if (!loop) throw unimplemented("no update of places of ", dtype);
  }
  if (c.num_outputs() > 0 && !c.node().output_refs[0]) c.allow_in_place(0, 0);
  return std::make_unique<ScatterNdKernel>(op, loop);
}

void run_resource_gather_nd(RunContext& c) {
  const Tensor params = c.variable(0).read();
  if (params.dtype() != c.node().output_types[0]) {
    throw invalid_argument(c.variable(0).describe(), " is read as ", c.node().output_types[0]);
  }
  internal::gather_nd_of(c, params);
}

void run_slice_assign(RunContext& c) {
  VariableStorage& variable = c.variable(0);
  const Tensor& value = c.input(4);
  if (variable.dtype() != value.dtype()) {
    throw invalid_argument("l-value dtype ", variable.dtype(), " does not match r-value dtype ", value.dtype());
  }
  variable.update([&](Tensor& target) {
    const ResolvedSlice slice =
        resolve_slice(target.shape(), c.input(1), c.input(2), c.input(3), SliceMasks::from(c.node().attrs));
    internal::assign_slice_of(c, value, target, slice);
  });
  if (c.num_outputs() > 0) c.set_output_ref(0, c.variable_ptr(0));
}

// ---- Gradients

void non_aliasing_add_gradient(GradientContext& c) {
  c.set_input_grad(0, c.grad(0));
  c.set_input_grad(2, OpBuilder("GatherNd", {}).input(c.grad(0)).input(c.input(1)).build());
}

Output places_of(const Output& x, const Output& indices) {
  return OpBuilder("GatherNd", {}).input(x).input(indices).build();
}

// What was overwritten gets nothing.
void tensor_scatter_update_gradient(GradientContext& c) {
  const Output nothing = OpBuilder("ZerosLike", {}).input(c.input(2)).build();
  c.set_input_grad(0, OpBuilder("TensorScatterUpdate", {}).input(c.grad(0)).input(c.input(1)).input(nothing).build());
  c.set_input_grad(2, places_of(c.grad(0), c.input(1)));
}

void tensor_scatter_sub_gradient(GradientContext& c) {
  c.set_input_grad(0, c.grad(0));
  c.set_input_grad(2, -places_of(c.grad(0), c.input(1)));
}

// All that equal the result share its gradient: the tensor's element and the updates of its place.
void tensor_scatter_extreme_gradient(GradientContext& c) {
  const Output &x = c.input(0), &indices = c.input(1), &updates = c.input(2), y = c.output(0), grad = c.grad(0);
  const auto winners = [&](const Output& a, const Output& b) {
    return OpBuilder("Cast", {})
        .input(OpBuilder("Equal", {}).input(a).input(b).build())
        .attr("DstT", grad.dtype())
        .build();
  };
  const Output of_x = winners(x, y);
  const Output of_updates = winners(updates, places_of(y, indices));
  const Output counted =
      OpBuilder("ScatterNd", {}).input(indices).input(of_updates).input(shape_of(x, indices.dtype())).build();
  const Output count = of_x + counted;
  c.set_input_grad(0, grad * of_x / count);
  c.set_input_grad(2, places_of(grad / count, indices) * of_updates);
}

void resource_gather_nd_gradient(GradientContext& c) {
  const Output& indices = c.input(1);
  const Output shape = raw_ops::variable_shape(c.input(0), indices.dtype());
  const PartialShape& places = indices.shape();
  if (places.rank() == 2 && places[1] == 1) {
    const Output rows =
        OpBuilder("Squeeze", {}).input(indices).attr("squeeze_dims", std::vector<std::int64_t>{-1}).build();
    c.set_input_grad(0, IndexedSlices{c.grad(0), rows, shape});
  } else {
    c.set_input_grad(0, OpBuilder("ScatterNd", {}).input(indices).input(c.grad(0)).input(shape).build());
  }
}

}  // namespace

// ---- Registrations

CAUDAL_REGISTER_OP(
    {.name = "ScatterNdUpdate",
     .inputs = "ref: Ref(T); indices: Tindices; updates: T",
     .outputs = "output_ref: Ref(T)",
     .attrs = "T: type; Tindices: {int32, int64}; use_locking: bool = true; bad_indices_policy: string = ''",
     .shape = scatter_nd_shape,
     .gradient = not_differentiable,
     .cpu = prepare_scatter_nd<PlaceOp::kUpdate>});

CAUDAL_REGISTER_OP(
    {.name = "ResourceScatterNdUpdate",
     .inputs = "ref: resource; indices: Tindices; updates: T",
     .attrs = "T: type; Tindices: {int32, int64}; use_locking: bool = true; bad_indices_policy: string = ''",
     .stateful = true,
     .shape = scatter_nd_shape,
     .gradient = no_gradient,
     .cpu = prepare_scatter_nd<PlaceOp::kUpdate>});

CAUDAL_REGISTER_OP({.name = "ScatterNdAdd",
                    .inputs = "ref: Ref(T); indices: Tindices; updates: T",
                    .outputs = "output_ref: Ref(T)",
                    .attrs = "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, "
                             "bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}; Tindices: {int32, "
                             "int64}; use_locking: bool = false; bad_indices_policy: string = ''",
                    .shape = scatter_nd_shape,
                    .gradient = not_differentiable,
                    .cpu = prepare_scatter_nd<PlaceOp::kAdd>});

CAUDAL_REGISTER_OP(
    {.name = "ResourceScatterNdAdd",
     .inputs = "ref: resource; indices: Tindices; updates: T",
     .attrs = "T: type; Tindices: {int32, int64}; use_locking: bool = true; bad_indices_policy: string = ''",
     .stateful = true,
     .shape = scatter_nd_shape,
     .gradient = no_gradient,
     .cpu = prepare_scatter_nd<PlaceOp::kAdd>});

CAUDAL_REGISTER_OP({.name = "ScatterNdSub",
                    .inputs = "ref: Ref(T); indices: Tindices; updates: T",
                    .outputs = "output_ref: Ref(T)",
                    .attrs = "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, "
                             "bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}; Tindices: {int32, "
                             "int64}; use_locking: bool = false; bad_indices_policy: string = ''",
                    .shape = scatter_nd_shape,
                    .gradient = not_differentiable,
                    .cpu = prepare_scatter_nd<PlaceOp::kSub>});

CAUDAL_REGISTER_OP(
    {.name = "ResourceScatterNdSub",
     .inputs = "ref: resource; indices: Tindices; updates: T",
     .attrs = "T: type; Tindices: {int32, int64}; use_locking: bool = true; bad_indices_policy: string = ''",
     .stateful = true,
     .shape = scatter_nd_shape,
     .gradient = no_gradient,
     .cpu = prepare_scatter_nd<PlaceOp::kSub>});

CAUDAL_REGISTER_OP({.name = "ScatterNdMin",
                    .inputs = "ref: Ref(T); indices: Tindices; updates: T",
                    .outputs = "output_ref: Ref(T)",
                    .attrs = "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, "
                             "bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}; Tindices: {int32, "
                             "int64}; use_locking: bool = false; bad_indices_policy: string = ''",
                    .shape = scatter_nd_shape,
                    .gradient = not_differentiable,
                    .cpu = prepare_scatter_nd<PlaceOp::kMin>});

CAUDAL_REGISTER_OP(
    {.name = "ResourceScatterNdMin",
     .inputs = "ref: resource; indices: Tindices; updates: T",
     .attrs = "T: type; Tindices: {int32, int64}; use_locking: bool = true; bad_indices_policy: string = ''",
     .stateful = true,
     .shape = scatter_nd_shape,
     .gradient = no_gradient,
     .cpu = prepare_scatter_nd<PlaceOp::kMin>});

CAUDAL_REGISTER_OP({.name = "ScatterNdMax",
                    .inputs = "ref: Ref(T); indices: Tindices; updates: T",
                    .outputs = "output_ref: Ref(T)",
                    .attrs = "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, "
                             "bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}; Tindices: {int32, "
                             "int64}; use_locking: bool = false; bad_indices_policy: string = ''",
                    .shape = scatter_nd_shape,
                    .gradient = not_differentiable,
                    .cpu = prepare_scatter_nd<PlaceOp::kMax>});

CAUDAL_REGISTER_OP(
    {.name = "ResourceScatterNdMax",
     .inputs = "ref: resource; indices: Tindices; updates: T",
     .attrs = "T: type; Tindices: {int32, int64}; use_locking: bool = true; bad_indices_policy: string = ''",
     .stateful = true,
     .shape = scatter_nd_shape,
     .gradient = no_gradient,
     .cpu = prepare_scatter_nd<PlaceOp::kMax>});

CAUDAL_REGISTER_OP({.name = "ScatterNdNonAliasingAdd",
                    .inputs = "input: T; indices: Tindices; updates: T",
                    .outputs = "output: T",
                    .attrs = "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, "
                             "bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64, bool}; Tindices: "
                             "{int32, int64}; bad_indices_policy: string = ''",
                    .shape = scatter_nd_shape,
                    .gradient = non_aliasing_add_gradient,
                    .cpu = prepare_scatter_nd<PlaceOp::kAdd>});

// The same on a copy of a tensor.
#define CAUDAL_REGISTER_TENSOR_SCATTER(op, index_types, place_op, grad)               \
  CAUDAL_REGISTER_OP({                                                                \
      .name = "TensorScatter" op,                                                     \
      .inputs = "tensor: T; indices: Tindices; updates: T",                           \
      .outputs = "output: T",                                                         \
      .attrs = "T: type; Tindices: " index_types "; bad_indices_policy: string = ''", \
      .shape = scatter_nd_shape,                                                      \
      .gradient = grad,                                                               \
      .cpu = prepare_scatter_nd<PlaceOp::place_op>,                                   \
  })
CAUDAL_REGISTER_TENSOR_SCATTER("Update", "{int16, int32, int64, uint16}", kUpdate, tensor_scatter_update_gradient);
CAUDAL_REGISTER_TENSOR_SCATTER("Add", "{int32, int64}", kAdd, non_aliasing_add_gradient);
CAUDAL_REGISTER_TENSOR_SCATTER("Sub", "{int32, int64}", kSub, tensor_scatter_sub_gradient);
CAUDAL_REGISTER_TENSOR_SCATTER("Min", "{int32, int64}", kMin, tensor_scatter_extreme_gradient);
CAUDAL_REGISTER_TENSOR_SCATTER("Max", "{int32, int64}", kMax, tensor_scatter_extreme_gradient);
#undef CAUDAL_REGISTER_TENSOR_SCATTER

CAUDAL_REGISTER_OP({.name = "ResourceGatherNd",
                    .inputs = "resource: resource; indices: Tindices",
                    .outputs = "output: dtype",
                    .attrs = "dtype: type; Tindices: {int32, int64}",
                    .stateful = true,
                    .shape = resource_gather_nd_shape,
                    .gradient = resource_gather_nd_gradient,
                    .cpu = kernel_of<run_resource_gather_nd>});

CAUDAL_REGISTER_OP({.name = "StridedSliceAssign",
                    .inputs = "ref: Ref(T); begin: Index; end: Index; strides: Index; value: T",
                    .outputs = "output_ref: Ref(T)",
                    .attrs = "T: type; Index: {int32, int64}; begin_mask: int = 0; end_mask: int = 0; ellipsis_mask: "
                             "int = 0; new_axis_mask: int = 0; shrink_axis_mask: int = 0",
                    .shape = slice_assign_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_slice_assign>});

CAUDAL_REGISTER_OP({.name = "ResourceStridedSliceAssign",
                    .inputs = "ref: resource; begin: Index; end: Index; strides: Index; value: T",
                    .attrs = "T: type; Index: {int32, int64}; begin_mask: int = 0; end_mask: int = 0; ellipsis_mask: "
                             "int = 0; new_axis_mask: int = 0; shrink_axis_mask: int = 0",
                    .stateful = true,
                    .shape = slice_assign_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_slice_assign>});

// ---- Public functions

namespace {

Output scatter_nd(const std::string& op, const Variable& ref, const Operand& indices, const Operand& updates,
                  const OpOptions& options) {
  const LocationScope where(options.where);
  OpBuilder builder((ref.is_resource() ? "ResourceScatterNd" : "ScatterNd") + op, options);
  builder.input(ref.handle()).input(indices, int32).input(updates, ref.dtype());
  Node& node = internal::colocate(builder, ref.handle()).build_node();
  if (!ref.is_resource()) return node.output(0);
  const ControlDependencies after({Operation(&node)});
  return ref.read_value({.name = "ReadVariableOp", .where = options.where});
}

}  // namespace

namespace {

Output tensor_scatter(const std::string& op, const Operand& tensor, const Operand& indices, const Operand& updates,
                      const OpOptions& options) {
  const DType dtype = common_dtype({&tensor, &updates});
  OpBuilder builder("TensorScatter" + op, options);
  return builder.input(tensor, dtype).input(indices, int32).input(updates, dtype).build();
}

}  // namespace

Output tensor_scatter_nd_update(const Operand& tensor, const Operand& indices, const Operand& updates,
                                const OpOptions& options) {
  return tensor_scatter("Update", tensor, indices, updates, options);
}
Output tensor_scatter_nd_add(const Operand& tensor, const Operand& indices, const Operand& updates,
                             const OpOptions& options) {
  return tensor_scatter("Add", tensor, indices, updates, options);
}
Output tensor_scatter_nd_sub(const Operand& tensor, const Operand& indices, const Operand& updates,
                             const OpOptions& options) {
  return tensor_scatter("Sub", tensor, indices, updates, options);
}
Output tensor_scatter_nd_min(const Operand& tensor, const Operand& indices, const Operand& updates,
                             const OpOptions& options) {
  return tensor_scatter("Min", tensor, indices, updates, options);
}
Output tensor_scatter_nd_max(const Operand& tensor, const Operand& indices, const Operand& updates,
                             const OpOptions& options) {
  return tensor_scatter("Max", tensor, indices, updates, options);
}

Output scatter_nd_update(const Variable& ref, const Operand& indices, const Operand& updates,
                         const OpOptions& options) {
  return scatter_nd("Update", ref, indices, updates, options);
}
Output scatter_nd_add(const Variable& ref, const Operand& indices, const Operand& updates, const OpOptions& options) {
  return scatter_nd("Add", ref, indices, updates, options);
}
Output scatter_nd_sub(const Variable& ref, const Operand& indices, const Operand& updates, const OpOptions& options) {
  return scatter_nd("Sub", ref, indices, updates, options);
}
Output scatter_nd_min(const Variable& ref, const Operand& indices, const Operand& updates, const OpOptions& options) {
  return scatter_nd("Min", ref, indices, updates, options);
}
Output scatter_nd_max(const Variable& ref, const Operand& indices, const Operand& updates, const OpOptions& options) {
  return scatter_nd("Max", ref, indices, updates, options);
}

Output strided_slice_assign(const Variable& ref, const Operand& begin, const Operand& end, const Operand& strides,
                            const Operand& value, const StridedSliceOptions& options) {
  const LocationScope where(options.where);
  OpBuilder builder(ref.is_resource() ? "ResourceStridedSliceAssign" : "StridedSliceAssign",
                    {.name = options.name, .where = options.where});
  builder.input(ref.handle()).input(begin, int32).input(end, int32).input(strides, int32);
  builder.input(value, ref.dtype()).attr("begin_mask", options.begin_mask).attr("end_mask", options.end_mask);
  builder.attr("ellipsis_mask", options.ellipsis_mask).attr("new_axis_mask", options.new_axis_mask);
  Node& node =
      internal::colocate(builder.attr("shrink_axis_mask", options.shrink_axis_mask), ref.handle()).build_node();
  if (!ref.is_resource()) return node.output(0);
  const ControlDependencies after({Operation(&node)});
  return ref.read_value({.name = "ReadVariableOp", .where = options.where});
}

namespace raw_ops {

Output scatter_nd_non_aliasing_add(const Operand& input, const Operand& indices, const Operand& updates,
                                   const OpOptions& options) {
  const DType dtype = common_dtype({&input, &updates});
  OpBuilder builder("ScatterNdNonAliasingAdd", options);
  return builder.input(input, dtype).input(indices, int32).input(updates, dtype).build();
}

Output resource_gather_nd(const Output& resource, const Operand& indices, DType dtype, const OpOptions& options) {
  return OpBuilder("ResourceGatherNd", options).input(resource).input(indices, int32).attr("dtype", dtype).build();
}

}  // namespace raw_ops
}  // namespace caudal::inline v0
