// Updates of optimisers, one pass over the parameters each, by TensorFlow's formulas (core/kernels/training_ops).
//
// All work in place on n elements of float, double, half, bfloat16, complex64 or complex128 (UNIMPLEMENTED otherwise),
// computed in float for half and bfloat16. Complex numbers follow the same formulas, with the principal square root and
// squares without conjugation. Scalars are rounded to the type in which the update is computed; only complex variables
// see their imaginary parts. Bits do not depend on the number of threads or the instruction set. Thread safety: all
// functions, on different variables.
#pragma once

#include <complex>
#include <cstdint>

#include "caudal/base/thread_pool.h"
#include "caudal/tensor/dtype.h"

namespace caudal::inline v0::kernels {

using StepScalar = std::complex<double>;

// var -= rate * grad.
void apply_gradient_descent(ThreadPool& pool, DType dtype, int64_t n, void* var, StepScalar rate, const void* grad);

// accum = momentum * accum + grad; var -= rate * accum, with Nesterov: var -= rate * (grad + momentum * accum).
struct MomentumStep {
  StepScalar rate = 0, momentum = 0;
  bool nesterov = false;
};
void apply_momentum(ThreadPool& pool, DType dtype, int64_t n, void* var, void* accum, const void* grad,
                    const MomentumStep& step);

// m += (1 - beta1) (grad - m); v += (1 - beta2) (grad^2 - v); a = rate sqrt(1 - beta2_power) / (1 - beta1_power);
// var -= a m / (sqrt(v) + epsilon), with Nesterov: var -= a (beta1 m + (1 - beta1) grad) / (sqrt(v) + epsilon).
struct AdamStep {
  StepScalar rate = 0, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  StepScalar beta1_power = 0.9, beta2_power = 0.999;  // beta^t of step t, from 1
  bool nesterov = false;
};
void apply_adam(ThreadPool& pool, DType dtype, int64_t n, void* var, void* m, void* v, const void* grad,
                const AdamStep& step);

// ms += (1 - rho) (grad^2 - ms); mom = momentum mom + rate grad / sqrt(ms + epsilon); var -= mom. Centered also keeps
// mg += (1 - rho) (grad - mg) and divides by sqrt(ms - mg^2 + epsilon).
struct RmsPropStep {
  StepScalar rate = 0, rho = 0.9, momentum = 0, epsilon = 1e-10;
};
void apply_rmsprop(ThreadPool& pool, DType dtype, int64_t n, void* var, void* ms, void* mom, const void* grad,
                   const RmsPropStep& step);
void apply_centered_rmsprop(ThreadPool& pool, DType dtype, int64_t n, void* var, void* mg, void* ms, void* mom,
                            const void* grad, const RmsPropStep& step);

// accum += grad^2 (if update_slots); var -= rate * grad / (sqrt(accum) + epsilon). ApplyAdagrad has epsilon 0.
struct AdagradStep {
  StepScalar rate = 0, epsilon = 0;
  bool update_slots = true;
};
void apply_adagrad(ThreadPool& pool, DType dtype, int64_t n, void* var, void* accum, const void* grad,
                   const AdagradStep& step);

}  // namespace caudal::inline v0::kernels
