#include "caudal/kernels/copy.h"

#include <gtest/gtest.h>

#include <numeric>

#include "caudal/kernels/test_util.h"

namespace caudal::inline v0::kernels {
namespace {

using Sizes = std::vector<int64_t>;

template <class T>
std::vector<T> counting(int64_t n) {
  std::vector<T> values(static_cast<std::size_t>(n));
  std::iota(values.begin(), values.end(), T{0});
  return values;
}

// Transpose by the definition.
template <class T>
std::vector<T> plain_transpose(const std::vector<T>& in, const Sizes& dims, const Sizes& permutation) {
  const Sizes strides = dense_strides(dims);
  Sizes sizes(dims.size());
  for (std::size_t d = 0; d < dims.size(); ++d) sizes[d] = dims[static_cast<std::size_t>(permutation[d])];
  std::vector<T> out(in.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    auto rest = static_cast<int64_t>(i);
    int64_t at = 0;
    for (std::size_t d = dims.size(); d-- > 0;) {
      at += rest % sizes[d] * strides[static_cast<std::size_t>(permutation[d])];
      rest /= sizes[d];
    }
    out[i] = in[static_cast<std::size_t>(at)];
  }
  return out;
}

template <class T>
void check_transposes() {
  struct Case {
    Sizes dims, permutation;
  };
  const Case cases[] = {{{}, {}},
                        {{5}, {0}},
                        {{3, 4}, {1, 0}},
                        {{100, 130}, {1, 0}},
                        {{2, 3, 4, 5}, {0, 3, 1, 2}},
                        {{2, 20, 17, 33}, {0, 2, 3, 1}},
                        {{2, 3, 4, 5, 6}, {4, 3, 2, 1, 0}},
                        {{7, 1, 9}, {2, 1, 0}},
                        {{0, 4}, {1, 0}},
                        {{2, 2, 2, 2, 2, 2, 2, 2, 2}, {8, 0, 7, 1, 6, 2, 5, 3, 4}}};
  ThreadPool pool(2);
  for (const Case& c : cases) {
    const auto in = counting<T>(element_count(c.dims));
    std::vector<T> out(in.size());
    transpose(pool, sizeof(T), in.data(), c.dims, c.permutation, out.data());
    EXPECT_EQ(out, plain_transpose(in, c.dims, c.permutation)) << c.dims.size();
  }
}

TEST(Copy, TransposesElementsOfEverySize) {
  check_transposes<uint8_t>();
  check_transposes<uint16_t>();
  check_transposes<float>();
  check_transposes<double>();
  check_transposes<long double>();
}

TEST(Copy, SlicesForwardsAndBackwards) {
  ThreadPool pool(1);
  const auto in = counting<int32_t>(24);  // [4, 6]
  std::vector<int32_t> out(6);
  strided_slice(pool, 4, in.data(), Sizes{4, 6}, Sizes{3, 1}, Sizes{-2, 2}, Sizes{2, 3}, out.data());
  EXPECT_EQ(out, (std::vector<int32_t>{19, 21, 23, 7, 9, 11}));
  std::vector<int32_t> back(24, 9), expected(24);
  strided_slice_grad(pool, 4, out.data(), Sizes{4, 6}, Sizes{3, 1}, Sizes{-2, 2}, Sizes{2, 3}, back.data());
  for (const int32_t value : out) expected[static_cast<std::size_t>(value)] = value;
  EXPECT_EQ(back, expected);
  strided_slice(pool, 4, in.data(), Sizes{4, 6}, Sizes{4, 0}, Sizes{1, 1}, Sizes{0, 6}, nullptr);
}

TEST(Copy, BroadcastTilePadConcatSplit) {
  ThreadPool pool(2);
  const std::vector<int16_t> in = {1, 2, 3};
  std::vector<int16_t> out(6);
  broadcast_to(pool, 2, in.data(), Sizes{1, 3}, out.data(), Sizes{2, 3});
  EXPECT_EQ(out, (std::vector<int16_t>{1, 2, 3, 1, 2, 3}));
  broadcast_to(pool, 2, in.data(), Sizes{3, 1}, out.data(), Sizes{3, 2});
  EXPECT_EQ(out, (std::vector<int16_t>{1, 1, 2, 2, 3, 3}));

  std::vector<int16_t> tiled(12);
  const std::vector<int16_t> square = {1, 2, 3, 4};
  tile(pool, 2, square.data(), Sizes{2, 2}, Sizes{1, 3}, tiled.data());
  EXPECT_EQ(tiled, (std::vector<int16_t>{1, 2, 1, 2, 1, 2, 3, 4, 3, 4, 3, 4}));

  std::vector<int16_t> padded(12);
  const int16_t edge = -7;
  pad(pool, 2, square.data(), Sizes{2, 2}, Sizes{1, 0}, Sizes{0, 2}, &edge, padded.data());
  EXPECT_EQ(padded, (std::vector<int16_t>{-7, -7, -7, -7, 1, 2, -7, -7, 3, 4, -7, -7}));

  const ConcatPart parts[] = {{square.data(), 2}, {nullptr, 0}, {in.data(), 1}};
  concat(pool, 2, 2, parts, out.data());
  EXPECT_EQ(out, (std::vector<int16_t>{1, 2, 1, 3, 4, 2}));
  std::vector<int16_t> part(4);
  split_part(pool, 2, 2, 3, 1, 2, out.data(), part.data());
  EXPECT_EQ(part, (std::vector<int16_t>{2, 1, 4, 2}));
}

TEST(Copy, LargeCopiesAreCompleteWithSeveralThreads) {
  ThreadPool pool(2);
  const auto in = counting<int32_t>(300 * 1000);
  std::vector<int32_t> out(in.size());
  const Sizes sizes = {300 * 1000}, strides = {1};
  copy_strided(pool, 4, sizes, in.data(), strides, out.data(), strides);
  EXPECT_EQ(out, in);
  const int64_t five = 5;
  std::vector<int64_t> filled(100001);
  fill(pool, 8, &five, 100001, filled.data());
  EXPECT_EQ(filled, std::vector<int64_t>(100001, 5));
}

TEST(Copy, GatherChecksIndices) {
  ThreadPool pool(1);
  const auto in = counting<int32_t>(12);  // [2, 3, 2]
  const int64_t indices[2] = {2, 0};
  std::vector<int32_t> out(8);
  EXPECT_EQ(gather(pool, 4, in.data(), 2, 3, 2, DType::kInt64, indices, 2, out.data()), -1);
  EXPECT_EQ(out, (std::vector<int32_t>{4, 5, 0, 1, 10, 11, 6, 7}));
  const int32_t bad[3] = {0, 3, -1};
  EXPECT_EQ(gather(pool, 4, in.data(), 2, 3, 2, DType::kInt32, bad, 3, out.data()), 1);
}

TEST(Copy, SelectByElementAndByRow) {
  ThreadPool pool(1);
  const bool condition[3] = {true, false, true};
  const float a[3] = {1, 2, 3}, b[3] = {4, 5, 6};
  float out[3];
  select(pool, 4, condition, a, b, 3, 1, out);
  EXPECT_EQ(std::vector<float>(out, out + 3), (std::vector<float>{1, 5, 3}));
  const int16_t x[4] = {1, 2, 3, 4}, y[4] = {5, 6, 7, 8};
  int16_t z[4];
  select(pool, 2, condition, x, y, 2, 2, z);
  EXPECT_EQ(std::vector<int16_t>(z, z + 4), (std::vector<int16_t>{1, 2, 7, 8}));
}

}  // namespace
}  // namespace caudal::inline v0::kernels
