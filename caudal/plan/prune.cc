#include "caudal/plan/prune.h"

#include <algorithm>
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
      if (!fed_.insert(feed).second) {
        throw invalid_argument("'", feed.name(), "' is fed twice").hint("Give each tensor one value.");
      }
      if (is_placeholder(*feed.node())) fed_placeholders_.insert(feed.node());
    }
  }

  std::vector<Node*> run() {
    collect();
    count_dependencies();
    return order();
  }

 private:
  static bool is_placeholder(const Node& node) { return node.op().spec->cpu == no_kernel; }

  // Calls `visit` for every node that must run before `node`.
  template <class Visit>
  void for_each_dependency(const Node& node, Visit visit) const {
    for (const Output& input : node.inputs()) {
      if (!fed_.contains(input)) visit(input.node());
    }
    for (Node* before : node.control_inputs()) {
      if (!fed_placeholders_.contains(before)) visit(before);
    }
  }

  // The value of the iteration before: a loop's only way back, which orders nothing.
  static bool is_back_edge(const Node& node, const Node& before) {
    return node.op().spec->control == ControlFlow::kMerge && before.op().spec->control == ControlFlow::kNextIteration;
  }

  // Calls `visit` for every node that must have run before `node` can run for the first time.
  template <class Visit>
  void for_each_predecessor(const Node& node, Visit visit) const {
    for_each_dependency(node, [&](Node* before) {
      if (!is_back_edge(node, *before)) visit(before);
    });
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
      for_each_predecessor(*node, [&](Node* before) {
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

  // Follows what the first waiting node waits for until a node comes back.
  [[noreturn]] void throw_cycle() {
    const auto is_waiting = [&](Node* node) {
      const auto found = waiting_for_.find(node);
      return found != waiting_for_.end() && found->second > 0;
    };
    Node* node = nullptr;
    for (Node* candidate : needed_) {
      if (is_waiting(candidate) && (node == nullptr || candidate->id() < node->id())) node = candidate;
    }
    std::vector<Node*> path;
    while (std::ranges::find(path, node) == path.end()) {
      path.push_back(node);
      Node* next = nullptr;
      for_each_predecessor(*node, [&](Node* before) {
        if (next == nullptr && is_waiting(before)) next = before;
      });
      node = next;
    }
    path.erase(path.begin(), std::ranges::find(path, node));
    std::ranges::reverse(path);
    // From the node that was made first, so that the message is the same every time.
    std::ranges::rotate(path, std::ranges::min_element(path, {}, &Node::id));
    constexpr std::size_t kShown = 5;
    std::string names;
    for (std::size_t i = 0; i < path.size() && i < kShown; ++i) names += "'" + path[i]->name() + "' -> ";
    if (path.size() > kShown) names += "... -> ";
    throw invalid_argument("the graph has a cycle: ", names, "'", path[0]->name(), "'")
        .hint("No node can run first: take one of these inputs or control inputs away.");
  }

  const PlanRequest& request_;
  std::unordered_set<Output> fed_;
  std::unordered_set<const Node*> fed_placeholders_;
  std::unordered_set<Node*> needed_;
  std::unordered_map<Node*, int> waiting_for_;
  std::unordered_map<Node*, std::vector<Node*>> followers_;
};

}  // namespace

std::vector<Node*> prune(const PlanRequest& request) { return Pruner(request).run(); }

}  // namespace caudal::inline v0
