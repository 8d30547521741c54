// A step while its program is compiled, with what ordering needs and running does not.
#pragma once

#include <vector>

#include "caudal/plan/program.h"

namespace caudal::inline v0 {

struct StepDraft {
  Step step;
  std::vector<const Node*> controls;  // nodes that must have run
  int wait_set = 0;                   // what must have happened before it can start (units.h)
  bool starts_early = false;          // a Merge whose inputs do not come at the same time
};

}  // namespace caudal::inline v0
