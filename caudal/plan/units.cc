#include "caudal/plan/units.h"

#include <algorithm>
#include <queue>
#include <set>

#include "caudal/base/error.h"

namespace caudal::inline v0 {

int WaitSets::intern(Bits bits) {
  const auto [found, inserted] = ids_.emplace(bits, static_cast<int>(sets_.size()));
  if (inserted) sets_.push_back(std::move(bits));
  return found->second;
}

int WaitSets::new_source() {
  Bits bits(num_sources_ / 64 + 1);
  bits.back() |= std::uint64_t{1} << (num_sources_ % 64);
  ++num_sources_;
  return intern(std::move(bits));
}

int WaitSets::join(int a, int b) {
  if (a == b || b == 0) return a;
  if (a == 0) return b;
  if (a > b) std::swap(a, b);
  const auto known = joined_.find({a, b});
  if (known != joined_.end()) return known->second;
  Bits bits = sets_[a];
  const Bits& other = sets_[b];
  if (bits.size() < other.size()) bits.resize(other.size());
  for (std::size_t i = 0; i < other.size(); ++i) bits[i] |= other[i];
  return joined_[{a, b}] = intern(std::move(bits));
}

namespace {

class UnitCutter {
 public:
  UnitCutter(Program& program, const std::vector<StepNeeds>& needs, const std::vector<std::vector<int>>& sources)
      : program_(program), needs_(needs), sources_(sources) {}

  void run() {
    form();
    connect();
    const std::vector<int> order = sorted();
    rearrange(order);
  }

 private:
  int num_steps() const { return static_cast<int>(program_.steps.size()); }

  // Which steps start together; numbers are provisional.
  void form() {
    unit_of_.resize(num_steps());
    members_.resize(sources_.size());
    std::map<int, int> segment_of_set;
    for (int s = 0; s < num_steps(); ++s) {
      const bool alone = program_.steps[s].waits || needs_[s].starts_early;
      int unit = static_cast<int>(members_.size());
      if (!alone) {
        const auto [found, inserted] = segment_of_set.emplace(needs_[s].wait_set, unit);
        unit = found->second;
      }
      if (unit == static_cast<int>(members_.size())) members_.emplace_back();
      members_[unit].push_back(s);
      unit_of_[s] = unit;
    }
  }

  void connect() {
    std::map<int, int> unit_of_source;  // by slot
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      for (const int slot : sources_[i]) unit_of_source[slot] = static_cast<int>(i);
    }
    followers_.resize(members_.size());
    pending_.resize(members_.size());
    std::set<std::pair<int, int>> edges;
    const auto add_edge = [&](int from, int to) {
      if (from == to || !edges.emplace(from, to).second) return;
      followers_[from].push_back(to);
      ++pending_[to];
    };
    for (int s = 0; s < num_steps(); ++s) {
      for (const int before : needs_[s].predecessors) add_edge(unit_of_[before], unit_of_[s]);
      for (const int source : needs_[s].sources) add_edge(source, unit_of_[s]);
      for (const int input : program_.steps[s].inputs) {
        if (const auto source = unit_of_source.find(input); source != unit_of_source.end()) {
          add_edge(source->second, unit_of_[s]);
        }
      }
    }
  }

  // Sources first, in their order; then each unit after those it counts.
  std::vector<int> sorted() const {
    std::vector<int> waiting = pending_;
    std::priority_queue<int, std::vector<int>, std::greater<>> ready;
    for (std::size_t u = 0; u < members_.size(); ++u) {
      if (waiting[u] == 0) ready.push(static_cast<int>(u));
    }
    std::vector<int> order;
    while (!ready.empty()) {
      const int unit = ready.top();
      ready.pop();
      order.push_back(unit);
      for (const int follower : followers_[unit]) {
        if (--waiting[follower] == 0) ready.push(follower);
      }
    }
    if (order.size() != members_.size()) throw internal_error("the units of a program wait for each other");
    // Provisional numbers of sources are the smallest, and nothing comes before a source.
    return order;
  }

  void rearrange(const std::vector<int>& order) {
    std::vector<int> new_unit(members_.size()), new_step(num_steps());
    std::vector<Step> steps;
    program_.units.clear();
    program_.unit_of_step.clear();
    for (std::size_t position = 0; position < order.size(); ++position) {
      const int old = order[position];
      new_unit[old] = static_cast<int>(position);
      Unit unit;
      unit.first = static_cast<int>(steps.size());
      unit.count = static_cast<int>(members_[old].size());
      unit.pending = old < static_cast<int>(sources_.size()) ? 1 : pending_[old];
      for (const int s : members_[old]) {
        unit.waits = program_.steps[s].waits;
        unit.is_merge = needs_[s].starts_early;
        new_step[s] = static_cast<int>(steps.size());
        steps.push_back(std::move(program_.steps[s]));
        program_.unit_of_step.push_back(static_cast<int>(position));
      }
      program_.units.push_back(std::move(unit));
    }
    for (std::size_t old = 0; old < members_.size(); ++old) {
      for (const int follower : followers_[old]) program_.units[new_unit[old]].followers.push_back(new_unit[follower]);
    }
    for (Step& step : steps) {
      for (int& before : step.control_inputs) before = new_step[before];
    }
    program_.steps = std::move(steps);
  }

  Program& program_;
  const std::vector<StepNeeds>& needs_;
  const std::vector<std::vector<int>>& sources_;
  std::vector<int> unit_of_;                 // by step
  std::vector<std::vector<int>> members_;    // steps by unit
  std::vector<std::vector<int>> followers_;  // by unit
  std::vector<int> pending_;
};

}  // namespace

void cut_into_units(Program& program, std::vector<StepNeeds> needs, const std::vector<std::vector<int>>& sources) {
  UnitCutter(program, needs, sources).run();
}

}  // namespace caudal::inline v0
