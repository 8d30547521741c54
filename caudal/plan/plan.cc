#include "caudal/plan/plan.h"

#include <algorithm>

namespace caudal::inline v0 {
namespace {

PlanOptions without_fusion(PlanOptions options) {
  options.fuse = false;
  return options;
}

}  // namespace

Plan::Plan(PlanRequest request, const PlanOptions& options, Device& device, FunctionRuntime* functions)
    : request_(std::move(request)),
      options_(options),
      device_(device),
      functions_(functions),
      generic_(compile(request_, without_fusion(options_), device_, functions_)) {}

std::shared_ptr<const Program> Plan::program_for(std::span<const Tensor> feeds) {
  if (!options_.specialise || (feeds.empty() && !options_.fuse)) return generic_;
  std::lock_guard lock(mutex_);
  const auto same = [&](const Specialisation& s) {
    return std::ranges::equal(s.shapes, feeds, [](const Shape& a, const Tensor& b) { return a == b.shape(); });
  };
  auto found = std::ranges::find_if(specialisations_, same);
  if (found == specialisations_.end()) {
    if (specialisations_.size() >= kMaxSpecialisations) specialisations_.pop_back();
    Specialisation fresh;
    for (const Tensor& feed : feeds) fresh.shapes.push_back(feed.shape());
    specialisations_.push_front(std::move(fresh));
    found = specialisations_.begin();
  } else if (found != specialisations_.begin()) {
    specialisations_.splice(specialisations_.begin(), specialisations_, found);
  }
  if (found->program) return found->program;
  if (++found->seen < options_.specialise_after) return generic_;
  found->program = compile(request_, options_, device_, functions_, found->shapes);
  return found->program;
}

bool Plan::holds(const Program* program) const {
  if (program == generic_.get()) return true;
  std::lock_guard lock(mutex_);
  return std::ranges::any_of(specialisations_, [&](const auto& s) { return s.program.get() == program; });
}

std::size_t Plan::num_specialisations() const {
  std::lock_guard lock(mutex_);
  return std::ranges::count_if(specialisations_, [](const auto& s) { return s.program != nullptr; });
}

}  // namespace caudal::inline v0
