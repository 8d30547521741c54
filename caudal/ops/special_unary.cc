#include "caudal/ops/special_unary.h"

#include <cmath>
#include <numbers>

#include "caudal/autodiff/gradient.h"
#include "caudal/base/thread_pool.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/kernels/dispatch.h"
#include "caudal/kernels/numeric.h"
#include "caudal/kernels/special_functions.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/selection.h"

namespace caudal::inline v0 {
namespace {

using std::numbers::pi;

// --- Kernels ---

template <double (*function)(double), class T>
void run_function(RunContext& c) {
  const Tensor& x = c.input(0);
  const T* in = x.data<T>();
  T* out = c.allocate_output(0, x.shape()).template data<T>();
  c.pool().parallel_for(x.num_elements(), 256, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      out[i] = T(static_cast<kernels::Wide<T>>(function(static_cast<double>(static_cast<kernels::Wide<T>>(in[i])))));
    }
  });
}

template <double (*function)(double)>
std::unique_ptr<Kernel> prepare(PrepareContext& c) {
  std::unique_ptr<Kernel> kernel;
  kernels::dispatch(kernels::FloatTypes{}, c.input_type(0), "the function",
                    [&]<class T>() { kernel = kernel_of<run_function<function, T>>(c); });
  return kernel;
}

// --- Gradients ---

Output node(std::string_view op, const Output& x) { return OpBuilder(op, {}).input(x).build(); }

void lgamma_gradient(GradientContext& c) { c.set_input_grad(0, c.grad(0) * math::digamma(c.input(0))); }
void digamma_gradient(GradientContext& c) {
  const Output one = ones_like(c.input(0));
  c.set_input_grad(0, c.grad(0) * OpBuilder("Polygamma", {}).input(one).input(c.input(0)).build());
}
void erfinv_gradient(GradientContext& c) {
  c.set_input_grad(0, c.grad(0) * (std::sqrt(pi) / 2 * exp(square(c.output(0)))));
}
void ndtri_gradient(GradientContext& c) {
  c.set_input_grad(0, c.grad(0) * (std::sqrt(2 * pi) * exp(square(c.output(0)) / 2)));
}

// f(x), which divides by x, and the limit where x is 0.
template <class Fn>
Output away_from_zero(const Output& x, double limit, Fn&& f) {
  const Output is_zero = equal(x, zeros_like(x));
  return where(is_zero, ones_like(x) * limit, f(where(is_zero, ones_like(x), x)));
}

void bessel_i0_gradient(GradientContext& c) { c.set_input_grad(0, c.grad(0) * node("BesselI1", c.input(0))); }
void bessel_i0e_gradient(GradientContext& c) {
  const Output x = c.input(0);
  c.set_input_grad(0, c.grad(0) * (node("BesselI1e", x) - sign(x) * c.output(0)));
}
void bessel_k0_gradient(GradientContext& c) { c.set_input_grad(0, c.grad(0) * -node("BesselK1", c.input(0))); }
void bessel_k0e_gradient(GradientContext& c) {
  c.set_input_grad(0, c.grad(0) * (c.output(0) - node("BesselK1e", c.input(0))));
}
void bessel_k1_gradient(GradientContext& c) {
  const Output x = c.input(0);
  c.set_input_grad(0, c.grad(0) * (-node("BesselK0", x) - c.output(0) / x));
}
void bessel_k1e_gradient(GradientContext& c) {
  const Output x = c.input(0);
  c.set_input_grad(0, c.grad(0) * (c.output(0) * (1 - reciprocal(x)) - node("BesselK0e", x)));
}
void bessel_j0_gradient(GradientContext& c) { c.set_input_grad(0, c.grad(0) * -node("BesselJ1", c.input(0))); }
void bessel_y0_gradient(GradientContext& c) { c.set_input_grad(0, c.grad(0) * -node("BesselY1", c.input(0))); }
void bessel_y1_gradient(GradientContext& c) {
  const Output x = c.input(0);
  c.set_input_grad(0, c.grad(0) * (node("BesselY0", x) - c.output(0) / x));
}
void bessel_i1_gradient(GradientContext& c) {
  const Output x = c.input(0), y = c.output(0);
  c.set_input_grad(0, c.grad(0) * away_from_zero(x, 0.5, [&](const Output& s) { return node("BesselI0", s) - y / s; }));
}
void bessel_i1e_gradient(GradientContext& c) {
  const Output x = c.input(0), y = c.output(0);
  c.set_input_grad(0, c.grad(0) * away_from_zero(x, 0.5, [&](const Output& s) {
                        return node("BesselI0e", s) - y * (sign(s) + reciprocal(s));
                      }));
}
void bessel_j1_gradient(GradientContext& c) {
  const Output x = c.input(0), y = c.output(0);
  c.set_input_grad(0, c.grad(0) * away_from_zero(x, 0.5, [&](const Output& s) { return node("BesselJ0", s) - y / s; }));
}
void dawsn_gradient(GradientContext& c) { c.set_input_grad(0, c.grad(0) * (1 - 2 * c.input(0) * c.output(0))); }
void expint_gradient(GradientContext& c) { c.set_input_grad(0, c.grad(0) * exp(c.input(0)) / c.input(0)); }
void fresnel_cos_gradient(GradientContext& c) { c.set_input_grad(0, c.grad(0) * cos(pi / 2 * square(c.input(0)))); }
void fresnel_sin_gradient(GradientContext& c) { c.set_input_grad(0, c.grad(0) * sin(pi / 2 * square(c.input(0)))); }
void spence_gradient(GradientContext& c) {
  const Output x = c.input(0);
  const Output at_one = equal(x, ones_like(x));
  c.set_input_grad(0, c.grad(0) * where(at_one, -ones_like(x), log(x) / (1 - x)));
}

double log_gamma(double x) { return std::lgamma(x); }

}  // namespace

// --- Registrations ---

#define CAUDAL_SPECIAL(op, gradient_function, function)              \
  CAUDAL_REGISTER_OP({.name = op,                                    \
                      .inputs = "x: T",                              \
                      .outputs = "y: T",                             \
                      .attrs = "T: {bfloat16, half, float, double}", \
                      .shape = unchanged_shape,                      \
                      .gradient = gradient_function,                 \
                      .cpu = prepare<function>})
CAUDAL_SPECIAL("Lgamma", lgamma_gradient, log_gamma);
CAUDAL_SPECIAL("Digamma", digamma_gradient, kernels::digamma);
CAUDAL_SPECIAL("Erfinv", erfinv_gradient, kernels::erfinv);
CAUDAL_SPECIAL("Ndtri", ndtri_gradient, kernels::ndtri);
CAUDAL_SPECIAL("BesselI0", bessel_i0_gradient, kernels::bessel_i0);
CAUDAL_SPECIAL("BesselI0e", bessel_i0e_gradient, kernels::bessel_i0e);
CAUDAL_SPECIAL("BesselI1", bessel_i1_gradient, kernels::bessel_i1);
CAUDAL_SPECIAL("BesselI1e", bessel_i1e_gradient, kernels::bessel_i1e);
CAUDAL_SPECIAL("BesselK0", bessel_k0_gradient, kernels::bessel_k0);
CAUDAL_SPECIAL("BesselK0e", bessel_k0e_gradient, kernels::bessel_k0e);
CAUDAL_SPECIAL("BesselK1", bessel_k1_gradient, kernels::bessel_k1);
CAUDAL_SPECIAL("BesselK1e", bessel_k1e_gradient, kernels::bessel_k1e);
CAUDAL_SPECIAL("BesselJ0", bessel_j0_gradient, kernels::bessel_j0);
CAUDAL_SPECIAL("BesselJ1", bessel_j1_gradient, kernels::bessel_j1);
CAUDAL_SPECIAL("BesselY0", bessel_y0_gradient, kernels::bessel_y0);
CAUDAL_SPECIAL("BesselY1", bessel_y1_gradient, kernels::bessel_y1);
CAUDAL_SPECIAL("Dawsn", dawsn_gradient, kernels::dawsn);
CAUDAL_SPECIAL("Expint", expint_gradient, kernels::expint);
CAUDAL_SPECIAL("FresnelCos", fresnel_cos_gradient, kernels::fresnel_cos);
CAUDAL_SPECIAL("FresnelSin", fresnel_sin_gradient, kernels::fresnel_sin);
CAUDAL_SPECIAL("Spence", spence_gradient, kernels::spence);

// --- Functions ---

#define CAUDAL_SPECIAL_FUNCTION(function, op) \
  Output function(const Operand& x, const OpOptions& options) { return OpBuilder(op, options).input(x).build(); }

namespace math {

CAUDAL_SPECIAL_FUNCTION(lgamma, "Lgamma")
CAUDAL_SPECIAL_FUNCTION(digamma, "Digamma")
CAUDAL_SPECIAL_FUNCTION(erfinv, "Erfinv")
CAUDAL_SPECIAL_FUNCTION(ndtri, "Ndtri")
CAUDAL_SPECIAL_FUNCTION(bessel_i0, "BesselI0")
CAUDAL_SPECIAL_FUNCTION(bessel_i0e, "BesselI0e")
CAUDAL_SPECIAL_FUNCTION(bessel_i1, "BesselI1")
CAUDAL_SPECIAL_FUNCTION(bessel_i1e, "BesselI1e")

Output erfcinv(const Operand& x, const OpOptions& options) {
  const LocationScope location(options.where);
  return multiply(ndtri(0.5 * x), -std::sqrt(0.5), options);
}

namespace special {
CAUDAL_SPECIAL_FUNCTION(bessel_i0, "BesselI0")
CAUDAL_SPECIAL_FUNCTION(bessel_i0e, "BesselI0e")
CAUDAL_SPECIAL_FUNCTION(bessel_i1, "BesselI1")
CAUDAL_SPECIAL_FUNCTION(bessel_i1e, "BesselI1e")
CAUDAL_SPECIAL_FUNCTION(bessel_k0, "BesselK0")
CAUDAL_SPECIAL_FUNCTION(bessel_k0e, "BesselK0e")
CAUDAL_SPECIAL_FUNCTION(bessel_k1, "BesselK1")
CAUDAL_SPECIAL_FUNCTION(bessel_k1e, "BesselK1e")
CAUDAL_SPECIAL_FUNCTION(bessel_j0, "BesselJ0")
CAUDAL_SPECIAL_FUNCTION(bessel_j1, "BesselJ1")
CAUDAL_SPECIAL_FUNCTION(bessel_y0, "BesselY0")
CAUDAL_SPECIAL_FUNCTION(bessel_y1, "BesselY1")
CAUDAL_SPECIAL_FUNCTION(dawsn, "Dawsn")
CAUDAL_SPECIAL_FUNCTION(expint, "Expint")
CAUDAL_SPECIAL_FUNCTION(fresnel_cos, "FresnelCos")
CAUDAL_SPECIAL_FUNCTION(fresnel_sin, "FresnelSin")
CAUDAL_SPECIAL_FUNCTION(spence, "Spence")
}  // namespace special

}  // namespace math
}  // namespace caudal::inline v0
