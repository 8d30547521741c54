// Special functions of one operand, element by element: gamma, the inverses of erf, Bessel's and other integrals.
//
// Floating types; half and bfloat16 are computed in float, all others in double and rounded once. Outside the domain
// the result is NaN. Shapes and types stay. Thread safety: as building a graph.
#pragma once

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0::math {

CAUDAL_API Output lgamma(const Operand& x, const OpOptions& options = {});   // log |gamma(x)|
CAUDAL_API Output digamma(const Operand& x, const OpOptions& options = {});  // its derivative
// The inverse of erf, and of the cumulative function of the normal distribution.
CAUDAL_API Output erfinv(const Operand& x, const OpOptions& options = {});
CAUDAL_API Output ndtri(const Operand& x, const OpOptions& options = {});
// The inverse of erfc: -ndtri(x / 2) / sqrt(2).
CAUDAL_API Output erfcinv(const Operand& x, const OpOptions& options = {});

// Modified Bessel functions of the first kind; those with e times exp(-|x|).
CAUDAL_API Output bessel_i0(const Operand& x, const OpOptions& options = {});
CAUDAL_API Output bessel_i0e(const Operand& x, const OpOptions& options = {});
CAUDAL_API Output bessel_i1(const Operand& x, const OpOptions& options = {});
CAUDAL_API Output bessel_i1e(const Operand& x, const OpOptions& options = {});

namespace special {
CAUDAL_API Output bessel_i0(const Operand& x, const OpOptions& options = {});
CAUDAL_API Output bessel_i0e(const Operand& x, const OpOptions& options = {});
CAUDAL_API Output bessel_i1(const Operand& x, const OpOptions& options = {});
CAUDAL_API Output bessel_i1e(const Operand& x, const OpOptions& options = {});
// Of the second kind; those with e times exp(x).
CAUDAL_API Output bessel_k0(const Operand& x, const OpOptions& options = {});
CAUDAL_API Output bessel_k0e(const Operand& x, const OpOptions& options = {});
CAUDAL_API Output bessel_k1(const Operand& x, const OpOptions& options = {});
CAUDAL_API Output bessel_k1e(const Operand& x, const OpOptions& options = {});
// Bessel functions of the first and second kind.
CAUDAL_API Output bessel_j0(const Operand& x, const OpOptions& options = {});
CAUDAL_API Output bessel_j1(const Operand& x, const OpOptions& options = {});
CAUDAL_API Output bessel_y0(const Operand& x, const OpOptions& options = {});
CAUDAL_API Output bessel_y1(const Operand& x, const OpOptions& options = {});

CAUDAL_API Output dawsn(const Operand& x, const OpOptions& options = {});        // exp(-x^2) int_0^x exp(t^2) dt
CAUDAL_API Output expint(const Operand& x, const OpOptions& options = {});       // int_-inf^x exp(t) / t dt
CAUDAL_API Output fresnel_cos(const Operand& x, const OpOptions& options = {});  // int_0^x cos(pi t^2 / 2) dt
CAUDAL_API Output fresnel_sin(const Operand& x, const OpOptions& options = {});
CAUDAL_API Output spence(const Operand& x, const OpOptions& options = {});  // int_1^x log(t) / (1 - t) dt
}  // namespace special

}  // namespace caudal::inline v0::math
