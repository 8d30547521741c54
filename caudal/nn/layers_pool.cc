#include "caudal/nn/layers_pool.h"

#include "caudal/nn/layer_scope.h"
#include "caudal/ops/shape_ops.h"

namespace caudal::inline v0::layers {
namespace {

using internal::LayerScope;
using Sizes = std::vector<std::int64_t>;

Output pooling(std::string_view op, std::string_view function, const Operand& inputs, const Sizes& pool_size,
               const Sizes& strides, const PoolingOptions& options) {
  const LayerScope scope(function, options.name, false, options.where);
  const int spatial = static_cast<int>(pool_size.size());
  const auto layout = internal::layout_of(scope, spatial, options.data_format);
  const Output x = inputs.to_output(float32);
  if (x.shape().has_rank() && x.shape().rank() != spatial + 2) {
    throw scope.error(caudal::internal::concat("inputs are ", x.describe(), "; ", spatial + 2,
                                               " dimensions are wanted, with a batch first"));
  }
  internal::check_positive(scope, "pool_size", pool_size);
  internal::check_positive(scope, "strides", strides);
  // One dimension is pooled as two, with a size of 1 behind it.
  const bool line = spatial == 1;
  const int extra_axis = layout.channels_first ? 3 : 2;
  const auto window = [&](Sizes sizes) {
    if (line) sizes.push_back(1);
    return layout.all(sizes);
  };
  const Output y = OpBuilder(op, {})
                       .input(line ? expand_dims(x, extra_axis) : x)
                       .attr("ksize", window(pool_size))
                       .attr("strides", window(strides))
                       .attr("padding", internal::padding_of(scope, options.padding))
                       .attr("data_format", layout.op_format())
                       .build();
  return line ? squeeze(y, {extra_axis}) : y;
}

Sizes list(const Size3& sizes) { return {sizes.begin(), sizes.end()}; }

}  // namespace

Output max_pooling1d(const Operand& inputs, std::int64_t pool_size, std::int64_t strides,
                     const PoolingOptions& options) {
  return pooling("MaxPool", "max_pooling1d", inputs, {pool_size}, {strides}, options);
}
Output average_pooling1d(const Operand& inputs, std::int64_t pool_size, std::int64_t strides,
                         const PoolingOptions& options) {
  return pooling("AvgPool", "average_pooling1d", inputs, {pool_size}, {strides}, options);
}
Output max_pooling3d(const Operand& inputs, Size3 pool_size, Size3 strides, const PoolingOptions& options) {
  return pooling("MaxPool3D", "max_pooling3d", inputs, list(pool_size), list(strides), options);
}
Output average_pooling3d(const Operand& inputs, Size3 pool_size, Size3 strides, const PoolingOptions& options) {
  return pooling("AvgPool3D", "average_pooling3d", inputs, list(pool_size), list(strides), options);
}

}  // namespace caudal::inline v0::layers
