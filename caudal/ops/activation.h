// Activation functions: elementwise, features and results of one shape and type.
//
// nn::sigmoid and nn::tanh are in elementwise_unary.h. Gradients are differentiable again. NaN passes through. Thread
// safety: as building a graph.
#pragma once

#include <source_location>
#include <string>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0::nn {

// max(x, 0). Any real number type.
CAUDAL_API Output relu(const Operand& features, const OpOptions& options = {});
// min(max(x, 0), 6). Any real number type.
CAUDAL_API Output relu6(const Operand& features, const OpOptions& options = {});

struct LeakyReluOptions {
  float alpha = 0.2F;  // slope for negative x
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// x where x > 0, else alpha * x. Floating types.
CAUDAL_API Output leaky_relu(const Operand& features, const LeakyReluOptions& options = {});

// x where x >= 0, else exp(x) - 1 (Clevert et al. 2015). Floating types.
CAUDAL_API Output elu(const Operand& features, const OpOptions& options = {});
// 1.0507010 * (x where x >= 0, else 1.6732632 * (exp(x) - 1)) (Klambauer et al. 2017). Floating types.
CAUDAL_API Output selu(const Operand& features, const OpOptions& options = {});
// log(1 + exp(x)). Floating types.
CAUDAL_API Output softplus(const Operand& features, const OpOptions& options = {});
// x / (1 + |x|). Floating types.
CAUDAL_API Output softsign(const Operand& features, const OpOptions& options = {});
struct SwishOptions {
  Operand beta = 1.0F;
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// x * sigmoid(beta * x) (Ramachandran et al. 2017). Floating types.
CAUDAL_API Output swish(const Operand& features, const SwishOptions& options = {});
CAUDAL_API Output silu(const Operand& features, const SwishOptions& options = {});

struct GeluOptions {
  bool approximate = false;  // by tanh
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// x * P(X <= x) for a standard normal X (Hendrycks, Gimpel 2016). Floating types.
CAUDAL_API Output gelu(const Operand& features, const GeluOptions& options = {});

struct CreluOptions {
  std::string name = {};
  int axis = -1;
  std::source_location where = std::source_location::current();
};
// relu(x) and relu(-x) side by side: the dimension `axis` doubles (Shang et al. 2016).
CAUDAL_API Output crelu(const Operand& features, const CreluOptions& options = {});

}  // namespace caudal::inline v0::nn

// Gradients: what flows back through each function, given what arrives.
namespace caudal::inline v0::raw_ops {

// gradients where features > 0 (0 < features < 6), else 0. The features may be the function's inputs or outputs.
CAUDAL_API Output relu_grad(const Operand& gradients, const Operand& features, const OpOptions& options = {});
CAUDAL_API Output relu6_grad(const Operand& gradients, const Operand& features, const OpOptions& options = {});
CAUDAL_API Output leaky_relu_grad(const Operand& gradients, const Operand& features,
                                  const nn::LeakyReluOptions& options = {});
// These two take the function's outputs.
CAUDAL_API Output elu_grad(const Operand& gradients, const Operand& outputs, const OpOptions& options = {});
CAUDAL_API Output selu_grad(const Operand& gradients, const Operand& outputs, const OpOptions& options = {});
// gradients / (1 + exp(-features)).
CAUDAL_API Output softplus_grad(const Operand& gradients, const Operand& features, const OpOptions& options = {});
// gradients / (1 + |features|)^2.
CAUDAL_API Output softsign_grad(const Operand& gradients, const Operand& features, const OpOptions& options = {});

}  // namespace caudal::inline v0::raw_ops
