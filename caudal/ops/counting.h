// Counts of values, histograms, positions in sorted sequences, the n-th smallest element.
// Thread safety: as building a graph.
#pragma once

#include <optional>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0 {

namespace math {
struct BincountOptions {
  std::optional<Operand> weights;    // of arr's shape: what each element counts; its type is the result's
  std::optional<Operand> minlength;  // the result has so many bins at least,
  std::optional<Operand> maxlength;  // and so many at most: greater values are left out
  DType dtype = DType::kInt32;       // of the counts, without weights
  std::optional<int> axis;           // -1: a row of counts for each row of a matrix; default: of all elements together
  bool binary_output = false;        // 1 where a value occurs at all
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// How often 0, 1, 2 .. occur in arr (int32 or int64). Run time error: INVALID_ARGUMENT for a negative element.
CAUDAL_API Output bincount(const Operand& arr, const BincountOptions& options = {});

// log(exp(x_0) + .. + exp(x_i)) along an axis, without overflow. Floating types.
struct CumulativeLogsumexpOptions {
  bool exclusive = false;  // without x_i itself; the first is -inf
  bool reverse = false;    // from the end
  std::string name = {};
  std::source_location where = std::source_location::current();
};
CAUDAL_API Output cumulative_logsumexp(const Operand& x, const Operand& axis = 0,
                                       const CumulativeLogsumexpOptions& options = {});
}  // namespace math

struct HistogramOptions {
  Operand nbins = 100;
  DType dtype = DType::kInt32;  // or int64
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// Counts of `values` in nbins equal intervals of value_range = [least, greatest], which has the type of the values;
// what lies outside counts in the first or last. INVALID_ARGUMENT for an empty range or no bins.
CAUDAL_API Output histogram_fixed_width(const Operand& values, const Operand& value_range,
                                        const HistogramOptions& options = {});

struct SearchSortedOptions {
  bool right = false;              // behind equal elements, not before them
  DType out_type = DType::kInt32;  // or int64
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// Where each of the values would be put into its sequence, sorted along the last dimension, to keep it sorted.
// sorted_sequence [..., n], values [..., k] with the same leading dimensions; real types.
CAUDAL_API Output searchsorted(const Operand& sorted_sequence, const Operand& values,
                               const SearchSortedOptions& options = {});

namespace raw_ops {
struct NthElementOptions {
  bool reverse = false;  // the n-th greatest
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// The n-th smallest element (from 0) of each row of the last dimension, which goes. Real types.
CAUDAL_API Output nth_element(const Operand& input, const Operand& n, const NthElementOptions& options = {});
// The number of set bits of integers, as uint8.
CAUDAL_API Output population_count(const Operand& x, const OpOptions& options = {});
}  // namespace raw_ops

}  // namespace caudal::inline v0
