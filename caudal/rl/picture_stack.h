// PictureStack: the last few pictures of an episode, each kept once, and their ways into an observation.
//
// Thread safety: one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "caudal/formats/coding.h"

namespace caudal::inline v0::rl {

class PictureStack {
 public:
  PictureStack(int depth, std::size_t picture_bytes)
      : depth_(static_cast<std::size_t>(depth)), size_(picture_bytes), pictures_(depth_ * size_) {}

  // An episode begins: all pictures are this one.
  void fill(std::span<const std::uint8_t> picture) {
    for (std::size_t i = 0; i < depth_; ++i) std::memcpy(pictures_.data() + i * size_, picture.data(), size_);
  }
  void push(std::span<const std::uint8_t> picture) {
    std::memcpy(pictures_.data() + oldest_ * size_, picture.data(), size_);
    oldest_ = (oldest_ + 1) % depth_;
  }
  // Picture 0 is the oldest.
  const std::uint8_t* picture(std::size_t i) const { return pictures_.data() + (oldest_ + i) % depth_ * size_; }
  std::span<const std::uint8_t> newest() const { return {picture(depth_ - 1), size_}; }

  // One picture after the other, the oldest first: depth * picture_bytes bytes.
  void write_planes(std::byte* out) const {
    for (std::size_t i = 0; i < depth_; ++i) std::memcpy(out + i * size_, picture(i), size_);
  }
  // Pixel by pixel, each with the values of all pictures, the oldest first.
  void write_interleaved(std::byte* out) const;

  void save(std::string* out) const {
    for (std::size_t i = 0; i < depth_; ++i) out->append(reinterpret_cast<const char*>(picture(i)), size_);
  }
  bool restore(ByteReader* reader) {
    std::string_view bytes;
    if (!reader->bytes(pictures_.size(), &bytes)) return false;
    oldest_ = 0;
    std::memcpy(pictures_.data(), bytes.data(), bytes.size());
    return true;
  }

 private:
  std::size_t depth_, size_;
  std::size_t oldest_ = 0;
  std::vector<std::uint8_t> pictures_;
};

}  // namespace caudal::inline v0::rl
