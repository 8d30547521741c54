#include "caudal/ops/fused_tail.h"

#include <map>
#include <string_view>

#include "caudal/base/error.h"

namespace caudal::inline v0 {
namespace {

using kernels::UnaryOp;

const std::map<std::string_view, UnaryOp>& activations() {
  static const std::map<std::string_view, UnaryOp> all = {
      {"Relu6", UnaryOp::kRelu6},         {"Elu", UnaryOp::kElu},         {"Tanh", UnaryOp::kTanh},
      {"LeakyRelu", UnaryOp::kLeakyRelu}, {"Sigmoid", UnaryOp::kSigmoid},
  };
  return all;
}

std::string listed(const std::vector<std::string>& ops) {
  std::string text;
  for (const std::string& op : ops) text += (text.empty() ? "" : ", ") + op;
  return "[" + text + "]";
}

}  // namespace

FusedTail::FusedTail(const NodeInfo& node) {
  const auto& ops = node.attr<std::vector<std::string>>("fused_ops");
  if (node.attr<std::int64_t>("num_args") != 1) throw invalid_argument("one argument, the bias, is wanted");
  if (ops.empty() || ops.size() > 2 || ops[0] != "BiasAdd") throw unimplemented("fused_ops ", listed(ops));
  if (ops.size() == 1) return;
  relu_ = ops[1] == "Relu";
  if (relu_) return;
  const auto found = activations().find(ops[1]);
  if (found == activations().end()) throw unimplemented("fused_ops ", listed(ops));
  activation_ = kernels::find_unary(found->second, node.output_types[0], node.attr<float>("leakyrelu_alpha"));
}

const Tensor& FusedTail::bias(const RunContext& c, std::int64_t channels) const {
  const Tensor& bias = c.input(2);
  if (bias.shape() != Shape{channels}) throw invalid_argument("bias ", bias.describe(), " must be [", channels, "]");
  return bias;
}

void FusedTail::finish(RunContext& c, Tensor& output) const {
  if (!activation_) return;
  const auto size = static_cast<std::int64_t>(dtype_size(output.dtype()));
  kernels::run_unary(c.pool(), activation_, output.raw(), size, output.raw(), size, output.num_elements());
}

void check_bias(ShapeContext& c, std::int64_t channels) {
  if (c.num_inputs() < 3) return;
  ShapeContext::merge_dim(c.with_rank(2, 1).dim(0), channels, "the bias");
}

}  // namespace caudal::inline v0
