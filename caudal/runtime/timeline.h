// A trace of runs as a timeline that Chrome shows (chrome://tracing, ui.perfetto.dev): a row per thread, a bar per
// node.
//
//   TimelineTracer timeline;
//   sess.run(loss, feeds, {.tracer = &timeline});
//   write_file_atomically(default_env(), "trace.json", timeline.json());
//
// Several runs may go into one timeline; it begins with the first. Format: Chrome's trace events, complete ("X") ones,
// times in microseconds. Thread safety: all members may be called from several threads.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/core/step_context.h"

namespace caudal::inline v0 {

class CAUDAL_API TimelineTracer final : public Tracer {
 public:
  struct Event {
    std::string node, op;
    std::int64_t start, end;  // nanoseconds of a steady clock
    int row;                  // threads in the order in which they appeared
  };

  void record(std::string_view node, std::string_view op, std::int64_t start, std::int64_t end) override;

  std::vector<Event> events() const;
  std::string json() const;

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::thread::id, int> rows_;
  std::vector<Event> events_;
};

}  // namespace caudal::inline v0
