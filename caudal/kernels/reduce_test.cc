#include "caudal/kernels/reduce.h"

#include <gtest/gtest.h>

#include <complex>
#include <limits>

#include "caudal/base/error.h"
#include "caudal/kernels/test_util.h"

namespace caudal::inline v0::kernels {
namespace {

using Sizes = std::vector<int64_t>;

// Sum by the definition, in long double.
std::vector<float> plain_sum(const std::vector<float>& in, const Sizes& dims, const Sizes& axes) {
  std::vector<bool> gone(dims.size());
  for (const int64_t axis : axes) gone[static_cast<std::size_t>(axis)] = true;
  int64_t outputs = 1;
  for (std::size_t d = 0; d < dims.size(); ++d) outputs *= gone[d] ? 1 : dims[d];
  std::vector<long double> sums(static_cast<std::size_t>(outputs));
  for (std::size_t i = 0; i < in.size(); ++i) {
    std::size_t rest = i;
    int64_t at = 0, stride = 1;
    for (std::size_t d = dims.size(); d-- > 0;) {
      const int64_t index = static_cast<int64_t>(rest) % dims[d];
      rest /= static_cast<std::size_t>(dims[d]);
      if (!gone[d]) at += index * stride, stride *= dims[d];
    }
    sums[static_cast<std::size_t>(at)] += static_cast<long double>(in[i]);
  }
  return {sums.begin(), sums.end()};
}

TEST(Reduce, SumsOverAnyAxesWithAnyNumberOfThreads) {
  struct Case {
    Sizes dims, axes;
  };
  const Case cases[] = {{{}, {}},
                        {{7}, {0}},
                        {{7}, {}},
                        {{3, 4, 5}, {1}},
                        {{3, 4, 5}, {0, 2}},
                        {{3, 4, 5}, {0, 1, 2}},
                        {{3, 1, 5, 1, 2}, {1, 2}},
                        {{2, 3, 2, 3, 2, 3}, {1, 3, 5}},
                        {{2, 3, 2, 3, 2, 3}, {0, 2, 4}},
                        {{100003}, {0}},
                        {{4, 50001}, {1}},
                        {{9800, 64}, {0}},
                        {{50, 300}, {0}},
                        {{9, 5000}, {0}},
                        {{3, 70, 5000}, {0, 1}},
                        {{64, 10, 700}, {0, 2}}};
  ThreadPool one(1), two(2);
  for (const Case& c : cases) {
    const std::vector<float> in = random_values(element_count(c.dims));
    const std::vector<float> expected = plain_sum(in, c.dims, c.axes);
    std::vector<float> out(expected.size()), again(expected.size());
    reduce(one, ReduceOp::kSum, DType::kFloat, in.data(), c.dims, c.axes, out.data());
    reduce(two, ReduceOp::kSum, DType::kFloat, in.data(), c.dims, c.axes, again.data());
    EXPECT_LT(worst_error(out, expected), 1e-7) << c.dims.size();
    EXPECT_TRUE(same_bits(out, again));
  }
}

template <class T>
T reduce_all(ReduceOp op, const std::vector<T>& in) {
  ThreadPool pool(1);
  const Sizes dims = {static_cast<int64_t>(in.size())}, axes = {0};
  T out{};
  reduce(pool, op, dtype_of<T>(), in.data(), dims, axes, &out);
  return out;
}

TEST(Reduce, KnownValues) {
  EXPECT_EQ(reduce_all<float>(ReduceOp::kMean, {1, 2, 4, 5}), 3);
  EXPECT_EQ(reduce_all<int32_t>(ReduceOp::kMean, {1, 2, 4}), 2);
  EXPECT_EQ(reduce_all<int64_t>(ReduceOp::kMean, {INT64_C(4611686018427387904), INT64_C(4611686018427387904), 5}),
            INT64_C(-3074457345618258601));  // the sum wraps, as TensorFlow's does
  EXPECT_EQ(reduce_all<double>(ReduceOp::kProd, {1.5, 2, -4}), -12);
  EXPECT_EQ(reduce_all<uint8_t>(ReduceOp::kProd, {16, 17}), 16);
  EXPECT_EQ(reduce_all<int32_t>(ReduceOp::kMax, {-6, -2, -9}), -2);
  EXPECT_EQ(reduce_all<int8_t>(ReduceOp::kMin, {6, -2, 9}), -2);
  EXPECT_EQ(static_cast<float>(reduce_all<Half>(ReduceOp::kSum, {Half(2048.0F), Half(1.0F), Half(1.0F)})), 2050);
  EXPECT_EQ(static_cast<float>(reduce_all<BFloat16>(ReduceOp::kMax, {BFloat16(2.0F), BFloat16(1.0F)})), 2);
  EXPECT_EQ(reduce_all<std::complex<float>>(ReduceOp::kProd, {{0, 1}, {0, 1}}), std::complex<float>(-1, 0));
  ThreadPool pool(1);
  const bool in[4] = {true, false, true, true};
  bool out[2];
  reduce(pool, ReduceOp::kAll, DType::kBool, in, Sizes{2, 2}, Sizes{1}, out);
  EXPECT_TRUE(!out[0] && out[1]);
  reduce(pool, ReduceOp::kAny, DType::kBool, in, Sizes{2, 2}, Sizes{0}, out);
  EXPECT_TRUE(out[0] && out[1]);
}

TEST(Reduce, FloatSumsAreExactToTheLastPlace) {
  std::vector<float> in(10'000'000, 0.1F);
  EXPECT_EQ(reduce_all(ReduceOp::kSum, in), static_cast<float>(static_cast<double>(0.1F) * 1e7));
}

TEST(Reduce, MaximumPassesNaNOn) {
  for (std::size_t at = 0; at < 40; ++at) {
    std::vector<float> in(40, 1.0F);
    in[at] = NAN;
    EXPECT_TRUE(std::isnan(reduce_all(ReduceOp::kMax, in)));
    EXPECT_TRUE(std::isnan(reduce_all(ReduceOp::kMin, in)));
  }
}

TEST(Reduce, EmptyReductionsGiveTheNeutralElement) {
  EXPECT_EQ(reduce_all<float>(ReduceOp::kSum, {}), 0);
  EXPECT_EQ(reduce_all<float>(ReduceOp::kProd, {}), 1);
  EXPECT_EQ(reduce_all<float>(ReduceOp::kMax, {}), -INFINITY);
  EXPECT_EQ(reduce_all<int32_t>(ReduceOp::kMax, {}), INT32_MIN);
  EXPECT_EQ(reduce_all<int32_t>(ReduceOp::kMin, {}), INT32_MAX);
  EXPECT_TRUE(std::isnan(reduce_all<float>(ReduceOp::kMean, {})));
  ThreadPool pool(1);
  std::vector<float> out(3, 7);
  reduce(pool, ReduceOp::kSum, DType::kFloat, nullptr, Sizes{0, 3}, Sizes{0}, out.data());
  EXPECT_EQ(out, (std::vector<float>{0, 0, 0}));
  reduce(pool, ReduceOp::kSum, DType::kFloat, nullptr, Sizes{0, 3}, Sizes{1}, nullptr);
}

TEST(Reduce, RefusesTypesWithoutTheOperation) {
  EXPECT_THROW(reduce_all<std::complex<float>>(ReduceOp::kMax, {{1, 2}}), Error);
  EXPECT_THROW(reduce_all<float>(ReduceOp::kAll, {1}), Error);
}

TEST(ArgReduce, TiesGoToTheLowerIndex) {
  ThreadPool pool(2);
  const float in[12] = {1, 3, 3, 2, NAN, 0, 5, 5, -INFINITY, -INFINITY, NAN, 4};
  int64_t rows[4];
  arg_reduce(pool, true, DType::kFloat, in, 4, 3, 1, DType::kInt64, rows);
  EXPECT_EQ(std::vector<int64_t>(rows, rows + 4), (std::vector<int64_t>{1, 0, 0, 2}));
  int32_t columns[4];
  const int32_t values[8] = {5, 1, 4, 2, 5, 0, 9, 2};
  arg_reduce(pool, false, DType::kInt32, values, 1, 2, 4, DType::kInt32, columns);
  EXPECT_EQ(std::vector<int32_t>(columns, columns + 4), (std::vector<int32_t>{0, 1, 0, 0}));
}

}  // namespace
}  // namespace caudal::inline v0::kernels
