#include "caudal/formats/histogram.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "caudal/base/error.h"
#include "caudal/formats/wire.h"

namespace caudal::inline v0 {
namespace {

// Upper limits of the buckets, ascending.
const std::vector<double>& limits() {
  static const std::vector<double> all = [] {
    std::vector<double> positive;
    for (double limit = 1.0e-12; limit < 1.0e20; limit *= 1.1) positive.push_back(limit);
    positive.push_back(DBL_MAX);
    std::vector<double> out;
    for (auto limit = positive.rbegin(); limit != positive.rend(); ++limit) out.push_back(-*limit);
    out.push_back(0.0);
    out.insert(out.end(), positive.begin(), positive.end());
    return out;
  }();
  return all;
}

}  // namespace

Histogram::Histogram() : min_(DBL_MAX), max_(-DBL_MAX), buckets_(limits().size(), 0.0) {}

void Histogram::add(double value) {
  if (!std::isfinite(value)) throw invalid_argument(std::isnan(value) ? "NaN" : "infinity", " in a histogram");
  const auto above = std::upper_bound(limits().begin(), limits().end(), value);
  buckets_[std::min<size_t>(static_cast<size_t>(above - limits().begin()), buckets_.size() - 1)] += 1.0;
  min_ = std::min(min_, value);
  max_ = std::max(max_, value);
  count_ += 1.0;
  sum_ += value;
  sum_squares_ += value * value;
}

std::string Histogram::encode() const {
  std::vector<double> ends, counts;
  for (size_t i = 0; i < buckets_.size();) {
    double end = limits()[i];
    const double count = buckets_[i++];
    if (count <= 0.0)
      for (; i < buckets_.size() && buckets_[i] <= 0.0; ++i) end = limits()[i];
    ends.push_back(end);
    counts.push_back(count);
  }
  WireWriter out;
  out.real_unless_default(1, min_);
  out.real_unless_default(2, max_);
  out.real_unless_default(3, count_);
  out.real_unless_default(4, sum_);
  out.real_unless_default(5, sum_squares_);
  out.packed(6, ends);
  out.packed(7, counts);
  return std::move(out).str();
}

}  // namespace caudal::inline v0
