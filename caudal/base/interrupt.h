// Ctrl-C as a flag: a long loop asks between steps whether it should stop, and saves first.
//
//   InterruptScope scope;                 // in the command, not in the library's loops
//   while (step < last && !scope.interrupted()) train_step();
//
// While a scope lives, the first SIGINT or SIGTERM sets the flag; a second one ends the process as usual. Scopes nest;
// the last one gone restores the former handlers. Thread safety: interrupted() anywhere, scopes in one thread at a
// time.
#pragma once

#include "caudal/base/export.h"

namespace caudal::inline v0 {

class CAUDAL_API InterruptScope {
 public:
  InterruptScope();
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

  bool interrupted() const;
};

}  // namespace caudal::inline v0
