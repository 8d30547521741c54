// How caudal shows where the time of a training step goes.
#pragma once

#include <string>

#include "caudal/kernels/roof.h"
#include "caudal/runtime/profile.h"

namespace caudal::inline v0::cli {

// Tables by op and of the slowest nodes: microseconds, share of the step, GFLOP/s, GB/s and the share of the roof that
// is nearer.
std::string profile_text(const Profile& profile, const kernels::Roof& roof);
// The same as one JSON object; rows of all nodes.
std::string profile_json(const Profile& profile, const kernels::Roof& roof);

}  // namespace caudal::inline v0::cli
