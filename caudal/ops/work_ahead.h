// Elements made ahead of their use, by threads: what PrefetchDataset and ParallelMapDataset share.
//
// Threads take elements from a source one after another, work on them side by side, and the results come out in the
// order of the source, errors included. The threads start with the first call of next() and end with the object.
// Thread safety: next() and transfer() belong to one thread at a time.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "caudal/ops/dataset.h"

namespace caudal::inline v0::ops {

class WorkAhead {
 public:
  // The next element of the source, or false at the end. Called by one thread at a time.
  using Source = std::function<bool(const Iteration& c, Element& element)>;
  // Called by several threads at once. Empty: elements pass as they are.
  using Work = std::function<Element(const Iteration& c, Element element)>;

  // At most `limit` elements are ahead.
  WorkAhead(const Iteration& c, Source source, Work work, int threads, std::int64_t limit);
  ~WorkAhead();
  WorkAhead(const WorkAhead&) = delete;
  WorkAhead& operator=(const WorkAhead&) = delete;

  bool next(const Iteration& c, Element& element);
  // The elements that are ahead, as part of a state; `source` transfers the source's position. While it saves, waits
  // until no thread works: then nothing else that they use changes meanwhile, either.
  void transfer(StateArchive& archive, const std::function<void()>& source);

 private:
  struct Slot {
    bool done = false;
    Element element;
    std::optional<Error> error;
    std::unique_ptr<ElementCharge> charge = nullptr;
  };
  void start();
  void work();
  void take_one(std::unique_lock<std::mutex>& source_lock);
  bool idle() const;

  const Iteration iteration_;
  const Source source_;
  const Work work_;
  const int num_threads_;
  const std::int64_t limit_;
  std::mutex source_mutex_;
  std::mutex mutex_;  // of what follows; taken after source_mutex_
  std::condition_variable ready_, space_;
  std::deque<std::shared_ptr<Slot>> slots_;
  bool source_ended_ = false, stop_ = false;
  std::vector<std::thread> threads_;
};

// A number of threads from an argument num_parallel_calls: -1 stands for one per core. Throws INVALID_ARGUMENT for zero
// and other negative numbers.
int parallel_calls(const RunContext& c, std::int64_t asked);

}  // namespace caudal::inline v0::ops
