#include "caudal/ops/selection.h"

#include <algorithm>
#include <array>
#include <complex>
#include <string>

#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/constant_value.h"
#include "caudal/graph/scope.h"
#include "caudal/kernels/dispatch.h"
#include "caudal/kernels/numeric.h"
#include "caudal/ops/elementwise.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/op_util.h"

namespace caudal::inline v0 {
namespace {

constexpr std::int64_t kGrain = 16384;

// --- Shapes ---

void select_shape(ShapeContext& c) {
  const PartialShape both = c.merged(1, 2);
  const PartialShape& condition = c.input(0);
  c.set_output(0, both);
  if (!condition.has_rank() || condition.rank() == 0 || !both.has_rank()) return;
  if (condition.rank() == 1 && both.rank() >= 1) {
    ShapeContext::merge_dim(condition[0], both[0], "sizes of condition and of the first dimension of t");
  } else if (const auto merged = both.merge(condition)) {
    c.set_output(0, *merged);
  } else {
    throw invalid_argument("condition ", condition, " fits neither the shape nor the first dimension of t ", both);
  }
}

void select_v2_shape(ShapeContext& c) { c.set_output(0, broadcast(broadcast(c.input(0), c.input(1)), c.input(2))); }

// --- Kernels ---

// The broadcast of three operands with neighbouring dimensions merged: sizes, and strides of each operand in elements.
struct SelectSpace {
  std::vector<std::int64_t> sizes;
  std::vector<std::array<std::int64_t, 3>> strides;

  SelectSpace(const Shape& result, const std::array<Shape, 3>& shapes) {
    for (int d = 0; d < result.rank(); ++d) {
      if (result[d] != 1) add(result[d], strides_at(d - result.rank(), shapes));
    }
    if (sizes.empty()) add(1, {0, 0, 0});
  }

  std::int64_t inner() const { return sizes.back(); }
  // Offsets of row `row`, a row being a run along the last size.
  std::array<std::int64_t, 3> row_offsets(std::int64_t row) const {
    std::array<std::int64_t, 3> at{};
    for (std::size_t d = sizes.size() - 1; d-- > 0;) {
      for (std::size_t k = 0; k < 3; ++k) at[k] += row % sizes[d] * strides[d][k];
      row /= sizes[d];
    }
    return at;
  }

 private:
  static std::array<std::int64_t, 3> strides_at(int from_end, const std::array<Shape, 3>& shapes) {
    std::array<std::int64_t, 3> at{};
    for (std::size_t k = 0; k < 3; ++k) {
      const Shape& shape = shapes[k];
      if (-from_end > shape.rank() || shape[from_end] == 1) continue;
      at[k] = 1;
      for (int d = from_end + 1; d < 0; ++d) at[k] *= shape[d];
    }
    return at;
  }
  void add(std::int64_t size, const std::array<std::int64_t, 3>& stride) {
    bool merges = !sizes.empty();
    for (std::size_t k = 0; merges && k < 3; ++k) merges = strides.back()[k] == stride[k] * size;
    if (merges) {
      sizes.back() *= size;
      strides.back() = stride;
    } else {
      sizes.push_back(size);
      strides.push_back(stride);
    }
  }
};

template <class T>
void select_elements(ThreadPool& pool, const SelectSpace& space, const bool* condition, const void* then_values,
                     const void* else_values, void* out, std::int64_t total) {
  const auto* t = static_cast<const T*>(then_values);
  const auto* e = static_cast<const T*>(else_values);
  auto* result = static_cast<T*>(out);
  const std::int64_t inner = space.inner();
  const auto [step_c, step_t, step_e] = space.strides.back();
  pool.parallel_for(total, kGrain, [&, step_c = step_c, step_t = step_t, step_e = step_e](auto begin, auto end) {
    while (begin < end) {
      const std::int64_t column = begin % inner, n = std::min(inner - column, end - begin);
      const auto [row_c, row_t, row_e] = space.row_offsets(begin / inner);
      const bool* c = condition + row_c + column * step_c;
      const T* x = t + row_t + column * step_t;
      const T* y = e + row_e + column * step_e;
      for (std::int64_t i = 0; i < n; ++i) result[begin + i] = c[i * step_c] ? x[i * step_t] : y[i * step_e];
      begin += n;
    }
  });
}

// Any element type: plain ones as words of their size.
void select_any(ThreadPool& pool, DType dtype, const SelectSpace& space, const bool* condition, const void* t,
                const void* e, void* out, std::int64_t total) {
  const auto run = [&]<class T>() { select_elements<T>(pool, space, condition, t, e, out, total); };
  if (dtype == DType::kString) return run.template operator()<std::string>();
  if (dtype == DType::kResource) return run.template operator()<ResourceHandle>();
  if (dtype == DType::kVariant) return run.template operator()<Variant>();
  switch (dtype_size(dtype)) {
    case 1:
      return run.template operator()<std::uint8_t>();
    case 2:
      return run.template operator()<std::uint16_t>();
    case 4:
      return run.template operator()<std::uint32_t>();
    case 8:
      return run.template operator()<std::uint64_t>();
    default:
      return run.template operator()<std::complex<double>>();
  }
}

void run_select_space(RunContext& c, const Shape& result, const Shape& condition) {
  const Tensor &flags = c.input(0), &t = c.input(1), &e = c.input(2);
  const SelectSpace space(result, {condition, t.shape(), e.shape()});
  Tensor& out = c.allocate_output(0, result);
  select_any(c.pool(), t.dtype(), space, flags.data<bool>(), t.raw(), e.raw(), out.raw(), out.num_elements());
}

void run_select_v2(RunContext& c) {
  const Shape& condition = c.input(0).shape();
  run_select_space(c, broadcast(broadcast(condition, c.input(1).shape()), c.input(2).shape()), condition);
}

void run_select(RunContext& c) {
  const Shape &condition = c.input(0).shape(), &shape = c.input(1).shape();
  if (!(shape == c.input(2).shape())) {
    throw invalid_argument("shapes differ: t ", shape, ", e ", c.input(2).shape());
  }
  if (condition == shape || condition.rank() == 0) return run_select_space(c, shape, condition);
  if (condition.rank() != 1 || shape.rank() == 0 || condition[0] != shape[0]) {
    throw invalid_argument("condition ", condition, " fits neither the shape nor the first dimension of t ", shape);
  }
  Shape column = condition;
  while (column.rank() < shape.rank()) column = column.append(1);
  run_select_space(c, shape, column);
}

template <void (*run)(RunContext&)>
std::unique_ptr<Kernel> prepare_selection(PrepareContext& c) {
  if (is_plain(c.input_type(1))) {
    c.allow_in_place(1, 0);
    c.allow_in_place(2, 0);
  }
  return kernel_of<run>(c);
}

// The lower limit wins if it is above the upper one; a NaN limit is none. Complex values are limited part by part.
template <class T>
T clipped(T x, T low, T high) {
  if constexpr (kernels::kIsComplex<T>) {
    return {clipped(x.real(), low.real(), high.real()), clipped(x.imag(), low.imag(), high.imag())};
  } else {
    using W = kernels::Wide<T>;
    const T below = static_cast<W>(high) < static_cast<W>(x) ? high : x;
    return static_cast<W>(below) < static_cast<W>(low) ? low : below;
  }
}

void run_clip_by_value(RunContext& c) {
  const Tensor &t = c.input(0), &low = c.input(1), &high = c.input(2);
  for (const Tensor* limit : {&low, &high}) {
    if (limit->rank() != 0 && !(limit->shape() == t.shape())) {
      throw invalid_argument("a limit ", limit->describe(), " is neither a scalar nor of the shape of t ",
                             t.describe());
    }
  }
  Tensor& out = c.allocate_output(0, t.shape());
  kernels::dispatch(kernels::NumberTypes{}, t.dtype(), "ClipByValue", [&]<class T>() {
    const T *x = t.data<T>(), *lo = low.data<T>(), *hi = high.data<T>();
    T* y = out.data<T>();
    const std::int64_t step_lo = low.rank() == 0 ? 0 : 1, step_hi = high.rank() == 0 ? 0 : 1;
    c.pool().parallel_for(t.num_elements(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) y[i] = clipped(x[i], lo[i * step_lo], hi[i * step_hi]);
    });
  });
}

std::unique_ptr<Kernel> prepare_clip_by_value(PrepareContext& c) {
  if (!is_differentiable(c.input_type(0)) && !is_integer(c.input_type(0))) {
    throw unimplemented("no kernel for ", c.input_type(0), " on CPU");
  }
  c.allow_in_place(0, 0);
  return kernel_of<run_clip_by_value>(c);
}

// --- Gradients ---

Output choose(const Output& condition, const Operand& x, const Operand& y) { return where(condition, x, y); }

void select_gradient(GradientContext& c) {
  const Output zeros = OpBuilder("ZerosLike", {}).input(c.input(1)).build();
  c.set_input_grad(1, raw_ops::select(c.input(0), c.grad(0), zeros));
  c.set_input_grad(2, raw_ops::select(c.input(0), zeros, c.grad(0)));
}

void select_v2_gradient(GradientContext& c) {
  const Output grad = c.grad(0), y = c.output(0);
  c.set_input_grad(1, sum_to_shape_of(choose(c.input(0), grad, 0), c.input(1), y));
  c.set_input_grad(2, sum_to_shape_of(choose(c.input(0), 0, grad), c.input(2), y));
}

void clip_by_value_gradient(GradientContext& c) {
  const Output grad = c.grad(0), t = c.input(0);
  const Output below = less(t, c.input(1)), above = greater(t, c.input(2));
  c.set_input_grad(0, choose(logical_or(below, above), 0, grad));
  c.set_input_grad(1, sum_to_shape_of(choose(below, grad, 0), c.input(1), t));
  c.set_input_grad(2, sum_to_shape_of(choose(above, grad, 0), c.input(2), t));
}

}  // namespace

// --- Registrations ---

CAUDAL_REGISTER_OP({.name = "Select",
                    .inputs = "condition: bool; t: T; e: T",
                    .outputs = "output: T",
                    .attrs = "T: type",
                    .shape = select_shape,
                    .gradient = select_gradient,
                    .cpu = prepare_selection<run_select>});
CAUDAL_REGISTER_OP({.name = "SelectV2",
                    .inputs = "condition: bool; t: T; e: T",
                    .outputs = "output: T",
                    .attrs = "T: type",
                    .shape = select_v2_shape,
                    .gradient = select_v2_gradient,
                    .cpu = prepare_selection<run_select_v2>});
CAUDAL_REGISTER_OP({.name = "ClipByValue",
                    .inputs = "t: T; clip_value_min: T; clip_value_max: T",
                    .outputs = "output: T",
                    .attrs = "T: numbertype",
                    .shape = unchanged_shape,
                    .gradient = clip_by_value_gradient,
                    .cpu = prepare_clip_by_value});

// --- Functions ---

namespace {

Output ternary(std::string_view op, const Operand& condition, const Operand& x, const Operand& y,
               const OpOptions& options) {
  const DType dtype = common_dtype({&x, &y});
  return OpBuilder(op, options).input(condition).input(x, dtype).input(y, dtype).build();
}

void check_clip_norm(const Output& clip_norm, const std::source_location& where) {
  const Tensor* value = constant_value(clip_norm);
  if (value == nullptr || value->num_elements() != 1 || value->to_double() >= 0) return;
  throw invalid_argument("clip_norm is ", *value, "; it must not be negative").made_at(short_location(where));
}

// Factors that bring `norm` to clip_norm where it is above, else 1: both quotients stay finite on the side not taken,
// so that neither values nor gradients meet 0 * inf.
Output clip_factor(const Output& norm, const Output& clip_norm) {
  const Output above = logical_and(greater_equal(norm, clip_norm), greater(norm, 0));
  return where(above, where(above, clip_norm, 1) / where(above, norm, 1), 1);
}

Output half_square(const Output& values) { return OpBuilder("L2Loss", {}).input(values).build(); }

}  // namespace

Output where(const Operand& condition, const Operand& x, const Operand& y, const OpOptions& options) {
  return ternary("SelectV2", condition, x, y, options);
}

Output raw_ops::select(const Operand& condition, const Operand& t, const Operand& e, const OpOptions& options) {
  return ternary("Select", condition, t, e, options);
}

Output raw_ops::clip_by_value(const Operand& t, const Operand& clip_value_min, const Operand& clip_value_max,
                              const OpOptions& options) {
  const DType dtype = common_dtype({&t, &clip_value_min, &clip_value_max});
  return OpBuilder("ClipByValue", options)
      .input(t, dtype)
      .input(clip_value_min, dtype)
      .input(clip_value_max, dtype)
      .build();
}

Output clip_by_value(const Operand& t, const Operand& clip_value_min, const Operand& clip_value_max,
                     const OpOptions& options) {
  const LocationScope location(options.where);
  const Output values = t.to_output();
  const NameScope scope(options.name.empty() ? "clip_by_value" : options.name);
  const Output from_above = minimum(values, clip_value_max);
  const Output clipped = maximum(from_above, clip_value_min, {.name = scope.prefix(), .where = options.where});
  if (!clipped.shape().compatible(values.shape())) {
    throw invalid_argument("clip_by_value(): the limits enlarge the shape ", values.shape(), " to ", clipped.shape())
        .made_at(short_location(options.where));
  }
  return clipped;
}

Output clip_by_norm(const Operand& t, const Operand& clip_norm, const ClipByNormOptions& options) {
  const LocationScope location(options.where);
  const NameScope scope(options.name.empty() ? "clip_by_norm" : options.name);
  const Output values = t.to_output();
  const Output limit = clip_norm.to_output(values.dtype());
  check_clip_norm(limit, options.where);
  const Output squares = values * values;
  const Operand axes = options.axes.empty() ? Operand(all_axes(values)) : Operand(options.axes);
  const Output total = OpBuilder("Sum", {}).input(squares).input(axes).attr("keep_dims", true).build();
  const Output some = greater(total, 0);
  const Output norm = where(some, sqrt(where(some, total, 1)), total);
  return multiply(values, clip_factor(norm, limit), {.name = scope.prefix(), .where = options.where});
}

Output global_norm(const std::vector<Gradient>& t_list, const OpOptions& options) {
  const LocationScope location(options.where);
  const NameScope scope(options.name.empty() ? "global_norm" : options.name);
  std::vector<Output> terms;
  for (const Gradient& t : t_list) {
    if (t) terms.push_back(half_square(t.is_sparse() ? t.slices().values : t.dense()));
  }
  if (terms.empty()) throw invalid_argument("global_norm(): no tensors").made_at(short_location(options.where));
  const Output total = OpBuilder("AddN", {}).inputs(terms).build();
  return sqrt(total * 2, {.name = scope.prefix(), .where = options.where});
}

std::pair<std::vector<Gradient>, Output> clip_by_global_norm(const std::vector<Gradient>& t_list,
                                                             const Operand& clip_norm,
                                                             const ClipByGlobalNormOptions& options) {
  const LocationScope location(options.where);
  const NameScope scope(options.name.empty() ? "clip_by_global_norm" : options.name);
  const Output norm = options.use_norm ? options.use_norm : global_norm(t_list);
  const Output limit = clip_norm.to_output(norm.dtype());
  check_clip_norm(limit, options.where);
  // norm - norm is 0, or NaN for a norm that is infinite or NaN.
  const Output factor = clip_factor(norm, limit) + (norm - norm);
  std::vector<Gradient> clipped;
  for (const Gradient& t : t_list) {
    if (!t) {
      clipped.push_back(t);
    } else if (t.is_sparse()) {
      IndexedSlices slices = t.slices();
      slices.values = slices.values * factor;
      clipped.push_back(slices);
    } else {
      clipped.push_back(t.dense() * factor);
    }
  }
  return {std::move(clipped), norm};
}

}  // namespace caudal::inline v0
