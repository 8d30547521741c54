// Shared by the tests of this folder.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "caudal/kernels/isa.h"
#include "caudal/tensor/dtype.h"

namespace caudal::inline v0::kernels {

// The instruction sets that this machine can run, plain first.
inline std::vector<Isa> test_isas() {
  std::vector<Isa> isas;
  for (const Isa isa : {Isa::kPlain, Isa::kAvx2, Isa::kAvx512}) {
    if (isa <= best_isa()) isas.push_back(isa);
  }
  return isas;
}

template <class T = float>
std::vector<T> random_values(int64_t n, uint32_t seed = 1, double spread = 1) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal(0, spread);
  std::vector<T> values(static_cast<std::size_t>(n));
  for (T& value : values) value = static_cast<T>(static_cast<float>(normal(generator)));
  return values;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

// Largest |a - b| / (1 + |b|); infinite if a NaN meets a number.
template <class T>
double worst_error(const std::vector<T>& a, const std::vector<T>& b) {
  if (a.size() != b.size()) return INFINITY;
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto x = static_cast<double>(static_cast<float>(a[i])), y = static_cast<double>(static_cast<float>(b[i]));
    if (std::isnan(x) != std::isnan(y)) return INFINITY;
    if (!std::isnan(x) && x != y) worst = std::max(worst, std::abs(x - y) / (1 + std::abs(y)));
  }
  return worst;
}

}  // namespace caudal::inline v0::kernels
