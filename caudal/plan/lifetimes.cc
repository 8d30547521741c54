#include "caudal/plan/lifetimes.h"

#include <algorithm>

namespace caudal::inline v0 {
namespace {

// In a program that may wait the order of units is not known before: only slots used within one unit have a last use.
class UnitsOfSlots {
 public:
  UnitsOfSlots(const Program& program, const std::vector<std::vector<int>>& sources)
      : program_(program), unit_(program.slots.size(), kNone) {
    for (const auto& source : sources) {
      for (const int s : source) unit_[s] = kSeveral;
    }
  }

  void touch(int slot, int position) {
    if (!program_.can_wait) return;
    const int unit = program_.unit_of_step[position];
    if (unit_[slot] == kNone) unit_[slot] = unit;
    if (unit_[slot] != unit) unit_[slot] = kSeveral;
  }
  bool crosses(std::size_t slot) const { return unit_[slot] == kSeveral; }

 private:
  static constexpr int kNone = -1, kSeveral = -2;
  const Program& program_;
  std::vector<int> unit_;
};

void find_last_uses(Program& program, UnitsOfSlots& units) {
  for (std::size_t s = 0; s < program.steps.size(); ++s) {
    const Step& step = program.steps[s];
    const int position = static_cast<int>(s);
    for (const int input : step.inputs) {
      program.slots[input].last_use = position;
      units.touch(input, position);
    }
    for (int i = 0; i < step.num_outputs; ++i) {
      int& last = program.slots[step.first_output + i].last_use;
      last = std::max(last, position);  // an output that nobody reads dies at once
      units.touch(step.first_output + i, position);
    }
  }
}

void release_slots(Program& program, const UnitsOfSlots& units, bool is_loop_body) {
  std::vector<bool> forwarded(program.slots.size());  // what leaves an iteration is taken by whoever runs the loop
  for (const Step& step : program.steps) {
    if (step.kind == StepKind::kForward && is_loop_body) forwarded[step.first_output] = true;
  }
  for (std::size_t i = 0; i < program.slots.size(); ++i) {
    Slot& slot = program.slots[i];
    if (units.crosses(i)) {
      slot.escapes = true;
      slot.last_use = -1;
    }
    if (slot.last_use >= 0 && !slot.is_fetch && !slot.constant.valid() && !slot.persists && !forwarded[i]) {
      Step& last = program.steps[slot.last_use];
      last.release.push_back(static_cast<int>(i));
      last.takes_input |= !last.inputs.empty() && last.inputs[0] == static_cast<int>(i);
    }
  }
}

void grant_in_place(Program& program, const PlanOptions& options, int position) {
  Step& step = program.steps[position];
  if (!options.in_place) {
    step.in_place.clear();
    return;
  }
  std::erase_if(step.in_place, [&](const PrepareContext::Pair& pair) {
    const Slot& input = program.slots[step.inputs[pair.input]];
    return input.last_use != position || (input.is_feed && !options.owns_feeds) || input.is_fetch ||
           input.constant.valid() || input.persists || input.source.is_ref();
  });
}

}  // namespace

void plan_lifetimes(Program& program, const PlanOptions& options, const std::vector<std::vector<int>>& sources,
                    bool is_loop_body) {
  UnitsOfSlots units(program, sources);
  find_last_uses(program, units);
  release_slots(program, units, is_loop_body);
  for (std::size_t s = 0; s < program.steps.size(); ++s) grant_in_place(program, options, static_cast<int>(s));
}

}  // namespace caudal::inline v0
