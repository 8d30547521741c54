// Special functions of real numbers, in double.
//
// Outside their domain they are NaN, at poles infinite or NaN as TensorFlow has it; NaN in gives NaN out. Relative
// errors are a few units of 1e-15 unless said otherwise (near zeros of a function: absolute ones). Pure functions.
#pragma once

namespace caudal::inline v0::kernels {

// Gamma function and relatives. M. Abramowitz, I. Stegun, "Handbook of Mathematical Functions", chapters 6, 23.
double digamma(double x);
double zeta(double x, double q);       // Hurwitz' zeta: sum over k >= 0 of (k + q)^-x, x > 1
double polygamma(double n, double x);  // the n-th derivative of digamma; n a whole number
// The lower and upper incomplete gamma function over gamma(a), and the derivative of the lower one by a.
double igamma(double a, double x);
double igammac(double a, double x);
double igamma_grad_a(double a, double x);
// The incomplete beta integral over beta(a, b).
double betainc(double a, double b, double x);

// The inverses of erf and of the normal distribution's cumulative function.
double erfinv(double x);
double ndtri(double p);

// Modified Bessel functions; the forms with e are scaled by exp(-|x|) (I) or exp(x) (K). K is infinite for x <= 0.
double bessel_i0e(double x);
double bessel_i1e(double x);
double bessel_i0(double x);
double bessel_i1(double x);
double bessel_k0e(double x);
double bessel_k1e(double x);
double bessel_k0(double x);
double bessel_k1(double x);
// Bessel functions of the first and second kind; the second is -infinity for x <= 0.
double bessel_j0(double x);
double bessel_j1(double x);
double bessel_y0(double x);
double bessel_y1(double x);

double dawsn(double x);        // exp(-x^2) times the integral of exp(t^2) from 0 to x
double expint(double x);       // the principal value of the integral of exp(t) / t from -infinity to x; x > 0
double fresnel_cos(double x);  // the integral of cos(pi t^2 / 2) from 0 to x
double fresnel_sin(double x);
double spence(double x);  // the integral of log(t) / (1 - t) from 1 to x; x >= 0

}  // namespace caudal::inline v0::kernels
