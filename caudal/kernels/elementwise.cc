#include "caudal/kernels/elementwise.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "caudal/kernels/convert.h"
#include "caudal/kernels/elementwise_tables.h"
#include "caudal/kernels/isa.h"
#include "caudal/kernels/scratch.h"

namespace caudal::inline v0::kernels {
namespace {

constexpr int64_t kNarrowBlock = 1024;  // elements of half widened at a time
constexpr int64_t kGrainBytes = 65536;  // traffic worth a hand-over between threads

bool is_narrow(DType dtype) { return dtype == DType::kHalf || dtype == DType::kBFloat16; }

BinaryLoop::Fn plain_binary(BinaryOp op, DType dtype) {
  if (is_floating(dtype)) return plain_binary_float(op, dtype);
  if (is_complex(dtype)) return plain_binary_complex(op, dtype);
  return plain_binary_integer(op, dtype);
}

UnaryLoop::Fn fast_unary(UnaryOp op) {
  const Isa isa = kernel_isa();
  return isa == Isa::kAvx512 ? unary_avx512(op) : isa == Isa::kAvx2 ? unary_avx2(op) : nullptr;
}
BinaryLoop::Fn fast_binary(BinaryOp op) {
  const Isa isa = kernel_isa();
  return isa == Isa::kAvx512 ? binary_avx512(op) : isa == Isa::kAvx2 ? binary_avx2(op) : nullptr;
}

}  // namespace

void UnaryLoop::operator()(const void* in, void* out, int64_t n) const {
  if (narrow_in_ == DType::kInvalid) return fn_(in, out, n, parameter_);
  float wide[kNarrowBlock], result[kNarrowBlock];
  const auto* source = static_cast<const uint16_t*>(in);
  for (int64_t done = 0; done < n; done += kNarrowBlock) {
    const int64_t count = std::min(kNarrowBlock, n - done);
    widen(narrow_in_, source + done, wide, count);
    if (narrow_out_ == DType::kInvalid) {  // a predicate
      fn_(wide, static_cast<bool*>(out) + done, count, parameter_);
    } else {
      fn_(wide, result, count, parameter_);
      narrow(narrow_out_, result, static_cast<uint16_t*>(out) + done, count);
    }
  }
}

bool BinaryLoop::operator()(const void* a, int64_t stride_a, const void* b, int64_t stride_b, void* out,
                            int64_t n) const {
  if (narrow_in_ == DType::kInvalid) return fn_(a, stride_a, b, stride_b, out, n, parameter_);
  float wide_a[kNarrowBlock], wide_b[kNarrowBlock], result[kNarrowBlock];
  const auto* left = static_cast<const uint16_t*>(a);
  const auto* right = static_cast<const uint16_t*>(b);
  if (n > 0 && stride_a == 0) widen(narrow_in_, left, wide_a, 1);
  if (n > 0 && stride_b == 0) widen(narrow_in_, right, wide_b, 1);
  bool good = true;
  for (int64_t done = 0; done < n; done += kNarrowBlock) {
    const int64_t count = std::min(kNarrowBlock, n - done);
    if (stride_a != 0) widen(narrow_in_, left + done, wide_a, count);
    if (stride_b != 0) widen(narrow_in_, right + done, wide_b, count);
    if (narrow_out_ == DType::kInvalid) {
      good &= fn_(wide_a, stride_a, wide_b, stride_b, static_cast<bool*>(out) + done, count, parameter_);
    } else {
      good &= fn_(wide_a, stride_a, wide_b, stride_b, result, count, parameter_);
      narrow(narrow_out_, result, static_cast<uint16_t*>(out) + done, count);
    }
  }
  return good;
}

DType unary_result(UnaryOp op, DType dtype) {
  return op >= UnaryOp::kIsNan && op <= UnaryOp::kLogicalNot ? DType::kBool : dtype;
}

DType binary_result(BinaryOp op, DType dtype) {
  return op >= BinaryOp::kLess && op <= BinaryOp::kLogicalOr ? DType::kBool : dtype;
}

UnaryLoop find_unary_reference(UnaryOp op, DType dtype, double parameter) {
  UnaryLoop loop;
  loop.fn_ = plain_unary(op, is_narrow(dtype) ? DType::kFloat : dtype);
  loop.parameter_ = parameter;
  if (is_narrow(dtype)) {
    loop.narrow_in_ = dtype;
    if (unary_result(op, dtype) == dtype) loop.narrow_out_ = dtype;
  }
  return loop;
}

UnaryLoop find_unary(UnaryOp op, DType dtype, double parameter) {
  UnaryLoop loop = find_unary_reference(op, dtype, parameter);
  if (dtype == DType::kFloat || is_narrow(dtype)) {
    if (UnaryLoop::Fn fast = fast_unary(op)) loop.fn_ = fast;
  }
  return loop;
}

BinaryLoop find_binary_reference(BinaryOp op, DType dtype, double parameter) {
  BinaryLoop loop;
  loop.fn_ = plain_binary(op, is_narrow(dtype) ? DType::kFloat : dtype);
  if (loop.fn_ == nullptr) return loop;
  loop.parameter_ = parameter;
  loop.input_size_ = static_cast<int32_t>(dtype_size(dtype));
  loop.output_size_ = static_cast<int32_t>(dtype_size(binary_result(op, dtype)));
  if (is_narrow(dtype)) {
    loop.narrow_in_ = dtype;
    if (binary_result(op, dtype) == dtype) loop.narrow_out_ = dtype;
  }
  return loop;
}

BinaryLoop find_binary(BinaryOp op, DType dtype, double parameter) {
  BinaryLoop loop = find_binary_reference(op, dtype, parameter);
  if (dtype == DType::kFloat || is_narrow(dtype)) {
    if (BinaryLoop::Fn fast = fast_binary(op)) loop.fn_ = fast;
  }
  return loop;
}

void run_unary(ThreadPool& pool, const UnaryLoop& loop, const void* in, int64_t in_size, void* out, int64_t out_size,
               int64_t n) {
  pool.parallel_for(n, kGrainBytes / in_size, [&](int64_t begin, int64_t end) {
    loop(static_cast<const char*>(in) + begin * in_size, static_cast<char*>(out) + begin * out_size, end - begin);
  });
}

namespace {

// The iteration space with neighbouring dimensions merged where both operands allow it, innermost first. Strides count
// elements; 0 repeats.
struct Space {
  static constexpr int kMaxRank = 32;
  int rank = 0;
  std::array<int64_t, kMaxRank> size{}, stride_a{}, stride_b{};
};

Space make_space(Dims a, Dims b, Dims out) {
  Space space;
  int64_t next_a = 1, next_b = 1;
  for (std::size_t i = 0; i < out.size(); ++i) {  // i counts from the innermost dimension
    const int64_t size = out[out.size() - 1 - i];
    const int64_t size_a = i < a.size() ? a[a.size() - 1 - i] : 1, size_b = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (size == 1) continue;
    const int64_t stride_a = size_a == 1 ? 0 : next_a, stride_b = size_b == 1 ? 0 : next_b;
    next_a *= size_a, next_b *= size_b;
    const int last = space.rank - 1;
    const auto continues = [&](const std::array<int64_t, Space::kMaxRank>& strides, int64_t stride) {
      return strides[last] == 0 ? stride == 0 : stride == strides[last] * space.size[last];
    };
    if (last >= 0 && continues(space.stride_a, stride_a) && continues(space.stride_b, stride_b)) {
      space.size[last] *= size;
    } else {
      if (space.rank == Space::kMaxRank) break;
      space.size[space.rank] = size, space.stride_a[space.rank] = stride_a, space.stride_b[space.rank] = stride_b;
      ++space.rank;
    }
  }
  if (space.rank == 0) space.rank = 1, space.size[0] = 1;
  return space;
}

// Rows [begin, end) of the space; a row is its innermost dimension.
bool run_rows(const Space& space, const BinaryLoop& loop, const char* a, const char* b, char* out, int64_t begin,
              int64_t end) {
  std::array<int64_t, Space::kMaxRank> index{};
  int64_t rest = begin, at_a = 0, at_b = 0;
  for (int d = 1; d < space.rank; ++d) {
    index[d] = rest % space.size[d], rest /= space.size[d];
    at_a += index[d] * space.stride_a[d], at_b += index[d] * space.stride_b[d];
  }
  bool good = true;
  const int64_t row_bytes = space.size[0] * loop.output_size();
  for (int64_t row = begin; row < end; ++row) {
    good &= loop(a + at_a * loop.input_size(), space.stride_a[0], b + at_b * loop.input_size(), space.stride_b[0],
                 out + row * row_bytes, space.size[0]);
    for (int d = 1; d < space.rank; ++d) {
      at_a += space.stride_a[d], at_b += space.stride_b[d];
      if (++index[d] < space.size[d]) break;
      at_a -= space.stride_a[d] * space.size[d], at_b -= space.stride_b[d] * space.size[d];
      index[d] = 0;
    }
  }
  return good;
}

// True if one operand is a short row repeated for every row of the other, dense one: a bias.
bool repeats_short_row(const Space& space, const std::array<int64_t, Space::kMaxRank>& dense,
                       const std::array<int64_t, Space::kMaxRank>& repeated) {
  return space.rank == 2 && space.size[0] < 128 && dense[0] == 1 && dense[1] == space.size[0] && repeated[0] == 1 &&
         repeated[1] == 0;
}

// Rows [begin, end) of such a space: the short row is written out some times, so that the loop runs over long rows.
bool run_short_rows(const Space& space, const BinaryLoop& loop, const char* a, const char* b, char* out, int64_t begin,
                    int64_t end) {
  const bool b_repeats = space.stride_b[1] == 0;
  const int64_t width = space.size[0], row_bytes = width * loop.input_size();
  const int64_t copies = std::min(end - begin, 1 + 1024 / width);
  char* rows = thread_scratch_of<char>(ScratchSlot::kSlab, static_cast<std::size_t>(copies * row_bytes));
  for (int64_t i = 0; i < copies; ++i)
    std::memcpy(rows + i * row_bytes, b_repeats ? b : a, static_cast<std::size_t>(row_bytes));
  bool good = true;
  for (int64_t row = begin; row < end; row += copies) {
    const int64_t count = std::min(copies, end - row);
    const char* left = b_repeats ? a + row * row_bytes : rows;
    const char* right = b_repeats ? rows : b + row * row_bytes;
    good &= loop(left, 1, right, 1, out + row * width * loop.output_size(), count * width);
  }
  return good;
}

}  // namespace

bool broadcast_binary(ThreadPool& pool, const BinaryLoop& loop, const void* a, Dims a_dims, const void* b, Dims b_dims,
                      void* out, Dims out_dims) {
  int64_t total = 1;
  for (const int64_t size : out_dims) total *= size;
  if (total == 0) return true;
  const Space space = make_space(a_dims, b_dims, out_dims);
  std::atomic<bool> good{true};
  const auto* left = static_cast<const char*>(a);
  const auto* right = static_cast<const char*>(b);
  auto* target = static_cast<char*>(out);
  const int64_t grain = std::max<int64_t>(1, kGrainBytes / loop.input_size());
  if (space.rank == 1) {
    pool.parallel_for(space.size[0], grain, [&](int64_t begin, int64_t end) {
      if (!loop(left + begin * space.stride_a[0] * loop.input_size(), space.stride_a[0],
                right + begin * space.stride_b[0] * loop.input_size(), space.stride_b[0],
                target + begin * loop.output_size(), end - begin)) {
        good.store(false, std::memory_order_relaxed);
      }
    });
  } else {
    const bool short_rows = repeats_short_row(space, space.stride_a, space.stride_b) ||
                            repeats_short_row(space, space.stride_b, space.stride_a);
    const auto run = short_rows ? run_short_rows : run_rows;
    pool.parallel_for(total / space.size[0], 1 + grain / space.size[0], [&](int64_t begin, int64_t end) {
      if (!run(space, loop, left, right, target, begin, end)) good.store(false, std::memory_order_relaxed);
    });
  }
  return good.load(std::memory_order_relaxed);
}

}  // namespace caudal::inline v0::kernels
