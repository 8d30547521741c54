// What a plan can compute ahead: values of nodes that depend on constants only, and which nodes compute the same.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "caudal/core/kernel.h"
#include "caudal/graph/graph.h"

namespace caudal::inline v0 {

// True if the node only maps values to values: no state, no references, no part in control flow.
bool is_pure(const Node& node);

// Nodes with the same key and no control inputs compute the same. Nothing for nodes that are not compared: those with
// tensors or functions as attributes.
std::optional<std::string> subexpression_key(const Node& node, const std::vector<int>& input_slots);

// The outputs of `kernel` for these inputs, in memory of their own; nothing if it fails (the run's to report), may wait
// or yields too much.
std::optional<std::vector<Tensor>> evaluate(const Node& node, const Kernel& kernel, std::size_t scratch_bytes,
                                            std::vector<Tensor> inputs, Device& device);

// Values larger than this are not kept: they cost more memory than time.
constexpr std::size_t kMaxFoldedBytes = 10 << 20;

}  // namespace caudal::inline v0
