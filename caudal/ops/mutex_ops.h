// Mutexes of a graph: what critical sections are made of.
//
//   Output lock = tf::raw_ops::mutex_lock(tf::raw_ops::mutex_v2());
//   ... nodes that depend on the lock run while nobody else has it ...
//   Operation unlocked = tf::raw_ops::consume_mutex_lock(lock);      // after them
//
// A lock is a value: the mutex is free again when it is consumed or nobody holds it any more. Whoever locks waits
// without blocking a thread. Thread safety: as building a graph.
#pragma once

#include <string>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0::raw_ops {

struct MutexOptions {
  std::string container;    // default: the session's own
  std::string shared_name;  // default: the node's own mutex
  std::string name;
  std::source_location where = std::source_location::current();
};
// The handle of a mutex.
CAUDAL_API Output mutex_v2(const MutexOptions& options = {});
// Waits until the mutex is free and takes it. Result: the lock, a variant. CANCELLED if the step ends before.
CAUDAL_API Output mutex_lock(const Output& mutex, const OpOptions& options = {});
// Gives the lock up. INVALID_ARGUMENT, when run, if it is no lock or somebody else holds it too.
CAUDAL_API Operation consume_mutex_lock(const Output& lock, const OpOptions& options = {});

}  // namespace caudal::inline v0::raw_ops
