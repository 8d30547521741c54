#include "caudal/ops/strided_copy.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "caudal/base/error.h"

namespace caudal::inline v0 {
namespace {

using std::int64_t;

constexpr int64_t kParallelBytes = 1 << 16;  // below it a thread costs more than the copy

// So many bytes, whatever their type is.
template <class T>
struct [[gnu::may_alias]] Word {
  T value;
};
using Word16 = std::array<std::uint64_t, 2>;

// Calls fn.operator()<T>() with a type that assigns elements of `dtype`.
template <class Fn>
void with_element_type(DType dtype, Fn&& fn) {
  switch (dtype) {
    case DType::kString:
      return fn.template operator()<std::string>();
    case DType::kResource:
      return fn.template operator()<ResourceHandle>();
    case DType::kVariant:
      return fn.template operator()<Variant>();
    default:
      break;
  }
  switch (dtype_size(dtype)) {
    case 1:
      return fn.template operator()<Word<std::uint8_t>>();
    case 2:
      return fn.template operator()<Word<std::uint16_t>>();
    case 4:
      return fn.template operator()<Word<std::uint32_t>>();
    case 8:
      return fn.template operator()<Word<std::uint64_t>>();
    case 16:
      return fn.template operator()<Word<Word16>>();
    default:
      throw internal_error("no copy of ", dtype);
  }
}

struct Dim {
  int64_t size, from, to;
};

// Without dimensions of size 1 and with neighbours joined that are one run in both memories; outermost first.
std::vector<Dim> simplified(std::span<const int64_t> dims, std::span<const int64_t> from, std::span<const int64_t> to) {
  std::vector<Dim> result;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 1) continue;
    if (!result.empty() && result.back().from == from[i] * dims[i] && result.back().to == to[i] * dims[i]) {
      result.back() = {result.back().size * dims[i], from[i], to[i]};
    } else {
      result.push_back({dims[i], from[i], to[i]});
    }
  }
  if (result.empty()) result.push_back({1, 1, 1});
  return result;
}

// The innermost loop: one row.
template <class T>
void copy_row(const T* from, int64_t from_stride, T* to, int64_t to_stride, int64_t n) {
  if (from_stride == 1 && to_stride == 1) {
    std::copy_n(from, n, to);
  } else if (from_stride == 0 && to_stride == 1) {
    std::fill_n(to, n, *from);
  } else {
    for (int64_t i = 0; i < n; ++i) to[i * to_stride] = from[i * from_stride];
  }
}

// The two innermost loops, in square tiles: reads and writes both stay within few cache lines when one side walks
// across the rows of the other.
template <class T>
void copy_tiled(const T* from, T* to, const Dim& outer, const Dim& inner) {
  constexpr int64_t kTile = 16;
  for (int64_t i = 0; i < outer.size; i += kTile) {
    const int64_t i_end = std::min(outer.size, i + kTile);
    for (int64_t j = 0; j < inner.size; j += kTile) {
      const int64_t width = std::min(kTile, inner.size - j);
      for (int64_t k = i; k < i_end; ++k) {
        copy_row(from + k * outer.from + j * inner.from, inner.from, to + k * outer.to + j * inner.to, inner.to, width);
      }
    }
  }
}

template <class T>
void copy_block(const T* from, T* to, std::span<const Dim> dims) {
  if (dims.size() == 1) return copy_row(from, dims[0].from, to, dims[0].to, dims[0].size);
  if (dims.size() == 2) {
    if (dims[1].from == 1 && dims[1].to == 1) {
      for (int64_t i = 0; i < dims[0].size; ++i) {
        std::copy_n(from + i * dims[0].from, dims[1].size, to + i * dims[0].to);
      }
      return;
    }
    return copy_tiled(from, to, dims[0], dims[1]);
  }
  for (int64_t i = 0; i < dims[0].size; ++i) {
    copy_block(from + i * dims[0].from, to + i * dims[0].to, dims.subspan(1));
  }
}

// Brings the dimension along which `from` is contiguous next to the innermost, so that copy_tiled can pair both.
void pair_contiguous(std::vector<Dim>& dims) {
  const std::size_t n = dims.size();
  if (n < 3 || dims[n - 1].from == 1) return;
  const auto found = std::ranges::find(dims, 1, &Dim::from);
  if (found != dims.end()) std::rotate(found, found + 1, dims.end() - 1);
}

// Splits the copy along the largest outer dimension.
template <class T>
void run(ThreadPool& pool, const T* from, T* to, const std::vector<Dim>& dims) {
  int64_t total = 1;
  for (const Dim& dim : dims) total *= dim.size;
  const auto widest = std::ranges::max_element(dims, {}, &Dim::size);
  const auto split = dims[0].size >= 16 ? dims.begin() : widest;
  const int64_t bytes_per_step = std::max<int64_t>(1, total / split->size * static_cast<int64_t>(sizeof(T)));
  const int64_t grain = std::max<int64_t>(1, kParallelBytes / bytes_per_step);
  if (split->size <= grain) return copy_block<T>(from, to, dims);
  pool.parallel_for(split->size, grain, [&](int64_t begin, int64_t end) {
    std::vector<Dim> part = dims;
    part[split - dims.begin()].size = end - begin;
    copy_block<T>(from + begin * split->from, to + begin * split->to, part);
  });
}

}  // namespace

void copy_elements(DType dtype, const char* from, char* to, int64_t n) {
  if (n == 0) return;
  if (is_plain(dtype)) {
    std::memcpy(to, from, static_cast<std::size_t>(n) * dtype_size(dtype));
    return;
  }
  with_element_type(dtype,
                    [&]<class T>() { std::copy_n(reinterpret_cast<const T*>(from), n, reinterpret_cast<T*>(to)); });
}

void copy_elements(ThreadPool& pool, DType dtype, const char* from, char* to, int64_t n) {
  const auto size = static_cast<int64_t>(dtype_size(dtype));
  pool.parallel_for(n, kParallelBytes / size, [&](int64_t begin, int64_t end) {
    copy_elements(dtype, from + begin * size, to + begin * size, end - begin);
  });
}

void fill_elements(ThreadPool& pool, DType dtype, const char* value, char* to, int64_t n) {
  with_element_type(dtype, [&]<class T>() {
    pool.parallel_for(n, kParallelBytes / static_cast<int64_t>(sizeof(T)), [&](int64_t begin, int64_t end) {
      std::fill_n(reinterpret_cast<T*>(to) + begin, end - begin, *reinterpret_cast<const T*>(value));
    });
  });
}

void strided_copy(ThreadPool& pool, DType dtype, std::span<const int64_t> dims, const char* from,
                  std::span<const int64_t> from_strides, char* to, std::span<const int64_t> to_strides) {
  if (std::ranges::find(dims, 0) != dims.end()) return;
  std::vector<Dim> loops = simplified(dims, from_strides, to_strides);
  pair_contiguous(loops);
  with_element_type(
      dtype, [&]<class T>() { run<T>(pool, reinterpret_cast<const T*>(from), reinterpret_cast<T*>(to), loops); });
}

}  // namespace caudal::inline v0
