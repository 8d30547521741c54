#include "caudal/kernels/gemm.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "caudal/base/error.h"
#include "caudal/kernels/convert.h"
#include "caudal/kernels/gemm_kernels.h"
#include "caudal/kernels/isa.h"
#include "caudal/kernels/scratch.h"

namespace caudal::inline v0::kernels {

template <>
const GemmKernels<float>* gemm_kernels<float>(Isa isa) {
  return isa == Isa::kAvx512 ? gemm_kernels_avx512_float() : isa == Isa::kAvx2 ? gemm_kernels_avx2_float() : nullptr;
}
template <>
const GemmKernels<double>* gemm_kernels<double>(Isa isa) {
  return isa == Isa::kAvx512 ? gemm_kernels_avx512_double() : isa == Isa::kAvx2 ? gemm_kernels_avx2_double() : nullptr;
}

namespace {

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

template <class T>
struct Product {
  int64_t m, n, k;
  Strided<T> a, b;
  T* c;
  int64_t ldc;
  TileTail<T> tail;
  const T* packed = nullptr;  // instead of b
};

template <class T>
Product<T> make_product(const GemmShape& s, const T* a, const T* b, T* c, const GemmTail& tail) {
  const int64_t lda = s.lda != 0 ? s.lda : s.transpose_a ? s.m : s.k;
  const int64_t ldb = s.ldb != 0 ? s.ldb : s.transpose_b ? s.k : s.n;
  const Strided<T> left = s.transpose_a ? Strided<T>{a, 1, lda} : Strided<T>{a, lda, 1};
  const Strided<T> right = s.transpose_b ? Strided<T>{b, 1, ldb} : Strided<T>{b, ldb, 1};
  Product<T> product{s.m, s.n, s.k, left, right, c, s.ldc != 0 ? s.ldc : s.n, {}};
  product.tail.alpha = static_cast<T>(tail.alpha), product.tail.beta = static_cast<T>(tail.beta);
  product.tail.bias = static_cast<const T*>(tail.bias), product.tail.relu = tail.relu;
  product.tail.set_gate(static_cast<const T*>(tail.gate), c);
  return product;
}

// Tasks are rectangles of C: some register tiles high, some panels wide.
struct TaskGrid {
  int64_t row_blocks, panel_blocks, panels;
};

template <class T>
TaskGrid make_grid(const GemmKernels<T>& kernels, const Product<T>& p) {
  constexpr int64_t kMinTaskWork = 1 << 17;  // multiply-adds worth a hand-over between threads
  constexpr int64_t kMinTotal = 5 << 17;     // of a product worth a second thread
  constexpr int64_t kMaxTiles = 16;          // whose rows of A stay in the second cache for a block of k
  constexpr int64_t kTasks = 16;             // enough for an even load
  const int64_t tiles = ceil_div(p.m, kernels.mr), panels = ceil_div(p.n, kernels.nr);
  const double total = static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
  if (total < kMinTotal) return {ceil_div(tiles, kMaxTiles), 1, panels};
  const auto wanted = static_cast<int64_t>(std::clamp(total / kMinTaskWork, 2.0, static_cast<double>(kTasks)));
  const int64_t panel_blocks = std::min(panels, std::max(wanted, panels / 2));
  const int64_t row_blocks = std::min(tiles, std::max(ceil_div(tiles, kMaxTiles), ceil_div(wanted, panel_blocks)));
  return {row_blocks, panel_blocks, panels};
}

// One panel of columns for some rows. A right operand that is not packed goes block by block of k through a small
// panel of this thread, which stays in its caches.
template <class T>
void multiply_columns(const GemmKernels<T>& kernels, int64_t rows, int64_t width, int64_t k, Strided<T> a, Strided<T> b,
                      T* c, int64_t ldc, const TileTail<T>& tail) {
  const int64_t blocks = k_blocks(k, kernels.kc);
  T* panel = thread_scratch_of<T>(ScratchSlot::kPackedB, static_cast<std::size_t>(ceil_div(k, blocks) * kernels.nr));
  for (int64_t block = 0; block < blocks; ++block) {
    const int64_t begin = k * block / blocks, length = k * (block + 1) / blocks - begin;
    const TileTail<T> part = tail_of_block(tail, block == 0, block == blocks - 1);
    const int64_t offset = begin * a.col;
    const Pieces pieces{1, length, &offset};
    const Strided<T> source{b.data + begin * b.row, b.row, b.col};
    if (b.col == 1) {
      kernels.block_and_pack(rows, width, pieces, a, source.data, b.row, panel, c, ldc, part);
    } else {
      kernels.pack(length, width, source, panel);
      kernels.block(rows, width, pieces, a, panel, kernels.nr, c, ldc, part);
    }
  }
}

template <class T>
void run_task(const GemmKernels<T>& kernels, const Product<T>& p, const TaskGrid& grid, int64_t task) {
  const int64_t row_block = task % grid.row_blocks, panel_block = task / grid.row_blocks;
  const int64_t first_row = p.m * row_block / grid.row_blocks, last_row = p.m * (row_block + 1) / grid.row_blocks;
  const int64_t first_panel = grid.panels * panel_block / grid.panel_blocks;
  const int64_t last_panel = grid.panels * (panel_block + 1) / grid.panel_blocks;
  const int64_t rows = last_row - first_row;
  const Strided<T> a{p.a.data + first_row * p.a.row, p.a.row, p.a.col};
  for (int64_t panel = first_panel; panel < last_panel; ++panel) {
    const int64_t column = panel * kernels.nr, width = std::min<int64_t>(kernels.nr, p.n - column);
    T* c = p.c + first_row * p.ldc + column;
    TileTail<T> tail = p.tail;
    if (tail.bias != nullptr) tail.bias += column;
    if (p.packed != nullptr) {
      multiply_panel(kernels, rows, width, p.k, a, p.packed + panel * p.k * kernels.nr, c, p.ldc, tail);
    } else {
      multiply_columns(kernels, rows, width, p.k, a, {p.b.data + column * p.b.col, p.b.row, p.b.col}, c, p.ldc, tail);
    }
  }
}

// One row of A, or one column of B with the roles exchanged: bound by reading the matrix once, so nothing is packed.
template <class T>
void run_row(ThreadPool& pool, const GemmKernels<T>& kernels, const Product<T>& p) {
  const int64_t step = 8 * kernels.nr / 2;
  const int64_t columns = ceil_div(p.n, step);
  const int64_t grain = ceil_div(int64_t{1} << 15, std::max<int64_t>(1, p.k * step));
  pool.parallel_for(columns, grain, [&](int64_t begin, int64_t end) {
    const int64_t first = begin * step, last = std::min(p.n, end * step);
    TileTail<T> tail = p.tail;
    if (tail.bias != nullptr) tail.bias += first;
    kernels.row(last - first, p.k, p.a, {p.b.data + first * p.b.col, p.b.row, p.b.col}, p.c + first, tail);
  });
}

template <class T>
void run(ThreadPool& pool, const GemmKernels<T>& kernels, const Product<T>& p) {
  if (p.m == 0 || p.n == 0) return;
  if (p.m == 1 && p.packed == nullptr) return run_row(pool, kernels, p);
  if (p.n == 1 && p.packed == nullptr && p.ldc == 1 && p.tail.bias == nullptr) {
    const Product<T> swapped{1, p.m, p.k, {p.b.data, p.b.col, p.b.row}, {p.a.data, p.a.col, p.a.row}, p.c, p.m, p.tail};
    return run_row(pool, kernels, swapped);
  }
  const TaskGrid grid = make_grid(kernels, p);
  pool.parallel_for(grid.row_blocks * grid.panel_blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) run_task(kernels, p, grid, task);
  });
}

template <class T>
void typed_gemm(ThreadPool& pool, const GemmShape& shape, const T* a, const T* b, T* c, const GemmTail& tail) {
  const GemmKernels<T>* kernels = gemm_kernels<T>(kernel_isa());
  if (kernels == nullptr) return gemm_reference(pool, dtype_of<T>(), shape, a, b, c, tail);
  run(pool, *kernels, make_product(shape, a, b, c, tail));
}

// half and bfloat16: widened to float, which rounds once at the end where the reference does too.
void narrow_gemm(ThreadPool& pool, DType dtype, GemmShape shape, const void* a, const void* b, void* c,
                 const GemmTail& tail) {
  if (shape.lda != 0 || shape.ldb != 0 || shape.ldc != 0) return gemm_reference(pool, dtype, shape, a, b, c, tail);
  const int64_t results = shape.m * shape.n;
  const int64_t counts[5] = {shape.m * shape.k, shape.k * shape.n, tail.bias != nullptr ? shape.n : 0, results,
                             tail.gate != nullptr ? results : 0};
  const auto total = static_cast<std::size_t>(counts[0] + counts[1] + counts[2] + counts[3] + counts[4]);
  auto* wide_a = thread_scratch_of<float>(ScratchSlot::kConvert, total);
  float* wide_b = wide_a + counts[0];
  float* wide_bias = wide_b + counts[1];
  float* wide_c = wide_bias + counts[2];
  float* wide_gate = wide_c + counts[3];
  widen(pool, dtype, a, wide_a, counts[0]);
  widen(pool, dtype, b, wide_b, counts[1]);
  GemmTail wide_tail = tail;
  if (tail.bias != nullptr) {
    widen(pool, dtype, tail.bias, wide_bias, counts[2]);
    wide_tail.bias = wide_bias;
  }
  if (tail.gate != nullptr) {
    widen(pool, dtype, tail.gate, wide_gate, counts[4]);
    wide_tail.gate = wide_gate;
  }
  if (tail.beta != 0) widen(pool, dtype, c, wide_c, counts[3]);
  gemm(pool, shape, wide_a, wide_b, wide_c, wide_tail);
  narrow(pool, dtype, wide_c, c, counts[3]);
}

}  // namespace

void gemm(ThreadPool& pool, const GemmShape& shape, const float* a, const float* b, float* c, const GemmTail& tail) {
  typed_gemm(pool, shape, a, b, c, tail);
}
void gemm(ThreadPool& pool, const GemmShape& shape, const double* a, const double* b, double* c, const GemmTail& tail) {
  typed_gemm(pool, shape, a, b, c, tail);
}

void gemm(ThreadPool& pool, DType dtype, const GemmShape& shape, const void* a, const void* b, void* c,
          const GemmTail& tail) {
  switch (dtype) {
    case DType::kFloat:
      return gemm(pool, shape, static_cast<const float*>(a), static_cast<const float*>(b), static_cast<float*>(c),
                  tail);
    case DType::kDouble:
      return gemm(pool, shape, static_cast<const double*>(a), static_cast<const double*>(b), static_cast<double*>(c),
                  tail);
    case DType::kHalf:
    case DType::kBFloat16:
      return narrow_gemm(pool, dtype, shape, a, b, c, tail);
    default:
      return gemm_reference(pool, dtype, shape, a, b, c, tail);
  }
}

void batch_gemm(ThreadPool& pool, DType dtype, const GemmBatch& batch, const GemmShape& shape, const void* a,
                const void* b, void* c, const GemmTail& tail) {
  const auto size = static_cast<int64_t>(dtype_size(dtype));
  const auto product = [&](int64_t i) {
    GemmTail part = tail;
    if (tail.gate != nullptr) part.gate = static_cast<const char*>(tail.gate) + i * batch.stride_c * size;
    gemm(pool, dtype, shape, static_cast<const char*>(a) + i * batch.stride_a * size,
         static_cast<const char*>(b) + i * batch.stride_b * size, static_cast<char*>(c) + i * batch.stride_c * size,
         part);
  };
  const bool converts = dtype == DType::kHalf || dtype == DType::kBFloat16;
  if (batch.count < 4 || converts) {  // conversion holds scratch while it runs a loop of its own
    for (int64_t i = 0; i < batch.count; ++i) product(i);
    return;
  }
  const int64_t grain = 1 + (int64_t{1} << 17) / (1 + shape.m * shape.n * shape.k);
  pool.parallel_for(batch.count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) product(i);
  });
}

void PackedB::Free::operator()(float* data) const { std::free(data); }
PackedB::~PackedB() = default;
PackedB::PackedB(PackedB&&) noexcept = default;
PackedB& PackedB::operator=(PackedB&&) noexcept = default;

PackedB::PackedB(ThreadPool& pool, bool transpose, int64_t k, int64_t n, const float* b, int64_t ldb)
    : isa_(kernel_isa()),
      transpose_(transpose),
      k_(k),
      n_(n),
      ldb_(ldb != 0    ? ldb
           : transpose ? k
                       : n) {
  const GemmKernels<float>* kernels = gemm_kernels<float>(isa_);
  const int64_t elements = kernels != nullptr ? packed_elements(*kernels, k, n) : k * n;
  const std::size_t bytes = (static_cast<std::size_t>(elements) * sizeof(float) + 63) / 64 * 64;
  data_.reset(static_cast<float*>(std::aligned_alloc(64, std::max<std::size_t>(bytes, 64))));
  if (data_ == nullptr) throw resource_exhausted("no memory for packed weights of ", bytes, " bytes");
  repack(pool, b);
}

void PackedB::repack(ThreadPool& pool, const float* b) {
  const Strided<float> source = transpose_ ? Strided<float>{b, 1, ldb_} : Strided<float>{b, ldb_, 1};
  const GemmKernels<float>* kernels = gemm_kernels<float>(isa_);
  if (kernels == nullptr) {
    for (int64_t p = 0; p < k_; ++p) {
      for (int64_t j = 0; j < n_; ++j) data_.get()[p * n_ + j] = b[p * source.row + j * source.col];
    }
    return;
  }
  const int64_t grain = 1 + 32768 / (1 + k_ * kernels->nr);
  pool.parallel_for(ceil_div(n_, kernels->nr), grain, [&](int64_t begin, int64_t end) {
    pack_panels(*kernels, k_, n_, source, begin, end, data_.get());
  });
}

void gemm(ThreadPool& pool, const GemmShape& shape, const float* a, const PackedB& b, float* c, const GemmTail& tail) {
  if (shape.n != b.n_ || shape.k != b.k_) {
    throw invalid_argument("packed matrix is [", b.k_, ",", b.n_, "], the product wants [", shape.k, ",", shape.n, "]");
  }
  GemmShape plain = shape;
  plain.transpose_b = false, plain.ldb = 0;
  const GemmKernels<float>* kernels = gemm_kernels<float>(b.isa_);
  if (kernels == nullptr) return gemm_reference(pool, DType::kFloat, plain, a, b.data_.get(), c, tail);
  Product<float> product = make_product<float>(plain, a, nullptr, c, tail);
  product.packed = b.data_.get();
  run(pool, *kernels, product);
}

}  // namespace caudal::inline v0::kernels
