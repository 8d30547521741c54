// Histograms as TensorFlow's summaries and TensorBoard have them: buckets that grow by 10% from 1e-12 to 1e20 on both
// sides of zero.
//
// Thread safety: one thread at a time.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "caudal/base/export.h"

namespace caudal::inline v0 {

class CAUDAL_API Histogram {
 public:
  Histogram();

  // INVALID_ARGUMENT for NaN and infinities, which no bucket holds; nothing is added then. All counts and sums are
  // doubles.
  void add(double value);

  double count() const { return count_; }
  double min() const { return min_; }
  double max() const { return max_; }
  double sum() const { return sum_; }
  double sum_squares() const { return sum_squares_; }

  // The HistogramProto message; runs of empty buckets become one.
  std::string encode() const;

 private:
  double min_, max_;
  double count_ = 0, sum_ = 0, sum_squares_ = 0;
  std::vector<double> buckets_;
};

}  // namespace caudal::inline v0
