// Resizing of gray pictures, equal to cv2.resize(..., interpolation=cv2.INTER_AREA) of OpenCV 4.12 in every pixel.
//
// OpenCV averages areas in float32 where both sides shrink, and otherwise interpolates with 11-bit weights. Here areas
// are averaged exactly, in integers; only where the exact mean lies halfway between two values the float sum is formed
// in OpenCV's order, because there its rounding errors decide.
// Rows that have not changed since the call before need not be computed again. Thread safety: const members may be
// called from several threads with different memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/rl/area_rows.h"

namespace caudal::inline v0::rl {

class CAUDAL_API AreaResizer {
 public:
  // INVALID_ARGUMENT for sizes outside 1 .. 4096.
  AreaResizer(int source_height, int source_width, int height, int width);
  AreaResizer(const AreaResizer&) = delete;
  AreaResizer& operator=(const AreaResizer&) = delete;

  int height() const { return rows_.size; }
  int width() const { return columns_.size; }

  // source: source_height x source_width bytes; out: height x width. Writes those rows of `out` that a source row with
  // changed[row] != 0 has a part in; an empty `changed` stands for all.
  void resize(const std::uint8_t* source, std::span<const std::uint8_t> changed, std::uint8_t* out) const;

 private:
  // One direction. Output i is made of `taps` source places from first[i] on; weight[i * taps + t] belongs to first[i]
  // + t. Taps that lie outside the source have weight 0.
  struct Axis {
    int source = 0, size = 0, taps = 0;
    std::vector<std::int32_t> first;
    std::vector<std::int32_t> weight;
    std::vector<float> fraction;  // OpenCV's float weights, of areas only
    std::int32_t total = 0;       // sum of the weights of one output
  };
  static Axis area_axis(int source, int size);
  static Axis linear_axis(int source, int size);

  void prepare_pairs();
  void prepare_blocks();
  bool row_changed(int row, std::span<const std::uint8_t> changed) const;
  void average(const std::uint8_t* source, std::span<const std::uint8_t> changed, std::uint8_t* out) const;
  void average_row(const std::uint8_t* source, int row, std::uint8_t* out) const;
  void average_large_row(const std::uint8_t* source, int row, std::uint8_t* out) const;
  void interpolate(const std::uint8_t* source, std::span<const std::uint8_t> changed, std::uint8_t* out) const;
  std::uint8_t halfway_mean(const std::uint8_t* source, int row, int column) const;

  Axis rows_, columns_;
  std::vector<std::uint32_t> pairs_;
  std::vector<std::int32_t> block_first_;
  std::vector<std::uint16_t> block_places_, block_weights_;
  ColumnTaps taps_;      // views columns_, pairs_ and the blocks
  MeanDivider divider_;  // with multiplier 0: sums are too large for 16 bits
  bool average_;
  bool whole_scale_;  // both sides shrink by whole numbers: OpenCV sums integers first
};

}  // namespace caudal::inline v0::rl
