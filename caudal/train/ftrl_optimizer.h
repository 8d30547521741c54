// FTRL-Proximal. How it is used: optimizer_base.h.
#pragma once

#include <string>

#include "caudal/train/optimizer_base.h"

namespace caudal::inline v0::train {

struct FtrlOptions {
  Operand learning_rate = 0.01F;
  float learning_rate_power = -0.5F;        // not positive; 0: a fixed rate
  float initial_accumulator_value = 0.1F;   // not negative
  float l1_regularization_strength = 0.0F;  // not negative, as the two below
  float l2_regularization_strength = 0.0F;
  bool use_locking = false;
  std::string name = "Ftrl";
  std::string accum_name = {};  // of the slot; default: name
  std::string linear_name = {};
  float l2_shrinkage_regularization_strength = 0.0F;
  float beta = 0.0F;  // of the paper's learning rate
};
// Follow the regularised leader: McMahan et al. 2013, for sparse models: l1 makes weights exactly 0. Slots "accum" and
// "linear". Throws INVALID_ARGUMENT for values out of their ranges.
class CAUDAL_API FtrlOptimizer final : public Optimizer {
 public:
  explicit FtrlOptimizer(const FtrlOptions& options = {});

 private:
  void create_slots(const std::vector<Variable>& variables) override;
  void prepare() override;
  Operation apply_dense(const Output& gradient, const Variable& variable) override;
  Operation apply_sparse(const IndexedSlices& gradient, const Variable& variable) override;
  FtrlOptions options_;
};

}  // namespace caudal::inline v0::train
