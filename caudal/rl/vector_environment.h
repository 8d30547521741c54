// Many environments at once: each observation is written once, into its row of the learner's batch.
//
//   rl::VectorEnvironment envs(rl::make_many("CartPole-v1", 16), {.threads = 2});
//   Tensor batch = envs.single_observation_space().empty_batch(envs.size());
//   envs.reset(7, bytes_of(batch));
//   const rl::VectorStep& step = envs.step(actions, bytes_of(batch));
//
// VectorEnvironment steps all and returns when the last is done. AsyncVectorEnvironment lets each go at its own pace:
// the learner sends actions to some and receives whichever are ready. Environment i depends on its seed and its actions
// alone, never on threads or on the others.
// Errors: as Environment, with "environment i" before it; INVALID_ARGUMENT for batches of the wrong size. After an
// error of one environment the others go on; that one needs a reset. Ownership: the environments belong to the vector.
// Thread safety: one thread at a time.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/base/thread_pool.h"
#include "caudal/rl/environment.h"
#include "caudal/rl/registry.h"

namespace caudal::inline v0::rl {

using Environments = std::vector<std::unique_ptr<Environment>>;
using WrapFunction = std::function<std::unique_ptr<Environment>(std::unique_ptr<Environment>)>;

// `count` environments of an id, each wrapped by `wrap` if there is one. INVALID_ARGUMENT if count < 1.
CAUDAL_API Environments make_many(std::string_view id, int count, const Options& options = {},
                                  const WrapFunction& wrap = {});

// When an environment whose episode ended begins the next one (the names are Gymnasium's).
enum class AutoReset : std::uint8_t {
  kNextStep,  // in the next step, whose action is ignored and whose reward is 0
  kSameStep,  // at once; the last observation is kept in final_observation
  kDisabled,  // not by itself: reset_some
};

struct VectorOptions {
  int threads = 0;  // 0: as many as processors
  AutoReset auto_reset = AutoReset::kNextStep;
};

// One action for each environment: choices, or values one environment after the other. Only looks at them.
class BatchActions {
 public:
  BatchActions(std::span<const std::int64_t> choices) : choices_(choices) {}             // NOLINT
  BatchActions(const std::vector<std::int64_t>& choices) : choices_(choices) {}          // NOLINT
  BatchActions(std::span<const float> values) : of_values_(true), values_(values) {}     // NOLINT
  BatchActions(const std::vector<float>& values) : of_values_(true), values_(values) {}  // NOLINT
  // INVALID_ARGUMENT unless there are `count` actions of `space`.
  void check(const Space& space, int count) const;
  // The i-th of actions with `width` values each.
  Action at(int i, std::size_t width) const {
    if (of_values_) return values_.subspan(static_cast<std::size_t>(i) * width, width);
    return choices_[static_cast<std::size_t>(i)];
  }

 private:
  bool of_values_ = false;
  std::span<const std::int64_t> choices_;
  std::span<const float> values_;
};

// What a step gave, by environment.
struct VectorStep {
  std::vector<double> rewards;
  std::vector<std::uint8_t> terminated, truncated;
  std::vector<std::uint8_t> begun;  // the observation begins an episode (after an automatic reset)
  std::vector<Info> infos;          // of the step; with kSameStep those of the episode that ended
  std::vector<Info> reset_infos;    // where an episode began
};

// What both kinds of vectors do with one environment.
class CAUDAL_API VectorCore {
 public:
  VectorCore(Environments environments, AutoReset auto_reset);

  int size() const { return static_cast<int>(environments_.size()); }
  const Space& single_observation_space() const { return environments_[0]->observation_space(); }
  const Space& single_action_space() const { return environments_[0]->action_space(); }
  Environment& environment(int i) { return *environments_[static_cast<std::size_t>(i)]; }
  const VectorStep& results() const { return results_; }
  // The last observation of environment i's episode, if it ended in the last step; else null. With kSameStep it lies
  // here, with the other ways in the batch itself and this is null.
  const Tensor* final_observation(int i) const;

  void reset_one(int i, std::optional<std::uint64_t> seed, std::span<std::byte> observation);
  void step_one(int i, const Action& action, std::span<std::byte> observation);
  // Row i of a batch. INVALID_ARGUMENT unless the batch has the size of all observations.
  std::span<std::byte> row(std::span<std::byte> batch, int i) const;
  void check_batch(std::span<std::byte> batch) const;

 private:
  Environments environments_;
  AutoReset auto_reset_;
  VectorStep results_;
  std::vector<std::uint8_t> ended_;  // its episode ended in the step before
  std::vector<Tensor> final_;
};

class CAUDAL_API VectorEnvironment {
 public:
  // INVALID_ARGUMENT if there is no environment or they have different spaces.
  explicit VectorEnvironment(Environments environments, const VectorOptions& options = {});

  int size() const { return core_.size(); }
  const Space& single_observation_space() const { return core_.single_observation_space(); }
  const Space& single_action_space() const { return core_.single_action_space(); }
  Environment& environment(int i) { return core_.environment(i); }
  const Tensor* final_observation(int i) const { return core_.final_observation(i); }

  // Environment i gets the seed + i, as in Gymnasium, or the i-th of seeds.
  const VectorStep& reset(std::optional<std::uint64_t> seed, std::span<std::byte> observations);
  const VectorStep& reset(std::span<const std::uint64_t> seeds, std::span<std::byte> observations);
  // Those with which[i] != 0; the other rows stay. `seeds` is empty or has one for each environment.
  const VectorStep& reset_some(std::span<const std::uint8_t> which, std::span<const std::uint64_t> seeds,
                               std::span<std::byte> observations);
  // The result is valid until the next call. An empty span: nobody looks.
  const VectorStep& step(const BatchActions& actions, std::span<std::byte> observations);

 private:
  VectorCore core_;
  std::unique_ptr<ThreadPool> pool_;
};

class CAUDAL_API AsyncVectorEnvironment {
 public:
  // Starts options.threads threads. Environment i writes its observations into row i of `observations`, which must stay
  // while the vector lives; a row may be read from the time it is received until something is sent to it again.
  AsyncVectorEnvironment(Environments environments, std::span<std::byte> observations,
                         const VectorOptions& options = {});
  ~AsyncVectorEnvironment();
  AsyncVectorEnvironment(const AsyncVectorEnvironment&) = delete;
  AsyncVectorEnvironment& operator=(const AsyncVectorEnvironment&) = delete;

  int size() const { return core_.size(); }
  const Space& single_observation_space() const { return core_.single_observation_space(); }
  const Space& single_action_space() const { return core_.single_action_space(); }
  const Tensor* final_observation(int i) const { return core_.final_observation(i); }
  // Rows of received environments are valid.
  const VectorStep& results() const { return core_.results(); }

  // Every environment begins to reset and will be received once. FAILED_PRECONDITION if some are under way.
  void reset(std::optional<std::uint64_t> seed);
  // actions[k] goes to environment ids[k]. FAILED_PRECONDITION if one is under way already.
  void send(std::span<const int> ids, const BatchActions& actions);
  // Waits until `count` environments are ready and gives their ids, in the order in which they became so.
  // FAILED_PRECONDITION if fewer are under way or ready. If one of them failed, its error is thrown, it counts as
  // received, and the others stay ready.
  std::vector<int> receive(int count);

 private:
  struct Work {
    int id;
    bool reset;
    std::optional<std::uint64_t> seed;
  };
  void start(int id, Work work);
  void worker_main();
  void run(const Work& work);

  VectorCore core_;
  std::span<std::byte> observations_;
  std::vector<std::int64_t> choices_;
  std::vector<std::vector<float>> values_;
  std::vector<std::uint8_t> busy_;
  std::mutex mutex_;
  std::condition_variable work_there_, ready_there_;
  std::deque<Work> work_;
  std::deque<int> ready_;
  std::vector<std::exception_ptr> failures_;
  int under_way_ = 0;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace caudal::inline v0::rl
