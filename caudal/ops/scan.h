// Running sums and products along an axis.
// Thread safety: as building a graph.
#pragma once

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0 {

struct ScanOptions {
  bool exclusive = false;  // element i is left out of the i-th result: the first is 0 (1)
  bool reverse = false;    // from the end
  std::string name;
  std::source_location where = std::source_location::current();
};
// Of the elements up to each one, along `axis` (a scalar; negative: from the end; outside the rank: INVALID_ARGUMENT).
// Same shape and type; number types.
CAUDAL_API Output cumsum(const Operand& x, const Operand& axis = 0, const ScanOptions& options = {});
CAUDAL_API Output cumprod(const Operand& x, const Operand& axis = 0, const ScanOptions& options = {});

}  // namespace caudal::inline v0
