// Special functions of several operands, which broadcast: polygamma, zeta, incomplete gamma and beta functions; and
// comparisons of neighbouring numbers.
//
// float and double; computed in double. Outside the domain the result is NaN. Thread safety: as building a graph.
#pragma once

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0::math {

// The a-th derivative of digamma at x; a a whole number, not negative. Differentiable by x.
CAUDAL_API Output polygamma(const Operand& a, const Operand& x, const OpOptions& options = {});
// Hurwitz' zeta function, the sum of (k + q)^-x over k >= 0, for x > 1. Differentiable by q.
CAUDAL_API Output zeta(const Operand& x, const Operand& q, const OpOptions& options = {});
// The lower incomplete gamma function over gamma(a), and 1 less that. a > 0, x >= 0.
CAUDAL_API Output igamma(const Operand& a, const Operand& x, const OpOptions& options = {});
CAUDAL_API Output igammac(const Operand& a, const Operand& x, const OpOptions& options = {});
// The regularised incomplete beta function; a, b > 0, 0 <= x <= 1. Differentiable by x.
CAUDAL_API Output betainc(const Operand& a, const Operand& b, const Operand& x, const OpOptions& options = {});
// log of the beta function of the last dimension: sum of lgamma(x) less lgamma of the sum.
CAUDAL_API Output lbeta(const Operand& x, const OpOptions& options = {});

// The next number that the type has, from x1 towards x2.
CAUDAL_API Output nextafter(const Operand& x1, const Operand& x2, const OpOptions& options = {});

}  // namespace caudal::inline v0::math

namespace caudal::inline v0 {

struct ApproximateEqualOptions {
  float tolerance = 1e-5F;
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// |x - y| < tolerance, as bool. One shape; any number type.
CAUDAL_API Output approximate_equal(const Operand& x, const Operand& y, const ApproximateEqualOptions& options = {});

namespace raw_ops {
// The derivative of igamma by a.
CAUDAL_API Output igamma_grad_a(const Operand& a, const Operand& x, const OpOptions& options = {});
}  // namespace raw_ops

}  // namespace caudal::inline v0
