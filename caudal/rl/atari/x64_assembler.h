// As much of an assembler for x86-64 as the translator needs.
//
// Every instruction gets a REX prefix, which makes the low bytes of all registers usable alike. Memory operands are a
// base register and a 32-bit displacement. Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume
// 2. Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <vector>

namespace caudal::inline v0::rl::atari {

enum class Reg : std::uint8_t { rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15 };

// Conditions as the processor numbers them.
enum class Cond : std::uint8_t { kOverflow = 0, kCarry = 2, kNoCarry = 3, kZero = 4, kNotZero = 5, kNegative = 8 };

// Of two operands: the opcode with the destination in r/m.
enum class Alu : std::uint8_t {
  kAdd = 0x00,
  kOr = 0x08,
  kAdc = 0x10,
  kSbb = 0x18,
  kAnd = 0x20,
  kSub = 0x28,
  kXor = 0x30
};

enum class Shift : std::uint8_t { kRcl = 2, kRcr = 3, kShl = 4, kShr = 5 };

struct Mem {
  Reg base;
  std::int32_t offset;
};

class Assembler {
 public:
  const std::vector<std::uint8_t>& bytes() const { return bytes_; }
  std::size_t here() const { return bytes_.size(); }

  // -- Moves. Loads of bytes extend with zeros.
  void load8(Reg to, Mem from) { memory({0x0f, 0xb6}, to, from); }
  void load16(Reg to, Mem from) { memory({0x0f, 0xb7}, to, from); }
  void load64(Reg to, Mem from) { memory({0x8b}, to, from, kWide); }
  void store8(Mem to, Reg from) { memory({0x88}, from, to); }
  void store16(Mem to, Reg from) {
    byte(0x66);
    memory({0x89}, from, to);
  }
  void store64(Mem to, Reg from) { memory({0x89}, from, to, kWide); }
  void store8(Mem to, std::uint8_t value) {
    memory({0xc6}, Reg::rax, to);
    byte(value);
  }
  void load8_indexed(Reg to, Reg base, Reg index) {
    rex(0, to, base, index);
    for (const int b : {0x0f, 0xb6, 0x44 | low(to) << 3, low(index) << 3 | low(base), 0}) byte(b);
  }
  void store8_indexed(Reg base, Reg index, Reg from) {
    rex(0, from, base, index);
    for (const int b : {0x88, 0x44 | low(from) << 3, low(index) << 3 | low(base), 0}) byte(b);
  }
  void extend8(Reg to, Reg from) { registers({0x0f, 0xb6}, to, from); }
  void move(Reg to, Reg from) { registers({0x89}, from, to); }
  void move64(Reg to, Reg from) { registers({0x89}, from, to, kWide); }
  void set(Reg to, std::uint32_t value) {
    rex(0, Reg::rax, to);
    byte(0xb8 | low(to));
    number(value);
  }
  void set64(Reg to, std::uint64_t value) {
    rex(kWide, Reg::rax, to);
    byte(0xb8 | low(to));
    number(value);
  }
  void lea64(Reg to, Mem from) { memory({0x8d}, to, from, kWide); }
  void lea(Reg to, Mem from) { memory({0x8d}, to, from); }

  // -- Arithmetic.
  void alu(Alu op, Reg to, Reg from) { registers({op_byte(op) | 1}, from, to); }
  void alu64(Alu op, Reg to, Reg from) { registers({op_byte(op) | 1}, from, to, kWide); }
  void alu8(Alu op, Reg to, Reg from) { registers({op_byte(op)}, from, to); }
  void alu(Alu op, Reg to, std::int32_t value) {
    registers({0x81}, static_cast<Reg>(op_byte(op) >> 3), to);
    number(value);
  }
  void alu64(Alu op, Reg to, std::int32_t value) {
    registers({0x81}, static_cast<Reg>(op_byte(op) >> 3), to, kWide);
    number(value);
  }
  void alu32(Alu op, Mem to, std::int32_t value) {
    memory({0x81}, static_cast<Reg>(op_byte(op) >> 3), to);
    number(value);
  }
  void increment8(Mem at) { memory({0xfe}, Reg::rax, at); }
  void decrement8(Mem at) { memory({0xfe}, Reg::rcx, at); }
  void shift8(Shift op, Reg reg) { registers({0xd0}, static_cast<Reg>(op), reg); }
  void shift(Shift op, Reg reg, std::uint8_t count) {
    registers({0xc1}, static_cast<Reg>(op), reg);
    byte(count);
  }
  void complement_carry() { byte(0xf5); }

  // -- Comparisons.
  void compare8(Mem at, std::uint8_t value) {
    memory({0x80}, static_cast<Reg>(7), at);
    byte(value);
  }
  void compare(Reg reg, std::int32_t value) {
    registers({0x81}, static_cast<Reg>(7), reg);
    number(value);
  }
  void test8(Reg a, Reg b) { registers({0x84}, b, a); }
  void test(Reg reg, std::uint32_t mask) {
    registers({0xf7}, Reg::rax, reg);
    number(mask);
  }
  void set_if(Cond cond, Mem to) { memory({0x0f, 0x90 | static_cast<int>(cond)}, Reg::rax, to); }
  void set_if(Cond cond, Reg to) { registers({0x0f, 0x90 | static_cast<int>(cond)}, Reg::rax, to); }

  // -- Jumps. Those whose target is not known yet give a place for land().
  std::size_t jump_if(Cond cond) {
    byte(0x0f);
    byte(0x80 | static_cast<int>(cond));
    number(std::int32_t{0});
    return here();
  }
  std::size_t jump() {
    byte(0xe9);
    number(std::int32_t{0});
    return here();
  }
  void jump_to(std::size_t target) { land(jump(), target); }
  void land(std::size_t place) { land(place, here()); }
  void land(std::size_t place, std::size_t target) {
    const auto distance = static_cast<std::int32_t>(target) - static_cast<std::int32_t>(place);
    std::memcpy(&bytes_[place - sizeof distance], &distance, sizeof distance);
  }
  void jump_memory(Mem at) { memory({0xff}, static_cast<Reg>(4), at); }
  void jump_register(Reg reg) { registers({0xff}, static_cast<Reg>(4), reg); }
  void call_register(Reg reg) { registers({0xff}, static_cast<Reg>(2), reg); }
  void push(Reg reg) {
    rex(0, Reg::rax, reg);
    byte(0x50 | low(reg));
  }
  void pop(Reg reg) {
    rex(0, Reg::rax, reg);
    byte(0x58 | low(reg));
  }
  void ret() { byte(0xc3); }
  // `count` (in rcx) eight-byte words from [rsi] to [rdi].
  void copy_words() {
    for (const int b : {0xf3, 0x48, 0xa5}) byte(b);
  }

  // Overwrites the number at a place that alu32 and the like ended at.
  void patch(std::size_t end, std::int32_t value) { std::memcpy(&bytes_[end - sizeof value], &value, sizeof value); }

 private:
  static constexpr int kWide = 8;
  static int low(Reg reg) { return static_cast<int>(reg) & 7; }
  static int high(Reg reg) { return static_cast<int>(reg) >> 3; }
  static int op_byte(Alu op) { return static_cast<int>(op); }

  void byte(int value) { bytes_.push_back(static_cast<std::uint8_t>(value)); }
  template <class T>
  void number(T value) {
    std::uint8_t raw[sizeof value];
    std::memcpy(raw, &value, sizeof value);
    bytes_.insert(bytes_.end(), raw, raw + sizeof value);
  }
  void rex(int wide, Reg reg, Reg rm, Reg index = Reg::rax) {
    byte(0x40 | wide | high(reg) << 2 | high(index) << 1 | high(rm));
  }
  void registers(std::initializer_list<int> opcode, Reg reg, Reg rm, int wide = 0) {
    rex(wide, reg, rm);
    for (const int b : opcode) byte(b);
    byte(0xc0 | low(reg) << 3 | low(rm));
  }
  void memory(std::initializer_list<int> opcode, Reg reg, Mem at, int wide = 0) {
    rex(wide, reg, at.base);
    for (const int b : opcode) byte(b);
    byte(0x80 | low(reg) << 3 | low(at.base));
    if (low(at.base) == low(Reg::rsp)) byte(0x24);
    number(at.offset);
  }

  std::vector<std::uint8_t> bytes_;
};

}  // namespace caudal::inline v0::rl::atari
