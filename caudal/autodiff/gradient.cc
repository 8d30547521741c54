#include "caudal/autodiff/gradient.h"

#include <algorithm>
#include <queue>
#include <unordered_map>
#include <unordered_set>

#include "caudal/base/error.h"
#include "caudal/graph/scope.h"

namespace caudal::inline v0 {
namespace {

constinit const GradientOps* gradient_ops = nullptr;

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

// One reverse walk from ys towards xs.
class ReverseWalk {
 public:
  ReverseWalk(const std::vector<Output>& ys, const std::vector<Output>& xs, const GradientOptions& options)
      : ys_(ys), xs_(xs), stop_(options.stop_gradients.begin(), options.stop_gradients.end()) {
    mark_between();
  }

  std::vector<Gradient> run(const std::vector<Gradient>& grad_ys) {
    for (std::size_t i = 0; i < ys_.size(); ++i) {
      Gradient seed = i < grad_ys.size() ? grad_ys[i] : Gradient();
      if (seed.is_none()) seed = gradient_ops->ones_like(ys_[i]);
      terms_[ys_[i]].push_back(std::move(seed));
    }
    std::queue<Node*> ready;
    std::unordered_set<Node*> queued;
    for (const Output& y : ys_) {
      Node* node = y.node();
      if (between_.contains(node) && pending_[node] == 0 && queued.insert(node).second) ready.push(node);
    }
    while (!ready.empty()) {
      Node* node = ready.front();
      ready.pop();
      pass_through(*node);
      for (const Output& input : node->inputs()) {
        Node* source = input.node();
        if (between_.contains(source) && --pending_[source] == 0 && queued.insert(source).second) ready.push(source);
      }
    }
    std::vector<Gradient> results;
    for (const Output& x : xs_) {
      const auto found = terms_.find(x);
      results.push_back(found == terms_.end() ? Gradient() : summed(x));
    }
    return results;
  }

 private:
  // Nodes that lie on a path from an x to a y, and how many of their consumers are such nodes.
  void mark_between() {
    std::unordered_set<Node*> from_xs;
    std::vector<Node*> stack;
    for (const Output& x : xs_) stack.push_back(x.node());
    while (!stack.empty()) {
      Node* node = stack.back();
      stack.pop_back();
      if (!from_xs.insert(node).second) continue;
      for (const auto& consumer : node->consumers()) stack.push_back(consumer.node);
    }
    for (const Output& y : ys_) stack.push_back(y.node());
    while (!stack.empty()) {
      Node* node = stack.back();
      stack.pop_back();
      if (!from_xs.contains(node) || !between_.insert(node).second) continue;
      for (const Output& input : node->inputs()) {
        if (from_xs.contains(input.node())) {
          ++pending_[input.node()];
          stack.push_back(input.node());
        }
      }
    }
  }

  // The sum of what has arrived at an output; kept, so that it is built once.
  const Gradient& summed(const Output& output) {
    auto& terms = terms_[output];
    if (terms.size() > 1) terms = {sum(terms)};
    return terms[0];
  }

  void pass_through(Node& node) {
    std::vector<Gradient> grads(node.num_outputs());
    bool any = false;
    for (int i = 0; i < node.num_outputs(); ++i) {
      const Output output = node.output(i);
      const auto found = terms_.find(output);
      if (found == terms_.end() || found->second.empty() || stop_.contains(output)) continue;
      grads[i] = summed(output);
      any = true;
    }
    if (!any || node.num_inputs() == 0) return;
    const GradientFn function = node.op().spec->gradient;
    if (function == not_differentiable) return;
    if (function == no_gradient) {
      throw not_found("no gradient is defined for this operation")
          .hint("Leave it out of the loss, or put stop_gradient() behind it.")
          .at_node(node.type(), node.name(), node.info().made_at);
    }
    NameScope scope(node.name() + "_grad");
    LocationScope location(node.info().made_at);
    GradientContext context(node, std::move(grads));
    try {
      function(context);
    } catch (const Error& error) {
      throw error.at_node(node.type(), node.name(), node.info().made_at);
    }
    for (int i = 0; i < node.num_inputs(); ++i) {
      const Gradient& gradient = context.input_grads()[i];
      if (gradient && between_.contains(node.input(i).node())) terms_[node.input(i)].push_back(gradient);
    }
  }

  const std::vector<Output>& ys_;
  const std::vector<Output>& xs_;
  std::unordered_set<Output> stop_;
  std::unordered_set<Node*> between_;
  std::unordered_map<Node*, int> pending_;
  std::unordered_map<Output, std::vector<Gradient>> terms_;
};

}  // namespace

GradientOpsRegistrar::GradientOpsRegistrar(const GradientOps& ops) { gradient_ops = &ops; }

Output Gradient::dense() const { return slices_ ? gradient_ops->densify(*slices_) : dense_; }

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
    if (!is_differentiable(y.dtype())) {
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
  const GraphScope graph(ys[0].graph());
  const NameScope scope(options.name);
  return ReverseWalk(ys, xs, options).run(options.grad_ys);
}

}  // namespace caudal::inline v0
