// Maps of tensors to tensors as values: scalars of type variant ("tensorflow::TensorMap").
//
//   Output map = tf::raw_ops::tensor_map_insert(tf::raw_ops::empty_tensor_map(), key, value);
//   Output found = tf::raw_ops::tensor_map_lookup(map, key, tf::float32);
//
// Keys are equal if type, shape and elements are. A map that nobody else needs is changed in place. Gradients flow
// through look-ups, insertions and erasures. Thread safety: as building a graph.
#pragma once

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0::raw_ops {

CAUDAL_API Output empty_tensor_map(const OpOptions& options = {});
// How many entries: int32 scalar.
CAUDAL_API Output tensor_map_size(const Output& map, const OpOptions& options = {});
// INVALID_ARGUMENT, when run, without such a key.
CAUDAL_API Output tensor_map_lookup(const Output& map, const Operand& key, DType value_dtype,
                                    const OpOptions& options = {});
// Replaces the value of a key that is there already.
CAUDAL_API Output tensor_map_insert(const Output& map, const Operand& key, const Operand& value,
                                    const OpOptions& options = {});
// INVALID_ARGUMENT, when run, without such a key.
CAUDAL_API Output tensor_map_erase(const Output& map, const Operand& key, DType value_dtype,
                                   const OpOptions& options = {});
// Scalar bool.
CAUDAL_API Output tensor_map_has_key(const Output& map, const Operand& key, const OpOptions& options = {});
// All keys, which must be of one shape, along a new first axis. INVALID_ARGUMENT, when run, for an empty map.
CAUDAL_API Output tensor_map_stack_keys(const Output& map, DType key_dtype, const OpOptions& options = {});

}  // namespace caudal::inline v0::raw_ops
