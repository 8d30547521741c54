#include "caudal/train/freeze.h"

#include <algorithm>
#include <optional>

#include "caudal/base/error.h"
#include "caudal/core/resource_manager.h"
#include "caudal/core/variable_storage.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/variable_ops.h"
#include "caudal/proto/freeze_graph.h"

namespace caudal::inline v0::graph_util {
namespace {

// The variable's value in the session; invalid if it has none.
Tensor value_of(const Session& session, const Node& variable) {
  const std::string& shared = variable.attr<std::string>("shared_name");
  const auto storage = session.resources().find<VariableStorage>(variable.attr<std::string>("container"),
                                                                 shared.empty() ? variable.name() : shared);
  return storage == nullptr ? Tensor() : storage->read_if_initialized();
}

void check_empty(const Graph& graph) {
  if (graph.num_nodes() != 0) {
    throw invalid_argument("the graph to fill has ", graph.num_nodes(), " nodes").hint("Pass a new Graph.");
  }
}

bool is_assign(const Node& node) { return node.type() == "Assign" || node.type() == "AssignVariableOp"; }
bool is_read(const Node& node) { return node.type() == "Identity" || node.type() == "ReadVariableOp"; }

// The consumer that TensorFlow calls "<variable>/Assign" and the like, else the first one of the kind.
Node* consumer(const Node& variable, bool (*is_wanted)(const Node&), std::string_view suffix) {
  Node* first = nullptr;
  for (const Node::Consumer& user : variable.consumers()) {
    if (user.input != 0 || !is_wanted(*user.node)) continue;
    if (user.node->name() == variable.name() + std::string(suffix)) return user.node;
    if (first == nullptr) first = user.node;
  }
  return first;
}

Variable variable_of_node(Node& node) {
  const bool is_resource = node.type() == "VarHandleOp";
  Variable::Parts parts;
  parts.handle = node.output(0);
  if (Node* initializer = consumer(node, is_assign, "/Assign")) {
    parts.initializer = Operation(initializer);
    parts.initial_value = initializer->input(1);
  }
  if (Node* read = consumer(node, is_read, is_resource ? "/Read/ReadVariableOp" : "/read")) {
    parts.snapshot = read->output(0);
  } else {
    const OpOptions options{.name = node.name() + "/read"};
    parts.snapshot = is_resource ? raw_ops::read_variable_op(parts.handle, node.attr<DType>("dtype"), options)
                                 : identity(parts.handle, options);
  }
  return Variable(parts);
}

}  // namespace

void convert_variables_to_constants(Session& session, const std::vector<std::string>& outputs, Graph& frozen,
                                    const ConvertOptions& options) {
  check_empty(frozen);
  const auto value = [&](const Node& variable) -> std::optional<Tensor> {
    const auto& keep = options.keep_variables;
    if (std::ranges::find(keep, variable.name()) != keep.end()) return std::nullopt;
    Tensor found = value_of(session, variable);
    if (!found.valid()) {
      throw failed_precondition("the variable '", variable.name(), "' has no value in the session")
          .hint("Restore a checkpoint or run the initialisers first.");
    }
    return found;
  };
  freeze_sub_graph(session.graph(), outputs, value, frozen);
}

void extract_sub_graph(const Graph& graph, const std::vector<std::string>& outputs, Graph& part) {
  check_empty(part);
  copy_sub_graph(graph, outputs, part);
}

std::vector<Variable> variables_of_nodes(Graph& graph) {
  const GraphScope scope(graph);
  const NameScope top("");
  const ControlDependencies none({}, /*clear=*/true);
  std::vector<Variable> variables;
  for (Node* node : graph.nodes()) {
    if (is_variable_op(node->type())) variables.push_back(variable_of_node(*node));
  }
  return variables;
}

}  // namespace caudal::inline v0::graph_util
