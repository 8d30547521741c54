#include "caudal/ops/tensor_array_ops.h"

#include <string>
#include <utility>

#include "caudal/autodiff/gradient.h"
#include "caudal/core/kernel.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/tensor_array_kernels.h"
#include "caudal/ops/variable_ops.h"

namespace caudal::inline v0 {
namespace {

using namespace internal;  // the kernels

// ---- Shape functions

// TensorFlow infers [2] for a handle, as it was when it was a string vector; a value that is fed is a scalar.
void check_handle(ShapeContext& c) {
  const PartialShape& handle = c.input(0);
  if (!handle.has_rank() || handle.rank() == 0) return;
  c.with_rank(0, 1);
  ShapeContext::merge_dim(handle[0], 2, "size of a TensorArray handle");
}

PartialShape with_front(std::int64_t size, const PartialShape& rest) {
  if (!rest.has_rank()) return PartialShape::unknown();
  std::vector<std::int64_t> dims{size};
  dims.insert(dims.end(), rest.dims().begin(), rest.dims().end());
  return PartialShape(std::move(dims));
}

void check_scalar(ShapeContext& c, int i) {
  if (i < c.num_inputs()) c.with_rank(i, 0);
}

void set_handle_shapes(ShapeContext& c) {
  c.set_output(0, PartialShape{2});
  if (c.num_outputs() > 1) c.set_output(1, PartialShape::scalar());
}

void array_shape(ShapeContext& c) {
  c.with_rank(0, 0);
  set_handle_shapes(c);
  const auto& shape = c.attr<PartialShape>("element_shape");
  const AttrValue* identical = find_attr(c.node().attrs, "identical_element_shapes");
  if (identical == nullptr) return;
  if (shape.is_fully_known() || *identical->get_if<bool>()) {
    c.set_output_handle(0, {{c.attr<DType>("dtype"), shape}});
  }
}

void grad_shape(ShapeContext& c) {
  check_handle(c);
  set_handle_shapes(c);
  c.set_output_handle(0, c.input_handle(0));
}

void grad_with_shape_shape(ShapeContext& c) {
  grad_shape(c);
  if (c.input_handle(0).empty()) return;
  const auto& part = c.input_handle(0)[0];
  const std::int64_t front = c.input(2).rank() == 1 ? c.input(2)[0] : -1;
  PartialShape shape;
  if (front >= 0 && part.shape.has_rank()) {
    shape = part.shape;
    for (std::int64_t i = 0; i < front; ++i) shape = with_front(-1, shape);
  }
  c.set_output_handle(0, {{part.dtype, shape}});
}

void write_shape(ShapeContext& c) {
  check_handle(c);
  c.with_rank(1, 0);
  c.with_rank(3, 0);
  if (!c.input_handle(0).empty()) merge_shapes(c.input_handle(0)[0].shape, c.input(2));
  c.set_output(0, PartialShape::scalar());
}

void read_shape(ShapeContext& c) {
  check_handle(c);
  c.with_rank(1, 0);
  c.with_rank(2, 0);
  if (!c.input_handle(0).empty()) c.set_output(0, c.input_handle(0)[0].shape);
}

void gather_shape(ShapeContext& c) {
  check_handle(c);
  const PartialShape indices = c.with_rank(1, 1);
  c.with_rank(2, 0);
  const auto& element = c.input_handle(0).empty() ? c.attr<PartialShape>("element_shape") : c.input_handle(0)[0].shape;
  c.set_output(0, with_front(indices[0], element));
}

void scatter_shape(ShapeContext& c) {
  check_handle(c);
  const PartialShape indices = c.with_rank(1, 1);
  c.with_rank(3, 0);
  const PartialShape value = c.with_rank_at_least(2, 1);
  if (value.has_rank()) {
    ShapeContext::merge_dim(indices[0], value[0], "number of indices and first size of value");
    if (!c.input_handle(0).empty()) {
      merge_shapes(c.input_handle(0)[0].shape,
                   PartialShape(std::vector<std::int64_t>(value.dims().begin() + 1, value.dims().end())));
    }
  }
  c.set_output(0, PartialShape::scalar());
}

void pack_shape(ShapeContext& c) { c.set_output(0, with_front(-1, c.attr<PartialShape>("element_shape"))); }

void concat_shape(ShapeContext& c) {
  check_handle(c);
  c.with_rank(1, 0);
  c.set_output(0, PartialShape::unknown());
  c.set_output(1, PartialShape{-1});
}

void split_shape(ShapeContext& c) {
  check_handle(c);
  c.with_rank(2, 1);
  c.with_rank(3, 0);
  c.set_output(0, PartialShape::scalar());
}

void unpack_shape(ShapeContext& c) {
  check_handle(c);
  c.set_output(0, PartialShape::scalar());
}

void size_shape(ShapeContext& c) {
  check_handle(c);
  check_scalar(c, 1);
  c.set_output(0, PartialShape::scalar());
}

void close_shape(ShapeContext& c) { check_handle(c); }

// ---- Gradients

// "V3" of "TensorArrayReadV3": a gradient is made of the same version's ops.
std::string version_of(const Node& node) {
  const std::string& type = node.type();
  return type.ends_with("V3") || type.ends_with("V2") ? type.substr(type.size() - 2) : "";
}

// All gradient functions of one call of gradients() must meet at one gradient array, and other calls at another: its
// name is the scope that the call made ("gradients_1").
std::string gradient_source(const Node& node) {
  const std::string& scope = current_name_scope();
  const auto inner = scope.rfind(node.name() + "_grad");
  if (inner != std::string::npos && inner > 0) return scope.substr(0, inner - 1);
  return scope.empty() ? "gradients" : scope.substr(0, scope.find('/'));
}

class GradientArray {
 public:
  GradientArray(const Node& node, const Output& flow) : version_(version_of(node)), handle_(node.input(0)) {
    const std::string source = gradient_source(node);
    const NameScope scope("TensorArrayGrad");
    OpBuilder builder("TensorArrayGrad" + version_, {});
    builder.input(handle_).input(flow).attr("source", source);
    handle_ = colocate(builder, handle_).build();
    const ControlDependencies after({Operation(handle_)});
    flow_ = OpBuilder("Identity", {.name = "gradient_flow"}).input(flow).build();
  }

  OpBuilder op(const std::string& name) const { return OpBuilder("TensorArray" + name + version_, {}); }
  const Output& handle() const { return handle_; }
  const Output& flow() const { return flow_; }

 private:
  std::string version_;
  Output handle_, flow_;
};

void read_gradient(GradientContext& c) {
  const GradientArray g(c.node(), c.input(2));
  c.set_input_grad(2, g.op("Write").input(g.handle()).input(c.input(1)).input(c.grad(0)).input(g.flow()).build());
}

void write_gradient(GradientContext& c) {
  const Output flow = c.grad(0);
  c.set_input_grad(3, flow);
  const DType dtype = c.input(2).dtype();
  if (!is_differentiable(dtype)) return;
  const GradientArray g(c.node(), flow);
  c.set_input_grad(2, g.op("Read").input(g.handle()).input(c.input(1)).input(g.flow()).attr("dtype", dtype).build());
}

void gather_gradient(GradientContext& c) {
  const GradientArray g(c.node(), c.input(2));
  c.set_input_grad(2, g.op("Scatter").input(g.handle()).input(c.input(1)).input(c.grad(0)).input(g.flow()).build());
}

void scatter_gradient(GradientContext& c) {
  const Output flow = c.grad(0);
  c.set_input_grad(3, flow);
  const DType dtype = c.input(2).dtype();
  if (!is_differentiable(dtype)) return;
  const GradientArray g(c.node(), flow);
  c.set_input_grad(2, g.op("Gather").input(g.handle()).input(c.input(1)).input(g.flow()).attr("dtype", dtype).build());
}

void concat_gradient(GradientContext& c) {
  const GradientArray g(c.node(), c.input(1));
  c.set_input_grad(1, g.op("Split").input(g.handle()).input(c.grad(0)).input(c.output(1)).input(g.flow()).build());
}

void split_gradient(GradientContext& c) {
  const Output flow = c.grad(0);
  c.set_input_grad(3, flow);
  const DType dtype = c.input(1).dtype();
  if (!is_differentiable(dtype)) return;
  const GradientArray g(c.node(), flow);
  c.set_input_grad(1, g.op("Concat").input(g.handle()).input(g.flow()).attr("dtype", dtype).build());
}

}  // namespace

// ---- Registrations

CAUDAL_REGISTER_OP({.name = "TensorArrayV3",
                    .inputs = "size: int32",
                    .outputs = "handle: resource; flow: float",
                    .attrs = "dtype: type; element_shape: shape = ?; dynamic_size: bool = false; clear_after_read: "
                             "bool = true; identical_element_shapes: bool = false; tensor_array_name: string = ''",
                    .stateful = true,
                    .shape = array_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_tensor_array>});

CAUDAL_REGISTER_OP({.name = "TensorArrayGradV3",
                    .inputs = "handle: resource; flow_in: float",
                    .outputs = "grad_handle: resource; flow_out: float",
                    .attrs = "source: string",
                    .stateful = true,
                    .shape = grad_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_tensor_array_grad>});

CAUDAL_REGISTER_OP({.name = "TensorArrayGradWithShape",
                    .inputs = "handle: resource; flow_in: float; shape_to_prepend: int32",
                    .outputs = "grad_handle: resource; flow_out: float",
                    .attrs = "source: string",
                    .stateful = true,
                    .shape = grad_with_shape_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_tensor_array_grad>});

CAUDAL_REGISTER_OP({.name = "TensorArrayWriteV3",
                    .inputs = "handle: resource; index: int32; value: T; flow_in: float",
                    .outputs = "flow_out: float",
                    .attrs = "T: type",
                    .stateful = true,
                    .shape = write_shape,
                    .gradient = write_gradient,
                    .cpu = kernel_of<run_tensor_array_write>});

CAUDAL_REGISTER_OP({.name = "TensorArrayReadV3",
                    .inputs = "handle: resource; index: int32; flow_in: float",
                    .outputs = "value: dtype",
                    .attrs = "dtype: type",
                    .stateful = true,
                    .shape = read_shape,
                    .gradient = read_gradient,
                    .cpu = kernel_of<run_tensor_array_read>});

CAUDAL_REGISTER_OP({.name = "TensorArrayGatherV3",
                    .inputs = "handle: resource; indices: int32; flow_in: float",
                    .outputs = "value: dtype",
                    .attrs = "dtype: type; element_shape: shape = ?",
                    .stateful = true,
                    .shape = gather_shape,
                    .gradient = gather_gradient,
                    .cpu = kernel_of<run_tensor_array_gather>});

CAUDAL_REGISTER_OP({.name = "TensorArrayScatterV3",
                    .inputs = "handle: resource; indices: int32; value: T; flow_in: float",
                    .outputs = "flow_out: float",
                    .attrs = "T: type",
                    .stateful = true,
                    .shape = scatter_shape,
                    .gradient = scatter_gradient,
                    .cpu = kernel_of<run_tensor_array_scatter>});

CAUDAL_REGISTER_OP({.name = "TensorArrayConcatV3",
                    .inputs = "handle: resource; flow_in: float",
                    .outputs = "value: dtype; lengths: int64",
                    .attrs = "dtype: type; element_shape_except0: shape = ?",
                    .stateful = true,
                    .shape = concat_shape,
                    .gradient = concat_gradient,
                    .cpu = kernel_of<run_tensor_array_concat>});

CAUDAL_REGISTER_OP({.name = "TensorArraySplitV3",
                    .inputs = "handle: resource; value: T; lengths: int64; flow_in: float",
                    .outputs = "flow_out: float",
                    .attrs = "T: type",
                    .stateful = true,
                    .shape = split_shape,
                    .gradient = split_gradient,
                    .cpu = kernel_of<run_tensor_array_split>});

CAUDAL_REGISTER_OP({.name = "TensorArraySizeV3",
                    .inputs = "handle: resource; flow_in: float",
                    .outputs = "size: int32",
                    .stateful = true,
                    .shape = size_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_tensor_array_size>});

CAUDAL_REGISTER_OP({.name = "TensorArrayCloseV3",
                    .inputs = "handle: resource",
                    .stateful = true,
                    .shape = close_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_tensor_array_close>});

CAUDAL_REGISTER_OP({.name = "TensorArrayV2",
                    .inputs = "size: int32",
                    .outputs = "handle: string",
                    .attrs = "dtype: type; element_shape: shape = ?; dynamic_size: bool = false; clear_after_read: "
                             "bool = true; tensor_array_name: string = ''",
                    .stateful = true,
                    .deprecated_version = 26,
                    .shape = array_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_tensor_array>});

CAUDAL_REGISTER_OP({.name = "TensorArrayGradV2",
                    .inputs = "handle: string; flow_in: float",
                    .outputs = "grad_handle: string",
                    .attrs = "source: string",
                    .stateful = true,
                    .deprecated_version = 26,
                    .shape = grad_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_tensor_array_grad>});

CAUDAL_REGISTER_OP({.name = "TensorArrayWriteV2",
                    .inputs = "handle: string; index: int32; value: T; flow_in: float",
                    .outputs = "flow_out: float",
                    .attrs = "T: type",
                    .deprecated_version = 26,
                    .shape = write_shape,
                    .gradient = write_gradient,
                    .cpu = kernel_of<run_tensor_array_write>});

CAUDAL_REGISTER_OP({.name = "TensorArrayReadV2",
                    .inputs = "handle: string; index: int32; flow_in: float",
                    .outputs = "value: dtype",
                    .attrs = "dtype: type",
                    .deprecated_version = 26,
                    .shape = read_shape,
                    .gradient = read_gradient,
                    .cpu = kernel_of<run_tensor_array_read>});

CAUDAL_REGISTER_OP({.name = "TensorArrayGatherV2",
                    .inputs = "handle: string; indices: int32; flow_in: float",
                    .outputs = "value: dtype",
                    .attrs = "dtype: type; element_shape: shape = ?",
                    .deprecated_version = 26,
                    .shape = gather_shape,
                    .gradient = gather_gradient,
                    .cpu = kernel_of<run_tensor_array_gather>});

CAUDAL_REGISTER_OP({.name = "TensorArrayScatterV2",
                    .inputs = "handle: string; indices: int32; value: T; flow_in: float",
                    .outputs = "flow_out: float",
                    .attrs = "T: type",
                    .deprecated_version = 26,
                    .shape = scatter_shape,
                    .gradient = scatter_gradient,
                    .cpu = kernel_of<run_tensor_array_scatter>});

CAUDAL_REGISTER_OP({.name = "TensorArrayConcatV2",
                    .inputs = "handle: string; flow_in: float",
                    .outputs = "value: dtype; lengths: int64",
                    .attrs = "dtype: type; element_shape_except0: shape = ?",
                    .shape = concat_shape,
                    .gradient = concat_gradient,
                    .cpu = kernel_of<run_tensor_array_concat>});

CAUDAL_REGISTER_OP({.name = "TensorArraySplitV2",
                    .inputs = "handle: string; value: T; lengths: int64; flow_in: float",
                    .outputs = "flow_out: float",
                    .attrs = "T: type",
                    .deprecated_version = 26,
                    .shape = split_shape,
                    .gradient = split_gradient,
                    .cpu = kernel_of<run_tensor_array_split>});

CAUDAL_REGISTER_OP({.name = "TensorArraySizeV2",
                    .inputs = "handle: string; flow_in: float",
                    .outputs = "size: int32",
                    .deprecated_version = 26,
                    .shape = size_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_tensor_array_size>});

CAUDAL_REGISTER_OP({.name = "TensorArrayCloseV2",
                    .inputs = "handle: string",
                    .deprecated_version = 26,
                    .shape = close_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_tensor_array_close>});

CAUDAL_REGISTER_OP({.name = "TensorArray",
                    .inputs = "size: int32",
                    .outputs = "handle: Ref(string)",
                    .attrs = "dtype: type; dynamic_size: bool = false; clear_after_read: bool = true; "
                             "tensor_array_name: string = ''; element_shape: shape = ?",
                    .stateful = true,
                    .deprecated_version = 16,
                    .shape = array_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_tensor_array>});

CAUDAL_REGISTER_OP({.name = "TensorArrayGrad",
                    .inputs = "handle: string; flow_in: float",
                    .outputs = "grad_handle: Ref(string)",
                    .attrs = "source: string",
                    .stateful = true,
                    .deprecated_version = 16,
                    .shape = grad_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_tensor_array_grad>});

CAUDAL_REGISTER_OP({.name = "TensorArrayWrite",
                    .inputs = "handle: Ref(string); index: int32; value: T; flow_in: float",
                    .outputs = "flow_out: float",
                    .attrs = "T: type",
                    .deprecated_version = 16,
                    .shape = write_shape,
                    .gradient = write_gradient,
                    .cpu = kernel_of<run_tensor_array_write>});

CAUDAL_REGISTER_OP({.name = "TensorArrayRead",
                    .inputs = "handle: Ref(string); index: int32; flow_in: float",
                    .outputs = "value: dtype",
                    .attrs = "dtype: type",
                    .deprecated_version = 16,
                    .shape = read_shape,
                    .gradient = read_gradient,
                    .cpu = kernel_of<run_tensor_array_read>});

CAUDAL_REGISTER_OP({.name = "TensorArrayGather",
                    .inputs = "handle: Ref(string); indices: int32; flow_in: float",
                    .outputs = "value: dtype",
                    .attrs = "dtype: type; element_shape: shape = ?",
                    .deprecated_version = 16,
                    .shape = gather_shape,
                    .gradient = gather_gradient,
                    .cpu = kernel_of<run_tensor_array_gather>});

CAUDAL_REGISTER_OP({.name = "TensorArrayScatter",
                    .inputs = "handle: Ref(string); indices: int32; value: T; flow_in: float",
                    .outputs = "flow_out: float",
                    .attrs = "T: type",
                    .deprecated_version = 19,
                    .shape = scatter_shape,
                    .gradient = scatter_gradient,
                    .cpu = kernel_of<run_tensor_array_scatter>});

CAUDAL_REGISTER_OP({.name = "TensorArrayConcat",
                    .inputs = "handle: Ref(string); flow_in: float",
                    .outputs = "value: dtype; lengths: int64",
                    .attrs = "dtype: type; element_shape_except0: shape = ?",
                    .deprecated_version = 16,
                    .shape = concat_shape,
                    .gradient = concat_gradient,
                    .cpu = kernel_of<run_tensor_array_concat>});

CAUDAL_REGISTER_OP({.name = "TensorArraySplit",
                    .inputs = "handle: Ref(string); value: T; lengths: int64; flow_in: float",
                    .outputs = "flow_out: float",
                    .attrs = "T: type",
                    .deprecated_version = 16,
                    .shape = split_shape,
                    .gradient = split_gradient,
                    .cpu = kernel_of<run_tensor_array_split>});

CAUDAL_REGISTER_OP({.name = "TensorArraySize",
                    .inputs = "handle: Ref(string); flow_in: float",
                    .outputs = "size: int32",
                    .deprecated_version = 16,
                    .shape = size_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_tensor_array_size>});

CAUDAL_REGISTER_OP({.name = "TensorArrayClose",
                    .inputs = "handle: Ref(string)",
                    .deprecated_version = 16,
                    .shape = close_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_tensor_array_close>});

CAUDAL_REGISTER_OP({.name = "TensorArrayPack",
                    .inputs = "handle: Ref(string); flow_in: float",
                    .outputs = "value: dtype",
                    .attrs = "dtype: type; element_shape: shape = ?",
                    .deprecated_version = 16,
                    .shape = pack_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_tensor_array_pack>});

CAUDAL_REGISTER_OP({.name = "TensorArrayUnpack",
                    .inputs = "handle: Ref(string); value: T; flow_in: float",
                    .outputs = "flow_out: float",
                    .attrs = "T: type",
                    .deprecated_version = 20,
                    .shape = unpack_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_tensor_array_unpack>});

// ---- Public functions

namespace raw_ops {

TensorArrayRef tensor_array_v3(const Operand& size, DType dtype, const TensorArrayV3Options& options) {
  Node& node = OpBuilder("TensorArrayV3", {.name = options.name, .where = options.where})
                   .input(size, int32)
                   .attr("dtype", dtype)
                   .attr("element_shape", options.element_shape)
                   .attr("dynamic_size", options.dynamic_size)
                   .attr("clear_after_read", options.clear_after_read)
                   .attr("identical_element_shapes", options.identical_element_shapes)
                   .attr("tensor_array_name", options.tensor_array_name)
                   .build_node();
  return {node.output(0), node.output(1)};
}

TensorArrayRef tensor_array_grad_v3(const Output& handle, const Output& flow_in, const std::string& source,
                                    const OpOptions& options) {
  OpBuilder builder("TensorArrayGradV3", options);
  Node& node = builder.input(handle).input(flow_in).attr("source", source).build_node();
  return {node.output(0), node.output(1)};
}

}  // namespace raw_ops
}  // namespace caudal::inline v0
