// The TensorList ops: lists of tensors as values, scalars of type variant.
//
//   Output list = tf::raw_ops::empty_tensor_list({2}, -1, tf::float32);
//   list = tf::raw_ops::tensor_list_push_back(list, x);           // a new list; the old one is still what it was
//   Output all = tf::raw_ops::tensor_list_stack(list, {2}, tf::float32);
//
// A list that nobody else needs is changed in place, so that n pushes cost n steps. element_shape arguments are int32
// vectors with -1 for sizes that are not known, or the scalar -1 for an unknown rank. Gradients flow through all of
// them but the makers of empty lists. Thread safety: as building a graph.
#pragma once

#include <string>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0::raw_ops {

// No elements. max_num_elements: how many may be pushed, -1 for any number.
CAUDAL_API Output empty_tensor_list(const Operand& element_shape, const Operand& max_num_elements, DType element_dtype,
                                    const OpOptions& options = {});
// num_elements elements that are not set: they read as zeros once their shape is known.
CAUDAL_API Output tensor_list_reserve(const Operand& element_shape, const Operand& num_elements, DType element_dtype,
                                      const OpOptions& options = {});
// The elements of `tensor` along its first axis.
CAUDAL_API Output tensor_list_from_tensor(const Operand& tensor, const Operand& element_shape,
                                          const OpOptions& options = {});
// Pieces of `tensor` along its first axis, of the given lengths (int64 vector).
CAUDAL_API Output tensor_list_split(const Operand& tensor, const Operand& element_shape, const Operand& lengths,
                                    const OpOptions& options = {});
// tensor[i] at place indices[i] of a new list of num_elements, or as many as it takes (-1).
CAUDAL_API Output tensor_list_scatter_v2(const Operand& tensor, const Operand& indices, const Operand& element_shape,
                                         const Operand& num_elements, const OpOptions& options = {});

CAUDAL_API Output tensor_list_push_back(const Output& list, const Operand& tensor, const OpOptions& options = {});
struct TensorListPopResult {
  Output list;
  Output tensor;
};
CAUDAL_API TensorListPopResult tensor_list_pop_back(const Output& list, const Operand& element_shape,
                                                    DType element_dtype, const OpOptions& options = {});
CAUDAL_API Output tensor_list_set_item(const Output& list, const Operand& index, const Operand& item,
                                       const OpOptions& options = {});
CAUDAL_API Output tensor_list_scatter_into_existing_list(const Output& list, const Operand& tensor,
                                                         const Operand& indices, const OpOptions& options = {});
// Cut off or filled up with elements that are not set.
CAUDAL_API Output tensor_list_resize(const Output& list, const Operand& size, const OpOptions& options = {});
// The elements of both, list by list.
CAUDAL_API Output tensor_list_concat_lists(const Output& a, const Output& b, DType element_dtype,
                                           const OpOptions& options = {});
// One element of `tensor` to each of a vector of lists.
CAUDAL_API Output tensor_list_push_back_batch(const Output& lists, const Operand& tensor,
                                              const OpOptions& options = {});

CAUDAL_API Output tensor_list_length(const Output& list, const OpOptions& options = {});
// As an element_shape argument wants it.
CAUDAL_API Output tensor_list_element_shape(const Output& list, DType shape_type = int32,
                                            const OpOptions& options = {});
CAUDAL_API Output tensor_list_get_item(const Output& list, const Operand& index, const Operand& element_shape,
                                       DType element_dtype, const OpOptions& options = {});
// All elements, which must have one shape, along a new first axis.
CAUDAL_API Output tensor_list_stack(const Output& list, const Operand& element_shape, DType element_dtype,
                                    std::int64_t num_elements = -1, const OpOptions& options = {});
CAUDAL_API Output tensor_list_gather(const Output& list, const Operand& indices, const Operand& element_shape,
                                     DType element_dtype, const OpOptions& options = {});
struct TensorListConcatResult {
  Output tensor;
  Output lengths;  // int64
};
// All elements joined along their first axis; leading_dims: the lengths of those that are not set.
CAUDAL_API TensorListConcatResult tensor_list_concat_v2(const Output& list, const Operand& element_shape,
                                                        const Operand& leading_dims, DType element_dtype,
                                                        const OpOptions& options = {});

}  // namespace caudal::inline v0::raw_ops
