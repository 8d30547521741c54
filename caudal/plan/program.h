// A Program: the pruned, folded and ordered steps of a run, with prepared kernels and, where shapes are known, memory.
//
// One program is one frame: the top level of a run, or the body of a v1 loop. A loop that never waits is one step of
// the program around it (StepKind::kLoop) and runs iteration after iteration; one that may wait gets its values one by
// one, as TensorFlow's executor does it (kEnter, kExit). A program that may wait is cut into units: a unit starts when
// all that it needs is there, and no plain step is in a unit with one that needs more waiting than itself, so that
// whatever another waiting step could be waiting for happens.
//
// Immutable once compiled; many runs share it, each with an instance of its own (runtime/run_instance.h). Owned by a
// Plan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
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
  bool owns_feeds = false;           // feeds are handed over: kernels may overwrite memory that nobody else holds
  int specialise_after = 2;          // runs with the same feed shapes before that happens
  bool deterministic = true;         // results do not depend on the number of threads
  bool compile_loops = true;         // run loops that never wait as one step
  bool fuse = true;                  // let one kernel do the work of several nodes, where all shapes are known
};

// One edge's place in a run.
struct Slot {
  Output source;  // of what a fusion adds: the edge that it belongs to
  DType dtype = DType::kInvalid;
  Tensor constant;     // the value, if it is known at plan time
  PartialShape shape;  // as far as it is known
  bool is_feed = false;
  bool is_fetch = false;
  bool may_be_dead = false;
  bool escapes = false;   // the value may live on under another slot: no arena memory
  bool persists = false;  // in a loop: the same value in every iteration
  int last_use = -1;      // step after which nobody needs it; -1: never used by a step
};

enum class StepKind : std::uint8_t {
  kKernel,
  kConstant,  // a known value that may be dead
  kSwitch,
  kMerge,
  kForward,  // NextIteration and Exit: the value as it is
  kLoop,     // all of a loop that never waits
  kEnter     // one value into a loop that may wait
};

struct Step {
  StepKind kind = StepKind::kKernel;
  const Node* node = nullptr;      // of a loop: one of its Enter nodes; of a fused step: the node with most of the work
  const NodeInfo* info = nullptr;  // what the kernel sees: the node's, or one in Program::fused
  std::shared_ptr<const Kernel> kernel;
  std::vector<int> inputs;  // slots
  int first_output = 0;     // slot of output 0; the others follow
  int num_outputs = 0;
  std::vector<PrepareContext::Pair> in_place;  // granted ones
  std::vector<PrepareContext::Pair> aliases;
  std::vector<int> release;         // slots to forget after this step
  std::vector<int> control_inputs;  // steps that may be dead and take this one with them
  std::size_t scratch_bytes = 0;
  bool has_ref_inputs = false;
  bool takes_input = false;  // input 0 dies here: its value may be moved
  bool checks_dead = false;  // some input or control input may be dead
  bool waits = false;
  int loop = -1;   // kLoop, kEnter: index in Program::loops
  int entry = -1;  // kEnter: index in Loop::entries
  // kForward in the body of a loop that may wait: where the value goes when it is live.
  std::vector<int> next_heads;
  int exit = -1;
};

// Steps [first, first + count) that start together. A unit without steps stands for a value from outside: a head or
// entry of a loop, what comes out of a loop inside.
struct Unit {
  int first = 0;
  int count = 0;
  bool waits = false;
  bool is_merge = false;       // starts with the first live input
  int pending = 0;             // units that must have finished
  std::vector<int> followers;  // units that count this one
};

struct Program;

// A v1 loop: a frame inside of a program.
struct Loop {
  struct Entry {
    int body_slot = -1;     // -1: nothing in the body needs it but the heads
    bool constant = false;  // the same in every iteration
    int unit = -1;          // of the body, if the loop may wait
  };
  struct Head {  // a Merge of what enters and what the iteration before hands over
    int body_slot = -1;
    int index_slot = -1;  // of the Merge's value_index; -1 if nobody wants it
    int enter_index = 0, next_index = 1;
    std::vector<int> entries;  // that feed it
    int unit = -1;
  };
  struct Exit {
    int body_slot = -1;
    int slot = -1;  // of the program around
    int unit = -1;  // of the program around, if the loop may wait
  };
  struct Next {
    int body_slot = -1;
    int head = -1;
  };
  std::string frame_name;
  int parallel_iterations = 10;
  bool compiled = false;
  std::shared_ptr<const Program> body;
  std::vector<Entry> entries;
  std::vector<Head> heads;
  std::vector<Exit> exits;
  std::vector<Next> nexts;
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
  std::vector<Loop> loops;
  std::vector<std::unique_ptr<const NodeInfo>> fused;  // of steps that stand for several nodes
  std::vector<int> feed_slots;                         // by position in the request; -1: nothing needs the feed
  std::vector<int> fetch_slots;
  std::vector<std::optional<Placement>> placements;  // by slot; empty where a program is not specialised
  std::size_t arena_bytes = 0;
  std::size_t scratch_bytes = 0;
  bool can_wait = false;    // has units
  std::vector<Unit> units;  // in an order in which each follows those it counts; empty if the program never waits
  std::vector<int> unit_of_step;
};

// Compiles for feeds of the given shapes; nothing given = any. `device` prepares the kernels and folds the constants,
// `functions` (may be null) holds what the kernels call. Throws caudal::Error naming the node: a kernel that is not
// there, a placeholder that is not fed, frames that do not nest.
CAUDAL_API std::unique_ptr<const Program> compile(const PlanRequest& request, const PlanOptions& options,
                                                  Device& device, FunctionRuntime* functions = nullptr,
                                                  std::span<const Shape> feed_shapes = {});

}  // namespace caudal::inline v0
