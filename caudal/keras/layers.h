// The layers of Keras 3, with its names, defaults and numbers.
//
//   auto y = keras::layers::Conv2D(32, {3, 3}, {.padding = "same", .activation = "relu"})(x);
//
// Images are [batch, rows, columns, channels]; sequences [batch, steps, features]. Weights are made when a layer is
// first called, under "<name>/kernel" and the like. Errors name the layer and the shapes that do not fit. Thread
// safety: as building a graph.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/keras/layer.h"

namespace caudal::inline v0::keras::layers {

// What layers without further settings take.
struct LayerOptions {
  std::string name = {};
  bool trainable = true;
};

// --- Core (core_layers.cc) ---

struct DenseOptions {
  keras::Activation activation = {};
  bool use_bias = true;
  Initializer kernel_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};
  Constraint kernel_constraint = {};
  Constraint bias_constraint = {};
  std::string name = {};
  bool trainable = true;
};
// activation(x . kernel + bias) over the last dimension.
CAUDAL_API LayerRef Dense(std::int64_t units, const DenseOptions& options = {});

CAUDAL_API LayerRef Activation(const keras::Activation& activation, const LayerOptions& options = {});

struct EmbeddingOptions {
  Initializer embeddings_initializer = "random_uniform";
  Regularizer embeddings_regularizer = {};
  Constraint embeddings_constraint = {};
  bool mask_zero = false;  // 0 is padding: later layers leave such steps out
  std::string name = {};
  bool trainable = true;
};
// Integers below input_dim to rows of a table: [..., output_dim].
CAUDAL_API LayerRef Embedding(std::int64_t input_dim, std::int64_t output_dim, const EmbeddingOptions& options = {});

// Steps whose features all equal mask_value are padding for later layers, and become zeros.
CAUDAL_API LayerRef Masking(double mask_value = 0.0, const LayerOptions& options = {});

// A function of the program. It cannot be written to a file.
CAUDAL_API LayerRef Lambda(std::function<Output(const Output&)> function, const LayerOptions& options = {});

// --- Activations as layers (activation_layers.cc) ---

struct ReLUOptions {
  std::optional<double> max_value = {};
  double negative_slope = 0.0;
  double threshold = 0.0;
  std::string name = {};
};
CAUDAL_API LayerRef ReLU(const ReLUOptions& options = {});
CAUDAL_API LayerRef LeakyReLU(double negative_slope = 0.3, const LayerOptions& options = {});
CAUDAL_API LayerRef ELU(double alpha = 1.0, const LayerOptions& options = {});
CAUDAL_API LayerRef Softmax(std::int64_t axis = -1, const LayerOptions& options = {});
struct PReLUOptions {
  Initializer alpha_initializer = "zeros";
  Regularizer alpha_regularizer = {};
  Constraint alpha_constraint = {};
  std::vector<std::int64_t> shared_axes = {};
  std::string name = {};
  bool trainable = true;
};
CAUDAL_API LayerRef PReLU(const PReLUOptions& options = {});

// --- Regularisation (dropout_layers.cc): only while training ---

struct DropoutOptions {
  std::vector<std::int64_t> noise_shape = {};  // -1: the input's size
  std::optional<std::int64_t> seed = {};
  std::string name = {};
};
struct SeedOptions {
  std::optional<std::int64_t> seed = {};
  std::string name = {};
};
CAUDAL_API LayerRef Dropout(double rate, const DropoutOptions& options = {});
// Whole feature maps: of sequences, images, volumes.
CAUDAL_API LayerRef SpatialDropout1D(double rate, const SeedOptions& options = {});
CAUDAL_API LayerRef SpatialDropout2D(double rate, const SeedOptions& options = {});
CAUDAL_API LayerRef SpatialDropout3D(double rate, const SeedOptions& options = {});
CAUDAL_API LayerRef GaussianNoise(double stddev, const SeedOptions& options = {});
CAUDAL_API LayerRef GaussianDropout(double rate, const SeedOptions& options = {});
CAUDAL_API LayerRef AlphaDropout(double rate, const SeedOptions& options = {});
// Adds penalties l1 * sum |x| and l2 * sum x^2.
CAUDAL_API LayerRef ActivityRegularization(double l1 = 0.0, double l2 = 0.0, const LayerOptions& options = {});

// --- Normalisation (normalization_layers.cc) ---

struct BatchNormalizationOptions {
  std::int64_t axis = -1;
  double momentum = 0.99;
  double epsilon = 1e-3;
  bool center = true, scale = true;
  Initializer beta_initializer = "zeros";
  Initializer gamma_initializer = "ones";
  Initializer moving_mean_initializer = "zeros";
  Initializer moving_variance_initializer = "ones";
  Regularizer beta_regularizer = {}, gamma_regularizer = {};
  Constraint beta_constraint = {}, gamma_constraint = {};
  std::string name = {};
  bool trainable = true;
};
// By the batch's mean and variance while training, by moving averages of them otherwise, and where it is frozen. The
// averages are updated with each training step by themselves.
CAUDAL_API LayerRef BatchNormalization(const BatchNormalizationOptions& options = {});

struct LayerNormalizationOptions {
  std::vector<std::int64_t> axis = {-1};
  double epsilon = 1e-3;
  bool center = true, scale = true;
  Initializer beta_initializer = "zeros";
  Initializer gamma_initializer = "ones";
  Regularizer beta_regularizer = {}, gamma_regularizer = {};
  Constraint beta_constraint = {}, gamma_constraint = {};
  std::string name = {};
  bool trainable = true;
};
CAUDAL_API LayerRef LayerNormalization(const LayerNormalizationOptions& options = {});
CAUDAL_API LayerRef UnitNormalization(std::vector<std::int64_t> axis = {-1}, const LayerOptions& options = {});

// --- Shapes (reshaping_layers.cc) ---

CAUDAL_API LayerRef Flatten(const LayerOptions& options = {});
// The batch left out; one size may be -1.
CAUDAL_API LayerRef Reshape(std::vector<std::int64_t> target_shape, const LayerOptions& options = {});
// Dimensions counted from 1, the batch left out.
CAUDAL_API LayerRef Permute(std::vector<std::int64_t> dims, const LayerOptions& options = {});
CAUDAL_API LayerRef RepeatVector(std::int64_t n, const LayerOptions& options = {});
// {all} or {before, after} for 1D; {all}, {rows, columns} or {top, bottom, left, right} for 2D.
CAUDAL_API LayerRef ZeroPadding1D(std::vector<std::int64_t> padding = {1}, const LayerOptions& options = {});
CAUDAL_API LayerRef ZeroPadding2D(std::vector<std::int64_t> padding = {1}, const LayerOptions& options = {});
CAUDAL_API LayerRef Cropping1D(std::vector<std::int64_t> cropping = {1}, const LayerOptions& options = {});
CAUDAL_API LayerRef Cropping2D(std::vector<std::int64_t> cropping = {0}, const LayerOptions& options = {});
CAUDAL_API LayerRef UpSampling1D(std::int64_t size = 2, const LayerOptions& options = {});
// Each pixel repeated ("nearest").
CAUDAL_API LayerRef UpSampling2D(std::vector<std::int64_t> size = {2, 2}, const LayerOptions& options = {});

// --- Merging (merging_layers.cc): called with several tensors ---

CAUDAL_API LayerRef Add(const LayerOptions& options = {});
CAUDAL_API LayerRef Subtract(const LayerOptions& options = {});
CAUDAL_API LayerRef Multiply(const LayerOptions& options = {});
CAUDAL_API LayerRef Average(const LayerOptions& options = {});
CAUDAL_API LayerRef Maximum(const LayerOptions& options = {});
CAUDAL_API LayerRef Minimum(const LayerOptions& options = {});
CAUDAL_API LayerRef Concatenate(std::int64_t axis = -1, const LayerOptions& options = {});
CAUDAL_API LayerRef Dot(std::vector<std::int64_t> axes, bool normalize = false, const LayerOptions& options = {});

// --- Convolutions (convolution_layers.cc) ---

struct ConvOptions {
  std::vector<std::int64_t> strides = {1};  // one for all dimensions, or one for each
  std::string padding = "valid";            // "same"; of Conv1D also "causal"
  std::vector<std::int64_t> dilation_rate = {1};
  std::int64_t groups = 1;
  keras::Activation activation = {};
  bool use_bias = true;
  Initializer kernel_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};
  Constraint kernel_constraint = {};
  Constraint bias_constraint = {};
  std::string name = {};
  bool trainable = true;
};
CAUDAL_API LayerRef Conv1D(std::int64_t filters, std::vector<std::int64_t> kernel_size,
                           const ConvOptions& options = {});
CAUDAL_API LayerRef Conv2D(std::int64_t filters, std::vector<std::int64_t> kernel_size,
                           const ConvOptions& options = {});
CAUDAL_API LayerRef Conv3D(std::int64_t filters, std::vector<std::int64_t> kernel_size,
                           const ConvOptions& options = {});
CAUDAL_API LayerRef Conv2DTranspose(std::int64_t filters, std::vector<std::int64_t> kernel_size,
                                    const ConvOptions& options = {});

struct DepthwiseConvOptions {
  std::vector<std::int64_t> strides = {1, 1};
  std::string padding = "valid";
  std::int64_t depth_multiplier = 1;
  std::vector<std::int64_t> dilation_rate = {1, 1};
  keras::Activation activation = {};
  bool use_bias = true;
  Initializer depthwise_initializer = "glorot_uniform";
  Initializer pointwise_initializer = "glorot_uniform";  // of SeparableConv2D
  Initializer bias_initializer = "zeros";
  Regularizer depthwise_regularizer = {}, pointwise_regularizer = {}, bias_regularizer = {};
  Regularizer activity_regularizer = {};
  Constraint depthwise_constraint = {}, pointwise_constraint = {}, bias_constraint = {};
  std::string name = {};
  bool trainable = true;
};
CAUDAL_API LayerRef DepthwiseConv2D(std::vector<std::int64_t> kernel_size, const DepthwiseConvOptions& options = {});
CAUDAL_API LayerRef SeparableConv2D(std::int64_t filters, std::vector<std::int64_t> kernel_size,
                                    const DepthwiseConvOptions& options = {});

// --- Pooling (pooling_layers.cc) ---

struct PoolingOptions {
  std::vector<std::int64_t> strides = {};  // default: the pool size
  std::string padding = "valid";
  std::string name = {};
};
CAUDAL_API LayerRef MaxPooling1D(std::int64_t pool_size = 2, const PoolingOptions& options = {});
CAUDAL_API LayerRef AveragePooling1D(std::int64_t pool_size = 2, const PoolingOptions& options = {});
CAUDAL_API LayerRef MaxPooling2D(std::vector<std::int64_t> pool_size = {2, 2}, const PoolingOptions& options = {});
CAUDAL_API LayerRef AveragePooling2D(std::vector<std::int64_t> pool_size = {2, 2}, const PoolingOptions& options = {});
CAUDAL_API LayerRef MaxPooling3D(std::vector<std::int64_t> pool_size = {2, 2, 2}, const PoolingOptions& options = {});
CAUDAL_API LayerRef AveragePooling3D(std::vector<std::int64_t> pool_size = {2, 2, 2},
                                     const PoolingOptions& options = {});
struct GlobalPoolingOptions {
  bool keepdims = false;
  std::string name = {};
};
CAUDAL_API LayerRef GlobalMaxPooling1D(const GlobalPoolingOptions& options = {});
CAUDAL_API LayerRef GlobalAveragePooling1D(const GlobalPoolingOptions& options = {});
CAUDAL_API LayerRef GlobalMaxPooling2D(const GlobalPoolingOptions& options = {});
CAUDAL_API LayerRef GlobalAveragePooling2D(const GlobalPoolingOptions& options = {});

// --- Recurrent (recurrent_layers.cc) ---

struct RecurrentOptions {
  keras::Activation activation = "tanh";
  keras::Activation recurrent_activation = "sigmoid";  // of LSTM and GRU
  bool use_bias = true;
  Initializer kernel_initializer = "glorot_uniform";
  Initializer recurrent_initializer = "orthogonal";
  Initializer bias_initializer = "zeros";
  bool unit_forget_bias = true;  // of LSTM
  Regularizer kernel_regularizer = {}, recurrent_regularizer = {}, bias_regularizer = {};
  Regularizer activity_regularizer = {};
  Constraint kernel_constraint = {}, recurrent_constraint = {}, bias_constraint = {};
  double dropout = 0.0, recurrent_dropout = 0.0;
  std::optional<std::int64_t> seed = {};
  bool return_sequences = false;
  bool return_state = false;  // outputs: the sequence or last step, then the states
  bool go_backwards = false;
  bool unroll = false;
  bool reset_after = true;  // of GRU
  std::string name = {};
  bool trainable = true;
};
// [batch, steps, features] -> [batch, units], or [batch, steps, units] with return_sequences. Called with {x, h} (LSTM:
// {x, h, c}) the states begin there. Steps that a mask leaves out keep the state and repeat the output.
CAUDAL_API LayerRef SimpleRNN(std::int64_t units, const RecurrentOptions& options = {});
CAUDAL_API LayerRef LSTM(std::int64_t units, const RecurrentOptions& options = {});
CAUDAL_API LayerRef GRU(std::int64_t units, const RecurrentOptions& options = {});

// --- Wrappers (wrapper_layers.cc) ---

struct BidirectionalOptions {
  std::string merge_mode = "concat";  // "sum", "mul", "ave"; "none": two outputs
  LayerRef backward_layer = {};       // default: the same layer, backwards
  std::string name = {};
};
CAUDAL_API LayerRef Bidirectional(const LayerRef& layer, const BidirectionalOptions& options = {});
// The layer on every step of [batch, steps, ...].
CAUDAL_API LayerRef TimeDistributed(const LayerRef& layer, const LayerOptions& options = {});

// --- Preprocessing (preprocessing_layers.cc) ---

// x * scale + offset.
CAUDAL_API LayerRef Rescaling(double scale, double offset = 0.0, const LayerOptions& options = {});
// While training, pictures are mirrored at random: "horizontal", "vertical", "horizontal_and_vertical".
CAUDAL_API LayerRef RandomFlip(const std::string& mode = "horizontal_and_vertical", const SeedOptions& options = {});
struct NormalizationOptions {
  std::int64_t axis = -1;
  std::vector<double> mean = {}, variance = {};  // of each feature, or one number
  bool invert = false;
  std::string name = {};
};
// (x - mean) / sqrt(variance), by given numbers or those that adapt() measured.
CAUDAL_API LayerRef Normalization(const NormalizationOptions& options = {});
// Measures mean and variance of `data` for a Normalization layer.
CAUDAL_API void adapt(const LayerRef& normalization, const Tensor& data);

}  // namespace caudal::inline v0::keras::layers
