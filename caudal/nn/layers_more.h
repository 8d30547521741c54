// Layers and helpers beyond tf.compat.v1.layers: dropconnect, maxout, embeddings, parametric ReLU, skip blocks.
//
// Errors name the layer and its inputs. Thread safety: as building a graph.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/nn/layers.h"

namespace caudal::inline v0::layers {

struct DropconnectOptions {
  double rate = 0.5;  // share of weights that is dropped, below 1
  std::optional<std::int64_t> seed = {};
  Training training = false;
  Activation activation = {};
  bool use_bias = true;
  Initializer kernel_initializer = {};
  Initializer bias_initializer = zeros_initializer();
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};
  bool trainable = true;
  std::string name = {};
  Reuse reuse = false;
  std::source_location where = std::source_location::current();
};
// A dense layer some of whose weights are 0 in each training step, the others scaled by 1 / (1 - rate) (Wan et al.
// 2013); otherwise all weights as they are. One mask serves the whole batch. inputs: [batch, n].
CAUDAL_API Output dropconnect(const Operand& inputs, std::int64_t units, const DropconnectOptions& options = {});

struct MaxoutOptions {
  int axis = -1;
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// The greatest of each group of channels: num_units groups of channels / num_units neighbours (Goodfellow et al. 2013).
// INVALID_ARGUMENT if num_units does not divide the channels.
CAUDAL_API Output maxout(const Operand& inputs, std::int64_t num_units, const MaxoutOptions& options = {});

struct EmbeddingOptions {
  Initializer initializer = {};  // default: the scope's, else Glorot's uniform
  Regularizer regularizer = {};
  std::optional<float> max_norm = {};  // of a row, when it is looked up
  bool trainable = true;
  std::string name = {};
  Reuse reuse = false;
  std::source_location where = std::source_location::current();
};
// Rows of a table "embeddings" [vocab_size, embed_dim] by numbers `ids` (int32 or int64, any shape): shape ids +
// [embed_dim]. The table's gradient is sparse.
CAUDAL_API Output embedding(const Operand& ids, std::int64_t vocab_size, std::int64_t embed_dim,
                            const EmbeddingOptions& options = {});

struct PreluOptions {
  Initializer alpha_initializer = zeros_initializer();
  Regularizer alpha_regularizer = {};
  std::vector<int> shared_axes = {};  // dimensions along which one alpha serves all
  bool trainable = true;
  std::string name = {};
  Reuse reuse = false;
  std::source_location where = std::source_location::current();
};
// x where x > 0, else alpha * x with a trained "alpha" per element of an example (He et al. 2015).
CAUDAL_API Output prelu(const Operand& inputs, const PreluOptions& options = {});

struct ResidualOptions {
  Activation activation = {};  // of the sum
  Initializer kernel_initializer = {};
  Regularizer kernel_regularizer = {};
  std::string name = {};
  Reuse reuse = false;
  std::source_location where = std::source_location::current();
};
// A skip block: activation(inputs + block(inputs)) (He et al. 2016). Where the block changes the number of channels, or
// makes images smaller by a whole factor, the inputs first go through a linear map of fitting size (a dense layer, or a
// 1x1 convolution with that stride) named "shortcut".
CAUDAL_API Output residual(const Operand& inputs, const std::function<Output(const Output&)>& block,
                           const ResidualOptions& options = {});

}  // namespace caudal::inline v0::layers

namespace caudal::inline v0::nn {

struct RreluOptions {
  float lower = 1.0F / 8, upper = 1.0F / 3;  // of the slope
  layers::Training training = false;
  std::optional<std::int64_t> seed = {};
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// Randomised leaky ReLU (Xu et al. 2015): x where x >= 0, else slope * x, the slope drawn for each element in training,
// else the mean of its limits.
CAUDAL_API Output rrelu(const Operand& features, const RreluOptions& options = {});

// max(0, min(1, 0.2 x + 0.5)).
CAUDAL_API Output hard_sigmoid(const Operand& x, const OpOptions& options = {});
// max(-1, min(1, x)).
CAUDAL_API Output hard_tanh(const Operand& x, const OpOptions& options = {});
// x * relu6(x + 3) / 6 (Howard et al. 2019).
CAUDAL_API Output hard_swish(const Operand& x, const OpOptions& options = {});

}  // namespace caudal::inline v0::nn
