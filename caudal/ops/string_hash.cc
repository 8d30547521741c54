#include "caudal/ops/string_hash.h"

#include <bit>
#include <cstring>
#include <utility>

namespace caudal::inline v0 {
namespace {

using U64 = std::uint64_t;

constexpr U64 k0 = 0xc3a5c85c97cb3127ULL, k1 = 0xb492b66fbe98f273ULL, k2 = 0x9ae16a3b2f90404fULL;

template <class T>
U64 fetch(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}
U64 word(const char* at) { return fetch<U64>(at); }
U64 right(U64 value, int shift) { return std::rotr(value, shift); }
U64 mixed(U64 value) { return value ^ (value >> 47); }

U64 hash_pair(U64 u, U64 v, U64 mul) {
  const U64 a = mixed((u ^ v) * mul);
  return mixed((v ^ a) * mul) * mul;
}

U64 hash_to_16(const char* s, std::size_t n) {
  const U64 mul = k2 + n * 2;
  if (n >= 8) {
    const U64 a = word(s) + k2, b = word(s + n - 8);
    return hash_pair(right(b, 37) * mul + a, (right(a, 25) + b) * mul, mul);
  }
  if (n >= 4) return hash_pair(n + (fetch<std::uint32_t>(s) << 3), fetch<std::uint32_t>(s + n - 4), mul);
  if (n == 0) return k2;
  const U64 first = fetch<std::uint8_t>(s), middle = fetch<std::uint8_t>(s + n / 2);
  const U64 last = fetch<std::uint8_t>(s + n - 1);
  return mixed(((first + (middle << 8)) * k2) ^ ((n + (last << 2)) * k0)) * k2;
}

U64 hash_to_32(const char* s, std::size_t n) {
  const U64 mul = k2 + n * 2;
  const U64 a = word(s) * k1, b = word(s + 8), c = word(s + n - 8) * mul, d = word(s + n - 16) * k2;
  return hash_pair(right(a + b, 43) + right(c, 30) + d, a + right(b + k2, 18) + c, mul);
}

U64 hash_to_64(const char* s, std::size_t n) {
  const U64 mul = k2 + n * 2;
  const U64 a = word(s) * k2, b = word(s + 8), c = word(s + n - 8) * mul, d = word(s + n - 16) * k2;
  const U64 y = right(a + b, 43) + right(c, 30) + d;
  const U64 z = hash_pair(y, a + right(b + k2, 18) + c, mul);
  const U64 e = word(s + 16) * mul, f = word(s + 24);
  const U64 g = (y + word(s + n - 32)) * mul, h = (z + word(s + n - 24)) * mul;
  return hash_pair(right(e + f, 43) + right(g, 30) + h, e + right(f + a, 18) + g, mul);
}

using Pair = std::pair<U64, U64>;
Pair weak_hash(const char* s, U64 a, U64 b) {
  a += word(s);
  b = right(b + a + word(s + 24), 21);
  const U64 c = a;
  a += word(s + 8) + word(s + 16);
  b += right(a, 44);
  return {a + word(s + 24), b + c};
}

}  // namespace

std::uint64_t farm_fingerprint(std::string_view bytes) {
  const char* s = bytes.data();
  const std::size_t n = bytes.size();
  if (n <= 16) return hash_to_16(s, n);
  if (n <= 32) return hash_to_32(s, n);
  if (n <= 64) return hash_to_64(s, n);
  constexpr U64 kSeed = 81;
  U64 x = kSeed * k2 + word(s), y = kSeed * k1 + 113, z = mixed(y * k2 + 113) * k2;
  Pair v{0, 0}, w{0, 0};
  const char* const end = s + (n - 1) / 64 * 64;
  const char* const last = end + ((n - 1) & 63) - 63;
  for (; s != end; s += 64) {
    x = right(x + y + v.first + word(s + 8), 37) * k1;
    y = right(y + v.second + word(s + 48), 42) * k1;
    x ^= w.second;
    y += v.first + word(s + 40);
    z = right(z + w.first, 33) * k1;
    v = weak_hash(s, v.second * k1, x + w.first);
    w = weak_hash(s + 32, z + w.second, y + word(s + 16));
    std::swap(z, x);
  }
  const U64 mul = k1 + ((z & 0xff) << 1);
  s = last;
  w.first += (n - 1) & 63;
  v.first += w.first;
  w.first += v.first;
  x = right(x + y + v.first + word(s + 8), 37) * mul;
  y = right(y + v.second + word(s + 48), 42) * mul;
  x ^= w.second * 9;
  y += v.first * 9 + word(s + 40);
  z = right(z + w.first, 33) * mul;
  v = weak_hash(s, v.second * mul, x + w.first);
  w = weak_hash(s + 32, z + w.second, y + word(s + 16));
  std::swap(z, x);
  return hash_pair(hash_pair(v.first, w.first, mul) + mixed(y) * k0 + z, hash_pair(v.second, w.second, mul) + x, mul);
}

std::uint64_t murmur_hash(std::string_view bytes) {
  constexpr U64 kSeed = 0xDECAFCAFFEULL, kMix = 0xc6a4a7935bd1e995ULL;
  constexpr int kShift = 47;
  U64 hash = kSeed ^ (bytes.size() * kMix);
  for (; bytes.size() >= 8; bytes.remove_prefix(8)) {
    U64 value = word(bytes.data()) * kMix;
    value = (value ^ (value >> kShift)) * kMix;
    hash = (hash ^ value) * kMix;
  }
  if (!bytes.empty()) {
    U64 rest = 0;
    std::memcpy(&rest, bytes.data(), bytes.size());
    hash = (hash ^ rest) * kMix;
  }
  hash = (hash ^ (hash >> kShift)) * kMix;
  return hash ^ (hash >> kShift);
}

std::uint64_t sip_hash(std::string_view bytes, std::uint64_t key0, std::uint64_t key1) {
  U64 v0 = key0 ^ 0x736f6d6570736575ULL, v1 = key1 ^ 0x646f72616e646f6dULL;
  U64 v2 = key0 ^ 0x6c7967656e657261ULL, v3 = key1 ^ 0x7465646279746573ULL;
  const auto rounds = [&](int count) {
    for (int i = 0; i < count; ++i) {
      v0 += v1, v2 += v3;
      v1 = std::rotl(v1, 13) ^ v0, v3 = std::rotl(v3, 16) ^ v2;
      v0 = std::rotl(v0, 32);
      v2 += v1, v0 += v3;
      v1 = std::rotl(v1, 17) ^ v2, v3 = std::rotl(v3, 21) ^ v0;
      v2 = std::rotl(v2, 32);
    }
  };
  const auto take = [&](U64 value) {
    v3 ^= value;
    rounds(2);
    v0 ^= value;
  };
  const U64 last = static_cast<U64>(bytes.size()) << 56;
  for (; bytes.size() >= 8; bytes.remove_prefix(8)) take(word(bytes.data()));
  U64 rest = 0;
  if (!bytes.empty()) std::memcpy(&rest, bytes.data(), bytes.size());
  take(last | rest);
  v2 ^= 0xff;
  rounds(4);
  return v0 ^ v1 ^ v2 ^ v3;
}

}  // namespace caudal::inline v0
