// Distributions whose numbers cost an unknown number of draws: every output has its own stretch of the Philox stream,
// so that results depend neither on the order nor on the number of threads.
//
// Thread safety: values; fills may share the pool.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "caudal/base/error.h"
#include "caudal/base/philox.h"
#include "caudal/base/thread_pool.h"
#include "caudal/tensor/shape.h"

namespace caudal::inline v0 {

// Doubles of one stream, which come in pairs of which TensorFlow takes the second first.
template <std::array<double, 2> (*pair_of)(const PhiloxRandom::Sample&)>
class PairedDraws {
 public:
  double operator()(PhiloxRandom& generator) {
    if (left_ == 0) {
      pair_ = pair_of(generator());
      left_ = 2;
    }
    return pair_[static_cast<std::size_t>(--left_)];
  }

 private:
  std::array<double, 2> pair_{};
  int left_ = 0;
};

inline std::array<double, 2> uniform_pair(const PhiloxRandom::Sample& x) {
  return {uniform_double(x[0], x[1]), uniform_double(x[2], x[3])};
}
using UniformDraws = PairedDraws<uniform_pair>;
using NormalDraws = PairedDraws<box_muller_double>;

// Outputs [samples, parameters]: calls draw(parameter, generator, output) for each, where output number p * samples + s
// belongs to sample s of parameter p and `generator` stands at its stretch of `stride` samples of 128 bits.
template <class Draw>
void for_each_draw(ThreadPool& pool, std::int64_t parameters, std::int64_t samples, std::uint64_t stride,
                   const PhiloxRandom& generator, const Draw& draw) {
  pool.parallel_for(parameters * samples, 128, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      PhiloxRandom own = generator;
      own.skip(stride * static_cast<std::uint64_t>(i));
      draw(i / samples, own, i % samples * parameters + i / samples);
    }
  });
}

// Throws INVALID_ARGUMENT unless `shape` ends with `parameters`.
inline void check_ends_with(const Shape& shape, const Shape& parameters) {
  const int extra = shape.rank() - parameters.rank();
  if (extra >= 0 && std::ranges::equal(shape.dims().subspan(static_cast<std::size_t>(extra)), parameters.dims())) {
    return;
  }
  throw invalid_argument("the shape ", shape, " must end with that of the parameters, ", parameters);
}

// shape + parameters: of outputs that are `shape` for each parameter.
inline Shape joined_shape(const Shape& shape, const Shape& parameters) {
  std::vector<std::int64_t> dims = shape.to_vector();
  dims.insert(dims.end(), parameters.dims().begin(), parameters.dims().end());
  return Shape(dims);
}
inline PartialShape joined_shape(const PartialShape& shape, const PartialShape& parameters) {
  if (!shape.has_rank() || !parameters.has_rank()) return PartialShape::unknown();
  std::vector<std::int64_t> dims = shape.dims();
  dims.insert(dims.end(), parameters.dims().begin(), parameters.dims().end());
  return PartialShape(std::move(dims));
}

// Offsets of a parameter's elements for each element of the batch.
inline std::vector<std::int64_t> broadcast_offsets(const Shape& parameter, const Shape& batch) {
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(batch.num_elements()), 0);
  const auto strides = parameter.strides();
  std::int64_t inner = 1;
  for (int d = batch.rank() - 1; d >= 0; inner *= batch[d--]) {
    const int own = d - (batch.rank() - parameter.rank());
    if (own < 0 || parameter[own] == 1) continue;
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      offsets[i] += static_cast<std::int64_t>(i) / inner % batch[d] * strides[static_cast<std::size_t>(own)];
    }
  }
  return offsets;
}

}  // namespace caudal::inline v0
