// The loop of roof, generic over a vector type V as in gemm_tile.h and included like it.
#pragma once

namespace caudal::inline v0::kernels {
namespace {

template <class V>
double multiply_adds(long n) {
  constexpr int kChains = 12;  // more than the latency of a multiply-add, fewer than the registers
  const float factor = 0.5F;
  typename V::Reg sums[kChains];
#pragma GCC unroll 12
  for (auto& sum : sums) sum = V::broadcast(&factor);
  const typename V::Reg half = V::broadcast(&factor);
  for (long i = 0; i < n; ++i) {
#pragma GCC unroll 12
    for (auto& sum : sums) {
      sum = V::fma(sum, half, half);
      asm("" : "+v"(sum));  // or the compiler would see that all chains are the same
    }
  }
  typename V::Reg total = V::zero();
#pragma GCC unroll 12
  for (const auto& sum : sums) total = V::add(total, sum);
  volatile float used = V::sum(total);
  (void)used;
  return 2.0 * kChains * V::kWidth * static_cast<double>(n);
}

}  // namespace
}  // namespace caudal::inline v0::kernels
