// Functions of two operands, element by element, with numpy's broadcasting; and the operators.
//
//   Output y = (x - mean) / (stddev + 1e-6);
//
// Both operands have one type, which the result keeps where nothing else is said; a bare number takes the other
// operand's type. Shapes agree from the right, where a size of 1 (or none) repeats: [4,1,3] and [5,3] give [4,5,3].
// Shapes that cannot be broadcast are INVALID_ARGUMENT, when the node is made if they are known then. Integers wrap
// around. Thread safety: as building a graph.
#pragma once

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0 {

CAUDAL_API Output add(const Operand& x, const Operand& y, const OpOptions& options = {});  // strings: joined
CAUDAL_API Output subtract(const Operand& x, const Operand& y, const OpOptions& options = {});
CAUDAL_API Output multiply(const Operand& x, const Operand& y, const OpOptions& options = {});
// 0 where y is 0, even if x is infinite or NaN. Floating and complex types.
CAUDAL_API Output multiply_no_nan(const Operand& x, const Operand& y, const OpOptions& options = {});

// Division. Integer division by zero is INVALID_ARGUMENT (INTERNAL for the truncating forms, as in TensorFlow).
// x / y of floating or complex types; integers are cast first, as Python 3 divides: int8, int16 and their unsigned
// forms to float32, larger ones to float64.
CAUDAL_API Output divide(const Operand& x, const Operand& y, const OpOptions& options = {});
// x / y; of integers the quotient, rounded towards zero.
CAUDAL_API Output div(const Operand& x, const Operand& y, const OpOptions& options = {});
CAUDAL_API Output div_no_nan(const Operand& x, const Operand& y, const OpOptions& options = {});   // 0 where y is 0
CAUDAL_API Output floordiv(const Operand& x, const Operand& y, const OpOptions& options = {});     // rounded down
CAUDAL_API Output floormod(const Operand& x, const Operand& y, const OpOptions& options = {});     // sign of y
CAUDAL_API Output truncatediv(const Operand& x, const Operand& y, const OpOptions& options = {});  // towards zero
CAUDAL_API Output truncatemod(const Operand& x, const Operand& y, const OpOptions& options = {});  // sign of x

// The greater and the lesser; NaN if either is NaN. At ties the gradient goes to x.
CAUDAL_API Output maximum(const Operand& x, const Operand& y, const OpOptions& options = {});
CAUDAL_API Output minimum(const Operand& x, const Operand& y, const OpOptions& options = {});
// x to the power y. Integers to a negative power are INVALID_ARGUMENT.
CAUDAL_API Output pow(const Operand& x, const Operand& y, const OpOptions& options = {});
CAUDAL_API Output squared_difference(const Operand& x, const Operand& y, const OpOptions& options = {});
CAUDAL_API Output atan2(const Operand& y, const Operand& x, const OpOptions& options = {});
// 0 where x is 0, else x / y, x log(y), x log(1 + y).
CAUDAL_API Output xdivy(const Operand& x, const Operand& y, const OpOptions& options = {});
CAUDAL_API Output xlogy(const Operand& x, const Operand& y, const OpOptions& options = {});
CAUDAL_API Output xlog1py(const Operand& x, const Operand& y, const OpOptions& options = {});

// Comparisons, as bool. NaN equals nothing.
CAUDAL_API Output less(const Operand& x, const Operand& y, const OpOptions& options = {});
CAUDAL_API Output less_equal(const Operand& x, const Operand& y, const OpOptions& options = {});
CAUDAL_API Output greater(const Operand& x, const Operand& y, const OpOptions& options = {});
CAUDAL_API Output greater_equal(const Operand& x, const Operand& y, const OpOptions& options = {});
// Any plain type and strings.
CAUDAL_API Output equal(const Operand& x, const Operand& y, const OpOptions& options = {});
CAUDAL_API Output not_equal(const Operand& x, const Operand& y, const OpOptions& options = {});

CAUDAL_API Output logical_and(const Operand& x, const Operand& y, const OpOptions& options = {});
CAUDAL_API Output logical_or(const Operand& x, const Operand& y, const OpOptions& options = {});
CAUDAL_API Output logical_xor(const Operand& x, const Operand& y, const OpOptions& options = {});

// Bits of integers. A shift count outside [0, bits) is clamped to it.
namespace bitwise {
CAUDAL_API Output bitwise_and(const Operand& x, const Operand& y, const OpOptions& options = {});
CAUDAL_API Output bitwise_or(const Operand& x, const Operand& y, const OpOptions& options = {});
CAUDAL_API Output bitwise_xor(const Operand& x, const Operand& y, const OpOptions& options = {});
CAUDAL_API Output left_shift(const Operand& x, const Operand& y, const OpOptions& options = {});
CAUDAL_API Output right_shift(const Operand& x, const Operand& y, const OpOptions& options = {});
}  // namespace bitwise

// The operators; the node's line is that of x. `/` is divide(), `%` is floormod().
CAUDAL_API Output operator+(const Operand& x, const Operand& y);
CAUDAL_API Output operator-(const Operand& x, const Operand& y);
CAUDAL_API Output operator*(const Operand& x, const Operand& y);
CAUDAL_API Output operator/(const Operand& x, const Operand& y);
CAUDAL_API Output operator%(const Operand& x, const Operand& y);
CAUDAL_API Output operator-(const Operand& x);

namespace raw_ops {
// For shapes s0 and s1 (int32 or int64 vectors) that are broadcast together: the axes over which a gradient of the
// result is summed to get those of the two operands.
struct BroadcastGradientArgs {
  Output r0, r1;
};
CAUDAL_API BroadcastGradientArgs broadcast_gradient_args(const Operand& s0, const Operand& s1,
                                                         const OpOptions& options = {});
}  // namespace raw_ops

// The shape that two shapes (int32 or int64 vectors) have together.
CAUDAL_API Output broadcast_dynamic_shape(const Operand& shape_x, const Operand& shape_y,
                                          const OpOptions& options = {});

}  // namespace caudal::inline v0
