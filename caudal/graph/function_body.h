// Functions of a library as graphs, and graphs as functions.
//
//   FunctionBody body = instantiate_function(*library->find("f"), {{"T", float32}}, library);   // to plan and run
//
//   FunctionBuilder square(default_graph(), "square");            // to make one by tracing C++ code
//   square.add_argument({.dtype = float32});
//   square.trace([&](const std::vector<Output>& x) { return std::vector<Output>{x[0] * x[0] + bias}; });
//   TracedFunction f = square.finish();                           // f.captures holds `bias`: pass it after x
//
// Bodies and what is traced follow TensorFlow's FunctionDef: names of arguments, results and inputs are as TensorFlow
// writes and reads them. Thread safety: as building a graph; the library itself is shared and locks.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/graph/graph.h"
#include "caudal/graph/scope.h"

namespace caudal::inline v0 {

// A function with its attributes filled in, as a graph of its own.
struct FunctionBody {
  std::string name;
  std::unique_ptr<Graph> graph;
  std::vector<Output> arguments;  // outputs of _Arg nodes; lists of the signature are spread out
  std::vector<Output> results;    // may repeat, may be arguments
  std::vector<Node*> targets;     // must run too: stateful nodes and control outputs
  bool stateful = false;          // holds a stateful node
};

// Throws INVALID_ARGUMENT, naming the function and the node, for a missing attribute, an input that is not there, types
// that do not fit, a cycle; UNIMPLEMENTED for an op that is not registered. `library` is shared with the body's graph.
CAUDAL_API FunctionBody instantiate_function(const Function& function, const AttrMap& attrs,
                                             std::shared_ptr<FunctionLibrary> library);

// The types of the arguments and results that a function has with these attributes, without making its body.
struct FunctionTypes {
  std::vector<DType> arguments, results;
};
CAUDAL_API FunctionTypes function_types(const Function& function, const AttrMap& attrs);

// Copies the body into `graph`: nodes get `prefix` + their name ("" or "scope/"), arguments become `arguments`. The
// copy of a node that is not an argument is found by prefix + name.
struct InlinedFunction {
  std::vector<Output> results;
  std::vector<Node*> targets;
};
CAUDAL_API InlinedFunction inline_function(const Function& function, const AttrMap& attrs, Graph& graph,
                                           std::string_view prefix, const std::vector<Output>& arguments);

// The function of `name` whose body is all of `graph` but its _Arg nodes. Stateful nodes become control outputs.
CAUDAL_API Function function_from_graph(std::string_view name, const Graph& graph, const std::vector<Output>& arguments,
                                        const std::vector<Output>& results);

// What a function takes.
struct FunctionArgument {
  DType dtype = DType::kFloat;
  PartialShape shape = PartialShape::unknown();
  HandleData handle = {};  // of a DT_RESOURCE argument: what it holds
  std::string name = {};
};
// The argument that takes `output`.
CAUDAL_API FunctionArgument argument_like(const Output& output);

// A function that is in the library, and how to call it.
struct TracedFunction {
  FunctionAttr function;
  std::vector<Output> captures;  // tensors of the graph around, to be passed after the arguments
  std::vector<DType> result_types;
  std::vector<PartialShape> result_shapes;
  std::vector<HandleData> result_handles;
  bool stateful = false;
};

// While it lives, what is made in this thread goes to `graph`, untouched by the name scopes and control dependencies
// around.
class CAUDAL_API BodyScope {
 public:
  explicit BodyScope(Graph& graph) : graph_(graph) {}

 private:
  GraphScope graph_;
  NameScope names_{""};
  ControlDependencies control_{{}, /*clear=*/true};
};

class CAUDAL_API FunctionBuilder {
 public:
  using Trace = std::function<std::vector<Output>(const std::vector<Output>& arguments)>;

  // For a function of the library of `outer`, called `name` or, if that is in use, with a number behind it. Seeds are
  // those of `outer`. REQUIRES: `outer` outlives the builder.
  FunctionBuilder(Graph& outer, std::string_view name);
  ~FunctionBuilder();
  FunctionBuilder(const FunctionBuilder&) = delete;
  FunctionBuilder& operator=(const FunctionBuilder&) = delete;

  Graph& graph() { return *graph_; }
  const std::vector<Output>& arguments() const { return arguments_; }
  Output add_argument(const FunctionArgument& argument);
  // The argument that stands for a tensor of the graph around, or of one around that; the same tensor gives the same
  // argument. Throws INVALID_ARGUMENT for a tensor of an unrelated graph.
  Output capture(const Output& outer);
  // Tensors captured so far, in order.
  const std::vector<Output>& captures() const { return captures_; }
  // Small constants that carry no gradient (integers, bool) are copied into the body instead of captured: shapes are
  // inferred from them. After this call all small constants are: for a function whose gradients are nobody's.
  void copy_all_constants() { copies_all_constants_ = true; }

  // Calls `body` with the arguments (again, with the same ones, if it is called again); what it makes in this thread
  // goes into the function, with names, control dependencies and scopes of its own. Its results are remembered; those
  // from outside are captured.
  const std::vector<Output>& trace(const Trace& body);
  const std::vector<Output>& results() const { return results_; }
  void set_results(std::vector<Output> results);

  // Puts the function into the library. If `order` is given, captures come in that order and no others are left out:
  // so that two branches take the same inputs. REQUIRES: every capture is in a given order.
  TracedFunction finish(const std::vector<Output>* order = nullptr);

 private:
  Output new_argument(const FunctionArgument& argument, std::string_view default_name);
  Output bring_in(const Output& outer);

  Graph& outer_;
  std::string name_;
  std::unique_ptr<Graph> graph_;
  std::vector<Output> arguments_, captures_, captured_arguments_, results_;
  std::map<Output, Output> copied_constants_;
  bool copies_all_constants_ = false;
};

}  // namespace caudal::inline v0
