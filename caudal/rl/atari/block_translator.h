// One run of 6507 instructions as x86-64 code; see translator.h.
//
// In translated code rbx holds the RAM, r12 to r14 hold A, X and Y, rbp holds N and Z (TranslatedState::nz), r15 the
// cycle; the rest of TranslatedState lies at the stack pointer. r15 lags behind by the cycles of the instructions since
// it was last brought up to date, which are known while translating.
// Thread safety: none.
#pragma once

#include <cstdint>
#include <vector>

#include "caudal/rl/atari/translator.h"
#include "caudal/rl/atari/x64_assembler.h"

namespace caudal::inline v0::rl::atari {

// Program counters with these bits set are translated; all games run there.
inline constexpr std::uint16_t kTranslatedMask = 0xf000;

// void enter(TranslatedState*, Entry); leave: back to its caller; interpret: one instruction, whose place is in eax and
// whose result comes in al; unknown: leaves with the program counter in eax.
std::vector<std::uint8_t> code_to_enter();
std::vector<std::uint8_t> code_to_leave();
std::vector<std::uint8_t> code_to_interpret(const TranslatedCalls& calls);
std::vector<std::uint8_t> code_for_unknown(const std::uint8_t* leave);

class BlockTranslator {
 public:
  BlockTranslator(const Translation& translation, std::uint16_t pc) : translation_(translation), pc_(pc) {}

  std::vector<std::uint8_t> translate();

 private:
  // What an instruction does with the value that it reads, in eax.
  using Use = void (BlockTranslator::*)();

  // Where the interpreter takes over an instruction of the block; made after the block.
  struct Detour {
    std::size_t from, back;
    std::uint16_t pc;
    int pending_before, pending_after;
    int instruction;  // its number in the block, from 1
  };

  // Where the frame has ended.
  struct Exit {
    std::size_t from;
    std::uint16_t pc;
    int pending, instruction;
  };

  std::uint8_t byte_at(int offset) const { return translation_.rom_[(pc_ + offset) & (kPlainRomBytes - 1)]; }
  std::uint16_t word_at(int offset) const {
    return static_cast<std::uint16_t>(byte_at(offset) | byte_at(offset + 1) << 8);
  }

  bool translate_instruction();  // false if it ended the block
  // Each gives false, having made nothing, for what it leaves to the interpreter.
  bool translate_read(std::uint8_t opcode);
  bool translate_store(std::uint8_t opcode);
  bool translate_implied(std::uint8_t opcode);
  bool translate_push(std::uint8_t opcode);
  bool translate_modify(std::uint8_t opcode);
  bool translate_jump(std::uint8_t opcode);
  void interpret_and_end();

  bool read_immediate(Use use);
  bool read_address(std::uint16_t address, int length, int cycles, Use use);
  bool read_zero_page_indexed(Reg index, Use use);
  bool read_absolute_indexed(Reg index, Use use);
  bool read_page_zero_indexed(std::uint16_t base, Reg index, Use use);
  bool read_indirect_y(Use use);
  bool store_address(std::uint16_t address, int length, int cycles, Reg value);
  bool store_zero_page_indexed(Reg index, Reg value);
  bool index_zero_page(Reg index, Use use);
  void refuse_decimal(Use use);

  void use_lda();
  void use_ldx();
  void use_ldy();
  void use_ora();
  void use_and();
  void use_eor();
  void use_adc();
  void use_sbc();
  void use_cmp();
  void use_cpx();
  void use_cpy();
  void use_bit();
  void combine(Alu op);
  void compare_with(Reg reg);
  void set_register(Reg reg);
  void shift_register(std::uint8_t opcode, Reg reg);
  void load_status();

  // From here the instruction goes the interpreter's way if `cond`.
  void detour_if(Cond cond);
  void end_instruction(int length, int cycles);
  void call(std::uint64_t function);
  // After a write, which may have ended the frame; r15 then lacks `pending` cycles.
  void leave_unless_running(int length, int pending);
  void go_to(std::uint16_t pc, int extra_cycles = 0);
  void emit_detours();

  const Translation& translation_;
  std::uint16_t pc_;
  Assembler out_;
  int pending_ = 0;             // cycles that r15 lacks
  int instructions_ = 0;        // begun in this block
  std::uint16_t begin_pc_ = 0;  // of the instruction in work, as the next two
  int begin_pending_ = 0;
  std::vector<std::size_t> leaving_;  // places to be sent to its detour
  std::vector<Detour> detours_;
  std::vector<Exit> exits_;
};

}  // namespace caudal::inline v0::rl::atari
