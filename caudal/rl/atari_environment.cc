#include "caudal/rl/atari_environment.h"

#include <cstring>
#include <utility>

#include "caudal/base/error.h"
#include "caudal/base/strings.h"
#include "caudal/formats/coding.h"
#include "caudal/rl/wrappers.h"

namespace caudal::inline v0::rl {
namespace {

constexpr int kMostSkip = 1000;

std::vector<Joystick> actions_of(const ArcadeGame& game, bool all) {
  if (!all) return {game.minimal_actions().begin(), game.minimal_actions().end()};
  std::vector<Joystick> positions;
  for (int i = 0; i < kNumJoystick; ++i) positions.push_back(static_cast<Joystick>(i));
  return positions;
}

Space action_space_of(const ArcadeGame& game, bool all) {
  std::vector<std::string> names;
  for (const Joystick position : actions_of(game, all)) names.emplace_back(joystick_name(position));
  const auto count = static_cast<std::int64_t>(names.size());
  return Space::discrete(count, std::move(names));
}

Space observation_space_of(const ArcadeGame& game, AtariEnvironment::Observation kind) {
  switch (kind) {
    case AtariEnvironment::Observation::kRgb:
      return Space::box(uint8, {kScreenHeight, kScreenWidth, 3}, 0, 255);
    case AtariEnvironment::Observation::kGray:
      return Space::box(uint8, {kScreenHeight, kScreenWidth}, 0, 255);
    default:
      return Space::box(uint8, {static_cast<std::int64_t>(game.ram().size())}, 0, 255);
  }
}

void paint_rgb(const std::uint8_t* screen, const Palette& palette, std::byte* out) {
  // Four bytes at a time, of which the next pixel overwrites the last.
  std::array<std::uint32_t, 256> colours;
  for (std::size_t i = 0; i < colours.size(); ++i) {
    const auto [red, green, blue] = palette.rgb[i];
    colours[i] = red | std::uint32_t{green} << 8 | std::uint32_t{blue} << 16;
  }
  for (int i = 0; i < kScreenPixels - 1; ++i) std::memcpy(out + 3 * i, &colours[screen[i]], 4);
  std::memcpy(out + 3 * (kScreenPixels - 1), &colours[screen[kScreenPixels - 1]], 3);
}

void paint_gray(const std::uint8_t* screen, const Palette& palette, std::byte* out) {
  for (int i = 0; i < kScreenPixels; ++i) out[i] = std::byte{palette.gray[screen[i]]};
}

// "4" or "2..4".
void parse_skip(const std::string& text, AtariEnvironment::Config* config) {
  const std::size_t dots = text.find("..");
  std::int64_t least, most;
  const bool fine = dots == std::string::npos ? parse_int64(text, &least) && parse_int64(text, &most)
                                              : parse_int64(std::string_view(text).substr(0, dots), &least) &&
                                                    parse_int64(std::string_view(text).substr(dots + 2), &most);
  if (!fine || least < 1 || most < least || most > kMostSkip)
    throw invalid_argument("option frameskip is a number of frames from 1 to ", kMostSkip, " or two like 2..4, not '",
                           escaped(text), "'");
  config->least_skip = static_cast<int>(least);
  config->most_skip = static_cast<int>(most);
}

AtariEnvironment::Observation parse_observation(const std::string& text) {
  if (text == "rgb") return AtariEnvironment::Observation::kRgb;
  if (text == "grayscale") return AtariEnvironment::Observation::kGray;
  if (text == "ram") return AtariEnvironment::Observation::kRam;
  throw invalid_argument("option obs_type is rgb, grayscale or ram, not '", escaped(text), "'");
}

}  // namespace

AtariEnvironment::AtariEnvironment(std::string id, std::unique_ptr<ArcadeGame> game, const Config& config)
    : Environment(std::move(id), observation_space_of(*game, config.observation),
                  action_space_of(*game, config.full_action_space)),
      game_(std::move(game)),
      config_(config),
      actions_(actions_of(*game_, config.full_action_space)) {
  if (config.observation == Observation::kRam && game_->ram().empty())
    throw invalid_argument(this->id(), " has no memory to observe").hint("Use obs_type rgb or grayscale.");
  game_->set_repeat_action_probability(config.repeat_action_probability);
}

Info AtariEnvironment::do_reset(std::optional<std::uint64_t> seed, std::span<std::byte> observation) {
  if (!seed && !seeded_) seed = entropy_seed();
  if (seed) {
    const auto words = seed_sequence_words(*seed, 2);
    random_ = NumpyRandom(words[0]);
    game_->seed(words[1]);
    seeded_ = true;
    frames_ = 0;
  }
  game_->reset();
  episode_frames_ = 0;
  observe(observation);
  return info();
}

StepResult AtariEnvironment::do_step(const Action& action, std::span<std::byte> observation) {
  const StepResult result = advance(action, !observation.empty() && config_.observation != Observation::kRam);
  observe(observation);
  return result;
}

StepResult AtariEnvironment::advance(const Action& action, bool draw) {
  const Joystick position = actions_[static_cast<std::size_t>(action.choice())];
  const auto skip = static_cast<int>(random_.integers(config_.least_skip, config_.most_skip + 1));
  StepResult result;
  for (int frame = 1; frame <= skip; ++frame) {
    result.reward += game_->play(position, draw && frame == skip);
    ++frames_;
    ++episode_frames_;
    result.terminated = game_->game_over();
    result.truncated = !result.terminated && config_.max_frames > 0 && episode_frames_ >= config_.max_frames;
    if (result.done()) break;
  }
  result.info = info();
  return result;
}

Tensor AtariEnvironment::do_render() {
  Tensor picture(uint8, {kScreenHeight, kScreenWidth, 3});
  paint_rgb(game_->screen(), game_->palette(), reinterpret_cast<std::byte*>(picture.raw()));
  return picture;
}

void AtariEnvironment::observe(std::span<std::byte> observation) {
  if (observation.empty()) return;
  switch (config_.observation) {
    case Observation::kRgb:
      return paint_rgb(game_->screen(), game_->palette(), observation.data());
    case Observation::kGray:
      return paint_gray(game_->screen(), game_->palette(), observation.data());
    case Observation::kRam:
      std::memcpy(observation.data(), game_->ram().data(), observation.size());
  }
}

Info AtariEnvironment::info() const {
  return {.lives = game_->lives(), .frame_number = frames_, .episode_frame_number = episode_frames_};
}

void AtariEnvironment::do_save(std::string* out) const {
  put_fixed(out, frames_);
  put_fixed(out, episode_frames_);
  random_.save(out);
  game_->save(out);
}

bool AtariEnvironment::do_restore(std::string_view state) {
  ByteReader reader(state);
  seeded_ = true;
  return reader.fixed(&frames_) && is_count(frames_) && reader.fixed(&episode_frames_) && is_count(episode_frames_) &&
         random_.restore(&reader) && game_->restore(reader.rest());
}

std::unique_ptr<Environment> make_atari_environment(const EnvironmentSpec& spec, MakeArcadeGame make_game,
                                                    Options& options) {
  AtariEnvironment::Config config;
  parse_skip(options.take_string("frameskip", "4"), &config);
  config.repeat_action_probability = options.take_double("repeat_action_probability", 0.25, 0, 1);
  config.full_action_space = options.take_bool("full_action_space", false);
  config.observation = parse_observation(options.take_string("obs_type", "rgb"));
  config.max_frames = options.take_int("max_num_frames_per_episode", config.max_frames, 0, INT64_MAX);
  return std::make_unique<AtariEnvironment>(std::string(spec.id), make_game(), config);
}

}  // namespace caudal::inline v0::rl
