#include "caudal/keras/cost.h"

#include <map>
#include <set>

#include "caudal/autodiff/gradient.h"
#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/keras/model_core.h"
#include "caudal/ops/reduction.h"
#include "caudal/plan/cost.h"
#include "caudal/plan/program.h"

namespace caudal::inline v0::keras {
namespace {

using Costs = std::map<std::string, NodeCost>;

Shape with_batch(const KerasTensor& input, std::int64_t batch) {
  std::vector<std::int64_t> dims = input.shape().dims();
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] >= 0) continue;
    if (i != 0) {
      throw invalid_argument("the input has shape ", input.shape(), ": more than the batch is not known")
          .hint("Give the model an Input with sizes.");
    }
    dims[i] = batch;
  }
  return Shape(dims);
}

class Estimator {
 public:
  Estimator(const Model& model, std::int64_t batch) : model_(model), session_(model.core().backend()->session()) {
    cost_.batch = batch;
    if (model.inputs().empty()) {
      throw failed_precondition("the model is not built").hint("Give it an Input, or call build() with its shapes.");
    }
    for (const KerasTensor& input : model.inputs()) {
      feeds_.push_back(input.output());
      shapes_.push_back(with_batch(input, batch));
    }
    for (const KerasTensor& output : model.outputs()) fetches_.push_back(output.output());
  }

  ModelCost run() {
    model_.core().backend()->flush();
    const auto forward = planned(fetches_, {.fuse = false});
    const Costs costs = costs_of(*forward);
    for (const LayerRef& layer : model_.layers()) add_layer(layer, *forward, costs);
    cost_.total.name = model_.name();
    cost_.inference_arena = static_cast<std::int64_t>(planned(fetches_, {})->arena_bytes);
    add_training();
    return std::move(cost_);
  }

 private:
  std::unique_ptr<const Program> planned(const std::vector<Output>& fetches, const PlanOptions& options) const {
    return compile({.feeds = feeds_, .fetches = fetches}, options, session_.device(), &session_.functions(), shapes_);
  }

  // The nodes between a layer's inputs and its outputs, over all calls of the layer.
  static std::set<const caudal::Node*> nodes_of(const LayerRef& layer) {
    std::set<const caudal::Node*> seen, inputs;
    std::vector<const caudal::Node*> left;
    for (const auto& call : layer->nodes()) {
      for (const KerasTensor& input : call->inputs) inputs.insert(input.output().node());
      for (const Output& output : call->outputs) left.push_back(output.node());
    }
    while (!left.empty()) {
      const caudal::Node* node = left.back();
      left.pop_back();
      if (inputs.contains(node) || !seen.insert(node).second) continue;
      for (const Output& input : node->inputs()) left.push_back(input.node());
    }
    return seen;
  }

  void add_layer(const LayerRef& layer, const Program& forward, const Costs& costs) {
    LayerCost row{.name = layer->name(), .class_name = layer->class_name(), .parameters = layer->count_params()};
    for (const caudal::Node* node : nodes_of(layer)) {
      const auto found = costs.find(node->name());
      if (found == costs.end() || node->op().def.stateful) continue;
      row.multiplications += found->second.multiplications;
      row.training_bytes += found->second.output_bytes;
    }
    std::set<Output> made;
    for (const auto& call : layer->nodes()) made.insert(call->outputs.begin(), call->outputs.end());
    for (const Slot& slot : forward.slots) {
      const auto shape = slot.shape.to_shape();
      if (!made.contains(slot.source) || !shape || !is_plain(slot.dtype)) continue;
      row.activation_bytes += shape->num_elements() * static_cast<std::int64_t>(dtype_size(slot.dtype));
      row.output_shape = PartialShape(*shape).to_string();
    }
    cost_.total.parameters += row.parameters;
    cost_.total.multiplications += row.multiplications;
    cost_.total.activation_bytes += row.activation_bytes;
    cost_.total.training_bytes += row.training_bytes;
    cost_.layers.push_back(std::move(row));
  }

  // The plan of the gradients of the outputs' sum.
  void add_training() {
    std::vector<Output> handles;
    for (const WeightRef& weight : model_->trainable_weights()) handles.push_back(weight->variable().handle());
    if (handles.empty()) return;
    const GraphScope graph(model_.core().backend()->graph());
    const NameScope scope("cost");
    std::vector<Output> sums;
    for (const Output& output : fetches_) sums.push_back(reduce_sum(output));
    std::vector<Output> gradients;
    for (const Gradient& gradient : caudal::gradients(sums, handles)) {
      // Reduced, so that the gradients themselves, which are no activations, are not kept for the caller.
      if (!gradient.is_none()) gradients.push_back(reduce_sum(gradient.dense()));
    }
    const auto program = planned(gradients, {});
    cost_.training_arena = static_cast<std::int64_t>(program->arena_bytes);
    for (const auto& [node, cost] : costs_of(*planned(gradients, {.fuse = false}))) {
      cost_.training_multiplications += cost.multiplications;
    }
  }

  const Model& model_;
  Session& session_;
  std::vector<Output> feeds_, fetches_;
  std::vector<Shape> shapes_;
  ModelCost cost_;
};

}  // namespace

ModelCost model_cost(const Model& model, std::int64_t batch) {
  if (batch < 1) throw invalid_argument("a batch has at least one row, not ", batch);
  return Estimator(model, batch).run();
}

}  // namespace caudal::inline v0::keras
