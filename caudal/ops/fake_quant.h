// Quantisation played through in floating point, for training that knows of it: values are clamped to a range, rounded
// to 2^num_bits steps and given back as floats. The gradient passes where a value was inside the range; what was
// outside goes to min and max.
//
// The range is moved so that 0 is exactly one of the steps ("Quantization and Training of Neural Networks for Efficient
// Integer-Arithmetic-Only Inference", Jacob et al. 2018, and TensorFlow's kernel). num_bits: 2 to 16; narrow_range: the
// lowest step is not used. float32. Thread safety: as building a graph.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0 {

namespace quantization {

struct FakeQuantArgsOptions {
  float min = -6;
  float max = 6;
  std::int64_t num_bits = 8;
  bool narrow_range = false;
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// With a range written down here. INVALID_ARGUMENT unless min < max.
CAUDAL_API Output fake_quant_with_min_max_args(const Operand& inputs, const FakeQuantArgsOptions& options = {});

struct FakeQuantOptions {
  std::int64_t num_bits = 8;
  bool narrow_range = false;
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// min, max: scalars, usually variables. All zero where both are 0.
CAUDAL_API Output fake_quant_with_min_max_vars(const Operand& inputs, const Operand& min, const Operand& max,
                                               const FakeQuantOptions& options = {});
// inputs [.., channels]; min, max [channels].
CAUDAL_API Output fake_quant_with_min_max_vars_per_channel(const Operand& inputs, const Operand& min,
                                                           const Operand& max, const FakeQuantOptions& options = {});

}  // namespace quantization
}  // namespace caudal::inline v0
