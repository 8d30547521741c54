// Values rounded as if they were quantised, and given back as floating point numbers, with a range that keeps 0 in its
// place: the scale is the largest that fits the range on both sides.
//
// float32, float64. input_min, input_max: scalars, or with `axis` vectors of one entry for each slice. Errors:
// INVALID_ARGUMENT for num_bits outside [1, 61] (62 unsigned), an axis outside, a range with min > max. Thread safety:
// as building a graph.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0::quantization {

struct QuantizeAndDequantizeOptions {
  bool signed_input = true;
  std::int64_t num_bits = 8;
  bool range_given = false;                 // false: the range is that of the values
  std::string round_mode = "HALF_TO_EVEN";  // or "HALF_UP"
  std::string name = {};
  bool narrow_range = false;  // -127 .. 127 instead of -128 .. 127
  std::int64_t axis = -1;
  std::source_location where = std::source_location::current();
};

// The gradient passes as if nothing had been rounded or clamped.
CAUDAL_API Output quantize_and_dequantize(const Operand& input, const Operand& input_min, const Operand& input_max,
                                          const QuantizeAndDequantizeOptions& options = {});
// The gradient passes where values lay within [input_min, input_max].
CAUDAL_API Output quantize_and_dequantize_v2(const Operand& input, const Operand& input_min, const Operand& input_max,
                                             const QuantizeAndDequantizeOptions& options = {});

}  // namespace caudal::inline v0::quantization
