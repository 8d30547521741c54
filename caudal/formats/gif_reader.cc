#include "caudal/formats/gif_reader.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <vector>

#include "caudal/base/error.h"

namespace caudal::inline v0 {
namespace {

constexpr std::int64_t kMaxValues = std::int64_t{1} << 29;
constexpr int kMaxBits = 12, kMaxCodes = 1 << kMaxBits, kMaxFirstBits = 8;
// A code of at least three bits stands for at most all pixels before it: 4,095 of them.
constexpr std::int64_t kMaxPixelsPerByte = 4096;

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  std::uint8_t byte() {
    if (at_ >= bytes_.size()) throw data_loss("GIF picture: the file is cut off");
    return static_cast<std::uint8_t>(bytes_[at_++]);
  }
  int word() {
    const int low = byte();
    return low | byte() << 8;
  }
  std::string_view take(std::size_t count) {
    if (count > bytes_.size() - at_) throw data_loss("GIF picture: the file is cut off");
    at_ += count;
    return bytes_.substr(at_ - count, count);
  }
  // A block of up to 255 bytes; empty at the end of a sequence.
  std::string_view block() { return take(byte()); }
  void skip_blocks() {
    while (!block().empty()) continue;
  }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
};

using Colors = std::string_view;  // three bytes each

struct Frame {
  int left = 0, top = 0, width = 0, height = 0;
  Colors colors;
  int transparent = -1;
  std::vector<std::uint8_t> pixels;
};

// Codes of growing width from the blocks of a frame, lowest bit first.
class Codes {
 public:
  explicit Codes(Reader& reader) : reader_(reader) {}

  int next(int bits) {
    while (count_ < bits) {
      if (block_.empty()) {
        block_ = reader_.block();
        if (block_.empty()) throw data_loss("GIF picture: a frame ends early");
      }
      pending_ |= static_cast<std::uint32_t>(static_cast<std::uint8_t>(block_[0])) << count_;
      block_.remove_prefix(1);
      count_ += 8;
    }
    const int code = static_cast<int>(pending_ & ((1U << bits) - 1));
    pending_ >>= bits;
    count_ -= bits;
    return code;
  }

 private:
  Reader& reader_;
  std::string_view block_;
  std::uint32_t pending_ = 0;
  int count_ = 0;
};

// LZW with GIF's clear and end codes.
class Lzw {
 public:
  Lzw(Reader& reader, int first_bits) : codes_(reader), first_bits_(first_bits) {
    clear_ = 1 << first_bits;
    for (int i = 0; i < clear_; ++i) last_[i] = first_[i] = static_cast<std::uint8_t>(i);
    reset();
  }

  void fill(std::vector<std::uint8_t>& pixels) {
    std::size_t done = 0;
    while (done < pixels.size()) {
      const int code = codes_.next(bits_);
      if (code == clear_) {
        reset();
        continue;
      }
      if (code == clear_ + 1) throw data_loss("GIF picture: a frame ends early");
      if (code > next_ || (code == next_ && before_ < 0)) throw data_loss("GIF picture: a code is wrong");
      if (before_ >= 0 && next_ < kMaxCodes) {
        // The string before and the first pixel of this one; a code that is not there yet begins as the one before.
        prefix_[next_] = static_cast<std::int16_t>(before_);
        first_[next_] = first_[before_];
        last_[next_] = first_[code == next_ ? before_ : code];
        ++next_;
        if (next_ == 1 << bits_ && bits_ < kMaxBits) ++bits_;
      }
      done = write(code, pixels, done);
      before_ = code;
    }
  }

 private:
  void reset() {
    next_ = clear_ + 2;
    bits_ = first_bits_ + 1;
    before_ = -1;
  }

  std::size_t write(int code, std::vector<std::uint8_t>& pixels, std::size_t done) {
    std::size_t size = 0;
    for (; code >= clear_; code = prefix_[code]) stack_[size++] = last_[code];
    stack_[size++] = last_[code];
    for (; size > 0 && done < pixels.size(); ++done) pixels[done] = stack_[--size];
    return done;
  }

  Codes codes_;
  int first_bits_, clear_ = 0, next_ = 0, bits_ = 0, before_ = -1;
  std::array<std::int16_t, kMaxCodes> prefix_ = {};
  std::array<std::uint8_t, kMaxCodes> first_ = {}, last_ = {}, stack_ = {};
};

void deinterlace(Frame* frame) {
  std::vector<std::uint8_t> ordered(frame->pixels.size());
  const auto width = static_cast<std::size_t>(frame->width);
  std::size_t row = 0;
  for (const auto& [first, step] : {std::pair{0, 8}, {4, 8}, {2, 4}, {1, 2}}) {
    for (int y = first; y < frame->height; y += step, ++row) {
      std::copy_n(frame->pixels.begin() + static_cast<std::ptrdiff_t>(row * width), width,
                  ordered.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(y) * width));
    }
  }
  frame->pixels = std::move(ordered);
}

class Gif {
 public:
  explicit Gif(std::string_view bytes) : reader_(bytes), size_(bytes.size()) {
    reader_.take(6 + 4);  // signature and the canvas's size
    const int flags = reader_.byte();
    reader_.take(2);  // background and aspect
    if ((flags & 0x80) != 0) colors_ = table(flags);
  }

  // The frames up to the end or the first damaged one.
  std::vector<Frame> frames() {
    std::vector<Frame> out;
    try {
      while (true) {
        const int kind = reader_.byte();
        if (kind == ';') break;
        if (kind == '!') {
          extension();
        } else if (kind == ',') {
          out.push_back(frame());
        } else {
          throw data_loss("GIF picture: there is no record of type ", kind);
        }
      }
    } catch (const Error& error) {
      if (out.empty() || error.code() != Code::kDataLoss) throw;
    }
    if (out.empty()) throw data_loss("GIF picture: there is no frame");
    return out;
  }

 private:
  Colors table(int flags) { return reader_.take(std::size_t{3} << ((flags & 7) + 1)); }

  void extension() {
    const bool control = reader_.byte() == 0xf9;
    const std::string_view block = reader_.block();
    if (control && block.size() == 4 && !transparent_) {
      transparent_ = (block[0] & 1) != 0 ? static_cast<std::uint8_t>(block[3]) : -1;
    }
    if (!block.empty()) reader_.skip_blocks();
  }

  Frame frame() {
    Frame frame;
    frame.left = reader_.word();
    frame.top = reader_.word();
    frame.width = reader_.word();
    frame.height = reader_.word();
    const int flags = reader_.byte();
    frame.colors = (flags & 0x80) != 0 ? table(flags) : colors_;
    frame.transparent = transparent_.value_or(-1);
    transparent_.reset();
    const std::int64_t pixels = std::int64_t{frame.width} * frame.height;
    if (pixels == 0 || pixels / kMaxPixelsPerByte > static_cast<std::int64_t>(size_)) {
      throw data_loss("GIF picture: a frame of ", frame.width, " x ", frame.height, " in ", size_, " bytes");
    }
    if ((pixels_ += pixels) > kMaxValues) throw resource_exhausted("GIF picture: the frames are too many");
    const int first_bits = reader_.byte();
    if (first_bits > kMaxFirstBits) throw data_loss("GIF picture: codes of ", first_bits, " bits");
    frame.pixels.resize(static_cast<std::size_t>(pixels));
    Reader blocks = reader_;
    Lzw(blocks, first_bits).fill(frame.pixels);
    reader_.skip_blocks();
    if ((flags & 0x40) != 0) deinterlace(&frame);
    return frame;
  }

  Reader reader_;
  std::size_t size_;
  std::int64_t pixels_ = 0;
  Colors colors_;
  std::optional<int> transparent_;  // of the frame to come; the first control block counts
};

// Draws a frame onto the canvas, which holds what lies below.
void draw(const Frame& frame, bool first, std::int64_t width, std::int64_t height, std::uint8_t* canvas) {
  if (frame.colors.empty()) throw data_loss("GIF picture: a frame has no colours");
  for (std::int64_t y = frame.top; y < std::min<std::int64_t>(height, frame.top + frame.height); ++y) {
    for (std::int64_t x = frame.left; x < std::min<std::int64_t>(width, frame.left + frame.width); ++x) {
      const int index = frame.pixels[static_cast<std::size_t>((y - frame.top) * frame.width + x - frame.left)];
      std::uint8_t* pixel = canvas + (y * width + x) * 3;
      if (index == frame.transparent) {
        if (first) std::fill_n(pixel, 3, std::uint8_t{0});
        continue;
      }
      const auto at = static_cast<std::size_t>(3 * index);
      if (at >= frame.colors.size()) throw data_loss("GIF picture: colour ", index, " is not in the table");
      std::memcpy(pixel, frame.colors.data() + at, 3);
    }
  }
}

}  // namespace

bool is_gif(std::string_view bytes) { return bytes.starts_with("GIF8"); }

Tensor decode_gif(std::string_view bytes, bool all_frames) {
  if (!is_gif(bytes)) throw data_loss("these bytes are no GIF picture");
  std::vector<Frame> frames = Gif(bytes).frames();
  std::int64_t width = 0, height = 0;
  for (const Frame& frame : frames) {
    width = std::max<std::int64_t>(width, frame.width);
    height = std::max<std::int64_t>(height, frame.height);
  }
  const std::int64_t count = all_frames ? static_cast<std::int64_t>(frames.size()) : 1;
  const std::int64_t values = width * height * 3;
  if (count > kMaxValues / values) {
    throw resource_exhausted("GIF picture: ", count, " frames of ", width, " x ", height, " are too many");
  }
  Tensor out = Tensor::zeros(uint8, {count, height, width, 3});
  for (std::int64_t i = 0; i < count; ++i) {
    auto* canvas = out.data<std::uint8_t>() + i * values;
    if (i > 0) std::memcpy(canvas, canvas - values, static_cast<std::size_t>(values));
    draw(frames[static_cast<std::size_t>(i)], i == 0, width, height, canvas);
  }
  return out;
}

}  // namespace caudal::inline v0
