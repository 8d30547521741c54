#include "caudal/ops/special_binary.h"

#include <cmath>
#include <complex>
#include <numbers>

#include "caudal/autodiff/gradient.h"
#include "caudal/base/thread_pool.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/kernels/copy.h"
#include "caudal/kernels/dispatch.h"
#include "caudal/kernels/numeric.h"
#include "caudal/kernels/special_functions.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/reduction.h"
#include "caudal/ops/special_unary.h"

namespace caudal::inline v0 {
namespace {

using DoubleTypes = kernels::TypeList<float, double>;

// --- Shapes ---

// TensorFlow does not broadcast betainc: scalars repeat, everything else has one shape.
void betainc_shape(ShapeContext& c) {
  PartialShape shape = PartialShape::scalar();
  bool known = true;
  for (int i = 0; i < 3; ++i) {
    const PartialShape& input = c.input(i);
    if (!input.has_rank()) {
      known = false;
    } else if (input.rank() > 0) {
      const auto merged = shape.has_rank() && shape.rank() == 0 ? input : shape.merge(input);
      if (!merged) throw invalid_argument("the inputs have the shapes ", shape, " and ", input);
      shape = *merged;
    }
  }
  c.set_output(0, known || shape.rank() > 0 ? shape : PartialShape::unknown());
}

// --- Kernels ---

// An input spread to the shape of the result: itself if it has it already.
Tensor spread(RunContext& c, const Tensor& t, const Shape& shape) {
  if (t.shape() == shape) return t;
  Tensor wide = c.allocate_temporary(t.dtype(), shape);
  std::vector<std::int64_t> dims(static_cast<std::size_t>(shape.rank()), 1);
  std::copy(t.shape().dims().begin(), t.shape().dims().end(), dims.end() - t.rank());
  kernels::broadcast_to(c.pool(), static_cast<std::int64_t>(dtype_size(t.dtype())), t.raw(), dims, wide.raw(),
                        shape.dims());
  return wide;
}

template <double (*function)(double, double), class T>
void run_function(RunContext& c) {
  const Shape shape = broadcast(c.input(0).shape(), c.input(1).shape());
  T* out = c.allocate_output(0, shape).template data<T>();
  const Tensor x = spread(c, c.input(0), shape), y = spread(c, c.input(1), shape);
  const T *a = x.data<T>(), *b = y.data<T>();
  c.pool().parallel_for(shape.num_elements(), 128, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      out[i] = static_cast<T>(function(static_cast<double>(a[i]), static_cast<double>(b[i])));
    }
  });
}

template <double (*function)(double, double)>
std::unique_ptr<Kernel> prepare(PrepareContext& c) {
  std::unique_ptr<Kernel> kernel;
  kernels::dispatch(DoubleTypes{}, c.input_type(0), "the function",
                    [&]<class T>() { kernel = kernel_of<run_function<function, T>>(c); });
  return kernel;
}

template <class T>
void run_next_after(RunContext& c) {
  const Shape shape = broadcast(c.input(0).shape(), c.input(1).shape());
  T* out = c.allocate_output(0, shape).template data<T>();
  const Tensor x = spread(c, c.input(0), shape), y = spread(c, c.input(1), shape);
  const T *a = x.data<T>(), *b = y.data<T>();
  for (std::int64_t i = 0; i < shape.num_elements(); ++i) out[i] = std::nextafter(a[i], b[i]);
}

std::unique_ptr<Kernel> prepare_next_after(PrepareContext& c) {
  return c.input_type(0) == DType::kDouble ? kernel_of<run_next_after<double>>(c) : kernel_of<run_next_after<float>>(c);
}

template <class T>
void run_betainc(RunContext& c) {
  Shape shape;
  for (int i = 0; i < 3; ++i) {
    const Shape& own = c.input(i).shape();
    if (own.rank() == 0) continue;
    if (shape.rank() > 0 && !(own == shape)) throw invalid_argument("the inputs have the shapes ", shape, " and ", own);
    shape = own;
  }
  T* out = c.allocate_output(0, shape).template data<T>();
  const T* in[3] = {c.input(0).data<T>(), c.input(1).data<T>(), c.input(2).data<T>()};
  const std::int64_t step[3] = {c.input(0).rank() > 0, c.input(1).rank() > 0, c.input(2).rank() > 0};
  c.pool().parallel_for(shape.num_elements(), 128, [&](std::int64_t begin, std::int64_t end) {
    const auto value = [&](int k, std::int64_t i) { return static_cast<double>(in[k][i * step[k]]); };
    for (std::int64_t i = begin; i < end; ++i) {
      out[i] = static_cast<T>(kernels::betainc(value(0, i), value(1, i), value(2, i)));
    }
  });
}

std::unique_ptr<Kernel> prepare_betainc(PrepareContext& c) {
  return c.input_type(0) == DType::kDouble ? kernel_of<run_betainc<double>>(c) : kernel_of<run_betainc<float>>(c);
}

// |x - y| in the type itself; unsigned differences do not wrap.
template <class T>
bool is_near(T x, T y, float tolerance) {
  if constexpr (kernels::kIsComplex<T>) {
    return std::abs(x - y) < static_cast<typename T::value_type>(tolerance);
  } else if constexpr (std::is_integral_v<T>) {
    const T distance = x > y ? kernels::wrap_sub(x, y) : kernels::wrap_sub(y, x);
    return static_cast<double>(distance) < static_cast<double>(tolerance);
  } else {
    using W = kernels::Wide<T>;
    return std::abs(W(T(W(x) - W(y)))) < W(T(tolerance));
  }
}

class ApproximateEqualKernel final : public Kernel {
 public:
  explicit ApproximateEqualKernel(float tolerance) : tolerance_(tolerance) {}
  void run(RunContext& c) const override {
    const Tensor &x = c.input(0), &y = c.input(1);
    if (!(x.shape() == y.shape())) {
      throw invalid_argument("the inputs ", x.describe(), " and ", y.describe(), " must have one shape");
    }
    bool* out = c.allocate_output(0, x.shape()).data<bool>();
    kernels::dispatch(kernels::NumberTypes{}, x.dtype(), "ApproximateEqual", [&]<class T>() {
      const T *a = x.data<T>(), *b = y.data<T>();
      for (std::int64_t i = 0; i < x.num_elements(); ++i) out[i] = is_near(a[i], b[i], tolerance_);
    });
  }

 private:
  float tolerance_;
};

std::unique_ptr<Kernel> prepare_approximate_equal(PrepareContext& c) {
  if (!is_integer(c.input_type(0)) && !is_differentiable(c.input_type(0))) {
    throw unimplemented("no kernel for ", c.input_type(0), " on CPU");
  }
  return std::make_unique<ApproximateEqualKernel>(c.attr<float>("tolerance"));
}

// --- Gradients ---

void set_second(GradientContext& c, const Output& partial) {
  c.set_input_grad(1, sum_to_shape_of(c.grad(0) * partial, c.input(1), c.input(0)));
}

void polygamma_gradient(GradientContext& c) { set_second(c, math::polygamma(c.input(0) + 1, c.input(1))); }
void zeta_gradient(GradientContext& c) {
  const Output x = c.input(0);
  set_second(c, -x * math::zeta(x + 1, c.input(1)));
}

void igamma_gradients(GradientContext& c, bool complement) {
  const Output a = c.input(0), x = c.input(1), grad = c.grad(0);
  const Output by_a = raw_ops::igamma_grad_a(a, x);
  const Output by_x = exp(-x + (a - 1) * log(x) - math::lgamma(a));
  const Output for_a = sum_to_shape_of(by_a * grad, a, x), for_x = sum_to_shape_of(by_x * grad, x, a);
  c.set_input_grad(0, complement ? -for_a : for_a);
  c.set_input_grad(1, complement ? -for_x : for_x);
}
void igamma_gradient(GradientContext& c) { igamma_gradients(c, false); }
void igammac_gradient(GradientContext& c) { igamma_gradients(c, true); }

// By x only, as TensorFlow.
void betainc_gradient(GradientContext& c) {
  const Output a = c.input(0), b = c.input(1), x = c.input(2);
  const Output log_beta = math::lgamma(a) + math::lgamma(b) - math::lgamma(a + b);
  const Output partial = exp(xlog1py(b - 1, -x) + xlogy(a - 1, x) - log_beta);
  const Output product = partial * c.grad(0);
  c.set_input_grad(2, sum_to_shape_of(product, x, product));
}

void next_after_gradient(GradientContext& c) {
  const Output x1 = c.input(0), x2 = c.input(1), grad = c.grad(0);
  c.set_input_grad(0, sum_to_shape_of(grad * ones_like(x1), x1, x2));
  c.set_input_grad(1, sum_to_shape_of(grad * zeros_like(x2), x2, x1));
}

}  // namespace

// --- Registrations ---

#define CAUDAL_SPECIAL(op, in, types, gradient_function, function) \
  CAUDAL_REGISTER_OP({.name = op,                                  \
                      .inputs = in,                                \
                      .outputs = "z: T",                           \
                      .attrs = "T: " types,                        \
                      .shape = broadcast_shape,                    \
                      .gradient = gradient_function,               \
                      .cpu = prepare<function>})
CAUDAL_SPECIAL("Polygamma", "a: T; x: T", "{float, double}", polygamma_gradient, kernels::polygamma);
CAUDAL_SPECIAL("Zeta", "x: T; q: T", "{float, double}", zeta_gradient, kernels::zeta);
CAUDAL_SPECIAL("Igamma", "a: T; x: T", "{bfloat16, half, float, double}", igamma_gradient, kernels::igamma);
CAUDAL_SPECIAL("Igammac", "a: T; x: T", "{bfloat16, half, float, double}", igammac_gradient, kernels::igammac);
CAUDAL_SPECIAL("IgammaGradA", "a: T; x: T", "{float, double}", no_gradient, kernels::igamma_grad_a);
CAUDAL_REGISTER_OP({.name = "Betainc",
                    .inputs = "a: T; b: T; x: T",
                    .outputs = "z: T",
                    .attrs = "T: {float, double}",
                    .shape = betainc_shape,
                    .gradient = betainc_gradient,
                    .cpu = prepare_betainc});
CAUDAL_REGISTER_OP({.name = "NextAfter",
                    .inputs = "x1: T; x2: T",
                    .outputs = "output: T",
                    .attrs = "T: {double, float} = DT_FLOAT",
                    .shape = broadcast_shape,
                    .gradient = next_after_gradient,
                    .cpu = prepare_next_after});
CAUDAL_REGISTER_OP({.name = "ApproximateEqual",
                    .inputs = "x: T; y: T",
                    .outputs = "z: bool",
                    .attrs = "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, "
                             "bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}; "
                             "tolerance: float = 1e-05",
                    .commutative = true,
                    .shape = merged_inputs_shape,
                    .gradient = not_differentiable,
                    .cpu = prepare_approximate_equal});

// --- Functions ---

namespace {
Output binary(std::string_view op, const Operand& x, const Operand& y, const OpOptions& options) {
  const DType dtype = common_dtype({&x, &y});
  return OpBuilder(op, options).input(x, dtype).input(y, dtype).build();
}
}  // namespace

namespace math {

Output polygamma(const Operand& a, const Operand& x, const OpOptions& options) {
  return binary("Polygamma", a, x, options);
}
Output zeta(const Operand& x, const Operand& q, const OpOptions& options) { return binary("Zeta", x, q, options); }
Output igamma(const Operand& a, const Operand& x, const OpOptions& options) { return binary("Igamma", a, x, options); }
Output igammac(const Operand& a, const Operand& x, const OpOptions& options) {
  return binary("Igammac", a, x, options);
}
Output betainc(const Operand& a, const Operand& b, const Operand& x, const OpOptions& options) {
  const DType dtype = common_dtype({&a, &b, &x});
  return OpBuilder("Betainc", options).input(a, dtype).input(b, dtype).input(x, dtype).build();
}
Output lbeta(const Operand& x, const OpOptions& options) {
  const LocationScope location(options.where);
  const Output values = x.to_output();
  return subtract(reduce_sum(lgamma(values), {.axis = -1}), lgamma(reduce_sum(values, {.axis = -1})), options);
}
Output nextafter(const Operand& x1, const Operand& x2, const OpOptions& options) {
  return binary("NextAfter", x1, x2, options);
}

}  // namespace math

Output approximate_equal(const Operand& x, const Operand& y, const ApproximateEqualOptions& options) {
  const DType dtype = common_dtype({&x, &y});
  return OpBuilder("ApproximateEqual", {.name = options.name, .where = options.where})
      .input(x, dtype)
      .input(y, dtype)
      .attr("tolerance", options.tolerance)
      .build();
}

namespace raw_ops {
Output igamma_grad_a(const Operand& a, const Operand& x, const OpOptions& options) {
  return binary("IgammaGradA", a, x, options);
}
}  // namespace raw_ops

}  // namespace caudal::inline v0
