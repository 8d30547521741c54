#include "caudal/ops/variable_rows.h"

#include <algorithm>
#include <memory>

#include "caudal/base/thread_pool.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/core/variable_storage.h"
#include "caudal/graph/scope.h"
#include "caudal/kernels/elementwise.h"
#include "caudal/ops/gather_kernel.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/position_text.h"
#include "caudal/ops/strided_copy.h"
#include "caudal/ops/variable_ops.h"

namespace caudal::inline v0 {
namespace {

// ---- Shape functions

PartialShape variable_shape_of(ShapeContext& c) {
  if (c.node().input_refs[0]) return c.input(0);
  c.with_rank(0, 0);
  return c.input_handle(0).empty() ? PartialShape() : c.input_handle(0)[0].shape;
}

void scatter_shape(ShapeContext& c) {
  const PartialShape variable = variable_shape_of(c);
  const PartialShape &indices = c.input(1), &updates = c.input(2);
  if (variable.rank() == 0) throw invalid_argument("the variable is a scalar and has no rows");
  if (variable.has_rank() && indices.has_rank() && updates.rank() != 0) {
    std::vector<std::int64_t> wanted = indices.dims();
    wanted.insert(wanted.end(), variable.dims().begin() + 1, variable.dims().end());
    if (!updates.compatible(PartialShape(wanted))) {
      throw invalid_argument("updates must have shape ", PartialShape(wanted), " or be a scalar, not ", updates);
    }
  }
  if (c.num_outputs() > 0) c.set_output(0, variable);
}

void resource_gather_shape(ShapeContext& c) {
  const PartialShape params = variable_shape_of(c);
  const PartialShape& indices = c.input(1);
  if (params.rank() == 0) throw invalid_argument("the variable is a scalar and has no rows");
  if (!params.has_rank() || !indices.has_rank()) return c.set_output(0, PartialShape::unknown());
  const std::int64_t batch = c.attr<std::int64_t>("batch_dims");
  if (batch < 0 || batch > indices.rank() || batch >= params.rank()) {
    throw invalid_argument("batch_dims is ", batch, " for a variable of shape ", params, " and indices ", indices);
  }
  std::vector<std::int64_t> dims(params.dims().begin(), params.dims().begin() + batch);
  dims.insert(dims.end(), indices.dims().begin() + batch, indices.dims().end());
  dims.insert(dims.end(), params.dims().begin() + batch + 1, params.dims().end());
  c.set_output(0, PartialShape(std::move(dims)));
}

// ---- Kernels

enum class RowOp { kUpdate, kAdd, kSub, kMul, kDiv, kMin, kMax };

kernels::BinaryLoop loop_of(RowOp op, DType dtype) {
  using kernels::BinaryOp;
  constexpr BinaryOp kOps[] = {BinaryOp::kAdd, BinaryOp::kSub,     BinaryOp::kMul,
                               BinaryOp::kDiv, BinaryOp::kMinimum, BinaryOp::kMaximum};
  return kernels::find_binary(kOps[static_cast<int>(op) - 1], dtype);
}

bool has_zero(const Tensor& t) {
  const std::string zero(dtype_size(t.dtype()), '\0');
  for (std::size_t at = 0; at < t.byte_size(); at += zero.size()) {
    if (t.raw_bytes().substr(at, zero.size()) == zero) return true;
  }
  return false;
}

class ScatterKernel final : public Kernel {
 public:
  ScatterKernel(RowOp op, kernels::BinaryLoop loop) : op_(op), loop_(loop) {}

  void run(RunContext& c) const override {
    VariableStorage& variable = c.variable(0);
    const Tensor& updates = c.input(2);
    const auto rows = c.input(1).to_int64s();
    if (variable.dtype() != updates.dtype()) {
      throw invalid_argument(variable.describe(), " is updated with ", updates.describe());
    }
    if (op_ == RowOp::kDiv && is_integer(updates.dtype()) && has_zero(updates)) {
      throw invalid_argument("variable '", variable.name(), "' is divided by zero");
    }
    variable.update([&](Tensor& value) {
      check(variable.name(), value.shape(), c.input(1).shape(), updates.shape(), rows);
      if (value.num_elements() > 0) write(c.pool(), value, rows, updates);
    });
    if (c.num_outputs() > 0) c.set_output_ref(0, c.variable_ptr(0));
  }

 private:
  static void check(const std::string& name, const Shape& variable, const Shape& indices, const Shape& updates,
                    const std::vector<std::int64_t>& rows) {
    if (variable.rank() == 0) throw invalid_argument("variable '", name, "' is a scalar and has no rows");
    std::vector<std::int64_t> wanted = indices.to_vector();
    wanted.insert(wanted.end(), variable.dims().begin() + 1, variable.dims().end());
    if (updates.rank() != 0 && updates.to_vector() != wanted) {
      throw invalid_argument("variable '", name, "' has shape ", variable, "; updates of the rows ", indices,
                             " must have shape ", Shape(wanted), " or be a scalar, not ", updates);
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i] < 0 || rows[i] >= variable[0]) {
        throw invalid_argument("indices", position_text(static_cast<std::int64_t>(i), indices), " = ", rows[i],
                               " is not in [0, ", variable[0], "), the rows of '", name, "'");
      }
    }
  }

  // Threads share the columns, so that repeated rows stay in order.
  void write(ThreadPool& pool, Tensor& value, const std::vector<std::int64_t>& rows, const Tensor& updates) const {
    const std::int64_t columns = value.num_elements() / value.dim(0);
    const auto size = static_cast<std::int64_t>(dtype_size(value.dtype()));
    const bool scalar = updates.rank() == 0 && !rows.empty();
    constexpr std::int64_t kElements = 1 << 16;  // per chunk
    const auto grain = std::max<std::int64_t>(256, kElements / std::max<std::int64_t>(1, std::ssize(rows)));
    pool.parallel_for(columns, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::size_t i = 0; i < rows.size(); ++i) {
        char* to = value.raw() + (rows[i] * columns + begin) * size;
        const char* from =
            scalar ? updates.raw() : updates.raw() + (static_cast<std::int64_t>(i) * columns + begin) * size;
        write_row(value.dtype(), to, from, scalar, end - begin);
      }
    });
  }

  void write_row(DType dtype, char* to, const char* from, bool scalar, std::int64_t n) const {
    if (op_ != RowOp::kUpdate) {
      if (!loop_(to, 1, from, scalar ? 0 : 1, to, n)) throw internal_error("an update failed");
    } else if (!scalar) {
      copy_elements(dtype, from, to, n);
    } else {
      const auto size = static_cast<std::int64_t>(dtype_size(dtype));
      for (std::int64_t k = 0; k < n; ++k) copy_elements(dtype, from, to + k * size, 1);
    }
  }

  RowOp op_;
  kernels::BinaryLoop loop_;
};

template <RowOp op>
std::unique_ptr<Kernel> prepare_scatter(PrepareContext& c) {
  const DType dtype = c.input_type(2);
  kernels::BinaryLoop loop;
  if (op != RowOp::kUpdate) {
    loop = loop_of(op, dtype);
    if (!loop) throw unimplemented("no update of rows of ", dtype);
  }
  return std::make_unique<ScatterKernel>(op, loop);
}

void run_resource_gather(RunContext& c) {
  const Tensor params = c.variable(0).read();
  const std::int64_t batch = c.node().attr<std::int64_t>("batch_dims");
  if (params.dtype() != c.node().output_types[0]) {
    throw invalid_argument(c.variable(0).describe(), " is read as ", c.node().output_types[0]);
  }
  if (batch < 0 || batch > c.input(1).rank() || batch >= params.rank()) {
    throw invalid_argument("batch_dims is ", batch, " for ", c.variable(0).describe(), " and indices ",
                           c.input(1).shape());
  }
  internal::gather_along(c, params, static_cast<int>(batch), static_cast<int>(batch));
}

// ---- Gradient

void resource_gather_gradient(GradientContext& c) {
  if (c.attr<std::int64_t>("batch_dims") != 0) {
    throw unimplemented("ResourceGather with batch_dims has no gradient").hint("Read the variable and use gather().");
  }
  const Output shape = raw_ops::variable_shape(c.input(0));
  const Output count = OpBuilder("Size", {}).input(c.input(1)).build();
  const Output count_vector = OpBuilder("Reshape", {}).input(count).input({1}).build();
  const Output inner =
      OpBuilder("StridedSlice", {}).input(shape).input({1}).input({0}).input({1}).attr("end_mask", 1).build();
  const Output rows = OpBuilder("ConcatV2", {}).inputs({count_vector, inner}).input(0).build();
  IndexedSlices slices;
  slices.values = OpBuilder("Reshape", {}).input(c.grad(0)).input(rows).build();
  slices.indices = OpBuilder("Reshape", {}).input(c.input(1)).input({-1}).build();
  slices.dense_shape = shape;
  c.set_input_grad(0, slices);
}

// ---- Registrations

// The op for references and its twin for resources.
#define CAUDAL_REGISTER_SCATTER(op, types, resource_types, locking, row_op)            \
  CAUDAL_REGISTER_OP({                                                                 \
      .name = "Scatter" op,                                                            \
      .inputs = "ref: Ref(T); indices: Tindices; updates: T",                          \
      .outputs = "output_ref: Ref(T)",                                                 \
      .attrs = "T: " types "; Tindices: {int32, int64}; use_locking: bool = " locking, \
      .shape = scatter_shape,                                                          \
      .gradient = not_differentiable,                                                  \
      .cpu = prepare_scatter<RowOp::row_op>,                                           \
  });                                                                                  \
  CAUDAL_REGISTER_OP({                                                                 \
      .name = "ResourceScatter" op,                                                    \
      .inputs = "resource: resource; indices: Tindices; updates: dtype",               \
      .attrs = "dtype: " resource_types "; Tindices: {int32, int64}",                  \
      .stateful = true,                                                                \
      .shape = scatter_shape,                                                          \
      .gradient = no_gradient,                                                         \
      .cpu = prepare_scatter<RowOp::row_op>,                                           \
  })
#define CAUDAL_ORDERED "{half, bfloat16, float, double, int32, int64}"

CAUDAL_REGISTER_SCATTER("Update", "type", "type", "true", kUpdate);
CAUDAL_REGISTER_SCATTER("Add", "numbertype", "numbertype", "false", kAdd);
CAUDAL_REGISTER_SCATTER("Sub", "numbertype", "numbertype", "false", kSub);
CAUDAL_REGISTER_SCATTER("Mul", "numbertype", "numbertype", "false", kMul);
CAUDAL_REGISTER_SCATTER("Div", "numbertype", "numbertype", "false", kDiv);
CAUDAL_REGISTER_SCATTER("Min", CAUDAL_ORDERED, "numbertype", "false", kMin);
CAUDAL_REGISTER_SCATTER("Max", CAUDAL_ORDERED, "numbertype", "false", kMax);
CAUDAL_REGISTER_OP({
    .name = "ResourceGather",
    .inputs = "resource: resource; indices: Tindices",
    .outputs = "output: dtype",
    .attrs = "batch_dims: int = 0; validate_indices: bool = true; dtype: type; Tindices: {int32, int64}",
    .stateful = true,
    .shape = resource_gather_shape,
    .gradient = resource_gather_gradient,
    .cpu = kernel_of<run_resource_gather>,
});

// ---- Public functions

Output scatter(const std::string& op, const Variable& ref, const Operand& indices, const Operand& updates,
               const OpOptions& options) {
  const LocationScope where(options.where);
  OpBuilder builder((ref.is_resource() ? "ResourceScatter" : "Scatter") + op, options);
  builder.input(ref.handle()).input(indices, int32).input(updates, ref.dtype());
  Node& node = internal::colocate(builder, ref.handle()).build_node();
  if (!ref.is_resource()) return node.output(0);
  const ControlDependencies after({Operation(&node)});
  return ref.read_value({.name = "ReadVariableOp", .where = options.where});
}

}  // namespace

Output scatter_update(const Variable& ref, const Operand& indices, const Operand& updates, const OpOptions& options) {
  return scatter("Update", ref, indices, updates, options);
}
Output scatter_add(const Variable& ref, const Operand& indices, const Operand& updates, const OpOptions& options) {
  return scatter("Add", ref, indices, updates, options);
}
Output scatter_sub(const Variable& ref, const Operand& indices, const Operand& updates, const OpOptions& options) {
  return scatter("Sub", ref, indices, updates, options);
}
Output scatter_mul(const Variable& ref, const Operand& indices, const Operand& updates, const OpOptions& options) {
  return scatter("Mul", ref, indices, updates, options);
}
Output scatter_div(const Variable& ref, const Operand& indices, const Operand& updates, const OpOptions& options) {
  return scatter("Div", ref, indices, updates, options);
}
Output scatter_min(const Variable& ref, const Operand& indices, const Operand& updates, const OpOptions& options) {
  return scatter("Min", ref, indices, updates, options);
}
Output scatter_max(const Variable& ref, const Operand& indices, const Operand& updates, const OpOptions& options) {
  return scatter("Max", ref, indices, updates, options);
}

Output raw_ops::resource_gather(const Output& resource, const Operand& indices, DType dtype,
                                const ResourceGatherOptions& options) {
  return OpBuilder("ResourceGather", {.name = options.name, .where = options.where})
      .input(resource)
      .input(indices, int32)
      .attr("batch_dims", options.batch_dims)
      .attr("validate_indices", options.validate_indices)
      .attr("dtype", dtype)
      .build();
}

}  // namespace caudal::inline v0
