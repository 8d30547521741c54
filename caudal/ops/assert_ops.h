// Assertions in graphs.
//
// Thread safety: as building a graph.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0 {

struct AssertOptions {
  std::int64_t summarize = 3;  // so many elements of each tensor are shown; -1: all
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// Fails the step with INVALID_ARGUMENT "assertion failed: " and `data` (texts and tensors), unless the scalar bool
// `condition` is true. Runs if it is run, or if something depends on it (ControlDependencies).
CAUDAL_API Operation Assert(const Operand& condition, const std::vector<Operand>& data,
                            const AssertOptions& options = {});

}  // namespace caudal::inline v0
