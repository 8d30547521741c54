// Graphs of constants out of graphs of variables. Internal: what users call is train/freeze.h.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "caudal/graph/graph.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0 {

// "VariableV2", "VarHandleOp", ...
bool is_variable_op(const std::string& op);

// Fills the empty graph `part` with the nodes that the operations `outputs` ("probs"; of a tensor "probs:0" its node)
// of `graph` need, in its order, and its functions. Throws NOT_FOUND for a name that is not there.
void copy_sub_graph(const Graph& graph, const std::vector<std::string>& outputs, Graph& part);

// The value that a variable's node gets as a constant; nothing: it stays a variable.
using VariableValue = std::function<std::optional<Tensor>(const Node& variable)>;

// The same with constants in the place of variables, and reads of them turned into what reads constants. Throws
// FAILED_PRECONDITION for a node that updates one of them, or hands one to a function.
void freeze_sub_graph(const Graph& graph, const std::vector<std::string>& outputs, const VariableValue& value_of,
                      Graph& frozen);

}  // namespace caudal::inline v0
