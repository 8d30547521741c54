#include "caudal/ops/work_ahead.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "caudal/base/error.h"
#include "caudal/base/thread_pool.h"

namespace caudal::inline v0::ops {
namespace {

// How often somebody who waits looks whether its step was cancelled.
constexpr std::chrono::milliseconds kLookEvery(20);
constexpr int kMaxThreads = 32;

}  // namespace

WorkAhead::WorkAhead(const Iteration& c, Source source, Work work, int threads, std::int64_t limit)
    : iteration_{&c.host->background(), c.host},
      source_(std::move(source)),
      work_(std::move(work)),
      num_threads_(std::min(threads, kMaxThreads)),
      limit_(limit) {}

WorkAhead::~WorkAhead() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  space_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WorkAhead::start() {
  if (!threads_.empty()) return;
  for (int i = 0; i < num_threads_; ++i) threads_.emplace_back([this] { work(); });
}

void WorkAhead::work() {
  for (;;) {
    std::unique_lock source_lock(source_mutex_);
    {
      std::unique_lock lock(mutex_);
      space_.wait(lock, [&] { return stop_ || source_ended_ || std::ssize(slots_) < limit_; });
      if (stop_ || source_ended_) return;
    }
    take_one(source_lock);
  }
}

void WorkAhead::take_one(std::unique_lock<std::mutex>& source_lock) {
  auto slot = std::make_shared<Slot>();
  bool got = false;
  const auto guarded = [&](const auto& action) {
    try {
      action();
    } catch (const Error& error) {
      slot->error = error;
    } catch (const std::bad_alloc&) {
      slot->error = resource_exhausted("out of memory");
    }
  };
  guarded([&] { got = source_(iteration_, slot->element); });
  {
    const std::lock_guard lock(mutex_);
    if (!got && !slot->error) {
      source_ended_ = true;
      ready_.notify_all();
      space_.notify_all();
      return;
    }
    slot->charge = std::make_unique<ElementCharge>(iteration_);
    guarded([&] { slot->charge->add(slot->element); });
    slots_.push_back(slot);
  }
  source_lock.unlock();
  if (work_ && !slot->error) guarded([&] { slot->element = work_(iteration_, std::move(slot->element)); });
  const std::lock_guard lock(mutex_);
  slot->done = true;
  ready_.notify_all();
}

bool WorkAhead::next(const Iteration& c, Element& element) {
  start();
  std::unique_lock lock(mutex_);
  const auto ready = [&] { return slots_.empty() ? source_ended_ : slots_.front()->done; };
  while (!ready_.wait_for(lock, kLookEvery, ready)) {
    lock.unlock();
    c.check();
    lock.lock();
  }
  if (slots_.empty()) return false;
  const std::shared_ptr<Slot> slot = std::move(slots_.front());
  slots_.pop_front();
  lock.unlock();
  space_.notify_all();
  if (slot->error) throw Error(*slot->error);
  element = std::move(slot->element);
  return true;
}

bool WorkAhead::idle() const {
  return (source_ended_ || std::ssize(slots_) >= limit_) &&
         std::all_of(slots_.begin(), slots_.end(), [](const auto& slot) { return slot->done; });
}

void WorkAhead::transfer(StateArchive& archive, const std::function<void()>& source) {
  std::unique_lock lock(mutex_);
  if (!threads_.empty()) ready_.wait(lock, [&] { return idle(); });
  // A thread that fills the last place may still be about to notice; what it holds is done.
  source();
  archive.flag(source_ended_);
  const std::size_t size = archive.count(slots_.size());
  if (!archive.saving()) slots_.clear();
  for (std::size_t i = 0; i < size; ++i) {
    if (!archive.saving()) slots_.push_back(std::make_shared<Slot>(Slot{.done = true}));
    Slot& slot = *slots_[i];
    bool failed = slot.error.has_value();
    archive.flag(failed);
    if (failed) {
      auto code = static_cast<std::int64_t>(slot.error ? slot.error->code() : Code::kOk);
      std::string detail = slot.error ? slot.error->detail() : "";
      archive.number(code);
      archive.text(detail);
      if (!archive.saving()) slot.error = Error(static_cast<Code>(code), detail);
    } else {
      archive.tensors(slot.element);
    }
  }
}

int parallel_calls(const RunContext& c, std::int64_t asked) {
  if (asked == -1) return std::max(1, c.pool().num_threads());
  if (asked < 1) throw invalid_argument("num_parallel_calls must be greater than zero.");
  return static_cast<int>(std::min<std::int64_t>(asked, kMaxThreads));
}

}  // namespace caudal::inline v0::ops
