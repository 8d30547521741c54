// How matrix product ops read their operands, and the sizes that come of it.
//
// Thread safety: values.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "caudal/core/node_info.h"
#include "caudal/kernels/gemm.h"
#include "caudal/tensor/dtype.h"

namespace caudal::inline v0 {

struct MatMulForm {
  std::string a, b;  // names of the arguments
  bool transpose_a = false, transpose_b = false;
  bool adjoint = false;  // transposed operands are conjugated too

  // Of a node of the MatMul (transpose_a, transpose_b) or BatchMatMul kind (adj_x, adj_y).
  explicit MatMulForm(const NodeInfo& node);
};

struct ProductSize {
  std::int64_t m, n, k;
};

using MatrixDims = std::span<const std::int64_t>;

bool is_batch_matmul(const std::string& op);

// Sizes of the product of the last two dimensions, PartialShape::kUnknown where unknown. Throws INVALID_ARGUMENT if the
// inner dimensions differ. REQUIRES: both have at least two.
ProductSize product_size(const MatMulForm& form, DType dtype, MatrixDims a, MatrixDims b);

// Throws INVALID_ARGUMENT unless there are two dimensions.
void check_is_matrix(const std::string& name, DType dtype, MatrixDims dims);

kernels::GemmShape gemm_shape(const MatMulForm& form, const ProductSize& size);

}  // namespace caudal::inline v0
