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

namespace {

// The states of `all` under "scope/", without that prefix.
std::map<std::string, std::string> below(const std::map<std::string, std::string>& all, std::string_view scope) {
  std::map<std::string, std::string> found;
  const std::string prefix = std::string(scope) + "/";
  for (auto state = all.lower_bound(prefix); state != all.end() && state->first.starts_with(prefix); ++state) {
    found[state->first.substr(prefix.size())] = state->second;
  }
  return found;
}

}  // namespace

NodeStates& NodeStates::child(std::string_view scope) {
  std::lock_guard lock(mutex_);
  if (const auto found = children_.find(scope); found != children_.end()) return *found->second;
  auto child = std::make_unique<NodeStates>();
  const auto pending = below(pending_, scope);
  child->restore(pending);
  for (const auto& [name, bytes] : pending) pending_.erase(std::string(scope) + "/" + name);
  return *children_.emplace(scope, std::move(child)).first->second;
}

std::map<std::string, std::string> NodeStates::save() const {
  std::lock_guard lock(mutex_);
  std::map<std::string, std::string> saved = pending_;
  for (const auto& [name, state] : states_) saved[name] = state->save();
  for (const auto& [scope, child] : children_) {
    for (auto& [name, bytes] : child->save()) saved[scope + "/" + name] = std::move(bytes);
  }
  return saved;
}

void NodeStates::restore(const std::map<std::string, std::string>& states) {
  std::lock_guard lock(mutex_);
  std::map<std::string, std::string> mine = states;
  for (const auto& [scope, child] : children_) {
    const auto theirs = below(mine, scope);
    child->restore(theirs);
    for (const auto& [name, bytes] : theirs) mine.erase(scope + "/" + name);
  }
  for (const auto& [name, bytes] : mine) {
    if (const auto found = states_.find(name); found != states_.end()) {
      found->second->restore(bytes);
    } else {
      pending_[name] = bytes;
    }
  }
}

}  // namespace caudal::inline v0
