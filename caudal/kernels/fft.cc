#include "caudal/kernels/fft.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <set>
#include <unsupported/Eigen/FFT>
#include <vector>

namespace caudal::inline v0::kernels {
namespace {

// A prime factor p costs n p steps in kissfft; from here on the chirp transform is faster.
constexpr int64_t kLargestRadix = 61;
constexpr std::size_t kMostPlans = 64;

int64_t largest_prime_factor(int64_t n) {
  int64_t largest = 1;
  for (int64_t p = 2; p * p <= n; ++p) {
    for (; n % p == 0; n /= p) largest = p;
  }
  return std::max(largest, n);
}

// A thread's transforms, in double for both types; Eigen keeps a plan for each length, so they are dropped when there
// are many.
using Engine = Eigen::FFT<double>;
Engine& engine(int64_t n) {
  thread_local Engine fft(Engine::impl_type(), Engine::Unscaled);
  thread_local std::set<int64_t> lengths;
  if (lengths.insert(n).second && lengths.size() > kMostPlans) {
    fft.impl().clear();
    lengths = {n};
  }
  return fft;
}

// x[j] times exp(-i pi j^2 / n) is convolved with exp(+i pi j^2 / n) by transforms of a power of two.
class Chirp {
 public:
  explicit Chirp(int64_t n) : n_(n), chirp_(static_cast<std::size_t>(n)) {
    size_ = 1;
    while (size_ < 2 * n - 1) size_ *= 2;
    for (int64_t j = 0; j < n; ++j) {
      // j^2 modulo 2 n keeps the angle exact for long transforms.
      const double square =
          static_cast<double>(static_cast<uint64_t>(j) * static_cast<uint64_t>(j) % static_cast<uint64_t>(2 * n));
      chirp_[static_cast<std::size_t>(j)] = std::polar(1.0, -std::numbers::pi * square / static_cast<double>(n));
    }
    std::vector<std::complex<double>> kernel(static_cast<std::size_t>(size_));
    for (int64_t j = 0; j < n; ++j) {
      const std::complex<double> value = std::conj(chirp_[static_cast<std::size_t>(j)]);
      kernel[static_cast<std::size_t>(j)] = value;
      if (j > 0) kernel[static_cast<std::size_t>(size_ - j)] = value;
    }
    spectrum_.resize(kernel.size());
    engine(size_).fwd(spectrum_.data(), kernel.data(), static_cast<Eigen::Index>(size_));
  }

  int64_t n() const { return n_; }

  void transform(bool inverse, std::complex<double>* x) const {
    std::vector<std::complex<double>> a(static_cast<std::size_t>(size_)), b(static_cast<std::size_t>(size_));
    const auto n = static_cast<std::size_t>(n_);
    for (std::size_t j = 0; j < n; ++j) {
      a[j] = (inverse ? std::conj(x[j]) : x[j]) * chirp_[j];
    }
    engine(size_).fwd(b.data(), a.data(), static_cast<Eigen::Index>(size_));
    for (std::size_t j = 0; j < b.size(); ++j) b[j] *= spectrum_[j];
    engine(size_).inv(a.data(), b.data(), static_cast<Eigen::Index>(size_));
    const double scale = 1.0 / static_cast<double>(size_);
    for (std::size_t j = 0; j < n; ++j) {
      const std::complex<double> value = a[j] * chirp_[j] * scale;
      x[j] = inverse ? std::conj(value) : value;
    }
  }

 private:
  int64_t n_, size_;
  std::vector<std::complex<double>> chirp_, spectrum_;
};

// One row, unscaled. `buffer` has n elements.
void transform_row(const Chirp* chirp, bool inverse, std::complex<double>* row, std::complex<double>* buffer,
                   int64_t n) {
  if (n == 1) return;
  if (chirp != nullptr) return chirp->transform(inverse, row);
  std::copy_n(row, n, buffer);
  if (inverse) {
    engine(n).inv(row, buffer, static_cast<Eigen::Index>(n));
  } else {
    engine(n).fwd(row, buffer, static_cast<Eigen::Index>(n));
  }
}

std::unique_ptr<Chirp> chirp_for(int64_t n) {
  return largest_prime_factor(n) > kLargestRadix ? std::make_unique<Chirp>(n) : nullptr;
}

int64_t grain(int64_t n) { return 1 + 8192 / std::max<int64_t>(n, 1); }

template <class T>
void run_fft(ThreadPool& pool, bool inverse, std::complex<T>* data, int64_t outer, int64_t n, int64_t inner) {
  if (n == 0 || outer * inner == 0) return;
  const auto chirp = chirp_for(n);
  const double scale = inverse ? 1.0 / static_cast<double>(n) : 1.0;
  pool.parallel_for(outer * inner, grain(n), [&](int64_t begin, int64_t end) {
    std::vector<std::complex<double>> line(static_cast<std::size_t>(n)), buffer(static_cast<std::size_t>(n));
    for (int64_t i = begin; i < end; ++i) {
      std::complex<T>* at = data + i / inner * n * inner + i % inner;
      for (int64_t j = 0; j < n; ++j) line[static_cast<std::size_t>(j)] = at[j * inner];
      transform_row(chirp.get(), inverse, line.data(), buffer.data(), n);
      for (int64_t j = 0; j < n; ++j) at[j * inner] = std::complex<T>(line[static_cast<std::size_t>(j)] * scale);
    }
  });
}

template <class T>
void run_real_fft(ThreadPool& pool, const T* in, int64_t stride, std::complex<T>* out, int64_t rows, int64_t n) {
  if (n == 0) return;
  const auto chirp = chirp_for(n);
  const int64_t half = n / 2 + 1;
  pool.parallel_for(rows, grain(n), [&](int64_t begin, int64_t end) {
    std::vector<std::complex<double>> line(static_cast<std::size_t>(n)), buffer(static_cast<std::size_t>(n));
    for (int64_t i = begin; i < end; ++i) {
      std::copy_n(in + i * stride, n, line.begin());
      transform_row(chirp.get(), false, line.data(), buffer.data(), n);
      for (int64_t k = 0; k < half; ++k) out[i * half + k] = std::complex<T>(line[static_cast<std::size_t>(k)]);
    }
  });
}

template <class T>
void run_real_inverse_fft(ThreadPool& pool, const std::complex<T>* in, T* out, int64_t rows, int64_t n) {
  if (n == 0) return;
  const auto chirp = chirp_for(n);
  const int64_t half = n / 2 + 1;
  pool.parallel_for(rows, grain(n), [&](int64_t begin, int64_t end) {
    std::vector<std::complex<double>> line(static_cast<std::size_t>(n)), buffer(static_cast<std::size_t>(n));
    for (int64_t i = begin; i < end; ++i) {
      const std::complex<T>* row = in + i * half;
      line[0] = row[0].real();
      for (int64_t k = 1; k < half; ++k) {
        const std::complex<double> value(row[k]);
        line[static_cast<std::size_t>(n - k)] = std::conj(value);
        line[static_cast<std::size_t>(k)] = 2 * k == n ? value.real() : value;
      }
      transform_row(chirp.get(), true, line.data(), buffer.data(), n);
      for (int64_t j = 0; j < n; ++j)
        out[i * n + j] = static_cast<T>(line[static_cast<std::size_t>(j)].real() / static_cast<double>(n));
    }
  });
}

}  // namespace

void fft(ThreadPool& pool, bool inverse, std::complex<float>* data, int64_t outer, int64_t n, int64_t inner) {
  run_fft(pool, inverse, data, outer, n, inner);
}
void fft(ThreadPool& pool, bool inverse, std::complex<double>* data, int64_t outer, int64_t n, int64_t inner) {
  run_fft(pool, inverse, data, outer, n, inner);
}
void real_fft(ThreadPool& pool, const float* in, int64_t stride, std::complex<float>* out, int64_t rows, int64_t n) {
  run_real_fft(pool, in, stride, out, rows, n);
}
void real_fft(ThreadPool& pool, const double* in, int64_t stride, std::complex<double>* out, int64_t rows, int64_t n) {
  run_real_fft(pool, in, stride, out, rows, n);
}
void real_inverse_fft(ThreadPool& pool, const std::complex<float>* in, float* out, int64_t rows, int64_t n) {
  run_real_inverse_fft(pool, in, out, rows, n);
}
void real_inverse_fft(ThreadPool& pool, const std::complex<double>* in, double* out, int64_t rows, int64_t n) {
  run_real_inverse_fft(pool, in, out, rows, n);
}

}  // namespace caudal::inline v0::kernels
