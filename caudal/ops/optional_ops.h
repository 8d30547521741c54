// Optional values: a DT_VARIANT that holds some tensors or nothing. Gradient graphs of conditions carry values of
// branches in them.
#pragma once

#include <vector>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0 {

// For kernels: a scalar variant with these components, and one with nothing.
Tensor optional_value(std::vector<Tensor> components);
Tensor optional_nothing();

}  // namespace caudal::inline v0

namespace caudal::inline v0::raw_ops {

// Scalar variants: one that holds `components`, one that holds nothing.
CAUDAL_API Output optional_from_value(const std::vector<Output>& components, const OpOptions& options = {});
CAUDAL_API Output optional_none(const OpOptions& options = {});
// Whether there is a value.
CAUDAL_API Output optional_has_value(const Output& optional, const OpOptions& options = {});
// The components. INVALID_ARGUMENT in a run if there is none, or if types or shapes are others.
CAUDAL_API std::vector<Output> optional_get_value(const Output& optional, const std::vector<DType>& types,
                                                  const std::vector<PartialShape>& shapes,
                                                  const OpOptions& options = {});

}  // namespace caudal::inline v0::raw_ops
