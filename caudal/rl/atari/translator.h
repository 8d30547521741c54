// Programs of cartridges as machine code of this computer.
//
// An interpreter spends most of its time finding out what comes next. A Translation turns runs of 6507 instructions of
// a constant 4 KB ROM, when they are first met, into x86-64 code that does the same: same registers, same cycle of
// every access to the TIA and the RIOT. What is rare (decimal mode, unusual addressing, undocumented instructions) is
// left to the interpreter, one instruction at a time, so translated code never knows more than the common case; the
// tests hold both against each other on games and on random programs.
//
// Ownership: consoles with the same ROM share a Translation. Thread safety: all members may be called from several
// threads; a block is made once.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "caudal/rl/atari/executable_memory.h"

namespace caudal::inline v0::rl::atari {

inline constexpr int kPlainRomBytes = 4096;

// The processor while translated code runs, and what that needs to reach the rest of the console.
struct TranslatedState {
  std::int64_t cycle;
  std::uint8_t* ram;    // the RIOT's 128 bytes
  const bool* running;  // false once the frame has ended
  void* console;        // for the calls
  std::int32_t left;    // instructions that may still run
  std::uint16_t pc;
  std::uint16_t nz;  // zero if the low byte is, negative if bit 7 or bit 15 is set
  std::uint8_t a, x, y, sp;
  std::uint8_t c, v, d, i;  // carry is 0 or 1, the others 0 or not
};

// What translated code calls.
struct TranslatedCalls {
  // A write outside of the RAM at a cycle; gives the cycle at which the processor goes on.
  std::int64_t (*write)(TranslatedState* state, std::uint32_t address, std::uint32_t value, std::int64_t cycle);
  // A read outside of ROM and RAM; `last` is what the data bus carried before.
  std::uint32_t (*read)(TranslatedState* state, std::uint32_t address, std::uint32_t last, std::int64_t cycle);
  // One instruction at state->pc by the interpreter, which does not count it. False if the run ends.
  bool (*interpret)(TranslatedState* state);
};

class Translation {
 public:
  using Entry = const std::uint8_t*;

  // The translation of these kPlainRomBytes, an old one if there is one in use. Null where this is no x86-64 system, or
  // one that does not allow it; CAUDAL_ATARI_INTERPRET=1 asks for that.
  static std::shared_ptr<Translation> of(const std::uint8_t* rom, const TranslatedCalls& calls);

  // The code that begins at a program counter; null if there is none: outside of the upper ROM, or no room is left.
  Entry entry(std::uint16_t pc);
  // Runs from `entry` until the frame or the instructions end, or code is met that has no translation yet; state->pc is
  // then where to go on.
  void run(TranslatedState& state, Entry entry) const;

 private:
  Translation(const std::uint8_t* rom, const TranslatedCalls& calls);
  friend class BlockTranslator;

  Entry append(const std::vector<std::uint8_t>& code);
  void make_common_code();

  const std::array<std::uint8_t, kPlainRomBytes> rom_;
  const TranslatedCalls calls_;
  ExecutableMemory memory_;
  std::size_t used_ = 0;
  Entry enter_ = nullptr, leave_ = nullptr, interpret_ = nullptr, unknown_ = nullptr;
  std::array<std::atomic<Entry>, kPlainRomBytes> blocks_;  // unknown_ where nothing is translated
  std::mutex mutex_;
};

}  // namespace caudal::inline v0::rl::atari
