#include "caudal/kernels/elementwise.h"

#include <gtest/gtest.h>

#include <complex>
#include <functional>
#include <limits>

#include "caudal/kernels/test_util.h"

namespace caudal::inline v0::kernels {
namespace {

// Distance in units of the last place of the correctly rounded value.
double ulps(float value, double exact) {
  const auto rounded = static_cast<float>(exact);
  if (std::isnan(exact)) return std::isnan(value) ? 0 : 1e9;
  if (std::isinf(rounded) || std::isinf(value)) return value == rounded ? 0 : 1e9;
  const double unit =
      std::max(static_cast<double>(std::nextafter(std::abs(rounded), INFINITY)) - std::abs(rounded), 0x1p-149);
  return std::abs(value - exact) / unit;
}

struct Function {
  UnaryOp op;
  double (*exact)(double);
  double low, high;
};
constexpr double kScale = 1.0507009873554804934193349852946, kScaleAlpha = 1.7580993408473768599402175208123;
const Function kFunctions[] = {
    {UnaryOp::kExp, [](double x) { return std::exp(x); }, -110, 95},
    {UnaryOp::kExpm1, [](double x) { return std::expm1(x); }, -110, 95},
    {UnaryOp::kLog, [](double x) { return std::log(x); }, -1, 1e30},
    {UnaryOp::kLog1p, [](double x) { return std::log1p(x); }, -1.5, 1e10},
    {UnaryOp::kTanh, [](double x) { return std::tanh(x); }, -20, 20},
    {UnaryOp::kSigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, -110, 110},
    {UnaryOp::kElu, [](double x) { return x < 0 ? std::expm1(x) : x; }, -110, 10},
    {UnaryOp::kSelu, [](double x) { return x < 0 ? kScaleAlpha * std::expm1(x) : kScale * x; }, -110, 10},
    {UnaryOp::kSoftplus, [](double x) { return x > 700 ? x : std::log1p(std::exp(x)); }, -110, 200},
};

std::vector<float> interesting(double low, double high) {
  std::mt19937 generator(5);
  std::uniform_real_distribution<double> linear(low, high), exponent(-45, 38), sign(-1, 1);
  std::vector<float> values = {0.0F,   -0.0F,   1.0F,    -1.0F,    INFINITY, -INFINITY, NAN,
                               1e-45F, -1e-45F, 3.4e38F, -3.4e38F, 88.8F,    -88.8F};
  for (int i = 0; i < 40000; ++i) values.push_back(static_cast<float>(linear(generator)));
  for (int i = 0; i < 40000; ++i) {
    values.push_back(static_cast<float>(std::copysign(std::pow(10.0, exponent(generator)), sign(generator))));
  }
  for (int i = -2000; i <= 2000; ++i) values.push_back(1.0F + static_cast<float>(i) * 0x1p-20F);
  return values;
}

TEST(Elementwise, TranscendentalFunctionsAreWithinOneUlp) {
  for (const Isa isa : test_isas()) {
    if (isa == Isa::kPlain) continue;
    const IsaCap cap(isa);
    for (const Function& f : kFunctions) {
      const std::vector<float> in = interesting(f.low, f.high);
      std::vector<float> out(in.size());
      find_unary(f.op, DType::kFloat)(in.data(), out.data(), static_cast<int64_t>(in.size()));
      for (std::size_t i = 0; i < in.size(); ++i) {
        ASSERT_LT(ulps(out[i], f.exact(in[i])), 0.6)
            << static_cast<int>(f.op) << "(" << in[i] << ") = " << out[i] << " " << isa_name(isa);
      }
      ASSERT_EQ(std::signbit(out[1]), std::signbit(static_cast<float>(f.exact(-0.0)))) << static_cast<int>(f.op);
    }
  }
}

TEST(Elementwise, FastLoopsAgreeWithPlainLoopsAtEveryPosition) {
  const std::vector<float> in = random_values(71, 3, 3);
  for (const Isa isa : test_isas()) {
    const IsaCap cap(isa);
    for (int op = 0; op <= static_cast<int>(UnaryOp::kConj); ++op) {
      for (const DType dtype : {DType::kFloat, DType::kHalf, DType::kBFloat16}) {
        const auto unary = static_cast<UnaryOp>(op);
        const UnaryLoop fast = find_unary(unary, dtype), plain = find_unary_reference(unary, dtype);
        ASSERT_EQ(static_cast<bool>(fast), static_cast<bool>(plain));
        if (!fast || unary_result(unary, dtype) != dtype || dtype != DType::kFloat) continue;
        std::vector<float> whole(in.size()), expected(in.size());
        fast(in.data(), whole.data(), 71);
        plain(in.data(), expected.data(), 71);
        ASSERT_LT(worst_error(whole, expected), 1e-6) << op;
        for (int64_t first = 0; first < 71; first += 5) {
          std::vector<float> part(in.begin() + first, in.end());
          fast(part.data(), part.data(), 71 - first);  // in place
          ASSERT_TRUE(same_bits(part, std::vector<float>(whole.begin() + first, whole.end())))
              << op << " from " << first;
        }
      }
    }
  }
}

TEST(Elementwise, InstructionSetsGiveTheSameBits) {
  if (best_isa() != Isa::kAvx512) GTEST_SKIP() << "needs AVX-512";
  const std::vector<float> in = interesting(-20, 20);
  for (const Function& f : kFunctions) {
    std::vector<float> best(in.size()), capped(in.size());
    find_unary(f.op, DType::kFloat)(in.data(), best.data(), static_cast<int64_t>(in.size()));
    const IsaCap cap(Isa::kAvx2);
    find_unary(f.op, DType::kFloat)(in.data(), capped.data(), static_cast<int64_t>(in.size()));
    for (std::size_t i = 0; i < in.size(); ++i) {
      ASSERT_TRUE(best[i] == capped[i] || (std::isnan(best[i]) && std::isnan(capped[i]))) << in[i];
    }
  }
}

template <class T>
std::vector<T> binary(BinaryOp op, std::vector<T> a, std::vector<T> b, bool good = true) {
  std::vector<T> out(a.size());
  const BinaryLoop loop = find_binary(op, dtype_of<T>());
  EXPECT_TRUE(static_cast<bool>(loop));
  EXPECT_EQ(loop(a.data(), 1, b.data(), 1, out.data(), static_cast<int64_t>(a.size())), good);
  return out;
}

TEST(Elementwise, IntegerDivisionRoundsAsTensorFlowDoes) {
  using V = std::vector<int32_t>;
  const V a = {7, -7, 7, -7, 2147483647, 0, INT32_MIN}, b = {3, 3, -3, -3, 2, 5, -1};
  EXPECT_EQ(binary(BinaryOp::kDiv, a, b), (V{2, -2, -2, 2, 1073741823, 0, INT32_MIN}));
  EXPECT_EQ(binary(BinaryOp::kFloorDiv, a, b), (V{2, -3, -3, 2, 1073741823, 0, INT32_MIN}));
  EXPECT_EQ(binary(BinaryOp::kFloorMod, a, b), (V{1, 2, -2, -1, 1, 0, 0}));
  EXPECT_EQ(binary(BinaryOp::kMod, a, b), (V{1, -1, 1, -1, 1, 0, 0}));
  using Bytes = std::vector<int8_t>;
  EXPECT_EQ(binary(BinaryOp::kFloorDiv, Bytes{-128, 100}, Bytes{3, -7}), (Bytes{-43, -15}));
}

TEST(Elementwise, IntegerFaultsAreReportedAndLeaveOtherElements) {
  using V = std::vector<int32_t>;
  for (const BinaryOp op : {BinaryOp::kDiv, BinaryOp::kFloorDiv, BinaryOp::kTruncateDiv}) {
    EXPECT_EQ(binary(op, V{1, 6, 9}, V{0, 2, 3}, false), (V{0, 3, 3}));
  }
  for (const BinaryOp op : {BinaryOp::kMod, BinaryOp::kFloorMod, BinaryOp::kTruncateMod}) {
    EXPECT_EQ(binary(op, V{1, 5, -1}, V{0, 2, 3}, false)[1], 1);
  }
  EXPECT_EQ(binary(BinaryOp::kPow, V{2, 3}, V{-1, 4}, false), (V{0, 81}));
  EXPECT_EQ(binary(BinaryOp::kPow, V{2, -2, 3, 0}, V{3, 3, 0, 0}), (V{8, -8, 1, 1}));
}

TEST(Elementwise, IntegersWrap) {
  EXPECT_EQ(binary<int32_t>(BinaryOp::kAdd, {INT32_MAX}, {1}), (std::vector<int32_t>{INT32_MIN}));
  EXPECT_EQ(binary<uint8_t>(BinaryOp::kMul, {200}, {2}), (std::vector<uint8_t>{144}));
  EXPECT_EQ(binary<uint16_t>(BinaryOp::kMul, {65535}, {65535}), (std::vector<uint16_t>{1}));
  EXPECT_EQ(binary<int64_t>(BinaryOp::kSub, {INT64_MIN}, {1}), (std::vector<int64_t>{INT64_MAX}));
  int32_t lowest = INT32_MIN;
  find_unary(UnaryOp::kAbs, DType::kInt32)(&lowest, &lowest, 1);
  EXPECT_EQ(lowest, INT32_MIN);
  EXPECT_EQ(binary<int32_t>(BinaryOp::kLeftShift, {12, -7, 1}, {3, 1, 31}), (std::vector<int32_t>{96, -14, INT32_MIN}));
  EXPECT_EQ(binary<uint8_t>(BinaryOp::kLeftShift, {200, 5}, {1, 7}), (std::vector<uint8_t>{144, 128}));
}

TEST(Elementwise, NaNAndSignedZeroFollowTensorFlow) {
  for (const Isa isa : test_isas()) {
    const IsaCap cap(isa);
    const std::vector<float> max = binary<float>(BinaryOp::kMaximum, {NAN, 1, 0}, {1, NAN, 5});
    EXPECT_TRUE(std::isnan(max[0]) && std::isnan(max[1]) && max[2] == 5);
    const std::vector<float> min = binary<float>(BinaryOp::kMinimum, {NAN, 1, 0}, {1, NAN, 5});
    EXPECT_TRUE(std::isnan(min[0]) && std::isnan(min[1]) && min[2] == 0);
    EXPECT_EQ(binary<float>(BinaryOp::kReluGrad, {1, 1, 1, 1}, {0, -0.0F, NAN, 2}), (std::vector<float>{0, 0, 0, 1}));
    EXPECT_EQ(binary<float>(BinaryOp::kDivNoNan, {1, 6}, {0, 2}), (std::vector<float>{0, 3}));
    float in[4] = {NAN, -0.0F, -3, 7}, out[4];
    find_unary(UnaryOp::kRelu, DType::kFloat)(in, out, 4);
    EXPECT_TRUE(std::isnan(out[0]) && !std::signbit(out[1]) && out[2] == 0 && out[3] == 7);
    find_unary(UnaryOp::kRelu6, DType::kFloat)(in, out, 4);
    EXPECT_TRUE(std::isnan(out[0]) && out[3] == 6);
    float halves[4] = {0.5F, 1.5F, 2.5F, -2.5F};
    find_unary(UnaryOp::kRound, DType::kFloat)(halves, out, 4);
    EXPECT_EQ(std::vector<float>(out, out + 4), (std::vector<float>{0, 2, 2, -2}));
  }
}

TEST(Elementwise, PredicatesGiveBool) {
  const std::vector<Half> in = {Half(1.0F), Half(NAN), Half(INFINITY)};
  bool out[3];
  find_unary(UnaryOp::kIsNan, DType::kHalf)(in.data(), out, 3);
  EXPECT_TRUE(!out[0] && out[1] && !out[2]);
  find_unary(UnaryOp::kIsFinite, DType::kHalf)(in.data(), out, 3);
  EXPECT_TRUE(out[0] && !out[1] && !out[2]);
  EXPECT_EQ(unary_result(UnaryOp::kIsInf, DType::kHalf), DType::kBool);
  EXPECT_EQ(binary_result(BinaryOp::kLess, DType::kInt8), DType::kBool);
  EXPECT_EQ(binary_result(BinaryOp::kBitwiseAnd, DType::kInt8), DType::kInt8);
}

TEST(Elementwise, UndefinedCombinationsAreEmpty) {
  EXPECT_FALSE(find_unary(UnaryOp::kExp, DType::kInt32));
  EXPECT_FALSE(find_unary(UnaryOp::kExp, DType::kString));
  EXPECT_FALSE(find_binary(BinaryOp::kAdd, DType::kBool));
  EXPECT_FALSE(find_binary(BinaryOp::kLess, DType::kComplex64));
  EXPECT_FALSE(find_binary(BinaryOp::kBitwiseAnd, DType::kFloat));
}

std::vector<int64_t> expand(const std::vector<int64_t>& index, const std::vector<int64_t>& dims) {
  std::vector<int64_t> own(dims.size());
  for (std::size_t d = 0; d < dims.size(); ++d) {
    const std::size_t at = index.size() - dims.size() + d;
    own[d] = dims[d] == 1 ? 0 : index[at];
  }
  return own;
}

int64_t offset(const std::vector<int64_t>& index, const std::vector<int64_t>& dims) {
  int64_t at = 0;
  for (std::size_t d = 0; d < dims.size(); ++d) at = at * dims[d] + index[d];
  return at;
}

int64_t count(const std::vector<int64_t>& dims) {
  int64_t n = 1;
  for (const int64_t size : dims) n *= size;
  return n;
}

TEST(Elementwise, BroadcastsOverAnyRank) {
  struct Shapes {
    std::vector<int64_t> a, b, out;
  };
  const Shapes cases[] = {{{}, {}, {}},
                          {{3}, {}, {3}},
                          {{}, {2, 3}, {2, 3}},
                          {{2, 3}, {3}, {2, 3}},
                          {{2, 1, 3}, {4, 1}, {2, 4, 3}},
                          {{5, 1}, {1, 7}, {5, 7}},
                          {{0, 3}, {1, 3}, {0, 3}},
                          {{2, 1, 2, 1, 2, 1, 2, 1, 3}, {1, 2, 1, 2, 1, 2, 1, 2, 1}, {2, 2, 2, 2, 2, 2, 2, 2, 3}},
                          {{4, 100, 257}, {100, 1}, {4, 100, 257}},
                          {{70000}, {70000}, {70000}},
                          {{1, 1, 40000}, {2, 1}, {1, 2, 40000}}};
  ThreadPool one(1), two(2);
  for (const Shapes& c : cases) {
    const std::vector<float> a = random_values(count(c.a), 1), b = random_values(count(c.b), 2);
    std::vector<float> out(static_cast<std::size_t>(count(c.out))), again(out);
    const BinaryLoop loop = find_binary(BinaryOp::kSub, DType::kFloat);
    EXPECT_TRUE(broadcast_binary(one, loop, a.data(), c.a, b.data(), c.b, out.data(), c.out));
    EXPECT_TRUE(broadcast_binary(two, loop, a.data(), c.a, b.data(), c.b, again.data(), c.out));
    EXPECT_TRUE(same_bits(out, again));
    std::vector<int64_t> index(c.out.size());
    for (int64_t i = 0; i < count(c.out); ++i) {
      int64_t rest = i;
      for (std::size_t d = c.out.size(); d-- > 0;) index[d] = rest % c.out[d], rest /= c.out[d];
      const float expected = a[offset(expand(index, c.a), c.a)] - b[offset(expand(index, c.b), c.b)];
      ASSERT_EQ(out[i], expected) << i;
    }
  }
}

TEST(Elementwise, BroadcastReportsAFaultInAnyChunk) {
  ThreadPool pool(2);
  std::vector<int32_t> a(100000, 5), b(100000, 1), out(100000);
  const BinaryLoop loop = find_binary(BinaryOp::kFloorDiv, DType::kInt32);
  const std::vector<int64_t> dims = {100000};
  EXPECT_TRUE(broadcast_binary(pool, loop, a.data(), dims, b.data(), dims, out.data(), dims));
  b[99999] = 0;
  EXPECT_FALSE(broadcast_binary(pool, loop, a.data(), dims, b.data(), dims, out.data(), dims));
}

}  // namespace
}  // namespace caudal::inline v0::kernels
