// Inside of conv2d: loops for one-channel images by instruction set.
#pragma once

#include <cstdint>

namespace caudal::inline v0::kernels {

struct PlanarConv {
  int64_t rows = 0, columns = 0;  // of the filters
  int64_t filters = 0;
  int64_t stride = 0;  // elements between rows of the image
  int64_t pooled = 0;  // pixels of a pooled row
  bool relu = false;
};

// The gradient of what the convolution made, a plane for each filter: `height` rows of whole vectors, zeros behind the
// pixels.
struct PlanarPlanes {
  int64_t rows = 0, columns = 0;  // of the filters
  int64_t filters = 0;
  int64_t stride = 0;  // elements between rows of the image
  int64_t height = 0;
  int64_t pitch = 0;  // elements between rows of a plane
  int64_t size = 0;   // of a plane
};

struct PlanarLoops {
  int width = 0;  // elements of a vector
  // Elements that may be read behind the last that a row of the convolution needs.
  int spare = 0;
  // One row of the pooled convolution: `image` is the first of the rows + 1 rows it looks at, weights are
  // [row][column][filter], `bias` one for each filter. Values and winners are [pixel][filter].
  void (*row)(const PlanarConv& conv, const float* image, const float* weights, const float* bias, float* out,
              std::uint8_t* winners) = nullptr;
  // Adds an image's part to sums[row][column][filter], each a vector whose elements are to be added.
  void (*filter)(const PlanarPlanes& planes, const float* image, const float* plane, float* sums) = nullptr;
  float (*sum)(const float* vector) = nullptr;
};

const PlanarLoops& planar_loops_avx2();
const PlanarLoops& planar_loops_avx512();

}  // namespace caudal::inline v0::kernels
