// What all optimisers are: from a loss to one operation that updates the variables.
//
// An Optimizer only makes nodes; what lasts are variables, so it may go after minimize(). The optimisers themselves:
// optimizer.h. Thread safety: as building a graph.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "caudal/autodiff/gradient.h"
#include "caudal/base/export.h"
#include "caudal/ops/variable.h"

namespace caudal::inline v0::train {

struct GradientAndVariable {
  Gradient gradient;  // none where the loss does not depend on the variable
  Variable variable;
};

// Which gradients must be there before the first is used. A variable's value is never torn by an update here, so kNone
// and kOp make the same nodes.
enum class GateGradients { kNone, kOp, kGraph };

struct MinimizeOptions {
  Variable global_step = {};            // counted up after the update, if given
  std::vector<Variable> var_list = {};  // default: all trainable variables of the graph
  GateGradients gate_gradients = GateGradients::kOp;
  std::string name = {};  // of the operation; default: the optimiser's
  Output grad_loss = {};  // the gradient of the loss, of its shape and type; default: ones
  std::source_location where = std::source_location::current();
};

class CAUDAL_API Optimizer {
 public:
  virtual ~Optimizer();

  // Gradients and updates in one: apply_gradients(compute_gradients(loss)).
  // Throws INVALID_ARGUMENT if there is nothing to train, if the loss is of no floating type, or if no variable has a
  // gradient (naming them).
  Operation minimize(const Output& loss, const MinimizeOptions& options = {});
  std::vector<GradientAndVariable> compute_gradients(const Output& loss, const MinimizeOptions& options = {});
  // Pairs without a gradient are left out. Sparse gradients stay so: rows that they do not name are not touched where
  // the rule allows that (TensorFlow's Adam decays all of its means).
  Operation apply_gradients(const std::vector<GradientAndVariable>& pairs, const MinimizeOptions& options = {});

  const std::string& name() const { return name_; }
  std::vector<std::string> slot_names() const;
  // The slot of a variable; one that is none if there is no such slot yet.
  Variable slot(const Variable& variable, std::string_view slot_name) const;
  // Slots and what else the optimiser keeps (Adam's powers of beta), in the order they were made.
  const std::vector<Variable>& variables() const { return variables_; }

 protected:
  Optimizer(std::string name, bool use_locking) : name_(std::move(name)), use_locking_(use_locking) {}

  // Makes the slots of all variables, then hyper-parameters as nodes; the latter inside the optimiser's name scope.
  virtual void create_slots(const std::vector<Variable>&) {}
  virtual void prepare() = 0;
  virtual Operation apply_dense(const Output& gradient, const Variable& variable) = 0;
  virtual Operation apply_sparse(const IndexedSlices& gradient, const Variable& variable) = 0;
  // Rows may repeat. Default: adds them up, then apply_sparse().
  virtual Operation apply_sparse_duplicates(const IndexedSlices& gradient, const Variable& variable);
  // What runs after all updates of a step (Adam's powers), as one operation named `name`.
  virtual Operation finish(const std::vector<Operation>& updates, const std::string& name);

  // A slot of zeros (or of `initial` everywhere) in the variable's shape, named "<variable>/<op_name>"; slot_creator.h.
  void zeros_slot(const Variable& variable, std::string_view slot_name, std::string_view op_name);
  void filled_slot(const Variable& variable, float initial, std::string_view slot_name, std::string_view op_name);
  // A scalar of its own, made once: a resource if `beside` is one.
  Variable make_scalar(const Operand& initial, const std::string& name, const Variable& beside);

  // For prepare(): a hyper-parameter as a node of that name; a plain number becomes a float32.
  void set_hyper(const char* name, const Operand& value);
  // The same, cast to the variable's type, or as it is.
  Output hyper(std::string_view name, const Variable& variable) const;
  const Output& hyper(std::string_view name) const;

  // Throws INVALID_ARGUMENT naming the argument.
  void require(bool fits, const char* argument, double value, const char* must) const;
  bool use_locking() const { return use_locking_; }
  static Output cast_to(const Output& value, const Variable& variable);

 private:
  Operation update(const GradientAndVariable& pair);

  std::string name_;
  bool use_locking_;
  std::map<std::string, std::map<std::string, Variable>, std::less<>> slots_;  // slot name -> variable -> slot
  std::vector<Variable> variables_;
  std::map<std::string, Output, std::less<>> hypers_;
};

}  // namespace caudal::inline v0::train
