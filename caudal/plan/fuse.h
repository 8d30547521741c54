// Fusion: steps that one kernel can do together become one step.
//
// What is fused computes what the single steps would, in fewer passes over memory: a product with its bias and
// activation, the gradient of a ReLU with the product that makes its input, a convolution with the pooling behind it
// and with the gradients through both. The patterns are in fusion_patterns.cc; each names ops and builds a node of a
// fused op (ops/fused_matmul.cc, ops/fused_conv.cc). A group is fused only where nobody outside sees a value between
// its members, all shapes are known, nothing in it has state, waits or may be dead, and its place in the order exists.
#pragma once

#include <unordered_map>
#include <vector>

#include "caudal/core/device.h"
#include "caudal/plan/program.h"
#include "caudal/plan/step_draft.h"

namespace caudal::inline v0 {

// By node without a step of its own: the node whose step stands for it.
using Twins = std::unordered_map<const Node*, const Node*>;

// Replaces groups of `drafts`, which are in order, by fused ones; the program's slots, fetch slots and fused infos
// follow, and the nodes whose steps are gone are added to `twins`.
void fuse_steps(std::vector<StepDraft>& drafts, Program& program, Twins& twins, Device& device,
                const PlanOptions& options);

}  // namespace caudal::inline v0
