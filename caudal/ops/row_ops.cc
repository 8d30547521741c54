#include "caudal/ops/row_ops.h"

#include <vector>

#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/kernels/elementwise.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/shape_ops.h"
#include "caudal/ops/strided_copy.h"

namespace caudal::inline v0 {
namespace {

// --- Shape functions ---

void parallel_concat_shape(ShapeContext& c) {
  const PartialShape& shape = c.attr<PartialShape>("shape");
  if (!shape.is_fully_known() || shape.rank() == 0) {
    throw invalid_argument("the attribute shape must be fully known and have rows, not ", shape);
  }
  ShapeContext::merge_dim(shape.dim(0), c.num_inputs(), "the rows of shape and the values");
  const PartialShape row = shape.with_dim(0, 1);
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (!c.input(i).compatible(row)) throw invalid_argument("value ", i, " must be ", row, ", not ", c.input(i));
  }
  c.set_output(0, shape);
}

// --- Kernels ---

void run_parallel_concat(RunContext& c) {
  const Shape shape = *c.node().attr<PartialShape>("shape").to_shape();
  const Shape row = shape.with_dim(0, 1);
  Tensor& out = c.allocate_output(0, shape);
  const auto bytes = row.num_elements() * static_cast<std::int64_t>(dtype_size(out.dtype()));
  for (int i = 0; i < c.num_inputs(); ++i) {
    const Tensor& value = c.input(i);
    if (!(value.shape() == row)) throw invalid_argument("value ", i, " must be ", row, ", not ", value.describe());
    copy_elements(c.pool(), out.dtype(), value.raw(), out.raw() + i * bytes, row.num_elements());
  }
}

// Without a loop rows are replaced.
class RowKernel final : public Kernel {
 public:
  explicit RowKernel(kernels::BinaryLoop loop) : loop_(loop) {}

  void run(RunContext& c) const override {
    const Tensor x = c.input(0);
    const Tensor &rows = c.input(1), &v = c.input(2);
    check(x, rows, v);
    Tensor& y = c.allocate_output(0, x.shape());
    if (y.raw() != x.raw()) copy_elements(c.pool(), y.dtype(), x.raw(), y.raw(), y.num_elements());
    if (x.num_elements() == 0 || v.num_elements() == 0) return;
    const std::int64_t count = x.dim(0), width = x.num_elements() / count;
    const auto bytes = width * static_cast<std::int64_t>(dtype_size(y.dtype()));
    for (std::int64_t k = 0; k < rows.num_elements(); ++k) {
      const std::int64_t row = (rows.data<std::int32_t>()[k] % count + count) % count;
      char* to = y.raw() + row * bytes;
      const char* from = v.raw() + k * bytes;
      if (!loop_) {
        copy_elements(y.dtype(), from, to, width);
      } else if (!loop_(to, 1, from, 1, to, width)) {
        throw internal_error("an update failed");
      }
    }
  }

 private:
  static void check(const Tensor& x, const Tensor& rows, const Tensor& v) {
    if (rows.rank() != 1) throw invalid_argument("i must be a vector, not ", rows.describe());
    bool fits = x.rank() == v.rank() && x.rank() > 0 && v.dim(0) == rows.dim(0);
    for (int d = 1; fits && d < x.rank(); ++d) fits = x.dim(d) == v.dim(d);
    if (!fits) {
      throw invalid_argument("v ", v.describe(), " must have a row of x ", x.describe(), " for each of i ",
                             rows.describe());
    }
  }

  kernels::BinaryLoop loop_;
};

std::unique_ptr<Kernel> prepare_update(PrepareContext& c) {
  c.allow_in_place(0, 0);
  return std::make_unique<RowKernel>(kernels::BinaryLoop());
}

template <kernels::BinaryOp op>
std::unique_ptr<Kernel> prepare(PrepareContext& c) {
  const kernels::BinaryLoop loop = kernels::find_binary(op, c.input_type(0));
  if (!loop || c.input_type(0) == DType::kBool) throw unimplemented("no kernel for ", c.input_type(0), " on CPU");
  c.allow_in_place(0, 0);
  return std::make_unique<RowKernel>(loop);
}

}  // namespace

// --- Registrations ---

CAUDAL_REGISTER_OP({.name = "ParallelConcat",
                    .inputs = "values: N * T",
                    .outputs = "output: T",
                    .attrs = "N: int >= 1; T: type; shape: shape",
                    .shape = parallel_concat_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_parallel_concat>});
CAUDAL_REGISTER_OP({.name = "InplaceUpdate",
                    .inputs = "x: T; i: int32; v: T",
                    .outputs = "y: T",
                    .attrs = "T: type",
                    .shape = unchanged_shape,
                    .gradient = no_gradient,
                    .cpu = prepare_update});
CAUDAL_REGISTER_OP({.name = "InplaceAdd",
                    .inputs = "x: T; i: int32; v: T",
                    .outputs = "y: T",
                    .attrs = "T: type",
                    .shape = unchanged_shape,
                    .gradient = no_gradient,
                    .cpu = prepare<kernels::BinaryOp::kAdd>});
CAUDAL_REGISTER_OP({.name = "InplaceSub",
                    .inputs = "x: T; i: int32; v: T",
                    .outputs = "y: T",
                    .attrs = "T: type",
                    .shape = unchanged_shape,
                    .gradient = no_gradient,
                    .cpu = prepare<kernels::BinaryOp::kSub>});

// --- Public functions ---

Output parallel_stack(const OperandList& values, const OpOptions& options) {
  const LocationScope where(options.where);
  const std::vector<Output> items = values.to_outputs();
  if (items.empty()) throw invalid_argument("parallel_stack() of nothing").made_at(short_location(options.where));
  const auto shape = items[0].shape().to_shape();
  if (!shape) {
    throw invalid_argument("parallel_stack() needs values of a known shape, not ", items[0].shape())
        .made_at(short_location(options.where));
  }
  std::vector<Output> rows;
  for (const Output& item : items) rows.push_back(expand_dims(item, 0));
  return OpBuilder("ParallelConcat", options)
      .inputs(rows)
      .attr("shape", PartialShape(shape->insert(0, std::ssize(items))))
      .build();
}

namespace raw_ops {
namespace {

Output change_rows(std::string_view op, const Operand& x, const Operand& i, const Operand& v,
                   const OpOptions& options) {
  const DType dtype = common_dtype({&x, &v});
  return OpBuilder(op, options).input(x, dtype).input(i, DType::kInt32).input(v, dtype).build();
}

}  // namespace

Output inplace_update(const Operand& x, const Operand& i, const Operand& v, const OpOptions& options) {
  return change_rows("InplaceUpdate", x, i, v, options);
}
Output inplace_add(const Operand& x, const Operand& i, const Operand& v, const OpOptions& options) {
  return change_rows("InplaceAdd", x, i, v, options);
}
Output inplace_sub(const Operand& x, const Operand& i, const Operand& v, const OpOptions& options) {
  return change_rows("InplaceSub", x, i, v, options);
}

}  // namespace raw_ops
}  // namespace caudal::inline v0
