// What the 6507 processor keeps between two instructions.
#pragma once

#include <cstdint>

#include "caudal/base/export.h"

namespace caudal::inline v0::rl::atari {

// Bits of the status register P.
inline constexpr std::uint8_t kCarryFlag = 0x01;
inline constexpr std::uint8_t kZeroFlag = 0x02;
inline constexpr std::uint8_t kInterruptFlag = 0x04;
inline constexpr std::uint8_t kDecimalFlag = 0x08;
inline constexpr std::uint8_t kBreakFlag = 0x10;
inline constexpr std::uint8_t kUnusedFlag = 0x20;
inline constexpr std::uint8_t kOverflowFlag = 0x40;
inline constexpr std::uint8_t kNegativeFlag = 0x80;

struct CpuRegisters {
  std::uint16_t pc = 0;
  std::uint8_t a = 0, x = 0, y = 0, sp = 0xff;
  std::uint8_t p = kUnusedFlag | kInterruptFlag;
  bool jammed = false;     // one of the opcodes that stop the processor until a reset was met
  std::int64_t cycle = 0;  // cycles completed since power-on
};

}  // namespace caudal::inline v0::rl::atari
