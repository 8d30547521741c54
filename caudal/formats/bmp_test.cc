#include "caudal/formats/bmp.h"

#include <gtest/gtest.h>

#include "caudal/base/error.h"
#include "caudal/formats/coding.h"

namespace caudal {
namespace {

// Lines of `pixels` as they stand in the file, padded to multiples of four bytes.
std::string bitmap(std::int32_t width, std::int32_t height, int bits, const std::string& pixels) {
  std::string out = "BM";
  const auto number = [&](std::uint32_t value) { put_fixed(&out, value); };
  number(54 + static_cast<std::uint32_t>(pixels.size()));
  number(0);
  number(54);
  number(40);
  number(static_cast<std::uint32_t>(width));
  number(static_cast<std::uint32_t>(height));
  put_fixed(&out, std::uint16_t{1});
  put_fixed(&out, static_cast<std::uint16_t>(bits));
  out.resize(54);
  return out + pixels;
}

Code code_of(const std::string& bytes, int channels = 0) {
  try {
    decode_bmp(bytes, channels);
  } catch (const Error& error) {
    return error.code();
  }
  return Code::kOk;
}

TEST(Bmp, DecodesEachKind) {
  const std::string gray = bitmap(2, 2, 8, std::string("\1\2\0\0\3\4\0\0", 8));
  EXPECT_TRUE(identical(decode_bmp(gray), Tensor::from<std::uint8_t>({2, 2, 1}, {3, 4, 1, 2})));
  EXPECT_TRUE(
      identical(decode_bmp(gray, 4).rows(0, 1), Tensor::from<std::uint8_t>({1, 2, 4}, {3, 3, 3, 255, 4, 4, 4, 255})));
  const std::string rgb = bitmap(1, -2, 24, std::string("\1\2\3\0\4\5\6\0", 8));
  EXPECT_TRUE(identical(decode_bmp(rgb), Tensor::from<std::uint8_t>({2, 1, 3}, {3, 2, 1, 6, 5, 4})));
  const std::string rgba = bitmap(1, 1, 32, std::string("\1\2\3\4", 4));
  EXPECT_TRUE(identical(decode_bmp(rgba), Tensor::from<std::uint8_t>({1, 1, 4}, {3, 2, 1, 4})));
  EXPECT_TRUE(identical(decode_bmp(rgba, 3), Tensor::from<std::uint8_t>({1, 1, 3}, {3, 2, 1})));
}

TEST(Bmp, DamagedFilesAreErrors) {
  const std::string good = bitmap(2, 2, 8, std::string("\1\2\0\0\3\4\0\0", 8));
  EXPECT_EQ(code_of(good), Code::kOk);
  EXPECT_EQ(code_of(good, 1), Code::kInvalidArgument);
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_EQ(code_of(good.substr(0, size)), Code::kDataLoss) << size;
  EXPECT_EQ(code_of(bitmap(0, 2, 8, "")), Code::kDataLoss);
  EXPECT_EQ(code_of(bitmap(2, 0, 8, "")), Code::kDataLoss);
  EXPECT_EQ(code_of(bitmap(2, INT32_MIN, 8, "")), Code::kResourceExhausted);
  EXPECT_EQ(code_of(bitmap(2, 2, 16, std::string(8, 'x'))), Code::kDataLoss);
  EXPECT_EQ(code_of(bitmap(2, 2, 8, std::string(9, 'x'))), Code::kDataLoss);
}

}  // namespace
}  // namespace caudal
