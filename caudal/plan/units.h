// Cuts the steps of a program that may wait into units (program.h).
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "caudal/plan/program.h"

namespace caudal::inline v0 {

// Sets of things that a step waits for, by number; 0 is the empty set.
class WaitSets {
 public:
  WaitSets() : sets_(1), ids_{{{}, 0}} {}
  // The set of a new thing to wait for alone.
  int new_source();
  int join(int a, int b);

 private:
  using Bits = std::vector<std::uint64_t>;
  int intern(Bits bits);

  int num_sources_ = 0;
  std::vector<Bits> sets_;
  std::map<Bits, int> ids_;
  std::map<std::pair<int, int>, int> joined_;
};

// What compiling found out about a step and is not kept.
struct StepNeeds {
  int wait_set = 0;               // what must have happened before it can start
  std::vector<int> predecessors;  // steps, by data and control edges
  std::vector<int> sources;       // by control edges
  bool starts_early = false;      // a Merge whose inputs do not come at the same time
};

// Sets units and unit_of_step, and sorts the steps so that those of a unit lie together. `sources` are what gets
// values from outside while the program runs (heads, entries and exits of loops that may wait), each with its slots;
// the unit of source i is units[i]. `needs` is by step.
void cut_into_units(Program& program, std::vector<StepNeeds> needs, const std::vector<std::vector<int>>& sources);

}  // namespace caudal::inline v0
