#include "caudal/formats/gif.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <unordered_map>

#include "caudal/base/error.h"
#include "caudal/formats/coding.h"

namespace caudal::inline v0 {
namespace {

constexpr int kMostCodes = 4096, kMostColours = 256;

struct Box {
  int left = 0, top = 0, right = 0, bottom = 0;  // right and bottom are outside
};

// The rectangle in which two frames differ; one pixel if they do not.
Box difference(const std::uint8_t* a, const std::uint8_t* b, int width, int height) {
  Box box{width, height, 0, 0};
  const std::size_t row_bytes = 3 * static_cast<std::size_t>(width);
  for (int y = 0; y < height; ++y, a += row_bytes, b += row_bytes) {
    if (std::memcmp(a, b, row_bytes) == 0) continue;
    box.top = std::min(box.top, y);
    box.bottom = y + 1;
    for (int x = 0; x < width; ++x) {
      if (std::memcmp(a + 3 * x, b + 3 * x, 3) == 0) continue;
      box.left = std::min(box.left, x);
      box.right = std::max(box.right, x + 1);
    }
  }
  return box.bottom == 0 ? Box{0, 0, 1, 1} : box;
}

struct Indexed {
  std::vector<std::uint8_t> pixels;
  std::vector<std::array<std::uint8_t, 3>> colours;
};

bool index_exactly(const std::uint8_t* rgb, int width, const Box& box, Indexed* out) {
  std::unordered_map<std::uint32_t, std::uint8_t> known;
  for (int y = box.top; y < box.bottom; ++y) {
    for (int x = box.left; x < box.right; ++x) {
      const std::uint8_t* pixel = rgb + 3 * (static_cast<std::size_t>(y) * width + x);
      const std::uint32_t key = pixel[0] | std::uint32_t{pixel[1]} << 8 | std::uint32_t{pixel[2]} << 16;
      const auto [place, added] = known.try_emplace(key, static_cast<std::uint8_t>(out->colours.size()));
      if (added) {
        if (out->colours.size() == kMostColours) return false;
        out->colours.push_back({pixel[0], pixel[1], pixel[2]});
      }
      out->pixels.push_back(place->second);
    }
  }
  return true;
}

Indexed index_roughly(const std::uint8_t* rgb, int width, const Box& box) {
  constexpr int kLevels[] = {6, 7, 6};
  Indexed out;
  for (int i = 0; i < 6 * 7 * 6; ++i) {
    const int level[] = {i / 42, i / 6 % 7, i % 6};
    out.colours.emplace_back();
    for (std::size_t c = 0; c < 3; ++c)
      out.colours.back()[c] = static_cast<std::uint8_t>(level[c] * 255 / (kLevels[c] - 1));
  }
  for (int y = box.top; y < box.bottom; ++y) {
    for (int x = box.left; x < box.right; ++x) {
      const std::uint8_t* pixel = rgb + 3 * (static_cast<std::size_t>(y) * width + x);
      const auto level = [&](int c) { return (pixel[c] * (kLevels[c] - 1) + 127) / 255; };
      out.pixels.push_back(static_cast<std::uint8_t>(level(0) * 42 + level(1) * 6 + level(2)));
    }
  }
  return out;
}

// Codes of growing width, lowest bit first.
class BitWriter {
 public:
  void put(int code, int bits) {
    pending_ |= static_cast<std::uint32_t>(code) << count_;
    for (count_ += bits; count_ >= 8; count_ -= 8, pending_ >>= 8) bytes_ += static_cast<char>(pending_);
  }
  std::string finish() {
    if (count_ > 0) bytes_ += static_cast<char>(pending_);
    return std::move(bytes_);
  }

 private:
  std::uint32_t pending_ = 0;
  int count_ = 0;
  std::string bytes_;
};

// LZW with GIF's clear and end codes.
std::string compressed(const std::vector<std::uint8_t>& pixels, int colour_bits) {
  const int clear = 1 << colour_bits, end = clear + 1;
  BitWriter out;
  std::vector<std::int16_t> longer(static_cast<std::size_t>(kMostCodes) * kMostColours, -1);  // [code, next pixel]
  int next = end + 1, bits = colour_bits + 1;
  out.put(clear, bits);
  int code = pixels[0];
  for (std::size_t i = 1; i < pixels.size(); ++i) {
    std::int16_t& known = longer[static_cast<std::size_t>(code) * kMostColours + pixels[i]];
    if (known >= 0) {
      code = known;
      continue;
    }
    out.put(code, bits);
    if (next < kMostCodes) {
      known = static_cast<std::int16_t>(next);
      if (next == 1 << bits) ++bits;
      ++next;
    } else {
      out.put(clear, bits);
      std::ranges::fill(longer, static_cast<std::int16_t>(-1));
      next = end + 1;
      bits = colour_bits + 1;
    }
    code = pixels[i];
  }
  out.put(code, bits);
  if (next < kMostCodes && next == 1 << bits) ++bits;
  out.put(end, bits);
  return out.finish();
}

void put_blocks(std::string* out, std::string_view bytes) {
  for (; !bytes.empty(); bytes.remove_prefix(std::min<std::size_t>(bytes.size(), 255))) {
    const std::string_view block = bytes.substr(0, 255);
    *out += static_cast<char>(block.size());
    *out += block;
  }
  *out += '\0';
}

}  // namespace

GifWriter::GifWriter(int width, int height, double frames_per_second) : width_(width), height_(height) {
  if (width < 1 || height < 1 || width > UINT16_MAX || height > UINT16_MAX)
    throw invalid_argument("a GIF has sides of 1 to 65535, not ", width, " x ", height);
  if (!(frames_per_second > 0)) throw invalid_argument("a GIF cannot have ", frames_per_second, " frames per second");
  hundredths_ = 100 / frames_per_second;
}

std::string GifWriter::header() const {
  std::string out = "GIF89a";
  put_fixed(&out, static_cast<std::uint16_t>(width_));
  put_fixed(&out, static_cast<std::uint16_t>(height_));
  out.append("\x70\0\0", 3);  // no global colours
  out.append("!\xff\x0bNETSCAPE2.0\x03\x01\0\0\0", 19);
  return out;
}

std::string GifWriter::add(const Tensor& frame) {
  if (frame.dtype() != uint8 || frame.shape() != Shape{height_, width_, 3})
    throw invalid_argument("a frame of this GIF is uint8 [", height_, ",", width_, ",3], not ", frame.describe());
  const auto* rgb = frame.data<std::uint8_t>();
  const Box box = frames_ == 0 ? Box{0, 0, width_, height_} : difference(rgb, before_.data(), width_, height_);
  Indexed indexed;
  if (!index_exactly(rgb, width_, box, &indexed)) indexed = index_roughly(rgb, width_, box);
  before_.assign(rgb, rgb + frame.num_elements());

  std::string out = frames_ == 0 ? header() : std::string();
  const auto time = [&](std::int64_t i) { return std::llround(static_cast<double>(i) * hundredths_); };
  const auto delay = std::clamp<long long>(time(frames_ + 1) - time(frames_), 1, UINT16_MAX);
  ++frames_;
  out.append("!\xf9\x04\x04", 4);  // leave the picture in place
  put_fixed(&out, static_cast<std::uint16_t>(delay));
  out.append("\0\0,", 3);
  for (const int value : {box.left, box.top, box.right - box.left, box.bottom - box.top})
    put_fixed(&out, static_cast<std::uint16_t>(value));
  const int bits = std::max(2, static_cast<int>(std::bit_width(indexed.colours.size() - 1)));
  out += static_cast<char>(0x80 | (bits - 1));
  indexed.colours.resize(std::size_t{1} << bits);
  for (const auto& colour : indexed.colours) out.append(reinterpret_cast<const char*>(colour.data()), 3);
  out += static_cast<char>(bits);
  put_blocks(&out, compressed(indexed.pixels, bits));
  return out;
}

}  // namespace caudal::inline v0
