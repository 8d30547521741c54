// caudal rl envs: all environments with their spaces, and what some of them lack.
#include <algorithm>
#include <cstdio>

#include "caudal/base/error.h"
#include "caudal/base/strings.h"
#include "caudal/cli/arguments.h"
#include "caudal/cli/json.h"
#include "caudal/cli/rl_command.h"
#include "caudal/rl/registry.h"

namespace caudal::inline v0::cli {
namespace {

struct Row {
  const rl::EnvironmentSpec* spec;
  std::string missing, observations, actions;
};

Row row_of(const rl::EnvironmentSpec& spec) {
  Row row{&spec, spec.missing == nullptr ? std::string() : spec.missing(spec), {}, {}};
  if (!row.missing.empty()) return row;
  const auto environment = rl::make(spec.id);
  row.observations = environment->observation_space().to_string();
  row.actions = environment->action_space().to_string();
  const auto& meanings = environment->action_space().meanings();
  if (!meanings.empty()) row.actions += " " + join(meanings, " ");
  return row;
}

std::string json_of(const Row& row) {
  JsonObject object;
  object.add("id", row.spec->id)
      .add("summary", row.spec->summary)
      .add("available", row.missing.empty())
      .add("missing", row.missing)
      .add("observations", row.observations)
      .add("actions", row.actions)
      .add("options", row.spec->defaults)
      .add("max_episode_steps", row.spec->max_episode_steps)
      .add("reward_threshold", row.spec->reward_threshold);
  return object.str();
}

void print_table(const std::vector<Row>& rows) {
  std::size_t widest = 0;
  for (const Row& row : rows) widest = std::max(widest, row.spec->id.size());
  std::string missing;
  for (const Row& row : rows) {
    const std::string text = row.missing.empty() ? row.observations + "  " + row.actions : "needs something, see below";
    std::printf("%-*s  %s\n", static_cast<int>(widest), std::string(row.spec->id).c_str(), text.c_str());
    if (!row.missing.empty() && missing.find(row.missing) == std::string::npos) missing += row.missing + "\n";
  }
  if (!missing.empty()) std::printf("\n%s", missing.c_str());
}

int run_envs(const std::vector<std::string>& words) {
  bool json = false;
  std::vector<std::string> parts;
  Arguments arguments("rl envs", "All environments: ids, observations, actions.");
  arguments.flag("json", &json, "one line of JSON instead");
  arguments.positional("TEXT", &parts, "only ids that contain one of these");
  int exit_code = kExitOk;
  if (!arguments.parse(words, &exit_code)) return exit_code;

  std::vector<Row> rows;
  for (const rl::EnvironmentSpec* spec : rl::registered_environments()) {
    const bool wanted =
        std::ranges::any_of(parts, [&](const auto& part) { return spec->id.find(part) != spec->id.npos; });
    if (parts.empty() || wanted) rows.push_back(row_of(*spec));
  }
  if (json) {
    std::vector<std::string> objects;
    for (const Row& row : rows) objects.push_back(json_of(row));
    std::printf("{\"environments\":[%s]}\n", join(objects, ",").c_str());
  } else {
    print_table(rows);
  }
  return kExitOk;
}

}  // namespace

CAUDAL_RL_COMMAND({.name = "envs", .summary = "all environments: ids, observations, actions", .run = run_envs});

}  // namespace caudal::inline v0::cli
