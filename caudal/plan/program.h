// A Program: the pruned, folded and ordered steps of a run, with prepared kernels and, where shapes are known, memory.
//
// Immutable once compiled; many runs share it, each with an instance of its own (runtime/run_instance.h). Owned by a
// Plan.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/core/kernel.h"
#include "caudal/graph/graph.h"
#include "caudal/plan/prune.h"

namespace caudal::inline v0 {

struct PlanOptions {
  bool fold_constants = true;        // compute at plan time what depends on constants only
  bool share_subexpressions = true;  // compute equal nodes once
  bool in_place = true;              // let kernels overwrite inputs that nobody needs any more
  bool specialise = true;            // prepare kernels and memory for feed shapes that come back
  int specialise_after = 2;          // runs with the same feed shapes before that happens
  bool deterministic = true;         // results do not depend on the number of threads
};

// One edge's place in a run.
struct Slot {
  Output source;
  Tensor constant;     // the value, if it is known at plan time
  PartialShape shape;  // as far as it is known
  bool is_feed = false;
  bool is_fetch = false;
  int last_use = -1;  // step after which nobody needs it; -1: never used by a step
};

struct Step {
  const Node* node = nullptr;
  std::shared_ptr<const Kernel> kernel;
  std::vector<int> inputs;                     // slots
  int first_output = 0;                        // slot of output 0; the others follow
  std::vector<PrepareContext::Pair> in_place;  // granted ones
  std::vector<PrepareContext::Pair> aliases;
  std::vector<int> release;  // slots to forget after this step
  std::size_t scratch_bytes = 0;
  bool has_ref_inputs = false;
  int num_outputs() const { return node->num_outputs(); }
};

// Arena memory of one slot.
struct Placement {
  Shape shape;
  std::size_t offset = 0;
};

struct Program {
  PlanRequest request;
  std::vector<Slot> slots;
  std::vector<Step> steps;
  std::vector<int> feed_slots;  // by position in the request; -1: nothing needs the feed
  std::vector<int> fetch_slots;
  std::vector<std::optional<Placement>> placements;  // by slot; empty where a program is not specialised
  std::size_t arena_bytes = 0;
  std::size_t scratch_bytes = 0;
};

// Compiles for feeds of the given shapes; nothing given = any. `device` prepares the kernels and folds the constants.
// Throws caudal::Error naming the node: a kernel that is not there, a feed that is missing.
CAUDAL_API std::unique_ptr<const Program> compile(const PlanRequest& request, const PlanOptions& options,
                                                  Device& device, std::span<const Shape> feed_shapes = {});

}  // namespace caudal::inline v0
