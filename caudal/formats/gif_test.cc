#include "caudal/formats/gif.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "caudal/base/error.h"
#include "caudal/formats/coding.h"

namespace caudal::inline v0 {
namespace {

// A plain GIF reader for what GifWriter writes, after the format's description.
class Reader {
 public:
  explicit Reader(std::string bytes) : bytes_(std::move(bytes)), in_(bytes_) {
    EXPECT_EQ(take(6), "GIF89a");
    width_ = word();
    height_ = word();
    EXPECT_EQ(take(3), std::string_view("\x70\0\0", 3));
    EXPECT_EQ(take(19).substr(3, 11), "NETSCAPE2.0");
    screen_.resize(static_cast<std::size_t>(3 * width_ * height_));
  }

  // False at the end.
  bool next() {
    if (take(1) == ";") {
      EXPECT_TRUE(in_.empty());
      return false;
    }
    EXPECT_EQ(take(3), "\xf9\x04\x04");
    delays_.push_back(word());
    EXPECT_EQ(take(3), std::string_view("\0\0,", 3));
    const int left = word(), top = word(), width = word(), height = word();
    EXPECT_LE(left + width, width_);
    EXPECT_LE(top + height, height_);
    area_ = width * height;
    const int bits = (byte() & 7) + 1;
    const std::string_view colours = take(static_cast<std::size_t>(3) << bits);
    const std::vector<int> pixels = decompressed(byte());
    EXPECT_EQ(static_cast<int>(pixels.size()), width * height);
    for (int i = 0; i < width * height; ++i) {
      const int x = left + i % width, y = top + i / width;
      std::memcpy(screen_.data() + 3 * (y * width_ + x), colours.data() + 3 * pixels[static_cast<std::size_t>(i)], 3);
    }
    return true;
  }

  const std::vector<std::uint8_t>& screen() const { return screen_; }
  const std::vector<int>& delays() const { return delays_; }
  int area() const { return area_; }

 private:
  std::string_view take(std::size_t count) {
    std::string_view out;
    EXPECT_TRUE(in_.bytes(count, &out));
    return out;
  }
  int byte() { return static_cast<std::uint8_t>(take(1)[0]); }
  int word() { return get_fixed<std::uint16_t>(take(2).data()); }

  std::vector<int> decompressed(int colour_bits) {
    std::string codes;
    for (int size = byte(); size != 0; size = byte()) codes += take(static_cast<std::size_t>(size));
    const int clear = 1 << colour_bits, end = clear + 1;
    std::vector<std::vector<int>> table;
    std::vector<int> pixels, before;
    int bits = colour_bits + 1;
    const auto reset = [&] {
      table.assign(static_cast<std::size_t>(end + 1), {});
      for (int i = 0; i < clear; ++i) table[static_cast<std::size_t>(i)] = {i};
      bits = colour_bits + 1;
      before.clear();
    };
    for (std::size_t at = 0;;) {
      int code = 0;
      for (int i = 0; i < bits; ++i, ++at) code |= ((static_cast<std::uint8_t>(codes.at(at / 8)) >> (at % 8)) & 1) << i;
      if (code == end) {
        EXPECT_EQ((at + 7) / 8, codes.size());
        return pixels;
      }
      if (code == clear) {
        reset();
        continue;
      }
      std::vector<int> piece;
      if (code < static_cast<int>(table.size())) {
        piece = table[static_cast<std::size_t>(code)];
      } else {
        EXPECT_EQ(code, static_cast<int>(table.size()));
        piece = before;
        piece.push_back(before.at(0));
      }
      pixels.insert(pixels.end(), piece.begin(), piece.end());
      if (!before.empty() && table.size() < 4096) {
        before.push_back(piece[0]);
        table.push_back(before);
        if (static_cast<int>(table.size()) == 1 << bits && bits < 12) ++bits;
      }
      before = piece;
    }
  }

  std::string bytes_;
  ByteReader in_;
  int width_, height_, area_ = 0;
  std::vector<std::uint8_t> screen_;
  std::vector<int> delays_;
};

Tensor noise(int height, int width, int colours, unsigned seed) {
  std::mt19937 random(seed);
  Tensor picture(uint8, {height, width, 3});
  for (int i = 0; i < height * width; ++i) {
    const unsigned colour = random() % static_cast<unsigned>(colours);
    for (unsigned c = 0; c < 3; ++c)
      picture.data<std::uint8_t>()[3 * i + static_cast<int>(c)] = static_cast<std::uint8_t>(colour * (7 + 50 * c) + c);
  }
  return picture;
}

TEST(GifWriter, KeepsFramesOfFewColours) {
  for (const int colours : {1, 2, 5, 200}) {
    GifWriter gif(97, 61, 30);
    std::vector<Tensor> frames = {noise(61, 97, colours, 1), noise(61, 97, colours, 2), noise(61, 97, colours, 2)};
    frames.push_back(Tensor::from(frames[2].shape(), frames[2].to_vector<std::uint8_t>()));
    for (int i = 0; i < 30; ++i) frames[3].data<std::uint8_t>()[3 * (97 * 20 + 40) + i] ^= 9;
    std::string bytes;
    for (const Tensor& frame : frames) bytes += gif.add(frame);
    Reader reader(bytes + gif.finish());
    for (const Tensor& frame : frames) {
      ASSERT_TRUE(reader.next());
      EXPECT_EQ(reader.screen(), frame.to_vector<std::uint8_t>()) << colours;
    }
    EXPECT_EQ(reader.area(), 10) << "only what changed is written";
    EXPECT_FALSE(reader.next());
    EXPECT_EQ(reader.delays(), (std::vector<int>{3, 4, 3, 3}));
  }
}

TEST(GifWriter, FillsItsTableOfCodes) {
  GifWriter gif(300, 200, 10);
  const Tensor frame = noise(200, 300, 200, 3);  // thousands of different pieces
  Reader reader(gif.add(frame) + gif.finish());
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.screen(), frame.to_vector<std::uint8_t>());
}

TEST(GifWriter, RoundsManyColours) {
  std::vector<std::uint8_t> values(3 * 64 * 64);
  std::mt19937 random(1);
  for (std::uint8_t& value : values) value = static_cast<std::uint8_t>(random());
  GifWriter gif(64, 64, 10);
  Reader reader(gif.add(Tensor::from(Shape{64, 64, 3}, values)) + gif.finish());
  ASSERT_TRUE(reader.next());
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_NEAR(reader.screen()[i], values[i], 26);
}

TEST(GifWriter, RefusesWhatDoesNotFit) {
  EXPECT_THROW(GifWriter(0, 5, 30), Error);
  EXPECT_THROW(GifWriter(5, 70000, 30), Error);
  EXPECT_THROW(GifWriter(5, 5, 0), Error);
  GifWriter gif(5, 5, 30);
  EXPECT_THROW(gif.add(Tensor::zeros(uint8, {5, 6, 3})), Error);
  EXPECT_THROW(gif.add(Tensor::zeros(float32, {5, 5, 3})), Error);
}

}  // namespace
}  // namespace caudal::inline v0
