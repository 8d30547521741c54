// Hash functions of bytes that are the same everywhere and for ever.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string_view>

namespace caudal::inline v0 {

// MurmurHash64A (Austin Appleby, public domain) with TensorFlow's seed.
std::uint64_t murmur_hash(std::string_view bytes);
// FarmHash's Fingerprint64 (Geoff Pike, Google 2014).
std::uint64_t farm_fingerprint(std::string_view bytes);
// SipHash-2-4 (Aumasson and Bernstein 2012) with a key of 128 bits.
std::uint64_t sip_hash(std::string_view bytes, std::uint64_t key0, std::uint64_t key1);

}  // namespace caudal::inline v0
