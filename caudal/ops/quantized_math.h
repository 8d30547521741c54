// Arithmetic on quantised integers, each tensor with the range it stands for (min, max: float32 scalars; MIN_FIRST's
// meaning, see quantize_ops.h).
//
// Errors: INVALID_ARGUMENT for shapes that do not fit and for empty ranges in quantized_mat_mul. Thread safety: as
// building a graph.
#pragma once

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"
#include "caudal/ops/quantize_ops.h"

namespace caudal::inline v0::quantization {

// a, b: quint8 matrices. Gives qint32, exact, and its range.
CAUDAL_API Quantized quantized_mat_mul(const Operand& a, const Operand& b, const Operand& min_a, const Operand& max_a,
                                       const Operand& min_b, const Operand& max_b, bool transpose_a = false,
                                       bool transpose_b = false, const OpOptions& options = {});
// quint8 or qint32, of the same type; the range does not change.
CAUDAL_API Quantized quantized_relu(const Operand& features, const Operand& min_features, const Operand& max_features,
                                    const OpOptions& options = {});
// The range of the values that qint32 `input` has, with 0 inside.
struct QuantizedRange {
  Output output_min, output_max;
};
CAUDAL_API QuantizedRange requantization_range(const Operand& input, const Operand& input_min, const Operand& input_max,
                                               const OpOptions& options = {});
// qint32 to quint8 or qint8 over another range; values outside become its ends.
CAUDAL_API Quantized requantize(const Operand& input, const Operand& input_min, const Operand& input_max,
                                const Operand& requested_output_min, const Operand& requested_output_max,
                                DType out_type = DType::kQuint8, const OpOptions& options = {});

}  // namespace caudal::inline v0::quantization
