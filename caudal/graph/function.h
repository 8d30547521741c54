// Functions of a graph's library: bodies by name, as files carry them. function_body.h makes graphs of them and back; a
// FunctionRuntime runs them.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/core/attr.h"
#include "caudal/core/op_def.h"
#include "caudal/core/op_registry.h"

namespace caudal::inline v0 {

// A node by names, not yet part of a graph. Inside a function inputs are "node:argument:index", an argument's name, or
// "^node"; in a GraphDef "node", "node:index" or "^node".
struct NodeRecord {
  std::string name, op, device;
  std::vector<std::string> inputs;
  AttrMap attrs;
  friend bool operator==(const NodeRecord&, const NodeRecord&) = default;
};

struct Function {
  OpDef signature;
  AttrMap attrs;
  std::map<int, AttrMap> arg_attrs;     // by argument: what its _Arg node gets (_output_shapes, _handle_dtypes, ...)
  std::map<int, int> resource_arg_ids;  // by argument: equal numbers name one resource; empty: none is passed twice
  std::vector<NodeRecord> nodes;
  std::vector<std::pair<std::string, std::string>> returns;          // output argument -> "node:argument:index"
  std::vector<std::pair<std::string, std::string>> control_returns;  // control output -> node
};

// The functions of one graph and of the bodies made from them, which share the library. Thread-safe: a session may
// look a function up while its graph is extended. Functions are never replaced or removed.
class CAUDAL_API FunctionLibrary {
 public:
  // Null if there is none of that name.
  std::shared_ptr<const Function> find(std::string_view name) const;
  // Throws INVALID_ARGUMENT if another function of that name is there, or an op is called so; the same function again
  // changes nothing.
  void add(std::shared_ptr<const Function> function);
  // `base` with a number behind it, if need be, so that it names no function and no op; marks it used.
  std::string unique_name(std::string_view base);
  // All functions, by name.
  std::map<std::string, std::shared_ptr<const Function>> all() const;

  // The function that computes the gradient of `function` (x..., dy... -> dx...); empty if none was set.
  std::string gradient_of(std::string_view function) const;
  void set_gradient(std::string_view function, std::string_view gradient);
  std::map<std::string, std::string> gradients() const;

  // The op that a call of the function by its name is, or null. Valid as long as the library.
  const Op* call_op(std::string_view name) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const Function>, std::less<>> functions_;
  std::map<std::string, std::string, std::less<>> gradients_;
  std::map<std::string, int, std::less<>> name_counts_;
  mutable std::map<std::string, std::unique_ptr<Op>, std::less<>> call_ops_;
};

// How nodes behave whose op is a function of the library: shape, gradient and kernel, supplied once by the ops layer.
struct CAUDAL_API FunctionCallRegistrar {
  explicit FunctionCallRegistrar(const OpSpec& spec);
};

}  // namespace caudal::inline v0
