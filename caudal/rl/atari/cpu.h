// The 6507: a 6502 in a smaller case, with 13 address lines and no interrupts. All 151 documented instructions and the
// undocumented ones that games use, with every bus access in its cycle: the second fetch of one-byte instructions, the
// read at the uncorrected address when an index crosses a page, both writes of read-modify-write instructions.
//
// Source: MCS6500 family programming and hardware manuals (cycle tables), "NMOS 6510 unintended opcodes" (the rest).
//
// Cpu<Bus> is one run: it copies the registers, which the compiler then keeps in machine registers, and gives them back
// at the end. Bus has
//   bool running();                                                 // asked before each instruction
//   uint8 fetch(uint16 address, int64 cycle);                       // of code
//   uint8 read(uint16 address, uint8 last, int64 cycle);            // last: what the data bus carried before
//   int64 write(uint16 address, uint8 value, int64 cycle);          // gives the cycle at which the processor goes on
//   int waits(uint16 pc, int64 cycle, int limit);                   // see branch()
// where cycle counts the access itself. Thread safety: none.
#pragma once

#include <cstdint>

#include "caudal/rl/atari/cpu_registers.h"

namespace caudal::inline v0::rl::atari {

// Every helper is inlined: a single one out of line would take `this`, and all registers would live in memory.
#define CAUDAL_CPU_INLINE __attribute__((always_inline)) inline

template <class Bus>
class Cpu {
 public:
  Cpu(Bus& bus, const CpuRegisters& r)
      : bus_(bus), cycle_(r.cycle), pc_(r.pc), a_(r.a), x_(r.x), y_(r.y), sp_(r.sp), jammed_(r.jammed) {
    set_status(r.p);
  }

  CAUDAL_CPU_INLINE CpuRegisters registers() const {
    return {.pc = pc_, .a = a_, .x = x_, .y = y_, .sp = sp_, .p = status(), .jammed = jammed_, .cycle = cycle_};
  }

  // Executes whole instructions while bus.running(), at most `limit`. A jammed processor lets the time pass.
  CAUDAL_CPU_INLINE void run(int limit) {
    left_ = limit;
    while (bus_.running() && left_-- > 0) {
      if (jammed_) {
        ++cycle_;
      } else {
        execute(fetch());
      }
    }
  }

  // Executes one instruction with `left` more allowed, and gives how many are then. REQUIRES: not jammed.
  CAUDAL_CPU_INLINE int step(int left) {
    left_ = left;
    execute(fetch());
    return left_;
  }

  // Bytes and cycles of a waiting loop: LDA absolute, branch to it.
  static constexpr int kWaitBytes = 5, kWaitCycles = 7;

 private:
  using u8 = std::uint8_t;
  using u16 = std::uint16_t;

  // -- Bus accesses: one cycle each.
  CAUDAL_CPU_INLINE u8 fetch() { return last_ = bus_.fetch(pc_++, ++cycle_); }
  CAUDAL_CPU_INLINE u8 read(u16 address) { return last_ = bus_.read(address, last_, ++cycle_); }
  CAUDAL_CPU_INLINE void write(u16 address, u8 value) {
    last_ = value;
    cycle_ = bus_.write(address, value, ++cycle_);
  }
  // The second fetch of an instruction of one byte, whose value nobody uses.
  CAUDAL_CPU_INLINE void idle() { last_ = bus_.fetch(pc_, ++cycle_); }
  CAUDAL_CPU_INLINE void push(u8 value) { write(0x100 | sp_--, value); }
  CAUDAL_CPU_INLINE u8 pull() { return read(0x100 | ++sp_); }
  CAUDAL_CPU_INLINE void idle_stack() { read(0x100 | sp_); }

  // -- Status.
  CAUDAL_CPU_INLINE u8 status() const {
    return static_cast<u8>(c_ | (z_ == 0 ? kZeroFlag : 0) | (i_ ? kInterruptFlag : 0) | (d_ ? kDecimalFlag : 0) |
                           kUnusedFlag | (v_ ? kOverflowFlag : 0) | (n_ & kNegativeFlag));
  }
  CAUDAL_CPU_INLINE void set_status(u8 p) {
    c_ = p & kCarryFlag;
    z_ = p & kZeroFlag ? 0 : 1;
    i_ = p & kInterruptFlag;
    d_ = p & kDecimalFlag;
    v_ = p & kOverflowFlag;
    n_ = p;
  }
  CAUDAL_CPU_INLINE u8 set_nz(u8 value) { return n_ = z_ = value; }

  // -- Addressing modes: the effective address.
  CAUDAL_CPU_INLINE u16 zero_page() { return fetch(); }
  CAUDAL_CPU_INLINE u16 zero_page_indexed(u8 index) {
    const u8 base = fetch();
    read(base);
    return static_cast<u8>(base + index);
  }
  CAUDAL_CPU_INLINE u16 absolute() {
    const u8 low = fetch();
    return static_cast<u16>(low | fetch() << 8);
  }
  // A read goes on at once if the index crosses no page; everything that writes spends the cycle always.
  CAUDAL_CPU_INLINE u16 indexed(u16 base, u8 index, bool always) {
    const u16 address = base + index;
    if (always || ((address ^ base) & 0xff00)) read(static_cast<u16>((base & 0xff00) | (address & 0xff)));
    return address;
  }
  CAUDAL_CPU_INLINE u16 absolute_indexed(u8 index, bool always) { return indexed(absolute(), index, always); }
  CAUDAL_CPU_INLINE u16 indirect_x() {
    const u8 pointer = static_cast<u8>(zero_page_indexed(x_));
    const u8 low = read(pointer);
    return static_cast<u16>(low | read(static_cast<u8>(pointer + 1)) << 8);
  }
  CAUDAL_CPU_INLINE u16 indirect_base() {
    const u8 pointer = fetch();
    const u8 low = read(pointer);
    return static_cast<u16>(low | read(static_cast<u8>(pointer + 1)) << 8);
  }
  CAUDAL_CPU_INLINE u16 indirect_y(bool always) { return indexed(indirect_base(), y_, always); }

  // -- Arithmetic.
  CAUDAL_CPU_INLINE void add_binary(u8 value) {
    const unsigned sum = a_ + value + c_;
    v_ = (~(a_ ^ value) & (a_ ^ sum) & 0x80) != 0;
    c_ = sum >> 8;
    a_ = set_nz(static_cast<u8>(sum));
  }
  CAUDAL_CPU_INLINE void adc(u8 value) {
    if (d_) {
      add_decimal(value);
    } else {
      add_binary(value);
    }
  }
  CAUDAL_CPU_INLINE void sbc(u8 value) {
    if (d_) {
      subtract_decimal(value);
    } else {
      add_binary(static_cast<u8>(~value));
    }
  }
  // N and V come from the sum before its upper digit is corrected, Z from the binary sum.
  CAUDAL_CPU_INLINE void add_decimal(u8 value) {
    z_ = static_cast<u8>(a_ + value + c_);
    unsigned low = (a_ & 15u) + (value & 15u) + c_;
    if (low > 9) low = ((low + 6) & 15) + 16;
    unsigned sum = (a_ & 0xf0u) + (value & 0xf0u) + low;
    n_ = static_cast<u8>(sum);
    v_ = (~(a_ ^ value) & (a_ ^ sum) & 0x80) != 0;
    if (sum >= 0xa0) sum += 0x60;
    c_ = sum > 0xff;
    a_ = static_cast<u8>(sum);
  }
  // All flags come from the binary difference.
  CAUDAL_CPU_INLINE void subtract_decimal(u8 value) {
    int low = (a_ & 15) - (value & 15) - 1 + c_;
    if (low < 0) low = ((low - 6) & 15) - 16;
    int difference = (a_ & 0xf0) - (value & 0xf0) + low;
    if (difference < 0) difference -= 0x60;
    add_binary(static_cast<u8>(~value));
    a_ = static_cast<u8>(difference);
  }
  CAUDAL_CPU_INLINE void compare(u8 reg, u8 value) {
    c_ = reg >= value;
    set_nz(static_cast<u8>(reg - value));
  }
  CAUDAL_CPU_INLINE void bit(u8 value) {
    n_ = value;
    v_ = value & 0x40;
    z_ = a_ & value;
  }
  CAUDAL_CPU_INLINE void ora(u8 value) { a_ = set_nz(a_ | value); }
  CAUDAL_CPU_INLINE void and_(u8 value) { a_ = set_nz(a_ & value); }
  CAUDAL_CPU_INLINE void eor(u8 value) { a_ = set_nz(a_ ^ value); }
  CAUDAL_CPU_INLINE void lda(u8 value) { a_ = set_nz(value); }
  CAUDAL_CPU_INLINE void ldx(u8 value) { x_ = set_nz(value); }
  CAUDAL_CPU_INLINE void ldy(u8 value) { y_ = set_nz(value); }
  CAUDAL_CPU_INLINE u8 asl(u8 value) {
    c_ = value >> 7;
    return set_nz(static_cast<u8>(value << 1));
  }
  CAUDAL_CPU_INLINE u8 lsr(u8 value) {
    c_ = value & 1;
    return set_nz(value >> 1);
  }
  CAUDAL_CPU_INLINE u8 rol(u8 value) {
    const u8 result = static_cast<u8>(value << 1 | c_);
    c_ = value >> 7;
    return set_nz(result);
  }
  CAUDAL_CPU_INLINE u8 ror(u8 value) {
    const u8 result = static_cast<u8>(value >> 1 | c_ << 7);
    c_ = value & 1;
    return set_nz(result);
  }
  CAUDAL_CPU_INLINE u8 inc(u8 value) { return set_nz(value + 1); }
  CAUDAL_CPU_INLINE u8 dec(u8 value) { return set_nz(value - 1); }

  // -- Read-modify-write: the old value is written back while the new one is computed.
  template <class Operation>
  CAUDAL_CPU_INLINE u8 modify(u16 address, Operation operation) {
    const u8 old = read(address);
    write(address, old);
    const u8 value = operation(old);
    write(address, value);
    return value;
  }
  CAUDAL_CPU_INLINE void asl_memory(u16 at) {
    modify(at, [this](u8 v) { return asl(v); });
  }
  CAUDAL_CPU_INLINE void lsr_memory(u16 at) {
    modify(at, [this](u8 v) { return lsr(v); });
  }
  CAUDAL_CPU_INLINE void rol_memory(u16 at) {
    modify(at, [this](u8 v) { return rol(v); });
  }
  CAUDAL_CPU_INLINE void ror_memory(u16 at) {
    modify(at, [this](u8 v) { return ror(v); });
  }
  CAUDAL_CPU_INLINE void inc_memory(u16 at) {
    modify(at, [this](u8 v) { return inc(v); });
  }
  CAUDAL_CPU_INLINE void dec_memory(u16 at) {
    modify(at, [this](u8 v) { return dec(v); });
  }
  // Undocumented: two operations at once.
  CAUDAL_CPU_INLINE void slo(u16 at) {
    ora(modify(at, [this](u8 v) { return asl(v); }));
  }
  CAUDAL_CPU_INLINE void rla(u16 at) {
    and_(modify(at, [this](u8 v) { return rol(v); }));
  }
  CAUDAL_CPU_INLINE void sre(u16 at) {
    eor(modify(at, [this](u8 v) { return lsr(v); }));
  }
  CAUDAL_CPU_INLINE void rra(u16 at) {
    adc(modify(at, [this](u8 v) { return ror(v); }));
  }
  CAUDAL_CPU_INLINE void dcp(u16 at) {
    compare(a_, modify(at, [](u8 v) { return static_cast<u8>(v - 1); }));
  }
  CAUDAL_CPU_INLINE void isb(u16 at) {
    sbc(modify(at, [](u8 v) { return static_cast<u8>(v + 1); }));
  }
  CAUDAL_CPU_INLINE void anc(u8 value) {
    and_(value);
    c_ = a_ >> 7;
  }
  CAUDAL_CPU_INLINE void alr(u8 value) { a_ = lsr(a_ & value); }
  CAUDAL_CPU_INLINE void arr(u8 value) {
    const u8 both = a_ & value;
    a_ = set_nz(static_cast<u8>(both >> 1 | c_ << 7));
    c_ = (a_ >> 6) & 1;
    v_ = ((a_ >> 6) ^ (a_ >> 5)) & 1;
    if (d_) arr_decimal(both);
  }
  CAUDAL_CPU_INLINE void arr_decimal(u8 both) {
    v_ = ((a_ ^ both) & 0x40) != 0;
    if ((both & 15) + (both & 1) > 5) a_ = static_cast<u8>((a_ & 0xf0) | ((a_ + 6) & 15));
    c_ = (both & 0xf0) + (both & 0x10) > 0x50;
    if (c_) a_ = static_cast<u8>(a_ + 0x60);
  }
  CAUDAL_CPU_INLINE void sbx(u8 value) {
    const u8 both = a_ & x_;
    c_ = both >= value;
    x_ = set_nz(static_cast<u8>(both - value));
  }
  // What is stored is ANDed with the high byte of the base address plus one; across a page it becomes the high byte
  // too.
  CAUDAL_CPU_INLINE void store_and_high(u16 base, u8 index, u8 value) {
    u16 address = indexed(base, index, true);
    value &= static_cast<u8>((base >> 8) + 1);
    if ((address ^ base) & 0xff00) address = static_cast<u16>((address & 0xff) | value << 8);
    write(address, value);
  }
  CAUDAL_CPU_INLINE void las(u8 value) {
    sp_ &= value;
    a_ = x_ = set_nz(sp_);
  }
  CAUDAL_CPU_INLINE void lax(u8 value) { a_ = x_ = set_nz(value); }

  // -- Jumps.
  CAUDAL_CPU_INLINE void branch(bool taken) {
    const auto offset = static_cast<std::int8_t>(fetch());
    if (!taken) return;
    idle();
    const u16 target = static_cast<u16>(pc_ + offset);
    if ((target ^ pc_) & 0xff00) last_ = bus_.fetch(static_cast<u16>((pc_ & 0xff00) | (target & 0xff)), ++cycle_);
    pc_ = target;
    // A loop of this branch and one absolute instruction may be one that waits for the timer; its rounds are skipped.
    if (offset == -kWaitBytes) {
      const int rounds = bus_.waits(pc_, cycle_, left_ / 2);
      cycle_ += rounds * kWaitCycles;
      left_ -= 2 * rounds;
    }
  }
  CAUDAL_CPU_INLINE void jsr() {
    const u8 low = fetch();
    idle_stack();
    push(static_cast<u8>(pc_ >> 8));
    push(static_cast<u8>(pc_));
    pc_ = static_cast<u16>(low | fetch() << 8);
  }
  CAUDAL_CPU_INLINE void pull_pc() {
    const u8 low = pull();
    pc_ = static_cast<u16>(low | pull() << 8);
  }
  CAUDAL_CPU_INLINE void rts() {
    idle();
    idle_stack();
    pull_pc();
    idle();
    ++pc_;
  }
  CAUDAL_CPU_INLINE void rti() {
    idle();
    idle_stack();
    set_status(pull());
    pull_pc();
  }
  CAUDAL_CPU_INLINE void brk() {
    fetch();
    push(static_cast<u8>(pc_ >> 8));
    push(static_cast<u8>(pc_));
    push(status() | kBreakFlag);
    i_ = 1;
    const u8 low = read(0xfffe);
    pc_ = static_cast<u16>(low | read(0xffff) << 8);
  }
  // The pointer's high byte comes from the same page.
  CAUDAL_CPU_INLINE void jmp_indirect() {
    const u16 pointer = absolute();
    const u8 low = read(pointer);
    pc_ = static_cast<u16>(low | read(static_cast<u16>((pointer & 0xff00) | ((pointer + 1) & 0xff))) << 8);
  }
  CAUDAL_CPU_INLINE void pull_a() {
    idle();
    idle_stack();
    lda(pull());
  }
  CAUDAL_CPU_INLINE void plp() {
    idle();
    idle_stack();
    set_status(pull());
  }

  CAUDAL_CPU_INLINE void execute(u8 opcode) {
    switch (opcode) {
#include "caudal/rl/atari/cpu_opcodes.inc"
    }
  }

  Bus& bus_;
  std::int64_t cycle_;
  u16 pc_;
  u8 a_, x_, y_, sp_;
  u8 n_ = 0, z_ = 0, c_ = 0, v_ = 0, d_ = 0, i_ = 0;
  u8 last_ = 0;
  int left_ = 0;  // instructions
  bool jammed_;
};

#undef CAUDAL_CPU_INLINE

}  // namespace caudal::inline v0::rl::atari
