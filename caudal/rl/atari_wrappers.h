// The two usual ways to preprocess Atari games, each as one wrapper that reads the console's screen itself: RLlib's
// wrap_deepmind and Gymnasium's AtariPreprocessing.
//
//   auto env = rl::wrap_deepmind(rl::make("PongNoFrameskip-v4"));            // uint8 [84, 84, 4]
//   auto env = rl::atari_preprocessing(rl::make("ALE/Pong-v5", {{"frameskip", "1"}}), {.stack = 4});  // uint8 [4, 84,
//   84]
//
// Errors: INVALID_ARGUMENT for an environment that is no Atari game (or CaudalPong) and for options out of range.
// Thread safety: as an Environment.
#pragma once

#include <memory>

#include "caudal/base/export.h"
#include "caudal/rl/environment.h"

namespace caudal::inline v0::rl {

struct DeepMindOptions {
  int dim = 84;         // of the picture, both sides
  int stack = 4;        // pictures in an observation, the newest last; 1: no stacking
  int most_noops = 30;  // an episode begins with 1 to so many steps of NOOP; 0: with none
  bool episodic_life = true;
  bool fire_reset = true;
};

// As rllib.env.wrappers.atari_wrappers.wrap_deepmind: no-ops at the start, the maximum of the last two of four frames
// (for ids with NoFrameskip only: the others skip themselves), a lost life ends the episode (the game goes on at the
// next reset), FIRE and the action after it to begin, gray, resized. Observations: uint8 [dim, dim, stack]. Rewards are
// not clipped: that belongs to the sampler. Info::episode tells of whole games, counted in steps of the wrapped
// environment. A reset with a seed always begins a new game.
CAUDAL_API std::unique_ptr<Environment> wrap_deepmind(std::unique_ptr<Environment> atari,
                                                      const DeepMindOptions& options = {});

struct AtariPreprocessingOptions {
  int most_noops = 30;
  int frame_skip = 4;
  int screen_size = 84;
  bool terminal_on_life_loss = false;
  bool grayscale_obs = true;
  bool grayscale_newaxis = false;
  bool scale_obs = false;  // float32 from 0 to 1
  int stack = 0;           // FrameStackObservation(stack) around it; 0: none
};

// As gymnasium.wrappers.AtariPreprocessing. Observations: [screen_size, screen_size] with 3 behind it for colours and 1
// for grayscale_newaxis, and `stack` before it. INVALID_ARGUMENT if frame_skip > 1 and the environment skips itself.
CAUDAL_API std::unique_ptr<Environment> atari_preprocessing(std::unique_ptr<Environment> atari,
                                                            const AtariPreprocessingOptions& options = {});

}  // namespace caudal::inline v0::rl
