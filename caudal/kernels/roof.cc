#include "caudal/kernels/roof.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "caudal/kernels/isa.h"

namespace caudal::inline v0::kernels {
namespace {

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// The best rate of some windows: work() returns what it did.
template <class Work>
double best_rate(int windows, Work&& work) {
  double best = 0;
  for (int i = 0; i < windows; ++i) {
    const double start = seconds(), done = work();
    best = std::max(best, done / (seconds() - start));
  }
  return best;
}

}  // namespace

double multiply_adds_plain(long n) {
  float sums[4] = {0.5F, 0.5F, 0.5F, 0.5F};
  for (long i = 0; i < n; ++i) {
    for (float& sum : sums) sum = sum * 0.5F + 0.5F;
  }
  volatile float used = sums[0] + sums[1] + sums[2] + sums[3];
  (void)used;
  return 8.0 * static_cast<double>(n);
}

Roof measure_roof(ThreadPool& pool) {
  const Isa isa = kernel_isa();
  const auto run = isa == Isa::kAvx512 ? multiply_adds_avx512
                   : isa == Isa::kAvx2 ? multiply_adds_avx2
                                       : multiply_adds_plain;
  constexpr long kRounds = 1 << 17;  // some tenths of a millisecond
  Roof roof{.threads = pool.num_threads()};
  const std::int64_t pieces = 4 * pool.num_threads();
  std::vector<double> done(static_cast<std::size_t>(pieces));
  roof.gflops = 1e-9 * best_rate(20, [&] {
                  pool.parallel_for(pieces, 1, [&](std::int64_t begin, std::int64_t end) {
                    for (; begin < end; ++begin) done[static_cast<std::size_t>(begin)] = run(kRounds);
                  });
                  double sum = 0;
                  for (const double flop : done) sum += flop;
                  return sum;
                });
  constexpr std::int64_t kBytes = 32 << 20, kPiece = 1 << 20;
  std::vector<char> from(kBytes, 1), to(kBytes);
  roof.gbytes = 1e-9 * best_rate(8, [&] {
                  pool.parallel_for(kBytes / kPiece, 1, [&](std::int64_t begin, std::int64_t end) {
                    for (; begin < end; ++begin)
                      std::memcpy(to.data() + begin * kPiece, from.data() + begin * kPiece, kPiece);
                  });
                  return 2.0 * kBytes;
                });
  return roof;
}

}  // namespace caudal::inline v0::kernels
