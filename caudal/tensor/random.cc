#include "caudal/tensor/random.h"

namespace caudal::inline v0 {
namespace {

using Sample = PhiloxRandom::Sample;

template <class T, int kMantissaBits>
void uniforms(const PhiloxRandom& generator, std::span<T> out, ThreadPool& pool) {
  fill_philox_groups<4>(generator, out, pool, [](const Sample& x) {
    constexpr uint32_t kOne = 1u << kMantissaBits;
    std::array<T, 4> group;
    for (int i = 0; i < 4; ++i) group[i] = T(static_cast<float>(x[i] & (kOne - 1)) / static_cast<float>(kOne));
    return group;
  });
}

template <class T>
void normals(const PhiloxRandom& generator, std::span<T> out, ThreadPool& pool) {
  fill_philox_groups<4>(generator, out, pool, [](const Sample& x) {
    const auto [a, b] = box_muller(x[0], x[1]);
    const auto [c, d] = box_muller(x[2], x[3]);
    return std::array{T(a), T(b), T(c), T(d)};
  });
}

template <class T>
void truncated(const PhiloxRandom& generator, std::span<T> out, ThreadPool& pool) {
  fill_philox_regions<4>(generator, out, pool, [](PhiloxSingles& singles) {
    const auto [a, b, c, d] = truncated_normals(singles);
    return std::array{T(a), T(b), T(c), T(d)};
  });
}

}  // namespace

void fill_uniform(const PhiloxRandom& g, std::span<Half> out, ThreadPool& pool) { uniforms<Half, 10>(g, out, pool); }
void fill_uniform(const PhiloxRandom& g, std::span<BFloat16> out, ThreadPool& pool) {
  uniforms<BFloat16, 7>(g, out, pool);
}
void fill_normal(const PhiloxRandom& g, std::span<Half> out, ThreadPool& pool) { normals(g, out, pool); }
void fill_normal(const PhiloxRandom& g, std::span<BFloat16> out, ThreadPool& pool) { normals(g, out, pool); }
void fill_truncated_normal(const PhiloxRandom& g, std::span<Half> out, ThreadPool& pool) { truncated(g, out, pool); }
void fill_truncated_normal(const PhiloxRandom& g, std::span<BFloat16> out, ThreadPool& pool) {
  truncated(g, out, pool);
}

}  // namespace caudal::inline v0
