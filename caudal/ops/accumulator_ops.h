// Conditional accumulators: gradients of several workers, added up until there are enough.
//
//   tf::ConditionalAccumulator sum(tf::float32, {.shape = {784, 10}});
//   auto apply = sum.apply_grad(gradient, local_step);   // dropped if it was computed at an older step
//   auto mean = sum.take_grad(5);                        // waits for five, starts the next step
//
// Small handles, valid as long as their graph. Thread safety: as building a graph; runs may share an accumulator.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "caudal/autodiff/gradient.h"
#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0 {

struct AccumulatorOptions {
  PartialShape shape;  // of a gradient
  std::string shared_name;
  std::string name;                     // default "conditional_accumulator", "sparse_conditional_accumulator"
  std::string reduction_type = "MEAN";  // or "SUM"
  std::source_location where = std::source_location::current();
};

class CAUDAL_API ConditionalAccumulator {
 public:
  // dtype: float16, float32 or float64.
  explicit ConditionalAccumulator(DType dtype, const AccumulatorOptions& options = {});

  const Output& accumulator_ref() const { return ref_; }
  std::string name() const;
  // Adds a gradient, unless local_step (scalar integer) is below the accumulator's. INVALID_ARGUMENT for another shape.
  Operation apply_grad(const Operand& gradient, const Operand& local_step = 0, const OpOptions& options = {}) const;
  // Waits for num_required (int32 scalar, at least 1) gradients; their mean or sum. The accumulator's step goes up by
  // one.
  Output take_grad(const Operand& num_required, const OpOptions& options = {}) const;
  // Scalar int32.
  Output num_accumulated(const OpOptions& options = {}) const;
  Operation set_global_step(const Operand& step, const OpOptions& options = {}) const;

 private:
  Output ref_;
  DType dtype_;
  PartialShape shape_;
};

// The same for gradients that are rows of a large tensor.
class CAUDAL_API SparseConditionalAccumulator {
 public:
  explicit SparseConditionalAccumulator(DType dtype, const AccumulatorOptions& options = {});

  const Output& accumulator_ref() const { return ref_; }
  std::string name() const;
  // `indices`: ascending; `values`: one row for each; `shape`: of the large tensor, if it is known.
  Operation apply_grad(const Operand& indices, const Operand& values, const std::optional<Operand>& shape = {},
                       const Operand& local_step = 0, const OpOptions& options = {}) const;
  Operation apply_indexed_slices_grad(const IndexedSlices& gradient, const Operand& local_step = 0,
                                      const OpOptions& options = {}) const;
  // Each row's mean is over the gradients that have it.
  IndexedSlices take_indexed_slices_grad(const Operand& num_required, const OpOptions& options = {}) const;
  Output num_accumulated(const OpOptions& options = {}) const;
  Operation set_global_step(const Operand& step, const OpOptions& options = {}) const;

 private:
  Output ref_;
  DType dtype_;
};

}  // namespace caudal::inline v0
