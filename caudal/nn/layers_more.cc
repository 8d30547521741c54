#include "caudal/nn/layers_more.h"

#include "caudal/nn/layer_scope.h"
#include "caudal/ops/activation.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/dropout.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/embedding.h"
#include "caudal/ops/joining.h"
#include "caudal/ops/matmul.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/random.h"
#include "caudal/ops/reduction.h"
#include "caudal/ops/selection.h"
#include "caudal/ops/shape_ops.h"
#include "caudal/ops/slicing.h"

namespace caudal::inline v0::layers {
namespace {

using caudal::internal::concat;
using internal::LayerScope;

// How many times smaller `to` is than `from`, rounding up; 0 if no whole factor does it.
std::int64_t stride_between(std::int64_t from, std::int64_t to) {
  if (from < 0 || to < 1) return from == to ? 1 : 0;
  const std::int64_t stride = (from + to - 1) / to;
  return (from + stride - 1) / stride == to ? stride : 0;
}

// The inputs in the shape of the block's result.
Output shortcut(const LayerScope& scope, const Output& x, const Output& y, const ResidualOptions& options) {
  if (x.shape().compatible(y.shape()) && x.shape().has_rank() && x.shape()[-1] == y.shape()[-1]) return x;
  const int rank = x.shape().rank();
  const std::int64_t channels = y.shape().has_rank() && y.shape().rank() > 0 ? y.shape()[-1] : -1;
  if (rank == y.shape().rank() && channels > 0) {
    if (rank == 2) {
      return dense(x, channels,
                   {.use_bias = false,
                    .kernel_initializer = options.kernel_initializer,
                    .kernel_regularizer = options.kernel_regularizer,
                    .name = "shortcut"});
    }
    const std::int64_t down = rank == 4 ? stride_between(x.shape()[1], y.shape()[1]) : 0;
    const std::int64_t across = rank == 4 ? stride_between(x.shape()[2], y.shape()[2]) : 0;
    if (down > 0 && across > 0) {
      return conv2d(x, channels, {1, 1},
                    {.strides = {down, across},
                     .padding = "same",
                     .use_bias = false,
                     .kernel_initializer = options.kernel_initializer,
                     .kernel_regularizer = options.kernel_regularizer,
                     .name = "shortcut"});
    }
  }
  throw scope.error(concat("the block makes ", y.describe(), " of ", x.describe(), ", which cannot be added"))
      .hint("It may change the last dimension, and make images smaller by a whole factor.");
}

}  // namespace

Output dropconnect(const Operand& inputs, std::int64_t units, const DropconnectOptions& options) {
  const LayerScope scope("dropconnect", options.name, options.reuse, options.where);
  const Output x = inputs.to_output(float32);
  internal::check_positive(scope, "the number of units", {units});
  if (!(options.rate >= 0 && options.rate < 1)) {
    throw scope.error(concat("the rate is ", options.rate)).hint("It is the share of weights to drop, below 1.");
  }
  if (x.shape().rank() != 2 || x.shape()[1] < 0) {
    throw scope.error("inputs are " + x.describe() + "; [batch, n] is wanted, n known");
  }
  const Variable kernel = internal::weight("kernel", {x.shape()[1], units}, x.dtype(), options.kernel_initializer,
                                           options.kernel_regularizer, options.trainable);
  const Output used = internal::choose(
      options.training,
      [&]() -> Outputs { return {nn::dropout(kernel, {.seed = options.seed, .rate = options.rate})}; },
      [&]() -> Outputs { return {identity(kernel)}; })[0];
  return internal::finished(matmul(x, used), units, internal::finish_of(options));
}

Output maxout(const Operand& inputs, std::int64_t num_units, const MaxoutOptions& options) {
  const LayerScope scope("maxout", options.name, false, options.where);
  const Output x = inputs.to_output(float32);
  const int rank = x.shape().rank();
  const int axis = options.axis < 0 ? options.axis + rank : options.axis;
  if (rank < 1 || axis < 0 || axis >= rank || x.shape()[axis] < 0) {
    throw scope.error(concat("inputs are ", x.describe(), "; dimension ", options.axis, " must be known"));
  }
  if (num_units < 1 || x.shape()[axis] % num_units != 0) {
    throw scope.error(concat(x.shape()[axis], " channels cannot be made ", num_units, " groups"))
        .hint("The number of units must divide the number of channels.");
  }
  // Unknown sizes are taken from x when this runs.
  std::vector<Operand> sizes;
  const Output whole = shape_of(x);
  for (int i = 0; i < rank; ++i) {
    const std::int64_t size = i == axis ? num_units : x.shape()[i];
    sizes.push_back(size >= 0 ? Operand(static_cast<int>(size)) : Operand(index(whole, {i})));
  }
  sizes.push_back(static_cast<int>(x.shape()[axis] / num_units));
  const Output y = reduce_max(reshape(x, stack(sizes)), {.axis = -1});
  y.set_shape(x.shape().with_dim(axis, num_units));
  return y;
}

Output embedding(const Operand& ids, std::int64_t vocab_size, std::int64_t embed_dim, const EmbeddingOptions& options) {
  const LayerScope scope("embedding", options.name, options.reuse, options.where);
  internal::check_positive(scope, "vocab_size", {vocab_size});
  internal::check_positive(scope, "embed_dim", {embed_dim});
  const Output numbers = ids.to_output(int32);
  if (numbers.dtype() != int32 && numbers.dtype() != int64) {
    throw scope.error("ids are " + numbers.describe() + "; int32 or int64 is wanted");
  }
  const Variable table = internal::weight("embeddings", {vocab_size, embed_dim}, float32, options.initializer,
                                          options.regularizer, options.trainable);
  return nn::embedding_lookup({table}, numbers, {.max_norm = options.max_norm});
}

Output prelu(const Operand& inputs, const PreluOptions& options) {
  const LayerScope scope("p_re_lu", options.name, options.reuse, options.where);
  const Output x = inputs.to_output(float32);
  if (x.shape().rank() < 1) throw scope.error("inputs are " + x.describe() + "; their rank must be known");
  std::vector<std::int64_t> sizes(x.shape().dims().begin() + 1, x.shape().dims().end());
  for (const int axis : options.shared_axes) {
    const int i = axis < 0 ? axis + x.shape().rank() : axis;
    if (i < 1 || i >= x.shape().rank()) throw scope.error(concat("there is no dimension ", axis, " to share"));
    sizes[static_cast<std::size_t>(i - 1)] = 1;
  }
  for (const std::int64_t size : sizes) {
    if (size < 0) {
      throw scope.error("inputs are " + x.describe() + "; all dimensions but the batch must be known")
          .hint("Name those that are not in shared_axes.");
    }
  }
  const Variable alpha = internal::weight("alpha", sizes, x.dtype(), options.alpha_initializer,
                                          options.alpha_regularizer, options.trainable);
  return nn::relu(x) - alpha * nn::relu(-x);
}

Output residual(const Operand& inputs, const std::function<Output(const Output&)>& block,
                const ResidualOptions& options) {
  const LayerScope scope("residual", options.name, options.reuse, options.where);
  const Output x = inputs.to_output(float32);
  const Output y = block(x);
  const Output sum = shortcut(scope, x, y, options) + y;
  return options.activation ? options.activation(sum) : sum;
}

}  // namespace caudal::inline v0::layers

namespace caudal::inline v0::nn {

Output rrelu(const Operand& features, const RreluOptions& options) {
  const LocationScope location(options.where);
  const NameScope scope(options.name.empty() ? "rrelu" : options.name);
  if (!(options.lower <= options.upper)) {
    throw invalid_argument("rrelu: the slope's limits are ", options.lower, " and ", options.upper)
        .made_at(short_location(options.where));
  }
  const Output x = features.to_output(float32);
  const Output slope = layers::internal::choose(
      options.training,
      [&]() -> Outputs {
        return {random_uniform(shape_of(x), {.minval = Operand(options.lower),
                                             .maxval = Operand(options.upper),
                                             .dtype = x.dtype(),
                                             .seed = options.seed})};
      },
      [&]() -> Outputs {
        return {fill(shape_of(x), Operand((options.lower + options.upper) / 2).to_output(x.dtype()))};
      })[0];
  return where(greater_equal(x, 0), x, slope * x);
}

Output hard_sigmoid(const Operand& given, const OpOptions& options) {
  const LocationScope location(options.where);
  const NameScope scope(options.name.empty() ? "hard_sigmoid" : options.name);
  return clip_by_value(0.2 * given.to_output(float32) + 0.5, 0, 1);
}

Output hard_tanh(const Operand& x, const OpOptions& options) {
  const LocationScope location(options.where);
  return clip_by_value(x.to_output(float32), -1, 1, {.name = options.name.empty() ? "hard_tanh" : options.name});
}

Output hard_swish(const Operand& given, const OpOptions& options) {
  const LocationScope location(options.where);
  const NameScope scope(options.name.empty() ? "hard_swish" : options.name);
  const Output x = given.to_output(float32);
  return x * relu6(x + 3) * (1.0 / 6.0);
}

}  // namespace caudal::inline v0::nn
