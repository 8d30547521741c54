// Against pictures and decoded arrays of TensorFlow 2.21 (testdata/golden/records/codecs).
#include "caudal/formats/png.h"

#include <gtest/gtest.h>

#include <string>

#include "caudal/base/env.h"
#include "caudal/formats/npy.h"

namespace caudal {
namespace {

std::string codec_file(const std::string& name) {
  return std::string(CAUDAL_SOURCE_DIR) + "/testdata/golden/records/codecs/" + name;
}

Code code_of(const std::string& bytes) {
  try {
    decode_png(bytes);
  } catch (const Error& error) {
    return error.code();
  }
  return Code::kOk;
}

TEST(Png, DecodesAsTensorFlow) {
  const NamedTensors expected = read_npz(default_env(), codec_file("expected.npz"));
  int compared = 0;
  for (const auto& [name, value] : expected) {
    if (!name.ends_with(".png")) continue;
    const Tensor got = decode_png(read_file(default_env(), codec_file(name)), 0, value.dtype());
    EXPECT_TRUE(identical(got, value)) << name << " " << got.describe() << " " << value.describe();
    ++compared;
  }
  EXPECT_EQ(compared, 4);
}

TEST(Png, RoundTrips) {
  for (const int channels : {1, 2, 3, 4}) {
    Tensor narrow(uint8, {3, 5, channels}), wide(uint16, {3, 5, channels});
    for (int64_t i = 0; i < narrow.num_elements(); ++i) {
      narrow.data<uint8_t>()[i] = static_cast<uint8_t>(i * 37);
      wide.data<uint16_t>()[i] = static_cast<uint16_t>(i * 3701);
    }
    EXPECT_TRUE(identical(decode_png(encode_png(narrow)), narrow)) << channels;
    EXPECT_TRUE(identical(decode_png(encode_png(wide, 9), 0, uint16), wide)) << channels;
  }
}

TEST(Png, ConvertsDepthsAndChannels) {
  const std::string wide = encode_png(Tensor::from<uint16_t>({1, 1, 1}, {0x1234}));
  EXPECT_EQ(decode_png(wide, 0, uint16).item<uint16_t>(), 4660);
  EXPECT_EQ(decode_png(wide, 0, uint8).item<uint8_t>(), 0x12);
  const std::string narrow = encode_png(Tensor::from<uint8_t>({1, 1, 1}, {0x12}));
  EXPECT_EQ(decode_png(narrow, 0, uint16).item<uint16_t>(), 0x1212);
  EXPECT_TRUE(identical(decode_png(narrow, 3), Tensor::from<uint8_t>({1, 1, 3}, {0x12, 0x12, 0x12})));
  EXPECT_TRUE(identical(decode_png(narrow, 4), Tensor::from<uint8_t>({1, 1, 4}, {0x12, 0x12, 0x12, 0xff})));
  const std::string rgba = encode_png(Tensor::from<uint8_t>({1, 1, 4}, {10, 20, 30, 40}));
  EXPECT_TRUE(identical(decode_png(rgba, 3), Tensor::from<uint8_t>({1, 1, 3}, {10, 20, 30})));
  EXPECT_TRUE(identical(decode_png(rgba, 2), Tensor::from<uint8_t>({1, 1, 2}, {18, 40})));
  EXPECT_TRUE(identical(decode_png(rgba, 1), Tensor::from<uint8_t>({1, 1, 1}, {18})));  // TensorFlow 2.21
}

TEST(Png, RefusesBadBytes) {
  EXPECT_EQ(code_of(""), Code::kDataLoss);
  EXPECT_EQ(code_of("GIF89a"), Code::kDataLoss);
  const std::string good = read_file(default_env(), codec_file("rgb.png"));
  for (size_t size = 8; size < good.size() - 12; ++size)
    EXPECT_EQ(code_of(good.substr(0, size)), Code::kDataLoss) << size;
  for (size_t at = 8; at < good.size() - 12; ++at) {
    std::string bad = good;
    bad[at] ^= 0x55;
    code_of(bad);  // an error or a picture, but no crash
  }
  EXPECT_THROW(encode_png(Tensor::from<uint8_t>({1, 1, 5}, {1, 2, 3, 4, 5})), Error);
  EXPECT_THROW(encode_png(Tensor(1.0f)), Error);
  EXPECT_THROW(decode_png(good, 5), Error);
}

}  // namespace
}  // namespace caudal
