#include "caudal/rl/atari/console.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "caudal/base/crc32c.h"
#include "caudal/base/error.h"
#include "caudal/formats/coding.h"
#include "caudal/rl/atari/atari_game.h"
#include "caudal/rl/atari/rom_library.h"

namespace caudal::rl::atari {
namespace {

// A cartridge of 4 K that begins with this code at F000.
std::string rom_of(std::initializer_list<int> code) {
  std::string rom(4096, '\xea');
  std::size_t at = 0;
  for (const int byte : code) rom[at++] = static_cast<char>(byte);
  rom[0xffc] = rom[0xffe] = 0;
  rom[0xffd] = rom[0xfff] = '\xf0';
  return rom;
}

const GameRules& game(std::string_view title) {
  for (const GameRules* rules : known_games()) {
    if (rules->title == title) return *rules;
  }
  throw not_found(title);
}

// Rounds of a test with mutated bytes; CAUDAL_MUTATIONS=100000 asks for more.
int rounds(int usual) {
  const char* asked = std::getenv("CAUDAL_MUTATIONS");
  return asked == nullptr ? usual : std::atoi(asked);
}

TEST(Cpu, AddsAndSubtractsDecimalNumbers) {
  // SED, SEC, LDA #$58, ADC #$46, STA $80, SEC, LDA #$12, SBC #$21, STA $81, PHP, PLA, STA $82, JMP to itself.
  Console console(rom_of({0xf8, 0x38, 0xa9, 0x58, 0x69, 0x46, 0x85, 0x80, 0x38, 0xa9, 0x12,
                          0xe9, 0x21, 0x85, 0x81, 0x08, 0x68, 0x85, 0x82, 0x4c, 0x13, 0xf0}));
  console.run_frame(nullptr);
  EXPECT_EQ(console.ram()[0], 0x05);
  EXPECT_EQ(console.ram()[1], 0x91);
  EXPECT_EQ(console.ram()[2] & 1, 0);  // borrowed
}

TEST(Cpu, IncrementsMemory) {
  Console console(rom_of({0xa9, 0x00, 0x85, 0x90, 0xe6, 0x90, 0xe6, 0x90, 0xe6, 0x90, 0x4c, 0x0a, 0xf0}));
  console.run_frame(nullptr);
  EXPECT_EQ(console.ram()[0x10], 3);
}

TEST(Riot, CountsTheIntervalAndThenSingleCycles) {
  // LDA #2, STA TIM8T, then LDA INTIM, STA $80+i every 7 cycles: 2*8 = 16 cycles, then single cycles count.
  Console console(rom_of({0xa9, 0x02, 0x8d, 0x95, 0x02, 0xad, 0x84, 0x02, 0x85, 0x80, 0xad, 0x84, 0x02, 0x85,
                          0x81, 0xad, 0x84, 0x02, 0x85, 0x82, 0xad, 0x84, 0x02, 0x85, 0x83, 0x4c, 0x19, 0xf0}));
  console.run_frame(nullptr);
  // Reads 4, 11, 18 and 25 cycles after the write.
  EXPECT_EQ(console.ram()[0], 1);
  EXPECT_EQ(console.ram()[1], 0);
  EXPECT_EQ(console.ram()[2], 254);
  // The read before was the first after the end; from there on the interval holds again.
  EXPECT_EQ(console.ram()[3], 253);
}

TEST(Console, GoesOnAfterRestoringAsBefore) {
  const std::string rom = rom_of({0xe6, 0x80, 0x85, 0x02, 0xa5, 0x80, 0x85, 0x09, 0x4c, 0x00, 0xf0});
  Console a(rom), b(rom);
  for (int i = 0; i < 3; ++i) a.run_frame(nullptr);
  std::string state;
  a.save(&state);
  b.load(state);
  std::vector<std::uint8_t> pictures[2];
  for (auto& picture : pictures) picture.resize(kScreenPixels);
  a.run_frame(pictures[0].data());
  b.run_frame(pictures[1].data());
  EXPECT_EQ(pictures[0], pictures[1]);
  EXPECT_TRUE(std::equal(a.ram().begin(), a.ram().end(), b.ram().begin()));
}

TEST(Console, RefusesMutatedStates) {
  const std::string rom = rom_of({0xe6, 0x80, 0x85, 0x02, 0x4c, 0x00, 0xf0});
  Console console(rom);
  console.run_frame(nullptr);
  std::string state;
  console.save(&state);
  std::mt19937 random(1);
  for (int round = 0; round < rounds(3000); ++round) {
    std::string mutated = state;
    mutated[random() % mutated.size()] ^= static_cast<char>(1 + random() % 255);
    if (round % 3 == 0) mutated.resize(random() % mutated.size());
    try {
      console.load(mutated);
      FAIL() << "a mutated state was taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kDataLoss);
    }
  }
}

// What a correct checksum lets through must be harmless: refused, or a state that runs.
TEST(Console, RunsMutatedStatesWithRightChecksums) {
  std::mt19937 random(4);
  for (const Mapper mapper : {Mapper::k4K, Mapper::kE7, Mapper::kFE, Mapper::k3F}) {
    std::string rom(mapper == Mapper::k4K ? 4096 : mapper == Mapper::kE7 ? 16384 : 8192, '\0');
    for (char& byte : rom) byte = static_cast<char>(random());
    Console console(rom, mapper);
    console.run_frame(nullptr);
    std::string state;
    console.save(&state);
    std::vector<std::uint8_t> picture(kScreenPixels);
    for (int round = 0; round < rounds(2000) / 4; ++round) {
      std::string mutated = state.substr(0, state.size() - 8);
      for (int changes = 0; changes < 3; ++changes)
        mutated[12 + random() % (mutated.size() - 12)] = static_cast<char>(random());
      put_fixed(&mutated, std::int64_t{crc32c(mutated)});
      try {
        console.load(mutated);
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::kDataLoss);
      }
      console.run_frame(round % 2 == 0 ? nullptr : picture.data());
    }
  }
}

TEST(Console, RunsMutatedCartridges) {
  std::mt19937 random(2);
  std::vector<std::uint8_t> picture(kScreenPixels);
  for (const std::size_t size : {2048u, 4096u, 8192u, 12288u, 16384u, 32768u}) {
    for (int round = 0; round < rounds(120) / 6; ++round) {
      std::string rom(size, '\0');
      for (char& byte : rom) byte = static_cast<char>(random());
      Console console(rom);
      for (int frame = 0; frame < 10; ++frame) console.run_frame(frame % 2 == 0 ? nullptr : picture.data());
    }
  }
}

TEST(Cartridge, RefusesSizesThatNoSchemeHas) {
  for (const std::size_t size : {0u, 1u, 2047u, 5000u, 10000u, 1u << 20}) {
    try {
      Console console(std::string(size, '\0'));
      FAIL() << size;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kUnimplemented);
      EXPECT_FALSE(error.advice().empty());
    }
  }
}

TEST(Cartridge, SwitchesBanks) {
  // F8: two banks; LDA 1FF8 goes to the first, whose code at F010 differs.
  std::string rom(8192, '\xea');
  for (std::size_t i = 0; i < 256; ++i) rom[i] = rom[4096 + i] = static_cast<char>(i);
  const auto put = [&](std::size_t at, std::initializer_list<int> code) {
    for (const int byte : code) rom[at++] = static_cast<char>(byte);
  };
  put(4096 + 0x200, {0xad, 0xf8, 0xff});                   // bank 1: LDA $FFF8
  put(0x203, {0xa9, 0x77, 0x85, 0x80, 0x4c, 0x07, 0xf2});  // bank 0 goes on
  put(4096 + 0xffc, {0x00, 0xf2, 0x00, 0xf2});
  Console console(rom, Mapper::kF8);
  console.run_frame(nullptr);
  EXPECT_EQ(console.ram()[0], 0x77);
}

TEST(AtariGame, DrawsAFrameThatWasPlayedUndrawn) {
  const GameRules& rules = game("Pong");
  if (find_cartridge(rules).empty()) GTEST_SKIP() << "no cartridge pong.bin: pip install ale-py";
  const std::string rom = load_cartridge(rules);
  AtariGame drawn(rules, rom), lazy(rules, rom);
  drawn.reset();
  lazy.reset();
  for (int i = 0; i < 200; ++i) {
    const Joystick position = rules.actions[static_cast<std::size_t>(i / 7 % 6)];
    EXPECT_EQ(drawn.play(position, true), lazy.play(position, false));
    ASSERT_TRUE(std::equal(drawn.screen(), drawn.screen() + kScreenPixels, lazy.screen())) << i;
  }
}

TEST(AtariGame, DrawsTheFrameBeforeTheLast) {
  const GameRules& rules = game("Pong");
  if (find_cartridge(rules).empty()) GTEST_SKIP() << "no cartridge pong.bin: pip install ale-py";
  const std::string rom = load_cartridge(rules);
  AtariGame drawn(rules, rom), lazy(rules, rom);
  drawn.reset();
  lazy.reset();
  std::mt19937 random(2);
  std::vector<std::uint8_t> before(drawn.screen(), drawn.screen() + kScreenPixels);
  for (int i = 0; i < 300; ++i) {
    const Joystick position = rules.actions[static_cast<std::size_t>(i / 7 % 6)];
    drawn.play(position, true);
    lazy.play(position, random() % 2 == 0);
    if (random() % 2 == 0) lazy.screen();
    if (i > 0 && random() % 2 == 0) {
      ASSERT_TRUE(std::equal(before.begin(), before.end(), lazy.previous_screen())) << i;
    }
    ASSERT_TRUE(std::equal(drawn.screen(), drawn.screen() + kScreenPixels, lazy.screen())) << i;
    before.assign(drawn.screen(), drawn.screen() + kScreenPixels);
  }
}

TEST(AtariGame, SavesAndRestores) {
  const GameRules& rules = game("Pong");
  if (find_cartridge(rules).empty()) GTEST_SKIP() << "no cartridge pong.bin: pip install ale-py";
  const std::string rom = load_cartridge(rules);
  AtariGame a(rules, rom), b(rules, rom);
  a.set_repeat_action_probability(0.25);
  b.set_repeat_action_probability(0.25);
  a.reset();
  for (int i = 0; i < 100; ++i) a.play(Joystick::kRight, i % 2 == 0);
  std::string state;
  a.save(&state);
  ASSERT_TRUE(b.restore(state));
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(a.play(Joystick::kLeft, true), b.play(Joystick::kLeft, true));
    ASSERT_TRUE(std::equal(a.screen(), a.screen() + kScreenPixels, b.screen())) << i;
  }
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) b.restore(state.substr(0, random() % state.size()));
}

}  // namespace
}  // namespace caudal::rl::atari
