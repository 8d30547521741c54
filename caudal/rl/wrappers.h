// Wrappers that change one thing about an environment.
//
//   auto env = rl::count_episodes(rl::limit_steps(std::move(inner), 500));
//
// Ownership: a wrapper owns what it wraps. Thread safety: as an Environment.
#pragma once

#include <cstdint>
#include <memory>

#include "caudal/base/export.h"
#include "caudal/rl/environment.h"

namespace caudal::inline v0::rl {

// Hands everything through; the base of wrappers that change less.
class CAUDAL_API Wrapper : public Environment {
 public:
  explicit Wrapper(std::unique_ptr<Environment> inner);
  double frames_per_second() const override { return inner().frames_per_second(); }
  Environment& unwrapped() override { return inner().unwrapped(); }

 protected:
  Environment& inner() { return *inner_; }
  const Environment& inner() const { return *inner_; }

  Info do_reset(std::optional<std::uint64_t> seed, std::span<std::byte> observation) override;
  StepResult do_step(const Action& action, std::span<std::byte> observation) override;
  Tensor do_render() override { return inner().render(); }
  // The inner state with its size first; what a wrapper adds comes before it.
  void do_save(std::string* out) const override;
  bool do_restore(std::string_view state) override;

 private:
  std::unique_ptr<Environment> inner_;
};

// A count that a saved state may hold: not negative, and no steps bring it beyond int64.
constexpr bool is_count(std::int64_t value) { return value >= 0 && value <= INT64_MAX / 2; }

// Truncates an episode after `steps` steps (Gymnasium's TimeLimit). INVALID_ARGUMENT if steps < 1.
CAUDAL_API std::unique_ptr<Environment> limit_steps(std::unique_ptr<Environment> inner, std::int64_t steps);

// Fills Info::episode on the last step of each episode (RecordEpisodeStatistics); put it inside whatever changes
// rewards.
CAUDAL_API std::unique_ptr<Environment> count_episodes(std::unique_ptr<Environment> inner);

}  // namespace caudal::inline v0::rl
