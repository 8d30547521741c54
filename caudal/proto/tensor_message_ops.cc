#include "caudal/proto/tensor_message_ops.h"

#include "caudal/base/strings.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/proto/tensor_proto.h"

namespace caudal::inline v0 {
namespace {

// ---- Shape functions

void parse_tensor_shape(ShapeContext& c) {
  c.with_rank(0, 0);
  unknown_shape(c);
}

// ---- Kernels

void run_serialize_tensor(RunContext& c) {
  std::string bytes;
  if (!to_proto(c.input(0)).SerializeToString(&bytes)) {
    throw invalid_argument("a message cannot hold more than 2 GiB: ", c.input(0).describe());
  }
  c.allocate_output(0, {}).data<std::string>()[0] = std::move(bytes);
}

void run_parse_tensor(RunContext& c) {
  const Tensor& serialized = c.input(0);
  if (serialized.rank() != 0) {
    throw invalid_argument("Expected `serialized` to be a scalar, got shape: ", serialized.shape());
  }
  pb::TensorProto proto;
  if (!proto.ParseFromString(serialized.item<std::string>())) {
    throw invalid_argument("Could not parse `serialized` as TensorProto: ", escaped(serialized.item<std::string>()));
  }
  Tensor value = from_proto(proto);
  const DType wanted = c.node().output_types[0];
  if (value.dtype() != wanted) {
    throw invalid_argument("Type mismatch between parsed tensor (", value.dtype(), ") and dtype (", wanted, ")");
  }
  c.set_output(0, std::move(value));
}

// ---- Registrations

CAUDAL_REGISTER_OP({
    .name = "SerializeTensor",
    .inputs = "tensor: T",
    .outputs = "serialized: string",
    .attrs = "T: type",
    .shape = scalar_shape,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_serialize_tensor>,
});
CAUDAL_REGISTER_OP({
    .name = "ParseTensor",
    .inputs = "serialized: string",
    .outputs = "output: out_type",
    .attrs = "out_type: type",
    .shape = parse_tensor_shape,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_parse_tensor>,
});

}  // namespace

// ---- Public functions

Output io::serialize_tensor(const Operand& tensor, const OpOptions& options) {
  return OpBuilder("SerializeTensor", options).input(tensor).build();
}

Output io::parse_tensor(const Operand& serialized, DType out_type, const OpOptions& options) {
  return OpBuilder("ParseTensor", options).input(serialized).attr("out_type", out_type).build();
}

}  // namespace caudal::inline v0
