// Positions and dimensions under another numbering.
//
// Errors: INVALID_ARGUMENT for shapes that do not fit and for positions outside. Thread safety: as building a graph.
#pragma once

#include <string>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0 {

// The coordinates in a tensor of shape `dims` (vector) of positions in its flat order: for a scalar [rank], for a
// vector [rank, positions]. int32 or int64, both of one type.
CAUDAL_API Output unravel_index(const Operand& indices, const Operand& dims, const OpOptions& options = {});

namespace raw_ops {

// Numbers of dimensions (negative ones count from the end) in src_format, as they are in dst_format.
CAUDAL_API Output data_format_dim_map(const Operand& x, const std::string& src_format = "NHWC",
                                      const std::string& dst_format = "NCHW", const OpOptions& options = {});
// A vector with an entry for each dimension (or each of D, H, W), or such a matrix with two columns: in the order of
// dst_format.
CAUDAL_API Output data_format_vec_permute(const Operand& x, const std::string& src_format = "NHWC",
                                          const std::string& dst_format = "NCHW", const OpOptions& options = {});

}  // namespace raw_ops
}  // namespace caudal::inline v0
