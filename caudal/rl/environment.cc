#include "caudal/rl/environment.h"

#include <cmath>
#include <utility>

#include "caudal/base/error.h"
#include "caudal/base/strings.h"
#include "caudal/formats/coding.h"

namespace caudal::inline v0::rl {
namespace {

constexpr std::string_view kStateMagic = "caudal-env-1";

}  // namespace

Environment::Environment(std::string id, Space observation_space, Space action_space)
    : id_(std::move(id)), observation_space_(std::move(observation_space)), action_space_(std::move(action_space)) {}

Environment::~Environment() = default;

Info Environment::reset(std::optional<std::uint64_t> seed, std::span<std::byte> observation) {
  check_size(observation);
  phase_ = Phase::kNew;  // stays so if the reset fails
  Info info = do_reset(seed, observation);
  phase_ = Phase::kRunning;
  return info;
}

StepResult Environment::step(const Action& action, std::span<std::byte> observation) {
  if (phase_ == Phase::kNew) throw failed_precondition(id_, ": step before the first reset").hint("Call reset first.");
  if (phase_ == Phase::kEnded)
    throw failed_precondition(id_, ": step after the end of the episode").hint("Call reset to begin another one.");
  check_size(observation);
  check_action(action);
  StepResult result = do_step(action, observation);
  if (result.done()) phase_ = Phase::kEnded;
  return result;
}

Tensor Environment::render() {
  if (phase_ == Phase::kNew)
    throw failed_precondition(id_, ": there is nothing to see before the first reset").hint("Call reset first.");
  return do_render();
}

std::string Environment::save_state() const {
  std::string out(kStateMagic);
  put_varint(&out, id_.size());
  out += id_;
  out += static_cast<char>(phase_);
  if (phase_ != Phase::kNew) do_save(&out);
  return out;
}

void Environment::restore_state(std::string_view state) {
  ByteReader reader(state);
  std::string_view magic, id;
  std::uint8_t phase;
  const bool whole = reader.bytes(kStateMagic.size(), &magic) && magic == kStateMagic && reader.sized_bytes(&id) &&
                     reader.fixed(&phase) && phase <= static_cast<std::uint8_t>(Phase::kEnded);
  if (!whole) throw data_loss(id_, ": these ", state.size(), " bytes are no saved state");
  if (id != id_)
    throw invalid_argument(id_, ": the saved state is one of ", escaped(id))
        .hint("Restore it into an environment made with that id.");
  phase_ = Phase::kNew;
  if (phase == static_cast<std::uint8_t>(Phase::kNew)) return;
  if (!do_restore(reader.rest()))
    throw data_loss(id_, ": the saved state is damaged, or of other options").hint("Call reset before the next step.");
  phase_ = static_cast<Phase>(phase);
}

void Environment::check_size(std::span<std::byte> observation) const {
  if (!observation.empty() && observation.size() != observation_space_.byte_size())
    throw invalid_argument(id_, ": observations of ", observation_space_.to_string(), " take ",
                           observation_space_.byte_size(), " bytes, the memory given has ", observation.size());
}

void Environment::check_action(const Action& action) const {
  if (action_space_.is_discrete()) {
    if (!action.is_choice())
      throw invalid_argument(id_, ": actions are ", action_space_.to_string(), ", not ", action.values().size(),
                             " numbers");
    if (action.choice() < 0 || action.choice() >= action_space_.count())
      throw out_of_range(id_, ": action ", action.choice(), " is outside ", action_space_.to_string())
          .hint("Actions are 0 to " + std::to_string(action_space_.count() - 1) + ".");
    return;
  }
  const auto needed = action_space_.shape().num_elements();
  const auto given = static_cast<std::int64_t>(action.values().size());
  if (action.is_choice() || given != needed)
    throw invalid_argument(id_, ": an action of ", action_space_.to_string(), " is ", needed, " numbers, not ",
                           action.is_choice() ? std::string("a choice") : std::to_string(given));
  for (const float value : action.values()) {
    if (!std::isfinite(value)) throw invalid_argument(id_, ": an action contains ", value);
  }
}

}  // namespace caudal::inline v0::rl
