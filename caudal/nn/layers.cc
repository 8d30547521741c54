#include "caudal/nn/layers.h"

#include "caudal/nn/layer_scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/conv.h"
#include "caudal/ops/dropout.h"
#include "caudal/ops/joining.h"
#include "caudal/ops/matmul.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/pool.h"
#include "caudal/ops/shape_ops.h"
#include "caudal/ops/slicing.h"

namespace caudal::inline v0::layers {
namespace {

using internal::LayerScope;

// Rows of a matrix that was [..., n], back as [..., units].
Output with_leading_dims(const Output& matrix, const Output& like, std::int64_t units) {
  const int rank = like.shape().rank();
  const Output leading = slice(shape(like), {0}, {rank - 1});
  const Output result = reshape(matrix, concat({leading, int32_vector({units})}, 0));
  result.set_shape(like.shape().with_dim(-1, units));
  return result;
}

std::vector<std::int64_t> list(const Size2& size) { return {size.begin(), size.end()}; }

using PoolFunction = Output (*)(const Operand&, const nn::PoolOptions&);
Output pooling(PoolFunction pool, std::string_view function, const Operand& inputs, Size2 pool_size, Size2 strides,
               const Pooling2DOptions& options) {
  const LayerScope scope(function, options.name, false, options.where);
  const auto layout = internal::layout_of(scope, 2, options.data_format);
  const Output x = inputs.to_output(float32);
  if (x.shape().has_rank() && x.shape().rank() != 4) {
    throw scope.error("inputs are " + x.describe() + "; four dimensions are wanted, with a batch first");
  }
  internal::check_positive(scope, "pool_size", list(pool_size));
  internal::check_positive(scope, "strides", list(strides));
  return pool(x, {.ksize = layout.all(list(pool_size)),
                  .strides = layout.all(list(strides)),
                  .padding = internal::padding_of(scope, options.padding),
                  .data_format = layout.op_format()});
}

}  // namespace

Output dense(const Operand& inputs, std::int64_t units, const DenseOptions& options) {
  const LayerScope scope("dense", options.name, options.reuse, options.where);
  const Output x = inputs.to_output(float32);
  internal::check_positive(scope, "the number of units", {units});
  if (x.shape().rank() < 2 || x.shape()[-1] < 0) {
    throw scope.error("inputs are " + x.describe() + "; the last dimension must be known, with a batch before it")
        .hint(x.shape().rank() > 2 ? "" : "Give the placeholder a shape such as {-1, 784}.");
  }
  const std::int64_t n = x.shape()[-1];
  const Variable kernel = internal::weight("kernel", {n, units}, x.dtype(), options.kernel_initializer,
                                           options.kernel_regularizer, options.trainable);
  const bool matrix = x.shape().rank() == 2;
  Output y = matmul(matrix ? x : reshape(x, {-1, static_cast<int>(n)}), kernel);
  if (!matrix) y = with_leading_dims(y, x, units);
  return internal::finished(y, units, internal::finish_of(options));
}

Output conv2d(const Operand& inputs, std::int64_t filters, Size2 kernel_size, const Conv2DOptions& options) {
  const LayerScope scope("conv2d", options.name, options.reuse, options.where);
  const auto layout = internal::layout_of(scope, 2, options.data_format);
  const Output x = inputs.to_output(float32);
  const std::int64_t channels = internal::channels_of(scope, layout, x);
  internal::check_positive(scope, "the number of filters", {filters});
  internal::check_positive(scope, "kernel_size", list(kernel_size));
  const Variable kernel = internal::weight("kernel", {kernel_size[0], kernel_size[1], channels, filters}, x.dtype(),
                                           options.kernel_initializer, options.kernel_regularizer, options.trainable);
  const Output y = nn::conv2d(x, kernel,
                              {.strides = layout.all(list(options.strides)),
                               .padding = internal::padding_of(scope, options.padding),
                               .data_format = layout.op_format(),
                               .dilations = layout.all(list(options.dilation_rate))});
  return internal::finished(y, filters, internal::finish_of(options), layout.channels_first);
}

Output max_pooling2d(const Operand& inputs, Size2 pool_size, Size2 strides, const Pooling2DOptions& options) {
  return pooling(nn::max_pool, "max_pooling2d", inputs, pool_size, strides, options);
}

Output average_pooling2d(const Operand& inputs, Size2 pool_size, Size2 strides, const Pooling2DOptions& options) {
  return pooling(nn::avg_pool, "average_pooling2d", inputs, pool_size, strides, options);
}

Output flatten(const Operand& inputs, const OpOptions& options) {
  const LayerScope scope("flatten", options.name, false, options.where);
  const Output x = inputs.to_output(float32);
  std::int64_t size = 1;
  for (int i = 1; i < x.shape().rank(); ++i) size = x.shape()[i] < 0 || size < 0 ? -1 : size * x.shape()[i];
  if (x.shape().rank() < 1 || size < 0) {
    throw scope.error("inputs are " + x.describe() + "; all dimensions but the batch must be known");
  }
  return reshape(x, {-1, static_cast<int>(size)});
}

Output dropout(const Operand& inputs, const DropoutOptions& options) {
  const LayerScope scope("dropout", options.name, false, options.where);
  const Output x = inputs.to_output(float32);
  if (!(options.rate >= 0 && options.rate < 1)) {
    throw scope.error(caudal::internal::concat("the rate is ", options.rate))
        .hint("It is the share of elements to drop, from 0 to below 1.");
  }
  const Output y = internal::choose(
      options.training,
      [&]() -> Outputs {
        return {nn::dropout(x, {.noise_shape = options.noise_shape, .seed = options.seed, .rate = options.rate})};
      },
      [&]() -> Outputs { return {identity(x)}; })[0];
  y.set_shape(x.shape());
  return y;
}

}  // namespace caudal::inline v0::layers
