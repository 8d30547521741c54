#include "caudal/kernels/isa.h"

#include <algorithm>
#include <atomic>

namespace caudal::inline v0::kernels {
namespace {

std::atomic<Isa>& current() {
  static std::atomic<Isa> isa{best_isa()};
  return isa;
}

}  // namespace

Isa kernel_isa() { return current().load(std::memory_order_relaxed); }

IsaCap::IsaCap(Isa isa) : before_(kernel_isa()) { current().store(std::min(before_, isa), std::memory_order_relaxed); }
IsaCap::~IsaCap() { current().store(before_, std::memory_order_relaxed); }

}  // namespace caudal::inline v0::kernels
