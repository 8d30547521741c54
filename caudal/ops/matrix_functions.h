// Functions of square matrices: exponential, logarithm, square root.
//
// Everything works on the last two dimensions; leading ones are a batch. Computed in complex128 (N. Higham, "Functions
// of Matrices", 2008): logarithm and root by Schur's form, which the module linalg makes. Thread safety: as building a
// graph.
#pragma once

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0::linalg {

// float, double, complex64, complex128. No gradient. The op is one of TensorFlow 1's first years: a graph with it does
// not load into a newer TensorFlow.
CAUDAL_API Output expm(const Operand& input, const OpOptions& options = {});
// The principal logarithm; complex64, complex128. No gradient.
CAUDAL_API Output logm(const Operand& input, const OpOptions& options = {});
// The principal square root; NaN where a real matrix has no real one.
CAUDAL_API Output sqrtm(const Operand& input, const OpOptions& options = {});

}  // namespace caudal::inline v0::linalg
