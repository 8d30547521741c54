#include "caudal/ops/matmul_form.h"

#include <algorithm>
#include <vector>

#include "caudal/base/error.h"
#include "caudal/tensor/shape.h"

namespace caudal::inline v0 {
namespace {

std::string describe(const std::string& name, DType dtype, MatrixDims dims, bool transposed) {
  return internal::concat(name, ' ', dtype, PartialShape(std::vector<std::int64_t>(dims.begin(), dims.end())),
                          transposed ? " transposed" : "");
}

}  // namespace

bool is_batch_matmul(const std::string& op) { return op.starts_with("Batch"); }

MatMulForm::MatMulForm(const NodeInfo& node) {
  const bool batch = is_batch_matmul(node.type());
  a = batch ? "x" : "a";
  b = batch ? "y" : "b";
  transpose_a = node.attr<bool>(batch ? "adj_x" : "transpose_a");
  transpose_b = node.attr<bool>(batch ? "adj_y" : "transpose_b");
  adjoint = batch;
}

ProductSize product_size(const MatMulForm& form, DType dtype, MatrixDims a, MatrixDims b) {
  constexpr std::int64_t kUnknown = PartialShape::kUnknown;
  const auto rows_a = a[a.size() - 2], columns_a = a[a.size() - 1], rows_b = b[b.size() - 2],
             columns_b = b[b.size() - 1];
  const std::int64_t k_a = form.transpose_a ? rows_a : columns_a, k_b = form.transpose_b ? columns_b : rows_b;
  if (k_a != kUnknown && k_b != kUnknown && k_a != k_b) {
    throw invalid_argument("inner dimensions differ: ", describe(form.a, dtype, a, form.transpose_a), ", ",
                           describe(form.b, dtype, b, form.transpose_b))
        .hint(internal::concat("Give ", form.b, ' ', k_a, form.transpose_b ? " columns" : " rows", ", or transpose."));
  }
  return {
      .m = form.transpose_a ? columns_a : rows_a, .n = form.transpose_b ? rows_b : columns_b, .k = std::max(k_a, k_b)};
}

void check_is_matrix(const std::string& name, DType dtype, MatrixDims dims) {
  if (dims.size() == 2) return;
  throw invalid_argument(describe(name, dtype, dims, false), " is no matrix")
      .hint("Use matmul(), which makes a BatchMatMulV2 of tensors of more dimensions.");
}

kernels::GemmShape gemm_shape(const MatMulForm& form, const ProductSize& size) {
  kernels::GemmShape shape;
  shape.m = size.m;
  shape.n = size.n;
  shape.k = size.k;
  shape.transpose_a = form.transpose_a;
  shape.transpose_b = form.transpose_b;
  shape.conjugate_a = form.adjoint && form.transpose_a;
  shape.conjugate_b = form.adjoint && form.transpose_b;
  return shape;
}

}  // namespace caudal::inline v0
