#include "caudal/ops/reader_resource.h"

#include <atomic>
#include <utility>

#include "caudal/formats/wire.h"

namespace caudal::inline v0::internal {

ReaderResource::ReaderResource(std::string name, std::unique_ptr<RecordSource> source)
    : WaitingRoom(1, Order::kFirstOnly), name_(std::move(name)), source_(std::move(source)) {}

void ReaderResource::begin_work(Env& env, const std::string& work) {
  work_ = work;
  source_->open(env, work);
  ++started_;
}

// One read, from its turn to its end.
class ReaderResource::Reading : public std::enable_shared_from_this<Reading> {
 public:
  Reading(ReaderResource& reader, const QueueCaller& caller, Env& env, std::shared_ptr<QueueResource> queue,
          std::int64_t count, bool up_to, ReadDone done)
      : reader_(reader),
        caller_(caller),
        env_(env),
        queue_(std::move(queue)),
        count_(count),
        up_to_(up_to),
        done_(std::move(done)) {}

  // Goes on until all is read or a name must be waited for.
  void advance() {
    try {
      while (std::ssize(records_.keys) < count_) {
        if (!reader_.at_work()) {
          if (!ask_for_work()) return;
        } else if (read_one()) {
          break;
        }
      }
    } catch (const Error& error) {
      return end(&error);
    }
    end(nullptr);
  }

 private:
  // True at the end of a unit of work, if what has been read is enough.
  bool read_one() {
    std::string key, value;
    const RecordSource::Step step = reader_.source_->next(&key, &value);
    if (step.at_end) {
      reader_.source_->close();
      reader_.finished_ = reader_.started_;
    }
    if (step.produced) {
      ++reader_.produced_;
      records_.keys.push_back(std::move(key));
      records_.values.push_back(std::move(value));
    }
    return step.at_end && up_to_ && !records_.keys.empty();
  }

  // True if the name came at once; else its arrival goes on with the reading.
  bool ask_for_work() {
    enum { kAsking, kLeft, kArrived };
    const auto state = std::make_shared<std::atomic<int>>(kAsking);
    const auto self = shared_from_this();
    const auto failure = std::make_shared<std::optional<Error>>();
    queue_->dequeue(caller_, [self, state, failure](const Error* error, Tuple tuple) {
      try {
        if (error != nullptr) throw Error(*error);
        self->reader_.begin_work(self->env_, name_in(tuple));
      } catch (const Error& refused) {
        *failure = refused;
      }
      if (state->exchange(kArrived) == kAsking) return;
      if (*failure) return self->end(&**failure);
      self->advance();
    });
    if (state->exchange(kLeft) != kArrived) return false;
    if (*failure) throw Error(**failure);
    return true;
  }

  static std::string name_in(const Tuple& tuple) {
    if (tuple.size() != 1) throw invalid_argument("Expected single component queue");
    if (tuple[0].dtype() != DType::kString) throw invalid_argument("Expected queue with single string component");
    if (tuple[0].num_elements() != 1) throw invalid_argument("Expected to dequeue a one-element string tensor");
    return tuple[0].item<std::string>();
  }

  void end(const Error* error) {
    reader_.change([this] { reader_.taken_ = false; });
    done_(error, std::move(records_));
  }

  ReaderResource& reader_;
  const QueueCaller caller_;
  Env& env_;
  const std::shared_ptr<QueueResource> queue_;
  const std::int64_t count_;
  const bool up_to_;
  ReadDone done_;
  Records records_;
};

void ReaderResource::read(const QueueCaller& caller, Env& env, std::shared_ptr<QueueResource> queue, std::int64_t count,
                          bool up_to, ReadDone done) {
  if (count < 0) throw invalid_argument("num_records must be >= 0 not ", count);
  const auto reading = std::make_shared<Reading>(*this, caller, env, std::move(queue), count, up_to, done);
  wait(0, {.attempt = [this] { return std::exchange(taken_, true) ? Outcome::kWait : Outcome::kDone; },
           .done =
               [reading, done](const Error* error) {
                 if (error != nullptr) return done(error, {});
                 reading->advance();
               },
           .cancellation = caller.cancellation,
           .cancelled = "Read operation was cancelled"});
}

void ReaderResource::take_turn(CancellationToken* cancellation, std::function<void()> use, Done done) {
  wait(0, {.attempt = [this] { return std::exchange(taken_, true) ? Outcome::kWait : Outcome::kDone; },
           .done =
               [this, use = std::move(use), done = std::move(done)](const Error* error) {
                 if (error != nullptr) return done(error);
                 std::optional<Error> failure;
                 try {
                   use();
                 } catch (const Error& thrown) {
                   failure = thrown;
                 }
                 change([this] { taken_ = false; });
                 done(failure ? &*failure : nullptr);
               },
           .cancellation = cancellation,
           .cancelled = "Read operation was cancelled"});
}

void ReaderResource::reset() {
  started_ = finished_ = produced_ = 0;
  work_.clear();
  source_->close();
}

// ReaderBaseState: work_started, work_finished, num_records_produced, current_work.
std::string ReaderResource::save_state() const {
  if (!source_->has_plain_state()) throw unimplemented("Reader SerializeState");
  WireWriter state;
  state.varint_unless_default(1, static_cast<std::uint64_t>(started_));
  state.varint_unless_default(2, static_cast<std::uint64_t>(finished_));
  state.varint_unless_default(3, static_cast<std::uint64_t>(produced_));
  state.bytes_unless_default(4, work_);
  return std::move(state).str();
}

void ReaderResource::restore_state(std::string_view bytes) {
  if (!source_->has_plain_state()) throw unimplemented("Reader RestoreState");
  reset();
  std::int64_t started = 0, finished = 0, produced = 0;
  std::string work;
  try {
    WireReader state(bytes, "ReaderBaseState");
    while (state.next()) {
      if (state.field() == 1) started = state.int64();
      if (state.field() == 2) finished = state.int64();
      if (state.field() == 3) produced = state.int64();
      if (state.field() == 4) work = std::string(state.bytes());
    }
  } catch (const Error&) {
    throw invalid_argument("Could not parse state for ", name_, ": ", bytes.size(), " bytes");
  }
  if (started < 0 || finished < 0 || produced < 0) {
    throw invalid_argument("Unexpected negative value when restoring in ", name_);
  }
  if (started > finished) throw invalid_argument("Inconsistent work started vs. finished when restoring in ", name_);
  started_ = started;
  finished_ = finished;
  produced_ = produced;
  work_ = work;
}

}  // namespace caudal::inline v0::internal
