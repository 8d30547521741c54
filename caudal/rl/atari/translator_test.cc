// Translated code against the interpreter.
#include "caudal/rl/atari/translator.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "caudal/rl/atari/console.h"

namespace caudal::rl::atari {
namespace {

class Interpreting {
 public:
  Interpreting() { setenv("CAUDAL_ATARI_INTERPRET", "1", 1); }
  ~Interpreting() { unsetenv("CAUDAL_ATARI_INTERPRET"); }
};

Console interpreted(const std::string& rom) {
  const Interpreting interpreting;
  return Console(rom);
}

Controls some_controls(std::mt19937& random) {
  Controls controls;
  for (std::int64_t& paddle : controls.paddles) paddle = 600 + static_cast<std::int64_t>(random() % 15000);
  for (Controls::Stick& stick : controls.sticks) {
    stick.up = random() % 2 == 0;
    stick.left = random() % 2 == 0;
    stick.fire = random() % 2 == 0;
  }
  controls.reset = random() % 40 == 0;
  return controls;
}

// Both run the same frames; their whole states and pictures agree after each.
void compare(const std::string& rom, int frames, const std::string& name) {
  Console translated(rom), reference = interpreted(rom);
  std::mt19937 random(1);
  std::vector<std::uint8_t> picture(Tia::kRows * 160), expected = picture;
  for (int frame = 0; frame < frames; ++frame) {
    const Controls controls = some_controls(random);
    translated.set_controls(controls);
    reference.set_controls(controls);
    const bool draws = frame % 3 == 0;
    translated.run_frame(draws ? picture.data() : nullptr);
    reference.run_frame(draws ? expected.data() : nullptr);
    std::string got, wanted;
    translated.save(&got);
    reference.save(&wanted);
    ASSERT_TRUE(got == wanted) << name << ", frame " << frame;
    ASSERT_TRUE(picture == expected) << name << ", frame " << frame;
  }
}

// Instructions that games consist of, the rest at random; the last bytes start the program.
std::string random_program(std::mt19937& random) {
  static constexpr std::uint8_t kUsual[] = {
      0xa9, 0xa5, 0xb5, 0xad, 0xbd, 0xb9, 0xb1, 0xa2, 0xa6, 0xa0, 0xa4, 0x85, 0x86, 0x84, 0x95, 0x8d, 0x69, 0x65, 0xe9,
      0xe5, 0xf1, 0x7d, 0x79, 0xc9, 0xc5, 0xe0, 0xc0, 0x24, 0x2c, 0x29, 0x09, 0x49, 0x11, 0x51, 0x31, 0xe6, 0xc6, 0x06,
      0x26, 0x46, 0x66, 0x0a, 0x2a, 0x4a, 0x6a, 0xe8, 0xca, 0xc8, 0x88, 0xaa, 0x8a, 0xa8, 0x98, 0x9a, 0xba, 0x08, 0x48,
      0x18, 0x38, 0xd8, 0xb8, 0x10, 0x30, 0x90, 0xb0, 0xd0, 0xf0, 0x50, 0x70, 0x4c, 0x20, 0x60, 0x28, 0x68, 0xea};
  std::string rom(kPlainRomBytes, '\0');
  for (char& byte : rom) byte = static_cast<char>(random() % 3 == 0 ? random() : kUsual[random() % std::size(kUsual)]);
  rom[0xffc] = static_cast<char>(random());
  rom[0xffd] = static_cast<char>(0xf0 | random() % 16);
  return rom;
}

TEST(Translator, RandomProgramsRunAsInterpreted) {
  const char* asked = std::getenv("CAUDAL_MUTATIONS");
  const int rounds = asked != nullptr ? std::atoi(asked) : 300;
  std::mt19937 random(5);
  for (int round = 0; round < rounds; ++round) {
    compare(random_program(random), 4, "program " + std::to_string(round));
    if (testing::Test::HasFatalFailure()) return;
  }
}

// Every opcode on its own, with operands and registers of all kinds, in both modes of arithmetic.
TEST(Translator, EveryInstructionRunsAsInterpreted) {
  std::mt19937 random(6);
  for (int opcode = 0; opcode < 256; ++opcode) {
    std::string rom(kPlainRomBytes, static_cast<char>(0xea));
    std::size_t at = 0;
    const auto put = [&](std::initializer_list<int> bytes) {
      for (const int byte : bytes) rom[at++] = static_cast<char>(byte);
    };
    for (int i = 0; i < 60; ++i) {
      put({0xa2, static_cast<int>(random() % 256), 0x9a});  // LDX, TXS
      for (const int pointer : {0x80, 0x81, 0x90, 0xfe}) put({0xa9, static_cast<int>(random() % 256), 0x85, pointer});
      put({0xa2, static_cast<int>(random() % 256), 0xa0, static_cast<int>(random() % 256)});
      put({0xa9, static_cast<int>(random() % 256), random() % 4 == 0 ? 0xf8 : 0xd8, random() % 2 == 0 ? 0x18 : 0x38});
      put({opcode, static_cast<int>(random() % 4 == 0 ? random() % 256 : 0x80 + random() % 0x80),
           static_cast<int>(random() % 2 == 0 ? 0xf0 + random() % 16 : random() % 256), 0xea, 0xea});
      put({0x85, 0xa0, 0x86, 0xa1, 0x84, 0xa2, 0x08});
    }
    put({0x4c, 0x00, 0xf0});
    rom[0xffc] = 0;
    rom[0xffd] = static_cast<char>(0xf0);
    compare(rom, 2, "opcode " + std::to_string(opcode));
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(Translator, ConsolesShareWhatIsTranslated) {
  std::mt19937 random(7);
  const std::string rom = random_program(random);
  const TranslatedCalls none = {};
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(rom.data());
  const std::shared_ptr<Translation> first = Translation::of(bytes, none);
  if (first == nullptr) GTEST_SKIP() << "nothing is translated on this machine";
  EXPECT_EQ(Translation::of(bytes, none), first);
  const std::string other = random_program(random);
  EXPECT_NE(Translation::of(reinterpret_cast<const std::uint8_t*>(other.data()), none), first);
  const Interpreting interpreting;
  EXPECT_EQ(Translation::of(bytes, none), nullptr);
}

}  // namespace
}  // namespace caudal::rl::atari
