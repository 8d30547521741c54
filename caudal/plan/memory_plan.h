// Places the outputs of a program with known shapes in one arena by their lifetimes.
#pragma once

#include "caudal/base/export.h"
#include "caudal/plan/program.h"

namespace caudal::inline v0 {

// Fills program.placements and program.arena_bytes. Placed are outputs of plain types and known shape that neither
// leave the run nor share memory with something that does. Two outputs share bytes only if their lifetimes do not
// touch, or if the plan granted that one overwrites the other.
CAUDAL_API void plan_memory(Program& program);

}  // namespace caudal::inline v0
