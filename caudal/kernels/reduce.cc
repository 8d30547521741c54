#include "caudal/kernels/reduce.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "caudal/kernels/dispatch.h"
#include "caudal/kernels/numeric.h"
#include "caudal/kernels/reduce_kernels.h"

namespace caudal::inline v0::kernels {
namespace {

constexpr int64_t kChunk = 32768;  // elements worth a hand-over between threads

// An outer loop over some dimensions: how many, and where each iteration begins in the input.
struct Loop {
  std::vector<int64_t> sizes, strides;  // outermost first

  int64_t count() const { return element_count(sizes); }
  int64_t offset(int64_t index) const {
    int64_t at = 0;
    for (std::size_t d = sizes.size(); d-- > 0;) at += index % sizes[d] * strides[d], index /= sizes[d];
    return at;
  }
};

// The dimensions with neighbours of one kind merged: loops over kept and reduced ones, and the innermost run.
struct Plan {
  Loop kept, reduced;
  bool row = false;   // the innermost run is reduced, else kept
  int64_t width = 1;  // its length

  int64_t columns() const { return row ? 1 : width; }
  // All rows of a kept index follow each other and are short.
  bool dense_columns() const { return !row && width <= 64 && reduced.sizes.size() == 1 && reduced.strides[0] == width; }
};

Plan make_plan(Dims dims, Dims axes) {
  std::vector<int64_t> sizes, strides;
  std::vector<bool> kinds;
  int64_t stride = element_count(dims);
  for (std::size_t d = 0; d < dims.size(); ++d) {
    stride = dims[d] == 0 ? 0 : stride / dims[d];
    if (dims[d] == 1) continue;
    const bool reduced = std::find(axes.begin(), axes.end(), static_cast<int64_t>(d)) != axes.end();
    if (!kinds.empty() && kinds.back() == reduced) {
      sizes.back() *= dims[d], strides.back() = stride;
    } else {
      sizes.push_back(dims[d]), strides.push_back(stride), kinds.push_back(reduced);
    }
  }
  Plan plan;
  if (!kinds.empty()) {
    plan.row = kinds.back(), plan.width = sizes.back();
    kinds.pop_back();
  }
  for (std::size_t d = 0; d < kinds.size(); ++d) {
    Loop& loop = kinds[d] ? plan.reduced : plan.kept;
    loop.sizes.push_back(sizes[d]), loop.strides.push_back(strides[d]);
  }
  return plan;
}

class Reduction {
 public:
  Reduction(const ReduceKernels& kernels, Plan plan, const void* in, void* out, int64_t reduced_count)
      : k_(kernels),
        plan_(std::move(plan)),
        in_(static_cast<const char*>(in)),
        out_(static_cast<char*>(out)),
        count_(reduced_count) {}

  void run(ThreadPool& pool) {
    const int64_t kept = plan_.kept.count(), reduced = plan_.reduced.count();
    const int64_t total = kept * reduced * plan_.width;
    const int64_t per_output = std::max<int64_t>(1, reduced * plan_.width);
    if (total <= kChunk || kept >= 16) {
      pool.parallel_for(kept, 1 + kChunk / per_output,
                        [&](int64_t b, int64_t e) { outputs(b, e, 0, plan_.columns()); });
    } else if (plan_.columns() >= 4096) {
      const int64_t grain = std::max<int64_t>(256, kChunk / std::max<int64_t>(1, kept * reduced));
      pool.parallel_for(plan_.columns(), grain, [&](int64_t b, int64_t e) { outputs(0, kept, b, e); });
    } else {
      split(pool, kept, reduced);
    }
  }

 private:
  // acc[columns] op= the part [begin, end) of the reduced loop for one output.
  void accumulate(int64_t kept, int64_t begin, int64_t end, int64_t first, int64_t last, void* acc) const {
    if (plan_.dense_columns() && end - begin > 1) return accumulate_dense(kept, begin, end, acc);
    const char* base = in_ + (plan_.kept.offset(kept) + (plan_.row ? 0 : first)) * k_.in_size;
    for (int64_t r = begin; r < end; ++r) {
      const char* at = base + plan_.reduced.offset(r) * k_.in_size;
      if (plan_.row) {
        k_.row(at, plan_.width, acc);
      } else {
        k_.column(at, last - first, acc);
      }
    }
  }

  // Few columns in consecutive rows: several rows are taken as one long row, and its parts combine in the end.
  void accumulate_dense(int64_t kept, int64_t begin, int64_t end, void* acc) const {
    const int64_t width = plan_.width, rows = std::min(end - begin, 256 / width);
    const char* at = in_ + (plan_.kept.offset(kept) + begin * width) * k_.in_size;
    const auto wide = std::make_unique<char[]>(static_cast<std::size_t>(rows * width * k_.acc_size));
    k_.init(wide.get(), rows * width);
    for (int64_t row = begin; row < end; row += rows, at += rows * width * k_.in_size) {
      k_.column(at, std::min(rows, end - row) * width, wide.get());
    }
    for (int64_t i = 0; i < rows; ++i) k_.combine(wide.get() + i * width * k_.acc_size, width, acc);
  }

  // Whole outputs: kept indices [begin, end), columns [first, last).
  void outputs(int64_t begin, int64_t end, int64_t first, int64_t last) const {
    const int64_t width = last - first;
    const auto acc = std::make_unique<char[]>(static_cast<std::size_t>(width * k_.acc_size));
    for (int64_t kept = begin; kept < end; ++kept) {
      k_.init(acc.get(), width);
      accumulate(kept, 0, plan_.reduced.count(), first, last, acc.get());
      k_.finish(acc.get(), width, count_, out_ + (kept * plan_.columns() + first) * k_.out_size);
    }
  }

  // Few outputs: the reduced range is cut into parts whose results combine in order.
  void split(ThreadPool& pool, int64_t kept, int64_t reduced) const {
    const int64_t width = plan_.columns();
    const bool cut_row = reduced == 1;
    const int64_t length = cut_row ? plan_.width : reduced;
    const int64_t weight = cut_row ? kept : kept * plan_.width;  // elements per unit of length
    const int64_t grain = std::max({int64_t{1}, kChunk / std::max<int64_t>(1, weight), (length + 63) / 64});
    const int64_t parts = ThreadPool::num_chunks(length, grain), part_bytes = kept * width * k_.acc_size;
    const auto acc = std::make_unique<char[]>(static_cast<std::size_t>(parts * part_bytes));
    pool.parallel_chunks(length, grain, [&](int64_t part, int64_t begin, int64_t end) {
      char* own = acc.get() + part * part_bytes;
      k_.init(own, kept * width);
      for (int64_t o = 0; o < kept; ++o) {
        char* target = own + o * width * k_.acc_size;
        if (cut_row) {
          k_.row(in_ + (plan_.kept.offset(o) + begin) * k_.in_size, end - begin, target);
        } else {
          accumulate(o, begin, end, 0, width, target);
        }
      }
    });
    for (int64_t part = 1; part < parts; ++part) k_.combine(acc.get() + part * part_bytes, kept * width, acc.get());
    k_.finish(acc.get(), kept * width, count_, out_);
  }

  const ReduceKernels k_;
  const Plan plan_;
  const char* in_;
  char* out_;
  const int64_t count_;
};

}  // namespace

void reduce(ThreadPool& pool, ReduceOp op, DType dtype, const void* in, Dims dims, Dims axes, void* out) {
  const ReduceKernels kernels = reduce_kernels(op, dtype);
  int64_t reduced = 1;
  for (const int64_t axis : axes) reduced *= dims[static_cast<std::size_t>(axis)];
  if (element_count(dims) == 0) {
    int64_t outputs = 1;
    for (std::size_t d = 0; d < dims.size(); ++d) {
      if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(d)) == axes.end()) outputs *= dims[d];
    }
    const auto acc = std::make_unique<char[]>(static_cast<std::size_t>(outputs * kernels.acc_size));
    kernels.init(acc.get(), outputs);
    return kernels.finish(acc.get(), outputs, reduced, out);
  }
  Reduction(kernels, make_plan(dims, axes), in, out, reduced).run(pool);
}

namespace {

template <class T>
int64_t best_index(const T* in, int64_t size, int64_t stride, bool greatest) {
  using W = Wide<T>;
  using Limits = std::numeric_limits<W>;
  const W lowest = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  const W highest = Limits::has_infinity ? Limits::infinity() : Limits::max();
  W best = greatest ? lowest : highest;
  int64_t index = 0;
  for (int64_t i = 0; i < size; ++i) {
    const W value = static_cast<W>(in[i * stride]);
    if (greatest ? value > best : value < best) best = value, index = i;
  }
  return index;
}

void store_index(DType dtype, void* out, int64_t at, int64_t index) {
  dispatch(TypeList<int32_t, int64_t, int16_t, uint16_t>{}, dtype, "index",
           [&]<class I>() { static_cast<I*>(out)[at] = static_cast<I>(index); });
}

}  // namespace

void arg_reduce(ThreadPool& pool, bool greatest, DType dtype, const void* in, int64_t outer, int64_t size,
                int64_t inner, DType out_dtype, void* out) {
  using Types = TypeList<float, double, Half, BFloat16, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t,
                         uint64_t, bool>;
  dispatch(Types{}, dtype, "index of the extreme", [&]<class T>() {
    const auto* source = static_cast<const T*>(in);
    pool.parallel_for(outer * inner, 1 + kChunk / std::max<int64_t>(1, size), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* first = source + i / inner * size * inner + i % inner;
        store_index(out_dtype, out, i, best_index(first, size, inner, greatest));
      }
    });
  });
}

}  // namespace caudal::inline v0::kernels
