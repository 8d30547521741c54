// Functions of a graph's library: bodies by name, as files carry them. A FunctionRuntime instantiates them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/core/attr.h"
#include "caudal/core/op_def.h"

namespace caudal::inline v0 {

// A node by names, not yet part of a graph. Inside a function inputs are "node:argument:index", an argument's name, or
// "^node"; in a GraphDef "node", "node:index" or "^node".
struct NodeRecord {
  std::string name, op, device;
  std::vector<std::string> inputs;
  AttrMap attrs;
};

struct Function {
  OpDef signature;
  AttrMap attrs;
  std::vector<NodeRecord> nodes;
  std::vector<std::pair<std::string, std::string>> returns;          // output argument -> "node:argument:index"
  std::vector<std::pair<std::string, std::string>> control_returns;  // control output -> node
};

struct FunctionLibrary {
  std::map<std::string, std::shared_ptr<const Function>, std::less<>> functions;
  std::map<std::string, std::string, std::less<>> gradients;  // function -> function that computes its gradient
};

}  // namespace caudal::inline v0
