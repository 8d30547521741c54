// Normalising layers: batch normalisation (tf.compat.v1.layers) and layer normalisation (tf.contrib.layers).
//
//   auto bn = layers::batch_normalization(hidden, {.momentum = 0.9, .training = training});
//   ...
//   session.run({training_op, group(layers::update_ops())}, feeds);   // moves the running mean and variance
//
// Errors name the layer and its inputs. Thread safety: as building a graph.
#pragma once

#include <array>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/nn/layers.h"

namespace caudal::inline v0::layers {

// Limits of the corrections of batch renormalisation: 1/rmax or rmin <= r <= rmax, -dmax <= d <= dmax.
struct RenormClipping {
  std::optional<Operand> rmax = {}, rmin = {}, dmax = {};
};

struct BatchNormalizationOptions {
  int axis = -1;           // of the features
  double momentum = 0.99;  // of the running statistics
  double epsilon = 1e-3;
  bool center = true;  // adds beta
  bool scale = true;   // multiplies by gamma
  Initializer beta_initializer = zeros_initializer();
  Initializer gamma_initializer = ones_initializer();
  Initializer moving_mean_initializer = zeros_initializer();
  Initializer moving_variance_initializer = ones_initializer();
  Regularizer beta_regularizer = {};
  Regularizer gamma_regularizer = {};
  Training training = false;  // by the batch's statistics, else by the running ones
  bool trainable = true;
  std::string name = {};
  Reuse reuse = false;
  bool renorm = false;  // batch renormalisation (Ioffe 2017)
  RenormClipping renorm_clipping = {};
  double renorm_momentum = 0.99;
  std::optional<bool> fused = {};  // one op for all; default: where it fits, images with the features first or last
  std::source_location where = std::source_location::current();
};
// (inputs - mean) / sqrt(variance + epsilon) * gamma + beta for each feature (Ioffe, Szegedy 2015). Variables gamma,
// beta, moving_mean, moving_variance (with renorm moving_stddev, renorm_mean, renorm_stddev), all of the feature's
// size. In training the updates of the running statistics join the collection UPDATE_OPS and must be run beside the
// training operation; the fused form feeds them a variance divided by count - 1.
CAUDAL_API Output batch_normalization(const Operand& inputs, const BatchNormalizationOptions& options = {});

// The operations of the collection UPDATE_OPS of the default graph; `scope` is a regular expression that the beginning
// of the name must match.
CAUDAL_API std::vector<Operation> update_ops(std::string_view scope = {});

struct LayerNormOptions {
  bool center = true;
  bool scale = true;
  Activation activation = {};
  Reuse reuse = false;
  bool trainable = true;
  int begin_norm_axis = 1;     // from here on the mean and variance are taken
  int begin_params_axis = -1;  // from here on beta and gamma have sizes
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// (inputs - mean) / sqrt(variance + 1e-12) * gamma + beta within each example (Ba et al. 2016; of half 1e-3). Variables
// "LayerNorm/beta" and "LayerNorm/gamma".
CAUDAL_API Output layer_norm(const Operand& inputs, const LayerNormOptions& options = {});

}  // namespace caudal::inline v0::layers
