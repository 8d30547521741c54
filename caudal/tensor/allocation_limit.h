// The largest single allocation that is tried at all.
#pragma once

#include <cstddef>

namespace caudal::inline v0 {

// Twice the machine's memory: more can never be filled, with any usual amount of swap. A system that overcommits would
// lend even this, and kill the process when it is written to.
std::size_t most_allocatable_bytes();

}  // namespace caudal::inline v0
