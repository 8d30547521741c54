// Sparse tensors: a few values and where they stand.
//
// A SparseTensor is three outputs, as in TensorFlow: it can be fetched, fed and differentiated through its values.
//
// Thread safety: as building a graph.
#pragma once

#include "caudal/graph/builder.h"

namespace caudal::inline v0 {

struct SparseTensor {
  Output indices;      // int64 [n, rank]: most ops want them sorted, row by row
  Output values;       // [n], any type
  Output dense_shape;  // int64 [rank]
};

}  // namespace caudal::inline v0
