#include "caudal/rl/numpy_random.h"

#include <array>
#include <bit>
#include <random>

namespace caudal::inline v0::rl {
namespace {

constexpr int kPoolWords = 4;
constexpr std::uint32_t kMixLeft = 0xca01f9dd, kMixRight = 0x4973f715;
constexpr int kShift = 16;

// A hash whose constant moves on with every use.
class Hash {
 public:
  Hash(std::uint32_t initial, std::uint32_t factor) : constant_(initial), factor_(factor) {}
  std::uint32_t operator()(std::uint32_t value) {
    value ^= constant_;
    constant_ *= factor_;
    value *= constant_;
    return value ^ (value >> kShift);
  }

 private:
  std::uint32_t constant_, factor_;
};

std::uint32_t mix(std::uint32_t x, std::uint32_t y) {
  const std::uint32_t result = kMixLeft * x - kMixRight * y;
  return result ^ (result >> kShift);
}

std::array<std::uint32_t, kPoolWords> entropy_pool(std::uint64_t seed) {
  const std::array<std::uint32_t, 2> entropy = {static_cast<std::uint32_t>(seed),
                                                static_cast<std::uint32_t>(seed >> 32)};
  std::array<std::uint32_t, kPoolWords> pool;
  Hash hash(0x43b0d7e5, 0x931e8875);
  for (std::size_t i = 0; i < pool.size(); ++i) pool[i] = hash(i < entropy.size() ? entropy[i] : 0);
  for (std::size_t from = 0; from < pool.size(); ++from) {
    for (std::size_t to = 0; to < pool.size(); ++to) {
      if (from != to) pool[to] = mix(pool[to], hash(pool[from]));
    }
  }
  return pool;
}

}  // namespace

std::vector<std::uint32_t> seed_sequence_words(std::uint64_t seed, int count) {
  const auto pool = entropy_pool(seed);
  Hash hash(0x8b51f9dd, 0x58f38ded);
  std::vector<std::uint32_t> words(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = hash(pool[i % pool.size()]);
  return words;
}

std::uint64_t entropy_seed() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

NumpyRandom::NumpyRandom(std::uint64_t seed) {
  const auto words = seed_sequence_words(seed, 8);
  const auto word64 = [&](std::size_t i) { return words[2 * i] | (std::uint64_t{words[2 * i + 1]} << 32); };
  const Word128 start = (Word128{word64(0)} << 64) | word64(1);
  increment_ = (((Word128{word64(2)} << 64) | word64(3)) << 1) | 1;
  advance();
  state_ += start;
  advance();
}

void NumpyRandom::advance() {
  constexpr Word128 kFactor = (Word128{0x2360ED051FC65DA4} << 64) | 0x4385DF649FCCF645;
  state_ = state_ * kFactor + increment_;
}

std::uint64_t NumpyRandom::next64() {
  advance();
  const auto high = static_cast<std::uint64_t>(state_ >> 64), low = static_cast<std::uint64_t>(state_);
  return std::rotr(high ^ low, static_cast<int>(high >> 58));
}

std::uint32_t NumpyRandom::next32() {
  if (has_half_) {
    has_half_ = false;
    return half_;
  }
  const std::uint64_t both = next64();
  has_half_ = true;
  half_ = static_cast<std::uint32_t>(both >> 32);
  return static_cast<std::uint32_t>(both);
}

std::int64_t NumpyRandom::integers(std::int64_t low, std::int64_t high) {
  const auto count = static_cast<std::uint32_t>(high - low);
  if (count == 1) return low;  // numpy draws nothing then
  std::uint64_t product = std::uint64_t{next32()} * count;
  if (static_cast<std::uint32_t>(product) < count) {
    const std::uint32_t threshold = (0u - count) % count;
    while (static_cast<std::uint32_t>(product) < threshold) product = std::uint64_t{next32()} * count;
  }
  return low + static_cast<std::int64_t>(product >> 32);
}

void NumpyRandom::save(std::string* out) const {
  for (const Word128 word : {state_, increment_}) {
    put_fixed(out, static_cast<std::uint64_t>(word >> 64));
    put_fixed(out, static_cast<std::uint64_t>(word));
  }
  put_fixed(out, static_cast<std::uint8_t>(has_half_));
  put_fixed(out, half_);
}

bool NumpyRandom::restore(ByteReader* reader) {
  std::array<std::uint64_t, 4> words;
  for (auto& word : words) {
    if (!reader->fixed(&word)) return false;
  }
  std::uint8_t has_half;
  std::uint32_t half;
  if (!reader->fixed(&has_half) || has_half > 1 || !reader->fixed(&half)) return false;
  state_ = (Word128{words[0]} << 64) | words[1];
  increment_ = (Word128{words[2]} << 64) | words[3];
  has_half_ = has_half != 0;
  half_ = half;
  return true;
}

}  // namespace caudal::inline v0::rl
