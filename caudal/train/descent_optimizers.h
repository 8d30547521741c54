// Gradient descent, plain, with momentum and with penalties. How they are used: optimizer_base.h.
#pragma once

#include <string>

#include "caudal/train/optimizer_base.h"

namespace caudal::inline v0::train {

struct GradientDescentOptions {
  Operand learning_rate = 0.01F;
  bool use_locking = false;
  std::string name = "GradientDescent";
};
// var -= learning_rate * gradient.
class CAUDAL_API GradientDescentOptimizer final : public Optimizer {
 public:
  explicit GradientDescentOptimizer(const GradientDescentOptions& options = {});

 private:
  void prepare() override;
  Operation apply_dense(const Output& gradient, const Variable& variable) override;
  Operation apply_sparse(const IndexedSlices& gradient, const Variable& variable) override;
  Operation apply_sparse_duplicates(const IndexedSlices& gradient, const Variable& variable) override;
  GradientDescentOptions options_;
};

struct MomentumOptions {
  Operand learning_rate = 0.01F;
  Operand momentum = 0.9F;
  bool use_locking = false;
  std::string name = "Momentum";
  bool use_nesterov = false;
};
// accum = momentum * accum + gradient; var -= learning_rate * accum (Nesterov: learning_rate * (gradient + momentum *
// accum)). Slot "momentum": accum. Sparse: only the rows that the gradient names.
class CAUDAL_API MomentumOptimizer final : public Optimizer {
 public:
  explicit MomentumOptimizer(const MomentumOptions& options = {});

 private:
  void create_slots(const std::vector<Variable>& variables) override;
  void prepare() override;
  Operation apply_dense(const Output& gradient, const Variable& variable) override;
  Operation apply_sparse(const IndexedSlices& gradient, const Variable& variable) override;
  MomentumOptions options_;
};

struct ProximalGradientDescentOptions {
  Operand learning_rate = 0.01F;
  Operand l1_regularization_strength = 0.0F;
  Operand l2_regularization_strength = 0.0F;
  bool use_locking = false;
  std::string name = "ProximalGradientDescent";
};
// Gradient descent, then the step towards 0 that the penalties ask for: Duchi and Singer 2009, FOBOS. With l1, weights
// become exactly 0.
class CAUDAL_API ProximalGradientDescentOptimizer final : public Optimizer {
 public:
  explicit ProximalGradientDescentOptimizer(const ProximalGradientDescentOptions& options = {});

 private:
  void prepare() override;
  Operation apply_dense(const Output& gradient, const Variable& variable) override;
  Operation apply_sparse(const IndexedSlices& gradient, const Variable& variable) override;
  ProximalGradientDescentOptions options_;
};

}  // namespace caudal::inline v0::train
