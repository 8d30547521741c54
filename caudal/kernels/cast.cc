#include "caudal/kernels/cast.h"

#include <algorithm>
#include <complex>
#include <cstring>

#include "caudal/base/error.h"
#include "caudal/kernels/convert.h"
#include "caudal/kernels/dispatch.h"

namespace caudal::inline v0::kernels {
namespace {

using Loop = void (*)(const void* in, void* out, int64_t n);
using PlainTypes =
    TypeList<bool, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, float, double>;

constexpr int64_t kBlock = 1024;  // elements converted at a time where two steps are needed

template <class From, class To>
void loop(const void* in, void* out, int64_t n) {
  const auto* source = static_cast<const From*>(in);
  auto* target = static_cast<To*>(out);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) target[i] = static_cast<To>(source[i]);
}

Loop plain_loop(DType from, DType to) {
  Loop found = nullptr;
  try_dispatch(PlainTypes{}, from,
               [&]<class From>() { try_dispatch(PlainTypes{}, to, [&]<class To>() { found = loop<From, To>; }); });
  return found;
}

bool is_narrow(DType dtype) { return dtype == DType::kHalf || dtype == DType::kBFloat16; }

// The plain type through which a type is read or written.
DType plain_type(DType dtype) {
  if (is_narrow(dtype) || dtype == DType::kComplex64) return DType::kFloat;
  return dtype == DType::kComplex128 ? DType::kDouble : dtype;
}

template <class R>
void split_real(const void* in, void* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) static_cast<R*>(out)[i] = static_cast<const R*>(in)[2 * i];
}
template <class R>
void join_real(const void* in, void* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) static_cast<std::complex<R>*>(out)[i] = static_cast<const R*>(in)[i];
}

// `count` elements as their plain type; `space` is used if that is another type.
const void* to_plain(DType from, const void* in, int64_t count, void* space) {
  if (is_narrow(from)) {
    widen(from, in, static_cast<float*>(space), count);
  } else if (from == DType::kComplex64) {
    split_real<float>(in, space, count);
  } else if (from == DType::kComplex128) {
    split_real<double>(in, space, count);
  } else {
    return in;
  }
  return space;
}

void from_plain(DType to, const void* values, int64_t count, void* out) {
  if (is_narrow(to)) {
    narrow(to, static_cast<const float*>(values), out, count);
  } else if (to == DType::kComplex64) {
    join_real<float>(values, out, count);
  } else {
    join_real<double>(values, out, count);
  }
}

void cast_range(DType from, const void* in, DType to, void* out, int64_t n) {
  const auto in_size = static_cast<int64_t>(dtype_size(from)), out_size = static_cast<int64_t>(dtype_size(to));
  if (is_complex(from) && is_complex(to)) {
    return plain_loop(plain_type(from), plain_type(to))(in, out, 2 * n);
  }
  const Loop convert = plain_loop(plain_type(from), plain_type(to));
  if (plain_type(from) == from && plain_type(to) == to) return convert(in, out, n);
  alignas(64) char first[kBlock * 8], second[kBlock * 8];
  for (int64_t done = 0; done < n; done += kBlock) {
    const int64_t count = std::min(kBlock, n - done);
    const void* values = to_plain(from, static_cast<const char*>(in) + done * in_size, count, first);
    char* target = static_cast<char*>(out) + done * out_size;
    if (plain_type(to) == to) {
      convert(values, target, count);
    } else {
      convert(values, second, count);
      from_plain(to, second, count, target);
    }
  }
}

}  // namespace

bool can_cast(DType from, DType to) { return plain_loop(plain_type(from), plain_type(to)) != nullptr; }

void cast(ThreadPool& pool, DType from, const void* in, DType to, void* out, int64_t n) {
  if (!can_cast(from, to)) throw unimplemented("no conversion from ", dtype_name(from), " to ", dtype_name(to));
  const auto in_size = static_cast<int64_t>(dtype_size(from)), out_size = static_cast<int64_t>(dtype_size(to));
  pool.parallel_for(n, 16384, [&](int64_t begin, int64_t end) {
    const char* source = static_cast<const char*>(in) + begin * in_size;
    char* target = static_cast<char*>(out) + begin * out_size;
    if (from == to) {
      std::memmove(target, source, static_cast<std::size_t>((end - begin) * in_size));
    } else {
      cast_range(from, source, to, target, end - begin);
    }
  });
}

}  // namespace caudal::inline v0::kernels
