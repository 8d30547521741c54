#include "caudal/rl/screen_wrapper.h"

#include "caudal/base/error.h"

namespace caudal::inline v0::rl {

ScreenWrapper::ScreenWrapper(std::unique_ptr<Environment> wrapped, const char* wrapper_name)
    : Wrapper(std::move(wrapped)),
      atari_(dynamic_cast<AtariEnvironment*>(&inner().unwrapped())),
      direct_(atari_ == &inner()) {
  if (atari_ == nullptr)
    throw invalid_argument(wrapper_name, " reads the screen of an Atari game, and ", id(), " is none")
        .hint("Games are ALE/Pong-v5, PongNoFrameskip-v4, CaudalPongNoFrameskip-v4 and so on.");
}

Info ScreenWrapper::begin_game(std::optional<std::uint64_t> seed, int most_noops, bool reseed) {
  const auto reset = [&](std::optional<std::uint64_t> with) {
    return_ = 0;
    steps_ = 0;
    last_ = {};
    return inner().reset(with, {});
  };
  Info info = reset(seed);
  if (most_noops == 0) return info;
  const auto noops = atari_->random().integers(1, most_noops + 1);
  for (std::int64_t i = 0; i < noops; ++i) {
    const StepResult step = raw_step(0, false);
    info = step.done() ? reset(reseed ? seed : std::nullopt) : step.info;
  }
  return info;
}

StepResult ScreenWrapper::raw_step(const Action& action, bool draw) {
  if (last_.done()) return {.terminated = last_.terminated, .truncated = last_.truncated, .info = last_.info};
  last_ = direct_ ? atari_->advance(action, draw) : inner().step(action, {});
  return_ += last_.reward;
  ++steps_;
  return last_;
}

void ScreenWrapper::save_count(std::string* out) const {
  put_fixed(out, return_);
  put_fixed(out, steps_);
  put_fixed(out, static_cast<std::uint8_t>(last_.terminated));
  put_fixed(out, static_cast<std::uint8_t>(last_.truncated));
}

bool ScreenWrapper::restore_count(ByteReader* reader) {
  last_ = {};
  std::uint8_t terminated, truncated;
  if (!reader->fixed(&return_) || !reader->fixed(&steps_) || !is_count(steps_) || !reader->fixed(&terminated) ||
      terminated > 1 || !reader->fixed(&truncated) || truncated > 1)
    return false;
  last_.terminated = terminated != 0;
  last_.truncated = truncated != 0;
  return true;
}

}  // namespace caudal::inline v0::rl
