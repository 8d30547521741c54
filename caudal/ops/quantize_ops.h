// Floats as quantised integers, and back.
//
// Modes: MIN_COMBINED (the range is spread over all integers), MIN_FIRST (the same, with 0 exact), SCALED (0 stays 0).
// min_range, max_range: scalars, or with `axis` vectors of one entry for each slice. The range used may be a little
// larger: it contains 0 and is at least ensure_minimum_range times the greater bound wide. Errors: INVALID_ARGUMENT for
// shapes that do not fit and min_range > max_range. Thread safety: as building a graph.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0::quantization {

struct Quantized {
  Output output, output_min, output_max;  // integers, and what the least and the greatest of them stand for
};
struct QuantizeOptions {
  std::string mode = "MIN_COMBINED";
  std::string round_mode = "HALF_AWAY_FROM_ZERO";  // or, with SCALED, "HALF_TO_EVEN"
  std::string name = {};
  bool narrow_range = false;
  std::int64_t axis = -1;
  float ensure_minimum_range = 0.01F;
  std::source_location where = std::source_location::current();
};
// input: float32; dtype: kQint8, kQuint8, kQint16, kQuint16 or kQint32. Values outside the range become its ends.
CAUDAL_API Quantized quantize(const Operand& input, const Operand& min_range, const Operand& max_range, DType dtype,
                              const QuantizeOptions& options = {});

struct DequantizeOptions {
  std::string mode = "MIN_COMBINED";
  std::string name = {};
  std::int64_t axis = -1;
  bool narrow_range = false;
  DType dtype = DType::kFloat;  // or, with MIN_COMBINED, bfloat16
  std::source_location where = std::source_location::current();
};
CAUDAL_API Output dequantize(const Operand& input, const Operand& min_range, const Operand& max_range,
                             const DequantizeOptions& options = {});

}  // namespace caudal::inline v0::quantization
