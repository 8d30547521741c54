#include "caudal/io/queue_runner.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "caudal/base/log.h"
#include "caudal/formats/wire.h"
#include "caudal/graph/scope.h"

namespace caudal::inline v0::train {

// How many enqueuing threads run in which session.
struct QueueRunner::Runs {
  std::mutex mutex;
  std::map<const Session*, std::size_t> per_session;

  bool begin(const Session* session, std::size_t threads) {
    const std::lock_guard lock(mutex);
    return per_session.emplace(session, threads).second;
  }
  // True for the last one.
  bool end(const Session* session) {
    const std::lock_guard lock(mutex);
    const auto found = per_session.find(session);
    if (--found->second > 0) return false;
    per_session.erase(found);
    return true;
  }
};

QueueRunner::QueueRunner(const QueueBase& queue, std::vector<Operation> enqueue_ops, const QueueRunnerOptions& options)
    : queue_(queue.queue_ref()),
      enqueue_ops_(std::move(enqueue_ops)),
      close_op_(options.close_op),
      cancel_op_(options.cancel_op),
      closed_codes_(options.queue_closed_exception_types),
      runs_(std::make_shared<Runs>()) {
  if (enqueue_ops_.empty()) throw invalid_argument("Must provide queue and enqueue_ops.");
  if (!close_op_) close_op_ = queue.close();
  if (!cancel_op_) cancel_op_ = queue.close(true);
}

const std::string& QueueRunner::name() const { return queue_.node()->name(); }

// QueueRunnerDef: queue_name = 1, enqueue_op_name = 2 (repeated), close_op_name = 3, cancel_op_name = 4,
// queue_closed_exception_types = 5 (repeated, packed; codes are below 128, one byte each).
QueueRunner QueueRunner::from_proto(std::string_view bytes, Graph& graph) {
  QueueRunner runner;
  runner.runs_ = std::make_shared<Runs>();
  WireReader def(bytes, "QueueRunnerDef");
  while (def.next()) {
    switch (def.field()) {
      case 1:
        runner.queue_ = graph.tensor(def.bytes());
        break;
      case 2:
        runner.enqueue_ops_.push_back(graph.operation(def.bytes()));
        break;
      case 3:
        runner.close_op_ = graph.operation(def.bytes());
        break;
      case 4:
        runner.cancel_op_ = graph.operation(def.bytes());
        break;
      case 5:
        if (def.type() == WireType::kVarint) {
          runner.closed_codes_.push_back(static_cast<Code>(def.varint()));
        } else {
          for (const char code : def.bytes()) runner.closed_codes_.push_back(static_cast<Code>(code));
        }
        break;
      default:
        break;
    }
  }
  if (!runner.queue_ || runner.enqueue_ops_.empty() || !runner.close_op_ || !runner.cancel_op_) {
    throw data_loss("a QueueRunnerDef of ", bytes.size(), " bytes lacks its queue, enqueues, close or cancel");
  }
  if (runner.closed_codes_.empty()) runner.closed_codes_ = {Code::kOutOfRange};
  return runner;
}

std::string QueueRunner::to_proto() const {
  WireWriter def;
  def.bytes(1, queue_.node()->name());
  for (const Operation& op : enqueue_ops_) def.bytes(2, op.name());
  def.bytes(3, close_op_.name());
  def.bytes(4, cancel_op_.name());
  std::string codes;
  for (const Code code : closed_codes_) codes += static_cast<char>(code);
  def.bytes_unless_default(5, codes);
  return std::move(def).str();
}

bool QueueRunner::ends_quietly(Code code) const {
  return std::ranges::find(closed_codes_, code) != closed_codes_.end();
}

void QueueRunner::run(Session& session, const Operation& enqueue, Coordinator& coordinator) const {
  try {
    const auto callable = session.make_callable({enqueue});
    while (!coordinator.should_stop()) callable({});
  } catch (const Error& error) {
    if (!ends_quietly(error.code())) {
      runs_->end(&session);
      throw;
    }
    if (!runs_->end(&session)) return;
    try {
      session.run(close_op_);
    } catch (const Error& ignored) {
      log_info("queue '", name(), "' was not closed: ", ignored.what());
    }
    return;
  }
  runs_->end(&session);
}

void QueueRunner::create_threads(Session& session, Coordinator& coordinator) const {
  if (!runs_->begin(&session, enqueue_ops_.size())) return;
  for (const Operation& op : enqueue_ops_) {
    coordinator.start("QueueRunnerThread-" + name() + "-" + op.name(),
                      [runner = *this, op, &session, &coordinator] { runner.run(session, op, coordinator); });
  }
  coordinator.start("QueueRunnerThread-" + name() + "-close_on_stop", [runner = *this, &session, &coordinator] {
    coordinator.wait_for_stop();
    try {
      session.run(runner.cancel_op_);
    } catch (const Error& ignored) {
      log_info("queue '", runner.name(), "' was not cancelled: ", ignored.what());
    }
  });
}

void add_queue_runner(const QueueRunner& runner, std::string_view collection) {
  CollectionItem item;
  item.object = std::make_shared<const QueueRunner>(runner);
  item.text = runner.to_proto();
  runner.close_op().node()->graph().add_to_collection(collection, std::move(item));
}

std::vector<QueueRunner> queue_runners(Graph& graph, std::string_view collection) {
  std::vector<QueueRunner> runners;
  for (const CollectionItem& item : graph.collection(collection)) {
    if (item.object != nullptr) {
      runners.push_back(*static_cast<const QueueRunner*>(item.object.get()));
    } else if (!item.text.empty()) {
      runners.push_back(QueueRunner::from_proto(item.text, graph));
    }
  }
  return runners;
}

void start_queue_runners(Session& session, Coordinator& coordinator, std::string_view collection) {
  const auto runners = queue_runners(session.graph(), collection);
  if (runners.empty()) log_warning("start_queue_runners() was called for a graph without queue runners");
  for (const QueueRunner& runner : runners) runner.create_threads(session, coordinator);
}

}  // namespace caudal::inline v0::train
