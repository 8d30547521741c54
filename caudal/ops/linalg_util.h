// What the families of linear algebra share: batches of matrices, shapes, and half in float.
// Thread safety: functions of values are pure; kernels are re-entrant.
#pragma once

#include <complex>
#include <memory>
#include <string>
#include <vector>

#include "caudal/core/kernel.h"
#include "caudal/core/shape_context.h"
#include "caudal/kernels/cast.h"
#include "caudal/kernels/dispatch.h"

namespace caudal::inline v0 {

using FactorTypes = kernels::TypeList<float, double, std::complex<float>, std::complex<double>>;

// The shape of input i as a batch of square matrices. Throws INVALID_ARGUMENT if it is none.
PartialShape square_matrices(ShapeContext& context, int i);
// All but the last `trailing` dimensions. REQUIRES: the rank is known.
PartialShape batch_dims(const PartialShape& shape, int trailing = 2);
PartialShape with_dims(const PartialShape& batch, std::initializer_list<std::int64_t> dims);
// The lesser of two sizes, where that is known.
std::int64_t least_dim(std::int64_t a, std::int64_t b);
// Shape functions: the input, which must be square matrices; their batch.
void square_matrices_shape(ShapeContext& context);
void batch_of_square_shape(ShapeContext& context);

// A tensor as a batch of matrices. Throws INVALID_ARGUMENT for fewer than two dimensions.
struct MatrixBatch {
  MatrixBatch(const Tensor& t, const char* what);
  // The same, of square matrices only.
  static MatrixBatch square(const Tensor& t, const char* what);
  Shape batch;
  std::int64_t count, rows, cols;
};

// Where matrix `index` of `batch` lies in an operand that is broadcast to it.
std::int64_t batch_position(const Shape& batch, const Shape& own, std::int64_t index);

// Runs fn(b) for every matrix of a batch, in parallel; `cost`: elements of one.
template <class Fn>
void for_each_matrix(RunContext& c, std::int64_t count, std::int64_t cost, Fn&& fn) {
  if (count == 1) return fn(0);
  c.pool().parallel_for(count, 1 + 512 / std::max<std::int64_t>(cost, 1), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) fn(b);
  });
}

// The Hermitian conjugate of a[rows, cols].
template <class T>
void adjoint_into(const T* a, std::int64_t rows, std::int64_t cols, T* out) {
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < cols; ++j) {
      if constexpr (std::is_floating_point_v<T>) {
        out[j * rows + i] = a[i * cols + j];
      } else {
        out[j * rows + i] = std::conj(a[i * cols + j]);
      }
    }
  }
}

// Input i, half as float; outputs go the other way. So kernels are written for FactorTypes only.
Tensor wide_input(RunContext& context, int i);
// Memory for output i in the type that the kernel computes in; finish_output() hands it over.
Tensor wide_output(RunContext& context, int i, const Shape& shape);
void finish_output(RunContext& context, int i, const Tensor& wide);

// A kernel from a template over FactorTypes: `.cpu = prepare_factor<Inverse>` where Inverse::run<T>(RunContext&).
// half (and bfloat16) only where the family says so.
template <class Body, bool narrow = false>
std::unique_ptr<Kernel> prepare_factor(PrepareContext& c) {
  DType dtype = c.input_type(0);
  if (narrow && (dtype == DType::kHalf || dtype == DType::kBFloat16)) dtype = DType::kFloat;
  std::unique_ptr<Kernel> kernel;
  kernels::dispatch(FactorTypes{}, dtype, "the op", [&]<class T>() { kernel = kernel_of<Body::template run<T>>(c); });
  return kernel;
}

}  // namespace caudal::inline v0
