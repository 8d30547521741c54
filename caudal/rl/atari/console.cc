#include "caudal/rl/atari/console.h"

#include <algorithm>

#include "caudal/base/crc32c.h"
#include "caudal/base/error.h"
#include "caudal/rl/atari/cpu.h"
#include "caudal/rl/atari/translator.h"

namespace caudal::inline v0::rl::atari {
namespace {

// A program that does not sync, as one that crashed, still gets its frames, as in ALE: one ends with the first write to
// the TIA after this line. After so many instructions it is interrupted, and goes on with the next call.
constexpr int kLastLine = 290;
constexpr int kMostInstructions = 25000;

constexpr std::string_view kStateMagic = "CaudalAtari1";

}  // namespace

// What the processor sees. kPlain: the cartridge is 4096 bytes that do not change.
template <bool kPlain>
class ConsoleBus {
 public:
  explicit ConsoleBus(Console& console)
      : console_(console), rom_(console.cartridge_.plain_rom()), ram_(console.riot_.ram().data()) {}

  bool running() const { return console_.running_; }

  std::uint8_t fetch(std::uint16_t address, std::int64_t cycle) { return read(address, 0, cycle); }

  std::uint8_t read(std::uint16_t address, std::uint8_t last, std::int64_t cycle) {
    if constexpr (kPlain) {
      if (address & 0x1000) return rom_[address & 0xfff];
      if ((address & 0x280) == 0x80) return ram_[address & 0x7f];
    }
    return console_.read_slow(address, last, cycle);
  }

  std::int64_t write(std::uint16_t address, std::uint8_t value, std::int64_t cycle) {
    if constexpr (kPlain) {
      if ((address & 0x1280) == 0x80) {
        ram_[address & 0x7f] = value;
        return cycle;
      }
    }
    return console_.write_slow(address, value, cycle);
  }

  // LDA INTIM, BNE to it: nothing happens until the timer reads 0, but for the time that passes.
  int waits(std::uint16_t pc, std::int64_t cycle, int limit) const {
    if constexpr (!kPlain) return 0;
    static constexpr int kReadAt = 4;
    static constexpr int kCycles = Cpu<ConsoleBus>::kWaitCycles;
    const auto byte = [&](int i) { return rom_[(pc + i) & 0xfff]; };
    if (!(pc & 0x1000) || byte(0) != 0xad || byte(1) != 0x84 || byte(2) != 0x02 || byte(3) != 0xd0) return 0;
    // While the read of a round lies before this cycle, the round changes nothing.
    const std::int64_t room = console_.riot_.timer_zero_cycle() - (cycle + kReadAt);
    return room > 0 ? static_cast<int>(std::min<std::int64_t>((room + kCycles - 1) / kCycles, limit)) : 0;
  }

 private:
  Console& console_;
  const std::uint8_t* rom_;
  std::uint8_t* ram_;
};

inline std::int64_t Console::write_tia(std::uint16_t address, std::uint8_t value, std::int64_t cycle) {
  const std::int64_t next = tia_.write(address & 0x3f, value, cycle);
  if (tia_.take_end_of_sync() || tia_.line_at(cycle) > kLastLine) running_ = false;
  return next;
}

// The console as translated code sees it.
struct TranslatedConsole {
  static std::int64_t write(TranslatedState* state, std::uint32_t address, std::uint32_t value, std::int64_t cycle) {
    Console& console = of(state);
    const auto at = static_cast<std::uint16_t>(address);
    const auto byte = static_cast<std::uint8_t>(value);
    return (at & 0x80) == 0 ? console.write_tia(at, byte, cycle) : console.write_slow(at, byte, cycle);
  }
  static std::uint32_t read(TranslatedState* state, std::uint32_t address, std::uint32_t last, std::int64_t cycle) {
    return of(state).read_slow(static_cast<std::uint16_t>(address), static_cast<std::uint8_t>(last), cycle);
  }
  static bool interpret(TranslatedState* state) {
    Console& console = of(state);
    ConsoleBus<true> bus(console);
    Cpu<ConsoleBus<true>> cpu(bus, registers(*state));
    state->left = cpu.step(state->left);
    set_registers(cpu.registers(), state);
    console.cpu_.jammed = cpu.registers().jammed;
    return console.running_ && !console.cpu_.jammed;
  }

  static CpuRegisters registers(const TranslatedState& state) {
    CpuRegisters r = {.pc = state.pc, .a = state.a, .x = state.x, .y = state.y, .sp = state.sp, .cycle = state.cycle};
    r.p = static_cast<std::uint8_t>(kUnusedFlag | (state.c ? kCarryFlag : 0) | (state.nz & 0xff ? 0 : kZeroFlag) |
                                    (state.i ? kInterruptFlag : 0) | (state.d ? kDecimalFlag : 0) |
                                    (state.v ? kOverflowFlag : 0) | (state.nz & 0x8080 ? kNegativeFlag : 0));
    return r;
  }
  static void set_registers(const CpuRegisters& r, TranslatedState* state) {
    state->pc = r.pc;
    state->a = r.a;
    state->x = r.x;
    state->y = r.y;
    state->sp = r.sp;
    state->cycle = r.cycle;
    state->c = (r.p & kCarryFlag) != 0;
    state->i = (r.p & kInterruptFlag) != 0;
    state->d = (r.p & kDecimalFlag) != 0;
    state->v = (r.p & kOverflowFlag) != 0;
    state->nz = static_cast<std::uint16_t>((r.p & kNegativeFlag ? 0x8000 : 0) | (r.p & kZeroFlag ? 0 : 1));
  }
  static Console& of(TranslatedState* state) { return *static_cast<Console*>(state->console); }

  static constexpr TranslatedCalls kCalls = {.write = write, .read = read, .interpret = interpret};
};

Console::Console(std::string_view rom) : Console(rom, detect_mapper(rom)) {}

Console::Console(std::string_view rom, Mapper mapper) : cartridge_(rom, mapper) {
  if (cartridge_.plain()) translation_ = Translation::of(cartridge_.plain_rom(), TranslatedConsole::kCalls);
  power_on();
}

void Console::power_on(std::uint8_t timer) {
  cpu_ = CpuRegisters();
  running_ = false;
  riot_.power_on(0, timer);
  tia_.power_on(0);
  cartridge_.power_on();
  const std::uint8_t low = read_slow(0xfffc, 0, 0);
  cpu_.pc = static_cast<std::uint16_t>(low | read_slow(0xfffd, low, 0) << 8);
}

void Console::set_controls(const Controls& controls) {
  std::uint8_t a = 0xff, b = 0xff;
  const auto press = [](std::uint8_t& port, int bit, bool pressed) {
    if (pressed) port &= static_cast<std::uint8_t>(~(1u << bit));
  };
  for (const int i : {0, 1}) {
    const Controls::Stick& stick = controls.sticks[i];
    const int base = i == 0 ? 4 : 0;
    press(a, base + 0, stick.up);
    press(a, base + 1, stick.down);
    press(a, base + 2, stick.left || controls.paddle_fires[2 * i + 1]);
    press(a, base + 3, stick.right || controls.paddle_fires[2 * i]);
    tia_.set_trigger(i, stick.fire, cpu_.cycle);
  }
  press(b, 0, controls.reset);
  press(b, 1, controls.select);
  press(b, 3, !controls.color);
  press(b, 6, !controls.expert[0]);
  press(b, 7, !controls.expert[1]);
  riot_.set_port_a(a);
  riot_.set_port_b(b);
  for (int i = 0; i < 4; ++i) tia_.set_paddle(i, controls.paddles[i]);
}

template <bool kPlain>
void Console::run() {
  ConsoleBus<kPlain> bus(*this);
  Cpu<ConsoleBus<kPlain>> cpu(bus, cpu_);
  cpu.run(kMostInstructions);
  cpu_ = cpu.registers();
}

void Console::run_translated() {
  TranslatedState state = {};
  TranslatedConsole::set_registers(cpu_, &state);
  state.ram = riot_.ram().data();
  state.running = &running_;
  state.console = this;
  state.left = kMostInstructions;
  while (running_ && state.left > 0 && !cpu_.jammed) {
    const int before = state.left;
    if (const Translation::Entry entry = translation_->entry(state.pc)) translation_->run(state, entry);
    // Nothing is translated there, or more at once than may still run.
    if (state.left == before) {
      --state.left;
      TranslatedConsole::interpret(&state);
    }
  }
  if (cpu_.jammed && running_) state.cycle += std::max(state.left, 0);
  const bool jammed = cpu_.jammed;
  cpu_ = TranslatedConsole::registers(state);
  cpu_.jammed = jammed;
}

void Console::run_frame(std::uint8_t* picture) {
  tia_.set_picture(picture);
  if (!running_) tia_.begin_frame(cpu_.cycle);
  running_ = true;
  if (translation_ != nullptr) {
    run_translated();
  } else if (cartridge_.plain()) {
    run<true>();
  } else {
    run<false>();
  }
  tia_.catch_up(cpu_.cycle);
}

std::uint8_t Console::read_slow(std::uint16_t address, std::uint8_t last, std::int64_t cycle) {
  if (address & 0x1000) return cartridge_.read(address);
  std::uint8_t value;
  if (!(address & 0x80)) {
    value = tia_.read(address & 0x0f, last, cycle);
  } else if (address & 0x200) {
    value = riot_.read(address, cycle);
  } else {
    value = riot_.ram()[address & 0x7f];
  }
  if (cartridge_.listens()) cartridge_.listen(address, value, false);
  return value;
}

std::int64_t Console::write_slow(std::uint16_t address, std::uint8_t value, std::int64_t cycle) {
  if (address & 0x1000) {
    if (!cartridge_.plain()) cartridge_.write(address, value);
    return cycle;
  }
  if (cartridge_.listens()) cartridge_.listen(address, value, true);
  if (!(address & 0x80)) return write_tia(address, value, cycle);
  if (address & 0x200) {
    riot_.write(address, value, cycle);
  } else {
    riot_.ram()[address & 0x7f] = value;
  }
  return cycle;
}

void Console::save(std::string* out) const {
  const std::size_t begin = out->size();
  *out += kStateMagic;
  StateWriter writer(out);
  writer.u8(static_cast<std::uint8_t>(cartridge_.mapper()));
  writer.i64(cpu_.cycle);
  for (const std::uint8_t v : {cpu_.a, cpu_.x, cpu_.y, cpu_.sp, cpu_.p}) writer.u8(v);
  writer.u8(static_cast<std::uint8_t>(cpu_.pc));
  writer.u8(static_cast<std::uint8_t>(cpu_.pc >> 8));
  writer.u8(cpu_.jammed);
  writer.u8(running_);
  riot_.save(writer);
  tia_.save(writer);
  cartridge_.save(writer);
  writer.i64(crc32c(std::string_view(*out).substr(begin)));
}

void Console::load(std::string_view state) {
  static constexpr std::size_t kChecksumBytes = 8;
  const auto damaged = [](std::string_view what) {
    return data_loss("the saved state of a console ", what)
        .hint("Use the bytes that save() gave, for the same cartridge.");
  };
  if (state.size() < kStateMagic.size() + kChecksumBytes || !state.starts_with(kStateMagic)) {
    throw damaged("does not begin as one of this version");
  }
  const std::string_view body = state.substr(0, state.size() - kChecksumBytes);
  if (StateReader(state.substr(body.size())).i64() != crc32c(body)) throw damaged("has a wrong checksum");
  StateReader in(body.substr(kStateMagic.size()));
  if (in.u8() != static_cast<std::uint8_t>(cartridge_.mapper())) throw damaged("is of another kind of cartridge");
  CpuRegisters cpu;
  cpu.cycle = in.cycle();
  for (std::uint8_t* v : {&cpu.a, &cpu.x, &cpu.y, &cpu.sp, &cpu.p}) *v = in.u8();
  cpu.pc = in.u8();
  cpu.pc |= static_cast<std::uint16_t>(in.u8() << 8);
  cpu.jammed = in.flag();
  const bool running = in.flag();
  Riot riot;
  Tia tia;
  Cartridge cartridge = cartridge_;
  riot.load(in);
  tia.load(in, cpu.cycle);
  cartridge.load(in);
  if (!in.complete()) throw damaged("holds values that no console has");
  cpu_ = cpu;
  running_ = running;
  riot_ = riot;
  tia_ = tia;
  cartridge_ = std::move(cartridge);
}

}  // namespace caudal::inline v0::rl::atari
