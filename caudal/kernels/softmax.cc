#include "caudal/kernels/softmax.h"

#include <algorithm>
#include <cmath>

#include "caudal/base/error.h"
#include "caudal/kernels/convert.h"
#include "caudal/kernels/dispatch.h"
#include "caudal/kernels/elementwise.h"
#include "caudal/kernels/numeric.h"
#include "caudal/kernels/scratch.h"

namespace caudal::inline v0::kernels {
namespace {

constexpr int64_t kBlock = 4096;  // elements handled together

// Rows as float or double, whatever the matrix holds.
template <class T>
const Wide<T>* widened(const T* in, int64_t n, Wide<T>* space) {
  if constexpr (kIsNarrowFloat<T>) {
    widen(dtype_of<T>(), in, space, n);
    return space;
  } else {
    return in;
  }
}

template <class T>
void store(const Wide<T>* values, int64_t n, T* out) {
  if constexpr (kIsNarrowFloat<T>) {
    narrow(dtype_of<T>(), values, out, n);
  } else if (values != out) {
    std::copy(values, values + n, out);
  }
}

// shifted = logits - max; exps = exp(shifted), for several rows.
template <class W>
void shift_and_exp(const UnaryLoop& exp, const W* logits, int64_t rows, int64_t classes, W* shifted, W* exps) {
  for (int64_t r = 0; r < rows; ++r) {
    const W* row = logits + r * classes;
    W top = row[0];
    for (int64_t c = 1; c < classes; ++c) top = row[c] > top || row[c] != row[c] ? row[c] : top;
    for (int64_t c = 0; c < classes; ++c) shifted[r * classes + c] = row[c] - top;
  }
  exp(shifted, exps, rows * classes);
}

template <class W>
double row_sum(const W* row, int64_t n) {
  double sum = 0;
  for (int64_t c = 0; c < n; ++c) sum += static_cast<double>(row[c]);
  return sum;
}

// Working space of one block of rows.
template <class W>
struct Space {
  explicit Space(int64_t n) {
    data = thread_scratch_of<W>(ScratchSlot::kConvert, static_cast<std::size_t>(4 * n));
    shifted = data, exps = data + n, wide = data + 2 * n, more = data + 3 * n;
  }
  W *data, *shifted, *exps, *wide, *more;
};

// Calls fn(first row, rows, logits, space) for blocks of rows; logits, shifted and exps are ready.
template <class T, class Fn>
void for_row_blocks(ThreadPool& pool, const void* logits, int64_t rows, int64_t classes, Fn&& fn) {
  using W = Wide<T>;
  if (classes == 0) return;
  const UnaryLoop exp = find_unary(UnaryOp::kExp, dtype_of<W>());
  const int64_t block = std::max<int64_t>(1, kBlock / classes);
  pool.parallel_for(rows, block, [&](int64_t begin, int64_t end) {
    const int64_t count = end - begin;
    Space<W> space(count * classes);
    const W* in = widened<T>(static_cast<const T*>(logits) + begin * classes, count * classes, space.wide);
    shift_and_exp(exp, in, count, classes, space.shifted, space.exps);
    fn(begin, count, space);
  });
}

// exps -> probabilities, in place; returns the sum of each row by fn(row, sum).
template <class W, class Fn>
void normalise(W* exps, int64_t rows, int64_t classes, Fn&& fn) {
  for (int64_t r = 0; r < rows; ++r) {
    W* row = exps + r * classes;
    const double sum = row_sum(row, classes), scale = 1 / sum;
    for (int64_t c = 0; c < classes; ++c) row[c] = static_cast<W>(static_cast<double>(row[c]) * scale);
    fn(r, sum);
  }
}

template <class I>
void check_labels(const I* labels, int64_t rows, int64_t classes) {
  for (int64_t r = 0; r < rows; ++r) {
    if (labels[r] < 0 || labels[r] >= classes) {
      throw invalid_argument("label ", labels[r], " of row ", r, " is outside [0, ", classes, ")");
    }
  }
}

template <class T, class I>
void sparse_cross_entropy(ThreadPool& pool, const void* logits, int64_t rows, int64_t classes, const I* labels, T* loss,
                          T* backprop) {
  using W = Wide<T>;
  check_labels(labels, rows, classes);
  for_row_blocks<T>(pool, logits, rows, classes, [&](int64_t first, int64_t count, Space<W>& space) {
    normalise(space.exps, count, classes, [&](int64_t r, double sum) {
      const int64_t at = r * classes + labels[first + r];
      space.exps[at] -= W{1};
      loss[first + r] = static_cast<T>(static_cast<W>(std::log(sum) - static_cast<double>(space.shifted[at])));
    });
    store<T>(space.exps, count * classes, backprop + first * classes);
  });
}

template <class T>
void dense_cross_entropy(ThreadPool& pool, const void* logits, const T* labels, int64_t rows, int64_t classes, T* loss,
                         T* backprop) {
  using W = Wide<T>;
  if (classes == 0) std::fill(loss, loss + rows, static_cast<T>(W{0}));
  for_row_blocks<T>(pool, logits, rows, classes, [&](int64_t first, int64_t count, Space<W>& space) {
    const W* wanted = widened<T>(labels + first * classes, count * classes, space.more);
    normalise(space.exps, count, classes, [&](int64_t r, double sum) {
      const double log_sum = std::log(sum);
      double total = 0;
      for (int64_t c = r * classes; c < (r + 1) * classes; ++c) {
        if (wanted[c] != W{0})
          total += static_cast<double>(wanted[c]) * (log_sum - static_cast<double>(space.shifted[c]));
        space.exps[c] -= wanted[c];
      }
      loss[first + r] = static_cast<T>(static_cast<W>(total));
    });
    store<T>(space.exps, count * classes, backprop + first * classes);
  });
}

}  // namespace

void softmax(ThreadPool& pool, DType dtype, const void* logits, int64_t rows, int64_t classes, void* out) {
  dispatch(FloatTypes{}, dtype, "softmax", [&]<class T>() {
    for_row_blocks<T>(pool, logits, rows, classes, [&](int64_t first, int64_t count, auto& space) {
      normalise(space.exps, count, classes, [](int64_t, double) {});
      store<T>(space.exps, count * classes, static_cast<T*>(out) + first * classes);
    });
  });
}

void log_softmax(ThreadPool& pool, DType dtype, const void* logits, int64_t rows, int64_t classes, void* out) {
  dispatch(FloatTypes{}, dtype, "log softmax", [&]<class T>() {
    for_row_blocks<T>(pool, logits, rows, classes, [&](int64_t first, int64_t count, auto& space) {
      for (int64_t r = 0; r < count; ++r) {
        const double log_sum = std::log(row_sum(space.exps + r * classes, classes));
        for (int64_t c = r * classes; c < (r + 1) * classes; ++c) {
          space.shifted[c] = static_cast<Wide<T>>(static_cast<double>(space.shifted[c]) - log_sum);
        }
      }
      store<T>(space.shifted, count * classes, static_cast<T*>(out) + first * classes);
    });
  });
}

void sparse_softmax_cross_entropy(ThreadPool& pool, DType dtype, const void* logits, int64_t rows, int64_t classes,
                                  DType label_dtype, const void* labels, void* loss, void* backprop) {
  dispatch(FloatTypes{}, dtype, "softmax cross entropy", [&]<class T>() {
    dispatch(TypeList<int32_t, int64_t>{}, label_dtype, "softmax cross entropy with labels", [&]<class I>() {
      sparse_cross_entropy<T, I>(pool, logits, rows, classes, static_cast<const I*>(labels), static_cast<T*>(loss),
                                 static_cast<T*>(backprop));
    });
  });
}

void softmax_cross_entropy(ThreadPool& pool, DType dtype, const void* logits, const void* labels, int64_t rows,
                           int64_t classes, void* loss, void* backprop) {
  dispatch(FloatTypes{}, dtype, "softmax cross entropy", [&]<class T>() {
    dense_cross_entropy<T>(pool, logits, static_cast<const T*>(labels), rows, classes, static_cast<T*>(loss),
                           static_cast<T*>(backprop));
  });
}

}  // namespace caudal::inline v0::kernels
