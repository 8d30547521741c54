#include "caudal/core/node_state.h"

#include "caudal/base/error.h"

namespace caudal::inline v0 {

NodeState::~NodeState() = default;

NodeState& NodeStates::get(const NodeInfo& node) {
  std::lock_guard lock(mutex_);
  if (const auto found = states_.find(node.name); found != states_.end()) return *found->second;
  if (node.op->spec->state == nullptr) throw internal_error("op ", node.type(), " has no node state");
  auto state = node.op->spec->state(node);
  if (const auto saved = pending_.find(node.name); saved != pending_.end()) {
    state->restore(saved->second);  // if it throws, the bytes stay for whoever looks into the damage
    pending_.erase(saved);
  }
  return *states_.emplace(node.name, std::move(state)).first->second;
}

std::map<std::string, std::string> NodeStates::save() const {
  std::lock_guard lock(mutex_);
  std::map<std::string, std::string> saved = pending_;
  for (const auto& [name, state] : states_) saved[name] = state->save();
  return saved;
}

void NodeStates::restore(const std::map<std::string, std::string>& states) {
  std::lock_guard lock(mutex_);
  for (const auto& [name, bytes] : states) {
    if (const auto found = states_.find(name); found != states_.end()) {
      found->second->restore(bytes);
    } else {
      pending_[name] = bytes;
    }
  }
}

}  // namespace caudal::inline v0
