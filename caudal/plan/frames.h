// Frames: which nodes of a pruned graph lie in which v1 loop.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "caudal/graph/graph.h"
#include "caudal/plan/prune.h"

namespace caudal::inline v0 {

// One loop of a graph, or its top level (no parent). Enter nodes run in the frame around and their values lie inside;
// Exit nodes run inside and their values lie around.
struct Frame {
  std::string name;
  Frame* parent = nullptr;
  int parallel_iterations = 10;
  std::vector<Node*> nodes;   // in the order of prune(), with its Exits and without its Enters
  std::vector<Node*> enters;  // into this frame
  std::vector<Node*> exits;   // out of this frame
  std::vector<std::unique_ptr<Frame>> children;
};

// The frames of `ordered`, the result of prune(request). Throws INVALID_ARGUMENT naming the node whose inputs come from
// different frames.
std::unique_ptr<Frame> split_frames(const PlanRequest& request, const std::vector<Node*>& ordered);

// Merge nodes that begin an iteration: one input is a NextIteration.
bool is_loop_head(const Node& node);

}  // namespace caudal::inline v0
