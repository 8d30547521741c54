// What fusion patterns see of a program under compilation, and how they replace groups of its steps.
#pragma once

#include <compare>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "caudal/core/device.h"
#include "caudal/plan/fuse.h"
#include "caudal/plan/program.h"
#include "caudal/plan/step_draft.h"

namespace caudal::inline v0 {

// A group of steps that one step of op `op` replaces. Steps are named by their numbers in a Fuser.
struct Fusion {
  // An output of the fused op: the slot of a member that it stands for, or a value that nobody had before.
  struct Result {
    int slot = -1;
    Slot added = {};  // if slot is -1
  };
  std::string op;
  AttrMap attrs;             // all that have no default or another value
  std::vector<int> members;  // the first is the one with most of the work: errors and traces name it
  std::vector<int> inputs;   // slots
  std::vector<Result> results;
};

// One thread's, while a program is compiled. Steps keep their numbers; fused ones get new ones.
class Fuser {
 public:
  Fuser(std::vector<StepDraft>& drafts, Program& program, Twins& twins, Device& device, const PlanOptions& options);

  int num_steps() const { return static_cast<int>(drafts_.size()); }
  // True if the step is there, is of that op and may be a member of a group. False for step -1.
  bool is(int step, std::string_view op) const;
  const NodeInfo& info(int step) const { return *drafts_[step].step.info; }
  int input(int step, int index) const { return drafts_[step].step.inputs[index]; }
  int output(int step, int index = 0) const { return drafts_[step].step.first_output + index; }
  // The step that makes a slot's value; -1 for what comes from outside.
  int producer(int slot) const { return producer_[slot]; }
  // The steps that read a slot, each once.
  std::vector<int> consumers(int slot) const;
  // The one step that reads a slot, if it is of that op and the slot is not fetched; else -1.
  int sole_consumer(int slot, std::string_view op) const;
  const Slot& slot(int slot) const { return program_.slots[slot]; }
  // REQUIRES: a step for which is() was true reads or makes the slot.
  Shape shape(int slot) const { return *program_.slots[slot].shape.to_shape(); }

  // Replaces all groups, or none if one of them cannot be. Among the inputs of a group, added_slot(g, r) is result r of
  // an earlier group g.
  bool replace(std::vector<Fusion> groups);
  static int added_slot(int group, int result) { return -2 - (group * kMostResults + result); }

  // Puts what is left into order.
  void finish();

 private:
  static constexpr int kMostResults = 8;

  // Where a step stands in the order: behind an original step, fused ones in the order in which they were made.
  struct Place {
    int original = -1, fused = 0;
    friend auto operator<=>(const Place&, const Place&) = default;
  };
  struct State {
    Place place;
    bool alive = true;
    bool fusible = false;
  };

  bool fusible(const StepDraft& draft) const;
  void add_state(int step, Place place);
  void note_controls(int step);
  int step_of(const Node* node) const;
  // The place of each group; nothing if one of them has none, or would hide what others see.
  std::optional<std::vector<Place>> places(const std::vector<Fusion>& groups) const;
  bool hides_only_its_own(const Fusion& group, const std::vector<Fusion>& groups) const;
  std::optional<Place> last_needed(const Fusion& group, std::size_t number, const std::vector<Place>& places,
                                   const std::unordered_map<int, std::size_t>& group_of) const;
  bool first_user_comes_after(const Fusion& group, std::size_t number, Place place,
                              const std::unordered_map<int, std::size_t>& group_of) const;
  std::unique_ptr<const NodeInfo> make_info(const Fusion& group) const;
  StepDraft make_draft(const Fusion& group);
  std::vector<int> add_results(const Fusion& group);
  void take_over(const Fusion& group, const std::vector<int>& results, int step);

  std::vector<StepDraft>& drafts_;
  Program& program_;
  Twins& twins_;
  Device& device_;
  const PlanOptions& options_;
  std::vector<State> states_;                              // by step
  std::vector<int> producer_;                              // by slot
  std::vector<std::vector<int>> consumers_;                // by slot
  std::unordered_map<const Node*, int> step_of_node_;      // that stand for themselves
  std::unordered_map<int, std::vector<int>> waiting_for_;  // by step: those that depend on it by a control edge
  int num_fused_ = 0;
};

// A pattern tries to replace a group around a step and says whether it did.
using FusionPattern = bool (*)(Fuser& fuser, int step);
std::span<const FusionPattern> fusion_patterns();

}  // namespace caudal::inline v0
