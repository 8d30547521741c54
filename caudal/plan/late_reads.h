// Reads of reference variables that are to see an update that comes between them and their use.
//
// `w/read` (Identity of a reference) gives TensorFlow's consumers the variable's own memory: a consumer that runs after
// an update sees the updated value, though the read itself ran before. A snapshot would show it the old one, which
// moving averages of TensorFlow 1 notice: they are made after the step under control dependencies, of reads that were
// made with the variables. Where the graph orders an update before a consumer but not before its read, the consumer
// therefore reads the reference itself when it starts; everywhere else a snapshot is as good and never torn.
// One thread's, while a program is compiled.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "caudal/graph/node.h"

namespace caudal::inline v0 {

class LateReads {
 public:
  LateReads() = default;
  // Of the nodes of a program outside of loops.
  explicit LateReads(const std::vector<Node*>& nodes);

  // The read behind which input i of the node is looked up late, or null.
  const Node* read_of(const Node& node, int i) const {
    const auto found = reads_.find({&node, i});
    return found == reads_.end() ? nullptr : found->second;
  }
  // Appends the reads themselves: what they waited for holds for the node as well.
  void add_controls(const Node& node, std::vector<const Node*>& controls) const {
    for (auto at = reads_.lower_bound({&node, 0}); at != reads_.end() && at->first.first == &node; ++at) {
      controls.push_back(at->second);
    }
  }

 private:
  std::map<std::pair<const Node*, int>, const Node*> reads_;
};

}  // namespace caudal::inline v0
