#include "caudal/cli/terminal.h"

#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "caudal/base/error.h"

namespace caudal::inline v0::cli {
namespace {

// The mean of a square of pixels that belongs to one half cell.
std::array<int, 3> mean_colour(const Tensor& picture, int left, int top, int side) {
  const int height = static_cast<int>(picture.dim(0)), width = static_cast<int>(picture.dim(1));
  std::array<int, 3> sum{};
  int count = 0;
  for (int y = top; y < std::min(top + side, height); ++y) {
    for (int x = left; x < std::min(left + side, width); ++x, ++count) {
      const std::uint8_t* pixel = picture.data<std::uint8_t>() + 3 * (y * width + x);
      for (std::size_t c = 0; c < 3; ++c) sum[c] += pixel[c];
    }
  }
  for (int& value : sum) value = count == 0 ? 0 : value / count;
  return sum;
}

std::string colour_code(int kind, const std::array<int, 3>& colour) {
  char text[32];
  std::snprintf(text, sizeof text, "\x1b[%d;2;%d;%d;%dm", kind, colour[0], colour[1], colour[2]);
  return text;
}

}  // namespace

std::string half_blocks(const Tensor& picture, int columns, int rows) {
  const int height = static_cast<int>(picture.dim(0)), width = static_cast<int>(picture.dim(1));
  const auto parts = [](int size, int most) { return (size + most - 1) / std::max(most, 1); };
  const int side = std::max({1, parts(width, columns), parts(height, 2 * rows)});
  std::string out;
  for (int y = 0; y < height; y += 2 * side) {
    std::string before;
    for (int x = 0; x < width; x += side) {
      const std::string colours =
          colour_code(38, mean_colour(picture, x, y, side)) + colour_code(48, mean_colour(picture, x, y + side, side));
      if (colours != before) out += colours;
      before = colours;
      out += "\u2580";
    }
    out += "\x1b[0m\n";
  }
  return out;
}

namespace {

Key arrow(char last) {
  switch (last) {
    case 'A':
      return Key::kUp;
    case 'B':
      return Key::kDown;
    case 'C':
      return Key::kRight;
    case 'D':
      return Key::kLeft;
    default:
      return Key::kOther;
  }
}

Key letter(char key) {
  switch (key) {
    case 'w':
      return Key::kUp;
    case 's':
      return Key::kDown;
    case 'd':
      return Key::kRight;
    case 'a':
      return Key::kLeft;
    case ' ':
      return Key::kFire;
    case 'p':
      return Key::kPause;
    case 'q':
      return Key::kQuit;
    default:
      return Key::kOther;
  }
}

}  // namespace

struct KeyTerminal::Saved {
  termios settings;
};

bool KeyTerminal::available() { return isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0; }

KeyTerminal::KeyTerminal() : saved_(nullptr) {
  Saved saved;
  if (!available() || tcgetattr(STDIN_FILENO, &saved.settings) != 0)
    throw failed_precondition("standard input and output are not a terminal");
  saved_ = new Saved(saved);
  termios raw = saved.settings;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  raw.c_cc[VMIN] = 0;
  raw.c_cc[VTIME] = 0;
  tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0) {
    columns_ = size.ws_col;
    rows_ = size.ws_row;
  }
  show("\x1b[2J\x1b[?25l");
}

KeyTerminal::~KeyTerminal() {
  show("\x1b[0m\x1b[?25h\x1b[2J");
  tcsetattr(STDIN_FILENO, TCSANOW, &saved_->settings);
  delete saved_;
}

Key KeyTerminal::poll() {
  char bytes[64];
  const ssize_t count = read(STDIN_FILENO, bytes, sizeof bytes);
  if (count > 0) unread_.append(bytes, static_cast<std::size_t>(count));
  if (unread_.empty()) return Key::kNone;
  // An arrow is three bytes, which may come in pieces; several keys may come at once.
  constexpr std::string_view kArrow = "\x1b[";
  if (unread_.size() < 3 && kArrow.starts_with(unread_)) return Key::kNone;
  const bool is_arrow = unread_.starts_with(kArrow);
  const char key = unread_[is_arrow ? 2 : 0];
  unread_.erase(0, is_arrow ? 3 : 1);
  return is_arrow ? arrow(key) : letter(key);
}

void KeyTerminal::show(const std::string& text) {
  std::fputs("\x1b[H", stdout);
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

}  // namespace caudal::inline v0::cli
