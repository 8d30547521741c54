// Variables found by name: scopes that share them or keep them apart.
//
//   {
//     tf::VariableScope scope("encoder");
//     auto w = tf::get_variable("w", {.shape = {10, 5}});           // "encoder/w"
//   }
//   {
//     tf::VariableScope scope("encoder", {.reuse = true});
//     auto w = tf::get_variable("w", {.shape = {10, 5}});           // the same variable
//   }
//
// TensorFlow's naming: entering a variable scope by name also opens a name scope of that name, which is made unique
// ("encoder_1/"), while the variables' names are not. Inside a scope that reuses, so do all scopes within it.
// Thread safety: as building a graph; the scopes of a thread are its own.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/initializers.h"
#include "caudal/ops/variable.h"

namespace caudal::inline v0 {

// Whether get_variable makes variables (false), takes existing ones (true), or does whichever is possible (AUTO_REUSE).
enum class ReuseMode { kNo, kYes, kAuto };
inline constexpr ReuseMode AUTO_REUSE = ReuseMode::kAuto;
struct Reuse {
  constexpr Reuse(bool yes) : mode(yes ? ReuseMode::kYes : ReuseMode::kNo) {}  // NOLINT
  constexpr Reuse(ReuseMode mode) : mode(mode) {}                              // NOLINT
  ReuseMode mode;
};

// The penalty of a variable, a scalar; a default-made Output for none.
using Regularizer = std::function<Output(const Output& variable)>;

// How many pieces to cut a variable of this shape and type into, for each axis; 1 for all but one of them.
using Partitioner = std::function<std::vector<std::int64_t>(const Shape& shape, DType dtype)>;

struct VariableScopeOptions {
  std::string default_name;          // made unique, and used if the scope's name is empty
  Initializer initializer;           // for variables that bring none; default: of the outer scope
  Regularizer regularizer;           // likewise
  Partitioner partitioner;           // for get_partitioned_variable(); default: of the outer scope
  Reuse reuse = false;               // false: as the outer scope
  DType dtype = DType::kInvalid;     // default: of the outer scope, float32 at the top
  std::optional<bool> use_resource;  // default: of the outer scope, false at the top
};

// What is in force in a scope. A scope can be entered again with it, from anywhere.
struct VariableScopeInfo {
  std::string name;                 // "a/b", without the slash at the end
  std::string original_name_scope;  // "a_1/b/"
  Initializer initializer;
  Regularizer regularizer;
  Partitioner partitioner;
  ReuseMode reuse = ReuseMode::kNo;
  DType dtype = DType::kFloat;
  bool use_resource = false;
};

class CAUDAL_API VariableScope {
 public:
  // Within the current scope. Throws INVALID_ARGUMENT if there is neither a name nor a default name.
  explicit VariableScope(std::string_view name, const VariableScopeOptions& options = {});
  // Again a scope that was entered before, wherever we are; nodes go to a new name scope.
  explicit VariableScope(const VariableScopeInfo& scope, const VariableScopeOptions& options = {});
  ~VariableScope();
  VariableScope(const VariableScope&) = delete;
  VariableScope& operator=(const VariableScope&) = delete;

  const VariableScopeInfo& info() const { return info_; }
  const std::string& name() const { return info_.name; }
  // From now on get_variable takes existing variables in this scope.
  void reuse_variables();

 private:
  void enter(VariableScopeInfo info, const std::string& name_scope, const VariableScopeOptions& options);

  VariableScopeInfo info_;
  Graph* graph_;
  std::optional<NameScope> name_scope_;
  std::optional<std::map<std::string, int>> outer_counts_;  // put back after a scope that was entered again
};

// The scope in force in this thread for the default graph.
CAUDAL_API VariableScopeInfo get_variable_scope();

struct GetVariableOptions {
  PartialShape shape;             // fully known, unless the initialiser is a value
  DType dtype = DType::kInvalid;  // default: of the scope
  Initializer initializer;        // default: of the scope; else Glorot's uniform, zeros for integers and bool
  Regularizer regularizer;        // its result goes to the collection of regularization losses
  bool trainable = true;
  std::vector<std::string> collections = {std::string(graph_keys::kGlobalVariables)};
  bool validate_shape = true;
  std::optional<bool> use_resource;
  std::source_location where = std::source_location::current();
};
// The variable `name` of the current variable scope. Throws ALREADY_EXISTS if it exists and the scope does not reuse;
// NOT_FOUND if it does not exist and the scope only reuses; INVALID_ARGUMENT if it exists with another shape or type,
// or if the shape is not known. Makes whole variables, whatever the scope's partitioner.
CAUDAL_API Variable get_variable(std::string_view name, const GetVariableOptions& options = {});

}  // namespace caudal::inline v0
