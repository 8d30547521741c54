#include "caudal/train/global_step.h"

#include "caudal/base/error.h"
#include "caudal/graph/scope.h"

namespace caudal::inline v0::train {

void assert_global_step(const Variable& global_step) {
  if (is_integer(global_step.dtype()) && global_step.shape().merge(PartialShape::scalar())) return;
  throw invalid_argument("the global step '", global_step.op_name(), "' is no integer scalar but ",
                         global_step.describe());
}

Variable get_global_step(Graph& graph) {
  std::vector<Variable> found = variables_in_collection(graph, graph_keys::kGlobalStep);
  if (found.empty()) {
    for (const Variable& variable : variables_in_collection(graph, graph_keys::kGlobalVariables)) {
      if (variable.op_name() == graph_keys::kGlobalStep) found.push_back(variable);
    }
  }
  if (found.empty()) return {};
  if (found.size() > 1) {
    throw invalid_argument("there are ", found.size(), " variables in the collection '", graph_keys::kGlobalStep, "'");
  }
  assert_global_step(found[0]);
  return found[0];
}

Variable create_global_step(Graph& graph) {
  if (const Variable present = get_global_step(graph); present.handle()) {
    throw invalid_argument("there is a global step already: '", present.op_name(), "'")
        .hint("get_or_create_global_step() takes it.");
  }
  const GraphScope scope(graph);
  const NameScope top("");
  return Variable(std::int64_t{0},
                  {.trainable = false,
                   .collections = {std::string(graph_keys::kGlobalVariables), std::string(graph_keys::kGlobalStep)},
                   .name = std::string(graph_keys::kGlobalStep)});
}

Variable get_or_create_global_step(Graph& graph) {
  const Variable present = get_global_step(graph);
  return present.handle() ? present : create_global_step(graph);
}

std::int64_t global_step(Session& session, const Variable& global_step) {
  return session.run(global_step).to_int64s()[0];
}

}  // namespace caudal::inline v0::train
