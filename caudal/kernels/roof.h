// What the processor can do at most, measured: the roof that products and passes over memory are held against.
// ("Roofline: an insightful visual performance model", Williams, Waterman, Patterson, CACM 52, 2009)
#pragma once

#include "caudal/base/export.h"
#include "caudal/base/thread_pool.h"

namespace caudal::inline v0::kernels {

struct Roof {
  double gflops = 0;  // fused multiply-adds of float on all threads of the pool, two FLOP each
  double gbytes = 0;  // GB/s read and written beyond the caches
  int threads = 1;
};

// Takes about a third of a second and 64 MiB. What else runs meanwhile lowers the roof.
CAUDAL_API Roof measure_roof(ThreadPool& pool);

// Inside: n rounds of independent multiply-adds; returns the FLOP.
double multiply_adds_plain(long n);
double multiply_adds_avx2(long n);
double multiply_adds_avx512(long n);

}  // namespace caudal::inline v0::kernels
