// Nodes that gradients and compositions are made of, by op name, so that families need not know each other's headers.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "caudal/graph/builder.h"

namespace caudal::inline v0 {

// A node whose attributes all follow from its inputs; its first output. Bare numbers take the operands' common type.
inline Output make_op(std::string_view op, const Operand& x, std::string name = {}) {
  return OpBuilder(op, {.name = std::move(name)}).input(x).build();
}
inline Output make_op(std::string_view op, const Operand& x, const Operand& y, std::string name = {}) {
  const DType dtype = common_dtype({&x, &y});
  return OpBuilder(op, {.name = std::move(name)}).input(x, dtype).input(y, dtype).build();
}

// The sum over the last dimension, which stays with size 1.
inline Output sum_last(const Output& x) {
  return OpBuilder("Sum", {}).input(x).input({-1}).attr("keep_dims", true).build();
}

// condition ? x : y, all of one shape.
inline Output select(const Output& condition, const Output& x, const Output& y) {
  return OpBuilder("Select", {}).input(condition).input(x).input(y).build();
}

// x with a dimension of size 1 at `axis`.
inline Output expand_dim(const Output& x, int axis) { return OpBuilder("ExpandDims", {}).input(x).input(axis).build(); }

}  // namespace caudal::inline v0
