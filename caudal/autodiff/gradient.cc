#include "caudal/autodiff/gradient.h"

#include <algorithm>
#include <queue>
#include <unordered_map>
#include <unordered_set>

#include "caudal/autodiff/control_flow.h"
#include "caudal/base/error.h"
#include "caudal/graph/scope.h"

namespace caudal::inline v0 {
namespace {

constinit const GradientOps* gradient_ops = nullptr;
constinit const ControlFlowGradientOps* control_flow_ops = nullptr;

Gradient sum(const std::vector<Gradient>& terms) {
  if (terms.empty()) return {};
  if (terms.size() == 1) return terms[0];
  if (std::ranges::all_of(terms, &Gradient::is_sparse)) {
    std::vector<IndexedSlices> parts;
    for (const Gradient& term : terms) parts.push_back(term.slices());
    return gradient_ops->concat(parts);
  }
  std::vector<Output> dense;
  for (const Gradient& term : terms) dense.push_back(term.dense());
  return gradient_ops->add_n(dense);
}

// The op's, unless the node names another op whose gradient it takes (tf.Graph.gradient_override_map). Names of
// gradients that only live in a Python process are left aside for calls of functions: those have one of their own.
GradientFn gradient_function(const Node& node) {
  const AttrValue* type = find_attr(node.info().attrs, "_gradient_op_type");
  const auto* name = type == nullptr ? nullptr : type->get_if<std::string>();
  if (name == nullptr) return node.op().spec->gradient;
  if (const Op* op = find_op(*name)) return op->spec->gradient;
  if (node.op().def.find_attr("f") != nullptr) return node.op().spec->gradient;
  throw not_found("no gradient is registered as '", *name, "'").at_node(node.type(), node.name(), node.info().made_at);
}

// One reverse walk from ys towards xs.
class ReverseWalk {
 public:
  ReverseWalk(const std::vector<Output>& ys, const std::vector<Output>& xs, const GradientOptions& options)
      : ys_(ys),
        xs_(xs),
        stop_(options.stop_gradients.begin(), options.stop_gradients.end()),
        call_context_(current_control_flow_context(ys[0].graph())) {
    mark_between();
  }

  std::vector<Gradient> run(const std::vector<Gradient>& grad_ys) {
    for (std::size_t i = 0; i < ys_.size(); ++i) {
      Gradient seed = i < grad_ys.size() ? grad_ys[i] : Gradient();
      if (seed.is_none()) seed = gradient_ops->ones_like(ys_[i]);
      terms_[ys_[i]].push_back(std::move(seed));
    }
    add_loops();
    start();
    while (!ready_.empty()) {
      Node* node = ready_.front();
      ready_.pop();
      // The gradient of a call may give the call more inputs.
      const std::vector<Output> inputs(node->inputs().begin(), node->inputs().end());
      pass_through(*node);
      for (const Output& input : inputs) arrive(*input.node());
    }
    if (loops_) loops_->finish();
    std::vector<Gradient> results;
    for (const Output& x : xs_) {
      const auto found = terms_.find(x);
      results.push_back(found == terms_.end() || found->second.empty() ? Gradient() : summed(x));
    }
    return results;
  }

 private:
  // Nodes that lie on a path of values with gradients from an x to a y.
  void mark_between() {
    std::unordered_set<Node*> from_xs;
    std::vector<Node*> stack;
    for (const Output& x : xs_) stack.push_back(x.node());
    while (!stack.empty()) {
      Node* node = stack.back();
      stack.pop_back();
      if (!from_xs.insert(node).second) continue;
      for (const auto& consumer : node->consumers()) {
        if (carries_gradient(consumer.node->input(consumer.input))) stack.push_back(consumer.node);
      }
    }
    std::queue<Node*> queue;
    for (const Output& y : ys_) queue.push(y.node());
    while (!queue.empty()) {
      Node* node = queue.front();
      queue.pop();
      if (from_xs.contains(node) && between_.insert(node).second) {
        in_order_.push_back(node);
        for (const Output& input : node->inputs()) queue.push(input.node());
      }
    }
  }

  // Loops take part as a whole: with all their exits.
  void add_loops() {
    for (std::size_t i = 0; i < in_order_.size(); ++i) {
      if (in_order_[i]->op().spec->control != ControlFlow::kExit) continue;
      if (!loops_) loops_ = control_flow_ops->make_loops(call_context_);
      for (Node* exit : loops_->add_loop(*in_order_[i])) {
        if (between_.insert(exit).second) in_order_.push_back(exit);
      }
    }
    for (Node* node : in_order_) {
      for (const Output& input : node->inputs()) {
        if (between_.contains(input.node())) ++pending_[input.node()];
      }
    }
  }

  void start() {
    std::unordered_set<Node*> seeds;
    for (const Output& y : ys_) {
      Node* node = y.node();
      if (between_.contains(node) && pending_[node] == 0 && seeds.insert(node).second) ready_.push(node);
    }
    if (!loops_) return;
    for (const Output& exit : loops_->start(pending_, seeds)) {
      if (!carries_gradient(exit)) continue;
      terms_[exit].push_back(loops_->zeros_for_exit(exit));
      ready_.push(exit.node());
    }
  }

  // One of the gradients that a node waits for is there.
  void arrive(Node& node) {
    if (!between_.contains(&node)) return;
    const int left = --pending_[&node];
    // The gradient of a loop variable first comes out of the loop, then round it.
    const bool ready = left == 0 || (loops_ && left > 0 && is_loop_switch(node));
    if (!ready) return;
    if (!loops_ || node.op().spec->control != ControlFlow::kExit) {
      ready_.push(&node);
      return;
    }
    for (const auto& [exit, with_zeros] : loops_->exit_ready(node, [this](Node* of) { return has_gradient(*of); })) {
      if (with_zeros && carries_gradient(exit)) terms_[exit].push_back(loops_->zeros_for_exit(exit));
      ready_.push(exit.node());
    }
  }

  bool has_gradient(Node& node) const {
    for (int i = 0; i < node.num_outputs(); ++i) {
      const auto found = terms_.find(node.output(i));
      if (found != terms_.end() && !found->second.empty()) return true;
    }
    return false;
  }

  // The sum of what has arrived at an output; kept, so that it is built once.
  const Gradient& summed(const Output& output) {
    auto& terms = terms_[output];
    if (terms.size() > 1) terms = {sum(terms)};
    return terms[0];
  }

  ControlFlowContext* context_for(const Node& node, bool of_outputs) const {
    ControlFlowContext* context = loops_ ? loops_->context_for(node, of_outputs) : nullptr;
    return context != nullptr ? context : call_context_;
  }

  std::vector<Gradient> output_gradients(Node& node) {
    std::vector<Gradient> grads(node.num_outputs());
    const ContextScope context(context_for(node, /*of_outputs=*/true));
    for (int i = 0; i < node.num_outputs(); ++i) {
      const Output output = node.output(i);
      const auto found = terms_.find(output);
      if (found == terms_.end() || found->second.empty() || stop_.contains(output)) continue;
      grads[i] = summed(output);
    }
    return grads;
  }

  // Zeros for outputs without gradients, where they must be made with care: in loops, and where an untaken branch would
  // give none at all.
  void add_zeros(Node& node, std::vector<Gradient>& grads) const {
    const bool is_switch = node.op().spec->control == ControlFlow::kSwitch;
    const bool in_loop = loops_ && loops_->context_for(node, /*of_outputs=*/false) != nullptr;
    if (!is_switch && !in_loop) return;
    for (int i = 0; i < node.num_outputs(); ++i) {
      const Output output = node.output(i);
      if (!grads[i].is_none() || !carries_gradient(output)) continue;
      grads[i] = loops_ ? loops_->zeros(output) : control_flow_ops->zeros_of_switch(output);
    }
  }

  void pass_through(Node& node) {
    std::vector<Gradient> grads = output_gradients(node);
    if (std::ranges::all_of(grads, &Gradient::is_none)) return;
    // Nobody asked for gradients in front of this node.
    if (std::ranges::none_of(node.inputs(), [&](const Output& input) { return between_.contains(input.node()); }))
      return;
    const GradientFn function = gradient_function(node);
    if (function == not_differentiable) return;
    if (function == no_gradient) {
      throw not_found("no gradient is defined for this operation")
          .hint("Leave it out of the loss, or put stop_gradient() behind it.")
          .at_node(node.type(), node.name(), node.info().made_at);
    }
    const ContextScope in_context(context_for(node, /*of_outputs=*/false));
    NameScope scope(node.name() + "_grad");
    LocationScope location(node.info().made_at);
    add_zeros(node, grads);
    GradientContext context(node, std::move(grads));
    try {
      function(context);
    } catch (const Error& error) {
      throw error.at_node(node.type(), node.name(), node.info().made_at);
    }
    // Only these: a call's gradient may append inputs to the call.
    for (std::size_t k = 0; k < context.input_grads().size(); ++k) {
      const int i = static_cast<int>(k);
      const Gradient& gradient = context.input_grads()[k];
      if (gradient && between_.contains(node.input(i).node())) terms_[node.input(i)].push_back(gradient);
    }
  }

  const std::vector<Output>& ys_;
  const std::vector<Output>& xs_;
  std::unordered_set<Output> stop_;
  ControlFlowContext* call_context_;
  std::unique_ptr<LoopGradients> loops_;  // null while no loop takes part
  std::unordered_set<Node*> between_;
  std::vector<Node*> in_order_;  // the same, from ys towards xs
  LoopGradients::Pending pending_;
  std::queue<Node*> ready_;
  std::unordered_map<Output, std::vector<Gradient>> terms_;
};

}  // namespace

GradientOpsRegistrar::GradientOpsRegistrar(const GradientOps& ops) { gradient_ops = &ops; }

Output Gradient::dense() const { return slices_ ? gradient_ops->densify(*slices_) : dense_; }

ControlFlowGradientRegistrar::ControlFlowGradientRegistrar(const ControlFlowGradientOps& ops) {
  control_flow_ops = &ops;
}

LoopGradients::~LoopGradients() = default;

bool carries_gradient(const Output& output) {
  const DType dtype = output.dtype();
  return is_differentiable(dtype) || dtype == DType::kResource || dtype == DType::kVariant;
}

bool is_loop_switch(const Node& node) {
  if (node.op().spec->control != ControlFlow::kSwitch || node.context() == nullptr || !node.context()->is_loop()) {
    return false;
  }
  // The Switch of a condition is no part of the branches; it is told by who takes its outputs.
  return !std::ranges::all_of(node.consumers(), [](const Node::Consumer& consumer) {
    ControlFlowContext* context = consumer.node->context();
    if (context != nullptr && consumer.node->op().spec->control == ControlFlow::kEnter) context = context->outer();
    return context != nullptr && !context->is_loop();
  });
}

GradientContext::GradientContext(Node& node, std::vector<Gradient> output_grads)
    : node_(node), grads_(std::move(output_grads)), input_grads_(node.num_inputs()) {}

Output GradientContext::grad(int i) const {
  return grads_[i].is_none() ? gradient_ops->zeros_like(node_.output(i)) : grads_[i].dense();
}

std::vector<Gradient> gradients(const std::vector<Output>& ys, const std::vector<Output>& xs,
                                const GradientOptions& options) {
  const LocationScope location(options.where);
  if (ys.empty()) throw invalid_argument("gradients() needs at least one y").made_at(short_location(options.where));
  const auto check = [&](bool good, const auto&... what) {
    if (!good) throw invalid_argument(what...).made_at(short_location(options.where));
  };
  for (const auto& list : {ys, xs, options.stop_gradients}) {
    for (const Output& output : list) {
      check(static_cast<bool>(output), "gradients(): one of ys, xs or stop_gradients is no tensor");
      check(&output.graph() == &ys[0].graph(), "gradients(): '", output.name(), "' belongs to another graph than '",
            ys[0].name(), "'");
    }
  }
  for (const Output& y : ys) {
    // Lists of tensors (DT_VARIANT) carry gradients inside of function bodies.
    if (!is_differentiable(y.dtype()) && y.dtype() != DType::kVariant) {
      throw invalid_argument("gradients() of '", y.name(), "': its type ", y.dtype(), " has no gradient")
          .made_at(short_location(options.where))
          .hint("Cast it to a floating type first: gradients flow through floating and complex types only.");
    }
  }
  if (!options.grad_ys.empty() && options.grad_ys.size() != ys.size()) {
    throw invalid_argument("gradients(): ", options.grad_ys.size(), " grad_ys for ", ys.size(), " ys")
        .made_at(short_location(options.where));
  }
  for (std::size_t i = 0; i < options.grad_ys.size(); ++i) {
    const Gradient& grad = options.grad_ys[i];
    if (grad.is_none()) continue;
    const DType dtype = grad.is_sparse() ? grad.slices().values.dtype() : grad.dense().dtype();
    check(dtype == ys[i].dtype(), "gradients(): the grad_y of '", ys[i].name(), "' is ", dtype, "; ", ys[i].dtype(),
          " is wanted");
  }
  const GraphScope graph(options.graph != nullptr ? *options.graph : ys[0].graph());
  const NameScope scope(options.name);
  return ReverseWalk(ys, xs, options).run(options.grad_ys);
}

}  // namespace caudal::inline v0
