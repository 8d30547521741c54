// Gymnasium's AtariPreprocessing (after Machado et al., 2018), with its FrameStackObservation.
#include <deque>

#include "caudal/base/error.h"
#include "caudal/rl/atari_wrappers.h"
#include "caudal/rl/picture_stack.h"
#include "caudal/rl/screen_reducer.h"
#include "caudal/rl/screen_wrapper.h"

namespace caudal::inline v0::rl {
namespace {

class AtariPreprocessing final : public ScreenWrapper {
 public:
  AtariPreprocessing(std::unique_ptr<Environment> inner, const AtariPreprocessingOptions& options)
      : ScreenWrapper(std::move(inner), "atari_preprocessing"),
        options_(options),
        picture_(pixels() * channels()),
        stack_(std::max(options.stack, 1), picture_.size()) {
    if (options.frame_skip > 1 && atari().config().most_skip != 1)
      throw invalid_argument(id(), " skips frames itself").hint("Make it with the option frameskip=1.");
    if (options.grayscale_obs) {
      reducers_.emplace_back(game().palette(), Brighter::kMaximumOfGray, options.screen_size, options.screen_size);
    } else {
      for (const Brighter channel : {Brighter::kRed, Brighter::kGreen, Brighter::kBlue})
        reducers_.emplace_back(game().palette(), channel, options.screen_size, options.screen_size);
    }
    set_observation_space(Space::box(options.scale_obs ? float32 : uint8, shape(), 0, options.scale_obs ? 1 : 255));
  }
  double frames_per_second() const override { return inner().frames_per_second() / options_.frame_skip; }

 private:
  std::size_t pixels() const {
    return static_cast<std::size_t>(options_.screen_size) * static_cast<std::size_t>(options_.screen_size);
  }
  std::size_t channels() const { return options_.grayscale_obs ? 1 : 3; }
  Shape shape() const {
    Shape shape{options_.screen_size, options_.screen_size};
    if (!options_.grayscale_obs) shape = shape.append(3);
    if (options_.grayscale_obs && options_.grayscale_newaxis) shape = shape.append(1);
    return options_.stack > 0 ? shape.insert(0, options_.stack) : shape;
  }

  Info do_reset(std::optional<std::uint64_t> seed, std::span<std::byte> observation) override {
    const Info info = begin_game(seed, options_.most_noops, /*reseed=*/true);
    lives_ = game().lives();
    for (ScreenReducer& reducer : reducers_) reducer.take_only(game().screen());
    stack_.fill(picture());
    write(observation);
    return info;
  }

  StepResult do_step(const Action& action, std::span<std::byte> observation) override {
    StepResult result;
    for (int frame = 1; frame <= options_.frame_skip; ++frame) {
      StepResult raw = raw_step(action, frame >= options_.frame_skip - 1);
      raw.reward += result.reward;
      result = raw;
      const bool game_over = result.done();
      if (options_.terminal_on_life_loss) {
        const int lives = game().lives();
        result.terminated = result.terminated || lives < lives_;
        lives_ = lives;
      }
      if (game_over) result.info.episode = statistics();
      // A step that ends early shows the picture before it, as there.
      if (result.done()) break;
      for (ScreenReducer& reducer : reducers_) take(reducer, frame);
    }
    stack_.push(picture());
    write(observation);
    return result;
  }

  void take(ScreenReducer& reducer, int frame) {
    if (options_.frame_skip == 1)
      reducer.take_only(game().screen());
    else if (frame == options_.frame_skip - 1)
      reducer.take_first(game().screen());
    else if (frame == options_.frame_skip)
      reducer.take_last(game().screen());
  }

  std::span<const std::uint8_t> picture() {
    if (options_.grayscale_obs) return reducers_[0].picture();
    for (std::size_t channel = 0; channel < 3; ++channel) {
      const auto values = reducers_[channel].picture();
      for (std::size_t i = 0; i < values.size(); ++i) picture_[3 * i + channel] = values[i];
    }
    return picture_;
  }

  void write(std::span<std::byte> observation) const {
    if (observation.empty()) return;
    if (!options_.scale_obs) return stack_.write_planes(observation.data());
    auto* out = reinterpret_cast<float*>(observation.data());
    for (std::size_t k = 0; k < static_cast<std::size_t>(std::max(options_.stack, 1)); ++k) {
      for (std::size_t i = 0; i < picture_.size(); ++i) *out++ = static_cast<float>(stack_.picture(k)[i]) / 255.0f;
    }
  }

  void do_save(std::string* out) const override {
    save_count(out);
    put_fixed(out, static_cast<std::int32_t>(lives_));
    stack_.save(out);
    Wrapper::do_save(out);
  }
  bool do_restore(std::string_view state) override {
    ByteReader reader(state);
    std::int32_t lives;
    if (!restore_count(&reader) || !reader.fixed(&lives) || !stack_.restore(&reader) ||
        !Wrapper::do_restore(reader.rest()))
      return false;
    lives_ = lives;
    const auto newest = stack_.newest();
    for (std::size_t channel = 0; channel < reducers_.size(); ++channel) {
      std::vector<std::uint8_t> values(pixels());
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = newest[reducers_.size() * i + channel];
      reducers_[channel].restart(game().screen());
      reducers_[channel].set_picture(values);
    }
    return true;
  }

  AtariPreprocessingOptions options_;
  std::deque<ScreenReducer> reducers_;  // one, or one for each colour; they stay where they are
  std::vector<std::uint8_t> picture_;   // the colours together
  PictureStack stack_;
  int lives_ = 0;
};

}  // namespace

std::unique_ptr<Environment> atari_preprocessing(std::unique_ptr<Environment> atari,
                                                 const AtariPreprocessingOptions& options) {
  if (options.frame_skip < 1) throw invalid_argument("frame_skip is at least 1, not ", options.frame_skip);
  if (options.most_noops < 0) throw invalid_argument("an episode cannot begin with ", options.most_noops, " no-ops");
  if (options.screen_size < 1 || options.screen_size > 4096)
    throw invalid_argument("screen_size is 1 to 4096, not ", options.screen_size);
  if (options.stack < 0 || options.stack > 64) throw invalid_argument("stack is 0 to 64, not ", options.stack);
  return std::make_unique<AtariPreprocessing>(std::move(atari), options);
}

}  // namespace caudal::inline v0::rl
