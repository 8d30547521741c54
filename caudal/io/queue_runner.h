// QueueRunner: keeps a queue filled by running its enqueue ops in threads (tf.train.QueueRunner).
//
//   tf::train::add_queue_runner(tf::train::QueueRunner(queue, {enqueue, enqueue}));   // two threads
//   ...
//   tf::train::Coordinator coord;
//   tf::train::start_queue_runners(session, coord);
//
// A runner's threads run until the coordinator stops them, the session is closed, or the ops report the end of their
// input (OUT_OF_RANGE): the last one to end closes the queue, so that what is in it can still be taken out. Runners in
// a graph's collection "queue_runners" go into meta graphs (QueueRunnerDef) and come back with them.
//
// A small handle, valid as long as its graph. Thread safety: as building a graph; create_threads() may be called for
// several sessions.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "caudal/base/error.h"
#include "caudal/base/export.h"
#include "caudal/graph/collection.h"
#include "caudal/graph/graph.h"
#include "caudal/io/coordinator.h"
#include "caudal/ops/queue_ops.h"
#include "caudal/runtime/session.h"

namespace caudal::inline v0::train {

struct QueueRunnerOptions {
  Operation close_op;                                                    // default: queue.close()
  Operation cancel_op;                                                   // default: queue.close(true)
  std::vector<Code> queue_closed_exception_types = {Code::kOutOfRange};  // what ends a thread quietly
};

class CAUDAL_API QueueRunner {
 public:
  // One thread for each of `enqueue_ops`, of which there must be some. Adds the closing ops to the graph.
  QueueRunner(const QueueBase& queue, std::vector<Operation> enqueue_ops, const QueueRunnerOptions& options = {});
  // From a serialized QueueRunnerDef. Throws DATA_LOSS for bytes that are none, NOT_FOUND for nodes that `graph` lacks.
  static QueueRunner from_proto(std::string_view bytes, Graph& graph);
  std::string to_proto() const;

  // Name of the queue's node.
  const std::string& name() const;
  const std::vector<Operation>& enqueue_ops() const { return enqueue_ops_; }
  const Operation& close_op() const { return close_op_; }
  const Operation& cancel_op() const { return cancel_op_; }

  // Starts the threads, and one that cancels waiting enqueues when the coordinator stops. Nothing if they run for this
  // session already. REQUIRES: session and coordinator outlive the threads: join() the coordinator first.
  void create_threads(Session& session, Coordinator& coordinator) const;

 private:
  struct Runs;
  QueueRunner() = default;
  void run(Session& session, const Operation& enqueue, Coordinator& coordinator) const;
  bool ends_quietly(Code code) const;

  Output queue_;
  std::vector<Operation> enqueue_ops_;
  Operation close_op_, cancel_op_;
  std::vector<Code> closed_codes_;
  std::shared_ptr<Runs> runs_;
};

// Adds it to a collection of its graph.
CAUDAL_API void add_queue_runner(const QueueRunner& runner, std::string_view collection = graph_keys::kQueueRunners);
// The runners of a collection, also those that came with a meta graph.
CAUDAL_API std::vector<QueueRunner> queue_runners(Graph& graph,
                                                  std::string_view collection = graph_keys::kQueueRunners);
// Starts all of the session's graph.
CAUDAL_API void start_queue_runners(Session& session, Coordinator& coordinator,
                                    std::string_view collection = graph_keys::kQueueRunners);

}  // namespace caudal::inline v0::train
