// What the kernels of stateful and stateless random ops share: from a place in a Philox stream to a tensor.
//
// Thread safety: functions of their arguments; the memory written is the caller's.
#pragma once

#include <cstdint>
#include <vector>

#include "caudal/base/philox.h"
#include "caudal/base/thread_pool.h"
#include "caudal/core/kernel.h"
#include "caudal/core/shape_context.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0 {

enum class Distribution {
  kUniform,         // [0, 1); half, bfloat16, float, double
  kNormal,          // mean 0, standard deviation 1; the same types
  kTruncatedNormal  // values more than two standard deviations from 0 are drawn again; the same types
};
// Throws UNIMPLEMENTED for another type.
void fill_random(ThreadPool& pool, Distribution distribution, const PhiloxRandom& generator, Tensor& out);
// [minval, maxval) of the type of `out`: int32 or int64. REQUIRES: check_bounds() and check_range() passed.
void fill_random_int(ThreadPool& pool, const PhiloxRandom& generator, const Tensor& minval, const Tensor& maxval,
                     Tensor& out);
// Throws INVALID_ARGUMENT unless both are scalars.
void check_bounds(const Tensor& minval, const Tensor& maxval);
// Throws INVALID_ARGUMENT unless minval < maxval (TensorFlow asks only where a number is drawn).
void check_range(const Tensor& minval, const Tensor& maxval);
// All bits random: int32, int64, uint32, uint64.
void fill_random_bits(ThreadPool& pool, const PhiloxRandom& generator, Tensor& out);

// Classes drawn by unnormalised log probabilities [batch, classes]; out: int32 or int64 [batch, samples].
void fill_multinomial(ThreadPool& pool, const PhiloxRandom& generator, const Tensor& logits, Tensor& out);
// The shape of fill_multinomial's result. Throws INVALID_ARGUMENT for arguments that it does not take.
Shape multinomial_output(const Tensor& logits, const Tensor& num_samples);
// The shape function of inputs logits, num_samples.
PartialShape multinomial_shape_of(ShapeContext& c);

// in with its rows in random order; needs shuffle_samples(in) samples of the generator.
void shuffle_rows(const PhiloxRandom& generator, const Tensor& in, Tensor& out);
std::uint64_t shuffle_samples(const Tensor& in);

// --- Stateless ops ---

// The generator that input `i`, a seed of two numbers, stands for. Throws INVALID_ARGUMENT.
PhiloxRandom generator_of_seed(const RunContext& c, int i);
// The generator of inputs key, counter, alg at `first` and the next. Throws INVALID_ARGUMENT.
PhiloxRandom generator_of_key(const RunContext& c, int first);
// Shape checks of such inputs.
void check_seed_shape(ShapeContext& c, int i);
void check_key_shape(ShapeContext& c, int first);

// counter and key as two and one 64-bit numbers, and back.
void write_counter(const PhiloxRandom& generator, std::uint64_t* counter);
std::uint64_t key_of(const PhiloxRandom& generator);
PhiloxRandom philox_from(const std::uint64_t* counter, std::uint64_t key);

}  // namespace caudal::inline v0
