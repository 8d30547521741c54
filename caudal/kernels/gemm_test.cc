#include "caudal/kernels/gemm.h"

#include <gtest/gtest.h>

#include <complex>

#include "caudal/base/error.h"
#include "caudal/kernels/test_util.h"

namespace caudal::inline v0::kernels {
namespace {

struct Case {
  int64_t m, n, k;
};

// Sizes around the tiles (14x32, 6x16, 14x16), the block of k (512) and the task grid.
const Case kCases[] = {{1, 1, 1},     {1, 300, 50},   {50, 1, 70},   {2, 3, 4},  {14, 32, 8},
                       {15, 33, 9},   {13, 31, 7},    {6, 16, 5},    {7, 17, 3}, {50, 10, 100},
                       {29, 65, 513}, {3, 130, 1030}, {113, 97, 20}, {1, 7, 600}};

template <class T>
void compare_with_reference(double tolerance) {
  ThreadPool one(1), two(2);
  for (const Isa isa : test_isas()) {
    const IsaCap cap(isa);
    for (const Case& c : kCases) {
      for (int transposes = 0; transposes < 4; ++transposes) {
        const GemmShape shape{c.m, c.n, c.k, (transposes & 1) != 0, (transposes & 2) != 0};
        const auto a = random_values<T>(c.m * c.k, 1), b = random_values<T>(c.k * c.n, 2),
                   bias = random_values<T>(c.n, 3);
        auto gate = random_values<T>(c.m * c.n, 5);
        gate.front() = static_cast<T>(NAN);
        const GemmTail tail{0.5, 2, bias.data(), (transposes & 1) == 0, gate.data()};
        auto expected = random_values<T>(c.m * c.n, 4), result = expected, again = expected;
        gemm_reference(one, dtype_of<T>(), shape, a.data(), b.data(), expected.data(), tail);
        gemm(one, dtype_of<T>(), shape, a.data(), b.data(), result.data(), tail);
        gemm(two, dtype_of<T>(), shape, a.data(), b.data(), again.data(), tail);
        ASSERT_LT(worst_error(result, expected), tolerance) << isa_name(isa) << " " << c.m << "," << c.n << "," << c.k;
        ASSERT_TRUE(same_bits(result, again)) << isa_name(isa) << " " << c.m << "," << c.n << "," << c.k;
      }
    }
  }
}

TEST(Gemm, AgreesWithTheReference) {
  compare_with_reference<float>(5e-5);
  compare_with_reference<double>(1e-12);
  compare_with_reference<Half>(2e-3);
  compare_with_reference<BFloat16>(2e-2);
}

TEST(Gemm, DistantRowsAreReadAndWrittenInPlace) {
  ThreadPool pool(1);
  const int64_t m = 17, n = 35, k = 9;
  const auto a = random_values((m + 1) * 20), b = random_values((k + 1) * 50);
  for (const Isa isa : test_isas()) {
    const IsaCap cap(isa);
    std::vector<float> c(static_cast<std::size_t>(m * 40), 7.0F);
    gemm(pool, {m, n, k, false, false, 20, 50, 40}, a.data(), b.data(), c.data());
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < 40; ++j) {
        double sum = 0;
        for (int64_t p = 0; p < k; ++p) sum += static_cast<double>(a[i * 20 + p]) * b[p * 50 + j];
        ASSERT_NEAR(c[i * 40 + j], j < n ? sum : 7.0, 1e-5) << i << "," << j;
      }
    }
  }
}

// All tails at once and each alone, with rows further apart than they are long.
TEST(Gemm, EveryTailWithDistantRows) {
  ThreadPool one(1), two(2);
  for (const Isa isa : test_isas()) {
    const IsaCap cap(isa);
    for (const Case& c : kCases) {
      const int64_t ldc = c.n + 3;
      const auto a = random_values(c.m * c.k, 1), b = random_values(c.k * c.n, 2), bias = random_values(c.n, 3);
      const auto gate = random_values(c.m * ldc, 5);
      for (int tails = 0; tails < 32; ++tails) {
        const GemmShape shape{c.m, c.n, c.k, false, false, 0, 0, ldc};
        const GemmTail tail{(tails & 1) != 0 ? 0.5 : 1, (tails & 2) != 0 ? 2.0 : 0,
                            (tails & 4) != 0 ? bias.data() : nullptr, (tails & 8) != 0,
                            (tails & 16) != 0 ? gate.data() : nullptr};
        auto expected = random_values(c.m * ldc, 4), result = expected, again = expected, packed = expected;
        gemm_reference(one, DType::kFloat, shape, a.data(), b.data(), expected.data(), tail);
        gemm(one, shape, a.data(), b.data(), result.data(), tail);
        gemm(two, shape, a.data(), b.data(), again.data(), tail);
        gemm(one, shape, a.data(), PackedB(one, false, c.k, c.n, b.data()), packed.data(), tail);
        ASSERT_LT(worst_error(result, expected), 5e-5)
            << isa_name(isa) << " " << c.m << "," << c.n << " tails " << tails;
        ASSERT_LT(worst_error(packed, expected), 5e-5)
            << isa_name(isa) << " " << c.m << "," << c.n << " tails " << tails;
        ASSERT_TRUE(same_bits(result, again)) << isa_name(isa) << " " << c.m << "," << c.n << " tails " << tails;
      }
    }
  }
}

TEST(Gemm, GateMovesWithTheResultsOfABatch) {
  ThreadPool pool(2);
  for (const Isa isa : test_isas()) {
    const IsaCap cap(isa);
    for (const int64_t count : {2, 6}) {
      const int64_t m = 5, n = 18, k = 7;
      const auto a = random_values(count * m * k, 1), b = random_values(k * n, 2),
                 gate = random_values(count * m * n, 3);
      std::vector<float> c(static_cast<std::size_t>(count * m * n));
      GemmTail tail;
      tail.gate = gate.data();
      batch_gemm(pool, DType::kFloat, {count, m * k, 0, m * n}, {m, n, k}, a.data(), b.data(), c.data(), tail);
      for (std::size_t i = 0; i < c.size(); ++i) ASSERT_EQ(c[i] != 0, gate[i] > 0) << i;
    }
  }
}

TEST(Gemm, EmptyInnerDimensionGivesZerosAndTail) {
  ThreadPool pool(1);
  for (const Isa isa : test_isas()) {
    const IsaCap cap(isa);
    for (const int64_t m : {1, 5}) {
      std::vector<float> c(static_cast<std::size_t>(m * 3), NAN);
      const float bias[3] = {1, -2, 3};
      gemm(pool, {m, 3, 0}, c.data(), c.data(), c.data(), {1, 0, bias, true});
      for (int64_t i = 0; i < m; ++i) {
        EXPECT_EQ(c[i * 3], 1);
        EXPECT_EQ(c[i * 3 + 1], 0);
        EXPECT_EQ(c[i * 3 + 2], 3);
      }
    }
    gemm(pool, {0, 3, 4}, nullptr, nullptr, static_cast<float*>(nullptr));
    gemm(pool, {3, 0, 4}, nullptr, nullptr, static_cast<float*>(nullptr));
  }
}

TEST(Gemm, BetaZeroNeverReadsTheResult) {
  ThreadPool pool(1);
  for (const Isa isa : test_isas()) {
    const IsaCap cap(isa);
    const auto a = random_values(5 * 600), b = random_values(600 * 5);
    std::vector<float> c(25, NAN);
    gemm(pool, {5, 5, 600}, a.data(), b.data(), c.data());
    for (const float value : c) EXPECT_FALSE(std::isnan(value));
  }
}

TEST(Gemm, ReluKeepsNaN) {
  ThreadPool pool(1);
  for (const Isa isa : test_isas()) {
    const IsaCap cap(isa);
    for (const int64_t m : {1, 2}) {
      const float a[2] = {NAN, NAN}, b[2] = {1, 1};
      float c[4] = {};
      gemm(pool, {m, 2, 1}, a, b, c, {1, 0, nullptr, true});
      EXPECT_TRUE(std::isnan(c[0])) << isa_name(isa) << m;
    }
  }
}

TEST(Gemm, PackedOperandGivesTheSameBits) {
  ThreadPool pool(2);
  for (const Isa isa : test_isas()) {
    const IsaCap cap(isa);
    for (const bool transpose : {false, true}) {
      const int64_t m = 30, n = 70, k = 600;
      const auto a = random_values(m * k, 1), b = random_values(k * n, 2), other = random_values(k * n, 3);
      std::vector<float> expected(static_cast<std::size_t>(m * n)), result(expected);
      PackedB packed(pool, transpose, k, n, other.data());
      packed.repack(pool, b.data());
      gemm(pool, {m, n, k}, a.data(), packed, result.data());
      gemm(pool, {m, n, k, false, transpose}, a.data(), b.data(), expected.data());
      EXPECT_LT(worst_error(result, expected), 5e-5);
      if (isa != Isa::kPlain) {
        EXPECT_TRUE(same_bits(result, expected));
      }
      EXPECT_THROW(gemm(pool, {m, n, k + 1}, a.data(), packed, result.data()), Error);
    }
  }
}

TEST(Gemm, IntegersWrapAndComplexAdjointConjugates) {
  ThreadPool pool(1);
  const int32_t a[2] = {2147483647, 1}, b[2] = {2, 5};
  int32_t c = 0;
  gemm(pool, DType::kInt32, {1, 1, 2}, a, b, &c);
  EXPECT_EQ(c, 3);
  const std::complex<float> x[2] = {{1, 2}, {3, -1}}, y[2] = {{0, 1}, {2, 2}};
  std::complex<float> z;
  gemm(pool, DType::kComplex64, {1, 1, 2, true, false, 0, 0, 0, true}, x, y, &z);
  EXPECT_EQ(z, std::conj(x[0]) * y[0] + std::conj(x[1]) * y[1]);
  EXPECT_THROW(gemm(pool, DType::kBool, {1, 1, 1}, a, b, &c), Error);
}

TEST(Gemm, BatchesRepeatAnOperandOfStrideZero) {
  ThreadPool pool(2);
  for (const DType dtype : {DType::kFloat, DType::kHalf}) {
    const int64_t m = 9, n = 20, k = 33, count = 6;
    std::vector<float> a = random_values(count * m * k), b = random_values(k * n),
                       c(static_cast<std::size_t>(count * m * n));
    std::vector<float> expected(c);
    if (dtype == DType::kFloat) {
      batch_gemm(pool, dtype, {count, m * k, 0, m * n}, {m, n, k}, a.data(), b.data(), c.data());
      for (int64_t i = 0; i < count; ++i) {
        gemm(pool, {m, n, k}, a.data() + i * m * k, b.data(), expected.data() + i * m * n);
      }
      EXPECT_TRUE(same_bits(c, expected));
    } else {
      const auto ha = random_values<Half>(count * m * k, 1), hb = random_values<Half>(k * n, 2);
      std::vector<Half> hc(static_cast<std::size_t>(count * m * n)), he(hc);
      batch_gemm(pool, dtype, {count, m * k, 0, m * n}, {m, n, k}, ha.data(), hb.data(), hc.data());
      for (int64_t i = 0; i < count; ++i) {
        gemm_reference(pool, dtype, {m, n, k}, ha.data() + i * m * k, hb.data(), he.data() + i * m * n);
      }
      EXPECT_LT(worst_error(hc, he), 2e-3);
    }
  }
}

}  // namespace
}  // namespace caudal::inline v0::kernels
