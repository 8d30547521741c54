// The control dependencies of nodes that take no step because their value is known.
//
// Who uses such a node waits for what it waited for: TensorFlow's Python makes the constants of an op inside the
// control dependencies that are meant for the op, which then has none of its own. The pivots of loops and conditions
// are left out: they order nothing that their frame does not order anyway. One thread's, while a program is compiled.
#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include "caudal/graph/node.h"

namespace caudal::inline v0 {

class KnownControls {
 public:
  void remember(const Node& node, const std::vector<const Node*>& controls) {
    std::vector<const Node*> kept;
    for (const Node* before : controls) {
      if (!is_pivot(*before)) kept.push_back(before);
    }
    if (!kept.empty()) controls_.emplace(&node, std::move(kept));
  }

  // Appends to `controls` what the inputs and control inputs of `node` waited for.
  void inherit(const Node& node, std::vector<const Node*>& controls) const {
    if (controls_.empty()) return;
    for (const Output& input : node.inputs()) append(input.node(), controls);
    for (const Node* before : node.control_inputs()) append(before, controls);
  }

 private:
  static bool is_pivot(const Node& node) {
    const auto is_control_flow = [](const Node& n) { return n.op().spec->control != ControlFlow::kNone; };
    return is_control_flow(node) || (node.type() == "Identity" && is_control_flow(*node.input(0).node()));
  }

  void append(const Node* known, std::vector<const Node*>& controls) const {
    const auto found = controls_.find(known);
    if (found != controls_.end()) controls.insert(controls.end(), found->second.begin(), found->second.end());
  }

  std::unordered_map<const Node*, std::vector<const Node*>> controls_;
};

}  // namespace caudal::inline v0
