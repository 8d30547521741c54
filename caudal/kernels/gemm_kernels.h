// Inside of gemm: the table of register-tile kernels per instruction set, and a serial product built on it that
// convolutions use for their slabs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "caudal/base/cpu.h"

namespace caudal::inline v0::kernels {

// What happens to a tile's sums on their way to C.
template <class T>
struct TileTail {
  T alpha = 1, beta = 0;    // C is read only if beta is not 0
  const T* bias = nullptr;  // of the tile's first column
  bool relu = false;
  // Last of all the result becomes 0 where the gate, a matrix laid out like C, is not above 0. Kept as the way from C
  // to it, which is the same at every element.
  bool gated = false;
  std::ptrdiff_t to_gate = 0;  // bytes

  void set_gate(const T* gate, const T* c) {
    gated = gate != nullptr;
    to_gate = gated ? reinterpret_cast<const char*>(gate) - reinterpret_cast<const char*>(c) : 0;
  }
  const T* gate_of(const T* c) const {
    return reinterpret_cast<const T*>(reinterpret_cast<std::uintptr_t>(c) + static_cast<std::uintptr_t>(to_gate));
  }
};

// An operand by strides: element (i, j) is data[i * row + j * col].
template <class T>
struct Strided {
  const T* data = nullptr;
  int64_t row = 0, col = 1;
};

// The inner dimension in pieces: piece s is the `length` elements of A at distance offsets[s], one a.col apart. A
// matrix has one piece; the patch of a convolution has one per row of the filter.
struct Pieces {
  int64_t count = 1, length = 0;
  const int64_t* offsets = nullptr;
};

template <class T>
struct GemmKernels {
  int mr = 0, nr = 0;  // rows and columns of a register tile
  int width = 0;       // elements of a vector
  // Longest stretch of k for which a packed panel stays in the first caches.
  int64_t kc = 512;
  // Copies b[k, n <= nr] to panel[k][nr], padded with zeros.
  void (*pack)(int64_t k, int64_t n, Strided<T> b, T* panel) = nullptr;
  // C[rows, n <= nr] = tail(A[rows, pieces] * B), where B has a row of n elements, readable to the next full vector,
  // every b_stride elements.
  void (*block)(int64_t rows, int64_t n, const Pieces& pieces, Strided<T> a, const T* b, int64_t b_stride, T* c,
                int64_t ldc, const TileTail<T>& tail) = nullptr;
  // The same with B read in place, no further than column n, and copied to panel[][nr] for the rows after the first
  // tile. REQUIRES: one piece.
  void (*block_and_pack)(int64_t rows, int64_t n, const Pieces& pieces, Strided<T> a, const T* b, int64_t b_stride,
                         T* panel, T* c, int64_t ldc, const TileTail<T>& tail) = nullptr;
  // C[n] = tail(a[k] * B[k, n]) with B in place; a has stride a.col.
  void (*row)(int64_t n, int64_t k, Strided<T> a, Strided<T> b, T* c, const TileTail<T>& tail) = nullptr;
  // to[r * to_stride + i] += from[r * from_stride + i] for r < rows, i < n.
  void (*add_rows)(int64_t rows, int64_t n, const T* from, int64_t from_stride, T* to, int64_t to_stride) = nullptr;
};

// Null for kPlain.
template <class T>
const GemmKernels<T>* gemm_kernels(Isa isa);

const GemmKernels<float>* gemm_kernels_avx2_float();
const GemmKernels<double>* gemm_kernels_avx2_double();
const GemmKernels<float>* gemm_kernels_avx512_float();
const GemmKernels<double>* gemm_kernels_avx512_double();

// k is cut into equal blocks of at most kc.
inline int64_t k_blocks(int64_t k, int64_t kc) { return k <= kc ? 1 : (k + kc - 1) / kc; }

// Elements of all panels of a packed [k, n].
template <class T>
int64_t packed_elements(const GemmKernels<T>& kernels, int64_t k, int64_t n) {
  return (n + kernels.nr - 1) / kernels.nr * kernels.nr * k;
}

// Packs panels [first, last) of B[k, n]; panel p begins at packed + p * k * nr.
template <class T>
void pack_panels(const GemmKernels<T>& kernels, int64_t k, int64_t n, Strided<T> b, int64_t first, int64_t last,
                 T* packed) {
  for (int64_t p = first; p < last; ++p) {
    const int64_t column = p * kernels.nr;
    const int64_t width = n - column < kernels.nr ? n - column : kernels.nr;
    kernels.pack(k, width, {b.data + column * b.col, b.row, b.col}, packed + p * k * kernels.nr);
  }
}

// The tail of one of the blocks of k.
template <class T>
TileTail<T> tail_of_block(const TileTail<T>& tail, bool first, bool last) {
  TileTail<T> part = tail;
  if (!first) part.beta = T{1};
  if (!last) part.bias = nullptr, part.relu = false, part.gated = false;
  return part;
}

// C[rows, n] = tail(A[rows, k] * panel) for one panel, with k blocked. REQUIRES: n <= nr, k > 0.
template <class T>
void multiply_panel(const GemmKernels<T>& kernels, int64_t rows, int64_t n, int64_t k, Strided<T> a, const T* panel,
                    T* c, int64_t ldc, const TileTail<T>& tail) {
  const int64_t blocks = k_blocks(k, kernels.kc);
  for (int64_t block = 0; block < blocks; ++block) {
    const int64_t begin = k * block / blocks, end = k * (block + 1) / blocks;
    const TileTail<T> part = tail_of_block(tail, block == 0, block == blocks - 1);
    const int64_t offset = begin * a.col;
    kernels.block(rows, n, {1, end - begin, &offset}, a, panel + begin * kernels.nr, kernels.nr, c, ldc, part);
  }
}

// C[rows, n] = tail(A[rows, k] * packed) on the calling thread. REQUIRES: k > 0.
template <class T>
void multiply_packed(const GemmKernels<T>& kernels, int64_t rows, int64_t n, int64_t k, Strided<T> a, const T* packed,
                     T* c, int64_t ldc, const TileTail<T>& tail) {
  for (int64_t column = 0; column < n; column += kernels.nr) {
    const int64_t width = n - column < kernels.nr ? n - column : kernels.nr;
    TileTail<T> part = tail;
    if (part.bias != nullptr) part.bias += column;
    multiply_panel(kernels, rows, width, k, a, packed + column * k, c + column, ldc, part);
  }
}

}  // namespace caudal::inline v0::kernels
