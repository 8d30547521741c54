#include "caudal/formats/gif_reader.h"

#include <gtest/gtest.h>

#include "caudal/base/error.h"
#include "caudal/formats/gif.h"

namespace caudal {
namespace {

Code code_of(const std::string& bytes) {
  try {
    decode_gif(bytes);
  } catch (const Error& error) {
    return error.code();
  }
  return Code::kOk;
}

// A frame of few colours that differ from frame to frame.
Tensor frame(std::int64_t height, std::int64_t width, int number) {
  Tensor out = Tensor::zeros(uint8, {height, width, 3});
  for (std::int64_t i = 0; i < height * width; ++i) {
    auto* pixel = out.data<std::uint8_t>() + 3 * i;
    pixel[0] = static_cast<std::uint8_t>(i * i / 7 % 6 * 40);
    pixel[1] = static_cast<std::uint8_t>(i / width == number ? 200 : 10);
    pixel[2] = static_cast<std::uint8_t>(i % 5 * 50);
  }
  return out;
}

// 2 x 2 pixels of four gray tones, interlaced or not, after `control`.
std::string tiny(int flags, const std::string& control = "") {
  std::string out("GIF89a\2\0\2\0\x81\0\0", 13);
  out += std::string("\0\0\0\1\1\1\2\2\2\3\3\3", 12) + control;
  out += std::string(",\0\0\0\0\2\0\2\0", 9) + static_cast<char>(flags);
  // Codes of 3 bits: clear, 0, 1, 2, 3, end (the last two of 4 bits would only come after more).
  return out + std::string("\2\3\x44\x34\5\0;", 7);
}

TEST(GifReader, ReadsWhatTheWriterWrites) {
  GifWriter writer(37, 20, 10);
  std::string bytes;
  for (int i = 0; i < 3; ++i) bytes += writer.add(frame(20, 37, i));
  bytes += writer.finish();
  const Tensor frames = decode_gif(bytes);
  ASSERT_EQ(frames.shape(), (Shape{3, 20, 37, 3}));
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(identical(frames.rows(i, i + 1).reshape({20, 37, 3}), frame(20, 37, i))) << i;
  }
  EXPECT_TRUE(identical(decode_gif(bytes, false), frames.rows(0, 1)));
}

TEST(GifReader, HandlesLongTables) {
  GifWriter writer(200, 150, 10);
  Tensor noise(uint8, {150, 200, 3});
  std::uint32_t state = 1;
  for (std::int64_t i = 0; i < 150 * 200; ++i) {
    state = state * 1664525 + 1013904223;
    for (int k = 0; k < 3; ++k) noise.data<std::uint8_t>()[3 * i + k] = static_cast<std::uint8_t>(state >> 26 << 2);
  }
  const std::string bytes = writer.add(noise) + writer.finish();
  EXPECT_TRUE(identical(decode_gif(bytes).reshape({150, 200, 3}), noise));
}

TEST(GifReader, TransparentPixelsShowWhatLiesBelow) {
  const Tensor plain = decode_gif(tiny(0));
  EXPECT_TRUE(identical(plain, Tensor::from<std::uint8_t>({1, 2, 2, 3}, {0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3})));
  const Tensor first = decode_gif(tiny(0, std::string("!\xf9\4\1\0\0\3\0", 8)));
  EXPECT_TRUE(identical(first, Tensor::from<std::uint8_t>({1, 2, 2, 3}, {0, 0, 0, 1, 1, 1, 2, 2, 2, 0, 0, 0})));
  EXPECT_TRUE(identical(decode_gif(tiny(0x40)), plain));  // two lines come in order either way
}

TEST(GifReader, DamagedFilesAreErrors) {
  const std::string good = tiny(0);
  EXPECT_EQ(code_of(good), Code::kOk);
  EXPECT_EQ(code_of(""), Code::kDataLoss);
  for (std::size_t size = 0; size + 1 < good.size(); ++size) {
    EXPECT_EQ(code_of(good.substr(0, size)), Code::kDataLoss) << size;
  }
  std::string bad = good;
  bad[bad.size() - 5] = '\x7f';
  EXPECT_EQ(code_of(bad), Code::kDataLoss);
  // A frame that is said to be larger than the bytes can fill.
  bad = good;
  bad.replace(bad.find(',') + 5, 4, "\xff\xff\xff\xff");
  EXPECT_EQ(code_of(bad), Code::kDataLoss);
  // What comes after a good frame may be damaged.
  EXPECT_EQ(code_of(good.substr(0, good.size() - 1) + "?"), Code::kOk);
}

}  // namespace
}  // namespace caudal
