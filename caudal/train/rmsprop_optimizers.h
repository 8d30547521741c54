// RMSProp and Adadelta: steps in proportion to decaying means of squares. How they are used: optimizer_base.h.
#pragma once

#include <string>

#include "caudal/train/optimizer_base.h"

namespace caudal::inline v0::train {

struct RMSPropOptions {
  Operand learning_rate = 0.001F;  // TensorFlow has no default
  Operand decay = 0.9F;
  Operand momentum = 0.0F;
  Operand epsilon = 1e-10F;
  bool use_locking = false;
  bool centered = false;  // divides by the variance in place of the mean square
  std::string name = "RMSProp";
};
// rms = decay * rms + (1 - decay) * gradient^2, from 1; mom = momentum * mom + learning_rate * gradient / sqrt(rms +
// epsilon); var -= mom. Centered: mg, the decaying mean of the gradient, is squared and taken off rms. Slots "rms",
// "mg" (centered), "momentum". Hinton, Coursera lecture 6e.
class CAUDAL_API RMSPropOptimizer final : public Optimizer {
 public:
  explicit RMSPropOptimizer(const RMSPropOptions& options = {});

 private:
  void create_slots(const std::vector<Variable>& variables) override;
  void prepare() override;
  Operation apply_dense(const Output& gradient, const Variable& variable) override;
  Operation apply_sparse(const IndexedSlices& gradient, const Variable& variable) override;
  RMSPropOptions options_;
};

struct AdadeltaOptions {
  Operand learning_rate = 0.001F;  // 1 in the paper
  Operand rho = 0.95F;
  Operand epsilon = 1e-8F;
  bool use_locking = false;
  std::string name = "Adadelta";
};
// Zeiler 2012 (arXiv:1212.5701): steps scaled by the decaying means of the squares of steps ("accum_update") and
// gradients ("accum").
class CAUDAL_API AdadeltaOptimizer final : public Optimizer {
 public:
  explicit AdadeltaOptimizer(const AdadeltaOptions& options = {});

 private:
  void create_slots(const std::vector<Variable>& variables) override;
  void prepare() override;
  Operation apply_dense(const Output& gradient, const Variable& variable) override;
  Operation apply_sparse(const IndexedSlices& gradient, const Variable& variable) override;
  AdadeltaOptions options_;
};

}  // namespace caudal::inline v0::train
