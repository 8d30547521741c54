// State of stateful nodes other than variables: random counters, shuffle positions, iterators.
//
// Owned by the session (inside a function body: by the instantiation), never by a plan, so that two plans which both
// hold a node share its state. A state saves and restores itself: a checkpoint's sidecar file carries them all, which
// is what makes a resumed run equal to an uninterrupted one. Implementations lock: concurrent runs share them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "caudal/base/export.h"
#include "caudal/core/node_info.h"

namespace caudal::inline v0 {

class CAUDAL_API NodeState {
 public:
  virtual ~NodeState();
  // Bytes that restore() of the same kind of state understands.
  virtual std::string save() const = 0;
  // Throws DATA_LOSS if the bytes are not such.
  virtual void restore(std::string_view bytes) = 0;
};

// The states of one session, by node name. Thread-safe.
class CAUDAL_API NodeStates {
 public:
  // The state of `node`, made by its op's StateFn on first use (or from what restore() brought).
  NodeState& get(const NodeInfo& node);
  // The states of one instantiation of a function; saved and restored as part of these under "scope/name".
  NodeStates& child(std::string_view scope);
  // Name -> saved bytes of all states, including those restored and not yet used.
  std::map<std::string, std::string> save() const;
  // Sets existing states at once and keeps the others for the nodes that will ask.
  void restore(const std::map<std::string, std::string>& states);

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::unique_ptr<NodeState>, std::less<>> states_;
  std::map<std::string, std::unique_ptr<NodeStates>, std::less<>> children_;
  std::map<std::string, std::string> pending_;
};

}  // namespace caudal::inline v0
