#include "caudal/ops/tensor_list_ops.h"

#include <utility>
#include <vector>

#include "caudal/autodiff/gradient.h"
#include "caudal/core/kernel.h"
#include "caudal/core/shape_context.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/tensor_list.h"
#include "caudal/ops/tensor_list_kernels.h"

namespace caudal::inline v0 {
namespace {

using namespace internal;  // the kernels

// ---- Shape functions

PartialShape with_front(std::int64_t size, const PartialShape& rest) {
  if (!rest.has_rank()) return PartialShape::unknown();
  std::vector<std::int64_t> dims{size};
  dims.insert(dims.end(), rest.dims().begin(), rest.dims().end());
  return PartialShape(std::move(dims));
}

PartialShape without_first(const PartialShape& shape) {
  if (!shape.has_rank() || shape.rank() == 0) return PartialShape::unknown();
  return PartialShape(std::vector<std::int64_t>(shape.dims().begin() + 1, shape.dims().end()));
}

// An element_shape input, as far as it is known.
PartialShape shape_input(ShapeContext& c, int i) {
  if (const Tensor* value = c.constant_input(i)) return partial_shape_from(*value);
  return c.input(i).rank() == 1 ? c.input_as_shape(i) : PartialShape::unknown();
}

PartialShape merged(const PartialShape& a, const PartialShape& b) {
  const auto both = a.merge(b);
  if (both) return *both;
  if (a.rank() != b.rank()) {
    throw invalid_argument("Shapes must be equal rank, but are ", a.rank(), " and ", b.rank(), ": ", a, " and ", b);
  }
  throw invalid_argument("Dimensions of shapes must be equal: ", a, " and ", b);
}

// What is known of the elements of list input i, which must be of the node's type.
PartialShape list_shape(ShapeContext& c, int i) {
  const HandleData& handle = c.input_handle(i);
  if (handle.empty()) return PartialShape::unknown();
  const auto wanted = c.attr<DType>("element_dtype");
  if (handle[0].dtype != wanted) {
    throw invalid_argument("Expected list with element dtype ", kernel_type_name(wanted),
                           " but got list with element dtype ", kernel_type_name(handle[0].dtype));
  }
  return handle[0].shape;
}

void set_list(ShapeContext& c, const PartialShape& element_shape) {
  c.set_output(0, PartialShape::scalar());
  c.set_output_handle(0, {{c.attr<DType>("element_dtype"), element_shape}});
}

void new_list_shape(ShapeContext& c) { set_list(c, shape_input(c, 0)); }

void from_tensor_shape(ShapeContext& c) {
  const PartialShape tensor = c.with_rank_at_least(0, 1);
  const PartialShape element = shape_input(c, 1);
  merged(without_first(tensor), element);
  set_list(c, element);
}

void split_shape(ShapeContext& c) {
  const PartialShape tensor = c.with_rank_at_least(0, 1);
  c.with_rank(2, 1);
  const PartialShape element = shape_input(c, 1);
  merged(with_front(-1, without_first(tensor)), element);
  set_list(c, element);
}

void scatter_shape(ShapeContext& c) { set_list(c, shape_input(c, 2)); }

void push_back_shape(ShapeContext& c) { set_list(c, list_shape(c, 0)); }

void push_back_batch_shape(ShapeContext& c) {
  const PartialShape lists = c.with_rank(0, 1), tensor = c.with_rank_at_least(1, 1);
  const std::int64_t size =
      tensor.has_rank() ? ShapeContext::merge_dim(lists[0], tensor[0], "number of lists and first size of tensor")
                        : lists[0];
  set_list(c, list_shape(c, 0));
  c.set_output(0, PartialShape{size});
}

void pop_back_shape(ShapeContext& c) {
  const PartialShape element = list_shape(c, 0);
  set_list(c, element);
  c.set_output(1, element);
}

// That the list is of another type is found out when it is there, as TensorFlow does.
void set_item_shape(ShapeContext& c) {
  const HandleData& handle = c.input_handle(0);
  set_list(c, PartialShape::unknown());
  if (handle.empty()) return;
  merged(c.input(2), handle[0].shape);
  c.set_output_handle(0, handle);
}

void scatter_into_shape(ShapeContext& c) {
  c.with_rank_at_least(1, 1);
  c.with_rank(2, 1);
  set_list(c, list_shape(c, 0));
}

void resize_shape(ShapeContext& c) {
  c.with_rank(1, 0);
  c.set_output(0, PartialShape::scalar());
  c.set_output_handle(0, c.input_handle(0));
}

void concat_lists_shape(ShapeContext& c) {
  const PartialShape lists = c.merged(0, 1);
  set_list(c, merged(list_shape(c, 0), list_shape(c, 1)));
  c.set_output(0, lists);
}

void element_shape_shape(ShapeContext& c) {
  const HandleData& handle = c.input_handle(0);
  if (!handle.empty() && handle[0].shape.has_rank()) c.set_output(0, PartialShape{handle[0].shape.rank()});
}

void get_item_shape(ShapeContext& c) { c.set_output(0, merged(list_shape(c, 0), shape_input(c, 2))); }

void stack_shape(ShapeContext& c) {
  c.set_output(0, with_front(c.attr<std::int64_t>("num_elements"), merged(list_shape(c, 0), shape_input(c, 1))));
}

void gather_shape(ShapeContext& c) {
  const PartialShape element = merged(list_shape(c, 0), shape_input(c, 2));
  const std::int64_t count = c.input(1).has_rank() ? c.input(1).num_elements() : -1;
  c.set_output(0, with_front(count, element));
}

void concat_shape(ShapeContext& c) {
  const PartialShape wanted = c.num_inputs() > 1 ? shape_input(c, 1) : c.attr<PartialShape>("element_shape");
  const PartialShape element = merged(wanted, list_shape(c, 0));
  if (element.rank() == 0) {
    c.set_output(0, PartialShape{-1});  // the kernel refuses it
  } else if (element.has_rank()) {
    c.set_output(0, with_front(-1, without_first(element)));
  }
  c.set_output(1, PartialShape{-1});
}

// ---- Gradients

Output element_shape_of(const Output& list) { return raw_ops::tensor_list_element_shape(list); }

// The sizes of `tensor` but the first.
Output inner_shape(const Output& tensor) {
  if (const auto shape = tensor.shape().to_shape()) {
    const auto dims = shape->dims();
    return int32_vector(std::vector<std::int64_t>(dims.begin() + 1, dims.end()));
  }
  return OpBuilder("Slice", {}).input(shape_of(tensor)).input({1}).input({-1}).build();
}

// A list as long as `list` of the same shapes, nothing set.
Output unset_like(const Output& list, DType dtype) {
  return raw_ops::tensor_list_reserve(element_shape_of(list), raw_ops::tensor_list_length(list), dtype);
}

void push_back_gradient(GradientContext& c) {
  const auto popped = raw_ops::tensor_list_pop_back(c.grad(0), shape_of(c.input(1)), c.attr<DType>("element_dtype"));
  c.set_input_grad(0, popped.list);
  c.set_input_grad(1, popped.tensor);
}

void pop_back_gradient(GradientContext& c) {
  const Output element = c.grad(1);
  Output list;
  if (c.has_grad(0)) {
    list = c.grad(0);
  } else {
    list = unset_like(c.output(0), element.dtype());
  }
  c.set_input_grad(0, raw_ops::tensor_list_push_back(list, element));
}

void stack_gradient(GradientContext& c) {
  const Output tensor = c.grad(0);
  const PartialShape element = without_first(tensor.shape());
  const Operand shape = element.has_rank() ? Operand(element.dims()) : Operand(-1);
  c.set_input_grad(0, raw_ops::tensor_list_from_tensor(tensor, shape));
}

void concat_gradient(GradientContext& c) {
  c.set_input_grad(0, raw_ops::tensor_list_split(c.grad(0), element_shape_of(c.input(0)), c.output(1)));
}

void split_gradient(GradientContext& c) {
  const Output& tensor = c.input(0);
  const Output front = int32_vector({-1});
  const Output shape = OpBuilder("ConcatV2", {}).inputs({front, inner_shape(tensor)}).input(0).build();
  c.set_input_grad(0, raw_ops::tensor_list_concat_v2(c.grad(0), shape, c.input(2), tensor.dtype()).tensor);
}

void from_tensor_gradient(GradientContext& c) {
  const Output& tensor = c.input(0);
  const std::int64_t rows = tensor.shape().has_rank() ? tensor.shape()[0] : -1;
  c.set_input_grad(0, raw_ops::tensor_list_stack(c.grad(0), inner_shape(tensor), tensor.dtype(), rows));
}

void get_item_gradient(GradientContext& c) {
  const Output item = c.grad(0);
  const Output list = unset_like(c.input(0), item.dtype());
  c.set_input_grad(0, raw_ops::tensor_list_set_item(list, c.input(1), item));
}

void set_item_gradient(GradientContext& c) {
  const Output list = c.grad(0);
  const Output &index = c.input(1), &item = c.input(2);
  Output rest = raw_ops::tensor_list_set_item(list, index, zeros_like(item));
  if (c.attr<bool>("resize_if_index_out_of_bounds")) {
    rest = raw_ops::tensor_list_resize(rest, raw_ops::tensor_list_length(c.input(0)));
  }
  c.set_input_grad(0, rest);
  c.set_input_grad(2, raw_ops::tensor_list_get_item(list, index, shape_of(item), item.dtype()));
}

void resize_gradient(GradientContext& c) {
  const Output size = raw_ops::tensor_list_length(c.input(0));
  c.set_input_grad(0, raw_ops::tensor_list_resize(c.grad(0), size));
}

void gather_gradient(GradientContext& c) {
  const Output values = c.grad(0);
  const Output list = unset_like(c.input(0), values.dtype());
  c.set_input_grad(0, raw_ops::tensor_list_scatter_into_existing_list(list, values, c.input(1)));
}

void scatter_gradient(GradientContext& c) {
  const Output& tensor = c.input(0);
  c.set_input_grad(0, raw_ops::tensor_list_gather(c.grad(0), c.input(1), inner_shape(tensor), tensor.dtype()));
}

void scatter_into_gradient(GradientContext& c) {
  const Output list = c.grad(0);
  const Output &tensor = c.input(1), &indices = c.input(2);
  c.set_input_grad(0, raw_ops::tensor_list_scatter_into_existing_list(list, zeros_like(tensor), indices));
  c.set_input_grad(1, raw_ops::tensor_list_gather(list, indices, inner_shape(tensor), tensor.dtype()));
}

}  // namespace

// ---- Registrations

CAUDAL_REGISTER_OP({.name = "EmptyTensorList",
                    .inputs = "element_shape: shape_type; max_num_elements: int32",
                    .outputs = "handle: variant",
                    .attrs = "element_dtype: type; shape_type: {int32, int64}",
                    .shape = new_list_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_empty_tensor_list>});

CAUDAL_REGISTER_OP({.name = "TensorListReserve",
                    .inputs = "element_shape: shape_type; num_elements: int32",
                    .outputs = "handle: variant",
                    .attrs = "element_dtype: type; shape_type: {int32, int64}",
                    .shape = new_list_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_list_reserve>});

CAUDAL_REGISTER_OP({.name = "TensorListFromTensor",
                    .inputs = "tensor: element_dtype; element_shape: shape_type",
                    .outputs = "output_handle: variant",
                    .attrs = "element_dtype: type; shape_type: {int32, int64}",
                    .shape = from_tensor_shape,
                    .gradient = from_tensor_gradient,
                    .cpu = kernel_of<run_list_from_tensor>});

CAUDAL_REGISTER_OP({.name = "TensorListSplit",
                    .inputs = "tensor: element_dtype; element_shape: shape_type; lengths: int64",
                    .outputs = "output_handle: variant",
                    .attrs = "element_dtype: type; shape_type: {int32, int64}",
                    .shape = split_shape,
                    .gradient = split_gradient,
                    .cpu = kernel_of<run_list_split>});

CAUDAL_REGISTER_OP({.name = "TensorListScatter",
                    .inputs = "tensor: element_dtype; indices: int32; element_shape: shape_type",
                    .outputs = "output_handle: variant",
                    .attrs = "element_dtype: type; shape_type: {int32, int64}",
                    .shape = scatter_shape,
                    .gradient = scatter_gradient,
                    .cpu = kernel_of<run_list_scatter>});

CAUDAL_REGISTER_OP({.name = "TensorListScatterV2",
                    .inputs = "tensor: element_dtype; indices: int32; element_shape: shape_type; num_elements: int32",
                    .outputs = "output_handle: variant",
                    .attrs = "element_dtype: type; shape_type: {int32, int64}",
                    .shape = scatter_shape,
                    .gradient = scatter_gradient,
                    .cpu = kernel_of<run_list_scatter>});

CAUDAL_REGISTER_OP({.name = "TensorListPushBack",
                    .inputs = "input_handle: variant; tensor: element_dtype",
                    .outputs = "output_handle: variant",
                    .attrs = "element_dtype: type",
                    .shape = push_back_shape,
                    .gradient = push_back_gradient,
                    .cpu = prepare_list_push_back});

CAUDAL_REGISTER_OP({.name = "TensorListPopBack",
                    .inputs = "input_handle: variant; element_shape: int32",
                    .outputs = "output_handle: variant; tensor: element_dtype",
                    .attrs = "element_dtype: type",
                    .shape = pop_back_shape,
                    .gradient = pop_back_gradient,
                    .cpu = prepare_list_pop_back});

CAUDAL_REGISTER_OP({.name = "TensorListSetItem",
                    .inputs = "input_handle: variant; index: int32; item: element_dtype",
                    .outputs = "output_handle: variant",
                    .attrs = "element_dtype: type; resize_if_index_out_of_bounds: bool = false",
                    .shape = set_item_shape,
                    .gradient = set_item_gradient,
                    .cpu = prepare_list_set_item});

CAUDAL_REGISTER_OP({.name = "TensorListResize",
                    .inputs = "input_handle: variant; size: int32",
                    .outputs = "output_handle: variant",
                    .shape = resize_shape,
                    .gradient = resize_gradient,
                    .cpu = prepare_list_resize});

CAUDAL_REGISTER_OP({.name = "TensorListScatterIntoExistingList",
                    .inputs = "input_handle: variant; tensor: element_dtype; indices: int32",
                    .outputs = "output_handle: variant",
                    .attrs = "element_dtype: type",
                    .shape = scatter_into_shape,
                    .gradient = scatter_into_gradient,
                    .cpu = prepare_list_scatter_into});

CAUDAL_REGISTER_OP({.name = "TensorListPushBackBatch",
                    .inputs = "input_handles: variant; tensor: element_dtype",
                    .outputs = "output_handles: variant",
                    .attrs = "element_dtype: type",
                    .shape = push_back_batch_shape,
                    .gradient = not_differentiable,
                    .cpu = prepare_list_push_back_batch});

CAUDAL_REGISTER_OP({.name = "TensorListConcatLists",
                    .inputs = "input_a: variant; input_b: variant",
                    .outputs = "output: variant",
                    .attrs = "element_dtype: type",
                    .shape = concat_lists_shape,
                    .gradient = not_differentiable,
                    .cpu = prepare_list_concat_lists});

CAUDAL_REGISTER_OP({.name = "TensorListLength",
                    .inputs = "input_handle: variant",
                    .outputs = "length: int32",
                    .shape = scalar_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_list_length>});

CAUDAL_REGISTER_OP({.name = "TensorListElementShape",
                    .inputs = "input_handle: variant",
                    .outputs = "element_shape: shape_type",
                    .attrs = "shape_type: {int32, int64}",
                    .shape = element_shape_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_list_element_shape>});

CAUDAL_REGISTER_OP({.name = "TensorListGetItem",
                    .inputs = "input_handle: variant; index: int32; element_shape: Tshape",
                    .outputs = "item: element_dtype",
                    .attrs = "element_dtype: type; Tshape: {int32, int64} = DT_INT32",
                    .shape = get_item_shape,
                    .gradient = get_item_gradient,
                    .cpu = kernel_of<run_list_get_item>});

CAUDAL_REGISTER_OP({.name = "TensorListStack",
                    .inputs = "input_handle: variant; element_shape: int32",
                    .outputs = "tensor: element_dtype",
                    .attrs = "element_dtype: type; num_elements: int = -1",
                    .shape = stack_shape,
                    .gradient = stack_gradient,
                    .cpu = kernel_of<run_list_stack>});

CAUDAL_REGISTER_OP({.name = "TensorListGather",
                    .inputs = "input_handle: variant; indices: int32; element_shape: int32",
                    .outputs = "values: element_dtype",
                    .attrs = "element_dtype: type",
                    .shape = gather_shape,
                    .gradient = gather_gradient,
                    .cpu = kernel_of<run_list_gather>});

CAUDAL_REGISTER_OP({.name = "TensorListConcat",
                    .inputs = "input_handle: variant",
                    .outputs = "tensor: element_dtype; lengths: int64",
                    .attrs = "element_dtype: type; element_shape: shape = ?",
                    .shape = concat_shape,
                    .gradient = concat_gradient,
                    .cpu = kernel_of<run_list_concat>});

CAUDAL_REGISTER_OP({.name = "TensorListConcatV2",
                    .inputs = "input_handle: variant; element_shape: shape_type; leading_dims: int64",
                    .outputs = "tensor: element_dtype; lengths: int64",
                    .attrs = "element_dtype: type; shape_type: {int32, int64}",
                    .shape = concat_shape,
                    .gradient = concat_gradient,
                    .cpu = kernel_of<run_list_concat>});

// ---- Public functions

namespace raw_ops {

Output empty_tensor_list(const Operand& element_shape, const Operand& max_num_elements, DType element_dtype,
                         const OpOptions& options) {
  OpBuilder builder("EmptyTensorList", options);
  return builder.input(element_shape).input(max_num_elements, int32).attr("element_dtype", element_dtype).build();
}

Output tensor_list_reserve(const Operand& element_shape, const Operand& num_elements, DType element_dtype,
                           const OpOptions& options) {
  OpBuilder builder("TensorListReserve", options);
  return builder.input(element_shape).input(num_elements, int32).attr("element_dtype", element_dtype).build();
}

Output tensor_list_from_tensor(const Operand& tensor, const Operand& element_shape, const OpOptions& options) {
  return OpBuilder("TensorListFromTensor", options).input(tensor).input(element_shape).build();
}

Output tensor_list_split(const Operand& tensor, const Operand& element_shape, const Operand& lengths,
                         const OpOptions& options) {
  return OpBuilder("TensorListSplit", options).input(tensor).input(element_shape).input(lengths, int64).build();
}

Output tensor_list_scatter_v2(const Operand& tensor, const Operand& indices, const Operand& element_shape,
                              const Operand& num_elements, const OpOptions& options) {
  OpBuilder builder("TensorListScatterV2", options);
  return builder.input(tensor).input(indices, int32).input(element_shape).input(num_elements, int32).build();
}

Output tensor_list_push_back(const Output& list, const Operand& tensor, const OpOptions& options) {
  return OpBuilder("TensorListPushBack", options).input(list).input(tensor).build();
}

TensorListPopResult tensor_list_pop_back(const Output& list, const Operand& element_shape, DType element_dtype,
                                         const OpOptions& options) {
  OpBuilder builder("TensorListPopBack", options);
  Node& node = builder.input(list).input(element_shape, int32).attr("element_dtype", element_dtype).build_node();
  return {node.output(0), node.output(1)};
}

Output tensor_list_set_item(const Output& list, const Operand& index, const Operand& item, const OpOptions& options) {
  return OpBuilder("TensorListSetItem", options).input(list).input(index, int32).input(item).build();
}

Output tensor_list_scatter_into_existing_list(const Output& list, const Operand& tensor, const Operand& indices,
                                              const OpOptions& options) {
  OpBuilder builder("TensorListScatterIntoExistingList", options);
  return builder.input(list).input(tensor).input(indices, int32).build();
}

Output tensor_list_resize(const Output& list, const Operand& size, const OpOptions& options) {
  return OpBuilder("TensorListResize", options).input(list).input(size, int32).build();
}

Output tensor_list_concat_lists(const Output& a, const Output& b, DType element_dtype, const OpOptions& options) {
  return OpBuilder("TensorListConcatLists", options).input(a).input(b).attr("element_dtype", element_dtype).build();
}

Output tensor_list_push_back_batch(const Output& lists, const Operand& tensor, const OpOptions& options) {
  return OpBuilder("TensorListPushBackBatch", options).input(lists).input(tensor).build();
}

Output tensor_list_length(const Output& list, const OpOptions& options) {
  return OpBuilder("TensorListLength", options).input(list).build();
}

Output tensor_list_element_shape(const Output& list, DType shape_type, const OpOptions& options) {
  return OpBuilder("TensorListElementShape", options).input(list).attr("shape_type", shape_type).build();
}

Output tensor_list_get_item(const Output& list, const Operand& index, const Operand& element_shape, DType element_dtype,
                            const OpOptions& options) {
  OpBuilder builder("TensorListGetItem", options);
  builder.input(list).input(index, int32).input(element_shape, int32);
  return builder.attr("element_dtype", element_dtype).build();
}

Output tensor_list_stack(const Output& list, const Operand& element_shape, DType element_dtype,
                         std::int64_t num_elements, const OpOptions& options) {
  OpBuilder builder("TensorListStack", options);
  builder.input(list).input(element_shape, int32);
  return builder.attr("element_dtype", element_dtype).attr("num_elements", num_elements).build();
}

Output tensor_list_gather(const Output& list, const Operand& indices, const Operand& element_shape, DType element_dtype,
                          const OpOptions& options) {
  OpBuilder builder("TensorListGather", options);
  builder.input(list).input(indices, int32).input(element_shape, int32);
  return builder.attr("element_dtype", element_dtype).build();
}

TensorListConcatResult tensor_list_concat_v2(const Output& list, const Operand& element_shape,
                                             const Operand& leading_dims, DType element_dtype,
                                             const OpOptions& options) {
  OpBuilder builder("TensorListConcatV2", options);
  builder.input(list).input(element_shape).input(leading_dims, int64);
  Node& node = builder.attr("element_dtype", element_dtype).build_node();
  return {node.output(0), node.output(1)};
}

}  // namespace raw_ops
}  // namespace caudal::inline v0
