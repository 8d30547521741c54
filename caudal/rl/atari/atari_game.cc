#include "caudal/rl/atari/atari_game.h"

#include <algorithm>
#include <iterator>
#include <sstream>

#include "caudal/base/error.h"
#include "caudal/rl/atari/palette.h"

namespace caudal::inline v0::rl::atari {
namespace {

constexpr int kIdleFrames = 60;

// Charge times of a paddle's capacitor in hundredths of a processor cycle: between the stops, in the middle, and the
// step of a frame. Fitted to the lines at which Pong and Breakout find it charged: the step lies between 4.361
// and 4.377 hundred cycles or so, the stops near 5.2 and 150.3 hundred.
constexpr std::int64_t kLeastCharge = 52'265, kMostCharge = 1'504'533, kStepCharge = 43'792;
constexpr std::int64_t kMiddleCharge = (kLeastCharge + kMostCharge) / 2;
// Whole cycles after which it is charged.
constexpr std::int64_t cycles(std::int64_t charge) { return (charge + 99) / 100; }

// What the timer holds at the first, second, ... reset after a game was loaded: a fixed sequence in ale-py, of which
// the beginning was read off with a program that looks at its timer first. Freeway and Seaquest begin differently with
// some.
constexpr std::uint8_t kTimers[] = {
    74, 65, 64, 78, 39, 92, 49, 30, 94, 37, 86, 99, 99, 75, 83, 35, 63, 72, 56, 63, 42, 93, 93, 97, 76, 65, 27, 46,
    95, 73, 36, 36, 51, 87, 99, 28, 93, 25, 92, 56, 60, 95, 73, 55, 30, 38, 75, 53, 84, 58, 30, 91, 70, 98, 98, 70,
    80, 97, 78, 65, 31, 51, 70, 33, 46, 81, 32, 27, 69, 78, 51, 28, 54, 52, 90, 43, 77, 59, 80, 73, 47, 69, 46, 50,
    34, 54, 96, 89, 33, 74, 68, 99, 66, 88, 44, 97, 68, 31, 27, 55, 45, 67, 89, 87, 39, 39, 47, 99, 73, 40, 94, 64,
    89, 70, 34, 97, 35, 35, 95, 30, 34, 86, 75, 47, 43, 70, 89, 70, 70, 44, 88, 82, 27, 42, 94, 38, 61, 67, 75, 70,
    91, 52, 62, 89, 62, 26, 44, 65, 55, 34, 28, 86, 66, 57, 70, 82, 38, 82, 68, 99, 64, 79, 85, 62, 38, 53, 40, 87,
    92, 33, 58, 43, 31, 42, 94, 43, 56, 64, 37, 78, 64, 51, 44, 47, 62, 90, 96, 28, 65, 50, 94, 52, 48, 62, 82, 61,
    50, 98, 44, 98, 25, 64, 54, 90, 83, 43, 83, 83, 32, 97, 54, 45, 45, 53, 63, 91, 95, 95, 77, 85, 98, 66, 96, 69,
    55, 60, 86, 97, 34, 77, 70, 44, 99, 92, 78, 55, 66, 77, 36, 59, 73, 36, 39, 45, 75, 34, 51, 94, 77, 92, 60, 81,
    34, 67, 47, 62, 40, 69, 34, 31, 73, 97, 39, 95, 77, 57, 61, 37, 82, 68, 54, 43, 96, 65, 31, 81, 82, 85, 57, 50,
    31, 38, 39, 81, 96, 60, 86, 74, 41, 34, 76, 87, 93, 87, 89, 49, 82, 41, 64, 84,
};

struct Directions {
  bool up, down, left, right, fire;
};
Directions directions_of(Joystick position) {
  const auto one_of = [position](std::initializer_list<Joystick> positions) {
    return std::find(positions.begin(), positions.end(), position) != positions.end();
  };
  using enum Joystick;
  return {.up = one_of({kUp, kUpRight, kUpLeft, kUpFire, kUpRightFire, kUpLeftFire}),
          .down = one_of({kDown, kDownRight, kDownLeft, kDownFire, kDownRightFire, kDownLeftFire}),
          .left = one_of({kLeft, kUpLeft, kDownLeft, kLeftFire, kUpLeftFire, kDownLeftFire}),
          .right = one_of({kRight, kUpRight, kDownRight, kRightFire, kUpRightFire, kDownRightFire}),
          .fire = position == kFire || position >= kUpFire};
}

constexpr std::uint8_t kStateVersion = 1;

}  // namespace

AtariGame::AtariGame(const GameRules& rules, std::string_view rom)
    : rules_(rules), console_(rom), frames_{Frame(console_), Frame(console_)} {}

const Palette& AtariGame::palette() const { return ntsc_palette(); }

void AtariGame::seed(std::uint32_t seed) { random_.seed(seed); }

void AtariGame::reset() {
  // The first belongs to the loading of the cartridge, which is a reset too.
  console_.power_on(kTimers[++resets_ % std::size(kTimers)]);
  last_ = Joystick::kNoop;
  charge_ = kMiddleCharge;
  set_controls(Joystick::kNoop, false);
  for (int frame = 0; frame < kIdleFrames; ++frame) console_.run_frame(nullptr);
  set_controls(Joystick::kNoop, true);
  for (int frame = 0; frame < rules_.reset_frames; ++frame) run_frame(false);
  ever_alive_ = false;
  score_ = rules_.score(ram());
  settle();
}

int AtariGame::play(Joystick position, bool draw) {
  if (over_) return 0;
  if (repeat_probability_ > 0 && next_double() < repeat_probability_) position = last_;
  last_ = position;
  set_controls(position, false);
  run_frame(draw);
  return settle();
}

// 53 random bits of two draws (genrand_res53 of the generator's authors).
double AtariGame::next_double() {
  const std::uint64_t high = random_() >> 5, low = random_() >> 6;
  return static_cast<double>(high << 26 | low) / 9007199254740992.0;
}

void AtariGame::run_frame(bool draw) {
  last_index_ ^= 1;
  Frame& frame = last_frame();
  if (!draw) frame.before = console_;
  console_.run_frame(draw ? frame.picture.data() : nullptr);
  frame.drawn = draw;
}

// The reward of the frame; lives and end as its memory says.
int AtariGame::settle() {
  const int score = rules_.score(ram());
  int reward = score - score_;
  if (reward < 0) reward += rules_.score_period;
  score_ = score;
  lives_ = rules_.lives(ram());
  over_ = rules_.over(ram(), ever_alive_);
  ever_alive_ = ever_alive_ || lives_ > 0;
  return reward;
}

void AtariGame::set_controls(Joystick position, bool reset_switch) {
  const Directions to = directions_of(position);
  Controls controls;
  controls.reset = reset_switch;
  if (rules_.paddle < 0) {
    controls.sticks[0] = {.up = to.up, .down = to.down, .left = to.left, .right = to.right, .fire = to.fire};
  } else {
    if (to.right) charge_ = std::max(kLeastCharge, charge_ - kStepCharge);
    if (to.left) charge_ = std::min(kMostCharge, charge_ + kStepCharge);
    controls.paddles[0] = controls.paddles[1] = cycles(kMiddleCharge);
    // Nothing is plugged into the other port, whose inputs are charged at once.
    controls.paddles[2] = controls.paddles[3] = 0;
    controls.paddles[rules_.paddle] = cycles(charge_);
    controls.paddle_fires[rules_.paddle] = to.fire;
  }
  console_.set_controls(controls);
}

const std::uint8_t* AtariGame::draw(Frame& frame) {
  if (!frame.drawn) {
    frame.before.run_frame(frame.picture.data());
    frame.drawn = true;
  }
  return frame.picture.data();
}

const std::uint8_t* AtariGame::screen() { return draw(last_frame()); }
const std::uint8_t* AtariGame::previous_screen() { return draw(frames_[last_index_ ^ 1]); }

void AtariGame::save(std::string* out) const {
  StateWriter writer(out);
  writer.u8(kStateVersion);
  writer.u8(static_cast<std::uint8_t>(last_));
  writer.i64(charge_);
  writer.i64(score_);
  writer.i64(lives_);
  writer.i64(static_cast<std::int64_t>(resets_));
  writer.u8(over_);
  writer.u8(ever_alive_);
  std::ostringstream random;
  random << random_;
  const std::string text = random.str();
  writer.i64(static_cast<std::int64_t>(text.size()));
  *out += text;
  writer.u8(last_frame().drawn);
  // A drawn frame is kept as it is, one that was not as what it is drawn from. The one before is not kept.
  if (last_frame().drawn) {
    writer.bytes(last_frame().picture);
  } else {
    std::string before;
    last_frame().before.save(&before);
    writer.i64(static_cast<std::int64_t>(before.size()));
    *out += before;
  }
  console_.save(out);
}

bool AtariGame::restore(std::string_view state) {
  StateReader in(state);
  if (in.u8() != kStateVersion) return false;
  const auto last = static_cast<Joystick>(in.u8_below(kNumJoystick));
  const std::int64_t charge = in.i64_between(kLeastCharge, kMostCharge);
  const auto score = static_cast<int>(in.i64_between(0, 10'000'000));
  const auto lives = static_cast<int>(in.i64_between(0, 255));
  const auto resets = static_cast<std::size_t>(in.i64_between(0, std::int64_t{1} << 40));
  const bool over = in.flag(), ever_alive = in.flag();
  std::istringstream text{std::string(in.sized())};
  std::mt19937 random;
  text >> random;
  const bool drawn = in.flag();
  std::vector<std::uint8_t> screen(kScreenPixels);
  const std::string_view before = drawn ? std::string_view() : in.sized();
  if (drawn) in.bytes(screen);
  if (!in.ok() || text.fail()) return false;
  try {
    Console console = console_;
    if (!drawn) last_frame().before.load(before);
    console.load(in.rest());
    console_ = console;
  } catch (const Error&) {
    return false;
  }
  last_ = last;
  charge_ = charge;
  score_ = score;
  lives_ = lives;
  resets_ = resets;
  over_ = over;
  ever_alive_ = ever_alive;
  random_ = random;
  last_frame().drawn = drawn;
  last_frame().picture = std::move(screen);
  frames_[last_index_ ^ 1] = last_frame();
  return true;
}

}  // namespace caudal::inline v0::rl::atari
