#include "caudal/ops/complex_ops.h"

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
#include "caudal/kernels/elementwise.h"
#include "caudal/ops/elementwise.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/selection.h"

namespace caudal::inline v0 {
namespace {

constexpr std::int64_t kGrain = 8192;

DType complex_of(DType real) { return real == DType::kDouble ? DType::kComplex128 : DType::kComplex64; }
DType real_of(DType complex) { return complex == DType::kComplex128 ? DType::kDouble : DType::kFloat; }

// The types are two attributes of the definitions: only pairs of one precision have kernels.
void check_types(PrepareContext& c, DType real, DType complex) {
  if (complex_of(real) != complex) {
    throw unimplemented("no kernel for ", c.input_type(0), " and ", c.output_type(0), " on CPU");
  }
}

// --- Kernels ---

enum class Part { kReal, kImag, kAngle, kAbs };

template <Part part, class T>
T part_of(const std::complex<T>& z) {
  if constexpr (part == Part::kReal) return z.real();
  if constexpr (part == Part::kImag) return z.imag();
  if constexpr (part == Part::kAngle) return std::atan2(z.imag(), z.real());
  if constexpr (part == Part::kAbs) return std::hypot(z.real(), z.imag());
}

template <Part part, class T>
void take_part(RunContext& c) {
  const auto* in = c.input(0).data<std::complex<T>>();
  const Shape& shape = c.input(0).shape();
  T* out = c.allocate_output(0, shape).template data<T>();
  c.pool().parallel_for(shape.num_elements(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) out[i] = part_of<part>(in[i]);
  });
}

template <Part part>
std::unique_ptr<Kernel> prepare_part(PrepareContext& c) {
  check_types(c, c.output_type(0), c.input_type(0));
  if (c.input_type(0) == DType::kComplex128) return kernel_of<take_part<part, double>>(c);
  return kernel_of<take_part<part, float>>(c);
}

template <class T>
void join_parts(RunContext& c) {
  const Tensor &real = c.input(0), &imag = c.input(1);
  const Shape shape = broadcast(real.shape(), imag.shape());
  auto* out = c.allocate_output(0, shape).template data<std::complex<T>>();
  // Each part is broadcast on its own where it must be.
  const auto spread = [&](const Tensor& part) {
    if (part.shape() == shape) return part;
    Tensor wide = c.allocate_temporary(part.dtype(), shape);
    std::vector<std::int64_t> dims(static_cast<std::size_t>(shape.rank()), 1);
    std::copy(part.shape().dims().begin(), part.shape().dims().end(), dims.end() - part.rank());
    kernels::broadcast_to(c.pool(), sizeof(T), part.raw(), dims, wide.raw(), shape.dims());
    return wide;
  };
  const Tensor wide_real = spread(real), wide_imag = spread(imag);
  const T *a = wide_real.data<T>(), *b = wide_imag.data<T>();
  c.pool().parallel_for(shape.num_elements(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) out[i] = {a[i], b[i]};
  });
}

std::unique_ptr<Kernel> prepare_complex(PrepareContext& c) {
  check_types(c, c.input_type(0), c.output_type(0));
  if (c.input_type(0) == DType::kDouble) return kernel_of<join_parts<double>>(c);
  return kernel_of<join_parts<float>>(c);
}

// --- Gradients ---

Output part_node(std::string_view op, const Output& x, const OpOptions& options = {}) {
  return OpBuilder(op, options).input(x).attr("Tout", real_of(x.dtype())).build();
}
Output zeros_like(const Output& x) { return OpBuilder("ZerosLike", {}).input(x).build(); }

void complex_gradient(GradientContext& c) {
  const Output grad = c.grad(0), x = c.input(0), y = c.input(1);
  c.set_input_grad(0, sum_to_shape_of(part_node("Real", grad), x, y));
  c.set_input_grad(1, sum_to_shape_of(part_node("Imag", grad), y, x));
}
void real_gradient(GradientContext& c) { c.set_input_grad(0, complex(c.grad(0), zeros_like(c.grad(0)))); }
void imag_gradient(GradientContext& c) { c.set_input_grad(0, complex(zeros_like(c.grad(0)), c.grad(0))); }
// -grad / (im + re i), as TensorFlow has it.
void angle_gradient(GradientContext& c) {
  const Output x = c.input(0);
  const Output swapped = complex(part_node("Imag", x), part_node("Real", x));
  c.set_input_grad(0, -complex(c.grad(0), zeros_like(c.grad(0))) * reciprocal(swapped));
}
// The direction of x; 0 at 0.
void complex_abs_gradient(GradientContext& c) {
  c.set_input_grad(0, div_no_nan(complex(c.grad(0), zeros_like(c.grad(0))) * c.input(0),
                                 complex(c.output(0), zeros_like(c.output(0)))));
}

}  // namespace

// --- Registrations ---

#define CAUDAL_COMPLEX_PART(op, gradient_function, part)                                                      \
  CAUDAL_REGISTER_OP({.name = op,                                                                             \
                      .inputs = "input: T",                                                                   \
                      .outputs = "output: Tout",                                                              \
                      .attrs = "T: {complex64, complex128} = DT_COMPLEX64; Tout: {float, double} = DT_FLOAT", \
                      .shape = unchanged_shape,                                                               \
                      .gradient = gradient_function,                                                          \
                      .cpu = prepare_part<Part::part>})
CAUDAL_COMPLEX_PART("Real", real_gradient, kReal);
CAUDAL_COMPLEX_PART("Imag", imag_gradient, kImag);
CAUDAL_COMPLEX_PART("Angle", angle_gradient, kAngle);
CAUDAL_REGISTER_OP({.name = "ComplexAbs",
                    .inputs = "x: T",
                    .outputs = "y: Tout",
                    .attrs = "T: {complex64, complex128} = DT_COMPLEX64; Tout: {float, double} = DT_FLOAT",
                    .shape = unchanged_shape,
                    .gradient = complex_abs_gradient,
                    .cpu = prepare_part<Part::kAbs>});
CAUDAL_REGISTER_OP({.name = "Complex",
                    .inputs = "real: T; imag: T",
                    .outputs = "out: Tout",
                    .attrs = "T: {float, double} = DT_FLOAT; Tout: {complex64, complex128} = DT_COMPLEX64",
                    .shape = broadcast_shape,
                    .gradient = complex_gradient,
                    .cpu = prepare_complex});

// --- Functions ---

Output complex(const Operand& real, const Operand& imag, const OpOptions& options) {
  DType dtype = common_dtype({&real, &imag});
  if (dtype == DType::kInt32 && !real.is_output() && !imag.is_output()) dtype = DType::kFloat;  // bare whole numbers
  return OpBuilder("Complex", options).input(real, dtype).input(imag, dtype).attr("Tout", complex_of(dtype)).build();
}

namespace math {

Output real(const Operand& input, const OpOptions& options) {
  const Output x = input.to_output();
  return is_complex(x.dtype()) ? part_node("Real", x, options) : x;
}

Output imag(const Operand& input, const OpOptions& options) {
  const Output x = input.to_output();
  if (is_complex(x.dtype())) return part_node("Imag", x, options);
  return OpBuilder("ZerosLike", options).input(x).build();
}

Output angle(const Operand& input, const OpOptions& options) {
  const Output x = input.to_output();
  if (is_complex(x.dtype())) return part_node("Angle", x, options);
  const LocationScope location(options.where);
  const Output zeros = zeros_like(x);
  const Output pi = OpBuilder("OnesLike", {}).input(x).build() * std::numbers::pi;
  return where(less(x, 0), pi, zeros, options);
}

}  // namespace math

namespace raw_ops {
Output complex_abs(const Operand& x, const OpOptions& options) {
  return part_node("ComplexAbs", x.to_output(), options);
}
}  // namespace raw_ops

}  // namespace caudal::inline v0
