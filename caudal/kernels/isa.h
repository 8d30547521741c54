// The instruction set that kernels use, with a cap that tests lower.
#pragma once

#include "caudal/base/cpu.h"

namespace caudal::inline v0::kernels {

// best_isa(), or the lowest live IsaCap if that is less. Thread safe.
Isa kernel_isa();

// While it lives, kernels looked up or run use at most `isa`. Caps nest; meant for tests, in one thread.
class IsaCap {
 public:
  explicit IsaCap(Isa isa);
  ~IsaCap();
  IsaCap(const IsaCap&) = delete;
  IsaCap& operator=(const IsaCap&) = delete;

 private:
  Isa before_;
};

}  // namespace caudal::inline v0::kernels
