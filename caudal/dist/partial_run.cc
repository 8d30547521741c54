#include "caudal/dist/partial_run.h"

#include <condition_variable>
#include <optional>
#include <set>
#include <utility>

#include "caudal/base/error.h"
#include "caudal/ops/rendezvous_ops.h"

namespace caudal::inline v0 {
namespace {

std::string full_name(const std::string& name) { return name.find(':') == std::string::npos ? name + ":0" : name; }

// Waits for one tensor, shared with a callback that may come after the waiting has ended.
class Arrival {
 public:
  void arrived(const Error* error, Rendezvous::Item item) {
    std::lock_guard lock(mutex_);
    if (ended_) return;
    ended_ = true;
    if (error != nullptr) error_ = *error;
    item_ = std::move(item);
    signal_.notify_all();
  }
  Tensor wait() {
    std::unique_lock lock(mutex_);
    signal_.wait(lock, [this] { return ended_; });
    if (error_) throw Error(*error_);
    return std::move(item_.tensor);
  }

 private:
  std::mutex mutex_;
  std::condition_variable signal_;
  bool ended_ = false;
  std::optional<Error> error_;
  Rendezvous::Item item_;
};

}  // namespace

PartialRun::PartialRun(std::shared_ptr<const void> graph, std::vector<Output> feeds, std::vector<Output> fetches,
                       std::string device, std::function<void(CancellationToken&, Rendezvous&)> run)
    : graph_(std::move(graph)), device_(std::move(device)) {
  for (const Output& feed : feeds) feeds_[feed.name()] = {feed};
  for (const Output& fetch : fetches) fetches_[fetch.name()] = {fetch};
  thread_ = std::thread([this, run = std::move(run)] {
    try {
      run(cancellation_, rendezvous_);
    } catch (const Error& error) {
      {
        std::lock_guard lock(mutex_);
        failure_ = error;
      }
      rendezvous_.abort(error);
    }
  });
}

PartialRun::~PartialRun() {
  cancel(cancelled("the partial run was given up"));
  if (thread_.joinable()) thread_.join();
}

std::string PartialRun::key(const Endpoint& endpoint) const {
  constexpr std::uint64_t kIncarnation = 1;  // what ServedGraph::with_rendezvous writes
  return rendezvous_key(device_, kIncarnation, device_, endpoint.output.name(), 0, 0);
}

// What must be fed for `fetch` has been fed.
void PartialRun::check_computable(const Output& fetch) const {
  std::set<const Node*> seen;
  std::vector<Output> open{fetch};
  while (!open.empty()) {
    const Output output = open.back();
    open.pop_back();
    if (const auto feed = feeds_.find(output.name()); feed != feeds_.end()) {
      if (feed->second.done) continue;
      throw invalid_argument("Fetch ", fetch.name(), " can't be computed from the feeds that have been fed so far.")
          .hint(internal::concat("Feed ", feed->first, " first."));
    }
    if (!seen.insert(output.node()).second) continue;
    for (const Output& input : output.node()->inputs()) open.push_back(input);
    for (Node* before : output.node()->control_inputs()) {
      // Only nodes without outputs have no tensor that could be fed.
      if (before->num_outputs() > 0) open.push_back(before->output(0));
    }
  }
}

void PartialRun::check(const std::vector<NamedTensor>& feeds, const std::vector<std::string>& fetches) {
  std::lock_guard lock(mutex_);
  if (failure_) throw Error(*failure_);
  for (const NamedTensor& feed : feeds) {
    const auto found = feeds_.find(full_name(feed.name));
    if (found == feeds_.end()) {
      throw invalid_argument("The feed ", feed.name, " was not specified in partial_run_setup.");
    }
    if (found->second.done) throw invalid_argument("The feed ", feed.name, " has already been fed.");
    if (feed.tensor.dtype() != found->second.output.dtype()) {
      throw invalid_argument("the feed of '", feed.name, "' is ", feed.tensor.describe(), "; ",
                             found->second.output.dtype(), " is wanted");
    }
  }
  for (const std::string& fetch : fetches) {
    const auto found = fetches_.find(full_name(fetch));
    if (found == fetches_.end()) {
      throw invalid_argument("The fetch ", fetch, " was not specified in partial_run_setup.");
    }
    if (found->second.done) throw invalid_argument("The fetch ", fetch, " has already been fetched.");
  }
  for (const NamedTensor& feed : feeds) feeds_.at(full_name(feed.name)).done = true;
  try {
    for (const std::string& fetch : fetches) check_computable(fetches_.at(full_name(fetch)).output);
  } catch (...) {
    for (const NamedTensor& feed : feeds) feeds_.at(full_name(feed.name)).done = false;
    throw;
  }
  for (const std::string& fetch : fetches) fetches_.at(full_name(fetch)).done = true;
}

std::vector<NamedTensor> PartialRun::step(const std::vector<NamedTensor>& feeds,
                                          const std::vector<std::string>& fetches, CancellationToken& cancellation) {
  check(feeds, fetches);
  for (const NamedTensor& feed : feeds) {
    rendezvous_.send(key(feeds_.at(full_name(feed.name))), {.tensor = feed.tensor, .is_dead = false});
  }
  std::vector<std::shared_ptr<Arrival>> arrivals;
  for (const std::string& fetch : fetches) {
    const auto arrival = arrivals.emplace_back(std::make_shared<Arrival>());
    rendezvous_.recv_async(key(fetches_.at(full_name(fetch))), [arrival](const Error* error, Rendezvous::Item item) {
      arrival->arrived(error, std::move(item));
    });
  }
  const auto linked = cancellation.on_cancel([arrivals] {
    const Error reason = cancelled("the call was cancelled");
    for (const auto& arrival : arrivals) arrival->arrived(&reason, {});
  });
  if (!linked) cancellation.check();
  std::vector<NamedTensor> results;
  std::optional<Error> failure;
  try {
    for (std::size_t i = 0; i < fetches.size(); ++i) results.push_back({fetches[i], arrivals[i]->wait()});
  } catch (const Error& error) {
    failure = error;
  }
  cancellation.forget(*linked);
  if (failure) throw Error(*failure);
  return results;
}

bool PartialRun::is_complete() const {
  std::lock_guard lock(mutex_);
  const auto all_done = [](const auto& endpoints) {
    for (const auto& [name, endpoint] : endpoints) {
      if (!endpoint.done) return false;
    }
    return true;
  };
  return all_done(feeds_) && all_done(fetches_);
}

void PartialRun::finish() {
  thread_.join();
  if (failure_) throw Error(*failure_);
}

void PartialRun::cancel(const Error& reason) {
  cancellation_.cancel(reason);
  rendezvous_.abort(reason);
}

}  // namespace caudal::inline v0
