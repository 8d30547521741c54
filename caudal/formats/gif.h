// Writing animated GIF pictures (CompuServe, "Graphics Interchange Format", version 89a), frame by frame.
//
//   GifWriter gif(160, 210, 30);
//   for (...) out.append(gif.add(frame));
//   out.append(gif.finish());
//
// Each frame holds only the rectangle that changed. Up to 256 colours in a frame are kept as they are; more are rounded
// to 6 x 7 x 6 levels. Thread safety: one thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0 {

class CAUDAL_API GifWriter {
 public:
  // Times are multiples of 1/100 s in the format; the error does not add up. The animation repeats for ever.
  // INVALID_ARGUMENT for sizes outside 1 .. 65535 or a rate that is not positive.
  GifWriter(int width, int height, double frames_per_second);

  // The bytes to append for a frame: uint8 [height, width, 3]. INVALID_ARGUMENT for other tensors.
  std::string add(const Tensor& frame);
  // The last bytes. A GIF needs at least one frame.
  std::string finish() const { return ";"; }
  std::int64_t frames() const { return frames_; }

 private:
  std::string header() const;

  int width_, height_;
  double hundredths_;  // of a second, per frame
  std::int64_t frames_ = 0;
  std::vector<std::uint8_t> before_;
};

}  // namespace caudal::inline v0
