// Convolutional layers beside conv2d: of one and three dimensions, transposed, depthwise and separable
// (tf.compat.v1.layers).
//
// inputs: [batch, sizes, channels], or [batch, channels, sizes] with data_format "channels_first"; channels known.
// Variables are "<name>/kernel" (separable: "depthwise_kernel" and "pointwise_kernel") and "<name>/bias". Errors name
// the layer and the shapes that do not meet. Thread safety: as building a graph.
#pragma once

#include <array>
#include <cstdint>
#include <source_location>
#include <string>

#include "caudal/base/export.h"
#include "caudal/nn/layers.h"

namespace caudal::inline v0::layers {

using Size3 = std::array<std::int64_t, 3>;  // depth, height, width

struct Conv1DOptions {
  std::int64_t strides = 1;
  std::string padding = "valid";              // or "same"
  std::string data_format = "channels_last";  // or "channels_first"
  std::int64_t dilation_rate = 1;
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
// kernel [kernel_size, channels, filters]; result [batch, width', filters].
CAUDAL_API Output conv1d(const Operand& inputs, std::int64_t filters, std::int64_t kernel_size,
                         const Conv1DOptions& options = {});

struct Conv3DOptions {
  Size3 strides = {1, 1, 1};
  std::string padding = "valid";
  std::string data_format = "channels_last";
  Size3 dilation_rate = {1, 1, 1};
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
// kernel [depth, height, width, channels, filters].
CAUDAL_API Output conv3d(const Operand& inputs, std::int64_t filters, Size3 kernel_size,
                         const Conv3DOptions& options = {});

struct Conv2DTransposeOptions {
  Size2 strides = {1, 1};
  std::string padding = "valid";
  std::string data_format = "channels_last";
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
// The way back of a convolution: enlarges by the strides. kernel [height, width, filters, channels]; sizes become
// size * stride ("same") or size * stride + max(kernel - stride, 0) ("valid").
CAUDAL_API Output conv2d_transpose(const Operand& inputs, std::int64_t filters, Size2 kernel_size,
                                   const Conv2DTransposeOptions& options = {});

struct Conv3DTransposeOptions {
  Size3 strides = {1, 1, 1};
  std::string padding = "valid";
  std::string data_format = "channels_last";
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
CAUDAL_API Output conv3d_transpose(const Operand& inputs, std::int64_t filters, Size3 kernel_size,
                                   const Conv3DTransposeOptions& options = {});

struct DepthwiseConv2DOptions {
  Size2 strides = {1, 1};  // equal
  std::string padding = "valid";
  std::int64_t depth_multiplier = 1;  // results per input channel
  std::string data_format = "channels_last";
  Size2 dilation_rate = {1, 1};
  Activation activation = {};
  bool use_bias = true;
  Initializer depthwise_initializer = {};
  Initializer bias_initializer = zeros_initializer();
  Regularizer depthwise_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};
  bool trainable = true;
  std::string name = {};
  Reuse reuse = false;
  std::source_location where = std::source_location::current();
};
// Every channel by itself: depthwise_kernel [height, width, channels, depth_multiplier]; channels * depth_multiplier
// results.
CAUDAL_API Output depthwise_conv2d(const Operand& inputs, Size2 kernel_size,
                                   const DepthwiseConv2DOptions& options = {});

struct SeparableConv2DOptions {
  Size2 strides = {1, 1};  // equal
  std::string padding = "valid";
  std::string data_format = "channels_last";
  Size2 dilation_rate = {1, 1};
  std::int64_t depth_multiplier = 1;
  Activation activation = {};
  bool use_bias = true;
  Initializer depthwise_initializer = {};
  Initializer pointwise_initializer = {};
  Initializer bias_initializer = zeros_initializer();
  Regularizer depthwise_regularizer = {};
  Regularizer pointwise_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};
  bool trainable = true;
  std::string name = {};
  Reuse reuse = false;
  std::source_location where = std::source_location::current();
};
// A depthwise convolution, then a mix of the channels by pointwise_kernel [1, 1, channels * depth_multiplier, filters].
CAUDAL_API Output separable_conv2d(const Operand& inputs, std::int64_t filters, Size2 kernel_size,
                                   const SeparableConv2DOptions& options = {});

struct SeparableConv1DOptions {
  std::int64_t strides = 1;
  std::string padding = "valid";
  std::string data_format = "channels_last";
  std::int64_t dilation_rate = 1;
  std::int64_t depth_multiplier = 1;
  Activation activation = {};
  bool use_bias = true;
  Initializer depthwise_initializer = {};
  Initializer pointwise_initializer = {};
  Initializer bias_initializer = zeros_initializer();
  Regularizer depthwise_regularizer = {};
  Regularizer pointwise_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};
  bool trainable = true;
  std::string name = {};
  Reuse reuse = false;
  std::source_location where = std::source_location::current();
};
// The same in one dimension: depthwise_kernel [kernel_size, channels, depth_multiplier], pointwise_kernel [1, channels
// * depth_multiplier, filters].
CAUDAL_API Output separable_conv1d(const Operand& inputs, std::int64_t filters, std::int64_t kernel_size,
                                   const SeparableConv1DOptions& options = {});

}  // namespace caudal::inline v0::layers
