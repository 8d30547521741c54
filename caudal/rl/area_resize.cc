#include "caudal/rl/area_resize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "caudal/base/error.h"

namespace caudal::inline v0::rl {
namespace {

constexpr int kMostSize = 4096;
constexpr int kLinearBits = 11;

}  // namespace

AreaResizer::AreaResizer(int source_height, int source_width, int height, int width)
    : average_(height <= source_height && width <= source_width) {
  for (const int size : {source_height, source_width, height, width}) {
    if (size < 1 || size > kMostSize) throw invalid_argument("pictures have sides of 1 to ", kMostSize, ", not ", size);
  }
  rows_ = average_ ? area_axis(source_height, height) : linear_axis(source_height, height);
  columns_ = average_ ? area_axis(source_width, width) : linear_axis(source_width, width);
  whole_scale_ = source_height % height == 0 && source_width % width == 0;
  prepare_pairs();
  if (average_) prepare_blocks();
  divider_.total = static_cast<std::uint32_t>(rows_.total * columns_.total);
  const std::int64_t most = 255 * std::int64_t{divider_.total} + divider_.total / 2;
  if (divider_.total % 2 != 0 || most > UINT16_MAX || !divider_.find(static_cast<std::uint32_t>(most)))
    divider_.multiplier = 0;
}

void AreaResizer::prepare_pairs() {
  taps_ = {columns_.source, columns_.size, columns_.taps, columns_.first.data(), columns_.weight.data(), nullptr};
  if (columns_.taps > kVectorTaps || 255 * rows_.total > INT16_MAX) {
    if (average_) return;
  }
  pairs_.resize(static_cast<std::size_t>(columns_.size / 8 + 1) * 16);
  for (int i = 0; i < columns_.size; ++i) {
    for (int t = 0; t < columns_.taps; ++t) {
      const auto word = static_cast<std::uint16_t>(columns_.weight[static_cast<std::size_t>(i * columns_.taps + t)]);
      const int place = (2 * (i / 8) + t / 2) * 8 + i % 8;
      pairs_[static_cast<std::size_t>(place)] |= static_cast<std::uint32_t>(word) << (16 * (t % 2));
    }
  }
  taps_.pairs = pairs_.data();
}

void AreaResizer::prepare_blocks() {
  const int blocks = (columns_.size + kWideLanes - 1) / kWideLanes;
  const auto cells = static_cast<std::size_t>(blocks * columns_.taps * kWideLanes);
  block_places_.resize(cells);
  block_weights_.resize(cells);
  for (int i = 0; i < columns_.size; ++i) {
    if (i % kWideLanes == 0) block_first_.push_back(columns_.first[static_cast<std::size_t>(i)]);
    for (int t = 0; t < columns_.taps; ++t) {
      const std::int32_t place = columns_.first[static_cast<std::size_t>(i)] + t - block_first_.back();
      if (place >= 2 * kWideLanes) return;
      const auto cell = static_cast<std::size_t>((i / kWideLanes * columns_.taps + t) * kWideLanes + i % kWideLanes);
      block_places_[cell] = static_cast<std::uint16_t>(place);
      block_weights_[cell] =
          static_cast<std::uint16_t>(columns_.weight[static_cast<std::size_t>(i * columns_.taps + t)]);
    }
  }
  taps_.wide_first = block_first_.data();
  taps_.wide_place = block_places_.data();
  taps_.wide_weight = block_weights_.data();
}

// Output i covers the source from i * s to (i + 1) * s in units of 1/d source places, where s / d is the reduced scale.
AreaResizer::Axis AreaResizer::area_axis(int source, int size) {
  const int divisor = std::gcd(source, size), s = source / divisor, d = size / divisor;
  Axis axis{.source = source, .size = size, .taps = (s + d - 1) / d + (d > 1 ? 1 : 0), .total = s};
  const double scale = static_cast<double>(source) / size;
  for (int i = 0; i < size; ++i) {
    const int begin = i * s, end = (i + 1) * s, first = begin / d;
    axis.first.push_back(first);
    const double cell = std::min(scale, source - i * scale);
    for (int t = 0; t < axis.taps; ++t) {
      const int left = std::max(begin, (first + t) * d), right = std::min(end, (first + t + 1) * d);
      const int covered = std::max(0, right - left);
      axis.weight.push_back(covered);
      axis.fraction.push_back(static_cast<float>(static_cast<double>(covered) / d / cell));
    }
  }
  return axis;
}

// OpenCV's bilinear weights for areas: places between source centres are not interpolated but take the nearest mixture.
AreaResizer::Axis AreaResizer::linear_axis(int source, int size) {
  Axis axis{.source = source, .size = size, .taps = 2, .total = 1 << kLinearBits};
  const double scale = static_cast<double>(source) / size, inverse = static_cast<double>(size) / source;
  for (int i = 0; i < size; ++i) {
    int first = static_cast<int>(std::floor(i * scale));
    auto part = static_cast<float>((i + 1) - (first + 1) * inverse);
    part = part <= 0 ? 0 : part - std::floor(part);
    if (first >= source - 1) {
      first = source - 1;
      part = 0;
    }
    axis.first.push_back(first);
    for (const float weight : {1.0f - part, part})
      axis.weight.push_back(static_cast<std::int32_t>(std::nearbyint(weight * (1 << kLinearBits))));
  }
  return axis;
}

bool AreaResizer::row_changed(int row, std::span<const std::uint8_t> changed) const {
  if (changed.empty()) return true;
  for (int t = 0; t < rows_.taps; ++t) {
    const int place = rows_.first[static_cast<std::size_t>(row)] + t;
    if (place < rows_.source && changed[static_cast<std::size_t>(place)] != 0) return true;
  }
  return false;
}

void AreaResizer::resize(const std::uint8_t* source, std::span<const std::uint8_t> changed, std::uint8_t* out) const {
  average_ ? average(source, changed, out) : interpolate(source, changed, out);
}

void AreaResizer::average(const std::uint8_t* source, std::span<const std::uint8_t> changed, std::uint8_t* out) const {
  for (int row = 0; row < rows_.size; ++row, out += columns_.size) {
    if (!row_changed(row, changed)) continue;
    divider_.multiplier != 0 ? average_row(source, row, out) : average_large_row(source, row, out);
  }
}

void AreaResizer::average_row(const std::uint8_t* source, int row, std::uint8_t* out) const {
  std::array<std::uint16_t, kMostSize + kRowPadding> sums;
  std::array<std::uint8_t, kMostSize + kWideLanes> means, halfway;
  bool first = true;
  for (int t = 0; t < rows_.taps; ++t) {
    const std::int32_t weight = rows_.weight[static_cast<std::size_t>(row * rows_.taps + t)];
    if (weight == 0) continue;
    const std::uint8_t* from = source + static_cast<std::size_t>(rows_.first[row] + t) * columns_.source;
    add_weighted(from, static_cast<std::uint16_t>(weight), columns_.source, first, sums.data());
    first = false;
  }
  std::fill_n(sums.data() + columns_.source, kRowPadding, 0);
  const bool any = mean_columns(taps_, sums.data(), divider_, means.data(), halfway.data());
  std::copy_n(means.begin(), columns_.size, out);
  if (!any) return;
  for (int i = 0; i < columns_.size; ++i) {
    if (halfway[static_cast<std::size_t>(i)] != 0) out[i] = halfway_mean(source, row, i);
  }
}

void AreaResizer::average_large_row(const std::uint8_t* source, int row, std::uint8_t* out) const {
  const std::uint32_t total = divider_.total;
  for (int i = 0; i < columns_.size; ++i) {
    std::uint32_t sum = total / 2;
    for (int t = 0; t < rows_.taps; ++t) {
      const auto weight = static_cast<std::uint32_t>(rows_.weight[static_cast<std::size_t>(row * rows_.taps + t)]);
      if (weight == 0) continue;
      const std::uint8_t* from = source + static_cast<std::size_t>(rows_.first[row] + t) * columns_.source;
      for (int u = 0; u < columns_.taps; ++u) {
        const auto share = static_cast<std::uint32_t>(columns_.weight[static_cast<std::size_t>(i * columns_.taps + u)]);
        if (share != 0) sum += weight * share * from[columns_.first[i] + u];
      }
    }
    const bool halfway = total % 2 == 0 && sum % total == 0;
    out[i] = halfway ? halfway_mean(source, row, i) : static_cast<std::uint8_t>(sum / total);
  }
}

// What OpenCV makes of a mean halfway between two values.
std::uint8_t AreaResizer::halfway_mean(const std::uint8_t* source, int row, int column) const {
  float sum = 0;
  int whole = 0;
  for (int t = 0; t < rows_.taps; ++t) {
    const auto row_tap = static_cast<std::size_t>(row * rows_.taps + t);
    if (rows_.weight[row_tap] == 0) continue;
    const std::uint8_t* from = source + static_cast<std::size_t>(rows_.first[row] + t) * columns_.source;
    float in_row = 0;
    for (int u = 0; u < columns_.taps; ++u) {
      const auto column_tap = static_cast<std::size_t>(column * columns_.taps + u);
      if (columns_.weight[column_tap] == 0) continue;
      const std::uint8_t value = from[columns_.first[column] + u];
      in_row += static_cast<float>(value) * columns_.fraction[column_tap];
      whole += value;
    }
    sum += rows_.fraction[row_tap] * in_row;
  }
  if (whole_scale_) {
    const int area = static_cast<int>(divider_.total);
    if (area == 4) return static_cast<std::uint8_t>((whole + 2) / 4);
    sum = static_cast<float>(whole) * (1.0f / static_cast<float>(area));
  }
  return static_cast<std::uint8_t>(std::clamp(std::nearbyint(sum), 0.0f, 255.0f));
}

void AreaResizer::interpolate(const std::uint8_t* source, std::span<const std::uint8_t> changed,
                              std::uint8_t* out) const {
  // The two source rows mixed last; neighbouring outputs share them.
  std::array<std::vector<std::int32_t>, 2> mixed;
  std::array<int, 2> held = {-1, -1};
  std::vector<std::uint8_t> padded(static_cast<std::size_t>(columns_.source + kRowPadding));
  const auto mixed_row = [&](int place) -> const std::int32_t* {
    auto& row = mixed[static_cast<std::size_t>(place % 2)];
    if (held[static_cast<std::size_t>(place % 2)] != place) {
      held[static_cast<std::size_t>(place % 2)] = place;
      row.resize(static_cast<std::size_t>(columns_.size));
      std::copy_n(source + static_cast<std::size_t>(place) * columns_.source, columns_.source, padded.begin());
      mix_columns(taps_, padded.data(), row.data());
    }
    return row.data();
  };
  for (int i = 0; i < rows_.size; ++i, out += columns_.size) {
    if (!row_changed(i, changed)) continue;
    const int first = rows_.first[i], second = std::min(first + 1, rows_.source - 1);
    mix_rows(mixed_row(first), mixed_row(second), rows_.weight[2 * i], rows_.weight[2 * i + 1], columns_.size, out);
  }
}

}  // namespace caudal::inline v0::rl
