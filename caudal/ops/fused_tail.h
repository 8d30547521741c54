// What fused products do to their sums: a bias and an activation, as the attribute fused_ops of TensorFlow's
// _FusedMatMul and _FusedConv2D lists them.
//
// Thread safety: const members may be called from many threads.
#pragma once

#include <string>
#include <vector>

#include "caudal/core/kernel.h"
#include "caudal/core/shape_context.h"
#include "caudal/kernels/elementwise.h"

namespace caudal::inline v0 {

class FusedTail {
 public:
  // From fused_ops = {"BiasAdd"} or {"BiasAdd", an activation of TensorFlow's: Relu, Relu6, Elu, LeakyRelu (with
  // leakyrelu_alpha), Tanh, Sigmoid}. Throws UNIMPLEMENTED for others, INVALID_ARGUMENT unless there is one argument.
  explicit FusedTail(const NodeInfo& node);

  // True where a product can do it by itself: the sums become max(., 0).
  bool relu() const { return relu_; }
  // The bias, checked to be [channels]: input 2.
  const Tensor& bias(const RunContext& c, std::int64_t channels) const;
  // The activation that relu() is not, over the whole output.
  void finish(RunContext& c, Tensor& output) const;

 private:
  bool relu_ = false;
  kernels::UnaryLoop activation_;
};

// The same for shape functions: checks the bias, input 2, against the channels.
void check_bias(ShapeContext& c, std::int64_t channels);

}  // namespace caudal::inline v0
