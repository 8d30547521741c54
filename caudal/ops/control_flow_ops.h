// The nodes of TensorFlow's v1 control flow, one by one. Programs use control_flow.h; these are for who builds what
// that cannot express.
//
// A tensor is live or dead: an untaken branch's are dead, and a node with a dead input does not run. References stay
// references (RefSwitch, RefMerge, RefEnter, ...). Thread safety: as building a graph.
#pragma once

#include <string>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0::raw_ops {

// `data` on the side that `pred` (bool scalar) names; the other side is dead.
struct SwitchOutputs {
  Output if_false;
  Output if_true;
  const Output& operator[](int branch) const { return branch == 0 ? if_false : if_true; }
};
CAUDAL_API SwitchOutputs switch_(const Output& data, const Output& pred, const OpOptions& options = {});

// The one input that is live, and its position (int32 scalar). REQUIRES: at most one is.
struct MergeOutputs {
  Output output;
  Output value_index;
};
CAUDAL_API MergeOutputs merge(const std::vector<Output>& inputs, const OpOptions& options = {});

struct EnterOptions {
  bool is_constant = false;  // there in every iteration, not in the first alone
  std::int64_t parallel_iterations = 10;
  std::string name;
  std::source_location where = std::source_location::current();
};
// `data` inside the loop `frame_name`. Its shape is unknown unless it is constant: a loop variable may change it.
CAUDAL_API Output enter(const Output& data, const std::string& frame_name, const EnterOptions& options = {});
// `data` outside its loop.
CAUDAL_API Output exit(const Output& data, const OpOptions& options = {});
// `data` in the next iteration.
CAUDAL_API Output next_iteration(const Output& data, const OpOptions& options = {});
// The condition (bool scalar) of a loop.
CAUDAL_API Output loop_cond(const Output& input, const OpOptions& options = {});
// Runs whether what it waits for is dead or not.
CAUDAL_API Operation control_trigger(const OpOptions& options = {});

}  // namespace caudal::inline v0::raw_ops
