// Gradients of a convolution with max-pooling behind it, from the winners of the pooling.
//
// A pooled pixel hands its gradient to one pixel of the convolution for each channel, its winner; to all others zero
// flows. So the filter's gradient for a channel is the sum of the input's patches at the winners, and the input's
// gradient the sum of the channel's filter at the same places: with windows of 2 x 2 a quarter of the work of the dense
// gradients. Winners of a band of rows are listed channel by channel; the sums of a channel stay in registers while its
// list is walked.
#include <algorithm>
#include <vector>

#include "caudal/kernels/conv2d.h"
#include "caudal/kernels/conv2d_geometry.h"
#include "caudal/kernels/conv2d_planar.h"
#include "caudal/kernels/conv2d_winners_tables.h"
#include "caudal/kernels/isa.h"
#include "caudal/kernels/pool.h"
#include "caudal/kernels/scratch.h"

namespace caudal::inline v0::kernels {
namespace {

constexpr int64_t kBandElements = 6 << 10;  // of the image for one band: stays in the first cache
constexpr int64_t kTaskWork = 1 << 17;      // multiply-adds worth a hand-over between threads
constexpr int64_t kMostParts = 8;           // partial sums of filter gradients

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

const WinnerLoops* loops() {
  const Isa isa = kernel_isa();
  return isa == Isa::kAvx512 ? &winner_loops_avx512() : isa == Isa::kAvx2 ? &winner_loops_avx2() : nullptr;
}

bool is_plain(const Conv2dShape& shape) {
  return shape.groups == 1 && shape.window.dilation_height == 1 && shape.window.dilation_width == 1;
}

// What flows back through the pooling.
struct PooledGrad {
  const float* grad;
  const uint8_t* winners;
  const float* gate;  // may be null

  float at(int64_t i) const { return gate == nullptr || gate[i] > 0 ? grad[i] : 0.0F; }
};

// The winners of some rows of pooled pixels, listed by output channel.
class WinnerLists {
 public:
  WinnerLists(const Conv2dShape& shape, const Window2d& pool, const Geometry& geometry, int64_t rows)
      : shape_(shape),
        pool_(pool),
        row_(shape.window.stride_height * geometry.row_stride),
        column_(shape.window.stride_width * shape.window.channels),
        capacity_(rows * pool.out_width()),
        places_(256),
        corners_(static_cast<std::size_t>(capacity_)),
        counts_(static_cast<std::size_t>(shape.out_channels)),
        values_(static_cast<std::size_t>(shape.out_channels * capacity_)),
        offsets_(values_.size()) {
    for (int64_t i = 0; i < pool.window_height * pool.window_width; ++i) {
      places_[static_cast<std::size_t>(i)] =
          static_cast<int32_t>(i / pool.window_width * row_ + i % pool.window_width * column_);
    }
  }

  // Pooled rows [first, last) of an image; offsets count from the patch of the convolution's pixel (first_row, 0).
  void fill(const PooledGrad& grad, int64_t image, int64_t first, int64_t last, int64_t first_row) {
    std::size_t pixels = 0;
    for (int64_t y = first; y < last; ++y) {
      for (int64_t x = 0; x < pool_.out_width(); ++x) {
        const int64_t top = y * pool_.stride_height - pool_.rows.before - first_row;
        const int64_t left = x * pool_.stride_width - pool_.columns.before;
        corners_[pixels++] = static_cast<int32_t>(top * row_ + left * column_);
      }
    }
    const int64_t at = (image * pool_.out_height() + first) * pool_.out_width() * shape_.out_channels;
    for (int64_t o = 0; o < shape_.out_channels; ++o) {
      counts_[static_cast<std::size_t>(o)] = grad.gate != nullptr ? fill_channel<true>(grad, at + o, pixels, o)
                                                                  : fill_channel<false>(grad, at + o, pixels, o);
    }
  }
  int64_t count(int64_t channel) const { return counts_[static_cast<std::size_t>(channel)]; }
  const float* values(int64_t channel) const { return values_.data() + channel * capacity_; }
  const int32_t* offsets(int64_t channel) const { return offsets_.data() + channel * capacity_; }

 private:
  // Zeros are written and then overwritten by the next, which needs no branch.
  template <bool kGated>
  int64_t fill_channel(const PooledGrad& grad, int64_t at, std::size_t pixels, int64_t channel) {
    const int64_t step = shape_.out_channels;
    const float* slope = grad.grad + at;
    const float* gate = kGated ? grad.gate + at : nullptr;
    const uint8_t* winner = grad.winners + at;
    float* values = values_.data() + channel * capacity_;
    int32_t* offsets = offsets_.data() + channel * capacity_;
    int64_t count = 0;
    for (std::size_t pixel = 0; pixel < pixels; ++pixel) {
      values[count] = *slope;
      offsets[count] = corners_[pixel] + places_[*winner];
      bool flows = *slope != 0;
      if constexpr (kGated) flows &= *gate > 0, gate += step;
      count += flows;
      slope += step, winner += step;
    }
    return count;
  }

  const Conv2dShape& shape_;
  const Window2d& pool_;
  const int64_t row_, column_;  // elements of the image between patches of neighbouring pixels
  const int64_t capacity_;
  std::vector<int32_t> places_;   // of winners: elements of the image behind the window's first patch
  std::vector<int32_t> corners_;  // of pooled pixels
  std::vector<int64_t> counts_;
  std::vector<float> values_;
  std::vector<int32_t> offsets_;
};

void add_patches(const std::vector<PatchBlock>& blocks, const PatchRows& patch, int64_t count, const float* values,
                 const int32_t* offsets, const float* image, float* sums) {
  for (const PatchBlock& block : blocks) {
    block.add(patch, count, values, offsets, image + block.row * patch.stride + block.column,
              sums + block.row * patch.padded + block.column);
  }
}

// In four chains, as one would wait for each addition.
float sum_of(const float* values, int64_t count) {
  float sums[4] = {};
  int64_t n = 0;
  for (; n + 4 <= count; n += 4) {
    for (int64_t i = 0; i < 4; ++i) sums[i] += values[n + i];
  }
  for (; n < count; ++n) sums[0] += values[n];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// What both passes know of their shapes.
class PooledConvolution {
 public:
  PooledConvolution(const WinnerLoops& loops, const Conv2dShape& shape, const Window2d& pool)
      : loops_(loops), s_(shape), w_(shape.window), p_(pool), g_(shape.window) {
    patch_.rows = w_.window_height;
    patch_.length = w_.window_width * w_.channels;
    patch_.stride = g_.row_stride;
    patch_.padded = ceil_div(patch_.length, loops.width) * loops.width;
    const int64_t wanted = kBandElements / std::max<int64_t>(1, p_.stride_height * w_.stride_height * g_.row_stride);
    band_rows_ = std::clamp<int64_t>(wanted, 1, p_.out_height());
    blocks_ = loops.blocks(patch_);
  }

 protected:
  // Rows [first, last) of the convolution that pooled rows [first, last) look at.
  std::pair<int64_t, int64_t> rows_behind(int64_t first, int64_t last) const {
    const int64_t top = std::max<int64_t>(0, first * p_.stride_height - p_.rows.before);
    const int64_t bottom = (last - 1) * p_.stride_height - p_.rows.before + p_.window_height;
    return {top, std::min(bottom, w_.out_height())};
  }
  int64_t sums_of_channel() const { return patch_.rows * patch_.padded; }
  int64_t work_of_image() const { return p_.out_height() * p_.out_width() * s_.out_channels * sums_of_channel(); }

  const WinnerLoops& loops_;
  const Conv2dShape& s_;
  const Window2d &w_, &p_;
  const Geometry g_;
  PatchRows patch_;
  std::vector<PatchBlock> blocks_;
  int64_t band_rows_;
};

class FilterGradient : PooledConvolution {
 public:
  using PooledConvolution::PooledConvolution;

  void run(ThreadPool& pool, const float* in, const PooledGrad& grad, float* filter_grad, float* bias_grad) const {
    const int64_t enough = ceil_div(w_.batch * work_of_image(), kTaskWork);
    const int64_t wanted = std::clamp<int64_t>(enough, 1, std::min(kMostParts, w_.batch));
    const int64_t grain = ceil_div(w_.batch, wanted), parts = ceil_div(w_.batch, grain);
    const int64_t part_size = ceil_div(s_.out_channels * (sums_of_channel() + 1), loops_.width) * loops_.width;
    float* sums = thread_scratch_of<float>(ScratchSlot::kPartial, static_cast<std::size_t>(parts * part_size));
    std::fill(sums, sums + parts * part_size, 0.0F);
    pool.parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        float* own = sums + part * part_size;
        add_images(in, grad, part * grain, std::min(w_.batch, (part + 1) * grain), own,
                   own + s_.out_channels * sums_of_channel());
      }
    });
    const int64_t channel_grain = 1 + (1 << 15) / (1 + parts * sums_of_channel());
    pool.parallel_for(s_.out_channels, channel_grain, [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) finish_channel(sums, parts, part_size, o, filter_grad, bias_grad);
    });
  }

 private:
  void add_images(const float* in, const PooledGrad& grad, int64_t first, int64_t last, float* sums,
                  float* bias_sums) const {
    WinnerLists lists(s_, p_, g_, band_rows_);
    for (int64_t image = first; image < last; ++image) {
      for (int64_t y = 0; y < p_.out_height(); y += band_rows_) {
        const int64_t end = std::min(p_.out_height(), y + band_rows_);
        const auto [top, bottom] = rows_behind(y, end);
        if (top >= bottom) continue;
        const float* pixels = padded_band(w_, g_, in, image, top, bottom, loops_.width);
        lists.fill(grad, image, y, end, top);
        for (int64_t o = 0; o < s_.out_channels; ++o) {
          add_patches(blocks_, patch_, lists.count(o), lists.values(o), lists.offsets(o), pixels,
                      sums + o * sums_of_channel());
          bias_sums[o] += sum_of(lists.values(o), lists.count(o));
        }
      }
    }
  }

  void finish_channel(float* sums, int64_t parts, int64_t part_size, int64_t o, float* filter_grad,
                      float* bias_grad) const {
    float* total = sums + o * sums_of_channel();
    float& bias_total = sums[s_.out_channels * sums_of_channel() + o];
    for (int64_t part = 1; part < parts; ++part) {
      const float* other = total + part * part_size;
      loops_.add(sums_of_channel(), other, total);
      bias_total += (&bias_total)[part * part_size];
    }
    for (int64_t r = 0; r < patch_.rows; ++r) {
      for (int64_t i = 0; i < patch_.length; ++i) {
        filter_grad[(r * patch_.length + i) * s_.out_channels + o] = total[r * patch_.padded + i];
      }
    }
    if (bias_grad != nullptr) bias_grad[o] = bias_total;
  }
};

// The input's gradient. What a pooled pixel hands back goes to the few pixels of the input that its window looks at;
// their sums are made in registers and added once. The window is 2 x 2, so there are four places for a winner.
class DataGradient : protected PooledConvolution {
 public:
  using PooledConvolution::PooledConvolution;

 protected:
  static constexpr int kPlaces = 4;

  // Windows of 2 x 2 that lie in the image.
  bool fits() const {
    return p_.window_height == 2 && p_.window_width == 2 && p_.rows.before == 0 && p_.columns.before == 0 &&
           (p_.out_height() - 1) * p_.stride_height + 2 <= p_.height &&
           (p_.out_width() - 1) * p_.stride_width + 2 <= p_.width;
  }
  // Elements of the padded input before the region of pooled pixel (y, x).
  int64_t corner(int64_t y, int64_t x) const {
    return y * p_.stride_height * w_.stride_height * g_.row_stride +
           x * p_.stride_width * w_.stride_width * w_.channels;
  }
  int64_t first_element(int64_t image) const { return image * p_.out_height() * p_.out_width() * s_.out_channels; }

  // Calls add(image, sums) for every image; sums are the padded input's, cleared.
  template <class Add>
  void for_images(ThreadPool& pool, float* in_grad, const float* in_gate, Add&& add) const {
    const int64_t image_size = w_.height * w_.width * w_.channels;
    const int64_t sum_size = g_.direct ? image_size : g_.height * g_.row_stride;
    const int64_t grain = ceil_div(kTaskWork, std::max<int64_t>(1, work_of_image()));
    pool.parallel_for(w_.batch, grain, [&](int64_t begin, int64_t end) {
      for (int64_t image = begin; image < end; ++image) {
        float* result = in_grad + image * image_size;
        float* sums =
            g_.direct ? result : thread_scratch_of<float>(ScratchSlot::kSlab, static_cast<std::size_t>(sum_size));
        std::fill(sums, sums + sum_size, 0.0F);
        add(image, sums);
        if (!g_.direct) crop_padding(w_, g_, sums, result);
        if (in_gate != nullptr) loops_.shut(image_size, in_gate + image * image_size, result);
      }
    });
  }
};

// For many channels: each pixel of the region is a register for one vector of channels. Weights of one vector for some
// output channels stay in the first cache while an image's pooled pixels pass.
class ManyChannelsDataGradient : DataGradient {
 public:
  ManyChannelsDataGradient(const WinnerLoops& loops, const Conv2dShape& shape, const Window2d& pool)
      : DataGradient(loops, shape, pool), taps_(shape.window.window_height * shape.window.window_width) {
    if (w_.channels % loops.width == 0) {
      spread_ = loops.spread(w_.window_height, w_.window_width, w_.stride_height, w_.stride_width);
    }
    const int64_t most = std::max<int64_t>(1, kCachedWeights / (taps_ * loops.width));
    groups_ = ceil_div(s_.out_channels, most);
  }
  bool pays() const { return spread_ != nullptr && fits(); }

  void run(ThreadPool& pool, const float* filter, const PooledGrad& grad, float* in_grad, const float* in_gate) const {
    const float* weights = weights_by_vector(filter);
    for_images(pool, in_grad, in_gate, [&](int64_t image, float* sums) {
      thread_local Lists lists;
      list_winners(lists, grad, image);
      for (int64_t vector = 0; vector < w_.channels / loops_.width; ++vector) {
        for (int64_t group = 0; group < groups_; ++group) {
          for (int64_t y = 0; y < p_.out_height(); ++y) {
            for (int64_t x = 0; x < p_.out_width(); ++x) {
              spread_(winners_of(lists, group, y * p_.out_width() + x),
                      weights + vector * s_.out_channels * taps_ * loops_.width,
                      sums + corner(y, x) + vector * loops_.width, w_.channels, g_.row_stride);
            }
          }
        }
      }
    });
  }

 private:
  static constexpr int64_t kCachedWeights = 5 << 10;

  // The winners of an image's pooled pixels: for each group of output channels, pixel and place a list.
  struct Lists {
    std::vector<float> values;
    std::vector<int32_t> filters, counts;
  };

  int64_t group_begin(int64_t group) const { return s_.out_channels * group / groups_; }
  int64_t pixels() const { return p_.out_height() * p_.out_width(); }
  int64_t list(int64_t group, int64_t pixel) const { return (group * pixels() + pixel) * kPlaces; }
  int64_t capacity() const { return ceil_div(s_.out_channels, groups_); }

  void list_winners(Lists& lists, const PooledGrad& grad, int64_t image) const {
    const auto all = static_cast<std::size_t>(list(groups_, 0));
    lists.counts.assign(all, 0);
    lists.values.resize(all * static_cast<std::size_t>(capacity()));
    lists.filters.resize(lists.values.size());
    for (int64_t pixel = 0; pixel < pixels(); ++pixel) {
      for (int64_t group = 0; group < groups_; ++group) list_pixel(lists, grad, image, group, pixel);
    }
  }
  void list_pixel(Lists& lists, const PooledGrad& grad, int64_t image, int64_t group, int64_t pixel) const {
    const int64_t at = first_element(image) + pixel * s_.out_channels;
    int32_t* counts = lists.counts.data() + list(group, pixel);
    float* values = lists.values.data() + list(group, pixel) * capacity();
    int32_t* filters = lists.filters.data() + list(group, pixel) * capacity();
    const auto filter_size = static_cast<int32_t>(taps_ * loops_.width);
    for (int64_t o = group_begin(group); o < group_begin(group + 1); ++o) {
      const int64_t place = grad.winners[at + o];
      const float value = grad.at(at + o);
      values[place * capacity() + counts[place]] = value;
      filters[place * capacity() + counts[place]] = static_cast<int32_t>(o) * filter_size;
      counts[place] += value != 0;
    }
  }
  PixelWinners winners_of(const Lists& lists, int64_t group, int64_t pixel) const {
    PixelWinners winners;
    const int64_t first = list(group, pixel);
    for (int place = 0; place < kPlaces; ++place) {
      winners.counts[place] = lists.counts[static_cast<std::size_t>(first + place)];
      winners.values[place] = lists.values.data() + (first + place) * capacity();
      winners.filters[place] = lists.filters.data() + (first + place) * capacity();
    }
    return winners;
  }

  // filter[tap][vector of channels][output channel] as [vector][output channel][tap][element].
  const float* weights_by_vector(const float* filter) const {
    float* weights =
        thread_scratch_of<float>(ScratchSlot::kPackedB, static_cast<std::size_t>(s_.patch() * s_.out_channels));
    const int64_t width = loops_.width;
    for (int64_t tap = 0; tap < taps_; ++tap) {
      for (int64_t c = 0; c < w_.channels; ++c) {
        const float* from = filter + (tap * w_.channels + c) * s_.out_channels;
        float* to = weights + ((c / width) * s_.out_channels * taps_ + tap) * width + c % width;
        for (int64_t o = 0; o < s_.out_channels; ++o) to[o * taps_ * width] = from[o];
      }
    }
    return weights;
  }

  const int64_t taps_;
  int64_t groups_;  // of output channels
  WinnerLoops::Spread spread_ = nullptr;
};

// For few channels: a row of the region is some vectors, and filters come twice, for the left and the right column of
// the window, with zeros beside them.
class FewChannelsDataGradient : DataGradient {
 public:
  FewChannelsDataGradient(const WinnerLoops& loops, const Conv2dShape& shape, const Window2d& pool)
      : DataGradient(loops, shape, pool), shift_(shape.window.stride_width * shape.window.channels) {
    rows_.rows = patch_.rows;
    rows_.length = patch_.length + shift_;
    rows_.padded = rows_.stride = ceil_div(rows_.length, loops.width) * loops.width;
    row_blocks_ = loops.blocks(rows_);
  }
  bool pays() const { return fits() && row_blocks_.size() == 1 && 2 * rows_.padded <= 3 * patch_.padded; }

  void run(ThreadPool& pool, const float* filter, const PooledGrad& grad, float* in_grad, const float* in_gate) const {
    const float* weights = shifted_weights(filter);
    for_images(pool, in_grad, in_gate, [&](int64_t image, float* sums) {
      thread_local std::vector<float> values;
      thread_local std::vector<int32_t> filters;
      values.resize(static_cast<std::size_t>(2 * s_.out_channels));
      filters.resize(values.size());
      for (int64_t y = 0; y < p_.out_height(); ++y) {
        for (int64_t x = 0; x < p_.out_width(); ++x) {
          const int64_t pixel = y * p_.out_width() + x;
          spread_pixel(weights, grad, first_element(image) + pixel * s_.out_channels, values.data(), filters.data(),
                       sums + corner(y, x));
        }
      }
    });
  }

 private:
  int64_t filter_size() const { return rows_.rows * rows_.padded; }

  const float* shifted_weights(const float* filter) const {
    const int64_t total = 2 * s_.out_channels * filter_size();
    float* weights = thread_scratch_of<float>(ScratchSlot::kPackedB, static_cast<std::size_t>(total));
    std::fill(weights, weights + total, 0.0F);
    for (int64_t r = 0; r < patch_.rows; ++r) {
      for (int64_t i = 0; i < patch_.length; ++i) {
        const float* from = filter + (r * patch_.length + i) * s_.out_channels;
        float* to = weights + r * rows_.padded + i;
        for (int64_t o = 0; o < s_.out_channels; ++o) {
          to[2 * o * filter_size()] = from[o];
          to[(2 * o + 1) * filter_size() + shift_] = from[o];
        }
      }
    }
    return weights;
  }

  // `values` and `filters` have room for the winners of the window's upper and lower row.
  void spread_pixel(const float* weights, const PooledGrad& grad, int64_t at, float* values, int32_t* filters,
                    float* corner) const {
    int64_t counts[2] = {};
    const auto size = static_cast<int32_t>(filter_size());
    for (int64_t o = 0; o < s_.out_channels; ++o) {
      const int row = grad.winners[at + o] >> 1, column = grad.winners[at + o] & 1;
      const float value = grad.at(at + o);
      values[row * s_.out_channels + counts[row]] = value;
      filters[row * s_.out_channels + counts[row]] = (2 * static_cast<int32_t>(o) + column) * size;
      counts[row] += value != 0;
    }
    const int64_t region = (rows_.rows + w_.stride_height) * rows_.padded;
    float* sums = thread_scratch_of<float>(ScratchSlot::kProduct, static_cast<std::size_t>(region));
    std::fill(sums, sums + region, 0.0F);
    for (int row = 0; row < 2; ++row) {
      add_patches(row_blocks_, rows_, counts[row], values + row * s_.out_channels, filters + row * s_.out_channels,
                  weights, sums + row * w_.stride_height * rows_.padded);
    }
    for (int64_t r = 0; r < rows_.rows + w_.stride_height; ++r) {
      loops_.add(rows_.length, sums + r * rows_.padded, corner + r * g_.row_stride);
    }
  }

  const int64_t shift_;  // elements of the input between the window's columns
  PatchRows rows_;
  std::vector<PatchBlock> row_blocks_;
};

std::vector<float> whole_gradient(ThreadPool& pool, const Window2d& pool_window, const PooledGrad& grad,
                                  float* bias_grad) {
  std::vector<float> whole(static_cast<std::size_t>(pool_window.in_pixels() * pool_window.channels));
  max_pool_winners_grad(pool, pool_window, grad.grad, grad.winners, grad.gate, whole.data(), bias_grad);
  return whole;
}

}  // namespace

void conv2d_max_pool_backward_filter(ThreadPool& pool, const Conv2dShape& shape, const Window2d& pool_window,
                                     const float* in, const float* pooled_grad, const uint8_t* winners,
                                     const float* gate, float* filter_grad, float* bias_grad) {
  if (conv2d_max_pool_backward_filter_planar(pool, shape, pool_window, in, pooled_grad, winners, gate, filter_grad,
                                             bias_grad)) {
    return;
  }
  const PooledGrad grad{pooled_grad, winners, gate};
  const WinnerLoops* fast = loops();
  if (fast != nullptr && is_plain(shape)) {
    return FilterGradient(*fast, shape, pool_window).run(pool, in, grad, filter_grad, bias_grad);
  }
  const std::vector<float> whole = whole_gradient(pool, pool_window, grad, bias_grad);
  conv2d_backward_filter(pool, DType::kFloat, shape, in, whole.data(), filter_grad);
}

void conv2d_max_pool_backward_data(ThreadPool& pool, const Conv2dShape& shape, const Window2d& pool_window,
                                   const float* filter, const float* pooled_grad, const uint8_t* winners,
                                   const float* gate, float* in_grad, const float* in_gate) {
  const PooledGrad grad{pooled_grad, winners, gate};
  const WinnerLoops* fast = loops();
  if (fast != nullptr && is_plain(shape)) {
    const ManyChannelsDataGradient many(*fast, shape, pool_window);
    if (many.pays()) return many.run(pool, filter, grad, in_grad, in_gate);
    const FewChannelsDataGradient few(*fast, shape, pool_window);
    if (few.pays()) return few.run(pool, filter, grad, in_grad, in_gate);
  }
  const std::vector<float> whole = whole_gradient(pool, pool_window, grad, nullptr);
  conv2d_backward_data(pool, DType::kFloat, shape, filter, whole.data(), in_grad, in_gate);
}

}  // namespace caudal::inline v0::kernels
