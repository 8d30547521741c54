#include "caudal/kernels/copy.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "caudal/base/error.h"
#include "caudal/kernels/dispatch.h"

namespace caudal::inline v0::kernels {
namespace {

constexpr int64_t kGrainBytes = 65536;

// An index space, innermost dimension first; strides in bytes.
struct Space {
  static constexpr int kMaxRank = 32;
  int rank = 0;
  std::array<int64_t, kMaxRank> size{}, in{}, out{};
};

Space make_space(int64_t element_size, Dims sizes, Dims in_strides, Dims out_strides) {
  Space space;
  for (std::size_t d = sizes.size(); d-- > 0;) {
    if (sizes[d] == 1) continue;
    const int64_t in = in_strides[d] * element_size, out = out_strides[d] * element_size;
    const int last = space.rank - 1;
    if (last >= 0 && in == space.in[last] * space.size[last] && out == space.out[last] * space.size[last]) {
      space.size[last] *= sizes[d];
      continue;
    }
    if (space.rank == Space::kMaxRank) throw unimplemented("copy of more than 32 dimensions");
    space.size[space.rank] = sizes[d], space.in[space.rank] = in, space.out[space.rank] = out;
    ++space.rank;
  }
  if (space.rank == 0) space.rank = 1, space.size[0] = 1, space.in[0] = space.out[0] = element_size;
  return space;
}

using RowCopy = void (*)(const char* in, int64_t in_stride, char* out, int64_t out_stride, int64_t n, int64_t size);

template <int kSize>
void copy_elements(const char* in, int64_t in_stride, char* out, int64_t out_stride, int64_t n, int64_t) {
  for (int64_t i = 0; i < n; ++i) std::memcpy(out + i * out_stride, in + i * in_stride, kSize);
}
void copy_any(const char* in, int64_t in_stride, char* out, int64_t out_stride, int64_t n, int64_t size) {
  for (int64_t i = 0; i < n; ++i) std::memcpy(out + i * out_stride, in + i * in_stride, static_cast<std::size_t>(size));
}
void copy_run(const char* in, int64_t, char* out, int64_t, int64_t n, int64_t size) {
  std::memcpy(out, in, static_cast<std::size_t>(n * size));
}

RowCopy row_copy(int64_t element_size, int64_t in_stride, int64_t out_stride) {
  if (in_stride == element_size && out_stride == element_size) return copy_run;
  switch (element_size) {
    case 1:
      return copy_elements<1>;
    case 2:
      return copy_elements<2>;
    case 4:
      return copy_elements<4>;
    case 8:
      return copy_elements<8>;
    case 16:
      return copy_elements<16>;
    default:
      return copy_any;
  }
}

// Calls fn(index, in, out) for rows [begin, end) of the dimensions from `first_dim` on.
template <class Fn>
void walk(const Space& space, int first_dim, const char* in, char* out, int64_t begin, int64_t end, Fn&& fn) {
  std::array<int64_t, Space::kMaxRank> index{};
  int64_t rest = begin;
  for (int d = first_dim; d < space.rank; ++d) {
    index[d] = rest % space.size[d], rest /= space.size[d];
    in += index[d] * space.in[d], out += index[d] * space.out[d];
  }
  for (int64_t row = begin; row < end; ++row) {
    fn(in, out);
    for (int d = first_dim; d < space.rank; ++d) {
      in += space.in[d], out += space.out[d];
      if (++index[d] < space.size[d]) break;
      in -= space.in[d] * space.size[d], out -= space.out[d] * space.size[d];
      index[d] = 0;
    }
  }
}

int64_t outer_count(const Space& space, int first_dim) {
  int64_t n = 1;
  for (int d = first_dim; d < space.rank; ++d) n *= space.size[d];
  return n;
}

void copy_rows(ThreadPool& pool, const Space& space, int64_t element_size, const char* in, char* out) {
  const RowCopy copy = row_copy(element_size, space.in[0], space.out[0]);
  if (space.rank == 1) {
    pool.parallel_for(space.size[0], std::max<int64_t>(1, kGrainBytes / element_size), [&](int64_t begin, int64_t end) {
      copy(in + begin * space.in[0], space.in[0], out + begin * space.out[0], space.out[0], end - begin, element_size);
    });
    return;
  }
  const int64_t grain = 1 + kGrainBytes / (space.size[0] * element_size);
  pool.parallel_for(outer_count(space, 1), grain, [&](int64_t begin, int64_t end) {
    walk(space, 1, in, out, begin, end,
         [&](const char* from, char* to) { copy(from, space.in[0], to, space.out[0], space.size[0], element_size); });
  });
}

// The output runs along one dimension, the input along another: square blocks keep both in cache lines.
void copy_crossed(ThreadPool& pool, const Space& space, int64_t element_size, const char* in, char* out) {
  constexpr int64_t kBlock = 16;
  const RowCopy copy = row_copy(element_size, space.in[0], space.out[0]);
  const int64_t blocks = (space.size[1] + kBlock - 1) / kBlock;
  const int64_t grain = 1 + kGrainBytes / (space.size[0] * kBlock * element_size);
  pool.parallel_for(outer_count(space, 2) * blocks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t first = task % blocks * kBlock, rows = std::min(kBlock, space.size[1] - first);
      walk(space, 2, in, out, task / blocks, task / blocks + 1, [&](const char* from, char* to) {
        from += first * space.in[1], to += first * space.out[1];
        for (int64_t column = 0; column < space.size[0]; column += kBlock) {
          const int64_t width = std::min(kBlock, space.size[0] - column);
          for (int64_t r = 0; r < rows; ++r) {
            copy(from + r * space.in[1] + column * space.in[0], space.in[0],
                 to + r * space.out[1] + column * space.out[0], space.out[0], width, element_size);
          }
        }
      });
    }
  });
}

}  // namespace

std::vector<int64_t> dense_strides(Dims dims) {
  std::vector<int64_t> strides(dims.size());
  int64_t stride = 1;
  for (std::size_t d = dims.size(); d-- > 0;) strides[d] = stride, stride *= dims[d];
  return strides;
}

void copy_strided(ThreadPool& pool, int64_t element_size, Dims sizes, const void* in, Dims in_strides, void* out,
                  Dims out_strides) {
  if (element_count(sizes) == 0) return;
  Space space = make_space(element_size, sizes, in_strides, out_strides);
  const auto* source = static_cast<const char*>(in);
  auto* target = static_cast<char*>(out);
  int run = 1;  // the dimension along which the input is contiguous
  while (run < space.rank && space.in[run] != element_size) ++run;
  if (space.in[0] != element_size && space.out[0] == element_size && run < space.rank) {
    std::swap(space.size[1], space.size[run]);
    std::swap(space.in[1], space.in[run]);
    std::swap(space.out[1], space.out[run]);
    return copy_crossed(pool, space, element_size, source, target);
  }
  copy_rows(pool, space, element_size, source, target);
}

void transpose(ThreadPool& pool, int64_t element_size, const void* in, Dims dims, Dims permutation, void* out) {
  const std::vector<int64_t> strides = dense_strides(dims);
  std::vector<int64_t> sizes(dims.size()), in_strides(dims.size());
  for (std::size_t d = 0; d < dims.size(); ++d) {
    const auto from = static_cast<std::size_t>(permutation[d]);
    sizes[d] = dims[from], in_strides[d] = strides[from];
  }
  copy_strided(pool, element_size, sizes, in, in_strides, out, dense_strides(sizes));
}

void broadcast_to(ThreadPool& pool, int64_t element_size, const void* in, Dims in_dims, void* out, Dims dims) {
  std::vector<int64_t> in_strides = dense_strides(in_dims);
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (in_dims[d] == 1) in_strides[d] = 0;
  }
  copy_strided(pool, element_size, dims, in, in_strides, out, dense_strides(dims));
}

void tile(ThreadPool& pool, int64_t element_size, const void* in, Dims dims, Dims multiples, void* out) {
  std::vector<int64_t> sizes, in_strides;
  const std::vector<int64_t> strides = dense_strides(dims);
  for (std::size_t d = 0; d < dims.size(); ++d) {
    sizes.insert(sizes.end(), {multiples[d], dims[d]});
    in_strides.insert(in_strides.end(), {0, strides[d]});
  }
  copy_strided(pool, element_size, sizes, in, in_strides, out, dense_strides(sizes));
}

namespace {

struct SliceView {
  int64_t first = 0;  // element
  std::vector<int64_t> strides;
};
SliceView slice_view(Dims dims, Dims begin, Dims step) {
  SliceView view{0, dense_strides(dims)};
  for (std::size_t d = 0; d < dims.size(); ++d) {
    view.first += begin[d] * view.strides[d];
    view.strides[d] *= step[d];
  }
  return view;
}

}  // namespace

void strided_slice(ThreadPool& pool, int64_t element_size, const void* in, Dims dims, Dims begin, Dims step, Dims sizes,
                   void* out) {
  if (element_count(sizes) == 0) return;
  const SliceView view = slice_view(dims, begin, step);
  copy_strided(pool, element_size, sizes, static_cast<const char*>(in) + view.first * element_size, view.strides, out,
               dense_strides(sizes));
}

void strided_slice_grad(ThreadPool& pool, int64_t element_size, const void* grad, Dims dims, Dims begin, Dims step,
                        Dims sizes, void* out) {
  const std::vector<char> zero(static_cast<std::size_t>(element_size));
  fill(pool, element_size, zero.data(), element_count(dims), out);
  if (element_count(sizes) == 0) return;
  const SliceView view = slice_view(dims, begin, step);
  copy_strided(pool, element_size, sizes, grad, dense_strides(sizes),
               static_cast<char*>(out) + view.first * element_size, view.strides);
}

void pad(ThreadPool& pool, int64_t element_size, const void* in, Dims dims, Dims before, Dims after, const void* value,
         void* out) {
  std::vector<int64_t> out_dims(dims.begin(), dims.end());
  bool wider = false;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    out_dims[d] += before[d] + after[d];
    wider |= out_dims[d] != dims[d];
  }
  if (wider) fill(pool, element_size, value, element_count(out_dims), out);
  const std::vector<int64_t> out_strides = dense_strides(out_dims);
  int64_t first = 0;
  for (std::size_t d = 0; d < dims.size(); ++d) first += before[d] * out_strides[d];
  copy_strided(pool, element_size, dims, in, dense_strides(dims), static_cast<char*>(out) + first * element_size,
               out_strides);
}

void concat(ThreadPool& pool, int64_t element_size, int64_t outer, std::span<const ConcatPart> parts, void* out) {
  int64_t columns = 0;
  for (const ConcatPart& part : parts) columns += part.columns;
  auto* target = static_cast<char*>(out);
  for (const ConcatPart& part : parts) {
    const int64_t sizes[] = {outer, part.columns}, in[] = {part.columns, 1}, strides[] = {columns, 1};
    copy_strided(pool, element_size, sizes, part.data, in, target, strides);
    target += part.columns * element_size;
  }
}

void split_part(ThreadPool& pool, int64_t element_size, int64_t outer, int64_t columns, int64_t first,
                int64_t part_columns, const void* in, void* out) {
  const int64_t sizes[] = {outer, part_columns}, strides[] = {columns, 1}, dense[] = {part_columns, 1};
  copy_strided(pool, element_size, sizes, static_cast<const char*>(in) + first * element_size, strides, out, dense);
}

int64_t gather(ThreadPool& pool, int64_t element_size, const void* in, int64_t outer, int64_t size, int64_t inner,
               DType index_dtype, const void* indices, int64_t count, void* out) {
  int64_t bad = -1;
  dispatch(TypeList<int32_t, int64_t>{}, index_dtype, "gather with indices", [&]<class I>() {
    const auto* index = static_cast<const I*>(indices);
    for (int64_t i = 0; i < count && bad < 0; ++i) {
      if (index[i] < 0 || index[i] >= size) bad = i;
    }
    if (bad >= 0) return;
    const int64_t run = inner * element_size;
    pool.parallel_for(outer * count, 1 + kGrainBytes / (1 + run), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const char* from = static_cast<const char*>(in) + (i / count * size + index[i % count]) * run;
        std::memcpy(static_cast<char*>(out) + i * run, from, static_cast<std::size_t>(run));
      }
    });
  });
  return bad;
}

void fill(ThreadPool& pool, int64_t element_size, const void* value, int64_t n, void* out) {
  const int64_t sizes[] = {n}, still[] = {0}, dense[] = {1};
  copy_strided(pool, element_size, sizes, value, still, out, dense);
}

void select(ThreadPool& pool, int64_t element_size, const bool* condition, const void* a, const void* b, int64_t rows,
            int64_t inner, void* out) {
  const int64_t run = inner * element_size;
  pool.parallel_for(rows, 1 + kGrainBytes / (1 + run), [&](int64_t begin, int64_t end) {
    const auto* left = static_cast<const char*>(a);
    const auto* right = static_cast<const char*>(b);
    auto* target = static_cast<char*>(out);
    if (run == 4) {
      for (int64_t i = begin; i < end; ++i) std::memcpy(target + i * 4, (condition[i] ? left : right) + i * 4, 4);
      return;
    }
    for (int64_t i = begin; i < end; ++i) {
      std::memcpy(target + i * run, (condition[i] ? left : right) + i * run, static_cast<std::size_t>(run));
    }
  });
}

}  // namespace caudal::inline v0::kernels
