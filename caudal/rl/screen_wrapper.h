// What the Atari wrappers share: access to the game below, raw steps that draw only what is looked at, no-ops, the
// count of whole games.
//
// Thread safety: as an Environment.
#pragma once

#include <memory>
#include <string>

#include "caudal/rl/atari_environment.h"
#include "caudal/rl/wrappers.h"

namespace caudal::inline v0::rl {

class ScreenWrapper : public Wrapper {
 protected:
  // INVALID_ARGUMENT unless an AtariEnvironment is inside.
  ScreenWrapper(std::unique_ptr<Environment> inner, const char* wrapper_name);

  AtariEnvironment& atari() { return *atari_; }
  const AtariEnvironment& atari() const { return *atari_; }
  ArcadeGame& game() { return atari_->game(); }

  // A new game and 1 to `most` no-ops. `reseed`: a game that ends during the no-ops restarts with the seed, as
  // Gymnasium does; RLlib goes on.
  Info begin_game(std::optional<std::uint64_t> seed, int most_noops, bool reseed);
  // One step of the inner environment, counted. After the end of a game nothing happens, as in ALE.
  StepResult raw_step(const Action& action, bool draw);
  // The statistics of the game that has just ended.
  EpisodeStatistics statistics() const { return {return_, steps_, 0}; }

  void save_count(std::string* out) const;
  bool restore_count(ByteReader* reader);

 private:
  AtariEnvironment* atari_;
  bool direct_;  // nothing lies between this wrapper and the AtariEnvironment
  double return_ = 0;
  std::int64_t steps_ = 0;
  StepResult last_;
};

}  // namespace caudal::inline v0::rl
