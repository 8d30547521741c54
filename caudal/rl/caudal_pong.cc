// CaudalPong: Pong of our own, drawn and ruled here, for whoever has no cartridge. The picture has the Atari's format,
// the six actions have Pong's numbers, the agent plays the right paddle (RIGHT moves it up, LEFT down) against the
// computer on the left, the first with 21 points wins.
//
// Places and speeds are in 1/256 pixel, whole numbers only, so that a seed gives the same game everywhere. All
// randomness (serves, the computer's aim, sticky actions) comes from one seeded generator.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "caudal/formats/coding.h"
#include "caudal/rl/atari_environment.h"

namespace caudal::inline v0::rl {
namespace {

constexpr int kUnit = 256;
constexpr int kWall = 10, kTop = 34, kBottom = 194;  // the field's rows
constexpr int kPaddleWidth = 4, kPaddleHeight = 16, kLeftX = 16, kRightX = 140;
constexpr int kBallWidth = 2, kBallHeight = 4;
constexpr int kWinningScore = 21, kServeFrames = 45;
constexpr int kPlayerSpeed = 4 * kUnit, kComputerSpeed = 7 * kUnit / 4;
constexpr int kServeSpeed = 2 * kUnit, kHitGain = kUnit / 8, kTopSpeed = 4 * kUnit, kSteepest = 7 * kUnit / 2;
constexpr int kWorstAim = 11;  // pixels that the computer misjudges a ball by, at most

enum Colour : std::uint8_t { kField, kWalls, kComputer, kPlayer, kBall };

Palette make_palette() {
  constexpr std::array<std::array<std::uint8_t, 3>, 5> kColours = {
      {{24, 38, 66}, {214, 222, 235}, {232, 140, 64}, {88, 200, 160}, {255, 255, 255}}};
  Palette palette;
  for (std::size_t i = 0; i < kColours.size(); ++i) {
    const auto& [red, green, blue] = palette.rgb[i] = kColours[i];
    palette.gray[i] = static_cast<std::uint8_t>(std::lround(0.299 * red + 0.587 * green + 0.114 * blue));
  }
  return palette;
}

// 3 x 5 dots of each digit, a row per number, the highest bit is the left dot.
constexpr std::uint8_t kDigits[10][5] = {{7, 5, 5, 5, 7}, {2, 6, 2, 2, 7}, {7, 1, 7, 4, 7}, {7, 1, 7, 1, 7},
                                         {5, 5, 7, 1, 1}, {7, 4, 7, 1, 7}, {7, 4, 7, 5, 7}, {7, 1, 1, 2, 2},
                                         {7, 5, 7, 5, 7}, {7, 5, 7, 1, 7}};

// All that the future depends on beside the random numbers.
struct Table {
  std::int32_t player = 0, computer = 0;      // tops of the paddles
  std::int32_t x = 0, y = 0, dx = 0, dy = 0;  // the ball's left top and its speed
  std::int32_t serve_in = 0, serve_to = 1;    // frames until the next serve, and its direction
  std::int32_t aim = 0;                       // what the computer adds to the ball's place
  std::int32_t player_score = 0, computer_score = 0;
  std::int32_t last_position = 0;  // for sticky actions
};

class CaudalPong final : public ArcadeGame {
 public:
  const Palette& palette() const override {
    static const Palette kPalette = make_palette();
    return kPalette;
  }
  std::span<const Joystick> minimal_actions() const override {
    static constexpr Joystick kActions[] = {Joystick::kNoop, Joystick::kFire,      Joystick::kRight,
                                            Joystick::kLeft, Joystick::kRightFire, Joystick::kLeftFire};
    return kActions;
  }
  void set_repeat_action_probability(double probability) override { sticky_ = probability; }
  void seed(std::uint32_t seed) override { random_ = NumpyRandom(seed); }
  void reset() override {
    table_ = Table{};
    table_.player = table_.computer = (kTop + kBottom - kPaddleHeight) / 2 * kUnit;
    table_.serve_to = random_.integers(0, 2) == 0 ? -1 : 1;
    table_.serve_in = kServeFrames;
    park_ball();
    previous_ = table_;
    drawn_ = false;
  }

  int play(Joystick position, bool /*draw*/) override {
    if (game_over()) return 0;
    drawn_ = false;
    previous_ = table_;
    if (sticky_ > 0 && random_.next_double() < sticky_) position = static_cast<Joystick>(table_.last_position);
    table_.last_position = static_cast<std::int32_t>(position);
    move_player(position);
    if (table_.serve_in > 0) {
      if (--table_.serve_in == 0) serve();
      return 0;
    }
    move_computer();
    return move_ball();
  }

  bool game_over() const override { return std::max(table_.player_score, table_.computer_score) >= kWinningScore; }
  int lives() const override { return 0; }
  std::span<const std::uint8_t> ram() const override { return {}; }

  const std::uint8_t* screen() override {
    if (!drawn_) draw();
    drawn_ = true;
    return screen_.data();
  }

  const std::uint8_t* previous_screen() override {
    std::swap(table_, previous_);
    draw();
    std::swap(table_, previous_);
    drawn_ = false;
    return screen_.data();
  }

  void save(std::string* out) const override {
    random_.save(out);
    put_fixed(out, sticky_);
    out->append(reinterpret_cast<const char*>(&table_), sizeof table_);
  }
  bool restore(std::string_view state) override {
    ByteReader reader(state);
    std::string_view bytes;
    if (!random_.restore(&reader) || !reader.fixed(&sticky_) || !reader.bytes(sizeof table_, &bytes)) return false;
    std::memcpy(&table_, bytes.data(), sizeof table_);
    previous_ = table_;
    drawn_ = false;
    return reader.empty() && sticky_ >= 0 && sticky_ <= 1 && table_makes_sense();
  }

 private:
  static bool within(std::int32_t value, std::int32_t least, std::int32_t most) {
    return value >= least && value <= most;
  }

  bool table_makes_sense() const {
    const Table& t = table_;
    constexpr int kWide = 1000 * kUnit;
    return within(t.player, 0, kWide) && within(t.computer, 0, kWide) && within(t.x, -kWide, kWide) &&
           within(t.y, -kWide, kWide) && within(t.dx, -kTopSpeed, kTopSpeed) && within(t.dy, -kSteepest, kSteepest) &&
           within(t.serve_in, 0, kServeFrames) && within(t.serve_to, -1, 1) && t.serve_to != 0 &&
           within(t.aim, -kWide, kWide) && within(t.player_score, 0, kWinningScore) &&
           within(t.computer_score, 0, kWinningScore) && within(t.last_position, 0, kNumJoystick - 1);
  }

  void park_ball() {
    table_.x = (kScreenWidth - kBallWidth) / 2 * kUnit;
    table_.y = (kTop + kBottom - kBallHeight) / 2 * kUnit;
    table_.dx = table_.dy = 0;
  }

  void serve() {
    table_.y = static_cast<std::int32_t>(random_.integers(kTop + 30, kBottom - 30)) * kUnit;
    table_.dx = table_.serve_to * kServeSpeed;
    table_.dy = static_cast<std::int32_t>(random_.integers(-3 * kUnit / 2, 3 * kUnit / 2 + 1));
    table_.aim = 0;
  }

  static std::int32_t within_field(std::int32_t paddle) {
    return std::clamp(paddle, kTop * kUnit, (kBottom - kPaddleHeight) * kUnit);
  }

  void move_player(Joystick position) {
    const std::string_view name = joystick_name(position);
    const bool up = name.find("RIGHT") != name.npos || name.starts_with("UP");
    const bool down = name.find("LEFT") != name.npos || name.starts_with("DOWN");
    table_.player = within_field(table_.player + (up ? -kPlayerSpeed : down ? kPlayerSpeed : 0));
  }

  // Follows the ball while it comes, with an error; goes back to the middle at half speed meanwhile.
  void move_computer() {
    const bool comes = table_.dx < 0;
    const int ball = table_.y + kBallHeight * kUnit / 2 + table_.aim;
    const int wanted = comes ? ball : (kTop + kBottom) / 2 * kUnit;
    const int off = wanted - (table_.computer + kPaddleHeight * kUnit / 2);
    const int most = comes ? kComputerSpeed : kComputerSpeed / 2;
    table_.computer = within_field(table_.computer + std::clamp(off, -most, most));
  }

  // Returns the reward of the frame.
  int move_ball() {
    table_.x += table_.dx;
    table_.y += table_.dy;
    bounce_off_walls();
    if (table_.dx > 0 && reaches(kRightX)) hit(table_.player, kRightX - kBallWidth, -1);
    if (table_.dx < 0 && reaches(kLeftX)) hit(table_.computer, kLeftX + kPaddleWidth, 1);
    if (table_.x > (kScreenWidth + 8) * kUnit) return point(&table_.computer_score, 1, -1);
    if (table_.x < -8 * kUnit) return point(&table_.player_score, -1, 1);
    return 0;
  }

  void bounce_off_walls() {
    const int top = kTop * kUnit, bottom = (kBottom - kBallHeight) * kUnit;
    if (table_.y < top) {
      table_.y = 2 * top - table_.y;
      table_.dy = -table_.dy;
    } else if (table_.y > bottom) {
      table_.y = 2 * bottom - table_.y;
      table_.dy = -table_.dy;
    }
  }

  // True in the frame in which the ball's front crosses the front of the paddle at `paddle_x`.
  bool reaches(int paddle_x) const {
    const int front = table_.dx > 0 ? table_.x + kBallWidth * kUnit : table_.x;
    const int line = (table_.dx > 0 ? paddle_x : paddle_x + kPaddleWidth) * kUnit;
    const int before = front - table_.dx;
    return table_.dx > 0 ? before < line && front >= line : before > line && front <= line;
  }

  // The farther from the paddle's middle, the steeper the ball goes back; every hit makes it faster.
  void hit(int paddle, int ball_x, int direction) {
    const int off = table_.y + kBallHeight * kUnit / 2 - (paddle + kPaddleHeight * kUnit / 2);
    constexpr int kReach = (kPaddleHeight + kBallHeight) * kUnit / 2;
    if (std::abs(off) > kReach) return;
    const int speed = std::min(std::abs(table_.dx) + kHitGain, kTopSpeed);
    table_.dx = direction * speed;
    table_.x = ball_x * kUnit;
    table_.dy = off * kSteepest / kReach;
    if (direction < 0) table_.aim = static_cast<std::int32_t>(random_.integers(-kWorstAim, kWorstAim + 1)) * kUnit;
  }

  int point(std::int32_t* score, int serve_to, int reward) {
    ++*score;
    table_.serve_to = serve_to;
    table_.serve_in = kServeFrames;
    park_ball();
    return reward;
  }

  void fill(int x, int y, int width, int height, Colour colour) {
    const int left = std::clamp(x, 0, kScreenWidth), right = std::clamp(x + width, 0, kScreenWidth);
    const int top = std::clamp(y, 0, kScreenHeight), bottom = std::clamp(y + height, 0, kScreenHeight);
    for (int row = top; row < bottom; ++row)
      std::memset(screen_.data() + row * kScreenWidth + left, colour, static_cast<std::size_t>(right - left));
  }

  void draw_score(int right, int score, Colour colour) {
    for (int x = right - 12; x >= right - 28; x -= 16, score /= 10) {
      for (int dot = 0; dot < 15; ++dot) {
        if ((kDigits[score % 10][dot / 3] >> (2 - dot % 3) & 1) != 0)
          fill(x + dot % 3 * 4, 1 + dot / 3 * 4, 4, 4, colour);
      }
      if (score < 10) break;
    }
  }

  void draw() {
    std::memset(screen_.data(), kField, screen_.size());
    fill(0, kTop - kWall, kScreenWidth, kWall, kWalls);
    fill(0, kBottom, kScreenWidth, kScreenHeight - kBottom, kWalls);
    draw_score(60, table_.computer_score, kComputer);
    draw_score(128, table_.player_score, kPlayer);
    fill(kLeftX, table_.computer / kUnit, kPaddleWidth, kPaddleHeight, kComputer);
    fill(kRightX, table_.player / kUnit, kPaddleWidth, kPaddleHeight, kPlayer);
    if (table_.serve_in == 0) fill(table_.x / kUnit, table_.y / kUnit, kBallWidth, kBallHeight, kBall);
  }

  NumpyRandom random_;
  double sticky_ = 0;
  Table table_, previous_;
  bool drawn_ = false;
  std::array<std::uint8_t, kScreenPixels> screen_{};
};

std::unique_ptr<ArcadeGame> make_caudal_pong() { return std::make_unique<CaudalPong>(); }
std::string nothing_missing() { return {}; }

CAUDAL_ARCADE_GAME("CaudalPong", "Pong of our own, without a cartridge", make_caudal_pong, nothing_missing);

}  // namespace
}  // namespace caudal::inline v0::rl
