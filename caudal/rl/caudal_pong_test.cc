#include <gtest/gtest.h>

#include <set>

#include "caudal/base/error.h"
#include "caudal/rl/atari_environment.h"
#include "caudal/rl/atari_wrappers.h"

namespace caudal::inline v0::rl {
namespace {

std::unique_ptr<Environment> make_frames(Options options = {}) {
  return make("CaudalPongNoFrameskip-v4", std::move(options));
}

// Rows of the ball and of the agent's paddle in the picture, or -1.
struct Seen {
  int ball = -1, paddle = -1;
};

Seen look(Environment& env) {
  auto& game = dynamic_cast<AtariEnvironment&>(env.unwrapped()).game();
  const std::uint8_t* screen = game.screen();
  Seen seen;
  for (int y = 34; y < 194; ++y) {
    for (int x = 0; x < kScreenWidth; ++x) {
      const std::uint8_t colour = screen[y * kScreenWidth + x];
      if (colour == 4 && seen.ball < 0) seen.ball = y;
      if (colour == 3 && seen.paddle < 0) seen.paddle = y;
    }
  }
  return seen;
}

// Plays a game: `choose` picks the action from what is seen.
template <class Choose>
EpisodeStatistics play_game(Environment& env, std::uint64_t seed, Choose&& choose) {
  env.reset(seed, {});
  EpisodeStatistics statistics;
  for (;;) {
    const StepResult step = env.step(choose(look(env)), {});
    EXPECT_TRUE(step.reward == 0 || step.reward == 1 || step.reward == -1);
    statistics.episode_return += step.reward;
    ++statistics.length;
    if (step.done()) return statistics;
  }
}

// Keeps the ball at the paddle's edge, so that it goes back steeply.
int edge_player(const Seen& seen) {
  if (seen.ball < 0) return 0;
  const int off = seen.ball + 2 - (seen.paddle + 13);
  return off < -3 ? 2 : off > 3 ? 3 : 0;
}

TEST(CaudalPong, HasTheAtarisFormat) {
  const auto env = make("CaudalPong-v0");
  EXPECT_EQ(env->observation_space().to_string(), "Box(0, 255, (210, 160, 3), uint8)");
  EXPECT_EQ(env->action_space().meanings(),
            (std::vector<std::string>{"NOOP", "FIRE", "RIGHT", "LEFT", "RIGHTFIRE", "LEFTFIRE"}));
}

TEST(CaudalPong, LosesToWhoeverAimsAndBeatsWhoeverDoesNot) {
  const auto env = make_frames();
  const EpisodeStatistics won = play_game(*env, 1, edge_player);
  EXPECT_GT(won.episode_return, 10);
  NumpyRandom random(3);
  const EpisodeStatistics lost =
      play_game(*env, 2, [&](const Seen&) { return static_cast<int>(random.integers(0, 6)); });
  EXPECT_LT(lost.episode_return, -15);
  EXPECT_GE(lost.episode_return, -21);
  const EpisodeStatistics idle = play_game(*env, 2, [](const Seen&) { return 0; });
  EXPECT_LT(idle.episode_return, -10);
}

TEST(CaudalPong, EndsAtTwentyOne) {
  const auto env = make_frames();
  env->reset(5, {});
  int lost = 0, won = 0;
  StepResult step;
  do {
    step = env->step(0, {});
    lost += step.reward < 0;
    won += step.reward > 0;
  } while (!step.done());
  EXPECT_TRUE(step.terminated);
  EXPECT_EQ(std::max(lost, won), 21);
}

TEST(CaudalPong, IsTheSameGameForASeed) {
  const auto a = make("CaudalPong-v0"), b = make("CaudalPong-v0");
  Tensor first = a->observation_space().empty_value(), second = b->observation_space().empty_value();
  a->reset(11, bytes_of(first));
  b->reset(11, bytes_of(second));
  NumpyRandom random(0);
  for (int i = 0; i < 300; ++i) {
    const auto action = random.integers(0, 6);
    EXPECT_EQ(a->step(action, bytes_of(first)).info.frame_number, b->step(action, bytes_of(second)).info.frame_number);
    ASSERT_EQ(first.raw_bytes(), second.raw_bytes()) << i;
  }
  b->reset(12, bytes_of(second));
  for (int i = 0; i < 40; ++i) {
    a->step(0, bytes_of(first));
    b->step(0, bytes_of(second));
  }
  EXPECT_NE(first.raw_bytes(), second.raw_bytes());
}

TEST(CaudalPong, GoesOnFromASavedState) {
  const auto a = make("CaudalPong-v0"), b = make("CaudalPong-v0");
  Tensor first = a->observation_space().empty_value(), second = b->observation_space().empty_value();
  a->reset(11, {});
  for (int i = 0; i < 100; ++i) a->step(i % 6, {});
  b->restore_state(a->save_state());
  for (int i = 0; i < 100; ++i) {
    a->step(i % 6, bytes_of(first));
    b->step(i % 6, bytes_of(second));
    ASSERT_EQ(first.raw_bytes(), second.raw_bytes()) << i;
  }
}

void damage_states(std::unique_ptr<Environment> env) {
  env->reset(11, {});
  const std::string state = env->save_state();
  NumpyRandom random(1);
  int refused = 0;
  for (int i = 0; i < 5000; ++i) {
    std::string damaged = state;
    damaged[static_cast<std::size_t>(random.integers(0, static_cast<std::int64_t>(state.size())))] ^=
        static_cast<char>(random.integers(1, 256));
    try {
      env->restore_state(damaged);
      for (int k = 0; k < 20; ++k) {
        if (env->step(2, {}).done()) break;
      }
      env->render();
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 50);
}

TEST(CaudalPong, RefusesDamagedStates) { damage_states(make_frames()); }

TEST(WrapDeepMind, RefusesDamagedStates) {
  damage_states(wrap_deepmind(make_frames({{"max_episode_steps", "1000"}}), {.dim = 9, .stack = 2}));
}

TEST(AtariEnvironment, TruncatesAfterItsFrames) {
  const auto env = make("CaudalPongDeterministic-v4", {{"max_num_frames_per_episode", "10"}});
  env->reset(1, {});
  EXPECT_FALSE(env->step(0, {}).done());
  EXPECT_FALSE(env->step(0, {}).done());
  const StepResult last = env->step(0, {});
  EXPECT_TRUE(last.truncated);
  EXPECT_FALSE(last.terminated);
  EXPECT_EQ(last.info.episode_frame_number, 10);
}

TEST(AtariEnvironment, RepeatsTwoToFourFrames) {
  const auto env = make("CaudalPong-v4");
  env->reset(1, {});
  std::set<std::int64_t> skips;
  std::int64_t before = 0;
  for (int i = 0; i < 100; ++i) {
    const std::int64_t now = env->step(0, {}).info.frame_number;
    skips.insert(now - before);
    before = now;
  }
  EXPECT_EQ(skips, (std::set<std::int64_t>{2, 3, 4}));
}

TEST(AtariEnvironment, ShowsGrayAndAllPositionsOnRequest) {
  const auto env = make_frames({{"obs_type", "grayscale"}, {"full_action_space", "true"}});
  EXPECT_EQ(env->observation_space().to_string(), "Box(0, 255, (210, 160), uint8)");
  EXPECT_EQ(env->action_space().count(), 18);
  Tensor gray = env->observation_space().empty_value();
  env->reset(0, bytes_of(gray));
  EXPECT_GT(gray.data<std::uint8_t>()[30 * 160], gray.data<std::uint8_t>()[100 * 160]) << "the wall is brighter";
  EXPECT_THROW(make_frames({{"obs_type", "ram"}}), Error);
  EXPECT_THROW(make_frames({{"obs_type", "sound"}}), Error);
  EXPECT_THROW(make_frames({{"frameskip", "4..2"}}), Error);
  EXPECT_THROW(make_frames({{"frameskip", "0"}}), Error);
}

}  // namespace
}  // namespace caudal::inline v0::rl
