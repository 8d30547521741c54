#include "caudal/kernels/pool3d.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <vector>

#include "caudal/base/error.h"
#include "caudal/kernels/convert.h"

namespace caudal::inline v0::kernels {
namespace {

constexpr double kTie = 1e-5;

// An output place with what its window sees.
struct Place {
  int64_t entry, index;  // of the batch; of all output pixels
  WindowRange planes, rows, columns;
  int64_t count() const { return planes.count() * rows.count() * columns.count(); }
};

// fn(place) for the output pixels of output planes [begin, end), counted over the whole batch.
template <class Fn>
void for_each_place(const Window3d& w, int64_t begin, int64_t end, const Fn& fn) {
  for (int64_t p = begin; p < end; ++p) {
    const int64_t planes = w.out[0].out, rows = w.out[1].out, columns = w.out[2].out;
    Place place{p / planes, p * rows * columns, window_range(w, 0, p % planes), {}, {}};
    for (int64_t y = 0; y < rows; ++y) {
      place.rows = window_range(w, 1, y);
      for (int64_t x = 0; x < columns; ++x, ++place.index) {
        place.columns = window_range(w, 2, x);
        fn(place);
      }
    }
  }
}

// fn(index of the input pixel) for the pixels of a window.
template <class Fn>
void for_each_pixel(const Window3d& w, const Place& place, const Fn& fn) {
  for (int64_t p = place.planes.begin; p < place.planes.end; ++p) {
    for (int64_t y = place.rows.begin; y < place.rows.end; ++y) {
      const int64_t line = ((place.entry * w.in[0] + p) * w.in[1] + y) * w.in[2];
      for (int64_t x = place.columns.begin; x < place.columns.end; ++x) fn(line + x);
    }
  }
}

// Every output pixel by itself.
template <class Fn>
void for_outputs(ThreadPool& pool, const Window3d& w, const Fn& fn) {
  pool.parallel_for(w.batch * w.out[0].out, 1, [&](int64_t begin, int64_t end) { for_each_place(w, begin, end, fn); });
}

// Sums over windows that overlap: threads share the input's planes. fn(place, count)
// adds what the window, of `count` inputs in all, has in the one plane that `place` is cut to.
template <class Fn>
void for_inputs(ThreadPool& pool, const Window3d& w, const Fn& fn) {
  pool.parallel_for(w.batch * w.in[0], 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      const int64_t entry = p / w.in[0], plane = p % w.in[0];
      for (int64_t out = 0; out < w.out[0].out; ++out) {
        const WindowRange range = window_range(w, 0, out);
        if (plane < range.begin || plane >= range.end) continue;
        const int64_t first = entry * w.out[0].out + out;
        for_each_place(w, first, first + 1, [&](Place place) {
          const int64_t count = place.count();
          place.planes = {plane, plane + 1};
          fn(place, count);
        });
      }
    }
  });
}

template <class T>
void max_typed(ThreadPool& pool, const Window3d& w, const T* in, T* out) {
  for_outputs(pool, w, [&](const Place& place) {
    T* best = out + place.index * w.channels;
    std::fill_n(best, w.channels, std::numeric_limits<T>::lowest());
    for_each_pixel(w, place, [&](int64_t pixel) {
      const T* values = in + pixel * w.channels;
      for (int64_t c = 0; c < w.channels; ++c) {
        // A NaN is kept once it is there: no comparison with it holds.
        if (!(values[c] <= best[c]) && best[c] == best[c]) best[c] = values[c];
      }
    });
  });
}

template <class T>
void max_grad_typed(ThreadPool& pool, const Window3d& w, const T* in, const T* out, const T* grad, T* in_grad) {
  std::fill_n(in_grad, w.batch * w.in_pixels() * w.channels, T{0});
  for_inputs(pool, w, [&](const Place& place, int64_t) {
    const T *best = out + place.index * w.channels, *slope = grad + place.index * w.channels;
    for_each_pixel(w, place, [&](int64_t pixel) {
      const T* values = in + pixel * w.channels;
      T* sums = in_grad + pixel * w.channels;
      for (int64_t c = 0; c < w.channels; ++c) {
        if (std::abs(values[c] - best[c]) < static_cast<T>(kTie)) sums[c] += slope[c];
      }
    });
  });
}

template <class T>
void max_grad_grad_typed(ThreadPool& pool, const Window3d& w, const T* in, const T* out, const T* grad, T* result) {
  for_outputs(pool, w, [&](const Place& place) {
    const T* best = out + place.index * w.channels;
    T* found = result + place.index * w.channels;
    std::vector<bool> done(static_cast<std::size_t>(w.channels), false);
    std::fill_n(found, w.channels, T{0});
    for_each_pixel(w, place, [&](int64_t pixel) {
      const T* values = in + pixel * w.channels;
      for (int64_t c = 0; c < w.channels; ++c) {
        if (done[static_cast<std::size_t>(c)] || values[c] != best[c]) continue;
        found[c] = grad[pixel * w.channels + c];
        done[static_cast<std::size_t>(c)] = true;
      }
    });
  });
}

template <class T>
void avg_typed(ThreadPool& pool, const Window3d& w, const T* in, T* out) {
  for_outputs(pool, w, [&](const Place& place) {
    T* sums = out + place.index * w.channels;
    std::fill_n(sums, w.channels, T{0});
    for_each_pixel(w, place, [&](int64_t pixel) {
      const T* values = in + pixel * w.channels;
      for (int64_t c = 0; c < w.channels; ++c) sums[c] += values[c];
    });
    const T count = static_cast<T>(place.count());
    for (int64_t c = 0; c < w.channels; ++c) sums[c] /= count;
  });
}

template <class T>
void avg_grad_typed(ThreadPool& pool, const Window3d& w, const T* grad, T* in_grad) {
  std::fill_n(in_grad, w.batch * w.in_pixels() * w.channels, T{0});
  for_inputs(pool, w, [&](const Place& place, int64_t count) {
    const T* slope = grad + place.index * w.channels;
    const T share = T{1} / static_cast<T>(count);
    for_each_pixel(w, place, [&](int64_t pixel) {
      T* sums = in_grad + pixel * w.channels;
      for (int64_t c = 0; c < w.channels; ++c) sums[c] += slope[c] * share;
    });
  });
}

// One operand: its elements per pixel of the input or of the output.
struct Side {
  const void* data;
  bool input;
};

// Calls fn<T>(operands.., result) for float and double, with copies in float for the narrow types.
template <class Fn>
void run(ThreadPool& pool, DType dtype, const Window3d& w, std::initializer_list<Side> operands, void* result,
         bool result_is_input, const Fn& fn) {
  if (dtype == DType::kFloat || dtype == DType::kDouble) {
    const void* pointers[3] = {};
    std::size_t i = 0;
    for (const Side& side : operands) pointers[i++] = side.data;
    if (dtype == DType::kFloat) return fn.template operator()<float>(pointers, static_cast<float*>(result));
    return fn.template operator()<double>(pointers, static_cast<double*>(result));
  }
  if (dtype != DType::kHalf && dtype != DType::kBFloat16) {
    throw unimplemented("three-dimensional pooling of ", dtype_name(dtype), " has no kernel");
  }
  const auto elements = [&](bool input) {
    return static_cast<std::size_t>(w.batch * (input ? w.in_pixels() : w.out_pixels()) * w.channels);
  };
  std::vector<std::vector<float>> wide;
  wide.reserve(operands.size());
  const void* pointers[3] = {};
  for (const Side& side : operands) {
    std::vector<float>& copy = wide.emplace_back(elements(side.input));
    widen(pool, dtype, side.data, copy.data(), static_cast<int64_t>(copy.size()));
    pointers[wide.size() - 1] = copy.data();
  }
  std::vector<float> wide_result(elements(result_is_input));
  fn.template operator()<float>(pointers, wide_result.data());
  narrow(pool, dtype, wide_result.data(), result, static_cast<int64_t>(wide_result.size()));
}

}  // namespace

void max_pool3d(ThreadPool& pool, DType dtype, const Window3d& w, const void* in, void* out) {
  run(pool, dtype, w, {{in, true}}, out, false, [&]<class T>(const void* const* operands, T* result) {
    max_typed(pool, w, static_cast<const T*>(operands[0]), result);
  });
}

void max_pool3d_grad(ThreadPool& pool, DType dtype, const Window3d& w, const void* in, const void* out,
                     const void* grad, void* in_grad) {
  run(pool, dtype, w, {{in, true}, {out, false}, {grad, false}}, in_grad, true,
      [&]<class T>(const void* const* operands, T* result) {
        max_grad_typed(pool, w, static_cast<const T*>(operands[0]), static_cast<const T*>(operands[1]),
                       static_cast<const T*>(operands[2]), result);
      });
}

void max_pool3d_grad_grad(ThreadPool& pool, DType dtype, const Window3d& w, const void* in, const void* out,
                          const void* grad, void* result) {
  run(pool, dtype, w, {{in, true}, {out, false}, {grad, true}}, result, false,
      [&]<class T>(const void* const* operands, T* typed) {
        max_grad_grad_typed(pool, w, static_cast<const T*>(operands[0]), static_cast<const T*>(operands[1]),
                            static_cast<const T*>(operands[2]), typed);
      });
}

void avg_pool3d(ThreadPool& pool, DType dtype, const Window3d& w, const void* in, void* out) {
  run(pool, dtype, w, {{in, true}}, out, false, [&]<class T>(const void* const* operands, T* result) {
    avg_typed(pool, w, static_cast<const T*>(operands[0]), result);
  });
}

void avg_pool3d_grad(ThreadPool& pool, DType dtype, const Window3d& w, const void* grad, void* in_grad) {
  run(pool, dtype, w, {{grad, false}}, in_grad, true, [&]<class T>(const void* const* operands, T* result) {
    avg_grad_typed(pool, w, static_cast<const T*>(operands[0]), result);
  });
}

}  // namespace caudal::inline v0::kernels
