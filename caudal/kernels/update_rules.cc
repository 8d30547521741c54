#include "caudal/kernels/update_rules.h"

#include <algorithm>
#include <cmath>
#include <complex>

#include "caudal/base/error.h"
#include "caudal/kernels/dispatch.h"
#include "caudal/kernels/numeric.h"

namespace caudal::inline v0::kernels {
namespace {

constexpr int kMostVariables = 4, kMostScalars = 6;

// What one call works on, in the types of the computation.
template <class T>
struct Pass {
  using W = Wide<T>;
  T* variables[kMostVariables];
  const T* grad;
  W scalars[kMostScalars];
  bool flag;

  W value(int variable, int64_t i) const { return static_cast<W>(variables[variable][i]); }
  void set(int variable, int64_t i, W value) const { variables[variable][i] = static_cast<T>(value); }
  W gradient(int64_t i) const { return static_cast<W>(grad[i]); }
};

template <class T>
using Loop = void (*)(const Pass<T>& p, int64_t begin, int64_t end);

template <class W>
W sign(W x) {
  return x > 0 ? W(1) : x < 0 ? W(-1) : x;
}

// sign(x) max(|x| - by, 0) if `l1` asks for it.
template <class W>
W shrunk(W x, W by, W l1) {
  return l1 > 0 ? sign(x) * std::max(std::abs(x) - by, W(0)) : x;
}

template <class T>
void adadelta(const Pass<T>& p, int64_t begin, int64_t end) {
  using W = Wide<T>;
  const W lr = p.scalars[0], rho = p.scalars[1], epsilon = p.scalars[2], rest = W(1) - rho;
  for (int64_t i = begin; i < end; ++i) {
    const W g = p.gradient(i), updates = p.value(2, i), accum = p.value(1, i) * rho + g * g * rest;
    const W update = std::sqrt(updates + epsilon) / std::sqrt(accum + epsilon) * g;
    p.set(1, i, accum);
    p.set(2, i, updates * rho + update * update * rest);
    p.set(0, i, p.value(0, i) - update * lr);
  }
}

template <class T>
void adagrad_da(const Pass<T>& p, int64_t begin, int64_t end) {
  using W = Wide<T>;
  const W lr = p.scalars[0], l1 = p.scalars[1], l2 = p.scalars[2], step = p.scalars[3];
  for (int64_t i = begin; i < end; ++i) {
    const W g = p.gradient(i), sum = p.value(1, i) + g, squares = p.value(2, i) + g * g;
    p.set(1, i, sum);
    p.set(2, i, squares);
    p.set(0, i, -lr * shrunk(sum, step * l1, l1) / (l2 * (step * lr) + std::sqrt(squares)));
  }
}

template <class T>
void proximal_descent(const Pass<T>& p, int64_t begin, int64_t end) {
  using W = Wide<T>;
  const W rate = p.scalars[0], l1 = p.scalars[1], by = rate * l1, divisor = W(1) + p.scalars[2] * rate;
  for (int64_t i = begin; i < end; ++i) p.set(0, i, shrunk(p.value(0, i) - p.gradient(i) * rate, by, l1) / divisor);
}

template <class T>
void proximal_adagrad(const Pass<T>& p, int64_t begin, int64_t end) {
  using W = Wide<T>;
  const W lr = p.scalars[0], l1 = p.scalars[1], l2 = p.scalars[2];
  for (int64_t i = begin; i < end; ++i) {
    const W g = p.gradient(i), accum = p.value(1, i) + g * g, rate = lr / std::sqrt(accum);
    p.set(1, i, accum);
    p.set(0, i, shrunk(p.value(0, i) - g * rate, rate * l1, l1) / (W(1) + l2 * rate));
  }
}

template <class T>
void ftrl(const Pass<T>& p, int64_t begin, int64_t end) {
  using W = Wide<T>;
  const W lr = p.scalars[0], l2_shrinkage = p.scalars[3], power = -p.scalars[4];
  // Of linear, and of the rest of the formulas where linear is not multiplied.
  const W multiplied = p.flag ? lr : W(1), divided = p.flag ? W(1) : lr;
  const W l1 = p.scalars[1] * multiplied, l2 = W(2) * p.scalars[2] * multiplied;
  const auto raised = [&](W x) { return power == W(0.5) ? std::sqrt(x) : std::pow(x, power); };
  for (int64_t i = begin; i < end; ++i) {
    const W g = p.gradient(i), var = p.value(0, i), accum = p.value(1, i), sum = accum + g * g, root = raised(sum);
    const W shrunk_gradient = g + W(2) * l2_shrinkage * var;
    const W linear = p.value(2, i) + (shrunk_gradient * multiplied - (root - raised(accum)) / divided * var);
    p.set(1, i, sum);
    p.set(2, i, linear);
    p.set(0, i, std::abs(linear) > l1 ? (l1 * sign(linear) - linear) / (root / divided + l2) : W(0));
  }
}

template <class T>
void adamax(const Pass<T>& p, int64_t begin, int64_t end) {
  using W = Wide<T>;
  const W rate = p.scalars[1] / (W(1) - p.scalars[0]), beta2 = p.scalars[3], epsilon = p.scalars[4];
  const W rest = W(1) - p.scalars[2];
  for (int64_t i = begin; i < end; ++i) {
    const W g = p.gradient(i), m = p.value(1, i) + (g - p.value(1, i)) * rest;
    const W v = std::max(beta2 * p.value(2, i), std::abs(g));
    p.set(1, i, m);
    p.set(2, i, v);
    p.set(0, i, p.value(0, i) - rate * (m / (v + epsilon)));
  }
}

template <class T>
void amsgrad(const Pass<T>& p, int64_t begin, int64_t end) {
  using W = Wide<T>;
  const W alpha = p.scalars[2] * std::sqrt(W(1) - p.scalars[1]) / (W(1) - p.scalars[0]);
  const W rest1 = W(1) - p.scalars[3], rest2 = W(1) - p.scalars[4], epsilon = p.scalars[5];
  for (int64_t i = begin; i < end; ++i) {
    const W g = p.gradient(i), m = p.value(1, i) + (g - p.value(1, i)) * rest1;
    const W v = p.value(2, i) + (g * g - p.value(2, i)) * rest2, largest = std::max(p.value(3, i), v);
    p.set(1, i, m);
    p.set(2, i, v);
    p.set(3, i, largest);
    p.set(0, i, p.value(0, i) - m * alpha / (std::sqrt(largest) + epsilon));
  }
}

// The two that look at whether gradient and momentum agree; `scale` is of the product of their signs.
template <class T, class Scale>
void sign_update(const Pass<T>& p, int64_t begin, int64_t end, const Scale& scale) {
  using W = Wide<T>;
  const W lr = p.scalars[0], beta = p.scalars[3], rest = W(1) - beta;
  for (int64_t i = begin; i < end; ++i) {
    const W g = p.gradient(i), m = p.value(1, i) * beta + g * rest;
    p.set(1, i, m);
    p.set(0, i, p.value(0, i) - lr * scale(sign(g) * sign(m)) * g);
  }
}

template <class T>
void add_sign(const Pass<T>& p, int64_t begin, int64_t end) {
  using W = Wide<T>;
  sign_update(p, begin, end, [&](W agreement) { return p.scalars[1] + p.scalars[2] * agreement; });
}

template <class T>
void power_sign(const Pass<T>& p, int64_t begin, int64_t end) {
  using W = Wide<T>;
  sign_update(p, begin, end, [&](W agreement) { return std::exp(p.scalars[1] * p.scalars[2] * agreement); });
}

template <class T>
void keras_momentum(const Pass<T>& p, int64_t begin, int64_t end) {
  using W = Wide<T>;
  const W lr = p.scalars[0], momentum = p.scalars[1];
  for (int64_t i = begin; i < end; ++i) {
    const W step = p.gradient(i) * lr, accum = p.value(1, i) * momentum - step;
    p.set(1, i, accum);
    p.set(0, i, p.value(0, i) + (p.flag ? accum * momentum - step : accum));
  }
}

template <class T>
Loop<T> find_loop(UpdateRule rule) {
  if (rule == UpdateRule::kAdadelta) return adadelta<T>;
  if (rule == UpdateRule::kKerasMomentum) return keras_momentum<T>;
  if constexpr (!kIsComplex<T>) {
    switch (rule) {
      case UpdateRule::kAdagradDa:
        return adagrad_da<T>;
      case UpdateRule::kProximalDescent:
        return proximal_descent<T>;
      case UpdateRule::kProximalAdagrad:
        return proximal_adagrad<T>;
      case UpdateRule::kFtrl:
        return ftrl<T>;
      case UpdateRule::kAdaMax:
        return adamax<T>;
      case UpdateRule::kAmsgrad:
        return amsgrad<T>;
      case UpdateRule::kAddSign:
        return add_sign<T>;
      case UpdateRule::kPowerSign:
        return power_sign<T>;
      default:
        break;
    }
  }
  throw unimplemented("optimiser update of ", dtype_name(dtype_of<T>()), " has no kernel");
}

template <class T>
void run(ThreadPool& pool, UpdateRule rule, int64_t n, char* const* variables, const char* grad,
         const StepScalar* scalars, bool flag) {
  using W = Wide<T>;
  Pass<T> pass{};
  for (int i = 0; i < kMostVariables; ++i) pass.variables[i] = reinterpret_cast<T*>(variables[i]);
  pass.grad = reinterpret_cast<const T*>(grad);
  for (int i = 0; i < kMostScalars; ++i) {
    if constexpr (kIsComplex<W>) {
      pass.scalars[i] = W(scalars[i]);
    } else {
      pass.scalars[i] = static_cast<W>(scalars[i].real());
    }
  }
  pass.flag = flag;
  const Loop<T> loop = find_loop<T>(rule);
  pool.parallel_for(n, 8192, [&](int64_t begin, int64_t end) { loop(pass, begin, end); });
}

}  // namespace

void apply_update(ThreadPool& pool, UpdateRule rule, DType dtype, int64_t n, char* const* variables, const char* grad,
                  const StepScalar* scalars, bool flag) {
  using Types = TypeList<float, double, Half, BFloat16, std::complex<float>, std::complex<double>>;
  dispatch(Types{}, dtype, "optimiser update",
           [&]<class T>() { run<T>(pool, rule, n, variables, grad, scalars, flag); });
}

}  // namespace caudal::inline v0::kernels
