// Changing the element type: by value (cast) or by bytes (bitcast).
// Thread safety: as building a graph.
#pragma once

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0 {

// x as `dtype`, of the same shape; x itself, without a node, if it has that type. Any numbers and bool. Floating to
// integer drops the fraction; a value that does not fit gives what an x86 processor gives (the least integer, or its
// low bits for types below 32 bits); between integers the low bits stay. Complex to real drops the imaginary part. To
// bool: not 0. Gradient: the gradient cast back, among floating and complex types; none else.
CAUDAL_API Output cast(const Operand& x, DType dtype, const OpOptions& options = {});
CAUDAL_API Output to_float(const Operand& x, const OpOptions& options = {});   // cast to float32
CAUDAL_API Output to_double(const Operand& x, const OpOptions& options = {});  // cast to float64
CAUDAL_API Output to_int32(const Operand& x, const OpOptions& options = {});
CAUDAL_API Output to_int64(const Operand& x, const OpOptions& options = {});

// The bytes of the input read as another type (little endian). A type k times smaller adds a last dimension of k; one k
// times wider takes away a last dimension, which must be k. No gradient.
CAUDAL_API Output bitcast(const Operand& input, DType dtype, const OpOptions& options = {});

}  // namespace caudal::inline v0
