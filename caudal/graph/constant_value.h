// What is known of values before anything runs: constants, and integer vectors made of known sizes.
#pragma once

#include "caudal/base/export.h"
#include "caudal/graph/node.h"

namespace caudal::inline v0 {

// The value of a Const (also behind Identity), else null. The tensor belongs to the node.
CAUDAL_API const Tensor* constant_value(const Output& output);

// An integer vector read as a shape as far as it is known: Const, Shape, Pack, ConcatV2, Cast, Identity and
// StridedSlice of such. Unknown rank if nothing is known.
CAUDAL_API PartialShape constant_value_as_shape(const Output& output);

}  // namespace caudal::inline v0
