#include "caudal/rl/atari/rom_library.h"

#include <algorithm>
#include <cstdlib>

#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "caudal/base/md5.h"
#include "caudal/base/strings.h"
#include "caudal/formats/zip.h"

namespace caudal::inline v0::rl::atari {
namespace {

constinit const GameRegistrar* game_list = nullptr;

constexpr std::uint64_t kLargestCartridge = 1 << 20;
constexpr std::uint64_t kLargestWheel = 256 << 20;
constexpr std::string_view kWheelFolder = "ale_py/roms/";
constexpr std::string_view kHint =
    "`pip install ale-py` brings it; name its ale_py/roms folder or the wheel in CAUDAL_ROMS if it is not found. "
    "CaudalPong needs no cartridge.";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::vector<std::string> children(const std::string& folder, std::string_view prefix) {
  std::vector<std::string> out;
  if (!default_env().is_directory(folder)) return out;
  try {
    for (const std::string& name : default_env().list(folder)) {
      if (name.starts_with(prefix)) out.push_back(join_path(folder, name));
    }
  } catch (const Error&) {
    // A folder that may not be read holds no cartridge for us.
  }
  return out;
}

// The ale_py/roms folders below PREFIX/lib/python3.x.
void add_installed(const std::string& prefix, std::vector<std::string>* places) {
  for (const std::string& python : children(join_path(prefix, "lib"), "python3")) {
    for (const std::string_view packages : {"site-packages", "dist-packages"}) {
      const std::string folder = join_path(join_path(python, packages), "ale_py/roms");
      if (default_env().is_directory(folder)) places->push_back(folder);
    }
  }
}

// "x.whl:ale_py/roms/pong.bin" in two.
bool split_member(std::string_view found, std::string_view* wheel, std::string_view* member) {
  const std::size_t at = found.find(".whl:");
  if (at == std::string_view::npos) return false;
  *wheel = found.substr(0, at + 4);
  *member = found.substr(at + 5);
  return true;
}

std::string find_in(const std::string& place, std::string_view file) {
  Env& env = default_env();
  if (!place.ends_with(".whl")) {
    const std::string path = join_path(place, file);
    return env.exists(path) ? path : std::string();
  }
  const std::string wanted = std::string(kWheelFolder) + std::string(file);
  const std::string archive = read_file(env, place, kLargestWheel);
  const auto members = zip_members(archive);
  const bool found = std::ranges::any_of(members, [&](const ZipMember& m) { return m.name == wanted; });
  return found ? place + ":" + wanted : std::string();
}

}  // namespace

GameRegistrar::GameRegistrar(const GameRules& registered) : rules(registered), next(game_list) { game_list = this; }

std::vector<const GameRules*> known_games() {
  std::vector<const GameRules*> games;
  for (const GameRegistrar* r = game_list; r != nullptr; r = r->next) games.push_back(&r->rules);
  std::ranges::sort(games, {}, [](const GameRules* rules) { return rules->title; });
  return games;
}

std::vector<std::string> rom_places() {
  std::vector<std::string> places;
  const std::string given = variable("CAUDAL_ROMS"), active = variable("VIRTUAL_ENV"), home = variable("HOME");
  for (const std::string_view place : split(given, ':')) {
    if (!place.empty() && default_env().exists(std::string(place))) places.emplace_back(place);
  }
  if (!active.empty()) add_installed(active, &places);
  if (!home.empty()) {
    for (const std::string& folder : children(join_path(home, ".cache/caudal"), "")) add_installed(folder, &places);
    add_installed(join_path(home, ".local"), &places);
  }
  for (const char* prefix : {"/usr/local", "/usr"}) add_installed(prefix, &places);
  return places;
}

std::string find_cartridge(const GameRules& rules) {
  const std::string file = std::string(rules.rom) + ".bin";
  for (const std::string& place : rom_places()) {
    if (std::string found = find_in(place, file); !found.empty()) return found;
  }
  return {};
}

std::string read_cartridge(std::string_view found) {
  std::string_view wheel, member;
  if (!split_member(found, &wheel, &member)) return read_file(default_env(), std::string(found), kLargestCartridge);
  const std::string archive = read_file(default_env(), std::string(wheel), kLargestWheel);
  for (const ZipMember& m : zip_members(archive)) {
    if (m.name != member) continue;
    if (m.size > kLargestCartridge) throw data_loss(found, " holds ", m.size, " bytes, more than any cartridge");
    return zip_extract(archive, m);
  }
  throw not_found(found, ": the wheel has no such file").hint(std::string(kHint));
}

std::string load_cartridge(const GameRules& rules) {
  const std::string found = find_cartridge(rules);
  if (found.empty()) {
    throw not_found("the cartridge ", rules.rom, ".bin of ", rules.title, " is not installed").hint(std::string(kHint));
  }
  std::string rom = read_cartridge(found);
  if (const std::string sum = md5_hex(rom); sum != rules.rom_md5) {
    throw failed_precondition(found, " is another cartridge than ", rules.title, " is known for: MD5 ", sum, ", not ",
                              rules.rom_md5)
        .hint("Scores and lives would be read from the wrong memory. " + std::string(kHint));
  }
  return rom;
}

}  // namespace caudal::inline v0::rl::atari
