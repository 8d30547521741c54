#include "caudal/rl/atari/block_translator.h"

#include <cstddef>

#include "caudal/rl/atari/cpu_registers.h"

namespace caudal::inline v0::rl::atari {
namespace {

constexpr int kLongestBlock = 48;  // instructions
constexpr Reg kRam = Reg::rbx, kNz = Reg::rbp, kA = Reg::r12, kX = Reg::r13, kY = Reg::r14, kCycle = Reg::r15;

static_assert(sizeof(TranslatedState) % 16 == 0, "the stack stays aligned");
static_assert(sizeof(std::atomic<Translation::Entry>) == sizeof(void*) &&
              std::atomic<Translation::Entry>::is_always_lock_free);
constexpr auto kStateBytes = static_cast<std::int32_t>(sizeof(TranslatedState));

// A member of the state, which lies `above` bytes over the stack pointer.
#define CAUDAL_STATE(member, above) \
  Mem { Reg::rsp, static_cast<std::int32_t>(offsetof(TranslatedState, member)) + (above) }

void load_registers(Assembler& out, std::int32_t above) {
  out.load8(kA, CAUDAL_STATE(a, above));
  out.load8(kX, CAUDAL_STATE(x, above));
  out.load8(kY, CAUDAL_STATE(y, above));
  out.load16(kNz, CAUDAL_STATE(nz, above));
  out.load64(kCycle, CAUDAL_STATE(cycle, above));
}

void store_registers(Assembler& out, std::int32_t above) {
  out.store8(CAUDAL_STATE(a, above), kA);
  out.store8(CAUDAL_STATE(x, above), kX);
  out.store8(CAUDAL_STATE(y, above), kY);
  out.store16(CAUDAL_STATE(nz, above), kNz);
  out.store64(CAUDAL_STATE(cycle, above), kCycle);
}

std::uint64_t address_of(const void* place) { return reinterpret_cast<std::uintptr_t>(place); }
template <class Result, class... Arguments>
std::uint64_t address_of(Result (*function)(Arguments...)) {
  return reinterpret_cast<std::uintptr_t>(function);
}

void jump(Assembler& out, const std::uint8_t* code) {
  out.set64(Reg::rcx, address_of(code));
  out.jump_register(Reg::rcx);
}

constexpr Reg kSaved[] = {Reg::rbx, Reg::rbp, Reg::r12, Reg::r13, Reg::r14, Reg::r15, Reg::rdi};

// `LDA INTIM` and the branch back to it: a loop that waits, whose rounds the interpreter skips.
bool is_wait(const std::array<std::uint8_t, kPlainRomBytes>& rom, std::uint16_t target) {
  static constexpr std::uint8_t kLoop[] = {0xad, 0x84, 0x02, 0xd0};
  for (int i = 0; i < 4; ++i) {
    if (rom[(target + i) & (kPlainRomBytes - 1)] != kLoop[i]) return false;
  }
  return true;
}

bool is_ram(std::uint16_t address) { return (address & 0x1280) == 0x80; }
bool is_rom(std::uint16_t address) { return (address & 0x1000) != 0; }
std::int32_t ram_offset(std::uint16_t address) { return address & 0x7f; }

}  // namespace

std::vector<std::uint8_t> code_to_enter() {
  Assembler out;
  for (const Reg reg : kSaved) out.push(reg);
  out.alu64(Alu::kSub, Reg::rsp, kStateBytes);
  out.move64(Reg::rax, Reg::rsi);
  out.move64(Reg::rsi, Reg::rdi);
  out.move64(Reg::rdi, Reg::rsp);
  out.set(Reg::rcx, kStateBytes / 8);
  out.copy_words();
  load_registers(out, 0);
  out.load64(kRam, CAUDAL_STATE(ram, 0));
  out.jump_register(Reg::rax);
  return out.bytes();
}

std::vector<std::uint8_t> code_to_leave() {
  Assembler out;
  store_registers(out, 0);
  out.load64(Reg::rdi, {Reg::rsp, kStateBytes});  // pushed last
  out.move64(Reg::rsi, Reg::rsp);
  out.set(Reg::rcx, kStateBytes / 8);
  out.copy_words();
  out.alu64(Alu::kAdd, Reg::rsp, kStateBytes);
  for (int i = static_cast<int>(std::size(kSaved)) - 1; i >= 0; --i) out.pop(kSaved[i]);
  out.ret();
  return out.bytes();
}

std::vector<std::uint8_t> code_to_interpret(const TranslatedCalls& calls) {
  constexpr std::int32_t kAbove = 16;  // the return address and what keeps the stack aligned
  Assembler out;
  out.alu64(Alu::kSub, Reg::rsp, 8);
  store_registers(out, kAbove);
  out.store16(CAUDAL_STATE(pc, kAbove), Reg::rax);
  out.lea64(Reg::rdi, {Reg::rsp, kAbove});
  out.set64(Reg::rax, address_of(calls.interpret));
  out.call_register(Reg::rax);
  load_registers(out, kAbove);
  out.alu64(Alu::kAdd, Reg::rsp, 8);
  out.ret();
  return out.bytes();
}

std::vector<std::uint8_t> code_for_unknown(const std::uint8_t* leave) {
  Assembler out;
  out.store16(CAUDAL_STATE(pc, 0), Reg::rax);
  jump(out, leave);
  return out.bytes();
}

std::vector<std::uint8_t> BlockTranslator::translate() {
  const std::uint16_t first = pc_;
  out_.alu32(Alu::kSub, CAUDAL_STATE(left, 0), 0);
  const std::size_t count = out_.here();
  const std::size_t limit = out_.jump_if(Cond::kNegative);
  const auto is_translated = [this] {
    return translation_.blocks_[pc_ & (kPlainRomBytes - 1)].load(std::memory_order_relaxed) != translation_.unknown_;
  };
  while (translate_instruction()) {
    if ((pc_ & kTranslatedMask) != kTranslatedMask || instructions_ == kLongestBlock || is_translated()) {
      go_to(pc_);
      break;
    }
  }
  out_.patch(count, instructions_);
  // Fewer instructions are left than the block has: the interpreter does them.
  out_.land(limit);
  out_.alu32(Alu::kAdd, CAUDAL_STATE(left, 0), instructions_);
  out_.set(Reg::rax, first);
  jump(out_, translation_.unknown_);
  emit_detours();
  return out_.bytes();
}

void BlockTranslator::emit_detours() {
  for (const Detour& detour : detours_) {
    const int later = instructions_ - detour.instruction;
    out_.land(detour.from);
    out_.alu64(Alu::kAdd, kCycle, detour.pending_before);
    out_.alu32(Alu::kAdd, CAUDAL_STATE(left, 0), later);
    out_.set(Reg::rax, detour.pc);
    out_.set64(Reg::rcx, address_of(translation_.interpret_));
    out_.call_register(Reg::rcx);
    out_.test8(Reg::rax, Reg::rax);
    const std::size_t ended = out_.jump_if(Cond::kZero);
    out_.alu32(Alu::kSub, CAUDAL_STATE(left, 0), later);
    out_.alu64(Alu::kSub, kCycle, detour.pending_after);
    out_.jump_to(detour.back);
    out_.land(ended);
    jump(out_, translation_.leave_);
  }
  for (const Exit& exit : exits_) {
    out_.land(exit.from);
    out_.alu64(Alu::kAdd, kCycle, exit.pending);
    out_.alu32(Alu::kAdd, CAUDAL_STATE(left, 0), instructions_ - exit.instruction);
    out_.set(Reg::rax, exit.pc);
    jump(out_, translation_.unknown_);
  }
}

bool BlockTranslator::translate_instruction() {
  ++instructions_;
  begin_pc_ = pc_;
  begin_pending_ = pending_;
  const std::uint8_t opcode = byte_at(0);
  // Beyond the last address the program goes on in the TIA.
  const bool wraps = pc_ > 0xffff - 2;
  if (!wraps) {
    if (translate_read(opcode) || translate_store(opcode) || translate_implied(opcode) || translate_modify(opcode)) {
      return true;
    }
    if (translate_jump(opcode)) return false;
  }
  interpret_and_end();
  return false;
}

void BlockTranslator::end_instruction(int length, int cycles) {
  pending_ += cycles;
  pc_ = static_cast<std::uint16_t>(pc_ + length);
  for (const std::size_t from : leaving_) {
    detours_.push_back({from, out_.here(), begin_pc_, begin_pending_, pending_, instructions_});
  }
  leaving_.clear();
}

void BlockTranslator::detour_if(Cond cond) { leaving_.push_back(out_.jump_if(cond)); }

void BlockTranslator::go_to(std::uint16_t pc, int extra_cycles) {
  if (pending_ + extra_cycles != 0) out_.alu64(Alu::kAdd, kCycle, pending_ + extra_cycles);
  out_.set(Reg::rax, pc);
  if ((pc & kTranslatedMask) != kTranslatedMask) {
    jump(out_, translation_.unknown_);
    return;
  }
  out_.set64(Reg::rcx, address_of(&translation_.blocks_[pc & (kPlainRomBytes - 1)]));
  out_.jump_memory({Reg::rcx, 0});
}

// The whole instruction by the interpreter; it may go anywhere.
void BlockTranslator::interpret_and_end() {
  if (pending_ != 0) out_.alu64(Alu::kAdd, kCycle, pending_);
  out_.set(Reg::rax, pc_);
  out_.set64(Reg::rcx, address_of(translation_.interpret_));
  out_.call_register(Reg::rcx);
  out_.test8(Reg::rax, Reg::rax);
  const std::size_t goes_on = out_.jump_if(Cond::kNotZero);
  jump(out_, translation_.leave_);
  out_.land(goes_on);
  out_.load16(Reg::rax, CAUDAL_STATE(pc, 0));
  out_.move(Reg::rcx, Reg::rax);
  out_.alu(Alu::kAnd, Reg::rcx, kTranslatedMask);
  out_.compare(Reg::rcx, kTranslatedMask);
  const std::size_t translated = out_.jump_if(Cond::kZero);
  jump(out_, translation_.unknown_);
  out_.land(translated);
  out_.move(Reg::rcx, Reg::rax);
  out_.alu(Alu::kAnd, Reg::rcx, kPlainRomBytes - 1);
  out_.shift(Shift::kShl, Reg::rcx, 3);
  out_.set64(Reg::rdx, address_of(translation_.blocks_.data()));
  out_.alu64(Alu::kAdd, Reg::rdx, Reg::rcx);
  out_.jump_memory({Reg::rdx, 0});
}

void BlockTranslator::call(std::uint64_t function) {
  out_.move64(Reg::rdi, Reg::rsp);
  out_.set64(Reg::rax, function);
  out_.call_register(Reg::rax);
}

// -- Reads

bool BlockTranslator::translate_read(std::uint8_t opcode) {
  static constexpr Use kUses[] = {&BlockTranslator::use_ora,
                                  &BlockTranslator::use_and,
                                  &BlockTranslator::use_eor,
                                  &BlockTranslator::use_adc,
                                  nullptr,
                                  &BlockTranslator::use_lda,
                                  &BlockTranslator::use_cmp,
                                  &BlockTranslator::use_sbc};
  const Use use = kUses[opcode >> 5];
  // The eight instructions with all addressing modes have regular opcodes.
  switch (use == nullptr ? 0 : opcode & 0x1f) {
    case 0x09:
      return read_immediate(use);
    case 0x05:
      return read_address(byte_at(1), 2, 3, use);
    case 0x15:
      return read_zero_page_indexed(kX, use);
    case 0x0d:
      return read_address(word_at(1), 3, 4, use);
    case 0x1d:
      return read_absolute_indexed(kX, use);
    case 0x19:
      return read_absolute_indexed(kY, use);
    case 0x11:
      return read_indirect_y(use);
    default:
      break;
  }
  switch (opcode) {
    case 0xa2:
      return read_immediate(&BlockTranslator::use_ldx);
    case 0xa6:
      return read_address(byte_at(1), 2, 3, &BlockTranslator::use_ldx);
    case 0xb6:
      return read_zero_page_indexed(kY, &BlockTranslator::use_ldx);
    case 0xae:
      return read_address(word_at(1), 3, 4, &BlockTranslator::use_ldx);
    case 0xbe:
      return read_absolute_indexed(kY, &BlockTranslator::use_ldx);
    case 0xa0:
      return read_immediate(&BlockTranslator::use_ldy);
    case 0xa4:
      return read_address(byte_at(1), 2, 3, &BlockTranslator::use_ldy);
    case 0xb4:
      return read_zero_page_indexed(kX, &BlockTranslator::use_ldy);
    case 0xac:
      return read_address(word_at(1), 3, 4, &BlockTranslator::use_ldy);
    case 0xbc:
      return read_absolute_indexed(kX, &BlockTranslator::use_ldy);
    case 0xe0:
      return read_immediate(&BlockTranslator::use_cpx);
    case 0xe4:
      return read_address(byte_at(1), 2, 3, &BlockTranslator::use_cpx);
    case 0xec:
      return read_address(word_at(1), 3, 4, &BlockTranslator::use_cpx);
    case 0xc0:
      return read_immediate(&BlockTranslator::use_cpy);
    case 0xc4:
      return read_address(byte_at(1), 2, 3, &BlockTranslator::use_cpy);
    case 0xcc:
      return read_address(word_at(1), 3, 4, &BlockTranslator::use_cpy);
    case 0x24:
      return read_address(byte_at(1), 2, 3, &BlockTranslator::use_bit);
    case 0x2c:
      return read_address(word_at(1), 3, 4, &BlockTranslator::use_bit);
    default:
      return false;
  }
}

// Decimal mode is the interpreter's, which must be known before anything is read.
void BlockTranslator::refuse_decimal(Use use) {
  if (use != &BlockTranslator::use_adc && use != &BlockTranslator::use_sbc) return;
  out_.compare8(CAUDAL_STATE(d, 0), 0);
  detour_if(Cond::kNotZero);
}

bool BlockTranslator::read_immediate(Use use) {
  refuse_decimal(use);
  out_.set(Reg::rax, byte_at(1));
  (this->*use)();
  end_instruction(2, 2);
  return true;
}

bool BlockTranslator::read_address(std::uint16_t address, int length, int cycles, Use use) {
  refuse_decimal(use);
  if (is_rom(address)) {
    out_.set(Reg::rax, translation_.rom_[address & (kPlainRomBytes - 1)]);
  } else if (is_ram(address)) {
    out_.load8(Reg::rax, {kRam, ram_offset(address)});
  } else {
    out_.set(Reg::rsi, address);
    out_.set(Reg::rdx, byte_at(length - 1));
    out_.lea64(Reg::rcx, {kCycle, pending_ + cycles});
    call(address_of(translation_.calls_.read));
  }
  (this->*use)();
  end_instruction(length, cycles);
  return true;
}

bool BlockTranslator::read_zero_page_indexed(Reg index, Use use) {
  if (!index_zero_page(index, use)) return false;
  out_.load8_indexed(Reg::rax, kRam, Reg::rcx);
  (this->*use)();
  end_instruction(2, 4);
  return true;
}

// The RAM's offset of the indexed address into ecx. False if the base, which is read too, lies outside.
bool BlockTranslator::index_zero_page(Reg index, Use use) {
  if (!is_ram(byte_at(1))) return false;
  refuse_decimal(use);
  out_.lea(Reg::rcx, {index, byte_at(1)});
  out_.test(Reg::rcx, 0x80);
  detour_if(Cond::kZero);
  out_.alu(Alu::kAnd, Reg::rcx, 0x7f);
  return true;
}

bool BlockTranslator::read_absolute_indexed(Reg index, Use use) {
  const std::uint16_t base = word_at(1);
  if (base < 0x100) return read_page_zero_indexed(base, index, use);
  if (base > 0xff00 || !is_rom(base) || !is_rom(base + 0xff)) return false;
  refuse_decimal(use);
  out_.lea(Reg::rcx, {index, base & 0xff});
  out_.move(Reg::rdx, Reg::rcx);
  out_.shift(Shift::kShr, Reg::rdx, 8);
  out_.alu64(Alu::kAdd, kCycle, Reg::rdx);  // one more across a page
  out_.alu(Alu::kAdd, Reg::rcx, base & 0xf00);
  out_.set64(Reg::rsi, address_of(translation_.rom_.data()));
  out_.load8_indexed(Reg::rax, Reg::rsi, Reg::rcx);
  (this->*use)();
  end_instruction(3, 4);
  return true;
}

// The RAM by an absolute address, which goes on behind page 0.
bool BlockTranslator::read_page_zero_indexed(std::uint16_t base, Reg index, Use use) {
  refuse_decimal(use);
  out_.lea(Reg::rcx, {index, base});
  out_.test(Reg::rcx, 0x80);
  detour_if(Cond::kZero);
  out_.move(Reg::rdx, Reg::rcx);
  out_.shift(Shift::kShr, Reg::rdx, 8);
  out_.alu64(Alu::kAdd, kCycle, Reg::rdx);  // one more across a page
  out_.alu(Alu::kAnd, Reg::rcx, 0x7f);
  out_.load8_indexed(Reg::rax, kRam, Reg::rcx);
  (this->*use)();
  end_instruction(3, 4);
  return true;
}

bool BlockTranslator::read_indirect_y(Use use) {
  const std::uint8_t pointer = byte_at(1);
  if (!is_ram(pointer) || pointer == 0xff) return false;
  refuse_decimal(use);
  out_.load8(Reg::rcx, {kRam, ram_offset(pointer)});
  out_.load8(Reg::rdx, {kRam, ram_offset(pointer + 1)});
  out_.alu(Alu::kAdd, Reg::rcx, kY);
  out_.move(Reg::rsi, Reg::rcx);
  out_.shift(Shift::kShr, Reg::rsi, 8);
  // Before and behind the page's end it must be ROM.
  out_.test(Reg::rdx, 0x10);
  detour_if(Cond::kZero);
  out_.alu(Alu::kAdd, Reg::rdx, Reg::rsi);
  out_.test(Reg::rdx, 0x10);
  detour_if(Cond::kZero);
  out_.alu64(Alu::kAdd, kCycle, Reg::rsi);
  out_.alu(Alu::kAnd, Reg::rdx, 0x0f);
  out_.shift(Shift::kShl, Reg::rdx, 8);
  out_.extend8(Reg::rcx, Reg::rcx);
  out_.alu(Alu::kOr, Reg::rcx, Reg::rdx);
  out_.set64(Reg::rsi, address_of(translation_.rom_.data()));
  out_.load8_indexed(Reg::rax, Reg::rsi, Reg::rcx);
  (this->*use)();
  end_instruction(2, 5);
  return true;
}

// -- What is done with a value in eax

void BlockTranslator::set_register(Reg reg) {
  out_.move(reg, Reg::rax);
  out_.move(kNz, Reg::rax);
}
void BlockTranslator::use_lda() { set_register(kA); }
void BlockTranslator::use_ldx() { set_register(kX); }
void BlockTranslator::use_ldy() { set_register(kY); }

void BlockTranslator::combine(Alu op) {
  out_.alu(op, kA, Reg::rax);
  out_.move(kNz, kA);
}
void BlockTranslator::use_ora() { combine(Alu::kOr); }
void BlockTranslator::use_and() { combine(Alu::kAnd); }
void BlockTranslator::use_eor() { combine(Alu::kXor); }

// The 6507 and this processor overflow alike; the carry of a difference means the opposite.
void BlockTranslator::use_adc() {
  out_.compare8(CAUDAL_STATE(c, 0), 1);
  out_.complement_carry();
  out_.alu8(Alu::kAdc, kA, Reg::rax);
  out_.set_if(Cond::kCarry, CAUDAL_STATE(c, 0));
  out_.set_if(Cond::kOverflow, CAUDAL_STATE(v, 0));
  out_.extend8(kA, kA);
  out_.move(kNz, kA);
}
void BlockTranslator::use_sbc() {
  out_.compare8(CAUDAL_STATE(c, 0), 1);
  out_.alu8(Alu::kSbb, kA, Reg::rax);
  out_.set_if(Cond::kNoCarry, CAUDAL_STATE(c, 0));
  out_.set_if(Cond::kOverflow, CAUDAL_STATE(v, 0));
  out_.extend8(kA, kA);
  out_.move(kNz, kA);
}

void BlockTranslator::compare_with(Reg reg) {
  out_.move(Reg::rdx, reg);
  out_.alu8(Alu::kSub, Reg::rdx, Reg::rax);
  out_.set_if(Cond::kNoCarry, CAUDAL_STATE(c, 0));
  out_.extend8(kNz, Reg::rdx);
}
void BlockTranslator::use_cmp() { compare_with(kA); }
void BlockTranslator::use_cpx() { compare_with(kX); }
void BlockTranslator::use_cpy() { compare_with(kY); }

void BlockTranslator::use_bit() {
  out_.move(Reg::rcx, Reg::rax);
  out_.alu(Alu::kAnd, Reg::rcx, 0x40);
  out_.store8(CAUDAL_STATE(v, 0), Reg::rcx);
  out_.move(Reg::rcx, Reg::rax);
  out_.alu(Alu::kAnd, Reg::rcx, 0x80);
  out_.shift(Shift::kShl, Reg::rcx, 8);
  out_.alu(Alu::kAnd, Reg::rax, kA);
  out_.alu(Alu::kOr, Reg::rax, Reg::rcx);
  out_.move(kNz, Reg::rax);
}

// -- Stores

bool BlockTranslator::translate_store(std::uint8_t opcode) {
  switch (opcode) {
    case 0x85:
      return store_address(byte_at(1), 2, 3, kA);
    case 0x86:
      return store_address(byte_at(1), 2, 3, kX);
    case 0x84:
      return store_address(byte_at(1), 2, 3, kY);
    case 0x8d:
      return store_address(word_at(1), 3, 4, kA);
    case 0x8e:
      return store_address(word_at(1), 3, 4, kX);
    case 0x8c:
      return store_address(word_at(1), 3, 4, kY);
    case 0x95:
      return store_zero_page_indexed(kX, kA);
    case 0x94:
      return store_zero_page_indexed(kX, kY);
    case 0x96:
      return store_zero_page_indexed(kY, kX);
    default:
      return false;
  }
}

bool BlockTranslator::store_address(std::uint16_t address, int length, int cycles, Reg value) {
  if (is_ram(address)) {
    out_.store8({kRam, ram_offset(address)}, value);
  } else if (!is_rom(address)) {
    out_.set(Reg::rsi, address);
    out_.move(Reg::rdx, value);
    out_.lea64(Reg::rcx, {kCycle, pending_ + cycles});
    call(address_of(translation_.calls_.write));
    out_.move64(kCycle, Reg::rax);
    pending_ = -cycles;
    leave_unless_running(length, 0);
  }
  end_instruction(length, cycles);
  return true;
}

bool BlockTranslator::store_zero_page_indexed(Reg index, Reg value) {
  if (!index_zero_page(index, nullptr)) return false;
  out_.store8_indexed(kRam, Reg::rcx, value);
  end_instruction(2, 4);
  return true;
}

void BlockTranslator::leave_unless_running(int length, int pending) {
  out_.load64(Reg::rax, CAUDAL_STATE(running, 0));
  out_.compare8({Reg::rax, 0}, 0);
  exits_.push_back({out_.jump_if(Cond::kZero), static_cast<std::uint16_t>(pc_ + length), pending, instructions_});
}

// -- Instructions of one byte

bool BlockTranslator::translate_implied(std::uint8_t opcode) {
  const auto flag = [this](Mem at, std::uint8_t value) { out_.store8(at, value); };
  const auto transfer = [this](Reg to, Reg from) {
    out_.move(to, from);
    out_.move(kNz, from);
  };
  const auto count = [this](Reg reg, int by) {
    out_.alu(Alu::kAdd, reg, by);
    out_.extend8(reg, reg);
    out_.move(kNz, reg);
  };
  switch (opcode) {
    case 0x18:
    case 0x38:
      flag(CAUDAL_STATE(c, 0), opcode >> 5);
      break;
    case 0x58:
    case 0x78:
      flag(CAUDAL_STATE(i, 0), opcode >> 5 & 1);
      break;
    case 0xd8:
    case 0xf8:
      flag(CAUDAL_STATE(d, 0), opcode >> 5 & 1);
      break;
    case 0xb8:
      flag(CAUDAL_STATE(v, 0), 0);
      break;
    case 0xaa:
      transfer(kX, kA);
      break;
    case 0x8a:
      transfer(kA, kX);
      break;
    case 0xa8:
      transfer(kY, kA);
      break;
    case 0x98:
      transfer(kA, kY);
      break;
    case 0xba:
      out_.load8(kX, CAUDAL_STATE(sp, 0));
      out_.move(kNz, kX);
      break;
    case 0x9a:
      out_.store8(CAUDAL_STATE(sp, 0), kX);
      break;
    case 0xe8:
      count(kX, 1);
      break;
    case 0xca:
      count(kX, -1);
      break;
    case 0xc8:
      count(kY, 1);
      break;
    case 0x88:
      count(kY, -1);
      break;
    case 0x0a:
    case 0x2a:
    case 0x4a:
    case 0x6a:
      shift_register(opcode, kA);
      break;
    case 0xea:
      break;
    case 0x08:
    case 0x48:
      return translate_push(opcode);
    default:
      return false;
  }
  end_instruction(1, 2);
  return true;
}

bool BlockTranslator::translate_push(std::uint8_t opcode) {
  static constexpr int kCycles = 3;
  if (opcode == 0x48) {
    out_.move(Reg::rax, kA);
  } else {
    load_status();
  }
  out_.load8(Reg::rcx, CAUDAL_STATE(sp, 0));
  out_.decrement8(CAUDAL_STATE(sp, 0));
  out_.test(Reg::rcx, 0x80);
  const std::size_t outside = out_.jump_if(Cond::kZero);
  out_.alu(Alu::kAnd, Reg::rcx, 0x7f);
  out_.store8_indexed(kRam, Reg::rcx, Reg::rax);
  const std::size_t done = out_.jump();
  // Programs let the stack reach the TIA to write its registers in few cycles.
  out_.land(outside);
  out_.lea(Reg::rsi, {Reg::rcx, 0x100});
  out_.move(Reg::rdx, Reg::rax);
  out_.lea64(Reg::rcx, {kCycle, pending_ + kCycles});
  call(address_of(translation_.calls_.write));
  out_.move64(kCycle, Reg::rax);
  leave_unless_running(1, 0);
  out_.alu64(Alu::kSub, kCycle, pending_ + kCycles);
  out_.land(done);
  end_instruction(1, kCycles);
  return true;
}

// P as PHP pushes it, into eax.
void BlockTranslator::load_status() {
  const auto add = [this](Cond cond, int bit) {
    out_.set_if(cond, Reg::rcx);
    out_.extend8(Reg::rcx, Reg::rcx);
    out_.shift(Shift::kShl, Reg::rcx, static_cast<std::uint8_t>(bit));
    out_.alu(Alu::kOr, Reg::rax, Reg::rcx);
  };
  static_assert(kCarryFlag == 1 && kZeroFlag == 2 && kInterruptFlag == 4 && kDecimalFlag == 8 && kOverflowFlag == 64);
  out_.load8(Reg::rax, CAUDAL_STATE(c, 0));
  out_.test8(kNz, kNz);
  add(Cond::kZero, 1);
  out_.compare8(CAUDAL_STATE(i, 0), 0);
  add(Cond::kNotZero, 2);
  out_.compare8(CAUDAL_STATE(d, 0), 0);
  add(Cond::kNotZero, 3);
  out_.compare8(CAUDAL_STATE(v, 0), 0);
  add(Cond::kNotZero, 6);
  out_.test(kNz, 0x8080);
  add(Cond::kNotZero, 7);
  out_.alu(Alu::kOr, Reg::rax, kUnusedFlag | kBreakFlag);
}

// -- Instructions that read, change and write

// ASL, ROL, LSR, ROR by the upper bits of the opcode; `reg` is extended afterwards.
void BlockTranslator::shift_register(std::uint8_t opcode, Reg reg) {
  static constexpr Shift kShifts[] = {Shift::kShl, Shift::kRcl, Shift::kShr, Shift::kRcr};
  const Shift shift = kShifts[opcode >> 5];
  if (shift == Shift::kRcl || shift == Shift::kRcr) {
    out_.compare8(CAUDAL_STATE(c, 0), 1);
    out_.complement_carry();
  }
  out_.shift8(shift, reg);
  out_.set_if(Cond::kCarry, CAUDAL_STATE(c, 0));
  out_.extend8(reg, reg);
  out_.move(kNz, reg);
}

bool BlockTranslator::translate_modify(std::uint8_t opcode) {
  const bool shifts = opcode == 0x06 || opcode == 0x26 || opcode == 0x46 || opcode == 0x66;
  const bool counts = opcode == 0xe6 || opcode == 0xc6;
  if ((!shifts && !counts) || !is_ram(byte_at(1))) return false;
  const Mem at = {kRam, ram_offset(byte_at(1))};
  out_.load8(Reg::rax, at);
  if (shifts) {
    shift_register(opcode, Reg::rax);
  } else {
    out_.alu(Alu::kAdd, Reg::rax, opcode == 0xe6 ? 1 : -1);
    out_.extend8(kNz, Reg::rax);
  }
  out_.store8(at, Reg::rax);
  end_instruction(2, 5);
  return true;
}

// -- Jumps

bool BlockTranslator::translate_jump(std::uint8_t opcode) {
  if (opcode == 0x4c) {
    go_to(word_at(1), 3);
    return true;
  }
  if ((opcode & 0x1f) != 0x10) return false;
  const std::uint16_t next = static_cast<std::uint16_t>(pc_ + 2);
  const std::uint16_t target = static_cast<std::uint16_t>(next + static_cast<std::int8_t>(byte_at(1)));
  if (is_wait(translation_.rom_, target)) return false;
  switch (opcode >> 6) {
    case 0:
      out_.test(kNz, 0x8080);
      break;
    case 1:
      out_.compare8(CAUDAL_STATE(v, 0), 0);
      break;
    case 2:
      out_.compare8(CAUDAL_STATE(c, 0), 0);
      break;
    default:
      // Taken by the opposite: BNE if the value is not zero.
      out_.test8(kNz, kNz);
      break;
  }
  const bool on_set = (opcode & 0x20) != 0;
  const bool zero_flag = opcode >> 6 == 3;
  const std::size_t taken = out_.jump_if(on_set != zero_flag ? Cond::kNotZero : Cond::kZero);
  go_to(next, 2);
  out_.land(taken);
  go_to(target, ((target ^ next) & 0xff00) != 0 ? 4 : 3);
  return true;
}

}  // namespace caudal::inline v0::rl::atari
