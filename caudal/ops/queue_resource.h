// What a queue's handle names: tuples of tensors that runs of all sessions with this container put in and take out.
//
// Four kinds (FIFOQueue, RandomShuffleQueue, PaddingFIFOQueue, PriorityQueue) with TensorFlow's rules: who comes first
// is served first; an enqueue_many may go in part by part; a dequeue_many takes what there is and waits for the rest,
// and gives it back if it is cancelled or the queue is closed before it has enough.
//
// Ownership: shared by the ResourceManager and the runs that use it. Thread-safe; never blocks a thread.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "caudal/core/waiting_room.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0::internal {

// "float", "int32": as TensorFlow's C++ writes types in messages.
std::string type_word(DType dtype);
// "float, int32".
std::string type_words(const std::vector<DType>& dtypes);
// "[[], [2,?]]".
std::string shape_words(const std::vector<PartialShape>& shapes);

// Shapes as an attribute declares them where they must be fully known: as TensorFlow has it, a shape of unknown rank is
// a scalar's.
std::vector<PartialShape> declared_shapes(std::vector<PartialShape> shapes);

// One value of each component.
using Tuple = std::vector<Tensor>;

// On whose behalf a queue is used. Both live until the call's `done`.
struct QueueCaller {
  CancellationToken* cancellation = nullptr;
  Allocator* allocator = nullptr;  // for what the queue copies
};

class QueueResource : public Resource, public WaitingRoom {
 public:
  static constexpr std::int64_t kUnbounded = std::numeric_limits<std::int32_t>::max();
  using TupleDone = std::function<void(const Error* error, Tuple tuple)>;

  struct Spec {
    std::string op;  // "FIFOQueue" or "FIFOQueueV2"
    std::string name;
    std::int64_t capacity = kUnbounded;  // tuples; negative: unbounded
    std::vector<DType> types;
    std::vector<PartialShape> shapes;  // of the components; empty: not specified
    // RandomShuffleQueue: how many must stay so that the shuffle is good, and Philox's seeds (both 0: from the system).
    std::int64_t min_after_dequeue = 0, seed = 0, seed2 = 0;
    std::string kind() const;  // without "V2"
  };
  // Throws INVALID_ARGUMENT for a spec that no queue can have. A PriorityQueue's first component is its int64 scalar.
  static std::shared_ptr<QueueResource> make(Spec spec);

  const Spec& spec() const { return spec_; }
  // Throws INVALID_ARGUMENT, saying what differs, unless a node that asks for `wanted` may share this queue.
  void check_matches(const Spec& wanted) const;

  // Each calls `done` once: here, or later from another run. Errors: INVALID_ARGUMENT for tuples of other types or
  // shapes, CANCELLED for enqueues into a closed queue and for cancelled steps, OUT_OF_RANGE for dequeues of what will
  // never come. An enqueue takes kept tensors (Tensor::keep()).
  void enqueue(const QueueCaller& caller, Tuple tuple, Done done);
  // The components' first dimension counts tuples.
  void enqueue_many(const QueueCaller& caller, Tuple batch, Done done);
  void dequeue(const QueueCaller& caller, TupleDone done);
  // `count` tuples, packed along a new first dimension. up_to: fewer, but at least one, if the queue is closed.
  void dequeue_many(const QueueCaller& caller, std::int64_t count, bool up_to, TupleDone done);
  // No more enqueues; those that wait already still get in, unless they are cancelled. CANCELLED if it is closed.
  void close(CancellationToken* cancellation, bool cancel_pending_enqueues, Done done);
  std::int64_t size() const;
  bool is_closed() const;

  std::string describe() const override;

 protected:
  explicit QueueResource(Spec spec);

  // The store; all are called under the lock.
  virtual std::int64_t count() const = 0;
  virtual void push(Tuple tuple) = 0;
  virtual Tuple pop() = 0;
  // Tuples that were popped and not delivered, in the order in which they were popped.
  virtual void put_back(std::vector<Tuple> tuples) = 0;
  // How many a dequeue may take now.
  virtual std::int64_t available() const { return count(); }

  // Whether a dequeue_many takes what there is and waits for the rest, or waits until all is there.
  virtual bool takes_in_parts() const { return true; }
  virtual Error no_shapes() const;
  virtual Tuple pack(std::vector<Tuple> tuples, Allocator& allocator) const;
  // Throws INVALID_ARGUMENT. `shape` is what a component of the tuple has, `expected` what it must fit.
  virtual bool fits(const Shape& shape, const PartialShape& expected) const;

  bool closed() const { return closed_; }
  Error is_closed_error() const;
  Error insufficient(std::int64_t requested, std::int64_t present) const;

 private:
  struct Batch;

  void check_types(const Tuple& tuple) const;
  void check_tuple(const Tuple& tuple) const;
  std::int64_t check_batch(const Tuple& batch) const;
  Outcome try_enqueue_many(const Tuple& batch, std::int64_t size, std::int64_t* next, Allocator& allocator);
  Outcome try_take(Batch& batch);
  Outcome give_up(Batch& batch);

  const Spec spec_;
  bool closed_ = false;
};

}  // namespace caudal::inline v0::internal
