// Environment: a world that an agent acts in, step by step, with Gymnasium's meaning of every word.
//
//   auto env = rl::make("CartPole-v1");
//   Tensor observation = env->observation_space().empty_value();
//   env->reset(7, bytes_of(observation));
//   for (;;) {
//     const rl::StepResult step = env->step(policy(observation), bytes_of(observation));
//     if (step.terminated || step.truncated) break;
//   }
//
// Observations are written into memory that the caller gives, so that a vector environment writes each once, into the
// learner's batch. An empty span says that nobody looks at this observation: an emulator then draws no frame.
//
// The public functions check (step before reset, actions and sizes that do not fit) and call the private do_ functions,
// which an environment or a wrapper implements. Errors: FAILED_PRECONDITION for a step before a reset or after the end
// of an episode, OUT_OF_RANGE for a choice outside the space, INVALID_ARGUMENT for memory of the wrong size.
// Thread safety: one thread at a time; different environments are independent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "caudal/base/export.h"
#include "caudal/rl/space.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0::rl {

// Sum of unclipped rewards and number of steps of an episode that has just ended (Gymnasium's info["episode"]).
struct EpisodeStatistics {
  double episode_return = 0;
  std::int64_t length = 0;
  double seconds = 0;
};

// What is told beside the observation.
struct Info {
  int lives = 0;                                  // 0 where the world has none
  std::int64_t frame_number = 0;                  // frames of the game since it was made
  std::int64_t episode_frame_number = 0;          // frames of this episode
  std::optional<EpisodeStatistics> episode = {};  // on the last step, if something counts (wrappers.h)
  std::string more = {};                          // a JSON object of a foreign environment's other entries, or empty
};

struct StepResult {
  double reward = 0;
  bool terminated = false;  // the world ended: nothing can be gained after this step
  bool truncated = false;   // cut off from outside, as by a time limit: the value of what follows is not zero
  Info info = {};
  bool done() const { return terminated || truncated; }
};

class CAUDAL_API Environment {
 public:
  virtual ~Environment();
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  // The id it was made with; wrappers keep the id of what they wrap.
  const std::string& id() const { return id_; }
  const Space& observation_space() const { return observation_space_; }
  const Space& action_space() const { return action_space_; }
  // Frames of a video per second of the world's time.
  virtual double frames_per_second() const { return 30; }

  // Begins an episode. With a seed all that follows depends on the seed and the actions alone, as in Gymnasium;
  // without, the random numbers go on (the first time from the operating system's entropy).
  Info reset(std::optional<std::uint64_t> seed, std::span<std::byte> observation);
  StepResult step(const Action& action, std::span<std::byte> observation);

  // The world as a person sees it: uint8 [height, width, 3]. FAILED_PRECONDITION before the first reset.
  Tensor render();

  // Everything that the future depends on, random numbers included, as bytes for restore_state of an environment made
  // with the same id and options. UNIMPLEMENTED where a foreign world cannot.
  std::string save_state() const;
  // DATA_LOSS for bytes that save_state did not make (the environment then needs a reset); INVALID_ARGUMENT for the
  // state of another id.
  void restore_state(std::string_view state);

  // The environment inside all wrappers.
  virtual Environment& unwrapped() { return *this; }

 protected:
  Environment(std::string id, Space observation_space, Space action_space);
  void set_observation_space(Space space) { observation_space_ = std::move(space); }
  void set_action_space(Space space) { action_space_ = std::move(space); }

 private:
  // The span is empty or has the size of an observation; the action lies in the space. do_step is called only between
  // do_reset and the end of the episode.
  virtual Info do_reset(std::optional<std::uint64_t> seed, std::span<std::byte> observation) = 0;
  virtual StepResult do_step(const Action& action, std::span<std::byte> observation) = 0;
  virtual Tensor do_render() = 0;
  virtual void do_save(std::string* out) const = 0;
  // False if the bytes are none of do_save's.
  virtual bool do_restore(std::string_view state) = 0;

  void check_size(std::span<std::byte> observation) const;
  void check_action(const Action& action) const;

  enum class Phase : std::uint8_t { kNew, kRunning, kEnded };
  std::string id_;
  Space observation_space_, action_space_;
  Phase phase_ = Phase::kNew;
};

}  // namespace caudal::inline v0::rl
