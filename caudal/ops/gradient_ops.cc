// The node-making functions that the reverse walk of autodiff needs.
#include "caudal/autodiff/gradient.h"
#include "caudal/base/error.h"
#include "caudal/graph/scope.h"

namespace caudal::inline v0 {
namespace {

Output zeros_like(const Output& x) { return OpBuilder("ZerosLike", {}).input(x).build(); }

Output ones_like(const Output& x) { return OpBuilder("OnesLike", {}).input(x).build(); }

Output add_n(const std::vector<Output>& terms) { return OpBuilder("AddN", {}).inputs(terms).build(); }

Output densify(const IndexedSlices& slices) {
  if (!slices.dense_shape) {
    throw invalid_argument("a sparse gradient of unknown shape is wanted dense: ", slices.values.describe());
  }
  const Output rows = OpBuilder("StridedSlice", {})
                          .input(slices.dense_shape)
                          .input({0})
                          .input({1})
                          .input({1})
                          .attr("shrink_axis_mask", 1)
                          .build();
  return OpBuilder("UnsortedSegmentSum", {}).input(slices.values).input(slices.indices).input(rows).build();
}

Output joined(const std::vector<Output>& parts) {
  return OpBuilder("ConcatV2", {}).inputs(parts).input(0, DType::kInt32).build();
}

IndexedSlices concat(const std::vector<IndexedSlices>& parts) {
  std::vector<Output> values, indices;
  bool same_type = true;
  for (const IndexedSlices& part : parts) same_type &= part.indices.dtype() == parts[0].indices.dtype();
  for (const IndexedSlices& part : parts) {
    values.push_back(part.values);
    const bool widen = !same_type && part.indices.dtype() != DType::kInt64;
    indices.push_back(widen ? OpBuilder("Cast", {}).input(part.indices).attr("DstT", DType::kInt64).build()
                            : part.indices);
  }
  Output dense_shape;
  for (const IndexedSlices& part : parts) {
    if (!dense_shape) dense_shape = part.dense_shape;
  }
  return {.values = joined(values), .indices = joined(indices), .dense_shape = dense_shape};
}

constexpr GradientOps kOps = {
    .zeros_like = zeros_like, .ones_like = ones_like, .add_n = add_n, .densify = densify, .concat = concat};
const GradientOpsRegistrar registrar(kOps);

}  // namespace
}  // namespace caudal::inline v0
