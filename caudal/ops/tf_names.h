// TensorFlow 2 offers many functions twice: tf.add and tf.math.add, tf.einsum and tf.linalg.einsum. Here are the second
// names; nothing else.
#pragma once

#include "caudal/ops/diag_ops.h"
#include "caudal/ops/einsum.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/linalg_functions.h"
#include "caudal/ops/matmul.h"
#include "caudal/ops/reduction.h"
#include "caudal/ops/scan.h"

namespace caudal::inline v0 {

namespace math {
using v0::abs, v0::acos, v0::acosh, v0::asin, v0::asinh, v0::atan, v0::atanh, v0::ceil, v0::conj, v0::cos, v0::cosh;
using v0::accumulate_n, v0::add_n, v0::argmax, v0::argmin, v0::cumprod, v0::cumsum, v0::reduce_all, v0::reduce_any;
using v0::add, v0::atan2, v0::div_no_nan, v0::divide, v0::equal, v0::floordiv, v0::floormod, v0::greater;
using v0::erf, v0::erfc, v0::exp, v0::expm1, v0::floor, v0::is_finite, v0::is_inf, v0::is_nan, v0::log, v0::log1p;
using v0::greater_equal, v0::less, v0::less_equal, v0::logical_and, v0::logical_or, v0::logical_xor, v0::maximum;
using v0::logical_not, v0::negative, v0::reciprocal, v0::rint, v0::round, v0::rsqrt, v0::sigmoid, v0::sign, v0::sin;
using v0::minimum, v0::multiply, v0::multiply_no_nan, v0::not_equal, v0::pow, v0::squared_difference, v0::subtract;
using v0::reduce_euclidean_norm, v0::reduce_logsumexp, v0::reduce_max, v0::reduce_mean, v0::reduce_min;
using v0::reduce_prod, v0::reduce_sum;
using v0::sinh, v0::sqrt, v0::square, v0::tan, v0::tanh;
using v0::truncatediv, v0::truncatemod, v0::xdivy, v0::xlog1py, v0::xlogy;
}  // namespace math

namespace linalg {
using v0::einsum, v0::matmul, v0::tensordot;
}  // namespace linalg

}  // namespace caudal::inline v0
