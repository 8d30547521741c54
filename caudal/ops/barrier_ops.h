// Barrier: collects the components of tuples one by one, by key, and gives complete tuples out in the order in which
// their keys came (tf.raw_ops.Barrier).
//
//   const auto scalar = tf::PartialShape::scalar();
//   tf::Barrier barrier({tf::float32, tf::float32}, {.shapes = {scalar, {8}}});
//   auto first = barrier.insert_many(0, keys, values);       // component 0 of as many keys as there are
//   auto second = barrier.insert_many(1, keys, more_values); // completes them
//   auto taken = barrier.take_many(5);                       // indices, keys, values[0], values[1]
//
// A small handle, valid as long as its graph. Thread safety: as building a graph; runs may share a barrier.
#pragma once

#include <string>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0 {

struct BarrierOptions {
  std::vector<PartialShape> shapes;  // of the components: fully known, none empty
  std::string shared_name;
  std::string name;  // default "barrier"
  std::source_location where = std::source_location::current();
};

struct TakeManyOptions {
  bool allow_small_batch = false;  // once it is closed, fewer than asked for will do, but at least one
  std::string name;                // default "<barrier>_BarrierTakeMany"
  std::source_location where = std::source_location::current();
};

class CAUDAL_API Barrier {
 public:
  // Throws INVALID_ARGUMENT unless there is a shape for every type.
  Barrier(std::vector<DType> types, const BarrierOptions& options);

  struct Taken {
    Output indices;              // int64 vector: which insertion brought the key, counted up from the smallest int64
    Output keys;                 // string vector
    std::vector<Output> values;  // one per component
  };

  const Output& barrier_ref() const { return ref_; }
  const std::string& name() const { return ref_.node()->name(); }
  const std::vector<DType>& types() const { return types_; }

  // Component `component_index` of the tuples `keys` (string vector): rows of `values`. Errors of runs:
  // INVALID_ARGUMENT for a component that a key has already; CANCELLED for new keys once the barrier is closed.
  Operation insert_many(int component_index, const Operand& keys, const Operand& values,
                        const OpOptions& options = {}) const;
  // Waits for that many complete tuples. OUT_OF_RANGE if the barrier is closed and they will never come.
  Taken take_many(const Operand& num_elements, const TakeManyOptions& options = {}) const;
  // No new keys; those begun may be completed, unless pending ones are cancelled: then they are dropped.
  Operation close(bool cancel_pending_enqueues = false, const OpOptions& options = {}) const;
  // Complete tuples, and incomplete ones: scalar int32.
  Output ready_size(const OpOptions& options = {}) const;
  Output incomplete_size(const OpOptions& options = {}) const;

 private:
  OpOptions named(const std::string& suffix, const OpOptions& options) const;

  Output ref_;
  std::vector<DType> types_;
  std::vector<PartialShape> shapes_;
};

}  // namespace caudal::inline v0
