// Adam and its relatives. How they are used: optimizer_base.h.
#pragma once

#include <string>

#include "caudal/train/optimizer_base.h"

namespace caudal::inline v0::train {

struct AdamOptions {
  Operand learning_rate = 0.001F;
  Operand beta1 = 0.9F;
  Operand beta2 = 0.999F;
  Operand epsilon = 1e-8F;
  bool use_locking = false;
  std::string name = "Adam";
};

// What the three share: slots "m" and "v", scalars beta1_power and (not AdaMax) beta2_power.
class CAUDAL_API AdamFamilyOptimizer : public Optimizer {
 protected:
  AdamFamilyOptimizer(const AdamOptions& options, bool has_beta2_power);

  void create_slots(const std::vector<Variable>& variables) override;
  void prepare() override;
  Operation finish(const std::vector<Operation>& updates, const std::string& name) override;

  // m and v decayed as a whole, with the gradient's rows added: their values after that.
  struct Moments {
    Output m, v;
  };
  Moments decay_moments(const IndexedSlices& gradient, const Variable& variable) const;
  // learning_rate * sqrt(1 - beta2_power) / (1 - beta1_power).
  Output corrected_rate(const Variable& variable) const;
  const Variable& beta1_power() const { return beta1_power_; }
  const Variable& beta2_power() const { return beta2_power_; }

 private:
  AdamOptions options_;
  bool has_beta2_power_;
  Variable beta1_power_, beta2_power_;
};

// Kingma and Ba 2014 (arXiv:1412.6980) in the form before its section 2.1's end, as TensorFlow has it ("epsilon hat"):
// lr_t = learning_rate * sqrt(1 - beta2^t) / (1 - beta1^t); var -= lr_t * m / (sqrt(v) + epsilon). A sparse gradient
// counts as 0 in the rows that it does not name: all rows move.
class CAUDAL_API AdamOptimizer final : public AdamFamilyOptimizer {
 public:
  explicit AdamOptimizer(const AdamOptions& options = {});

 private:
  Operation apply_dense(const Output& gradient, const Variable& variable) override;
  Operation apply_sparse(const IndexedSlices& gradient, const Variable& variable) override;
};

struct NadamOptions {
  Operand learning_rate = 0.001F;
  Operand beta1 = 0.9F;
  Operand beta2 = 0.999F;
  Operand epsilon = 1e-8F;
  bool use_locking = false;
  std::string name = "Nadam";
};
// Adam with Nesterov's momentum, as tf.contrib.opt.NadamOptimizer: var -= lr_t * (beta1 * m + (1 - beta1) * gradient) /
// (sqrt(v) + epsilon). Of a sparse gradient only the rows that it names move.
class CAUDAL_API NadamOptimizer final : public AdamFamilyOptimizer {
 public:
  explicit NadamOptimizer(const NadamOptions& options = {});

 private:
  Operation apply_dense(const Output& gradient, const Variable& variable) override;
  Operation apply_sparse(const IndexedSlices& gradient, const Variable& variable) override;
};

struct AdaMaxOptions {
  Operand learning_rate = 0.001F;
  Operand beta1 = 0.9F;
  Operand beta2 = 0.999F;
  Operand epsilon = 1e-8F;
  bool use_locking = false;
  std::string name = "AdaMax";
};
// Kingma and Ba 2014, section 7, as tf.contrib.opt.AdaMaxOptimizer: v = max(beta2 * v, |gradient|);
// var -= learning_rate / (1 - beta1^t) * m / (v + epsilon). Sparse: only the rows that the gradient names.
class CAUDAL_API AdaMaxOptimizer final : public AdamFamilyOptimizer {
 public:
  explicit AdaMaxOptimizer(const AdaMaxOptions& options = {});

 private:
  Operation apply_dense(const Output& gradient, const Variable& variable) override;
  Operation apply_sparse(const IndexedSlices& gradient, const Variable& variable) override;
};

}  // namespace caudal::inline v0::train
