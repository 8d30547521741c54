// Pictures and keys in a terminal that knows 24-bit colours.
//
// Thread safety: one terminal, one thread.
#pragma once

#include <cstdint>
#include <string>

#include "caudal/tensor/tensor.h"

namespace caudal::inline v0::cli {

// A picture as text: each cell is an upper half block whose two colours are two pixels, one above the other. Shrunk by
// a whole factor, if need be, to at most `columns` x `rows` cells. `picture`: uint8 [height, width, 3].
std::string half_blocks(const Tensor& picture, int columns, int rows);

enum class Key { kNone, kUp, kDown, kLeft, kRight, kFire, kPause, kQuit, kOther };

// While it lives the terminal gives keys one by one and hides its cursor; afterwards it is as before.
class KeyTerminal {
 public:
  // FAILED_PRECONDITION if standard input or output is no terminal.
  KeyTerminal();
  ~KeyTerminal();
  KeyTerminal(const KeyTerminal&) = delete;
  KeyTerminal& operator=(const KeyTerminal&) = delete;

  // True if both ends are terminals.
  static bool available();
  // The next key that was pressed (arrows or w a s d, space, p, q), kNone if there is none. Never waits.
  Key poll();
  int columns() const { return columns_; }
  int rows() const { return rows_; }
  // Draws from the top left on.
  void show(const std::string& text);

 private:
  struct Saved;
  Saved* saved_;
  int columns_ = 80, rows_ = 24;
  std::string unread_;  // keys that came with others
};

}  // namespace caudal::inline v0::cli
