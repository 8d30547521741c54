// Optimisers: from a loss to one operation that updates the variables.
//
//   auto train_op = train::MomentumOptimizer({.learning_rate = 0.01, .momentum = 0.9}).minimize(loss);
//
// Update rules, slot names ("w/Momentum", "w/Adam", "w/Adam_1") and the places of epsilon are TensorFlow's
// (tf.compat.v1.train). An Optimizer only makes nodes; what lasts are variables, so it may go after minimize().
// Thread safety: as building a graph.
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

struct MinimizeOptions {
  Variable global_step = {};            // counted up after the update, if given
  std::vector<Variable> var_list = {};  // default: all trainable variables of the graph
  std::string name = {};                // of the operation; default: the optimiser's
  std::source_location where = std::source_location::current();
};

class CAUDAL_API Optimizer {
 public:
  virtual ~Optimizer();

  // Gradients and updates in one: apply_gradients(compute_gradients(loss)).
  // Throws INVALID_ARGUMENT if there is nothing to train, or if no variable has a gradient (naming them).
  Operation minimize(const Output& loss, const MinimizeOptions& options = {});
  std::vector<GradientAndVariable> compute_gradients(const Output& loss, const MinimizeOptions& options = {});
  // Pairs without a gradient are left out.
  Operation apply_gradients(const std::vector<GradientAndVariable>& pairs, const MinimizeOptions& options = {});

  const std::string& name() const { return name_; }
  std::vector<std::string> slot_names() const;
  // The slot of a variable; one that is none if there is no such slot yet.
  Variable slot(const Variable& variable, std::string_view slot_name) const;
  // Slots and what else the optimiser keeps (Adam's powers of beta), in the order they were made.
  const std::vector<Variable>& variables() const { return variables_; }

 protected:
  explicit Optimizer(std::string name) : name_(std::move(name)) {}

  // Makes the slots of all variables, then hyper-parameters as nodes; both inside the optimiser's name scope.
  virtual void create_slots(const std::vector<Variable>& variables) = 0;
  virtual void prepare() = 0;
  virtual Operation apply_dense(const Output& gradient, const Variable& variable) = 0;
  // Rows whose indices repeat have been summed. Default: UNIMPLEMENTED.
  virtual Operation apply_sparse(const IndexedSlices& gradient, const Variable& variable);
  // What runs after all updates of a step (Adam's powers), as one operation named `name`.
  virtual Operation finish(const std::vector<Operation>& updates, const std::string& name);

  // A slot of zeros (or of `initial` everywhere) in the variable's shape, named "<variable>/<op_name>".
  Variable zeros_slot(const Variable& variable, std::string_view slot_name, std::string_view op_name);
  Variable filled_slot(const Variable& variable, float initial, std::string_view slot_name, std::string_view op_name);
  void keep(const Variable& variable) { variables_.push_back(variable); }
  // "ApplyAdam" for reference variables, "ResourceApplyAdam" for resource ones.
  static std::string apply_op(std::string_view op, const Variable& variable);
  // A hyper-parameter as a constant named in the optimiser's scope, in the type of `variable`.
  static Output cast_to(const Output& value, const Variable& variable);

 private:
  std::string name_;
  std::map<std::string, std::map<std::string, Variable>, std::less<>> slots_;  // slot name -> variable -> slot
  std::vector<Variable> variables_;
};

struct GradientDescentOptions {
  Operand learning_rate = 0.01F;
  std::string name = "GradientDescent";
};
// var -= learning_rate * gradient.
class CAUDAL_API GradientDescentOptimizer final : public Optimizer {
 public:
  explicit GradientDescentOptimizer(const GradientDescentOptions& options = {});

 private:
  void create_slots(const std::vector<Variable>&) override {}
  void prepare() override;
  Operation apply_dense(const Output& gradient, const Variable& variable) override;
  Operation apply_sparse(const IndexedSlices& gradient, const Variable& variable) override;
  GradientDescentOptions options_;
  Output learning_rate_;
};

struct MomentumOptions {
  Operand learning_rate = 0.01F;
  Operand momentum = 0.9F;
  bool use_nesterov = false;
  std::string name = "Momentum";
};
// accum = momentum * accum + gradient; var -= learning_rate * accum (Nesterov: learning_rate * (gradient + momentum *
// accum)).
class CAUDAL_API MomentumOptimizer final : public Optimizer {
 public:
  explicit MomentumOptimizer(const MomentumOptions& options = {});

 private:
  void create_slots(const std::vector<Variable>& variables) override;
  void prepare() override;
  Operation apply_dense(const Output& gradient, const Variable& variable) override;
  MomentumOptions options_;
  Output learning_rate_, momentum_;
};

struct AdamOptions {
  Operand learning_rate = 0.001F;
  Operand beta1 = 0.9F;
  Operand beta2 = 0.999F;
  Operand epsilon = 1e-8F;
  std::string name = "Adam";
};
// Kingma and Ba 2014 (arXiv:1412.6980) in the form before its section 2.1's end, as TensorFlow has it ("epsilon hat"):
// lr_t = learning_rate * sqrt(1 - beta2^t) / (1 - beta1^t); var -= lr_t * m / (sqrt(v) + epsilon).
class CAUDAL_API AdamOptimizer final : public Optimizer {
 public:
  explicit AdamOptimizer(const AdamOptions& options = {});

 private:
  void create_slots(const std::vector<Variable>& variables) override;
  void prepare() override;
  Operation apply_dense(const Output& gradient, const Variable& variable) override;
  Operation finish(const std::vector<Operation>& updates, const std::string& name) override;
  AdamOptions options_;
  Variable beta1_power_, beta2_power_;
  Output learning_rate_, beta1_, beta2_, epsilon_;
};

}  // namespace caudal::inline v0::train
