#include "caudal/base/philox.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <vector>

namespace caudal {
namespace {

// Expected values: TensorFlow 2.21 on x86-64, single op with the given seeds, two executions.

// Distance in representable numbers.
int64_t ulps(float a, float b) {
  const auto ordered = [](float x) {
    const int32_t bits = std::bit_cast<int32_t>(x);
    return static_cast<int64_t>(bits < 0 ? INT32_MIN - bits : bits);
  };
  return std::abs(ordered(a) - ordered(b));
}
int64_t ulps(double a, double b) {
  const auto ordered = [](double x) {
    const int64_t bits = std::bit_cast<int64_t>(x);
    return bits < 0 ? INT64_MIN - bits : bits;
  };
  return std::abs(ordered(a) - ordered(b));
}
int64_t ulps(int32_t a, int32_t b) { return a == b ? 0 : INT64_MAX; }
int64_t ulps(int64_t a, int64_t b) { return a == b ? 0 : INT64_MAX; }

template <class T>
void expect_near(const std::vector<T>& got, const std::vector<T>& want, int64_t limit) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_LE(ulps(got[i], want[i]), limit) << "at " << i << ": " << got[i] << " instead of " << want[i];
}

// What a stateful op with these seeds gives in two executions; the same with one thread and with three.
template <class T, class Fill>
void check_two_runs(uint64_t seed, uint64_t seed2, const Fill& fill, const std::vector<T>& first,
                    const std::vector<T>& second, int64_t limit) {
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    PhiloxState state(seed, seed2);
    for (const auto* want : {&first, &second}) {
      std::vector<T> got(want->size());
      fill(state.reserve_outputs(got.size(), kReservedSamplesPerOutput), std::span<T>(got), pool);
      expect_near(got, *want, limit);
    }
  }
}

TEST(Philox, StatefulUniformFloat) {
  const auto fill = [](const auto& g, auto out, auto& pool) { fill_uniform(g, out, pool); };
  check_two_runs<float>(42, 0, fill,
                        {0.8354591f, 0.9162973f, 0.49464953f, 0.5211133f, 0.7119492f, 0.45645106f, 0.119947195f},
                        {0.64295995f, 0.042049885f, 0.4659536f, 0.15871656f, 0.57150924f, 0.38669145f, 0.31224f}, 0);
  check_two_runs<float>(0, 17, fill,
                        {0.59824216f, 0.4154935f, 0.31317627f, 0.8294139f, 0.38834476f, 0.953544f, 0.6938039f},
                        {0.54879665f, 0.8496312f, 0.017497301f, 0.9547113f, 0.4818504f, 0.70402336f, 0.31725824f}, 0);
  check_two_runs<float>(87654321, 42, fill,
                        {0.95227146f, 0.67740774f, 0.79531825f, 0.75578177f, 0.4759556f, 0.6310148f, 0.18602037f},
                        {0.5001906f, 0.17634559f, 0.69462466f, 0.28120518f, 0.3950703f, 0.11768556f, 0.7780075f}, 0);
}

TEST(Philox, StatefulUniformDouble) {
  const auto fill = [](const auto& g, auto out, auto& pool) { fill_uniform(g, out, pool); };
  check_two_runs<double>(42, 0, fill,
                         {0.6836733518471891, 0.9571965607276434, 0.6955941458352861, 0.9595779936939255,
                          0.7505241950183172, 0.8392579780432554},
                         {0.17800014363717054, 0.5938738293816976, 0.4728161562189843, 0.3725735020110912,
                          0.9327618899030781, 0.6109895337751978},
                         0);
  check_two_runs<double>(87654321, 42, fill,
                         {0.6181726095777149, 0.36254602252651336, 0.8076457653772362, 0.4881631901754211,
                          0.6897747269334924, 0.7535973263109803},
                         {0.2093535363652077, 0.4457103012595154, 0.3416781163736118, 0.8132519320388525,
                          0.4327497732356891, 0.5880858934827478},
                         0);
}

TEST(Philox, StatefulNormalFloat) {
  const auto fill = [](const auto& g, auto out, auto& pool) { fill_normal(g, out, pool); };
  check_two_runs<float>(42, 0, fill,
                        {-0.30101568f, 0.51859164f, -0.15693977f, -1.1760874f, 0.2227503f, -0.7936496f, -1.308642f},
                        {0.2454401f, 0.90725124f, 1.0380932f, 0.6705974f, 0.69106615f, -0.80086005f, 0.93413395f}, 2);
  check_two_runs<float>(0, 17, fill,
                        {0.5132902f, -0.874101f, -1.3380136f, 0.7291759f, -0.3957906f, 1.3172218f, -0.65077263f},
                        {-0.88774353f, 0.6418458f, -0.7985552f, 2.7301517f, -1.1583333f, -0.3442489f, 1.223179f}, 2);
  check_two_runs<float>(87654321, 42, fill,
                        {-0.28077507f, -0.1377521f, -0.6763296f, 0.024580413f, -0.89358455f, -0.82847327f, 1.2068944f},
                        {1.0532719f, 0.52549994f, 0.83732235f, -0.16630858f, 0.91839534f, 1.0069424f, 0.69428927f}, 2);
}

TEST(Philox, StatefulNormalDouble) {
  const auto fill = [](const auto& g, auto out, auto& pool) { fill_normal(g, out, pool); };
  check_two_runs<double>(
      42, 0, fill,
      {-0.231725780540544, 0.8407456363503356, -0.21408206286519033, 0.824710067490499, -0.6415535279270232},
      {-0.481465524991117, 0.9880352283119512, 0.26606749176952127, 0.0990733137591386, -0.2540842792160202}, 2);
  check_two_runs<double>(
      87654321, 42, fill,
      {0.7456244549943906, -0.6371964266311646, 0.04856931364585292, -0.6518469707884212, -0.861626965289776},
      {0.8600302541543371, -0.7993138820974477, -0.16294296649584603, 2.124993051461527, -0.14829324021273166}, 2);
}

TEST(Philox, StatefulTruncatedNormalFloat) {
  const auto fill = [](const auto& g, auto out, auto& pool) { fill_truncated_normal(g, out, pool); };
  check_two_runs<float>(42, 0, fill,
                        {-0.30101568f, 0.51859164f, -0.15693977f, -1.1760874f, 1.1887201f, 0.35026696f, -0.30662382f,
                         -0.69534916f, 0.3091649f},
                        {0.628858f, 0.64115715f, 1.2275046f, -0.8602096f, 1.8432574f, -0.71250147f, -0.32761592f,
                         1.5438993f, -0.023080248f},
                        2);
  check_two_runs<float>(0, 17, fill,
                        {0.5132902f, -0.874101f, -1.3380136f, 0.7291759f, -1.017913f, -1.4344074f, -0.17905296f,
                         0.9675755f, -0.14247333f},
                        {-1.8808628f, 1.7599943f, 1.2080152f, 0.45367813f, 1.8695952f, -0.0016468917f, -1.0652975f,
                         -0.50856966f, 0.33523473f},
                        2);
  check_two_runs<float>(87654321, 42, fill,
                        {-0.28077507f, -0.1377521f, -0.6763296f, 0.024580413f, -0.46845472f, -0.0024663184f,
                         -0.9745911f, 0.6638492f, 0.4368011f},
                        {1.2180098f, -0.39854664f, 0.63967335f, -0.63211644f, -0.48115006f, -0.591412f, 0.46688887f,
                         1.8181931f, -1.0811663f},
                        2);
}

TEST(Philox, StatefulTruncatedNormalDouble) {
  const auto fill = [](const auto& g, auto out, auto& pool) { fill_truncated_normal(g, out, pool); };
  check_two_runs<double>(
      42, 0, fill,
      {-0.231725780540544, 0.8407456363503356, -0.78939421296105, 0.11001653005335202, -0.03359755923817724},
      {-0.481465524991117, 0.9880352283119512, 0.6801570047212824, -1.4465148942214425, -1.0334179027394337}, 2);
  check_two_runs<double>(
      87654321, 42, fill,
      {0.7456244549943906, -0.6371964266311646, 1.0386338435537557, 0.8440623680320994, -0.10011952002828886},
      {0.8600302541543371, -0.7993138820974477, -0.05604268674080257, -1.1448212931621742, 0.5916136087617655}, 2);
}

TEST(Philox, StatefulIntegers32) {
  const auto fill = [](const auto& g, auto out, auto& pool) { fill_uniform_int(g, -10, 100, out, pool); };
  check_two_runs<int32_t>(42, 0, fill, {93, 21, 67, 77, -7, 5}, {28, 40, 47, -3, 25, 60}, 0);
  check_two_runs<int32_t>(0, 17, fill, {21, 74, 37, 76, 40, 41}, {11, 93, 53, -10, 89, 70}, 0);
}

TEST(Philox, StatefulIntegers64) {
  const auto fill = [](const auto& g, auto out, auto& pool) { fill_uniform_int(g, 0, int64_t{1} << 40, out, pool); };
  check_two_runs<int64_t>(42, 0, fill,
                          {256035713107, 923732496557, 1090868945191, 1080244001390, 875425432101, 384840854937},
                          {964444739862, 650607427713, 38420320423, 787382400527, 26065431703, 300737480348}, 0);
  check_two_runs<int64_t>(0, 17, fill,
                          {981136610099, 258229147177, 803883562312, 1068102110865, 871486770571, 624229438579},
                          {546868267573, 131966529713, 372359103625, 90507118604, 155081872777, 607030449702}, 0);
}

TEST(Philox, LongUniformKeepsItsOrder) {
  ThreadPool pool(3);
  std::vector<float> got(300);
  fill_uniform(PhiloxRandom(42, 0), std::span<float>(got), pool);
  expect_near(std::vector<float>(got.end() - 7, got.end()),
              {0.030581832f, 0.3616891f, 0.97708416f, 0.7502935f, 0.60097086f, 0.09722912f, 0.48131454f}, 0);
}

TEST(Philox, StatelessSeeds) {
  ThreadPool pool(1);
  std::vector<float> floats(7);
  std::vector<int32_t> integers(6);
  std::vector<int64_t> wide(3);
  fill_uniform(PhiloxRandom::stateless(0, 0), std::span<float>(floats), pool);
  expect_near(floats, {0.21101546f, 0.70601f, 0.8000634f, 0.77079225f, 0.38858867f, 0.8703594f, 0.8081875f}, 0);
  fill_uniform_int(PhiloxRandom::stateless(0, 0), -10, 100, std::span<int32_t>(integers), pool);
  expect_near(integers, {70, 69, 8, 58, 56, 98}, 0);
  fill_uniform_int(PhiloxRandom::stateless(0, 0), 0, int64_t{1} << 40, std::span<int64_t>(wide), pool);
  expect_near(wide, {592296215182, 353494263930, 1031349058886}, 0);
  fill_uniform(PhiloxRandom::stateless(static_cast<uint64_t>(-5), 1099511627776), std::span<float>(floats), pool);
  expect_near(floats, {0.94021404f, 0.5625104f, 0.019165397f, 0.5711572f, 0.086333156f, 0.68764365f, 0.19710994f}, 0);
  fill_uniform_int(PhiloxRandom::stateless(static_cast<uint64_t>(-5), 1099511627776), -10, 100,
                   std::span<int32_t>(integers), pool);
  expect_near(integers, {97, 15, -5, 74, 99, 3}, 0);
  fill_uniform_int(PhiloxRandom::stateless(static_cast<uint64_t>(-5), 1099511627776), 0, int64_t{1} << 40,
                   std::span<int64_t>(wide), pool);
  expect_near(wide, {376228567279, 750495364099, 781105958135}, 0);
}

TEST(Philox, SkipEqualsDrawing) {
  PhiloxRandom drawn({0xfffffffe, 0xffffffff, 0xffffffff, 7}, {1, 2});
  PhiloxRandom skipped = drawn;
  for (int i = 0; i < 5; ++i) drawn();
  skipped.skip(5);
  EXPECT_EQ(skipped.counter(), drawn.counter());
  EXPECT_EQ(skipped.counter(), (PhiloxRandom::Sample{3, 0, 0, 8}));
}

TEST(Philox, ManyAtOnceEqualOneByOne) {
  for (const uint32_t start : {0u, 0xffffffe0u, 0xfffffffdu}) {
    PhiloxRandom one({start, 0xffffffff, 3, 4}, {5, 6});
    PhiloxRandom many = one;
    std::vector<PhiloxRandom::Sample> samples(77);
    philox_samples(&many, samples.data(), samples.size());
    for (const auto& sample : samples) EXPECT_EQ(sample, one());
    EXPECT_EQ(many.counter(), one.counter());
  }
}

TEST(Philox, StateResumesFromItsGenerator) {
  PhiloxState state(1, 2);
  state.reserve_samples(10);
  const PhiloxRandom saved = state.generator();
  const auto next = state.reserve_samples(3)();
  state.reserve_samples(99);
  state.set_generator(saved);
  EXPECT_EQ(state.reserve_samples(3)(), next);
}

TEST(Philox, ZeroSeedsAreDrawnFromTheSystem) {
  EXPECT_NE(PhiloxState(0, 0).generator().key(), PhiloxState(0, 0).generator().key());
}

TEST(Philox, FullRangeOfIntegersDoesNotOverflow) {
  ThreadPool pool(1);
  std::vector<int64_t> values(100);
  fill_uniform_int(PhiloxRandom(3), INT64_MIN, INT64_MAX, std::span<int64_t>(values), pool);
  EXPECT_LT(*std::min_element(values.begin(), values.end()), 0);
  EXPECT_GT(*std::max_element(values.begin(), values.end()), 0);
}

}  // namespace
}  // namespace caudal
