#include "caudal/plan/frames.h"

#include <algorithm>
#include <unordered_set>

#include "caudal/base/error.h"

namespace caudal::inline v0 {
namespace {

ControlFlow kind_of(const Node& node) { return node.op().spec->control; }

class FrameSplitter {
 public:
  explicit FrameSplitter(const PlanRequest& request)
      : fed_(request.feeds.begin(), request.feeds.end()), top_(std::make_unique<Frame>()) {}

  std::unique_ptr<Frame> run(const std::vector<Node*>& ordered) {
    for (Node* node : ordered) add(*node);
    return std::move(top_);
  }

 private:
  // The frame in which the value of a node that has run lies.
  Frame* frame_of_value(const Node& node) const {
    Frame* frame = frame_of_.at(&node);
    if (kind_of(node) == ControlFlow::kEnter) return child_of_.at(&node);
    return kind_of(node) == ControlFlow::kExit ? frame->parent : frame;
  }

  // The frame that the node's inputs agree on; the top level where it has none.
  Frame* frame_of_inputs(const Node& node) {
    Frame* frame = nullptr;
    const Node* first = nullptr;
    const auto look_at = [&](const Node& input) {
      if (!frame_of_.contains(&input)) return;  // a back edge, or something fed
      Frame* here = frame_of_value(input);
      if (first == nullptr) {
        first = &input;
        frame = here;
      } else if (frame != here) {
        throw_different_frames(node, *first, *frame, input, *here);
      }
    };
    for (const Output& input : node.inputs()) {
      if (!fed_.contains(input)) look_at(*input.node());
    }
    for (const Node* before : node.control_inputs()) look_at(*before);
    return first == nullptr ? top_.get() : frame;
  }

  [[noreturn]] static void throw_different_frames(const Node& node, const Node& a, const Frame& frame_a, const Node& b,
                                                  const Frame& frame_b) {
    throw invalid_argument("'", node.name(), "' has inputs from different frames. The input node '", a.name(),
                           "' is in frame '", frame_a.name, "'. The input node '", b.name(), "' is in frame '",
                           frame_b.name, "'.")
        .hint("Bring a value into a loop by while_loop's captures or an Enter node, and out by an Exit.")
        .at_node(node.type(), node.name(), node.info().made_at);
  }

  void add(Node& node) {
    Frame* frame = frame_of_inputs(node);
    if (kind_of(node) == ControlFlow::kExit && frame->parent == nullptr) {
      throw invalid_argument("an Exit outside of any frame")
          .hint("Its value must come from an Enter node.")
          .at_node(node.type(), node.name(), node.info().made_at);
    }
    frame_of_[&node] = frame;
    if (kind_of(node) == ControlFlow::kEnter) {
      Frame* child = enter(*frame, node);
      child_of_[&node] = child;
      child->enters.push_back(&node);
      return;
    }
    if (kind_of(node) == ControlFlow::kExit) frame->exits.push_back(&node);
    frame->nodes.push_back(&node);
  }

  Frame* enter(Frame& around, const Node& node) {
    const auto& name = node.attr<std::string>("frame_name");
    for (const auto& child : around.children) {
      if (child->name == name) return child.get();
    }
    auto child = std::make_unique<Frame>();
    child->name = name;
    child->parent = &around;
    const std::int64_t parallel = node.attr<std::int64_t>("parallel_iterations");
    child->parallel_iterations = static_cast<int>(std::clamp<std::int64_t>(parallel, 1, 1 << 20));
    around.children.push_back(std::move(child));
    return around.children.back().get();
  }

  std::unordered_set<Output> fed_;
  std::unique_ptr<Frame> top_;
  std::unordered_map<const Node*, Frame*> frame_of_, child_of_;
};

}  // namespace

std::unique_ptr<Frame> split_frames(const PlanRequest& request, const std::vector<Node*>& ordered) {
  return FrameSplitter(request).run(ordered);
}

bool is_loop_head(const Node& node) {
  if (kind_of(node) != ControlFlow::kMerge) return false;
  return std::ranges::any_of(node.inputs(),
                             [](const Output& input) { return kind_of(*input.node()) == ControlFlow::kNextIteration; });
}

}  // namespace caudal::inline v0
