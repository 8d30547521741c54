// Conditional accumulators: gradients of several workers, added up until there are enough; stale ones are dropped.
//
// An accumulator has a step of its own. A gradient computed at an older step is ignored. Taking waits for the number of
// gradients asked for, gives their mean or sum, forgets them and goes on to the next step.
// Ownership: shared by the ResourceManager and the runs that use it. Thread-safe; never blocks a thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "caudal/core/waiting_room.h"
#include "caudal/kernels/elementwise.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0::internal {

class AccumulatorResource : public Resource, public WaitingRoom {
 public:
  struct Spec {
    std::string name;
    DType dtype = DType::kInvalid;  // float16, float32 or float64
    PartialShape shape;
    bool mean = true;  // else the sum
  };
  // What was taken: the gradient, or indices, values and dense shape of a sparse one.
  using TakeDone = std::function<void(const Error* error, std::vector<Tensor> result)>;

  const Spec& spec() const { return spec_; }
  // Calls `done` once: here, or when enough gradients have come. Throws INVALID_ARGUMENT for a number below 1.
  void take(CancellationToken* cancellation, std::int64_t required, TakeDone done);
  std::int64_t num_accumulated() const;
  void set_global_step(std::int64_t step);
  std::string describe() const override;

 protected:
  explicit AccumulatorResource(Spec spec);

  // Calls `add` under the lock, and counts, unless the gradient is stale.
  void apply(std::int64_t local_step, const std::function<void()>& add);
  // Under the lock: how many gradients there are; their mean or sum, which is given away.
  std::int64_t count() const { return count_; }
  virtual std::vector<Tensor> give() = 0;

  // to[i] += from[i];  to[i] /= divisor. REQUIRES: elements of the accumulator's type.
  void add(char* to, const char* from, std::int64_t n) const;
  void divide(char* to, std::int64_t divisor, std::int64_t n) const;

 private:
  const Spec spec_;
  kernels::BinaryLoop add_, divide_;
  std::int64_t count_ = 0, global_step_ = 0;
};

class DenseAccumulator final : public AccumulatorResource {
 public:
  explicit DenseAccumulator(Spec spec) : AccumulatorResource(std::move(spec)) {}
  // Throws INVALID_ARGUMENT for another shape than the accumulator's or the earlier gradients'.
  void apply(std::int64_t local_step, const Tensor& gradient);

 private:
  std::vector<Tensor> give() override;

  Tensor sum_;
};

// A gradient is rows of a large tensor: ascending indices, values [rows, ...] and maybe the large tensor's shape.
class SparseAccumulator final : public AccumulatorResource {
 public:
  explicit SparseAccumulator(Spec spec) : AccumulatorResource(std::move(spec)) {}
  // `shape`: null if it is not known. Each row's mean is over the gradients that have it.
  void apply(std::int64_t local_step, const Tensor& indices, const Tensor& values, const Tensor* shape);

 private:
  std::vector<Tensor> give() override;
  void check_shape(const Tensor& shape) const;
  void check(const Tensor& indices, const Tensor& values) const;
  void merge(const Tensor& indices, const Tensor& values);

  struct Row {
    std::int64_t index;
    std::int64_t count;  // of gradients in it
  };
  std::vector<Row> rows_;
  Tensor sum_;
};

}  // namespace caudal::inline v0::internal
