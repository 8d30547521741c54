// numpy's random numbers (SeedSequence, PCG64 and what Generator makes of them), so that an environment seeded here
// begins and goes on as the same one seeded in Gymnasium.
//
// Sources: M. O'Neill, "PCG: A family of simple fast space-efficient statistically good algorithms for random number
// generation" (2014), variant XSL-RR 128/64; "Developing a seed_seq Alternative" (pcg-random.org, 2015) for the pool of
// SeedSequence; D. Lemire, "Fast random integer generation in an interval" (2019). Checked against recorded values.
// Thread safety: a NumpyRandom is a value.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/formats/coding.h"

namespace caudal::inline v0::rl {

// numpy.random.SeedSequence(seed).generate_state(count).
CAUDAL_API std::vector<std::uint32_t> seed_sequence_words(std::uint64_t seed, int count);

// A seed from the operating system.
CAUDAL_API std::uint64_t entropy_seed();

class CAUDAL_API NumpyRandom {
 public:
  explicit NumpyRandom(std::uint64_t seed = 0);

  std::uint64_t next64();
  std::uint32_t next32();  // half of a next64, as numpy splits them: low half first
  // In [0, 1), 53 bits.
  double next_double() { return static_cast<double>(next64() >> 11) * (1.0 / 9007199254740992.0); }
  // Generator.uniform(low, high).
  double uniform(double low, double high) { return low + (high - low) * next_double(); }
  // Generator.integers(low, high): low <= value < high. REQUIRES: low < high, high - low < 2^32.
  std::int64_t integers(std::int64_t low, std::int64_t high);

  void save(std::string* out) const;
  // False if the bytes do not suffice.
  bool restore(ByteReader* reader);

 private:
  __extension__ using Word128 = unsigned __int128;
  void advance();

  Word128 state_ = 0, increment_ = 1;
  bool has_half_ = false;
  std::uint32_t half_ = 0;
};

}  // namespace caudal::inline v0::rl
