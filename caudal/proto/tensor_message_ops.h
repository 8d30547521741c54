// Tensors as bytes and back: TensorProto in the graph.
//
// Thread safety: as building a graph.
#pragma once

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0::io {

// A string scalar with the tensor as a TensorProto: its type, shape and elements.
CAUDAL_API Output serialize_tensor(const Operand& tensor, const OpOptions& options = {});

// The tensor of a string scalar that serialize_tensor made. INVALID_ARGUMENT, at run time, for other bytes and for a
// tensor of another type than `out_type`; RESOURCE_EXHAUSTED for a few bytes that ask for more than 2 GiB.
CAUDAL_API Output parse_tensor(const Operand& serialized, DType out_type, const OpOptions& options = {});

}  // namespace caudal::inline v0::io
