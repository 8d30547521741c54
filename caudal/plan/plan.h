// A Plan: what a session keeps for one (graph version, feeds, fetches, targets), with its specialisations.
//
// The generic program serves any feed shapes and runs node by node. Feed shapes seen `specialise_after` times get a
// program of their own, with static shapes, an arena and fused steps; so does a plan without feeds. Thread-safe;
// programs stay alive while somebody runs them.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/plan/program.h"

namespace caudal::inline v0 {

class CAUDAL_API Plan {
 public:
  static constexpr std::size_t kMaxSpecialisations = 16;

  // `functions` may be null: what the graph's kernels call.
  Plan(PlanRequest request, const PlanOptions& options, Device& device, FunctionRuntime* functions = nullptr);

  const PlanRequest& request() const { return request_; }
  // The program for these feeds, by position; compiles it if the shapes have come often enough.
  std::shared_ptr<const Program> program_for(std::span<const Tensor> feeds);
  // The program for any feeds, one step for each node.
  const std::shared_ptr<const Program>& generic() const { return generic_; }
  // True if program_for() may give this program again.
  bool holds(const Program* program) const;
  // For tools and tests: how many specialised programs there are now.
  std::size_t num_specialisations() const;

 private:
  struct Specialisation {
    std::vector<Shape> shapes;
    int seen = 0;
    std::shared_ptr<const Program> program;
  };

  PlanRequest request_;
  PlanOptions options_;
  Device& device_;
  FunctionRuntime* functions_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Program> generic_;
  std::list<Specialisation> specialisations_;  // most recently used first
};

}  // namespace caudal::inline v0
