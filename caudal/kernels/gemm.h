// Matrix products.
//
//   C[m,n] = alpha * op(A)[m,k] * op(B)[k,n] + beta * C, then + bias[n], then max(., 0), then 0 where !(gate > 0)
//
// All matrices are row-major; op is the identity, the transpose or (complex types) the adjoint. With k = 0 the product
// is zero; with m = 0 or n = 0 nothing happens. With beta = 0, C is not read. float and double go through
// register-tiled kernels for AVX-512 and AVX2; half and bfloat16 are widened to float; all other types, and every type
// on plain machines, go through the reference.
//
// Results depend on the shapes and the instruction set only, not on the number of threads. Thread safety: all functions
// may run at the same time on different outputs. Ownership: memory is the caller's.
#pragma once

#include <cstdint>
#include <memory>

#include "caudal/base/cpu.h"
#include "caudal/base/thread_pool.h"
#include "caudal/tensor/dtype.h"

namespace caudal::inline v0::kernels {

struct GemmShape {
  int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  // Elements between rows as stored; 0 means dense.
  int64_t lda = 0, ldb = 0, ldc = 0;
  // With the transpose of a complex matrix: its adjoint.
  bool conjugate_a = false, conjugate_b = false;
};

struct GemmTail {
  double alpha = 1, beta = 0;
  const void* bias = nullptr;  // n elements of the matrices' type
  bool relu = false;           // not for complex types
  // A matrix of C's shape, type and row distance, or null: the gradient of a ReLU whose input or output it is, fused.
  // In a batch it moves with C. Not for complex types.
  const void* gate = nullptr;
};

// UNIMPLEMENTED for a type that has no arithmetic.
void gemm(ThreadPool& pool, DType dtype, const GemmShape& shape, const void* a, const void* b, void* c,
          const GemmTail& tail = {});
void gemm(ThreadPool& pool, const GemmShape& shape, const float* a, const float* b, float* c,
          const GemmTail& tail = {});
void gemm(ThreadPool& pool, const GemmShape& shape, const double* a, const double* b, double* c,
          const GemmTail& tail = {});

// The same by plain loops: the oracle of the tests and the path of rare types.
void gemm_reference(ThreadPool& pool, DType dtype, const GemmShape& shape, const void* a, const void* b, void* c,
                    const GemmTail& tail = {});

// `batch` products at fixed distances (in elements); a stride of 0 repeats the operand.
struct GemmBatch {
  int64_t count = 1, stride_a = 0, stride_b = 0, stride_c = 0;
};
void batch_gemm(ThreadPool& pool, DType dtype, const GemmBatch& batch, const GemmShape& shape, const void* a,
                const void* b, void* c, const GemmTail& tail = {});

// A right operand in the order in which the float kernels read it, for weights that serve many products.
// Thread safety: const members may be called from many threads.
class PackedB {
 public:
  // Packs op(B)[k,n]; ldb as in GemmShape.
  PackedB(ThreadPool& pool, bool transpose, int64_t k, int64_t n, const float* b, int64_t ldb = 0);
  ~PackedB();
  PackedB(PackedB&&) noexcept;
  PackedB& operator=(PackedB&&) noexcept;

  // Packs new values of the same shape.
  void repack(ThreadPool& pool, const float* b);
  int64_t k() const { return k_; }
  int64_t n() const { return n_; }

 private:
  friend void gemm(ThreadPool&, const GemmShape&, const float*, const PackedB&, float*, const GemmTail&);
  struct Free {
    void operator()(float* data) const;
  };
  Isa isa_;
  bool transpose_;
  int64_t k_, n_, ldb_;
  std::unique_ptr<float, Free> data_;
};

// The product with a packed right operand; shape.n, k must be those of `b` (INVALID_ARGUMENT).
void gemm(ThreadPool& pool, const GemmShape& shape, const float* a, const PackedB& b, float* c,
          const GemmTail& tail = {});

}  // namespace caudal::inline v0::kernels
