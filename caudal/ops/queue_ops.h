// Queues: tuples of tensors that one run puts in and another takes out.
//
//   const auto scalar = tf::PartialShape::scalar();
//   tf::FIFOQueue queue(32, {tf::float32, tf::int32}, {.shapes = {{784}, scalar}});
//   auto enqueue = queue.enqueue({image, label});
//   auto batch = queue.dequeue_many(16);                 // batch[0]: float32[16,784], batch[1]: int32[16]
//   session.run(enqueue);  session.run(batch[0]);
//
// Nodes and names are those of TensorFlow's Python API. An enqueue into a full queue and a dequeue from an empty one
// wait until they can go on, without blocking a thread of the session's; who comes first is served first. Errors of
// runs: INVALID_ARGUMENT for tuples that do not fit, CANCELLED for enqueues into a closed queue, OUT_OF_RANGE for
// dequeues that a closed queue can not satisfy.
//
// A small handle, valid as long as its graph. Thread safety: as building a graph; runs may share a queue.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"
#include "caudal/ops/operand_list.h"

namespace caudal::inline v0 {

struct QueueOptions {
  std::vector<PartialShape> shapes;  // of the components; needed for dequeue_many; empty: any
  std::vector<std::string> names;    // of the components, for look-up by name; empty: none
  std::string shared_name;           // under which other graphs and sessions of the container find the queue
  std::string name;                  // default: "fifo_queue" and so on
  std::source_location where = std::source_location::current();
};

class CAUDAL_API QueueBase {
 public:
  QueueBase() = default;
  // A queue that is there already, by its handle (scalar resource, or reference to [container, name]).
  QueueBase(const Output& queue_ref, std::vector<DType> dtypes, std::vector<PartialShape> shapes = {},
            std::vector<std::string> names = {});

  const Output& queue_ref() const { return ref_; }
  const std::string& name() const { return ref_.node()->name(); }
  const std::vector<DType>& dtypes() const { return dtypes_; }
  // Unknown shapes where none were given.
  const std::vector<PartialShape>& shapes() const { return shapes_; }
  const std::vector<std::string>& names() const { return names_; }
  // Position of a named component. Throws NOT_FOUND.
  std::size_t component(std::string_view name) const;

  // Puts one tuple in. Throws INVALID_ARGUMENT, when the node is made, for values of another number, type or shape.
  Operation enqueue(const OperandList& values, const OpOptions& options = {}) const;
  // Puts as many in as the values' first dimension says.
  Operation enqueue_many(const OperandList& values, const OpOptions& options = {}) const;
  // Takes one tuple out. One output per component.
  std::vector<Output> dequeue(const OpOptions& options = {}) const;
  // Takes n (int32 scalar) out, packed along a new first dimension. Waits until n are there.
  std::vector<Output> dequeue_many(const Operand& n, const OpOptions& options = {}) const;
  // The same, but takes fewer, at least one, where the queue is closed.
  std::vector<Output> dequeue_up_to(const Operand& n, const OpOptions& options = {}) const;
  // No more enqueues. Those that wait get in still, or fail if they are cancelled.
  Operation close(bool cancel_pending_enqueues = false, const OpOptions& options = {}) const;
  // Scalar int32.
  Output size(const OpOptions& options = {}) const;
  // Scalar bool.
  Output is_closed(const OpOptions& options = {}) const;

  // The queue that `index` (int32 scalar) selects in a run. Throws INVALID_ARGUMENT unless the queues have the same
  // types and names; shapes are what all have in common.
  static QueueBase from_list(const Operand& index, const std::vector<QueueBase>& queues);

 protected:
  void set(const Output& queue_ref, std::vector<DType> dtypes, std::vector<PartialShape> shapes,
           std::vector<std::string> names);

 private:
  std::vector<Output> checked(const OperandList& values, bool many) const;
  // "QueueSizeV2", or "QueueSize" where the handle is a reference.
  std::string op(const std::string& name) const;
  OpOptions named(const std::string& suffix, const OpOptions& options) const;
  std::vector<Output> dequeue_rows(const std::string& type, const std::string& suffix, const Operand& n,
                                   const OpOptions& options) const;
  std::vector<Output> with_shapes(Node& node, const std::optional<std::int64_t>& rows) const;

  Output ref_;
  std::vector<DType> dtypes_;
  std::vector<PartialShape> shapes_;
  std::vector<std::string> names_;
};

// First in, first out. capacity: how many tuples it holds at most; negative: no limit.
class CAUDAL_API FIFOQueue : public QueueBase {
 public:
  FIFOQueue(std::int64_t capacity, std::vector<DType> dtypes, const QueueOptions& options = {});
};

struct RandomShuffleQueueOptions {
  std::vector<PartialShape> shapes;
  std::vector<std::string> names;
  std::optional<std::int64_t> seed;  // see set_random_seed()
  std::string shared_name;
  std::string name;
  std::source_location where = std::source_location::current();
};
// Dequeues draw at random among what is there. Until the queue is closed, min_after_dequeue tuples stay in it, so that
// the shuffle is good.
class CAUDAL_API RandomShuffleQueue : public QueueBase {
 public:
  RandomShuffleQueue(std::int64_t capacity, std::int64_t min_after_dequeue, std::vector<DType> dtypes,
                     const RandomShuffleQueueOptions& options = {});
};

// First in, first out; the shapes may have unknown sizes, and dequeue_many pads each tuple with zeros at the ends.
class CAUDAL_API PaddingFIFOQueue : public QueueBase {
 public:
  PaddingFIFOQueue(std::int64_t capacity, std::vector<DType> dtypes, std::vector<PartialShape> shapes,
                   const QueueOptions& options = {});
};

// The smallest number first. The tuples' first component is that number, an int64 scalar; `dtypes` are the others'.
class CAUDAL_API PriorityQueue : public QueueBase {
 public:
  PriorityQueue(std::int64_t capacity, std::vector<DType> dtypes, const QueueOptions& options = {});
};

}  // namespace caudal::inline v0
