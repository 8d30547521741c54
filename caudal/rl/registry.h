// The ids of environments and their options. An environment is registered beside its code; there is no list.
//
//   CAUDAL_ENVIRONMENT({.id = "CartPole-v1", .summary = "balance a pole on a cart", .make = make_cart_pole,
//                       .max_episode_steps = 500});
//
//   auto env = rl::make("ALE/Pong-v5", {{"frameskip", "1"}});
//
// Thread safety: look-ups are safe from any thread; registration happens before main.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/rl/environment.h"

namespace caudal::inline v0::rl {

// Options by name, as text: what users gave over the defaults of an id. Whoever makes an environment takes those that
// it knows; finish() then refuses the rest by name.
class CAUDAL_API Options {
 public:
  using Values = std::map<std::string, std::string, std::less<>>;
  Options() = default;
  Options(Values values) : values_(std::move(values)) {}                                                // NOLINT
  Options(std::initializer_list<Values::value_type> values) : values_(values.begin(), values.end()) {}  // NOLINT
  // "frameskip=4,repeat_action_probability=0.25". INVALID_ARGUMENT for a piece without "=".
  static Options parse(std::string_view text);
  // Adds those of `other`, which win.
  void merge(const Options& other);

  // The value, or the default if it was not given. INVALID_ARGUMENT, naming the option, for text that is no such value.
  bool take_bool(std::string_view name, bool otherwise);  // true, false, 1, 0
  std::int64_t take_int(std::string_view name, std::int64_t otherwise, std::int64_t least, std::int64_t most);
  double take_double(std::string_view name, double otherwise, double least, double most);
  std::string take_string(std::string_view name, std::string_view otherwise);
  // INVALID_ARGUMENT with the nearest known names if options are left that nobody took.
  void finish(std::string_view id) const;

 private:
  const std::string* take(std::string_view name);
  Values values_;
  std::vector<std::string> known_;  // names that were asked for
};

struct EnvironmentSpec {
  std::string_view id;
  std::string_view summary;   // one line
  std::string_view defaults;  // options of this id, as Options::parse reads them
  // Takes its options; rl::make refuses what is left.
  std::unique_ptr<Environment> (*make)(const EnvironmentSpec& spec, Options& options) = nullptr;
  // Null, or what is missing to make it ("needs the cartridge pong.bin; ..."), empty if nothing.
  std::string (*missing)(const EnvironmentSpec& spec) = nullptr;
  std::int64_t max_episode_steps = 0;  // 0: no time limit
  double reward_threshold = 0;         // mean return that counts as solved; 0: none
};

// The environment of an id with its time limit, which the option max_episode_steps replaces (0: none).
// NOT_FOUND with the nearest ids; INVALID_ARGUMENT for an option that it does not know or a value out of range.
CAUDAL_API std::unique_ptr<Environment> make(std::string_view id, Options options = {});

// Null if there is none.
CAUDAL_API const EnvironmentSpec* find_environment(std::string_view id);
// All, by id.
CAUDAL_API std::vector<const EnvironmentSpec*> registered_environments();

namespace internal {

consteval EnvironmentSpec checked(EnvironmentSpec spec) {
  if (spec.id.empty()) throw "an environment needs an id";
  if (spec.summary.empty()) throw "an environment needs a summary";
  if (spec.make == nullptr) throw "an environment needs a function that makes it";
  return spec;
}

class CAUDAL_API EnvironmentRegistrar {
 public:
  explicit EnvironmentRegistrar(const EnvironmentSpec& spec);
  const EnvironmentSpec& spec;
  const EnvironmentRegistrar* next;
};

}  // namespace internal

#define CAUDAL_ENVIRONMENT_(n, ...)                                                                   \
  namespace {                                                                                         \
  constexpr ::caudal::rl::EnvironmentSpec environment_spec_##n =                                      \
      ::caudal::rl::internal::checked(::caudal::rl::EnvironmentSpec __VA_ARGS__);                     \
  const ::caudal::rl::internal::EnvironmentRegistrar environment_registrar_##n(environment_spec_##n); \
  }                                                                                                   \
  static_assert(true)
#define CAUDAL_ENVIRONMENT_EXPANDED_(n, ...) CAUDAL_ENVIRONMENT_(n, __VA_ARGS__)
#define CAUDAL_ENVIRONMENT(...) CAUDAL_ENVIRONMENT_EXPANDED_(__COUNTER__, __VA_ARGS__)

}  // namespace caudal::inline v0::rl
