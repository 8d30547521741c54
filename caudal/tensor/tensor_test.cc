#include "caudal/tensor/tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "caudal/base/error.h"

namespace caudal {
namespace {

template <class Action>
Code code_of(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.code();
  }
  return Code::kOk;
}

// The value of a small float format by its definition.
double decode(unsigned bits, int exponent_bits, int fraction_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const unsigned fraction = bits & ((1U << fraction_bits) - 1);
  const unsigned exponent = (bits >> fraction_bits) & ((1U << exponent_bits) - 1);
  const double sign = (bits >> 15) != 0 ? -1 : 1;
  if (exponent == (1U << exponent_bits) - 1) {
    return fraction != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * INFINITY;
  }
  const double mantissa = std::ldexp(static_cast<double>(fraction), -fraction_bits);
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias);
  return sign * std::ldexp(1 + mantissa, static_cast<int>(exponent) - bias);
}

template <class T>
void check_all_patterns(int exponent_bits, int fraction_bits) {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    T value;
    value.bits = static_cast<std::uint16_t>(bits);
    const double wanted = decode(bits, exponent_bits, fraction_bits);
    const auto got = static_cast<float>(value);
    if (std::isnan(wanted)) {
      ASSERT_TRUE(std::isnan(got)) << bits;
      ASSERT_TRUE(std::isnan(static_cast<float>(T(got)))) << bits;
      continue;
    }
    ASSERT_EQ(got, wanted) << bits;
    ASSERT_EQ(std::signbit(got), std::signbit(wanted)) << bits;
    ASSERT_EQ(T(got).bits, bits);  // comes back exactly
    // Half-way to the next greater magnitude rounds to the even pattern, anything beyond half-way upwards.
    if (std::isinf(wanted)) continue;
    T next;
    next.bits = static_cast<std::uint16_t>(bits + 1);
    const double above = std::isinf(static_cast<float>(next))
                             ? std::copysign(std::ldexp(1.0, 1 << (exponent_bits - 1)), wanted)
                             : decode(bits + 1, exponent_bits, fraction_bits);
    const auto middle = static_cast<float>((wanted + above) / 2);
    if (static_cast<double>(middle) != (wanted + above) / 2) continue;  // below float's own subnormals
    ASSERT_EQ(T(middle).bits, (bits & 1U) == 0 ? bits : bits + 1) << bits;
    const float further =
        std::nextafter(middle, static_cast<float>(above) == middle ? INFINITY : static_cast<float>(above));
    ASSERT_EQ(T(further).bits, bits + 1) << bits;
    ASSERT_EQ(T(std::nextafter(middle, static_cast<float>(wanted))).bits, bits) << bits;
  }
}

TEST(Half, AllPatternsAndRounding) { check_all_patterns<Half>(5, 10); }
TEST(BFloat16, AllPatternsAndRounding) { check_all_patterns<BFloat16>(8, 7); }

TEST(DType, NamesSizesAndKinds) {
  std::set<std::string_view> names;
  for (int number = 1; number <= 23; ++number) {
    const auto dtype = static_cast<DType>(number);
    EXPECT_TRUE(names.insert(dtype_name(dtype)).second);
    EXPECT_EQ(dtype_from_name(dtype_name(dtype)), dtype);
    EXPECT_EQ(dtype_from_name(dtype_enum_name(dtype)), dtype);
    EXPECT_GT(dtype_size(dtype), 0U);
    EXPECT_EQ(is_plain(dtype), dtype != string && dtype != resource && dtype != variant);
    EXPECT_LE(is_floating(dtype) + is_complex(dtype) + is_integer(dtype), 1);
  }
  EXPECT_EQ(dtype_from_name("float"), float32);
  EXPECT_EQ(dtype_from_name("double"), float64);
  EXPECT_EQ(dtype_from_name("half"), float16);
  EXPECT_EQ(dtype_from_name("invalid"), DType::kInvalid);
  EXPECT_EQ(dtype_from_name("float31"), DType::kInvalid);
  EXPECT_EQ(dtype_enum_name(boolean), "DT_BOOL");
  EXPECT_EQ(dtype_name(static_cast<DType>(200)), "invalid");
  EXPECT_EQ(dtype_size(complex128), 16U);
}

TEST(Shape, CountsAndRefusesWhatCannotBe) {
  EXPECT_EQ(Shape().num_elements(), 1);
  EXPECT_EQ((Shape{2, 0, 3}).num_elements(), 0);
  EXPECT_EQ((Shape{1, 2, 3, 4, 5, 6, 7, 8}).num_elements(), 40320);  // beyond the sizes stored inline
  EXPECT_EQ((Shape{1, 2, 3, 4, 5, 6, 7, 8})[-1], 8);
  const std::int64_t big = std::int64_t{1} << 32;
  EXPECT_EQ(code_of([] { Shape({2, -1}); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] { Shape({big, big}); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] { Shape({big, big, 0}); }), Code::kInvalidArgument);  // strides would overflow
  EXPECT_EQ(code_of([] { Shape(std::vector<std::int64_t>(255, 1)); }), Code::kInvalidArgument);
  EXPECT_EQ(Shape(std::vector<std::int64_t>(254, 1)).rank(), 254);
  EXPECT_EQ(code_of([&] { (Shape{big, 1}).with_dim(1, big); }), Code::kInvalidArgument);
}

TEST(Shape, EditsGiveNewShapes) {
  const Shape shape{2, 3, 4};
  EXPECT_EQ(shape.with_dim(-1, 9), (Shape{2, 3, 9}));
  EXPECT_EQ(shape.append(5), (Shape{2, 3, 4, 5}));
  EXPECT_EQ(shape.remove(0), (Shape{3, 4}));
  EXPECT_EQ(shape.remove(-1), (Shape{2, 3}));
  EXPECT_EQ(shape.insert(1, 7), (Shape{2, 7, 3, 4}));
  EXPECT_EQ(shape.insert(3, 7), (Shape{2, 3, 4, 7}));
  EXPECT_EQ(shape.strides(), (std::vector<std::int64_t>{12, 4, 1}));
  EXPECT_EQ(shape.to_string(), "[2,3,4]");
  EXPECT_FALSE(shape == (Shape{2, 3}));
  EXPECT_EQ((Shape{1, 2, 3, 4, 5, 6, 7}).remove(0), (Shape{2, 3, 4, 5, 6, 7}));  // back to inline storage
}

TEST(PartialShape, MergesWhatBothTell) {
  EXPECT_EQ(PartialShape::unknown().to_string(), "<unknown>");
  EXPECT_EQ(PartialShape({-1, 784}).to_string(), "[?,784]");
  EXPECT_EQ(*PartialShape({-1, 3}).merge(PartialShape{2, -1}), (PartialShape{2, 3}));
  EXPECT_EQ(*PartialShape::unknown().merge(PartialShape{2}), (PartialShape{2}));
  EXPECT_EQ(*PartialShape({2}).merge(PartialShape::unknown()), (PartialShape{2}));
  EXPECT_FALSE(PartialShape({2}).compatible(PartialShape{3}));
  EXPECT_FALSE(PartialShape({2}).compatible(PartialShape{2, 1}));
  EXPECT_FALSE(PartialShape::scalar().compatible(PartialShape{1}));
  EXPECT_EQ(PartialShape({2, 3}).num_elements(), 6);
  EXPECT_EQ(PartialShape({2, -1}).num_elements(), -1);
  EXPECT_EQ(PartialShape::unknown().num_elements(), -1);
  EXPECT_EQ(PartialShape({std::int64_t{1} << 62, 4}).num_elements(), -1);
  EXPECT_FALSE(PartialShape({2, -1}).to_shape());
  EXPECT_EQ(*PartialShape({2, 5}).to_shape(), (Shape{2, 5}));
  EXPECT_EQ(PartialShape({2, -7})[1], -1);
  EXPECT_FALSE(PartialShape::unknown() == PartialShape::scalar());
}

TEST(Tensor, SharesMemoryUntilCloned) {
  Tensor a = Tensor::from<float>({3, 2}, {0, 1, 2, 3, 4, 5});
  EXPECT_TRUE(a.is_sole_owner());
  const Tensor b = a;
  EXPECT_FALSE(a.is_sole_owner());
  const Tensor rows = a.rows(1, 3);
  EXPECT_EQ(rows.shape(), (Shape{2, 2}));
  EXPECT_EQ(rows.at<float>(1, 0), 4);
  const Tensor column = rows.reshape({4, 1});
  a.data<float>()[2] = 20;
  EXPECT_EQ(b.at<float>(1, 0), 20);
  EXPECT_EQ(column.at<float>(0, 0), 20);
  const Tensor copy = rows.clone();
  a.data<float>()[2] = 30;
  EXPECT_EQ(copy.at<float>(0, 0), 20);
  EXPECT_EQ(copy.byte_offset(), 0U);
  EXPECT_EQ(a.rows(3, 3).num_elements(), 0);
}

TEST(Tensor, MisuseIsAnError) {
  const Tensor a = Tensor::from<float>({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(code_of([&] { a.data<int>(); }), Code::kInternal);
  EXPECT_EQ(code_of([&] { a.reshape({3}); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] { a.rows(1, 3); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] { a.rows(-1, 1); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([] { Tensor(1.0F).rows(0, 1); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] { a.at<float>(2, 0); }), Code::kOutOfRange);
  EXPECT_EQ(code_of([&] { a.at<float>(0); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] { a.bitcast(float64); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] { a.to_int64s(); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([] { Tensor::from<float>({2}, {1}); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([] { Tensor(float32, {0}).item<float>(); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([] { Tensor(DType::kInvalid, {}); }), Code::kInvalidArgument);
}

TEST(Tensor, HugeOnesAreRefusedNotFatal) {
  for (const DType dtype : {float32, complex128, string, variant, resource}) {
    for (const int bits : {48, 58, 62}) {
      EXPECT_EQ(code_of([&] { Tensor(dtype, {std::int64_t{1} << bits}); }), Code::kResourceExhausted) << bits;
    }
  }
}

TEST(Tensor, NumbersOfEveryWidthAsInt64) {
  EXPECT_EQ(Tensor::from<std::uint8_t>({2}, {0, 255}).to_int64s(), (std::vector<std::int64_t>{0, 255}));
  EXPECT_EQ(Tensor::from<std::int16_t>({1}, {-7}).to_int64s(), (std::vector<std::int64_t>{-7}));
  EXPECT_EQ(Tensor::scalar(std::uint64_t{5}).to_int64s(), (std::vector<std::int64_t>{5}));
  EXPECT_EQ(code_of([] { Tensor::scalar(~std::uint64_t{0}).to_int64s(); }), Code::kOutOfRange);
  EXPECT_EQ(Tensor::scalar(Half(1.5F)).to_double(), 1.5);
  EXPECT_EQ(Tensor(true).to_double(), 1);
}

TEST(Tensor, ClonesObjects) {
  Tensor words(std::vector<std::string>{"a", std::string(100, 'b')});
  const Tensor copy = words.clone();
  words.data<std::string>()[1] = "c";
  EXPECT_EQ(copy.at<std::string>(1), std::string(100, 'b'));
  EXPECT_EQ(Tensor::zeros(string, {2}).at<std::string>(0), "");
}

TEST(Identical, ByBitsWithAllNansEqual) {
  const float quiet = std::nanf("1");
  const float other = -std::nanf("2");
  EXPECT_TRUE(identical(Tensor(quiet), Tensor(other)));
  EXPECT_FALSE(identical(Tensor(0.0F), Tensor(-0.0F)));
  Half a, b;
  a.bits = 0x7e00;
  b.bits = 0xfe01;
  EXPECT_TRUE(identical(Tensor::scalar(a), Tensor::scalar(b)));
  EXPECT_TRUE(identical(Tensor::scalar(std::complex<float>(quiet, 1)), Tensor::scalar(std::complex<float>(other, 1))));
  EXPECT_FALSE(identical(Tensor::scalar(std::complex<float>(quiet, 1)), Tensor::scalar(std::complex<float>(1, quiet))));
  EXPECT_FALSE(identical(Tensor(1), Tensor(std::int64_t{1})));
  EXPECT_FALSE(identical(Tensor(1), Tensor(std::vector<int>{1})));
  EXPECT_TRUE(identical(Tensor("x"), Tensor("x")));
  EXPECT_TRUE(identical(Tensor(), Tensor()));
}

TEST(MemoryAccount, ChargesUpToItsLimit) {
  MemoryAccount account(100);
  account.charge(60);
  EXPECT_EQ(code_of([&] { account.charge(41); }), Code::kResourceExhausted);
  EXPECT_EQ(code_of([&] { account.charge(SIZE_MAX); }), Code::kResourceExhausted);
  EXPECT_EQ(account.in_use(), 60U);
  account.charge(40);
  account.refund(100);
  EXPECT_EQ(account.in_use(), 0U);
  EXPECT_EQ(account.peak(), 100U);
}

}  // namespace
}  // namespace caudal
