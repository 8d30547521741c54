// Input pipelines of queues and threads (tf.train.string_input_producer, batch, shuffle_batch and their like).
//
//   auto names = tf::train::string_input_producer(Tensor(files), {.num_epochs = 2});
//   auto [image, label] = ...;                                   // made from names.dequeue()
//   auto batch = tf::train::shuffle_batch({image, label}, 32, 1000, 500);
//   ...
//   session.run(tf::local_variables_initializer());              // the epochs' counters
//   tf::train::Coordinator coord;
//   tf::train::start_queue_runners(session, coord);
//
// Each function adds a queue, a runner for it (collection "queue_runners") and a summary of how full it is; nodes and
// names are TensorFlow's. After num_epochs the queues close and dequeues end with OUT_OF_RANGE.
// Thread safety: as building a graph.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"
#include "caudal/ops/operand_list.h"
#include "caudal/ops/queue_ops.h"

namespace caudal::inline v0::train {

struct InputProducerOptions {
  std::optional<std::int64_t> num_epochs;  // none: for ever. Counted in a local variable "epochs".
  bool shuffle = true;                     // each epoch anew
  std::optional<std::int64_t> seed;
  std::int64_t capacity = 32;
  std::string shared_name;
  std::string name;  // default "input_producer"
  Operation cancel_op;
  std::source_location where = std::source_location::current();
};

// `tensor` as it is, so many times; then OUT_OF_RANGE. INVALID_ARGUMENT for a number below 1.
CAUDAL_API Output limit_epochs(const Operand& tensor, std::int64_t num_epochs, const OpOptions& options = {});
// A queue of the rows of `input`, whose shape must be known but for their number.
CAUDAL_API FIFOQueue input_producer(const Operand& input, const InputProducerOptions& options = {});
// A queue of strings; the run fails if there are none.
CAUDAL_API FIFOQueue string_input_producer(const Operand& strings, const InputProducerOptions& options = {});
// A queue of 0 .. limit - 1; `limit`: int32 scalar.
CAUDAL_API FIFOQueue range_input_producer(const Operand& limit, const InputProducerOptions& options = {});
// One row of each tensor, the same one; the tensors have as many rows as the first.
CAUDAL_API std::vector<Output> slice_input_producer(const OperandList& tensors,
                                                    const InputProducerOptions& options = {});

struct BatchOptions {
  int num_threads = 1;
  std::int64_t capacity = 32;
  bool enqueue_many = false;         // the tensors' first dimension counts examples
  std::vector<PartialShape> shapes;  // of one example; default: the tensors' own
  bool dynamic_pad = false;          // examples of varying sizes are padded with zeros
  bool allow_smaller_final_batch = false;
  std::string shared_name;
  std::string name;  // default "batch", "batch_join"
  std::source_location where = std::source_location::current();
};
// Examples, batch_size at a time. Throws INVALID_ARGUMENT for tensors of unknown rank unless shapes are given.
CAUDAL_API std::vector<Output> batch(const OperandList& tensors, std::int64_t batch_size,
                                     const BatchOptions& options = {});
// From several sources, one thread each (num_threads has no effect).
CAUDAL_API std::vector<Output> batch_join(const std::vector<std::vector<Output>>& tensors_list, std::int64_t batch_size,
                                          const BatchOptions& options = {});

struct ShuffleBatchOptions {
  int num_threads = 1;
  std::optional<std::int64_t> seed;
  bool enqueue_many = false;
  std::vector<PartialShape> shapes;
  bool allow_smaller_final_batch = false;
  std::string shared_name;
  std::string name;  // default "shuffle_batch", "shuffle_batch_join"
  std::source_location where = std::source_location::current();
};
// Batches drawn at random from a queue that holds at least min_after_dequeue and at most `capacity` examples.
CAUDAL_API std::vector<Output> shuffle_batch(const OperandList& tensors, std::int64_t batch_size, std::int64_t capacity,
                                             std::int64_t min_after_dequeue, const ShuffleBatchOptions& options = {});
CAUDAL_API std::vector<Output> shuffle_batch_join(const std::vector<std::vector<Output>>& tensors_list,
                                                  std::int64_t batch_size, std::int64_t capacity,
                                                  std::int64_t min_after_dequeue,
                                                  const ShuffleBatchOptions& options = {});

}  // namespace caudal::inline v0::train
