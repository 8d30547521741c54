// Graphs of constants out of graphs of variables. Internal: what users call is train/freeze.h.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "caudal/proto/graph.pb.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0 {

// The nodes that the operations `outputs` ("probs"; of a tensor "probs:0" its node) need, in the order of `def`, and
// the whole function library. Throws NOT_FOUND for a name that is not there.
pb::GraphDef sub_graph(const pb::GraphDef& def, const std::vector<std::string>& outputs);

// "VariableV2", "VarHandleOp", ...
bool is_variable_op(const std::string& op);

// Values of variables by the name of their node.
using VariableValues = std::map<std::string, Tensor, std::less<>>;

// `def` with constants in the place of the variables in `values`, and reads of them turned into what reads constants.
// Throws FAILED_PRECONDITION for a node that updates one of them, or hands one to a function.
pb::GraphDef freeze_graph_def(const pb::GraphDef& def, const VariableValues& values);

}  // namespace caudal::inline v0
