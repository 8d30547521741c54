// Gymnasium: any environment of Python's Gymnasium, run in a child process over shared memory.
//
//   rl::make("Gymnasium", {{"env", "FrozenLake-v1"}, {"python", "/path/to/venv/bin/python"}})
//
// Options: env (its id); python (the interpreter); import (modules that register environments, separated by ';', such
// as ale_py); kwargs (a JSON object for gymnasium.make); timeout (seconds for one answer); restarts (how many times a
// dead child is replaced: the episode is then truncated, and Info::more tells the count; beyond that its death is an
// error).
#include <cmath>
#include <cstring>
#include <limits>

#include "caudal/base/error.h"
#include "caudal/base/strings.h"
#include "caudal/formats/coding.h"
#include "caudal/rl/child_process.h"
#include "caudal/rl/gymnasium_child.h"
#include "caudal/rl/registry.h"

namespace caudal::inline v0::rl {
namespace {

constexpr std::size_t kMostAnswer = std::size_t{1} << 26, kMostShared = std::size_t{1} << 30;
constexpr int kMostRank = 8;
enum Request : std::uint8_t { kMake, kShare, kReset, kStep, kRender };

struct BridgeOptions {
  std::string id, python, modules, kwargs;
  double timeout = 60;
  std::int64_t restarts = 0;
};

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) out += c;
  }
  return out + "\"";
}

// What kMake answers.
struct World {
  Space observations, actions;
  double frames_per_second = 30;
};

Error malformed() { return data_loss("the Python process described spaces that make no sense"); }

std::vector<double> read_bounds(ByteReader& reader, std::uint32_t count) {
  std::vector<double> bounds(count);
  for (double& bound : bounds) {
    if (!reader.fixed(&bound)) throw malformed();
  }
  return bounds;
}

Space read_space(ByteReader& reader) {
  std::uint8_t kind, rank;
  std::string_view dtype_text;
  if (!reader.fixed(&kind) || !reader.bytes(8, &dtype_text) || !reader.fixed(&rank) || rank > kMostRank)
    throw malformed();
  std::vector<std::int64_t> sizes(rank);
  for (std::int64_t& size : sizes) {
    if (!reader.fixed(&size) || size < 0) throw malformed();
  }
  std::int64_t count;
  std::uint32_t bounds;
  if (!reader.fixed(&count) || !reader.fixed(&bounds) || bounds > reader.size() / (2 * sizeof(double)))
    throw malformed();
  std::vector<double> low = read_bounds(reader, bounds), high = read_bounds(reader, bounds);
  if (kind == 1) return Space::discrete(count);
  const DType dtype = dtype_from_name(dtype_text.substr(0, dtype_text.find('\0')));
  const auto elements = checked_num_elements(sizes);
  if (!elements || *elements < 1 || static_cast<std::uint64_t>(*elements) > kMostShared / 8) throw malformed();
  return Space::box(dtype, Shape(sizes), std::move(low), std::move(high));
}

// A child process with its environment made.
class Child {
 public:
  explicit Child(const BridgeOptions& options) : process_(options.python, kGymnasiumChild), timeout_(options.timeout) {
    std::vector<std::string> modules;
    for (const std::string_view module : split(options.modules, ';')) {
      if (!module.empty()) modules.push_back(quoted(module));
    }
    const std::string request = "{\"id\":" + quoted(options.id) + ",\"modules\":[" + join(modules, ",") +
                                "],\"kwargs\":" + quoted(options.kwargs) + "}";
    const std::string answer = process_.ask(kMake, request, timeout_, kMostAnswer);
    ByteReader reader(answer);
    world_.observations = read_space(reader);
    world_.actions = read_space(reader);
    if (!reader.fixed(&world_.frames_per_second) || !reader.empty()) throw malformed();
    if (!(world_.frames_per_second >= 0.1 && world_.frames_per_second <= 1000)) world_.frames_per_second = 30;
    share();
  }

  const World& world() const { return world_; }
  std::span<const std::byte> observation() const { return memory_.first(world_.observations.byte_size()); }
  std::span<std::byte> action() { return memory_.subspan(action_offset_); }
  pid_t pid() const { return process_.pid(); }
  std::string ask(Request kind, std::string_view payload = {}) {
    return process_.ask(kind, payload, timeout_, kMostAnswer);
  }

 private:
  void share() {
    action_offset_ = (world_.observations.byte_size() + 63) / 64 * 64;
    const auto values = static_cast<std::size_t>(world_.actions.shape().num_elements());
    memory_ = process_.share(action_offset_ + std::max(sizeof(std::int64_t), values * sizeof(float)));
    std::string payload;
    put_fixed(&payload, static_cast<std::uint64_t>(memory_.size()));
    put_fixed(&payload, static_cast<std::uint64_t>(action_offset_));
    ask(kShare, payload);
  }

  ChildProcess process_;
  double timeout_;
  World world_;
  std::span<std::byte> memory_;
  std::size_t action_offset_ = 0;
};

class GymnasiumBridge final : public Environment {
 public:
  GymnasiumBridge(std::string id, const BridgeOptions& options, std::unique_ptr<Child> child)
      : Environment(std::move(id), child->world().observations, child->world().actions),
        options_(options),
        child_(std::move(child)) {}
  double frames_per_second() const override { return frames_per_second_; }

 private:
  Info do_reset(std::optional<std::uint64_t> seed, std::span<std::byte> observation) override {
    std::string payload;
    put_fixed(&payload, static_cast<std::uint8_t>(seed.has_value()));
    put_fixed(&payload, seed.value_or(0));
    const auto ask = [&] { return outcome_of(child().ask(kReset, payload)); };
    StepResult result = died_within([&] { return ask(); }, ask);
    copy_to(observation);
    return std::move(result.info);
  }

  StepResult do_step(const Action& action, std::span<std::byte> observation) override {
    const auto restarted = [&] {
      StepResult result{.truncated = true};
      result.info.more = "{\"restarts\": " + std::to_string(restarts_) + "}";
      child().ask(kReset, std::string(9, '\0'));  // so that there is an observation
      return result;
    };
    const auto ask = [&] {
      put_action(action);
      return outcome_of(child().ask(kStep));
    };
    StepResult result = died_within(ask, restarted);
    copy_to(observation);
    return result;
  }

  Tensor do_render() override {
    const std::string answer = named([&] { return child().ask(kRender); });
    ByteReader reader(answer);
    std::uint32_t height, width;
    std::string_view pixels;
    if (!reader.fixed(&height) || !reader.fixed(&width) || height < 1 || width < 1 ||
        !reader.bytes(std::uint64_t{3} * height * width, &pixels) || !reader.empty())
      throw data_loss(id(), ": the Python process gave a picture that makes no sense");
    Tensor picture(uint8, {height, width, 3});
    std::memcpy(picture.raw(), pixels.data(), pixels.size());
    return picture;
  }

  void do_save(std::string*) const override {
    throw unimplemented(id(), ": the state of a foreign environment cannot be saved");
  }
  bool do_restore(std::string_view) override {
    throw unimplemented(id(), ": the state of a foreign environment cannot be restored");
  }

  Child& child() {
    if (!child_) throw unavailable("the Python process has ended").hint("Make the environment again.");
    return *child_;
  }

  // Runs `call`; if the process is gone and a restart is left, replaces it and gives `instead()`.
  template <class Call, class Instead>
  StepResult died_within(Call&& call, Instead&& instead) {
    return named([&]() -> StepResult {
      try {
        return call();
      } catch (const Error& error) {
        const bool gone = error.code() == Code::kUnavailable || error.code() == Code::kDeadlineExceeded ||
                          error.code() == Code::kDataLoss;
        if (!gone) throw;
        child_.reset();
        if (restarts_ >= options_.restarts) throw;
      }
      ++restarts_;
      child_ = std::make_unique<Child>(options_);
      if (child_->world().observations != observation_space() || child_->world().actions != action_space())
        throw data_loss("the restarted Python process has other spaces");
      return instead();
    });
  }

  template <class Call>
  auto named(Call&& call) -> decltype(call()) {
    try {
      return call();
    } catch (const Error& error) {
      throw error.in(options_.id);
    }
  }

  void put_action(const Action& action) {
    if (action.is_choice()) {
      const std::int64_t choice = action.choice();
      std::memcpy(child().action().data(), &choice, sizeof choice);
    } else {
      std::memcpy(child().action().data(), action.values().data(), action.values().size_bytes());
    }
  }

  StepResult outcome_of(const std::string& answer) const {
    ByteReader reader(answer);
    StepResult result;
    std::uint8_t terminated, truncated;
    std::int32_t lives;
    if (!reader.fixed(&result.reward) || !reader.fixed(&terminated) || !reader.fixed(&truncated) ||
        !reader.fixed(&lives))
      throw data_loss("the Python process gave an answer of ", answer.size(), " bytes that makes no sense");
    result.terminated = terminated != 0;
    result.truncated = truncated != 0;
    result.info.lives = lives;
    result.info.more = std::string(reader.rest());
    return result;
  }

  void copy_to(std::span<std::byte> observation) {
    if (!observation.empty()) std::memcpy(observation.data(), child().observation().data(), observation.size());
  }

  BridgeOptions options_;
  std::unique_ptr<Child> child_;
  double frames_per_second_ = child_->world().frames_per_second;
  std::int64_t restarts_ = 0;
};

std::unique_ptr<Environment> make_bridge(const EnvironmentSpec& spec, Options& options) {
  BridgeOptions bridge;
  bridge.id = options.take_string("env", "");
  bridge.python = options.take_string("python", "python3");
  bridge.modules = options.take_string("import", "");
  bridge.kwargs = options.take_string("kwargs", "");
  bridge.timeout = options.take_double("timeout", 60, 0.01, 1e6);
  bridge.restarts = options.take_int("restarts", 0, 0, 1000000);
  if (bridge.id.empty())
    throw invalid_argument(spec.id, " needs the option env, the id of an environment of Python's Gymnasium")
        .hint("For instance env=FrozenLake-v1.");
  options.finish(spec.id);  // before a process is started
  try {
    auto child = std::make_unique<Child>(bridge);
    return std::make_unique<GymnasiumBridge>(std::string(spec.id), bridge, std::move(child));
  } catch (const Error& error) {
    throw error.in(bridge.id);
  }
}

std::string needs_an_id(const EnvironmentSpec&) {
  return "Gymnasium runs any environment of Python's Gymnasium: give it the option env=ID";
}

CAUDAL_ENVIRONMENT({.id = "Gymnasium",
                    .summary = "any environment of Python's Gymnasium, in a child process",
                    .make = make_bridge,
                    .missing = needs_an_id});

}  // namespace
}  // namespace caudal::inline v0::rl
