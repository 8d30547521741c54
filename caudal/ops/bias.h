// Adding a bias per channel.
// Thread safety: as building a graph.
#pragma once

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0 {

namespace nn {
struct BiasAddOptions {
  std::string data_format = "NHWC";  // the channels are the last dimension; "NCHW": the second
  std::string name;
  std::source_location where = std::source_location::current();
};
// value + bias, bias [channels] repeated over all other dimensions. value: two dimensions or more, any number type;
// INVALID_ARGUMENT for another number of channels.
CAUDAL_API Output bias_add(const Operand& value, const Operand& bias, const BiasAddOptions& options = {});
}  // namespace nn

namespace raw_ops {
// The sum over all dimensions but the channels: the gradient of bias_add for the bias.
CAUDAL_API Output bias_add_grad(const Operand& out_backprop, const nn::BiasAddOptions& options = {});
}  // namespace raw_ops

}  // namespace caudal::inline v0
