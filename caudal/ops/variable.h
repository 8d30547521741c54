// Variables as programs see them.
//
//   auto w = tf::Variable(tf::zeros({784, 10}), {.name = "w"});
//   auto y = tf::matmul(x, w);                      // a Variable is an Output: its value
//   sess.run(tf::global_variables_initializer());
//   sess.run(w.assign_add(tf::ones({784, 10})));
//
// Making one adds TensorFlow's nodes: "w" (VariableV2), "w/Assign", "w/read", and "w/initial_value" where the initial
// value is a plain number or tensor. Ownership: a small handle, valid as long as its graph. Thread safety: as building
// a graph.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "caudal/autodiff/gradient.h"
#include "caudal/base/export.h"
#include "caudal/graph/builder.h"
#include "caudal/graph/collection.h"

namespace caudal::inline v0 {

struct VariableOptions {
  bool trainable = true;  // adds it to the collection of trainable variables
  std::vector<std::string> collections = {std::string(graph_keys::kGlobalVariables)};
  bool validate_shape = true;     // false: the shape stays unknown and assignments may change it
  std::string name;               // default "Variable"
  DType dtype = DType::kInvalid;  // of a bare number as initial value
  bool use_resource = false;      // VarHandleOp instead of VariableV2
  std::source_location where = std::source_location::current();
};

// Which part of a larger, partitioned variable a variable is (SaveSliceInfoDef).
struct CAUDAL_API VariableSlice {
  std::string full_name;  // of the whole; the key in checkpoints
  std::vector<std::int64_t> full_shape;
  std::vector<std::int64_t> offset, shape;  // by dimension
  // "10 4 0,5:0,4", as SaveV2 and RestoreV2 take it.
  std::string spec() const;
};

// As an Output it is the value: node(), dtype() and shape() are those of the read. handle() is the variable itself.
class CAUDAL_API Variable : public Output {
 public:
  // Makes the initial value where the variable wants its initialiser's nodes: under "name/Initializer/".
  using InitialValue = std::function<Output()>;
  // The parts of a variable, as files carry them (VariableDef).
  struct Parts {
    Output handle;          // of VariableV2 or VarHandleOp
    Operation initializer;  // Assign or AssignVariableOp
    Output snapshot;        // the read
    Output initial_value;   // may be none
    bool trainable = true;
    std::shared_ptr<const VariableSlice> slice = nullptr;  // null: a whole variable
    int synchronization = 0, aggregation = 0;              // TensorFlow's enumerations; kept for files
  };

  Variable() = default;
  // INVALID_ARGUMENT if the shape of the initial value is not known and validate_shape is true.
  explicit Variable(const Operand& initial_value, const VariableOptions& options = {});
  template <class Function>
    requires std::is_invocable_r_v<Output, const Function&>
  explicit Variable(const Function& initial_value, const VariableOptions& options = {}) {
    const InitialValue function(initial_value);
    make(nullptr, &function, options);
  }
  // For readers of files. Adds nothing to any collection.
  explicit Variable(const Parts& parts) : Output(parts.snapshot), parts_(parts) {}

  // "scope/w:0".
  std::string name() const { return parts_.handle.name(); }
  // "scope/w": the node, and the key in checkpoints.
  const std::string& op_name() const { return parts_.handle.node()->name(); }
  bool is_resource() const;
  bool trainable() const { return parts_.trainable; }
  // The reference or resource: what gradients are asked of and what updates take.
  const Output& handle() const { return parts_.handle; }
  const Operation& initializer() const { return parts_.initializer; }
  const Output& initial_value() const { return parts_.initial_value; }
  const Parts& parts() const { return parts_; }
  // Null for a whole variable.
  const VariableSlice* slice() const { return parts_.slice.get(); }
  // The value as it is when the step needs it; one node for all its users.
  Output value() const { return *this; }
  // A new read node: placed after a control dependency it sees what happened before.
  Output read_value(const OpOptions& options = {.name = "read", .where = std::source_location::current()}) const;

  // Updates; each runs when its result is run. The result is the value afterwards. The value must have the variable's
  // type and shape.
  Output assign(const Operand& value, const OpOptions& options = {}) const;
  Output assign_add(const Operand& delta, const OpOptions& options = {}) const;
  Output assign_sub(const Operand& delta, const OpOptions& options = {}) const;
  // The value before it is increased by one; OUT_OF_RANGE once it is `limit`. For int32 and int64 scalars.
  Output count_up_to(std::int64_t limit, const OpOptions& options = {}) const;
  // Scalar bool.
  Output is_initialized(const OpOptions& options = {}) const;

 private:
  void make(const Operand* operand, const InitialValue* function, const VariableOptions& options);
  // What an update of a resource returns: a read after it.
  Output read_after(const Operation& update, const OpOptions& options) const;

  Parts parts_;
};

CAUDAL_API Output assign(const Variable& ref, const Operand& value, const OpOptions& options = {});
CAUDAL_API Output assign_add(const Variable& ref, const Operand& value, const OpOptions& options = {});
CAUDAL_API Output assign_sub(const Variable& ref, const Operand& value, const OpOptions& options = {});
CAUDAL_API Output count_up_to(const Variable& ref, std::int64_t limit, const OpOptions& options = {});
CAUDAL_API Output is_variable_initialized(const Variable& variable, const OpOptions& options = {});

// Variables of the default graph in the order they were made; `scope` is a regular expression that the beginning of the
// name must match.
CAUDAL_API std::vector<Variable> global_variables(std::string_view scope = {});
CAUDAL_API std::vector<Variable> local_variables(std::string_view scope = {});
CAUDAL_API std::vector<Variable> trainable_variables(std::string_view scope = {});
CAUDAL_API std::vector<Variable> model_variables(std::string_view scope = {});
CAUDAL_API std::vector<Variable> moving_average_variables(std::string_view scope = {});
CAUDAL_API std::vector<Variable> variables_in_collection(Graph& graph, std::string_view key,
                                                         std::string_view scope = {});
CAUDAL_API void add_to_collection(std::string_view key, const Variable& variable);

// One node that initialises them all. Initialising again starts again.
CAUDAL_API Operation variables_initializer(const std::vector<Variable>& variables,
                                           const OpOptions& options = {.name = "init",
                                                                       .where = std::source_location::current()});
CAUDAL_API Operation global_variables_initializer(const OpOptions& options = {
                                                      .name = {}, .where = std::source_location::current()});
CAUDAL_API Operation local_variables_initializer(const OpOptions& options = {.name = {},
                                                                             .where = std::source_location::current()});

// String vector: names of those variables that have no value yet; of all global and local ones by default.
CAUDAL_API Output report_uninitialized_variables(const OpOptions& options = {});
CAUDAL_API Output report_uninitialized_variables(const std::vector<Variable>& variables, const OpOptions& options = {});

}  // namespace caudal::inline v0
