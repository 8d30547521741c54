// Where the time of a step goes: node by node, with the work that each did.
//
//   Profile profile = profile_steps(session, {train, loss}, {{x, images}, {y, labels}}, 50);
//   for (const ProfileRow& row : profile.by_op()) std::printf("%8.1f us %s\n", row.microseconds, row.op.c_str());
//
// Costs come from the plan of the same run (plan/cost.h): multiplications of products and convolutions, bytes of inputs
// and outputs. Thread safety: functions; a run as any other of the session.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/plan/cost.h"
#include "caudal/runtime/session.h"

namespace caudal::inline v0 {

struct ProfileRow {
  std::string name;  // of the node, or of the op in by_op()
  std::string op;
  std::int64_t nodes = 1;
  double microseconds = 0;  // per step, median
  NodeCost cost;            // per step

  double gflops() const {
    return microseconds > 0 ? 2e-3 * static_cast<double>(cost.multiplications) / microseconds : 0;
  }
  double gbytes() const { return microseconds > 0 ? 1e-3 * static_cast<double>(cost.bytes) / microseconds : 0; }
};

struct CAUDAL_API Profile {
  std::vector<ProfileRow> rows;  // in the order in which they ran
  double step_microseconds = 0;  // median, without tracing
  std::int64_t steps = 0;

  std::vector<ProfileRow> by_op() const;    // sums of the nodes of each op, longest first
  std::vector<ProfileRow> slowest() const;  // the nodes, longest first
};

// Runs `steps` (at least 1) steps as they are and as many traced ones, after some to warm up. Nodes inside of functions
// have times but no costs. Throws what the run throws.
CAUDAL_API Profile profile_steps(Session& session, const Fetches& fetches, const Feeds& feeds, std::int64_t steps,
                                 const RunOptions& options = {});

}  // namespace caudal::inline v0
