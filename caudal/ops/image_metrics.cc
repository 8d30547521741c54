#include "caudal/ops/image_metrics.h"

#include <algorithm>
#include <cmath>

#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/activation.h"
#include "caudal/ops/cast.h"
#include "caudal/ops/conv.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/image_adjust.h"
#include "caudal/ops/joining.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/padding.h"
#include "caudal/ops/pool.h"
#include "caudal/ops/reduction.h"
#include "caudal/ops/shape_ops.h"
#include "caudal/ops/slicing.h"

namespace caudal::inline v0::image {
namespace {

// ---- Structural similarity

struct Measure {
  std::int64_t filter_size;
  float filter_sigma, k1, k2;
};

// size * size weights that sum up to 1.
Output gaussian_window(const Measure& measure, const Output& channels) {
  const std::int64_t size = measure.filter_size;
  std::vector<float> weights(static_cast<std::size_t>(size * size));
  const float middle = static_cast<float>(size - 1) / 2.0F;
  const float scale = -0.5F / (measure.filter_sigma * measure.filter_sigma);
  const auto exponent = [&](std::int64_t i) {
    const float x = static_cast<float>(i) - middle;
    return x * x * scale;
  };
  float sum = 0;
  for (std::int64_t i = 0; i < size * size; ++i) {
    weights[i] = std::exp(exponent(i / size) + exponent(i % size));
    sum += weights[i];
  }
  for (float& weight : weights) weight /= sum;
  const Output window = Operand(Tensor::from<float>({size, size, 1, 1}, weights)).to_output();
  return tile(window, concat({int32_vector({1, 1}), channels, int32_vector({1})}, 0));
}

Output last_sizes(const Output& shape, int count) { return index(shape, {Slice{-count, {}}}); }

struct Similarity {
  Output whole, contrast;  // [..., channels]
};

// Of pictures [batch, height, width, channels].
Similarity similarity(const Output& x, const Output& y, const Output& max_val, const Measure& measure) {
  const PartialShape& shape = x.shape();
  for (const int axis : {1, 2}) {
    if (shape.dim(axis) >= 0 && shape.dim(axis) < measure.filter_size) {
      throw invalid_argument("pictures of shape ", shape, " are smaller than the window of ", measure.filter_size)
          .hint("Give a smaller filter_size.");
    }
  }
  const Output window = gaussian_window(measure, last_sizes(shape_of(x), 1));
  const auto reduced = [&](const Output& value) { return nn::depthwise_conv2d(value, window); };
  const Output c1 = square(measure.k1 * max_val), c2 = square(measure.k2 * max_val);
  const Output mean0 = reduced(x), mean1 = reduced(y);
  const Output product = mean0 * mean1 * 2, squares = square(mean0) + square(mean1);
  const Output luminance = (product + c1) / (squares + c1);
  const Output contrast = (reduced(x * y) * 2 - product + c2) / (reduced(square(x) + square(y)) - squares + c2);
  return {reduce_mean(luminance * contrast, {.axis = {1, 2}}), reduce_mean(contrast, {.axis = {1, 2}})};
}

// Both pictures as float32 batches, and the scale of their values.
struct Pair {
  Output x, y, max_val, outer;  // outer: the sizes before height
};

Pair pair_of(const Operand& a, const Operand& b, const Operand& max_val) {
  const Output x = a.to_output(), y = b.to_output();
  for (const Output& picture : {x, y}) {
    if (picture.shape().has_rank() && picture.shape().rank() < 3) {
      throw invalid_argument("a picture has at least 3 dimensions, not ", picture.shape());
    }
  }
  if (x.dtype() != y.dtype() || !x.shape().compatible(y.shape())) {
    throw invalid_argument("pictures that are compared must be alike: ", x.describe(), " and ", y.describe());
  }
  const Output scale = cast(max_val.to_output(x.dtype()), x.dtype());
  const auto in_float = [](const Output& value) { return convert_image_dtype(value, DType::kFloat); };
  return {in_float(x), in_float(y), in_float(scale), index(shape_of(x), {Slice{0, -3}})};
}

Output flat_batch(const Output& x) {
  if (x.shape().rank() == 4) return x;
  return reshape(x, concat({int32_vector({-1}), last_sizes(shape_of(x), 3)}, 0));
}

// A value for each picture of the batch, in the batch's shape.
Output per_picture(const Output& values, const Output& outer) { return reshape(values, outer); }

// Half as large; odd sides grow by their last pixel first.
Output halved(const Output& x) {
  const Output odd = floormod(slice(shape_of(x), {1}, {2}), 2);
  const Output after = concat({int32_vector({0}), odd, int32_vector({0})}, 0);
  const Output paddings = stack({OpBuilder("ZerosLike", {}).input(after).build(), after}, 1);
  return nn::avg_pool(pad(x, paddings, {.mode = PadMode::kSymmetric}),
                      {.ksize = {1, 2, 2, 1}, .strides = {1, 2, 2, 1}, .padding = "VALID"});
}

// x[1:] - x[:-1] along an axis.
Output differences(const Output& x, int axis) {
  std::vector<IndexItem> next(static_cast<std::size_t>(axis), kAll), before = next;
  next.emplace_back(Slice{1, {}});
  before.emplace_back(Slice{{}, -1});
  return index(x, next) - index(x, before);
}

void require_batch(const Output& image) {
  if (!image.shape().has_rank() || image.shape().rank() != 4) {
    throw invalid_argument("pictures [batch, height, width, depth] are wanted, not ", image.shape());
  }
}

// Zeros after the last row (axis 1) or column (2).
Output with_zeros_after(const Output& x, int axis) {
  Tensor paddings = Tensor::zeros(DType::kInt32, {4, 2});
  paddings.data<std::int32_t>()[2 * axis + 1] = 1;
  return pad(x, paddings);
}

}  // namespace

// ---- Public functions

Output psnr(const Operand& a, const Operand& b, const Operand& max_val, const OpOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope("PSNR");
  const Pair pair = pair_of(a, b, max_val);
  const Output error = reduce_mean(squared_difference(pair.x, pair.y), {.axis = {-3, -2, -1}});
  return 20 * log(pair.max_val) / std::log(10.0F) - static_cast<float>(10 / std::log(10.0)) * log(error);
}

Output ssim(const Operand& img1, const Operand& img2, const Operand& max_val, const SsimOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope("SSIM");
  const Pair pair = pair_of(img1, img2, max_val);
  const Similarity found = similarity(flat_batch(pair.x), flat_batch(pair.y), pair.max_val,
                                      {options.filter_size, options.filter_sigma, options.k1, options.k2});
  return per_picture(reduce_mean(found.whole, {.axis = -1}), pair.outer);
}

Output ssim_multiscale(const Operand& img1, const Operand& img2, const Operand& max_val,
                       const SsimMultiscaleOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope("MS_SSIM");
  if (options.power_factors.empty()) throw invalid_argument("power_factors are empty");
  const Pair pair = pair_of(img1, img2, max_val);
  Output x = flat_batch(pair.x), y = flat_batch(pair.y);
  std::vector<Output> factors;
  for (std::size_t k = 0; k < options.power_factors.size(); ++k) {
    if (k > 0) {
      x = halved(x);
      y = halved(y);
    }
    const Similarity found =
        similarity(x, y, pair.max_val, {options.filter_size, options.filter_sigma, options.k1, options.k2});
    const bool last = k + 1 == options.power_factors.size();
    factors.push_back(nn::relu(last ? found.whole : found.contrast));
  }
  const Output product = reduce_prod(pow(stack(factors, -1), options.power_factors), {.axis = -1});
  return per_picture(reduce_mean(product, {.axis = -1}), pair.outer);
}

Output total_variation(const Operand& images, const OpOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope("total_variation");
  const Output x = images.to_output();
  const int rank = x.shape().rank();
  if (rank != 3 && rank != 4) {
    throw invalid_argument("pictures of shape ", x.shape(), ": one of 3 dimensions or a batch of such is wanted");
  }
  const Axes axes = rank == 3 ? Axes({0, 1, 2}) : Axes({1, 2, 3});
  return reduce_sum(abs(differences(x, rank - 3)), {.axis = axes}) +
         reduce_sum(abs(differences(x, rank - 2)), {.axis = axes});
}

ImageGradients image_gradients(const Operand& image, const OpOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope("image_gradients");
  const Output x = image.to_output();
  require_batch(x);
  return {with_zeros_after(differences(x, 1), 1), with_zeros_after(differences(x, 2), 2)};
}

Output sobel_edges(const Operand& image, const OpOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope("sobel_edges");
  const Output x = image.to_output();
  require_batch(x);
  // [rows, columns, 1, 2]: dy and dx of each place.
  const Tensor filters =
      Tensor::from<float>({3, 3, 1, 2}, {-1, -1, -2, 0, -1, 1, 0, -2, 0, 0, 0, 2, 1, -1, 2, 0, 1, 1});
  const Output shape = shape_of(x);
  const Output kernels = tile(convert_number(filters, x.dtype()),
                              concat({int32_vector({1, 1}), last_sizes(shape, 1), int32_vector({1})}, 0));
  const Output padded =
      pad(x, Tensor::from<std::int32_t>({4, 2}, {0, 0, 1, 1, 1, 1, 0, 0}), {.mode = PadMode::kReflect});
  return reshape(nn::depthwise_conv2d(padded, kernels), concat({shape, int32_vector({2})}, 0));
}

}  // namespace caudal::inline v0::image
