#include "caudal/tensor/random.h"

#include <gtest/gtest.h>

#include <vector>

namespace caudal {
namespace {

// Expected values: TensorFlow 2.21 on x86-64.
template <class T>
std::vector<float> as_floats(const std::vector<T>& values) {
  std::vector<float> out;
  for (const T value : values) out.push_back(static_cast<float>(value));
  return out;
}

TEST(Random16, Half) {
  ThreadPool pool(1);
  std::vector<Half> values(5);
  fill_uniform(PhiloxRandom::stateless(0, 0), std::span<Half>(values), pool);
  EXPECT_EQ(as_floats(values),
            (std::vector<float>{0.638671875f, 0.6337890625f, 0.119140625f, 0.330078125f, 0.318359375f}));
  fill_normal(PhiloxRandom::stateless(0, 0), std::span<Half>(values), pool);
  EXPECT_EQ(as_floats(values),
            (std::vector<float>{-1.697265625f, -0.4814453125f, -0.662109375f, 0.0870361328125f, -1.0f}));
  fill_truncated_normal(PhiloxRandom::stateless(0, 0), std::span<Half>(values), pool);
  EXPECT_EQ(as_floats(values),
            (std::vector<float>{-1.697265625f, -0.4814453125f, -0.662109375f, 0.0870361328125f, -0.265869140625f}));
}

TEST(Random16, BFloat16) {
  ThreadPool pool(1);
  const PhiloxRandom generator({0, 0, 0x619cb60b, 0xf7734320}, {0x6d2f7fba, 0x908502c9});
  std::vector<BFloat16> values(5);
  fill_uniform(generator, std::span<BFloat16>(values), pool);
  EXPECT_EQ(as_floats(values), (std::vector<float>{0.34375f, 0.8828125f, 0.484375f, 0.1484375f, 0.1484375f}));
  fill_normal(generator, std::span<BFloat16>(values), pool);
  EXPECT_EQ(as_floats(values),
            (std::vector<float>{0.54296875f, 0.20703125f, 0.07373046875f, 0.04638671875f, -1.3046875f}));
  fill_truncated_normal(generator, std::span<BFloat16>(values), pool);
  EXPECT_EQ(as_floats(values),
            (std::vector<float>{0.54296875f, 0.20703125f, 0.07373046875f, 0.04638671875f, 0.16796875f}));
}

}  // namespace
}  // namespace caudal
