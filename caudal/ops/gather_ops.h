// Rows and elements by index.
//
// Thread safety: as building a graph.
#pragma once

#include <source_location>
#include <string>

#include "caudal/graph/builder.h"

namespace caudal::inline v0 {

struct GatherOptions {
  Operand axis = 0;  // scalar, int32 or int64; negative from the end
  int batch_dims = 0;
  std::string name = {};
  std::source_location where = std::source_location::current();
};

// The slices of `params` along `axis` that `indices` (int16, int32 or int64, any shape) name: shape params[:axis] +
// indices[batch_dims:] + params[axis + 1:]. The first batch_dims dimensions of both go together. Run time error:
// INVALID_ARGUMENT for an index outside [0, size). The gradient of axis 0 is sparse.
CAUDAL_API Output gather(const Operand& params, const Operand& indices, const GatherOptions& options = {});

// indices [..., k] name elements (k = rank) or slices of `params`: shape indices[:-1] + params[k:].
CAUDAL_API Output gather_nd(const Operand& params, const Operand& indices, const OpOptions& options = {});
// Zeros of shape `shape` with `updates` added at the places of indices [..., k]; repeated ones add up.
CAUDAL_API Output scatter_nd(const Operand& indices, const Operand& updates, const Operand& shape,
                             const OpOptions& options = {});

struct OneHotOptions {
  Operand on_value = 1.0;
  Operand off_value = 0.0;
  int axis = -1;
  DType dtype = DType::kInvalid;  // default: of on_value, float32 for bare numbers
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// on_value at the position along a new dimension of size `depth` that the index names, off_value elsewhere (everywhere
// for an index outside [0, depth)).
CAUDAL_API Output one_hot(const Operand& indices, const Operand& depth, const OneHotOptions& options = {});

}  // namespace caudal::inline v0
