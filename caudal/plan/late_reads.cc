#include "caudal/plan/late_reads.h"

#include <algorithm>
#include <unordered_map>

namespace caudal::inline v0 {
namespace {

using Marks = std::vector<bool>;

bool is_read(const Node& node) { return node.type() == "Identity" && node.input(0).is_ref(); }

// The variable that a reference comes from, through the updates that pass it on.
const Node* variable_of(const Output& reference) {
  const Node* node = reference.node();
  while (node->num_inputs() > 0 && node->input(0).is_ref()) node = node->input(0).node();
  return node;
}

class Search {
 public:
  explicit Search(const std::vector<Node*>& nodes) : nodes_(nodes) {
    for (std::size_t i = 0; i < nodes.size(); ++i) index_[nodes[i]] = static_cast<int>(i);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const Node& node = *nodes[i];
      for (int k = 0; k < node.num_inputs(); ++k) {
        if (!node.info().input_refs[k] || !node.input(k).is_ref()) continue;
        updates_[variable_of(node.input(k))].push_back(static_cast<int>(i));
        any_update_.push_back(static_cast<int>(i));
      }
    }
  }

  bool has_updates() const { return !any_update_.empty(); }

  // The nodes that run after an update, of whatever variable.
  Marks after_any() { return after(any_update_); }

  // Whether an update of the variable comes before the consumer and not before the read.
  bool is_updated_between(const Node& read, int consumer) {
    const int at = index_.at(&read);
    return std::ranges::any_of(updates_[variable_of(read.input(0))], [&](int update) {
      Marks& marks = after_[update];
      if (marks.empty()) marks = after({update});
      return marks[consumer] && !marks[at];
    });
  }

  bool contains(const Node* node) const { return index_.contains(node); }

 private:
  void connect() {
    if (!followers_.empty()) return;
    followers_.resize(nodes_.size());
    const auto follow = [this](const Node* before, std::size_t i) {
      const auto found = index_.find(before);
      if (found != index_.end()) followers_[found->second].push_back(static_cast<int>(i));
    };
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      for (const Output& input : nodes_[i]->inputs()) follow(input.node(), i);
      for (const Node* before : nodes_[i]->control_inputs()) follow(before, i);
    }
  }

  Marks after(const std::vector<int>& begin) {
    connect();
    Marks marks(nodes_.size());
    std::vector<int> work = begin;
    while (!work.empty()) {
      const int i = work.back();
      work.pop_back();
      for (const int follower : followers_[i]) {
        if (!marks[follower]) work.push_back(follower);
        marks[follower] = true;
      }
    }
    return marks;
  }

  const std::vector<Node*>& nodes_;
  std::unordered_map<const Node*, int> index_;
  std::unordered_map<const Node*, std::vector<int>> updates_;  // by variable
  std::vector<int> any_update_;
  std::vector<std::vector<int>> followers_;
  std::unordered_map<int, Marks> after_;
};

}  // namespace

LateReads::LateReads(const std::vector<Node*>& nodes) {
  if (std::ranges::none_of(nodes, [](const Node* node) { return is_read(*node); })) return;
  Search search(nodes);
  if (!search.has_updates()) return;
  const Marks candidates = search.after_any();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = *nodes[i];
    if (!candidates[i] || node.op().spec->control != ControlFlow::kNone) continue;
    for (int k = 0; k < node.num_inputs(); ++k) {
      const Node& read = *node.input(k).node();
      if (search.contains(&read) && is_read(read) && search.is_updated_between(read, static_cast<int>(i))) {
        reads_[{&node, k}] = &read;
      }
    }
  }
}

}  // namespace caudal::inline v0
