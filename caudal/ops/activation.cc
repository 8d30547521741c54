#include "caudal/ops/activation.h"

#include <cmath>
#include <memory>
#include <numbers>

#include "caudal/autodiff/gradient.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/selection.h"

namespace caudal::inline v0 {
namespace {

using kernels::BinaryOp;
using kernels::UnaryOp;

// --- Kernels ---

std::unique_ptr<Kernel> prepare_leaky_relu(PrepareContext& c) {
  return make_unary_kernel(c, UnaryOp::kLeakyRelu, c.attr<float>("alpha"));
}

std::unique_ptr<Kernel> prepare_leaky_relu_grad(PrepareContext& c) {
  return make_same_shape_kernel(c, BinaryOp::kLeakyReluGrad, c.attr<float>("alpha"));
}

// --- Gradients ---

void relu_gradient(GradientContext& c) { c.set_input_grad(0, raw_ops::relu_grad(c.grad(0), c.output(0))); }

// A step function of the features multiplies the gradients: no gradient flows to the features.
void relu_grad_gradient(GradientContext& c) {
  c.set_input_grad(0, raw_ops::relu_grad(c.grad(0), c.input(1)));
  c.set_input_grad(1, zeros_like(c.input(1)));
}

void relu6_gradient(GradientContext& c) { c.set_input_grad(0, raw_ops::relu6_grad(c.grad(0), c.output(0))); }

void relu6_grad_gradient(GradientContext& c) {
  c.set_input_grad(0, raw_ops::relu6_grad(c.grad(0), c.input(1)));
  c.set_input_grad(1, zeros_like(c.input(1)));
}

void leaky_relu_gradient(GradientContext& c) {
  c.set_input_grad(0, raw_ops::leaky_relu_grad(c.grad(0), c.input(0), {.alpha = c.attr<float>("alpha")}));
}

void leaky_relu_grad_gradient(GradientContext& c) {
  c.set_input_grad(0, raw_ops::leaky_relu_grad(c.grad(0), c.input(1), {.alpha = c.attr<float>("alpha")}));
  c.set_input_grad(1, zeros_like(c.input(1)));
}

void elu_gradient(GradientContext& c) { c.set_input_grad(0, raw_ops::elu_grad(c.grad(0), c.output(0))); }
void selu_gradient(GradientContext& c) { c.set_input_grad(0, raw_ops::selu_grad(c.grad(0), c.output(0))); }

// gradients * (outputs + constant) where outputs < 0: linear in both.
Output grad_to_outputs(GradientContext& c) {
  const Output& outputs = c.input(1);
  return raw_ops::select(less(outputs, 0), c.grad(0) * c.input(0), zeros_like(outputs));
}

void elu_grad_gradient(GradientContext& c) {
  c.set_input_grad(0, raw_ops::elu_grad(c.grad(0), c.input(1)));
  c.set_input_grad(1, grad_to_outputs(c));
}

void selu_grad_gradient(GradientContext& c) {
  c.set_input_grad(0, raw_ops::selu_grad(c.grad(0), c.input(1)));
  c.set_input_grad(1, grad_to_outputs(c));
}

void softplus_gradient(GradientContext& c) { c.set_input_grad(0, c.grad(0) * sigmoid(c.input(0))); }

// sigmoid'(x) = 1 / (exp(-x) + 2 + exp(x)).
void softplus_grad_gradient(GradientContext& c) {
  const Output& x = c.input(1);
  c.set_input_grad(0, raw_ops::softplus_grad(c.grad(0), x));
  c.set_input_grad(1, c.grad(0) * c.input(0) / (exp(-x) + 2 + exp(x)));
}

void softsign_gradient(GradientContext& c) { c.set_input_grad(0, raw_ops::softsign_grad(c.grad(0), c.input(0))); }

}  // namespace

// --- Registrations ---

CAUDAL_REGISTER_OP({.name = "Relu",
                    .inputs = "features: T",
                    .outputs = "activations: T",
                    .attrs = "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, "
                             "uint64, qint8}",
                    .shape = unchanged_shape,
                    .gradient = relu_gradient,
                    .cpu = prepare_unary<UnaryOp::kRelu>});
CAUDAL_REGISTER_OP({.name = "ReluGrad",
                    .inputs = "gradients: T; features: T",
                    .outputs = "backprops: T",
                    .attrs = "T: realnumbertype",
                    .shape = merged_inputs_shape,
                    .gradient = relu_grad_gradient,
                    .cpu = prepare_same_shape<BinaryOp::kReluGrad>});
CAUDAL_REGISTER_OP({.name = "Relu6",
                    .inputs = "features: T",
                    .outputs = "activations: T",
                    .attrs = "T: realnumbertype",
                    .shape = unchanged_shape,
                    .gradient = relu6_gradient,
                    .cpu = prepare_unary<UnaryOp::kRelu6>});
CAUDAL_REGISTER_OP({.name = "Relu6Grad",
                    .inputs = "gradients: T; features: T",
                    .outputs = "backprops: T",
                    .attrs = "T: realnumbertype",
                    .shape = merged_inputs_shape,
                    .gradient = relu6_grad_gradient,
                    .cpu = prepare_same_shape<BinaryOp::kRelu6Grad>});
CAUDAL_REGISTER_OP({.name = "LeakyRelu",
                    .inputs = "features: T",
                    .outputs = "activations: T",
                    .attrs = "alpha: float = 0.2; T: {half, bfloat16, float, double} = DT_FLOAT",
                    .shape = unchanged_shape,
                    .gradient = leaky_relu_gradient,
                    .cpu = prepare_leaky_relu});
CAUDAL_REGISTER_OP({.name = "LeakyReluGrad",
                    .inputs = "gradients: T; features: T",
                    .outputs = "backprops: T",
                    .attrs = "alpha: float = 0.2; T: {half, bfloat16, float, double} = DT_FLOAT",
                    .shape = merged_inputs_shape,
                    .gradient = leaky_relu_grad_gradient,
                    .cpu = prepare_leaky_relu_grad});
CAUDAL_REGISTER_OP({.name = "Elu",
                    .inputs = "features: T",
                    .outputs = "activations: T",
                    .attrs = "T: {half, bfloat16, float, double}",
                    .shape = unchanged_shape,
                    .gradient = elu_gradient,
                    .cpu = prepare_unary<UnaryOp::kElu>});
CAUDAL_REGISTER_OP({.name = "EluGrad",
                    .inputs = "gradients: T; outputs: T",
                    .outputs = "backprops: T",
                    .attrs = "T: {half, bfloat16, float, double}",
                    .shape = merged_inputs_shape,
                    .gradient = elu_grad_gradient,
                    .cpu = prepare_same_shape<BinaryOp::kEluGrad>});
CAUDAL_REGISTER_OP({.name = "Selu",
                    .inputs = "features: T",
                    .outputs = "activations: T",
                    .attrs = "T: {half, bfloat16, float, double}",
                    .shape = unchanged_shape,
                    .gradient = selu_gradient,
                    .cpu = prepare_unary<UnaryOp::kSelu>});
CAUDAL_REGISTER_OP({.name = "SeluGrad",
                    .inputs = "gradients: T; outputs: T",
                    .outputs = "backprops: T",
                    .attrs = "T: {half, bfloat16, float, double}",
                    .shape = merged_inputs_shape,
                    .gradient = selu_grad_gradient,
                    .cpu = prepare_same_shape<BinaryOp::kSeluGrad>});
CAUDAL_REGISTER_OP({.name = "Softplus",
                    .inputs = "features: T",
                    .outputs = "activations: T",
                    .attrs = "T: {half, bfloat16, float, double}",
                    .shape = unchanged_shape,
                    .gradient = softplus_gradient,
                    .cpu = prepare_unary<UnaryOp::kSoftplus>});
CAUDAL_REGISTER_OP({.name = "SoftplusGrad",
                    .inputs = "gradients: T; features: T",
                    .outputs = "backprops: T",
                    .attrs = "T: {half, bfloat16, float, double}",
                    .shape = merged_inputs_shape,
                    .gradient = softplus_grad_gradient,
                    .cpu = prepare_same_shape<BinaryOp::kSoftplusGrad>});
CAUDAL_REGISTER_OP({.name = "Softsign",
                    .inputs = "features: T",
                    .outputs = "activations: T",
                    .attrs = "T: {half, bfloat16, float, double}",
                    .shape = unchanged_shape,
                    .gradient = softsign_gradient,
                    .cpu = prepare_unary<UnaryOp::kSoftsign>});
CAUDAL_REGISTER_OP({.name = "SoftsignGrad",
                    .inputs = "gradients: T; features: T",
                    .outputs = "backprops: T",
                    .attrs = "T: {half, bfloat16, float, double}",
                    .shape = merged_inputs_shape,
                    .gradient = no_gradient,
                    .cpu = prepare_same_shape<BinaryOp::kSoftsignGrad>});

// --- Public functions ---

namespace {

Output unary(std::string_view op, const Operand& x, const OpOptions& options) {
  return OpBuilder(op, options).input(x, DType::kFloat).build();
}

Output gradient_of(std::string_view op, const Operand& gradients, const Operand& features, const OpOptions& options) {
  const DType dtype = common_dtype({&gradients, &features});
  return OpBuilder(op, options).input(gradients, dtype).input(features, dtype).build();
}

}  // namespace

namespace nn {

Output relu(const Operand& features, const OpOptions& options) { return unary("Relu", features, options); }
Output relu6(const Operand& features, const OpOptions& options) { return unary("Relu6", features, options); }
Output elu(const Operand& features, const OpOptions& options) { return unary("Elu", features, options); }
Output selu(const Operand& features, const OpOptions& options) { return unary("Selu", features, options); }
Output softplus(const Operand& features, const OpOptions& options) { return unary("Softplus", features, options); }
Output softsign(const Operand& features, const OpOptions& options) { return unary("Softsign", features, options); }

Output leaky_relu(const Operand& features, const LeakyReluOptions& options) {
  return OpBuilder("LeakyRelu", {.name = options.name, .where = options.where})
      .input(features, DType::kFloat)
      .attr("alpha", options.alpha)
      .build();
}

Output swish(const Operand& features, const SwishOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope(options.name.empty() ? "swish" : options.name);
  const Output x = features.to_output(DType::kFloat);
  return multiply(x, caudal::sigmoid(options.beta * x), {.name = scope.prefix()});
}

Output silu(const Operand& features, const SwishOptions& options) { return swish(features, options); }

Output gelu(const Operand& features, const GeluOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope(options.name.empty() ? "Gelu" : options.name);
  const Output x = features.to_output(DType::kFloat);
  const Output curve = options.approximate
                           ? caudal::tanh(std::sqrt(2 * std::numbers::inv_pi) * (x + 0.044715 * pow(x, 3)))
                           : erf(x / std::numbers::sqrt2);
  return multiply(0.5 * x, 1 + curve, {.name = scope.prefix()});
}

Output crelu(const Operand& features, const CreluOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope(options.name.empty() ? "CRelu" : options.name);
  const Output x = features.to_output(DType::kFloat);
  const Output both = OpBuilder("ConcatV2", {}).inputs({x, -x}).input(options.axis).build();
  return relu(both, {.name = scope.prefix()});
}

}  // namespace nn

namespace raw_ops {

Output relu_grad(const Operand& gradients, const Operand& features, const OpOptions& options) {
  return gradient_of("ReluGrad", gradients, features, options);
}
Output relu6_grad(const Operand& gradients, const Operand& features, const OpOptions& options) {
  return gradient_of("Relu6Grad", gradients, features, options);
}
Output elu_grad(const Operand& gradients, const Operand& outputs, const OpOptions& options) {
  return gradient_of("EluGrad", gradients, outputs, options);
}
Output selu_grad(const Operand& gradients, const Operand& outputs, const OpOptions& options) {
  return gradient_of("SeluGrad", gradients, outputs, options);
}
Output softplus_grad(const Operand& gradients, const Operand& features, const OpOptions& options) {
  return gradient_of("SoftplusGrad", gradients, features, options);
}
Output softsign_grad(const Operand& gradients, const Operand& features, const OpOptions& options) {
  return gradient_of("SoftsignGrad", gradients, features, options);
}

Output leaky_relu_grad(const Operand& gradients, const Operand& features, const nn::LeakyReluOptions& options) {
  const DType dtype = common_dtype({&gradients, &features});
  return OpBuilder("LeakyReluGrad", {.name = options.name, .where = options.where})
      .input(gradients, dtype)
      .input(features, dtype)
      .attr("alpha", options.alpha)
      .build();
}

}  // namespace raw_ops
}  // namespace caudal::inline v0
