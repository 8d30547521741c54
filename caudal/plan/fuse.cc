#include "caudal/plan/fuse.h"

#include <algorithm>

#include "caudal/core/op_registry.h"
#include "caudal/plan/fold.h"
#include "caudal/plan/fuser.h"

namespace caudal::inline v0 {

Fuser::Fuser(std::vector<StepDraft>& drafts, Program& program, Twins& twins, Device& device, const PlanOptions& options)
    : drafts_(drafts),
      program_(program),
      twins_(twins),
      device_(device),
      options_(options),
      producer_(program.slots.size(), -1),
      consumers_(program.slots.size()) {
  for (int i = 0; i < num_steps(); ++i) step_of_node_.emplace(drafts_[i].step.node, i);
  for (int i = 0; i < num_steps(); ++i) add_state(i, {i, 0});
}

void Fuser::add_state(int i, Place place) {
  const Step& step = drafts_[i].step;
  states_.push_back({place, true, fusible(drafts_[i])});
  for (int o = 0; o < step.num_outputs; ++o) producer_[step.first_output + o] = i;
  for (const int input : step.inputs) consumers_[input].push_back(i);
  note_controls(i);
}

void Fuser::note_controls(int i) {
  for (const Node* before : drafts_[i].controls) {
    if (const int step = step_of(before); step >= 0) waiting_for_[step].push_back(i);
  }
}

// Only values go in and out, all of known shapes, and it happens whatever else does.
bool Fuser::fusible(const StepDraft& draft) const {
  const Step& step = draft.step;
  if (step.kind != StepKind::kKernel || step.checks_dead || step.waits || step.has_ref_inputs || draft.starts_early) {
    return false;
  }
  if (step.info == &step.node->info() && !is_pure(*step.node)) return false;
  const auto plain = [&](int s) {
    const Slot& slot = program_.slots[s];
    return slot.shape.to_shape().has_value() && !slot.source.is_ref() && !slot.may_be_dead;
  };
  for (int o = 0; o < step.num_outputs; ++o) {
    if (!plain(step.first_output + o)) return false;
  }
  return std::ranges::all_of(step.inputs, plain);
}

int Fuser::step_of(const Node* node) const {
  for (auto twin = twins_.find(node); twin != twins_.end(); twin = twins_.find(node)) node = twin->second;
  const auto found = step_of_node_.find(node);
  return found == step_of_node_.end() ? -1 : found->second;
}

bool Fuser::is(int step, std::string_view op) const {
  return step >= 0 && states_[step].alive && states_[step].fusible && info(step).type() == op;
}

std::vector<int> Fuser::consumers(int slot) const {
  std::vector<int> alive;
  for (const int i : consumers_[slot]) {
    if (states_[i].alive && (alive.empty() || alive.back() != i)) alive.push_back(i);
  }
  return alive;
}

int Fuser::sole_consumer(int slot, std::string_view op) const {
  if (program_.slots[slot].is_fetch) return -1;
  const std::vector<int> all = consumers(slot);
  return all.size() == 1 && is(all[0], op) ? all[0] : -1;
}

// What the group's members make and the fused step does not is read by members only, of this group or of another one
// that then has no need of it.
bool Fuser::hides_only_its_own(const Fusion& group, const std::vector<Fusion>& groups) const {
  const auto is_member = [&](int step) {
    return std::ranges::any_of(groups, [&](const Fusion& g) { return std::ranges::count(g.members, step) > 0; });
  };
  const auto is_input = [&](int slot) {
    return std::ranges::any_of(groups, [&](const Fusion& g) { return std::ranges::count(g.inputs, slot) > 0; });
  };
  for (const int member : group.members) {
    for (int o = 0; o < drafts_[member].step.num_outputs; ++o) {
      const int made = output(member, o);
      if (std::ranges::any_of(group.results, [&](const auto& result) { return result.slot == made; })) continue;
      if (program_.slots[made].is_fetch || is_input(made)) return false;
      if (!std::ranges::all_of(consumers(made), is_member)) return false;
    }
  }
  return true;
}

// The last step that the group needs to have run; nothing if that is a group after it.
std::optional<Fuser::Place> Fuser::last_needed(const Fusion& group, std::size_t number,
                                               const std::vector<Place>& places,
                                               const std::unordered_map<int, std::size_t>& group_of) const {
  Place last;
  bool possible = true;
  const auto need = [&](int step) {
    if (step < 0) return;
    const auto other = group_of.find(step);
    if (other == group_of.end()) {
      last = std::max(last, states_[step].place);
    } else if (other->second < number) {
      last = std::max(last, places[other->second]);
    } else if (other->second > number) {
      possible = false;
    }
  };
  for (const int slot : group.inputs) {
    if (slot >= 0) need(producer_[slot]);
  }
  for (const int member : group.members) {
    for (const Node* before : drafts_[member].controls) need(step_of(before));
  }
  for (std::size_t g = 0; g < number; ++g) last = std::max(last, places[g]);
  return possible ? std::optional(last) : std::nullopt;
}

bool Fuser::first_user_comes_after(const Fusion& group, std::size_t number, Place place,
                                   const std::unordered_map<int, std::size_t>& group_of) const {
  const auto later = [&](int step) {
    const auto other = group_of.find(step);
    if (other != group_of.end()) return other->second >= number;
    return !states_[step].alive || place < states_[step].place;
  };
  for (const auto& result : group.results) {
    if (result.slot >= 0 && !std::ranges::all_of(consumers(result.slot), later)) return false;
  }
  for (const int member : group.members) {
    const auto waiting = waiting_for_.find(member);
    if (waiting != waiting_for_.end() && !std::ranges::all_of(waiting->second, later)) return false;
  }
  return true;
}

std::optional<std::vector<Fuser::Place>> Fuser::places(const std::vector<Fusion>& groups) const {
  std::unordered_map<int, std::size_t> group_of;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const int wait_set = drafts_[groups[g].members[0]].wait_set;
    for (const int member : groups[g].members) {
      if (drafts_[member].wait_set != wait_set || !group_of.emplace(member, g).second) return std::nullopt;
    }
  }
  std::vector<Place> places;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (!hides_only_its_own(groups[g], groups)) return std::nullopt;
    const auto last = last_needed(groups[g], g, places, group_of);
    if (!last) return std::nullopt;
    places.push_back({last->original, num_fused_ + 1 + static_cast<int>(g)});
    if (!first_user_comes_after(groups[g], g, places.back(), group_of)) return std::nullopt;
  }
  return places;
}

std::unique_ptr<const NodeInfo> Fuser::make_info(const Fusion& group) const {
  const NodeInfo& main = info(group.members[0]);
  auto made = std::make_unique<NodeInfo>();
  made->name = main.name;
  made->op = &lookup_op(group.op);
  made->attrs = group.attrs;
  made->device = main.device;
  made->made_at = main.made_at;
  complete_attrs(made->op->def, made->attrs);
  ArgTypes inputs = expand_args(made->op->def.inputs, made->attrs);
  ArgTypes outputs = expand_args(made->op->def.outputs, made->attrs);
  made->input_types = std::move(inputs.types);
  made->input_refs = std::move(inputs.refs);
  made->output_types = std::move(outputs.types);
  made->output_refs = std::move(outputs.refs);
  return made;
}

StepDraft Fuser::make_draft(const Fusion& group) {
  program_.fused.push_back(make_info(group));
  const NodeInfo& made = *program_.fused.back();
  std::vector<PrepareContext::Input> known;
  for (const int s : group.inputs) {
    const Slot& slot = program_.slots[s];
    known.push_back({slot.shape, slot.constant.valid() ? &slot.constant : nullptr});
  }
  PrepareContext context(made, std::move(known), device_, options_.deterministic);
  StepDraft draft;
  draft.step.node = drafts_[group.members[0]].step.node;
  draft.step.info = &made;
  draft.step.kernel = find_kernel(*made.op, device_.type())(context);
  draft.step.inputs = group.inputs;
  draft.step.in_place = context.in_place();
  draft.step.aliases = context.aliases();
  draft.step.scratch_bytes = context.scratch_bytes();
  draft.wait_set = drafts_[group.members[0]].wait_set;
  for (const int member : group.members) {
    for (const Node* before : drafts_[member].controls) {
      if (std::ranges::count(group.members, step_of(before)) == 0) draft.controls.push_back(before);
    }
  }
  return draft;
}

// Slots of the fused step's outputs: a step's lie side by side, so all are new.
std::vector<int> Fuser::add_results(const Fusion& group) {
  std::vector<int> slots;
  for (const auto& result : group.results) {
    slots.push_back(static_cast<int>(program_.slots.size()));
    program_.slots.push_back(result.slot >= 0 ? Slot(program_.slots[result.slot]) : result.added);
    producer_.push_back(-1);
    consumers_.emplace_back();
  }
  return slots;
}

// Everybody who read a member's value reads the fused step's.
void Fuser::take_over(const Fusion& group, const std::vector<int>& results, int step) {
  for (const int member : group.members) states_[member].alive = false;
  for (std::size_t r = 0; r < results.size(); ++r) {
    const int old = group.results[r].slot;
    if (old < 0) continue;
    for (const int reader : consumers_[old]) std::ranges::replace(drafts_[reader].step.inputs, old, results[r]);
    consumers_[results[r]] = std::move(consumers_[old]);
    consumers_[old].clear();
    std::ranges::replace(program_.fetch_slots, old, results[r]);
    program_.slots[old].is_fetch = false;
  }
  const Node* stands_for_all = drafts_[step].step.node;
  step_of_node_[stands_for_all] = step;
  for (const int member : group.members) {
    const Node* node = drafts_[member].step.node;
    if (node != stands_for_all) twins_[node] = stands_for_all;
    auto waiting = waiting_for_.find(member);
    if (waiting == waiting_for_.end()) continue;
    std::vector<int> moved = std::move(waiting->second);
    waiting_for_.erase(waiting);
    std::vector<int>& all = waiting_for_[step];
    all.insert(all.end(), moved.begin(), moved.end());
  }
}

bool Fuser::replace(std::vector<Fusion> groups) {
  const auto where = places(groups);
  if (!where) return false;
  std::vector<std::vector<int>> results;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (int& input : groups[g].inputs) {
      const int added = -2 - input;
      if (input <= -2) input = results[added / kMostResults][added % kMostResults];
    }
    // An input that an earlier group made has moved with its result.
    for (std::size_t earlier = 0; earlier < g; ++earlier) {
      for (std::size_t r = 0; r < results[earlier].size(); ++r) {
        const int old = groups[earlier].results[r].slot;
        if (old >= 0) std::ranges::replace(groups[g].inputs, old, results[earlier][r]);
      }
    }
    StepDraft draft = make_draft(groups[g]);
    results.push_back(add_results(groups[g]));
    draft.step.first_output = results.back().empty() ? 0 : results.back()[0];
    draft.step.num_outputs = static_cast<int>(results.back().size());
    const int step = num_steps();
    drafts_.push_back(std::move(draft));
    take_over(groups[g], results.back(), step);
    add_state(step, (*where)[g]);
  }
  num_fused_ += static_cast<int>(groups.size());
  return true;
}

void Fuser::finish() {
  std::vector<int> order;
  for (int i = 0; i < num_steps(); ++i) {
    if (states_[i].alive) order.push_back(i);
  }
  std::ranges::sort(order, {}, [&](int i) { return states_[i].place; });
  std::vector<StepDraft> left;
  left.reserve(order.size());
  for (const int i : order) left.push_back(std::move(drafts_[i]));
  drafts_ = std::move(left);
}

void fuse_steps(std::vector<StepDraft>& drafts, Program& program, Twins& twins, Device& device,
                const PlanOptions& options) {
  Fuser fuser(drafts, program, twins, device, options);
  for (const FusionPattern pattern : fusion_patterns()) {
    for (int i = 0; i < fuser.num_steps(); ++i) pattern(fuser, i);
  }
  fuser.finish();
}

}  // namespace caudal::inline v0
