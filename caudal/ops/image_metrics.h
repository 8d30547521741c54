// How alike pictures are, and their edges.
//
// Pictures are [..., height, width, channels] of any real type; integers stand for 0 .. 1 as 0 .. their greatest value,
// and `max_val` is the greatest value that the type's pictures take (255 for uint8). Results are float32. The
// measures differentiate. Thread safety: as building a graph.
#pragma once

#include <cstdint>
#include <source_location>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0::image {

// Peak signal-to-noise ratio in decibels, of each picture.
CAUDAL_API Output psnr(const Operand& a, const Operand& b, const Operand& max_val, const OpOptions& options = {});

struct SsimOptions {
  std::int64_t filter_size = 11;
  float filter_sigma = 1.5F;
  float k1 = 0.01F, k2 = 0.03F;
  std::source_location where = std::source_location::current();
};
// Structural similarity of each picture (Wang et al., "Image quality assessment: from error visibility to structural
// similarity", 2004), by Gaussian windows. INVALID_ARGUMENT for pictures smaller than the window.
CAUDAL_API Output ssim(const Operand& img1, const Operand& img2, const Operand& max_val,
                       const SsimOptions& options = {});

struct SsimMultiscaleOptions {
  std::vector<float> power_factors = {0.0448F, 0.2856F, 0.3001F, 0.2363F, 0.1333F};  // of each scale, finest first
  std::int64_t filter_size = 11;
  float filter_sigma = 1.5F;
  float k1 = 0.01F, k2 = 0.03F;
  std::source_location where = std::source_location::current();
};
// The same at several scales (Wang et al., "Multi-scale structural similarity", 2003), each half the one before.
CAUDAL_API Output ssim_multiscale(const Operand& img1, const Operand& img2, const Operand& max_val,
                                  const SsimMultiscaleOptions& options = {});

// The sum of the differences of neighbours: a scalar of one picture, [batch] of several. Of the type of `images`.
CAUDAL_API Output total_variation(const Operand& images, const OpOptions& options = {});

struct ImageGradients {
  Output dy, dx;
};
// Differences to the next row and column, 0 in the last; [batch, height, width, depth].
CAUDAL_API ImageGradients image_gradients(const Operand& image, const OpOptions& options = {});
// Sobel's edges: [batch, height, width, depth, 2] of dy and dx.
CAUDAL_API Output sobel_edges(const Operand& image, const OpOptions& options = {});

}  // namespace caudal::inline v0::image
