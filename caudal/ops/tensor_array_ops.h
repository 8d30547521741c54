// The TensorArray ops as tf.raw_ops has them. Programs use class TensorArray (tensor_array.h).
//
// Thread safety: as building a graph.
#pragma once

#include <string>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0::raw_ops {

// An array as the ops see it: its handle, and the scalar that orders what happens to it.
struct TensorArrayRef {
  Output handle;
  Output flow;
};

struct TensorArrayV3Options {
  PartialShape element_shape;
  bool dynamic_size = false;
  bool clear_after_read = true;
  bool identical_element_shapes = false;
  std::string tensor_array_name;
  std::string name;
  std::source_location where = std::source_location::current();
};
// A new array of `size` (int32 scalar) places in every step.
CAUDAL_API TensorArrayRef tensor_array_v3(const Operand& size, DType dtype, const TensorArrayV3Options& options = {});
// The gradient array that belongs to an array and one call of gradients(), named by `source`.
CAUDAL_API TensorArrayRef tensor_array_grad_v3(const Output& handle, const Output& flow_in, const std::string& source,
                                               const OpOptions& options = {});

}  // namespace caudal::inline v0::raw_ops
