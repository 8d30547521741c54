#include "caudal/ops/sparse_to_dense.h"

#include "caudal/autodiff/gradient.h"
#include "caudal/base/thread_pool.h"
#include "caudal/core/kernel.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/elementwise.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/gather_ops.h"
#include "caudal/ops/joining.h"
#include "caudal/ops/reduction.h"
#include "caudal/ops/shape_ops.h"
#include "caudal/ops/sparse_input.h"
#include "caudal/ops/strided_copy.h"

namespace caudal::inline v0 {
namespace {

// ---- Shape function

void sparse_to_dense_shape(ShapeContext& c) {
  c.with_rank(1, 1);
  c.set_output(0, c.input_as_shape(1));
}

// ---- Kernel

void check_sizes(const Tensor& indices, const Tensor& output_shape, const Tensor& values, const Tensor& filling) {
  if (indices.rank() > 2) {
    throw invalid_argument("sparse_indices should be a scalar, vector, or matrix, got shape ", indices.shape());
  }
  const std::int64_t count = indices.rank() > 0 ? indices.dim(0) : 1, depth = indices.rank() > 1 ? indices.dim(1) : 1;
  if (output_shape.rank() != 1) {
    throw invalid_argument("output_shape must be rank 1, got shape ", output_shape.shape());
  }
  if (output_shape.dim(0) != depth) {
    throw invalid_argument("output_shape has incorrect number of elements: ", output_shape.dim(0),
                           " should be: ", depth);
  }
  if (values.rank() != 0 && values.shape() != Shape{count}) {
    throw invalid_argument("sparse_values has incorrect shape ", values.shape(), ", should be [] or [", count, "]");
  }
  if (filling.rank() != 0) throw invalid_argument("default_value should be a scalar, not ", filling.describe());
}

void run_sparse_to_dense(RunContext& c) {
  const Tensor &indices = c.input(0), &values = c.input(2), &filling = c.input(3);
  check_sizes(indices, c.input(1), values, filling);
  const std::vector<std::int64_t> places = indices.to_int64s(), dims = c.input(1).to_int64s();
  const Shape shape(dims);
  SparseView view{.indices = places,
                  .values = &values,
                  .dims = dims,
                  .count = indices.rank() > 0 ? indices.dim(0) : 1,
                  .rank = shape.rank()};
  check_indices(view, c.node().attr<bool>("validate_indices") ? IndexOrder::kStrict : IndexOrder::kInside, "indices");
  Tensor& out = c.allocate_output(0, shape);
  fill_elements(c.pool(), out.dtype(), filling.raw(), out.raw(), out.num_elements());
  const auto size = static_cast<std::int64_t>(dtype_size(out.dtype())), step = values.rank() > 0 ? size : 0;
  const std::vector<std::int64_t> strides = shape.strides();
  for (std::int64_t k = 0; k < view.count; ++k) {
    std::int64_t at = 0;
    for (int d = 0; d < view.rank; ++d) at += view.index(k)[d] * strides[d];
    copy_elements(out.dtype(), values.raw() + k * step, out.raw() + at * size, 1);
  }
}

// ---- Gradient

void sparse_to_dense_gradient(GradientContext& c) {
  Output places = c.input(0);
  if (places.shape().rank() != 2) {
    const Output depth = size(c.input(1), {.out_type = int32});
    places = reshape(places, concat({Operand({-1}), expand_dims(depth, 0)}, 0));
  }
  const Output of_values = gather_nd(c.grad(0), places), sum = reduce_sum(of_values);
  c.set_input_grad(2, sum_to_shape_of(of_values, c.input(2), of_values));
  c.set_input_grad(3, reduce_sum(c.grad(0)) - sum);
}

}  // namespace

// ---- Registration

CAUDAL_REGISTER_OP({.name = "SparseToDense",
                    .inputs = "sparse_indices: Tindices; output_shape: Tindices; sparse_values: T; default_value: T",
                    .outputs = "dense: T",
                    .attrs = "validate_indices: bool = true; T: type; Tindices: {int32, int64}",
                    .shape = sparse_to_dense_shape,
                    .gradient = sparse_to_dense_gradient,
                    .cpu = kernel_of<run_sparse_to_dense>});

// ---- Public functions

Output sparse_to_dense(const Operand& sparse_indices, const Operand& output_shape, const Operand& sparse_values,
                       const SparseToDenseOptions& options) {
  const LocationScope where(options.where);
  const DType type = common_dtype({&sparse_values, &options.default_value});
  const DType index_type = common_dtype({&sparse_indices, &output_shape});
  // Strings have no number that could stand for "nothing".
  const bool empty_text = type == string && options.default_value.fixed_dtype() == DType::kInvalid;
  return OpBuilder("SparseToDense", {.name = options.name, .where = options.where})
      .input(sparse_indices, index_type)
      .input(output_shape, index_type)
      .input(sparse_values, type)
      .input(empty_text ? Operand("") : options.default_value, type)
      .attr("validate_indices", options.validate_indices)
      .build();
}

Output sparse::to_dense(const SparseTensor& sp_input, const SparseToDenseOptions& options) {
  return sparse_to_dense(sp_input.indices, sp_input.dense_shape, sp_input.values, options);
}

}  // namespace caudal::inline v0
