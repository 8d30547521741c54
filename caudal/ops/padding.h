// Tensors with a border.
//
// Thread safety: as building a graph.
#pragma once

#include <source_location>
#include <string>

#include "caudal/graph/builder.h"

namespace caudal::inline v0 {

enum class PadMode {
  kConstant,
  kReflect,    // mirrored without the border element: [1 2 3] by 2 is [3 2 1 2 3 2 1]
  kSymmetric,  // mirrored with it: [2 1 1 2 3 3 2]
};

struct PadOptions {
  PadMode mode = PadMode::kConstant;
  Operand constant_values = 0;  // scalar, for kConstant
  std::string name = {};
  std::source_location where = std::source_location::current();
};

// `tensor` with paddings[i][0] elements more before and paddings[i][1] after dimension i. paddings: int32 or int64
// [rank, 2]. INVALID_ARGUMENT for negative ones, and for mirrored ones wider than the dimension (kReflect: than it less
// one).
CAUDAL_API Output pad(const Operand& tensor, const Operand& paddings, const PadOptions& options = {});

}  // namespace caudal::inline v0
