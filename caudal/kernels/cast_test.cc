#include "caudal/kernels/cast.h"

#include <gtest/gtest.h>

#include <complex>

#include "caudal/base/error.h"
#include "caudal/kernels/test_util.h"

namespace caudal::inline v0::kernels {
namespace {

template <class To, class From>
std::vector<To> converted(const std::vector<From>& in) {
  ThreadPool pool(1);
  std::vector<To> out(in.size());
  cast(pool, dtype_of<From>(), in.data(), dtype_of<To>(), out.data(), static_cast<int64_t>(in.size()));
  return out;
}

TEST(Cast, KnownValues) {
  EXPECT_EQ((converted<int32_t, float>({1.9F, -1.9F, 3e9F})), (std::vector<int32_t>{1, -1, INT32_MIN}));
  EXPECT_EQ((converted<int8_t, int32_t>({300, -200})), (std::vector<int8_t>{44, 56}));
  EXPECT_EQ((converted<float, int64_t>({16777217})), (std::vector<float>{16777216}));
  EXPECT_EQ((converted<double, Half>({Half(1.5F), Half(-2.0F)})), (std::vector<double>{1.5, -2}));
  EXPECT_EQ((converted<int32_t, BFloat16>({BFloat16(1.5F)})), (std::vector<int32_t>{1}));
  EXPECT_EQ((converted<float, std::complex<double>>({{1.5, 3}})), (std::vector<float>{1.5F}));
  EXPECT_EQ((converted<std::complex<float>, int32_t>({7})), (std::vector<std::complex<float>>{{7, 0}}));
  EXPECT_EQ((converted<std::complex<double>, std::complex<float>>({{1, 2}})),
            (std::vector<std::complex<double>>{{1, 2}}));
  EXPECT_EQ((converted<uint8_t, double>({200.7})), (std::vector<uint8_t>{200}));
  ThreadPool pool(1);
  const float in[4] = {0, -0.0F, 0.1F, NAN};
  bool out[4];
  cast(pool, DType::kFloat, in, DType::kBool, out, 4);
  EXPECT_TRUE(!out[0] && !out[1] && out[2] && out[3]);
  float numbers[4];
  cast(pool, DType::kBool, out, DType::kFloat, numbers, 4);
  EXPECT_EQ(numbers[2], 1);
}

TEST(Cast, EveryPairKeepsSmallNumbers) {
  const DType types[] = {DType::kBool,     DType::kInt8,   DType::kInt16,  DType::kInt32,     DType::kInt64,
                         DType::kUint8,    DType::kUint16, DType::kUint32, DType::kUint64,    DType::kHalf,
                         DType::kBFloat16, DType::kFloat,  DType::kDouble, DType::kComplex64, DType::kComplex128};
  ThreadPool pool(2);
  const int64_t n = 40001;
  for (const DType from : types) {
    for (const DType to : types) {
      std::vector<float> numbers(n), back(n);
      for (int64_t i = 0; i < n; ++i)
        numbers[i] = static_cast<float>(i % (from == DType::kBool || to == DType::kBool ? 2 : 100));
      std::vector<char> first(n * 16), second(n * 16);
      cast(pool, DType::kFloat, numbers.data(), from, first.data(), n);
      cast(pool, from, first.data(), to, second.data(), n);
      cast(pool, to, second.data(), DType::kFloat, back.data(), n);
      ASSERT_EQ(numbers, back) << dtype_name(from) << " to " << dtype_name(to);
    }
  }
}

TEST(Cast, RefusesStrings) {
  ThreadPool pool(1);
  EXPECT_FALSE(can_cast(DType::kString, DType::kFloat));
  EXPECT_THROW(cast(pool, DType::kFloat, nullptr, DType::kString, nullptr, 0), Error);
}

}  // namespace
}  // namespace caudal::inline v0::kernels
