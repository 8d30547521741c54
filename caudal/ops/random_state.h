// The state of a stateful random op: where its stream stands. Saved as 24 bytes, little-endian: counter, key.
//
// Thread safety: concurrent executions reserve disjoint stretches of the stream.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "caudal/base/philox.h"
#include "caudal/core/node_state.h"

namespace caudal::inline v0 {

class RandomState final : public NodeState {
 public:
  RandomState(std::uint64_t seed, std::uint64_t seed2) : philox_(seed, seed2) {}

  PhiloxState& philox() { return philox_; }
  std::string save() const override;
  void restore(std::string_view bytes) override;

 private:
  PhiloxState philox_;
};

// StateFn of ops with attributes `seed` and `seed2`; both zero draw a seed from the system.
std::unique_ptr<NodeState> make_random_state(const NodeInfo& node);

}  // namespace caudal::inline v0
