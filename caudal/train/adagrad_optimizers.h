// Adagrad, its dual averaging and its proximal form. How they are used: optimizer_base.h. Throw INVALID_ARGUMENT for a
// start value that is not positive.
#pragma once

#include <string>

#include "caudal/train/optimizer_base.h"

namespace caudal::inline v0::train {

struct AdagradOptions {
  Operand learning_rate = 0.01F;
  float initial_accumulator_value = 0.1F;  // positive
  bool use_locking = false;
  std::string name = "Adagrad";
};
// Duchi et al. 2011: accum += gradient^2; var -= learning_rate * gradient / sqrt(accum). Slot "accumulator".
class CAUDAL_API AdagradOptimizer final : public Optimizer {
 public:
  explicit AdagradOptimizer(const AdagradOptions& options = {});

 private:
  void create_slots(const std::vector<Variable>& variables) override;
  void prepare() override;
  Operation apply_dense(const Output& gradient, const Variable& variable) override;
  Operation apply_sparse(const IndexedSlices& gradient, const Variable& variable) override;
  AdagradOptions options_;
};

struct AdagradDAOptions {
  Operand learning_rate = 0.01F;
  Variable global_step = {};                                // required; int64, counted from 0
  float initial_gradient_squared_accumulator_value = 0.1F;  // positive
  Operand l1_regularization_strength = 0.0F;
  Operand l2_regularization_strength = 0.0F;
  bool use_locking = false;
  std::string name = "AdagradDA";
};
// Dual averaging: the weights follow from the sums of all gradients and of their squares. Slots "gradient_accumulator",
// "gradient_squared_accumulator". Give minimize() the same global_step.
class CAUDAL_API AdagradDAOptimizer final : public Optimizer {
 public:
  explicit AdagradDAOptimizer(const AdagradDAOptions& options = {});

 private:
  void create_slots(const std::vector<Variable>& variables) override;
  void prepare() override;
  Operation apply_dense(const Output& gradient, const Variable& variable) override;
  Operation apply_sparse(const IndexedSlices& gradient, const Variable& variable) override;
  Output step_;
  AdagradDAOptions options_;
};

struct ProximalAdagradOptions {
  Operand learning_rate = 0.01F;
  float initial_accumulator_value = 0.1F;  // positive
  Operand l1_regularization_strength = 0.0F;
  Operand l2_regularization_strength = 0.0F;
  bool use_locking = false;
  std::string name = "ProximalAdagrad";
};
// Adagrad with the proximal step of ProximalGradientDescentOptimizer. Slot "accumulator".
class CAUDAL_API ProximalAdagradOptimizer final : public Optimizer {
 public:
  explicit ProximalAdagradOptimizer(const ProximalAdagradOptions& options = {});

 private:
  void create_slots(const std::vector<Variable>& variables) override;
  void prepare() override;
  Operation apply_dense(const Output& gradient, const Variable& variable) override;
  Operation apply_sparse(const IndexedSlices& gradient, const Variable& variable) override;
  ProximalAdagradOptions options_;
};

}  // namespace caudal::inline v0::train
