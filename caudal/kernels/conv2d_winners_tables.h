// Inside of conv2d_winners: loops of float by instruction set.
#pragma once

#include <cstdint>
#include <vector>

namespace caudal::inline v0::kernels {

// A patch as rows of consecutive elements.
struct PatchRows {
  int64_t rows = 0, length = 0;  // of the filter: rows, and columns times channels
  int64_t stride = 0;            // elements between rows of the image
  int64_t padded = 0;            // elements between rows of the sums: `length` rounded up to whole vectors
};

// Some rows and columns of a patch whose sums fit into registers.
struct PatchBlock {
  // sums[r][i] += sum over n < count of values[n] * image[offsets[n] + r * stride + i], for the block's r and i; the
  // image can be read to the end of the last vector.
  void (*add)(const PatchRows& patch, int64_t count, const float* values, const int32_t* offsets, const float* image,
              float* sums) = nullptr;
  int64_t row = 0, column = 0;  // where it begins
};

// Some of the winners of one pooled pixel, by their place in the window of 2 x 2.
struct PixelWinners {
  int32_t counts[4] = {};
  const float* values[4] = {};
  const int32_t* filters[4] = {};  // where the filter of each one's channel begins among the weights
};

struct WinnerLoops {
  int width = 0;  // elements of a vector
  // The blocks that cover a patch. REQUIRES: patch.padded is a multiple of the width.
  std::vector<PatchBlock> (*blocks)(const PatchRows& patch) = nullptr;
  // Adds what winners hand to the pixels of the input that any of them reads, for one vector of input channels: `image`
  // begins there, its pixels are `channels` elements apart and its rows `stride`. Weights are filter[row][column] of
  // vectors by output channel. Null unless there are registers for all of the pixels: filters of 3 x 3 with stride 1 or
  // 2. REQUIRES: pooling by 2 x 2.
  using Spread = void (*)(const PixelWinners& winners, const float* weights, float* image, int64_t channels,
                          int64_t stride);
  Spread (*spread)(int64_t rows, int64_t columns, int64_t stride_height, int64_t stride_width) = nullptr;
  // to[i] += from[i] for i < n.
  void (*add)(int64_t n, const float* from, float* to) = nullptr;
  // x[i] = gate[i] > 0 ? x[i] : 0 for i < n.
  void (*shut)(int64_t n, const float* gate, float* x) = nullptr;
};

const WinnerLoops& winner_loops_avx2();
const WinnerLoops& winner_loops_avx512();

}  // namespace caudal::inline v0::kernels
