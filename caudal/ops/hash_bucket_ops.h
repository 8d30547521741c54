// Strings to numbers of buckets, by the hash functions that TensorFlow uses.
//
// Thread safety: as building a graph.
#pragma once

#include <array>
#include <cstdint>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0 {

// For each string a number in [0, num_buckets), int64: FarmHash's fingerprint modulo the number of buckets.
CAUDAL_API Output string_to_hash_bucket_fast(const Operand& input, std::int64_t num_buckets,
                                             const OpOptions& options = {});
// By SipHash-2-4 with a key of two numbers: nobody can make strings that meet in a bucket without knowing it.
CAUDAL_API Output string_to_hash_bucket_strong(const Operand& input, std::int64_t num_buckets,
                                               const std::array<std::int64_t, 2>& key, const OpOptions& options = {});

namespace raw_ops {
// By the hash function of TensorFlow's first version.
CAUDAL_API Output string_to_hash_bucket(const Operand& string_tensor, std::int64_t num_buckets,
                                        const OpOptions& options = {});
}  // namespace raw_ops

}  // namespace caudal::inline v0
