// What a reader's handle names: a source of records and how far it has come.
//
// Runs take turns; who reads keeps the reader while it waits for a file name from a queue, as in TensorFlow, but no
// thread waits. Ownership: shared by the ResourceManager and the runs that use it. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "caudal/core/waiting_room.h"
#include "caudal/ops/queue_resource.h"
#include "caudal/ops/record_source.h"

namespace caudal::inline v0::internal {

class ReaderResource final : public Resource, public WaitingRoom {
 public:
  struct Records {
    std::vector<std::string> keys, values;
  };
  using ReadDone = std::function<void(const Error* error, Records records)>;

  // `name` is for messages: "TextLineReader 'reader'".
  ReaderResource(std::string name, std::unique_ptr<RecordSource> source);

  // `count` records, or up to so many of one unit of work. Names of work come from `queue`, a queue of one string.
  void read(const QueueCaller& caller, Env& env, std::shared_ptr<QueueResource> queue, std::int64_t count, bool up_to,
            ReadDone done);
  // Calls `use` when it is this caller's turn; what it throws goes to `done`. `use` may call what stands below.
  void take_turn(CancellationToken* cancellation, std::function<void()> use, Done done);

  std::int64_t records_produced() const { return produced_; }
  std::int64_t work_finished() const { return finished_; }
  void reset();
  // UNIMPLEMENTED for sources with a place within their work.
  std::string save_state() const;
  // INVALID_ARGUMENT for bytes that are no state; the reader is then reset.
  void restore_state(std::string_view bytes);

  std::string describe() const override { return name_; }

 private:
  class Reading;

  bool at_work() const { return finished_ < started_; }
  void begin_work(Env& env, const std::string& work);

  const std::string name_;
  const std::unique_ptr<RecordSource> source_;
  bool taken_ = false;  // guarded by the lock; what follows belongs to whoever has its turn
  std::int64_t started_ = 0, finished_ = 0, produced_ = 0;
  std::string work_;
};

}  // namespace caudal::inline v0::internal
