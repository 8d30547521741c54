// Complex numbers and their parts.
// complex64 goes with float32, complex128 with float64. Thread safety: as building a graph.
#pragma once

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0 {

// real + imag * i, broadcast. Both float32 or both float64.
CAUDAL_API Output complex(const Operand& real, const Operand& imag, const OpOptions& options = {});

namespace math {
// The parts of complex numbers. Real numbers: themselves, and zeros.
CAUDAL_API Output real(const Operand& input, const OpOptions& options = {});
CAUDAL_API Output imag(const Operand& input, const OpOptions& options = {});
// The angle to the positive real axis, in (-pi, pi]; 0 or pi of real numbers.
CAUDAL_API Output angle(const Operand& input, const OpOptions& options = {});
}  // namespace math

namespace raw_ops {
// |x|, without overflow on the way.
CAUDAL_API Output complex_abs(const Operand& x, const OpOptions& options = {});
}  // namespace raw_ops

}  // namespace caudal::inline v0
