#include "caudal/rl/screen_reducer.h"

#include <algorithm>
#include <cstring>
#include <mutex>

namespace caudal::inline v0::rl {
namespace {

constexpr std::uint8_t kAllBlocks = 0xff;

std::uint8_t brighter(const Palette& palette, Brighter rule, std::size_t a, std::size_t b) {
  const auto channel = [&](std::size_t i) { return std::max(palette.rgb[a][i], palette.rgb[b][i]); };
  switch (rule) {
    case Brighter::kGrayOfMaximum:
      return gray_of(channel(0), channel(1), channel(2));
    case Brighter::kMaximumOfGray:
      return std::max(palette.gray[a], palette.gray[b]);
    default:
      return channel(static_cast<std::size_t>(rule) - static_cast<std::size_t>(Brighter::kRed));
  }
}

// One table for all environments with these colours, so that many of them share a cache.
std::shared_ptr<const BrighterTable> table_of(const Palette& palette, Brighter rule) {
  struct Entry {
    Palette palette;
    Brighter rule;
    std::shared_ptr<const BrighterTable> table;
  };
  static std::mutex mutex;
  static auto* entries = new std::vector<Entry>;
  const std::lock_guard lock(mutex);
  for (const Entry& entry : *entries) {
    if (entry.rule == rule && entry.palette.rgb == palette.rgb && entry.palette.gray == palette.gray)
      return entry.table;
  }
  auto table = std::make_shared<BrighterTable>();
  for (std::size_t a = 0; a < 256; ++a) {
    for (std::size_t b = 0; b < 256; ++b) table->pairs[256 * a + b] = brighter(palette, rule, a, b);
    table->single[a] = table->pairs[257 * a];
  }
  entries->push_back({palette, rule, table});
  return table;
}

}  // namespace

ScreenReducer::ScreenReducer(const Palette& palette, Brighter rule, int height, int width)
    : table_(table_of(palette, rule)),
      resizer_(kScreenHeight, kScreenWidth, height, width),
      picture_(static_cast<std::size_t>(height) * static_cast<std::size_t>(width)) {
  changed_.fill(kAllBlocks);
}

void ScreenReducer::take(const std::uint8_t* screen, Screen& into) {
  for (std::size_t row = 0; row < kScreenHeight; ++row) {
    const std::uint8_t* from = screen + row * kScreenWidth;
    std::uint8_t* to = into.data() + row * kScreenWidth;
    for (int block = 0; block < kBlocks; ++block, from += kBlock, to += kBlock) {
      if (std::memcmp(from, to, kBlock) == 0) continue;
      std::memcpy(to, from, kBlock);
      changed_[row] |= static_cast<std::uint8_t>(1 << block);
    }
  }
}

void ScreenReducer::take_last(const std::uint8_t* screen) {
  take(screen, later_);
  update();
}

void ScreenReducer::take_only(const std::uint8_t* screen) {
  take(screen, earlier_);
  take(screen, later_);
  update();
}

void ScreenReducer::update() {
  for (int row = 0; row < kScreenHeight; ++row) {
    if (changed_[static_cast<std::size_t>(row)] != 0) update_row(row);
  }
  resizer_.resize(values_.data(), changed_, picture_.data());
  changed_.fill(0);
}

void ScreenReducer::update_row(int row) {
  const std::size_t begin = static_cast<std::size_t>(row) * kScreenWidth;
  for (int block = 0; block < kBlocks; ++block) {
    if ((changed_[static_cast<std::size_t>(row)] >> block & 1) == 0) continue;
    const std::size_t at = begin + static_cast<std::size_t>(block) * kBlock;
    const std::uint8_t *a = earlier_.data() + at, *b = later_.data() + at;
    std::uint8_t* out = values_.data() + at;
    if (std::memcmp(a, b, kBlock) == 0) {
      for (int x = 0; x < kBlock; ++x) out[x] = table_->single[a[x]];
    } else {
      for (int x = 0; x < kBlock; ++x) out[x] = table_->pairs[256 * std::size_t{a[x]} + b[x]];
    }
  }
}

void ScreenReducer::set_picture(std::span<const std::uint8_t> picture) {
  std::ranges::copy(picture, picture_.begin());
  changed_.fill(kAllBlocks);
}

void ScreenReducer::restart(const std::uint8_t* last_screen) {
  std::memcpy(later_.data(), last_screen, later_.size());
  changed_.fill(kAllBlocks);
}

}  // namespace caudal::inline v0::rl
