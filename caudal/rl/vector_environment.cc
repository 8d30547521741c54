#include "caudal/rl/vector_environment.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "caudal/base/error.h"

namespace caudal::inline v0::rl {
namespace {

constexpr int kMostThreads = 1024;

int thread_count(int wanted, int environments) {
  if (wanted < 0 || wanted > kMostThreads)
    throw invalid_argument("a vector of environments has 0 to ", kMostThreads, " threads, not ", wanted);
  const auto processors = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  return std::min(wanted == 0 ? processors : wanted, environments);
}

std::size_t values_of(const Space& space) { return static_cast<std::size_t>(space.shape().num_elements()); }

// Runs `call` and says which environment failed.
template <class Call>
void named(int i, Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    throw error.in("environment " + std::to_string(i));
  }
}

}  // namespace

Environments make_many(std::string_view id, int count, const Options& options, const WrapFunction& wrap) {
  if (count < 1) throw invalid_argument("a vector needs at least one environment, not ", count);
  Environments all;
  for (int i = 0; i < count; ++i) {
    auto one = make(id, options);
    all.push_back(wrap ? wrap(std::move(one)) : std::move(one));
  }
  return all;
}

void BatchActions::check(const Space& space, int count) const {
  const auto needed = static_cast<std::size_t>(count) * (of_values_ ? values_of(space) : 1);
  const std::size_t given = of_values_ ? values_.size() : choices_.size();
  if (of_values_ == space.is_discrete() || given != needed)
    throw invalid_argument("a step of ", count, " environments with actions of ", space.to_string(), " takes ",
                           space.is_discrete() ? count : count * static_cast<int>(values_of(space)),
                           space.is_discrete() ? " choices" : " values", ", not ", given,
                           of_values_ ? " values" : " choices");
}

VectorCore::VectorCore(Environments environments, AutoReset auto_reset)
    : environments_(std::move(environments)), auto_reset_(auto_reset) {
  if (environments_.empty()) throw invalid_argument("a vector needs at least one environment");
  for (const auto& environment : environments_) {
    if (environment->observation_space() != single_observation_space() ||
        environment->action_space() != single_action_space())
      throw invalid_argument("environments of one vector have one observation and one action space; ",
                             environment->id(), " has ", environment->observation_space().to_string(), " and ",
                             environment->action_space().to_string(), ", ", environments_[0]->id(), " has ",
                             single_observation_space().to_string(), " and ", single_action_space().to_string());
  }
  const std::size_t n = environments_.size();
  results_ = {std::vector<double>(n),       std::vector<std::uint8_t>(n), std::vector<std::uint8_t>(n),
              std::vector<std::uint8_t>(n), std::vector<Info>(n),         std::vector<Info>(n)};
  ended_.resize(n);
  final_.resize(n);
}

const Tensor* VectorCore::final_observation(int i) const {
  const auto k = static_cast<std::size_t>(i);
  const bool kept = auto_reset_ == AutoReset::kSameStep && (results_.terminated[k] != 0 || results_.truncated[k] != 0);
  return kept && final_[k].valid() ? &final_[k] : nullptr;
}

void VectorCore::reset_one(int i, std::optional<std::uint64_t> seed, std::span<std::byte> observation) {
  const auto k = static_cast<std::size_t>(i);
  results_.rewards[k] = 0;
  results_.terminated[k] = results_.truncated[k] = 0;
  results_.begun[k] = 1;
  ended_[k] = 0;
  named(i, [&] { results_.reset_infos[k] = environments_[k]->reset(seed, observation); });
  results_.infos[k] = results_.reset_infos[k];
}

void VectorCore::step_one(int i, const Action& action, std::span<std::byte> observation) {
  const auto k = static_cast<std::size_t>(i);
  if (auto_reset_ == AutoReset::kNextStep && ended_[k] != 0) return reset_one(i, std::nullopt, observation);
  named(i, [&] {
    StepResult result = environments_[k]->step(action, observation);
    results_.rewards[k] = result.reward;
    results_.terminated[k] = result.terminated;
    results_.truncated[k] = result.truncated;
    results_.begun[k] = 0;
    ended_[k] = result.done();
    results_.infos[k] = std::move(result.info);
    if (!result.done() || auto_reset_ != AutoReset::kSameStep) return;
    if (!observation.empty()) {
      if (!final_[k].valid()) final_[k] = single_observation_space().empty_value();
      std::memcpy(final_[k].raw(), observation.data(), observation.size());
    }
    results_.reset_infos[k] = environments_[k]->reset(std::nullopt, observation);
    results_.begun[k] = 1;
    ended_[k] = 0;
  });
}

std::span<std::byte> VectorCore::row(std::span<std::byte> batch, int i) const {
  if (batch.empty()) return {};
  const std::size_t size = single_observation_space().byte_size();
  return batch.subspan(static_cast<std::size_t>(i) * size, size);
}

void VectorCore::check_batch(std::span<std::byte> batch) const {
  const std::size_t needed = environments_.size() * single_observation_space().byte_size();
  if (!batch.empty() && batch.size() != needed)
    throw invalid_argument("a batch of ", size(), " observations of ", single_observation_space().to_string(),
                           " takes ", needed, " bytes, the memory given has ", batch.size());
}

VectorEnvironment::VectorEnvironment(Environments environments, const VectorOptions& options)
    : core_(std::move(environments), options.auto_reset),
      pool_(std::make_unique<ThreadPool>(thread_count(options.threads, core_.size()))) {}

const VectorStep& VectorEnvironment::reset(std::optional<std::uint64_t> seed, std::span<std::byte> observations) {
  core_.check_batch(observations);
  pool_->parallel_for(size(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<int>(begin); i < end; ++i) {
      const auto own = seed ? std::optional(*seed + static_cast<std::uint64_t>(i)) : std::nullopt;
      core_.reset_one(i, own, core_.row(observations, i));
    }
  });
  return core_.results();
}

const VectorStep& VectorEnvironment::reset(std::span<const std::uint64_t> seeds, std::span<std::byte> observations) {
  const std::vector<std::uint8_t> all(static_cast<std::size_t>(size()), 1);
  if (static_cast<int>(seeds.size()) != size())
    throw invalid_argument("a reset of ", size(), " environments takes as many seeds, not ", seeds.size());
  return reset_some(all, seeds, observations);
}

const VectorStep& VectorEnvironment::reset_some(std::span<const std::uint8_t> which,
                                                std::span<const std::uint64_t> seeds,
                                                std::span<std::byte> observations) {
  core_.check_batch(observations);
  const auto fits = [&](std::size_t given) { return static_cast<int>(given) == size(); };
  if (!fits(which.size()) || (!seeds.empty() && !fits(seeds.size())))
    throw invalid_argument("a reset of some of ", size(), " environments takes a mask of as many, not ", which.size(),
                           ", and as many seeds or none, not ", seeds.size());
  pool_->parallel_for(size(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      if (which[i] == 0) continue;
      const auto own = seeds.empty() ? std::nullopt : std::optional(seeds[i]);
      core_.reset_one(static_cast<int>(i), own, core_.row(observations, static_cast<int>(i)));
    }
  });
  return core_.results();
}

const VectorStep& VectorEnvironment::step(const BatchActions& actions, std::span<std::byte> observations) {
  core_.check_batch(observations);
  actions.check(single_action_space(), size());
  const std::size_t width = values_of(single_action_space());
  pool_->parallel_for(size(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<int>(begin); i < end; ++i)
      core_.step_one(i, actions.at(i, width), core_.row(observations, i));
  });
  return core_.results();
}

AsyncVectorEnvironment::AsyncVectorEnvironment(Environments environments, std::span<std::byte> observations,
                                               const VectorOptions& options)
    : core_(std::move(environments), options.auto_reset),
      observations_(observations),
      choices_(static_cast<std::size_t>(core_.size())),
      values_(static_cast<std::size_t>(core_.size())),
      busy_(static_cast<std::size_t>(core_.size())),
      failures_(static_cast<std::size_t>(core_.size())) {
  core_.check_batch(observations);
  if (observations.empty()) throw invalid_argument("an asynchronous vector needs memory for its observations");
  const int count = thread_count(options.threads, core_.size());
  for (int i = 0; i < count; ++i) threads_.emplace_back([this] { worker_main(); });
}

AsyncVectorEnvironment::~AsyncVectorEnvironment() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    work_.clear();
  }
  work_there_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void AsyncVectorEnvironment::reset(std::optional<std::uint64_t> seed) {
  {
    const std::lock_guard lock(mutex_);
    if (under_way_ > 0 || !ready_.empty())
      throw failed_precondition("a reset while ", under_way_ + static_cast<int>(ready_.size()),
                                " environments have not been received")
          .hint("Receive them first.");
    for (int i = 0; i < size(); ++i)
      start(i, {i, true, seed ? std::optional(*seed + static_cast<std::uint64_t>(i)) : std::nullopt});
  }
  work_there_.notify_all();
}

void AsyncVectorEnvironment::send(std::span<const int> ids, const BatchActions& actions) {
  actions.check(single_action_space(), static_cast<int>(ids.size()));
  const std::size_t width = values_of(single_action_space());
  {
    const std::lock_guard lock(mutex_);
    std::vector<std::uint8_t> named_before(busy_.size());
    for (const int id : ids) {
      if (id < 0 || id >= size()) throw out_of_range("there is no environment ", id, " among ", size());
      auto& before = named_before[static_cast<std::size_t>(id)];
      if (busy_[static_cast<std::size_t>(id)] != 0 || before != 0)
        throw failed_precondition("environment ", id, " has not been received since something was sent to it");
      before = 1;
    }
    for (std::size_t k = 0; k < ids.size(); ++k) {
      const auto id = static_cast<std::size_t>(ids[k]);
      const Action action = actions.at(static_cast<int>(k), width);
      if (action.is_choice())
        choices_[id] = action.choice();
      else
        values_[id].assign(action.values().begin(), action.values().end());
      start(ids[k], {ids[k], false, std::nullopt});
    }
  }
  work_there_.notify_all();
}

// REQUIRES: mutex_ is held.
void AsyncVectorEnvironment::start(int id, Work work) {
  busy_[static_cast<std::size_t>(id)] = 1;
  ++under_way_;
  work_.push_back(work);
}

std::vector<int> AsyncVectorEnvironment::receive(int count) {
  std::unique_lock lock(mutex_);
  const int there = under_way_ + static_cast<int>(ready_.size());
  if (count < 0 || count > there)
    throw failed_precondition("cannot receive ", count, " environments: ", there, " are under way or ready");
  ready_there_.wait(lock, [&] { return static_cast<int>(ready_.size()) >= count; });
  const auto end = ready_.begin() + count;
  const auto failed =
      std::find_if(ready_.begin(), end, [&](int id) { return failures_[static_cast<std::size_t>(id)] != nullptr; });
  if (failed != end) {  // the others stay ready
    const auto id = static_cast<std::size_t>(*failed);
    ready_.erase(failed);
    busy_[id] = 0;
    std::rethrow_exception(std::exchange(failures_[id], nullptr));
  }
  const std::vector<int> ids(ready_.begin(), end);
  ready_.erase(ready_.begin(), end);
  for (const int id : ids) busy_[static_cast<std::size_t>(id)] = 0;
  return ids;
}

void AsyncVectorEnvironment::worker_main() {
  std::unique_lock lock(mutex_);
  for (;;) {
    work_there_.wait(lock, [&] { return stop_ || !work_.empty(); });
    if (stop_) return;
    const Work work = work_.front();
    work_.pop_front();
    lock.unlock();
    std::exception_ptr failure;
    try {
      run(work);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    failures_[static_cast<std::size_t>(work.id)] = failure;
    ready_.push_back(work.id);
    --under_way_;
    ready_there_.notify_one();
  }
}

void AsyncVectorEnvironment::run(const Work& work) {
  const auto observation = core_.row(observations_, work.id);
  const auto id = static_cast<std::size_t>(work.id);
  if (work.reset) return core_.reset_one(work.id, work.seed, observation);
  if (single_action_space().is_discrete()) return core_.step_one(work.id, choices_[id], observation);
  core_.step_one(work.id, std::span<const float>(values_[id]), observation);
}

}  // namespace caudal::inline v0::rl
