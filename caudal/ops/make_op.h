// Nodes of other families that gradients and compositions are made of.
#pragma once

#include "caudal/graph/builder.h"

namespace caudal::inline v0 {

// The sum over the last dimension, which stays with size 1.
inline Output sum_last(const Output& x) {
  return OpBuilder("Sum", {}).input(x).input({-1}).attr("keep_dims", true).build();
}

// condition ? x : y, all of one shape.
inline Output select(const Output& condition, const Output& x, const Output& y) {
  return OpBuilder("Select", {}).input(condition).input(x).input(y).build();
}

// x of another type.
inline Output cast_to(const Output& x, DType dtype) {
  return x.dtype() == dtype ? x : OpBuilder("Cast", {}).input(x).attr("DstT", dtype).build();
}

}  // namespace caudal::inline v0
