#include "caudal/rl/atari/atari_game.h"

#include <algorithm>
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
    : rules_(rules), console_(rom), before_(console_), screen_(kScreenPixels) {}

const Palette& AtariGame::palette() const { return ntsc_palette(); }

void AtariGame::seed(std::uint32_t seed) { random_.seed(seed); }

void AtariGame::reset() {
  console_.power_on();
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
  if (repeat_probability_ > 0 && std::uniform_real_distribution<double>()(random_) < repeat_probability_) {
    position = last_;
  }
  last_ = position;
  set_controls(position, false);
  run_frame(draw);
  return settle();
}

void AtariGame::run_frame(bool draw) {
  if (!draw) before_ = console_;
  console_.run_frame(draw ? screen_.data() : nullptr);
  drawn_ = draw;
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

const std::uint8_t* AtariGame::screen() {
  if (!drawn_) {
    before_.run_frame(screen_.data());
    drawn_ = true;
  }
  return screen_.data();
}

void AtariGame::save(std::string* out) const {
  StateWriter writer(out);
  writer.u8(kStateVersion);
  writer.u8(static_cast<std::uint8_t>(last_));
  writer.i64(charge_);
  writer.i64(score_);
  writer.i64(lives_);
  writer.u8(over_);
  writer.u8(ever_alive_);
  std::ostringstream random;
  random << random_;
  const std::string text = random.str();
  writer.i64(static_cast<std::int64_t>(text.size()));
  *out += text;
  writer.u8(drawn_);
  // A drawn frame is kept as it is, one that was not as what it is drawn from.
  if (drawn_) {
    writer.bytes(screen_);
  } else {
    std::string before;
    before_.save(&before);
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
    if (!drawn) before_.load(before);
    console.load(in.rest());
    console_ = console;
  } catch (const Error&) {
    return false;
  }
  last_ = last;
  charge_ = charge;
  score_ = score;
  lives_ = lives;
  over_ = over;
  ever_alive_ = ever_alive;
  random_ = random;
  drawn_ = drawn;
  screen_ = std::move(screen);
  return true;
}

}  // namespace caudal::inline v0::rl::atari
