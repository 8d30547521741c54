// The loops of sgd.h; included by one file per instruction set after its `#pragma GCC target`, all with internal
// linkage.
#pragma once

#include <cmath>
#include <cstdint>

#include "caudal/kernels/numeric.h"
#include "caudal/kernels/sgd_tables.h"

namespace caudal::inline v0::kernels {
namespace {

// A scalar in the type of the computation.
template <class W>
W value(const SgdScalar& s) {
  if constexpr (kIsComplex<W>) {
    return W(static_cast<typename W::value_type>(s.real), static_cast<typename W::value_type>(s.imag));
  } else {
    return static_cast<W>(s.real);
  }
}

template <class T>
void descent(const SgdArrays& p, const SgdScalars& s, int64_t begin, int64_t end) {
  using W = Wide<T>;
  auto* __restrict var = static_cast<T*>(p.var);
  const auto* __restrict grad = static_cast<const T*>(p.grad);
  const W rate = value<W>(s.rate);
  for (int64_t i = begin; i < end; ++i)
    var[i] = static_cast<T>(static_cast<W>(var[i]) - static_cast<W>(grad[i]) * rate);
}

template <class T, bool kNesterov>
void momentum(const SgdArrays& p, const SgdScalars& s, int64_t begin, int64_t end) {
  using W = Wide<T>;
  auto* __restrict var = static_cast<T*>(p.var), * __restrict accum = static_cast<T*>(p.first);
  const auto* __restrict grad = static_cast<const T*>(p.grad);
  const W rate = value<W>(s.rate), factor = value<W>(s.momentum);
  for (int64_t i = begin; i < end; ++i) {
    const W g = static_cast<W>(grad[i]), a = static_cast<W>(accum[i]) * factor + g;
    accum[i] = static_cast<T>(a);
    const W step = kNesterov ? g * rate + a * factor * rate : a * rate;
    var[i] = static_cast<T>(static_cast<W>(var[i]) - step);
  }
}

template <class T, bool kNesterov>
void adam(const SgdArrays& p, const SgdScalars& s, int64_t begin, int64_t end) {
  using W = Wide<T>;
  auto* __restrict var = static_cast<T*>(p.var), * __restrict first = static_cast<T*>(p.first);
  auto* __restrict second = static_cast<T*>(p.second);
  const auto* __restrict grad = static_cast<const T*>(p.grad);
  const W beta1 = value<W>(s.beta1), beta2 = value<W>(s.beta2), epsilon = value<W>(s.epsilon);
  const W rest1 = W(1) - beta1, rest2 = W(1) - beta2;
  const W alpha = value<W>(s.rate) * std::sqrt(W(1) - value<W>(s.beta2_power)) / (W(1) - value<W>(s.beta1_power));
  for (int64_t i = begin; i < end; ++i) {
    const W g = static_cast<W>(grad[i]);
    const W m = static_cast<W>(first[i]) + (g - static_cast<W>(first[i])) * rest1;
    const W v = static_cast<W>(second[i]) + (g * g - static_cast<W>(second[i])) * rest2;
    first[i] = static_cast<T>(m);
    second[i] = static_cast<T>(v);
    const W direction = kNesterov ? g * rest1 + beta1 * m : m;
    var[i] = static_cast<T>(static_cast<W>(var[i]) - direction * alpha / (std::sqrt(v) + epsilon));
  }
}

template <class T, bool kCentered>
void rmsprop(const SgdArrays& p, const SgdScalars& s, int64_t begin, int64_t end) {
  using W = Wide<T>;
  auto* __restrict var = static_cast<T*>(p.var), * __restrict ms = static_cast<T*>(p.first);
  auto* __restrict mom = static_cast<T*>(p.second), * __restrict mg = static_cast<T*>(p.third);
  const auto* __restrict grad = static_cast<const T*>(p.grad);
  const W rate = value<W>(s.rate), rest = W(1) - value<W>(s.beta1);
  const W factor = value<W>(s.momentum), epsilon = value<W>(s.epsilon);
  for (int64_t i = begin; i < end; ++i) {
    const W g = static_cast<W>(grad[i]);
    const W square = static_cast<W>(ms[i]) + (g * g - static_cast<W>(ms[i])) * rest;
    ms[i] = static_cast<T>(square);
    W centre = 0;
    if constexpr (kCentered) {
      centre = static_cast<W>(mg[i]) + (g - static_cast<W>(mg[i])) * rest;
      mg[i] = static_cast<T>(centre);
    }
    const W denominator = kCentered ? square - centre * centre + epsilon : square + epsilon;
    const W step = static_cast<W>(mom[i]) * factor + g * rate / std::sqrt(denominator);
    mom[i] = static_cast<T>(step);
    var[i] = static_cast<T>(static_cast<W>(var[i]) - step);
  }
}

template <class T>
void adagrad(const SgdArrays& p, const SgdScalars& s, int64_t begin, int64_t end) {
  using W = Wide<T>;
  auto* __restrict var = static_cast<T*>(p.var), * __restrict accum = static_cast<T*>(p.first);
  const auto* __restrict grad = static_cast<const T*>(p.grad);
  const W rate = value<W>(s.rate), epsilon = value<W>(s.epsilon);
  const bool update = s.update_slots;
  for (int64_t i = begin; i < end; ++i) {
    // A square beyond the type's range must not reach an accumulator that is to stay.
    const W g = static_cast<W>(grad[i]), a = static_cast<W>(accum[i]) + (update ? g * g : W(0));
    accum[i] = static_cast<T>(a);
    var[i] = static_cast<T>(static_cast<W>(var[i]) - g * rate / (std::sqrt(a) + epsilon));
  }
}

template <class T>
constexpr SgdLoops make_sgd_loops() {
  return {descent<T>,    momentum<T, false>, momentum<T, true>, adam<T, false>,
          adam<T, true>, rmsprop<T, false>,  rmsprop<T, true>,  adagrad<T>};
}

}  // namespace
}  // namespace caudal::inline v0::kernels
