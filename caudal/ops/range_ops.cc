#include "caudal/ops/range_ops.h"

#include <cmath>
#include <limits>

#include "caudal/core/kernel.h"
#include "caudal/core/shape_context.h"
#include "caudal/kernels/dispatch.h"
#include "caudal/kernels/numeric.h"
#include "caudal/ops/op_util.h"

namespace caudal::inline v0 {
namespace {

using kernels::Wide;

using RangeTypes = kernels::TypeList<float, double, Half, BFloat16, std::int32_t, std::int64_t>;

template <class T>
Wide<T> scalar_value(const Tensor& value, const char* what) {
  if (value.rank() > 1 || value.num_elements() != 1)
    throw invalid_argument(what, " must be a scalar, not ", value.describe());
  return static_cast<Wide<T>>(value.item<T>());
}

// Number of elements of a range, as TensorFlow counts them.
template <class T>
std::int64_t range_size(const Tensor& start_value, const Tensor& limit_value, const Tensor& delta_value) {
  const auto start = scalar_value<T>(start_value, "start"), limit = scalar_value<T>(limit_value, "limit");
  const auto delta = scalar_value<T>(delta_value, "delta");
  if (delta == 0) throw invalid_argument("delta of a range is 0");
  if (delta > 0 ? start > limit : start < limit) {
    throw invalid_argument("a range from ", start, " in steps of ", delta, " never reaches ", limit);
  }
  if constexpr (std::is_integral_v<T>) {
    // In unsigned arithmetic: the distance of two int64 may need 64 bits.
    const auto distance = delta > 0 ? static_cast<std::uint64_t>(limit) - static_cast<std::uint64_t>(start)
                                    : static_cast<std::uint64_t>(start) - static_cast<std::uint64_t>(limit);
    const auto step = delta > 0 ? static_cast<std::uint64_t>(delta) : 0 - static_cast<std::uint64_t>(delta);
    const std::uint64_t size = distance == 0 ? 0 : (distance - 1) / step + 1;
    if (size > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      throw invalid_argument("a range of ", size, " elements is too long");
    }
    return static_cast<std::int64_t>(size);
  } else {
    const double size = std::ceil(std::abs((static_cast<double>(limit) - static_cast<double>(start)) / delta));
    if (!(size < 9.2e18)) throw invalid_argument("a range of ", size, " elements is too long");
    return static_cast<std::int64_t>(size);
  }
}

// Shape functions.

void range_shape(ShapeContext& c) {
  for (int i = 0; i < 3; ++i) c.with_rank(i, 0);
  const Tensor *start = c.constant_input(0), *limit = c.constant_input(1), *delta = c.constant_input(2);
  std::int64_t size = -1;
  if (start != nullptr && limit != nullptr && delta != nullptr) {
    kernels::try_dispatch(RangeTypes{}, start->dtype(),
                          [&]<class T>() { size = range_size<T>(*start, *limit, *delta); });
  }
  c.set_output(0, PartialShape{size});
}

std::int64_t checked_num(const Tensor& value) {
  const std::int64_t num = scalar_int(value, "num");
  if (num <= 0) throw invalid_argument("num is ", num, "; at least 1 is wanted");
  return num;
}

void linspace_shape(ShapeContext& c) {
  for (int i = 0; i < 3; ++i) c.with_rank(i, 0);
  const Tensor* num = c.constant_input(2);
  c.set_output(0, PartialShape{num == nullptr ? -1 : checked_num(*num)});
}

// Kernels.

// start + i * delta in the element type, each operation rounded: TensorFlow's values.
template <class T>
void fill_range(Tensor& y, Wide<T> start, Wide<T> delta) {
  T* out = y.data<T>();
  for (std::int64_t i = 0; i < y.num_elements(); ++i) {
    const auto step = static_cast<Wide<T>>(T(static_cast<Wide<T>>(i)));
    const auto distance = static_cast<Wide<T>>(T(kernels::wrap_mul(step, delta)));
    out[i] = T(kernels::wrap_add(start, distance));
  }
}

void run_range(RunContext& c) {
  kernels::dispatch(RangeTypes{}, c.input(0).dtype(), "Range", [&]<class T>() {
    Tensor& y = c.allocate_output(0, {range_size<T>(c.input(0), c.input(1), c.input(2))});
    fill_range<T>(y, scalar_value<T>(c.input(0), "start"), scalar_value<T>(c.input(2), "delta"));
  });
}

template <class T>
void fill_linspace(Tensor& y, Wide<T> start, Wide<T> stop) {
  const std::int64_t n = y.num_elements();
  T* out = y.data<T>();
  out[0] = T(start);
  if (n == 1) return;
  const auto step = (stop - start) / static_cast<Wide<T>>(n - 1);
  for (std::int64_t i = 1; i < n - 1; ++i) out[i] = T(start + step * static_cast<Wide<T>>(i));
  out[n - 1] = T(stop);
}

void run_linspace(RunContext& c) {
  Tensor& y = c.allocate_output(0, {checked_num(c.input(2))});
  kernels::dispatch(kernels::FloatTypes{}, y.dtype(), "LinSpace", [&]<class T>() {
    fill_linspace<T>(y, scalar_value<T>(c.input(0), "start"), scalar_value<T>(c.input(1), "stop"));
  });
}

}  // namespace

CAUDAL_REGISTER_OP({.name = "Range",
                    .inputs = "start: Tidx; limit: Tidx; delta: Tidx",
                    .outputs = "output: Tidx",
                    .attrs = "Tidx: {bfloat16, half, float, double, int8, int16, int32, int64, uint16, uint32, uint64} "
                             "= DT_INT32",
                    .shape = range_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_range>});
CAUDAL_REGISTER_OP({.name = "LinSpace",
                    .inputs = "start: T; stop: T; num: Tidx",
                    .outputs = "output: T",
                    .attrs = "T: {bfloat16, half, float, double}; Tidx: {int32, int64} = DT_INT32",
                    .shape = linspace_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_linspace>});

namespace {

Output make_range(const Operand& start, const Operand& limit, const Operand& delta, const OpOptions& options) {
  const DType fixed = common_dtype({&start, &limit, &delta});
  return OpBuilder("Range", {.name = options.name.empty() ? "range" : options.name, .where = options.where})
      .input(start, fixed)
      .input(limit, fixed)
      .input(delta, fixed)
      .build();
}

}  // namespace

Output range(const Operand& start, const Operand& limit, const Operand& delta, const OpOptions& options) {
  return make_range(start, limit, delta, options);
}

Output range(const Operand& limit) { return make_range(0, limit, 1, {.name = {}, .where = limit.where()}); }

Output linspace(const Operand& start, const Operand& stop, const Operand& num, const OpOptions& options) {
  DType dtype = common_dtype({&start, &stop});
  if (dtype == DType::kInt32) dtype = DType::kFloat;
  return OpBuilder("LinSpace", {.name = options.name.empty() ? "linspace" : options.name, .where = options.where})
      .input(start, dtype)
      .input(stop, dtype)
      .input(num, DType::kInt32)
      .build();
}

}  // namespace caudal::inline v0
