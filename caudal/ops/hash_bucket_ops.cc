#include "caudal/ops/hash_bucket_ops.h"

#include <vector>

#include "caudal/core/kernel.h"
#include "caudal/core/shape_context.h"
#include "caudal/ops/string_hash.h"

namespace caudal::inline v0 {
namespace {

template <class Hash>
void run_buckets(RunContext& c, const Hash& hash) {
  const auto buckets = static_cast<std::uint64_t>(c.node().attr<std::int64_t>("num_buckets"));
  const Tensor& input = c.input(0);
  auto* out = c.allocate_output(0, input.shape()).data<std::int64_t>();
  for (const std::string& text : input.flat<std::string>()) *out++ = static_cast<std::int64_t>(hash(text) % buckets);
}

void run_first(RunContext& c) { run_buckets(c, murmur_hash); }
void run_fast(RunContext& c) { run_buckets(c, farm_fingerprint); }

void run_strong(RunContext& c) {
  const auto& key = c.node().attr<std::vector<std::int64_t>>("key");
  if (key.size() != 2) throw invalid_argument("Key must have 2 elements");
  const auto key0 = static_cast<std::uint64_t>(key[0]), key1 = static_cast<std::uint64_t>(key[1]);
  run_buckets(c, [&](std::string_view text) { return sip_hash(text, key0, key1); });
}

}  // namespace

// ---- Registrations

CAUDAL_REGISTER_OP({.name = "StringToHashBucket",
                    .inputs = "string_tensor: string",
                    .outputs = "output: int64",
                    .attrs = "num_buckets: int >= 1",
                    .shape = unchanged_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_first>});

CAUDAL_REGISTER_OP({.name = "StringToHashBucketFast",
                    .inputs = "input: string",
                    .outputs = "output: int64",
                    .attrs = "num_buckets: int >= 1",
                    .shape = unchanged_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_fast>});

CAUDAL_REGISTER_OP({.name = "StringToHashBucketStrong",
                    .inputs = "input: string",
                    .outputs = "output: int64",
                    .attrs = "num_buckets: int >= 1; key: list(int)",
                    .shape = unchanged_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_strong>});

// ---- Public functions

Output string_to_hash_bucket_fast(const Operand& input, std::int64_t num_buckets, const OpOptions& options) {
  return OpBuilder("StringToHashBucketFast", options).input(input).attr("num_buckets", num_buckets).build();
}

Output string_to_hash_bucket_strong(const Operand& input, std::int64_t num_buckets,
                                    const std::array<std::int64_t, 2>& key, const OpOptions& options) {
  OpBuilder builder("StringToHashBucketStrong", options);
  builder.input(input).attr("num_buckets", num_buckets);
  return builder.attr("key", std::vector<std::int64_t>(key.begin(), key.end())).build();
}

Output raw_ops::string_to_hash_bucket(const Operand& string_tensor, std::int64_t num_buckets,
                                      const OpOptions& options) {
  return OpBuilder("StringToHashBucket", options).input(string_tensor).attr("num_buckets", num_buckets).build();
}

}  // namespace caudal::inline v0
