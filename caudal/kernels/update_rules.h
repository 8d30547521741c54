// Updates of the optimisers that sgd.h does not have, by TensorFlow's formulas (core/kernels/training_ops), one pass
// over the parameters each.
//
// All work in place on n elements, computed in float for half and bfloat16. Scalars are rounded to the type in which
// the update is computed. Bits do not depend on the number of threads. Thread safety: on different variables.
#pragma once

#include <cstdint>

#include "caudal/base/thread_pool.h"
#include "caudal/kernels/sgd.h"
#include "caudal/tensor/dtype.h"

namespace caudal::inline v0::kernels {

// The formulas, with the slots and the scalars in their order (that of the op's definition).
enum class UpdateRule {
  // accum, accum_update; lr, rho, epsilon. accum = rho accum + (1 - rho) g^2;
  // u = sqrt(accum_update + epsilon) / sqrt(accum + epsilon) g; var -= lr u;
  // accum_update = rho accum_update + (1 - rho) u^2.
  kAdadelta,
  // gradient_accumulator (ga), gradient_squared_accumulator (gg); lr, l1, l2, global_step (t). ga += g; gg += g^2;
  // var = -lr sign(ga) max(|ga| - l1 t, 0) / (l2 t lr + sqrt(gg)).
  kAdagradDa,
  // No slots; alpha, l1, l2. p = var - alpha g; var = sign(p) max(|p| - alpha l1, 0) / (1 + l2 alpha).
  kProximalDescent,
  // accum; lr, l1, l2. accum += g^2; the same with alpha = lr / sqrt(accum).
  kProximalAdagrad,
  // accum, linear; lr, l1, l2, l2_shrinkage, lr_power. new = accum + g^2;
  // linear += g + 2 l2_shrinkage var - (new^-lr_power - accum^-lr_power) / lr var;
  // var = |linear| > l1 ? (l1 sign(linear) - linear) / (new^-lr_power / lr + 2 l2) : 0; accum = new.
  // McMahan et al. 2013. With `flag` linear is kept multiplied by lr.
  kFtrl,
  // m, v; beta1_power, lr, beta1, beta2, epsilon. m += (1 - beta1) (g - m); v = max(beta2 v, |g|);
  // var -= lr / (1 - beta1_power) m / (v + epsilon). Kingma and Ba 2014, section 7.1.
  kAdaMax,
  // m, v, vhat; beta1_power, beta2_power, lr, beta1, beta2, epsilon. Adam with vhat = max(vhat, v) under the root.
  kAmsgrad,
  // m; lr, alpha, sign_decay, beta. m = beta m + (1 - beta) g; var -= lr (alpha + sign_decay sign(g) sign(m)) g.
  kAddSign,
  // m; lr, logbase, sign_decay, beta. m as above; var -= lr exp(logbase sign_decay sign(g) sign(m)) g.
  kPowerSign,
  // accum; lr, momentum. accum = momentum accum - lr g; var += accum, with `flag` (Nesterov) momentum accum - lr g.
  kKerasMomentum,
};

// Types: kAdadelta and kKerasMomentum all floating and complex ones, the others the floating ones; UNIMPLEMENTED
// otherwise. variables: var, then the slots.
void apply_update(ThreadPool& pool, UpdateRule rule, DType dtype, int64_t n, char* const* variables, const char* grad,
                  const StepScalar* scalars, bool flag = false);

}  // namespace caudal::inline v0::kernels
