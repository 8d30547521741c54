#include "caudal/plan/prune.h"

#include <queue>
#include <unordered_map>
#include <unordered_set>

#include "caudal/base/error.h"

namespace caudal::inline v0 {
namespace {

class Pruner {
 public:
  explicit Pruner(const PlanRequest& request) : request_(request) {
    for (const Output& feed : request.feeds) {
      if (!fed_.insert(feed).second) throw invalid_argument("'", feed.name(), "' is fed twice");
      fed_nodes_.insert(feed.node());
    }
  }

  std::vector<Node*> run() {
    collect();
    count_dependencies();
    return order();
  }

 private:
  // Calls `visit` for every node that must run before `node`.
  template <class Visit>
  void for_each_dependency(const Node& node, Visit visit) const {
    for (const Output& input : node.inputs()) {
      if (!fed_.contains(input)) visit(input.node());
    }
    for (Node* before : node.control_inputs()) {
      if (!fed_nodes_.contains(before)) visit(before);
    }
  }

  void collect() {
    std::vector<Node*> stack;
    for (const Output& fetch : request_.fetches) {
      if (!fed_.contains(fetch)) stack.push_back(fetch.node());
    }
    for (Node* target : request_.targets) stack.push_back(target);
    while (!stack.empty()) {
      Node* node = stack.back();
      stack.pop_back();
      if (!needed_.insert(node).second) continue;
      for_each_dependency(*node, [&](Node* before) { stack.push_back(before); });
    }
  }

  void count_dependencies() {
    for (Node* node : needed_) {
      for_each_dependency(*node, [&](Node* before) {
        ++waiting_for_[node];
        followers_[before].push_back(node);
      });
    }
  }

  std::vector<Node*> order() {
    const auto later = [](const Node* a, const Node* b) { return a->id() > b->id(); };
    std::priority_queue<Node*, std::vector<Node*>, decltype(later)> ready(later);
    for (Node* node : needed_) {
      if (!waiting_for_.contains(node)) ready.push(node);
    }
    std::vector<Node*> ordered;
    while (!ready.empty()) {
      Node* node = ready.top();
      ready.pop();
      ordered.push_back(node);
      for (Node* follower : followers_[node]) {
        if (--waiting_for_[follower] == 0) ready.push(follower);
      }
    }
    if (ordered.size() != needed_.size()) throw_cycle();
    return ordered;
  }

  [[noreturn]] void throw_cycle() {
    std::string names;
    int shown = 0;
    for (const auto& [node, count] : waiting_for_) {
      if (count > 0 && ++shown <= 5) names += (names.empty() ? "'" : ", '") + node->name() + "'";
    }
    throw invalid_argument("the graph has a cycle through ", names);
  }

  const PlanRequest& request_;
  std::unordered_set<Output> fed_;
  std::unordered_set<const Node*> fed_nodes_;
  std::unordered_set<Node*> needed_;
  std::unordered_map<Node*, int> waiting_for_;
  std::unordered_map<Node*, std::vector<Node*>> followers_;
};

}  // namespace

std::vector<Node*> prune(const PlanRequest& request) { return Pruner(request).run(); }

}  // namespace caudal::inline v0
