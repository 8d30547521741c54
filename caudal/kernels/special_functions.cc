#include "caudal/kernels/special_functions.h"

#include <array>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>

namespace caudal::inline v0::kernels {
namespace {

using std::numbers::pi;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr int kMostSteps = 20000;

bool is_whole(double x) { return x == std::floor(x); }

// B(2k) for k = 1 .. 12, Bernoulli's numbers.
constexpr std::array<double, 12> kBernoulli = {1.0 / 6,       -1.0 / 30,       1.0 / 42,       -1.0 / 30,
                                               5.0 / 66,      -691.0 / 2730,   7.0 / 6,        -3617.0 / 510,
                                               43867.0 / 798, -174611.0 / 330, 854513.0 / 138, -236364091.0 / 2730};

// A value and its derivative by a.
struct Dual {
  double value, slope;
};

// Sum over n of x^n / ((a + 1) .. (a + n)): the lower function is x^a exp(-x) / gamma(a + 1) times this.
Dual gamma_series(double a, double x) {
  Dual sum{1, 0}, term{1, 0};
  for (int n = 1; n < kMostSteps; ++n) {
    const double divisor = a + n;
    term.slope = (term.slope * x - term.value * x / divisor) / divisor;
    term.value *= x / divisor;
    sum.value += term.value;
    sum.slope += term.slope;
    if (term.value <= kEpsilon * sum.value && std::abs(term.slope) <= kEpsilon * std::abs(sum.slope)) break;
  }
  return sum;
}

// The continued fraction of the upper function, x^a exp(-x) / gamma(a) left out (Handbook 6.5.31, evaluated forward).
Dual gamma_fraction(double a, double x) {
  double y = 1 - a, z = x + y + 1, c = 0;
  Dual p2{1, 0}, q2{x, 0}, p1{x + 1, 0}, q1{z * x, -x};
  Dual fraction{p1.value / q1.value, 0};
  fraction.slope = (p1.slope - fraction.value * q1.slope) / q1.value;
  for (int n = 0; n < kMostSteps; ++n) {
    c += 1;
    y += 1;
    z += 2;
    const double yc = y * c;
    const auto step = [&](const Dual& one, const Dual& two) {
      return Dual{one.value * z - two.value * yc, one.slope * z - one.value - two.slope * yc + two.value * c};
    };
    Dual p = step(p1, p2), q = step(q1, q2);
    bool done = false;
    if (q.value != 0) {
      const double value = p.value / q.value, slope = (p.slope - value * q.slope) / q.value;
      done = std::abs(value - fraction.value) <= kEpsilon * std::abs(value) &&
             std::abs(slope - fraction.slope) <= kEpsilon * std::abs(slope);
      fraction = {value, slope};
    }
    p2 = p1;
    q2 = q1;
    p1 = p;
    q1 = q;
    if (done) break;
    if (std::abs(p1.value) > 1e100) {
      for (Dual* d : {&p1, &p2, &q1, &q2}) *d = {d->value * 1e-100, d->slope * 1e-100};
    }
  }
  return fraction;
}

// x^a exp(-x) / gamma(a).
double gamma_density(double a, double x) { return std::exp(a * std::log(x) - x - std::lgamma(a)); }

bool uses_fraction(double a, double x) { return x > 1 && x > a; }

double lower_by_series(double a, double x) { return gamma_density(a, x) / a * gamma_series(a, x).value; }
double upper_by_fraction(double a, double x) {
  return std::isinf(x) ? 0 : gamma_density(a, x) * gamma_fraction(a, x).value;
}

// Lentz' evaluation of the continued fraction of the beta integral (Handbook 26.5.8).
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  const auto away_from_zero = [](double v) { return std::abs(v) < kTiny ? kTiny : v; };
  double c = 1, d = 1 / away_from_zero(1 - (a + b) * x / (a + 1)), h = d;
  for (int m = 1; m < kMostSteps; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away_from_zero(1 + even * d);
    c = away_from_zero(1 + even / c);
    h *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away_from_zero(1 + odd * d);
    c = away_from_zero(1 + odd / c);
    h *= d * c;
    if (std::abs(d * c - 1) <= kEpsilon) break;
  }
  return h;
}

// sum over k of (x^2 / 4)^k / (k! (k + order)!) times (x / 2)^order: all terms have one sign.
double bessel_i_series(int order, double x) {
  const double quarter = x * x / 4;
  double term = order == 0 ? 1 : x / 2, sum = term;
  for (int k = 1; k < kMostSteps && std::abs(term) > kEpsilon * std::abs(sum); ++k) {
    term *= quarter / (k * static_cast<double>(k + order));
    sum += term;
  }
  return sum;
}

// Hankel's expansions for large x (Handbook 9.7.1 and 9.7.2), scaled: of I with sign -1, of K with sign 1.
double bessel_large(int order, double x, int sign) {
  double term = 1, sum = 1;
  for (int k = 1; k < 30; ++k) {
    const double odd = 2 * k - 1;
    const double next = sign * term * (4.0 * order * order - odd * odd) / (8 * k * x);
    if (std::abs(next) > std::abs(term)) break;
    term = next;
    sum += term;
  }
  return sum * (sign < 0 ? 1 / std::sqrt(2 * pi * x) : std::sqrt(pi / (2 * x)));
}

double bessel_ie(int order, double x) {
  const double a = std::abs(x);
  const double value = a < 35          ? std::exp(-a) * bessel_i_series(order, a)
                       : std::isinf(a) ? 0
                                       : bessel_large(order, a, -1);
  return std::isnan(x) ? x : order == 1 ? std::copysign(value, x) : value;
}

// The integral of exp(-x (cosh t - 1)) cosh(order t) over t > 0 by the trapezoidal rule, which converges exponentially.
double bessel_ke(int order, double x) {
  if (std::isnan(x)) return x;
  if (x <= 0) return kInfinity;
  if (std::isinf(x)) return 0;
  if (x > 35) return bessel_large(order, x, 1);
  const double step = x < 7 ? 0.25 : 0.125;  // narrow enough for the bell of width 1 / sqrt(x)
  double sum = 0.5;
  const auto exponent = [&](double t) {
    const double s = std::sinh(t / 2);
    return -2 * x * s * s;
  };
  for (int i = 1; i < kMostSteps; ++i) {
    const double t = i * step, e = exponent(t);
    // cosh(t) joins the exponent so that it cannot overflow on its own.
    const double term = order == 0 ? std::exp(e) : 0.5 * (std::exp(e + t) + std::exp(e - t));
    sum += term;
    if (e < -40 && term <= kEpsilon * sum) break;
  }
  return sum * step;
}

// The Fresnel integrals as C + i S.
std::complex<double> fresnel(double x) {
  const double a = std::abs(x);
  std::complex<double> result;
  if (std::isnan(x)) return {x, x};
  if (a > 1e8) {
    result = {0.5, 0.5};
  } else if (a < 1.6) {
    // The power series of the integral of exp(i pi t^2 / 2).
    std::complex<double> term = a, sum = a;
    const std::complex<double> factor(0, pi / 2 * a * a);
    for (int k = 1; k < 60; ++k) {
      term *= factor / static_cast<double>(k);
      sum += term / static_cast<double>(2 * k + 1);
    }
    result = sum;
  } else {
    // (1 + i) / 2 erf(z) with z = sqrt(pi) / 2 (1 - i) x, by the continued fraction of erfc (Handbook 7.1.14).
    const double square = pi * a * a;
    std::complex<double> b(1, -square), c(1e300, 0), d = 1.0 / b, h = d;
    for (int n = 2, k = -1; n < kMostSteps; ++n) {
      k += 2;
      const double coefficient = -k * static_cast<double>(k + 1);
      b += 4;
      d = 1.0 / (coefficient * d + b);
      c = b + coefficient / c;
      const std::complex<double> change = c * d;
      h *= change;
      if (std::abs(change.real() - 1) + std::abs(change.imag()) < kEpsilon) break;
    }
    h *= std::complex<double>(a, -a);
    // The angle pi x^2 / 2 modulo 2 pi: x^2 modulo 4, exact enough by fma.
    const double high = a * a, low = std::fma(a, a, -high);
    const double angle = pi / 2 * (std::fmod(high, 4.0) + low);
    result = std::complex<double>(0.5, 0.5) * (1.0 - std::polar(1.0, angle) * h);
  }
  return x < 0 ? -result : result;
}

// Handbook 27.7.1: sum over k of (1 - x)^k / k^2, for x in [0.5, 1.5].
double spence_series(double x) {
  const double y = 1 - x;
  double power = y, sum = 0;
  for (int k = 1; k < 80; ++k) {
    sum += power / (static_cast<double>(k) * k);
    power *= y;
  }
  return sum;
}

}  // namespace

double digamma(double x) {
  if (std::isinf(x)) return x > 0 ? x : kNan;
  if (x <= 0) {
    if (is_whole(x)) return kNan;
    const double part = x - std::round(x);
    return digamma(1 - x) - (std::abs(part) == 0.5 ? 0 : pi / std::tan(pi * part));
  }
  double result = 0;
  for (; x < 12; x += 1) result -= 1 / x;
  const double square = 1 / (x * x);
  double power = square;
  result += std::log(x) - 0.5 / x;
  for (int k = 0; k < 8; ++k) {
    result -= kBernoulli[static_cast<std::size_t>(k)] / (2 * (k + 1)) * power;
    power *= square;
  }
  return result;
}

double zeta(double x, double q) {
  if (std::isnan(x) || std::isnan(q)) return kNan;
  if (x == 1) return kInfinity;
  if (x < 1) return kNan;
  if (q <= 0) {
    if (is_whole(q)) return std::isinf(x) || (is_whole(x) && std::fmod(x, 2.0) == 0) ? kInfinity : kNan;
    if (!is_whole(x)) return kNan;
  }
  // Euler and Maclaurin: a direct sum, then the integral and its corrections.
  double sum = 0, a = q;
  for (int n = 0; n < 9 || a <= 9; ++n, a += 1) {
    const double term = std::pow(a, -x);
    sum += term;
    if (a > 0 && std::abs(term) <= kEpsilon / 8 * std::abs(sum)) return sum;
  }
  const double term = std::pow(a, -x);
  sum += term * a / (x - 1) + 0.5 * term;
  double factor = x, power = term / a, factorial = 2;
  for (int k = 1; k <= 12; ++k) {
    const double correction = kBernoulli[static_cast<std::size_t>(k - 1)] / factorial * factor * power;
    sum += correction;
    if (std::abs(correction) < kEpsilon / 8 * std::abs(sum)) break;
    factor *= (x + 2 * k - 1) * (x + 2 * k);
    power /= a * a;
    factorial *= (2 * k + 1) * (2 * k + 2);
  }
  return sum;
}

double polygamma(double n, double x) {
  if (std::isnan(n) || std::isnan(x) || n < 0 || !is_whole(n)) return kNan;
  if (n == 0) return digamma(x);
  const double sign = std::fmod(n, 2.0) == 0 ? -1 : 1;
  return sign * std::exp(std::lgamma(n + 1)) * zeta(n + 1, x);
}

double igamma(double a, double x) {
  if (x == 0) return 0;
  if (std::isnan(a) || std::isnan(x) || x < 0 || a <= 0) return kNan;
  if (std::isinf(a)) return std::isinf(x) ? kNan : 0;
  return uses_fraction(a, x) ? 1 - upper_by_fraction(a, x) : lower_by_series(a, x);
}

double igammac(double a, double x) {
  if (std::isnan(a) || std::isnan(x) || x < 0 || a <= 0) return kNan;
  if (x == 0) return 1;
  if (std::isinf(a)) return std::isinf(x) ? kNan : 1;
  return uses_fraction(a, x) ? upper_by_fraction(a, x) : 1 - lower_by_series(a, x);
}

double igamma_grad_a(double a, double x) {
  if (x == 0) return 0;
  if (std::isnan(a) || std::isnan(x) || x < 0 || a <= 0) return kNan;
  if (std::isinf(x) || std::isinf(a)) return 0;
  if (uses_fraction(a, x)) {
    const Dual upper = gamma_fraction(a, x);
    return -gamma_density(a, x) * (upper.slope + upper.value * (std::log(x) - digamma(a)));
  }
  const Dual lower = gamma_series(a, x);
  return gamma_density(a, x) / a * (lower.slope + lower.value * (std::log(x) - digamma(a + 1)));
}

double betainc(double a, double b, double x) {
  if (a <= 0 || b <= 0 || x < 0 || x > 1) return kNan;
  if (x == 0 || x == 1) return x;
  if (std::isnan(a) || std::isnan(b) || std::isnan(x)) return kNan;
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double ndtri(double p) {
  if (std::isnan(p) || p < 0 || p > 1) return kNan;
  if (p == 0) return -kInfinity;
  if (p == 1) return kInfinity;
  if (p > 0.5) return -ndtri(1 - p);
  // Handbook 26.2.23 to three digits; each of Halley's steps triples them.
  const double t = std::sqrt(-2 * std::log(p));
  double x = -(t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))));
  for (int i = 0; i < 2; ++i) {
    const double error = 0.5 * std::erfc(-x / std::numbers::sqrt2) - p;
    const double step = error * std::sqrt(2 * pi) * std::exp(x * x / 2);
    if (!std::isfinite(step)) break;
    x -= step / (1 + x * step / 2);
  }
  return x;
}

double erfinv(double x) {
  if (std::isnan(x) || x < -1 || x > 1) return kNan;
  if (std::abs(x) > 0.5) return std::copysign(ndtri((1 - std::abs(x)) / 2) / std::numbers::sqrt2, x);
  double y = x * std::sqrt(pi) / 2 * (1 + pi / 12 * x * x);
  for (int i = 0; i < 3; ++i) {
    const double step = (std::erf(y) - x) * std::sqrt(pi) / 2 * std::exp(y * y);
    y -= step / (1 + y * step);
  }
  return y;
}

double bessel_i0e(double x) { return bessel_ie(0, x); }
double bessel_i1e(double x) { return bessel_ie(1, x); }
double bessel_i0(double x) {
  return std::abs(x) < 35 ? bessel_i_series(0, x) : bessel_ie(0, x) * std::exp(std::abs(x));
}
double bessel_i1(double x) {
  return std::abs(x) < 35 ? bessel_i_series(1, x) : bessel_ie(1, x) * std::exp(std::abs(x));
}
double bessel_k0e(double x) { return bessel_ke(0, x); }
double bessel_k1e(double x) { return bessel_ke(1, x); }
double bessel_k0(double x) { return bessel_ke(0, x) * std::exp(-x); }
double bessel_k1(double x) { return bessel_ke(1, x) * std::exp(-x); }

double bessel_j0(double x) { return ::j0(x); }
double bessel_j1(double x) { return ::j1(x); }
double bessel_y0(double x) { return x <= 0 ? -kInfinity : ::y0(x); }
double bessel_y1(double x) { return x <= 0 ? -kInfinity : ::y1(x); }

double dawsn(double x) {
  // G. Rybicki, "Dawson's integral and the sampling theorem", Computers in Physics 3 (1989).
  constexpr double kStep = 0.2;
  const double a = std::abs(x);
  if (std::isnan(x)) return x;
  if (a < 0.2) {
    double term = x, sum = x;
    for (int k = 1; k < 20; ++k) {
      term *= -2 * x * x / (2 * k + 1);
      sum += term;
    }
    return sum;
  }
  if (a > 1e8) return 0.5 / x;
  const double nearest = 2 * std::round(0.5 * a / kStep), rest = a - nearest * kStep;
  double sum = 0;
  for (int k = -39; k < 40; k += 2) {
    const double distance = rest - k * kStep;
    sum += std::exp(-distance * distance) / (nearest + k);
  }
  return std::copysign(sum / std::sqrt(pi), x);
}

double expint(double x) {
  if (std::isnan(x) || x < 0) return kNan;
  if (x == 0) return -kInfinity;
  if (std::isinf(x)) return x;
  if (x > 50) {
    double term = 1, sum = 1;
    for (int k = 1; k < 60; ++k) {
      if (k > x) break;
      term *= k / x;
      sum += term;
      if (term < kEpsilon) break;
    }
    return std::exp(x) / x * sum;
  }
  double term = 1, sum = 0;
  for (int k = 1; k < 400; ++k) {
    term *= x / k;
    sum += term / k;
    if (term / k < kEpsilon * sum) break;
  }
  return std::numbers::egamma + std::log(x) + sum;
}

double fresnel_cos(double x) { return fresnel(x).real(); }
double fresnel_sin(double x) { return fresnel(x).imag(); }

double spence(double x) {
  if (std::isnan(x) || x < 0) return kNan;
  if (x == 0) return pi * pi / 6;
  if (x == 1) return 0;
  if (x < 0.5) return pi * pi / 6 - std::log(x) * std::log1p(-x) - spence_series(1 - x);
  if (x <= 1.5) return spence_series(x);
  const double logarithm = std::log(x);
  return -0.5 * logarithm * logarithm -
         (x > 2 ? pi * pi / 6 - std::log(1 / x) * std::log1p(-1 / x) - spence_series(1 - 1 / x) : spence_series(1 / x));
}

}  // namespace caudal::inline v0::kernels
