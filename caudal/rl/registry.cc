#include "caudal/rl/registry.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "caudal/base/error.h"
#include "caudal/base/strings.h"
#include "caudal/rl/wrappers.h"

namespace caudal::inline v0::rl {
namespace {

// Head of the list that registrars form before main; constant-initialised, so that order does not matter.
constinit const internal::EnvironmentRegistrar* environment_list = nullptr;

}  // namespace

namespace internal {
EnvironmentRegistrar::EnvironmentRegistrar(const EnvironmentSpec& registered)
    : spec(registered), next(environment_list) {
  environment_list = this;
}
}  // namespace internal

Options Options::parse(std::string_view text) {
  Options options;
  for (const std::string_view piece : split(text, ',')) {
    if (trim(piece).empty()) continue;
    const std::size_t equals = piece.find('=');
    if (equals == std::string_view::npos)
      throw invalid_argument("option '", escaped(piece), "' has no value").hint("Write name=value,name=value.");
    options.values_[std::string(trim(piece.substr(0, equals)))] = std::string(trim(piece.substr(equals + 1)));
  }
  return options;
}

void Options::merge(const Options& other) {
  for (const auto& [name, value] : other.values_) values_[name] = value;
}

const std::string* Options::take(std::string_view name) {
  if (std::ranges::find(known_, name) == known_.end()) known_.emplace_back(name);
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : &found->second;
}

bool Options::take_bool(std::string_view name, bool otherwise) {
  const std::string* text = take(name);
  if (text == nullptr) return otherwise;
  if (*text == "true" || *text == "1") return true;
  if (*text == "false" || *text == "0") return false;
  throw invalid_argument("option ", name, " is true or false, not '", escaped(*text), "'");
}

std::int64_t Options::take_int(std::string_view name, std::int64_t otherwise, std::int64_t least, std::int64_t most) {
  const std::string* text = take(name);
  if (text == nullptr) return otherwise;
  std::int64_t value;
  if (!parse_int64(*text, &value) || value < least || value > most)
    throw invalid_argument("option ", name, " is a whole number from ", least, " to ", most, ", not '", escaped(*text),
                           "'");
  return value;
}

double Options::take_double(std::string_view name, double otherwise, double least, double most) {
  const std::string* text = take(name);
  if (text == nullptr) return otherwise;
  double value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size() || !(value >= least && value <= most))
    throw invalid_argument("option ", name, " is a number from ", least, " to ", most, ", not '", escaped(*text), "'");
  return value;
}

std::string Options::take_string(std::string_view name, std::string_view otherwise) {
  const std::string* text = take(name);
  return text == nullptr ? std::string(otherwise) : *text;
}

void Options::finish(std::string_view id) const {
  for (const auto& [name, value] : values_) {
    if (std::ranges::find(known_, name) != known_.end()) continue;
    const std::string nearest = did_you_mean(name, known_);
    throw invalid_argument(id, " has no option '", escaped(name), "'")
        .hint(nearest.empty() ? "It has " + join(known_, ", ") + "." : nearest);
  }
}

const EnvironmentSpec* find_environment(std::string_view id) {
  for (const auto* r = environment_list; r != nullptr; r = r->next) {
    if (r->spec.id == id) return &r->spec;
  }
  return nullptr;
}

std::vector<const EnvironmentSpec*> registered_environments() {
  std::vector<const EnvironmentSpec*> all;
  for (const auto* r = environment_list; r != nullptr; r = r->next) all.push_back(&r->spec);
  std::ranges::sort(all, {}, [](const EnvironmentSpec* spec) { return spec->id; });
  return all;
}

std::unique_ptr<Environment> make(std::string_view id, Options options) {
  const EnvironmentSpec* spec = find_environment(id);
  if (spec == nullptr) {
    std::vector<std::string> ids;
    for (const EnvironmentSpec* known : registered_environments()) ids.emplace_back(known->id);
    const std::string nearest = did_you_mean(id, ids);
    throw not_found("there is no environment '", escaped(id), "'")
        .hint(nearest.empty() ? "`caudal rl envs` lists all." : nearest);
  }
  Options all = Options::parse(spec->defaults);
  all.merge(options);
  const std::int64_t steps = all.take_int("max_episode_steps", spec->max_episode_steps, 0, INT64_MAX);
  auto environment = spec->make(*spec, all);
  all.finish(id);
  return steps == 0 ? std::move(environment) : limit_steps(std::move(environment), steps);
}

}  // namespace caudal::inline v0::rl
