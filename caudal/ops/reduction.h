// Reductions over axes, positions of extremes, and sums of several tensors.
//
//   reduce_mean(x)                                  // over all axes: a scalar
//   reduce_sum(x, {.axis = 1, .keepdims = true})
//   reduce_max(x, {.axis = {0, -1}})
//
// An axis counts from the end if it is negative; one outside the rank, or named twice, is INVALID_ARGUMENT. half,
// bfloat16 and float are summed in double and rounded once. Results do not depend on the number of threads. Thread
// safety: as building a graph.
#pragma once

#include <concepts>
#include <initializer_list>
#include <optional>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0 {

// Which axes: one, several, a vector that is computed (int32 or int64), or all (the default).
class CAUDAL_API Axes {
 public:
  Axes() = default;
  Axes(std::integral auto axis) : axes_(Operand(axis)) {}          // NOLINT
  Axes(std::initializer_list<int> axes) : axes_(Operand(axes)) {}  // NOLINT
  Axes(const std::vector<int>& axes) : axes_(Operand(axes)) {}     // NOLINT
  Axes(const Output& axes) : axes_(Operand(axes)) {}               // NOLINT
  // As an input of a reduction of x.
  Output of(const Output& x) const;

 private:
  std::optional<Operand> axes_;
};

struct ReduceOptions {
  Axes axis;
  bool keepdims = false;  // the reduced axes stay, with size 1
  std::string name;
  std::source_location where = std::source_location::current();
};

// Of nothing: 0, NaN (integers 0), 1, the type's lowest value (-inf), its greatest (inf). Max and min pass NaN on;
// their gradient is shared equally among equal extremes. Integers wrap; the mean of integers is rounded towards zero.
CAUDAL_API Output reduce_sum(const Operand& input, const ReduceOptions& options = {});
CAUDAL_API Output reduce_mean(const Operand& input, const ReduceOptions& options = {});
CAUDAL_API Output reduce_prod(const Operand& input, const ReduceOptions& options = {});
CAUDAL_API Output reduce_max(const Operand& input, const ReduceOptions& options = {});
CAUDAL_API Output reduce_min(const Operand& input, const ReduceOptions& options = {});
// bool. Of nothing: true, false.
CAUDAL_API Output reduce_all(const Operand& input, const ReduceOptions& options = {});
CAUDAL_API Output reduce_any(const Operand& input, const ReduceOptions& options = {});
// sqrt(sum(|x|^2)); its gradient at 0 is NaN.
CAUDAL_API Output reduce_euclidean_norm(const Operand& input, const ReduceOptions& options = {});
// log(sum(exp(x))), without overflow; floating types.
CAUDAL_API Output reduce_logsumexp(const Operand& input, const ReduceOptions& options = {});

struct ArgOptions {
  DType output_type = DType::kInt64;  // or int32; argmax also int16, uint16
  std::string name;
  std::source_location where = std::source_location::current();
};
// The position of the greatest (least) element along `axis`, which goes; of equal ones the first. NaN is chosen only
// where all are NaN. An empty axis is INVALID_ARGUMENT.
CAUDAL_API Output argmax(const Operand& input, const Operand& axis = 0, const ArgOptions& options = {});
CAUDAL_API Output argmin(const Operand& input, const Operand& axis = 0, const ArgOptions& options = {});

// The sum of tensors of one type and shape (no broadcasting); at least one.
CAUDAL_API Output add_n(const std::vector<Output>& inputs, const OpOptions& options = {});
CAUDAL_API Output accumulate_n(const std::vector<Output>& inputs, const OpOptions& options = {});

namespace nn {
// Half the sum of the squares of all elements: a scalar. Floating types.
CAUDAL_API Output l2_loss(const Operand& t, const OpOptions& options = {});
}  // namespace nn

}  // namespace caudal::inline v0
