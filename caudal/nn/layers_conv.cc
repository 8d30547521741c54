#include "caudal/nn/layers_conv.h"

#include <algorithm>

#include "caudal/nn/layer_scope.h"
#include "caudal/ops/conv.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/joining.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/shape_ops.h"
#include "caudal/ops/slicing.h"

namespace caudal::inline v0::layers {
namespace {

using internal::LayerScope;
using internal::Layout;
using Sizes = std::vector<std::int64_t>;

template <std::size_t n>
Sizes list(const std::array<std::int64_t, n>& sizes) {
  return {sizes.begin(), sizes.end()};
}

// The layer's input with its layout and channels, checked.
struct Input {
  Layout layout;
  Output x;
  std::int64_t channels;
};
Input input_of(const LayerScope& scope, const Operand& inputs, int spatial, const std::string& data_format) {
  const Layout layout = internal::layout_of(scope, spatial, data_format);
  const Output x = inputs.to_output(float32);
  return {layout, x, internal::channels_of(scope, layout, x)};
}

// kernel_size with two more sizes at the end.
Sizes kernel_shape(const LayerScope& scope, Sizes kernel_size, std::int64_t second_last, std::int64_t last) {
  internal::check_positive(scope, "kernel_size", kernel_size);
  internal::check_positive(scope, "the number of filters", {second_last, last});
  kernel_size.push_back(second_last);
  kernel_size.push_back(last);
  return kernel_size;
}

// The input's shape of the convolution that a transposed one reverses, as a vector.
Output transposed_shape(const Input& in, std::int64_t filters, const Sizes& kernel, const Sizes& strides, bool same) {
  std::vector<Operand> sizes(kernel.size() + 2, Operand(static_cast<int>(filters)));
  const Output whole = shape_of(in.x);
  const auto size = [&](int axis) { return index(whole, {axis}); };
  sizes[0] = in.x.shape()[0] >= 0 ? Operand(static_cast<int>(in.x.shape()[0])) : Operand(size(0));
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    const int axis = in.layout.spatial_axis(static_cast<int>(i));
    const int stride = static_cast<int>(strides[i]);
    const int more = same ? 0 : static_cast<int>(std::max<std::int64_t>(kernel[i] - strides[i], 0));
    const std::int64_t known = in.x.shape()[axis];
    sizes[static_cast<std::size_t>(axis)] =
        known >= 0 ? Operand(static_cast<int>(known) * stride + more) : Operand(size(axis) * stride + more);
  }
  return stack(sizes);
}

// What is known of the result's shape before it runs.
void set_transposed_shape(const Output& y, const Input& in, std::int64_t filters, const Sizes& kernel,
                          const Sizes& strides, bool same) {
  PartialShape shape = in.x.shape().with_dim(in.layout.channel_axis(), filters);
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    const int axis = in.layout.spatial_axis(static_cast<int>(i));
    const std::int64_t more = same ? 0 : std::max<std::int64_t>(kernel[i] - strides[i], 0);
    if (shape[axis] >= 0) shape = shape.with_dim(axis, shape[axis] * strides[i] + more);
  }
  y.set_shape(shape);
}

template <class Options>
Output depthwise_weight(const LayerScope& scope, const Input& in, const Sizes& kernel_size, const Options& options) {
  return internal::weight("depthwise_kernel", kernel_shape(scope, kernel_size, in.channels, options.depth_multiplier),
                          in.x.dtype(), options.depthwise_initializer, options.depthwise_regularizer,
                          options.trainable);
}

void check_equal_strides(const LayerScope& scope, const Size2& strides) {
  if (strides[0] == strides[1]) return;
  throw scope.error(caudal::internal::concat("strides are ", strides[0], " and ", strides[1], "; they must be equal"));
}

// One image dimension as two: a height of 1 in front of the width.
int height_axis(const Layout& layout) { return layout.spatial_axis(0); }

}  // namespace

Output conv1d(const Operand& inputs, std::int64_t filters, std::int64_t kernel_size, const Conv1DOptions& options) {
  const LayerScope scope("conv1d", options.name, options.reuse, options.where);
  const Input in = input_of(scope, inputs, 1, options.data_format);
  const Variable kernel =
      internal::weight("kernel", kernel_shape(scope, {kernel_size}, in.channels, filters), in.x.dtype(),
                       options.kernel_initializer, options.kernel_regularizer, options.trainable);
  const int axis = height_axis(in.layout);
  const Output flat = nn::conv2d(expand_dims(in.x, axis), expand_dims(kernel, 0),
                                 {.strides = in.layout.all({1, options.strides}),
                                  .padding = internal::padding_of(scope, options.padding),
                                  .data_format = in.layout.op_format(),
                                  .dilations = in.layout.all({1, options.dilation_rate})});
  return internal::finished(squeeze(flat, {axis}), filters, internal::finish_of(options), in.layout.channels_first);
}

Output conv3d(const Operand& inputs, std::int64_t filters, Size3 kernel_size, const Conv3DOptions& options) {
  const LayerScope scope("conv3d", options.name, options.reuse, options.where);
  const Input in = input_of(scope, inputs, 3, options.data_format);
  const Variable kernel =
      internal::weight("kernel", kernel_shape(scope, list(kernel_size), in.channels, filters), in.x.dtype(),
                       options.kernel_initializer, options.kernel_regularizer, options.trainable);
  const Output y = OpBuilder("Conv3D", {})
                       .input(in.x)
                       .input(kernel)
                       .attr("strides", in.layout.all(list(options.strides)))
                       .attr("padding", internal::padding_of(scope, options.padding))
                       .attr("data_format", in.layout.op_format())
                       .attr("dilations", in.layout.all(list(options.dilation_rate)))
                       .build();
  return internal::finished(y, filters, internal::finish_of(options), in.layout.channels_first);
}

Output conv2d_transpose(const Operand& inputs, std::int64_t filters, Size2 kernel_size,
                        const Conv2DTransposeOptions& options) {
  const LayerScope scope("conv2d_transpose", options.name, options.reuse, options.where);
  const Input in = input_of(scope, inputs, 2, options.data_format);
  const Variable kernel =
      internal::weight("kernel", kernel_shape(scope, list(kernel_size), filters, in.channels), in.x.dtype(),
                       options.kernel_initializer, options.kernel_regularizer, options.trainable);
  const std::string padding = internal::padding_of(scope, options.padding);
  const Sizes sizes = list(kernel_size), strides = list(options.strides);
  const Output shape = transposed_shape(in, filters, sizes, strides, padding == "SAME");
  const Output y = nn::conv2d_transpose(
      in.x, kernel, shape,
      {.strides = in.layout.all(strides), .padding = padding, .data_format = in.layout.op_format()});
  set_transposed_shape(y, in, filters, sizes, strides, padding == "SAME");
  return internal::finished(y, filters, internal::finish_of(options), in.layout.channels_first);
}

Output conv3d_transpose(const Operand& inputs, std::int64_t filters, Size3 kernel_size,
                        const Conv3DTransposeOptions& options) {
  const LayerScope scope("conv3d_transpose", options.name, options.reuse, options.where);
  const Input in = input_of(scope, inputs, 3, options.data_format);
  const Variable kernel =
      internal::weight("kernel", kernel_shape(scope, list(kernel_size), filters, in.channels), in.x.dtype(),
                       options.kernel_initializer, options.kernel_regularizer, options.trainable);
  const std::string padding = internal::padding_of(scope, options.padding);
  const Sizes sizes = list(kernel_size), strides = list(options.strides);
  const Output y = OpBuilder("Conv3DBackpropInputV2", {})
                       .input(transposed_shape(in, filters, sizes, strides, padding == "SAME"))
                       .input(kernel)
                       .input(in.x)
                       .attr("strides", in.layout.all(strides))
                       .attr("padding", padding)
                       .attr("data_format", in.layout.op_format())
                       .build();
  set_transposed_shape(y, in, filters, sizes, strides, padding == "SAME");
  return internal::finished(y, filters, internal::finish_of(options), in.layout.channels_first);
}

Output depthwise_conv2d(const Operand& inputs, Size2 kernel_size, const DepthwiseConv2DOptions& options) {
  const LayerScope scope("depthwise_conv2d", options.name, options.reuse, options.where);
  const Input in = input_of(scope, inputs, 2, options.data_format);
  check_equal_strides(scope, options.strides);
  const Output kernel = depthwise_weight(scope, in, list(kernel_size), options);
  const Output y = nn::depthwise_conv2d(in.x, kernel,
                                        {.strides = in.layout.all(list(options.strides)),
                                         .padding = internal::padding_of(scope, options.padding),
                                         .rate = list(options.dilation_rate),
                                         .data_format = in.layout.op_format()});
  return internal::finished(y, in.channels * options.depth_multiplier, internal::finish_of(options),
                            in.layout.channels_first);
}

Output separable_conv2d(const Operand& inputs, std::int64_t filters, Size2 kernel_size,
                        const SeparableConv2DOptions& options) {
  const LayerScope scope("separable_conv2d", options.name, options.reuse, options.where);
  const Input in = input_of(scope, inputs, 2, options.data_format);
  check_equal_strides(scope, options.strides);
  const Output depthwise = depthwise_weight(scope, in, list(kernel_size), options);
  const Output pointwise =
      internal::weight("pointwise_kernel", kernel_shape(scope, {1, 1}, in.channels * options.depth_multiplier, filters),
                       in.x.dtype(), options.pointwise_initializer, options.pointwise_regularizer, options.trainable);
  const Output y = nn::separable_conv2d(in.x, depthwise, pointwise,
                                        {.strides = in.layout.all(list(options.strides)),
                                         .padding = internal::padding_of(scope, options.padding),
                                         .rate = list(options.dilation_rate),
                                         .data_format = in.layout.op_format()});
  return internal::finished(y, filters, internal::finish_of(options), in.layout.channels_first);
}

Output separable_conv1d(const Operand& inputs, std::int64_t filters, std::int64_t kernel_size,
                        const SeparableConv1DOptions& options) {
  const LayerScope scope("separable_conv1d", options.name, options.reuse, options.where);
  const Input in = input_of(scope, inputs, 1, options.data_format);
  const Output depthwise = depthwise_weight(scope, in, {kernel_size}, options);
  const Output pointwise =
      internal::weight("pointwise_kernel", kernel_shape(scope, {1}, in.channels * options.depth_multiplier, filters),
                       in.x.dtype(), options.pointwise_initializer, options.pointwise_regularizer, options.trainable);
  const int axis = height_axis(in.layout);
  const Output flat =
      nn::separable_conv2d(expand_dims(in.x, axis), expand_dims(depthwise, 0), expand_dims(pointwise, 0),
                           {.strides = in.layout.all({options.strides, options.strides}),
                            .padding = internal::padding_of(scope, options.padding),
                            .rate = {1, options.dilation_rate},
                            .data_format = in.layout.op_format()});
  return internal::finished(squeeze(flat, {axis}), filters, internal::finish_of(options), in.layout.channels_first);
}

}  // namespace caudal::inline v0::layers
