// caudal rl roms: the cartridges of the Atari games, where they are and whether they are the right ones.
#include <cstdio>

#include "caudal/base/error.h"
#include "caudal/base/md5.h"
#include "caudal/base/strings.h"
#include "caudal/cli/arguments.h"
#include "caudal/cli/json.h"
#include "caudal/cli/rl_command.h"
#include "caudal/rl/atari/rom_library.h"

namespace caudal::inline v0::cli {
namespace {

struct Row {
  const rl::atari::GameRules* rules;
  std::string found, state;
};

Row row_of(const rl::atari::GameRules& rules) {
  Row row{&rules, {}, "missing"};
  try {
    row.found = rl::atari::find_cartridge(rules);
    if (row.found.empty()) return row;
    const std::string sum = md5_hex(rl::atari::read_cartridge(row.found));
    row.state = sum == rules.rom_md5 ? "ok" : "wrong MD5 " + sum;
  } catch (const Error& error) {
    row.state = error.detail();
  }
  return row;
}

void print_table(const std::vector<Row>& rows) {
  bool complete = true;
  for (const Row& row : rows) {
    complete = complete && row.state == "ok";
    std::printf("%-14s  %-10s  %s\n", std::string(row.rules->title).c_str(), row.state.c_str(),
                row.found.empty() ? "-" : row.found.c_str());
  }
  if (complete) return;
  std::printf("\nThe cartridges come with `pip install ale-py`. Looked in:\n");
  for (const std::string& place : rl::atari::rom_places()) std::printf("  %s\n", place.c_str());
  std::printf("CAUDAL_ROMS names further folders or a wheel. CaudalPong needs no cartridge.\n");
}

int run_roms(const std::vector<std::string>& words) {
  bool json = false;
  Arguments arguments("rl roms", "The cartridges of the Atari games: where they are, and their MD5 sums checked.");
  arguments.flag("json", &json, "one line of JSON instead");
  int exit_code = kExitOk;
  if (!arguments.parse(words, &exit_code)) return exit_code;

  std::vector<Row> rows;
  for (const rl::atari::GameRules* rules : rl::atari::known_games()) rows.push_back(row_of(*rules));
  if (!json) {
    print_table(rows);
    return kExitOk;
  }
  std::vector<std::string> objects;
  for (const Row& row : rows) {
    JsonObject object;
    object.add("game", row.rules->title).add("cartridge", row.rules->rom).add("md5", row.rules->rom_md5);
    object.add("path", row.found).add("state", row.state);
    objects.push_back(object.str());
  }
  std::printf("{\"roms\":[%s]}\n", join(objects, ",").c_str());
  return kExitOk;
}

}  // namespace

CAUDAL_RL_COMMAND({.name = "roms", .summary = "cartridges of the Atari games: found, missing, wrong", .run = run_roms});

}  // namespace caudal::inline v0::cli
