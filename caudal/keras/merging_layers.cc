// Layers of several inputs: sums, products, concatenation, dot products.
#include <algorithm>

#include "caudal/base/error.h"
#include "caudal/base/strings.h"
#include "caudal/keras/layer_util.h"
#include "caudal/keras/layers.h"
#include "caudal/ops/cast.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/joining.h"
#include "caudal/ops/matmul.h"
#include "caudal/ops/reduction.h"
#include "caudal/ops/shape_ops.h"
#include "caudal/ops/transpose_ops.h"

namespace caudal::inline v0::keras {
namespace {

using layers::LayerOptions;

std::string shapes_text(const Outputs& inputs) {
  std::vector<std::string> texts;
  for (const Output& input : inputs) texts.push_back(input.shape().to_string());
  return join(texts, " and ");
}

// Element by element; inputs of fewer dimensions repeat over the steps behind the batch.
class Merge : public Layer {
 public:
  Merge(const char* class_name, const LayerOptions& o) : Layer(class_name, o.name, o.trainable) {}

 protected:
  virtual Output merged(const Outputs& inputs) = 0;

  Outputs call(const Outputs& inputs, CallContext&) override {
    if (inputs.size() < 2) throw invalid_argument("at least two inputs are wanted, there is ", inputs.size());
    int rank = 0;
    for (const Output& input : inputs) rank = std::max(rank, input.shape().rank());
    Outputs same;
    for (const Output& input : inputs) {
      Output x = input;
      while (x.shape().rank() < rank) x = expand_dims(x, 1);
      same.push_back(x);
    }
    for (std::size_t i = 1; i < same.size(); ++i) {
      for (int d = 0; d < rank; ++d) {
        const std::int64_t a = same[0].shape()[d], b = same[i].shape()[d];
        if (a < 0 || b < 0 || a == b || a == 1 || b == 1) continue;
        throw invalid_argument("inputs of shapes ", shapes_text(inputs), " cannot be merged: ", a, " and ", b,
                               " in dimension ", d)
            .hint("Make the branches end in the same shape.");
      }
    }
    return {merged(same)};
  }
  // A step counts if it does in any of the inputs; without a mask on one of them all do.
  Outputs compute_mask(const Outputs&, const Outputs&, const Outputs& masks) override {
    Output out;
    for (const Output& mask : masks) {
      if (!mask) return {};
      out = out ? logical_or(out, mask) : mask;
    }
    return {out};
  }
};

Output sum_of(const Outputs& inputs) {
  Output sum = inputs[0];
  for (std::size_t i = 1; i < inputs.size(); ++i) sum = sum + inputs[i];
  return sum;
}

#define CAUDAL_MERGE(name, expression)                                    \
  struct name##Layer final : Merge {                                      \
    explicit name##Layer(const LayerOptions& o = {}) : Merge(#name, o) {} \
    Output merged(const Outputs& in) override { return expression; }      \
  };                                                                      \
  CAUDAL_KERAS_LAYER(name##Layer, #name)

template <class F>
Output folded(const Outputs& inputs, F function) {
  Output out = inputs[0];
  for (std::size_t i = 1; i < inputs.size(); ++i) out = function(out, inputs[i]);
  return out;
}
Output difference(const Outputs& inputs) {
  if (inputs.size() != 2) throw invalid_argument("two inputs are wanted, there are ", inputs.size());
  return inputs[0] - inputs[1];
}

CAUDAL_MERGE(Add, sum_of(in));
CAUDAL_MERGE(Subtract, difference(in));
CAUDAL_MERGE(Multiply, folded(in, [](const Output& a, const Output& b) { return a * b; }));
CAUDAL_MERGE(Average, sum_of(in) / static_cast<double>(in.size()));
CAUDAL_MERGE(Maximum, folded(in, [](const Output& a, const Output& b) { return maximum(a, b); }));
CAUDAL_MERGE(Minimum, folded(in, [](const Output& a, const Output& b) { return minimum(a, b); }));
#undef CAUDAL_MERGE

class ConcatenateLayer final : public Layer {
 public:
  explicit ConcatenateLayer(std::int64_t axis = -1, const LayerOptions& o = {})
      : Layer("Concatenate", o.name, o.trainable), axis_(axis) {}

 protected:
  Outputs call(const Outputs& inputs, CallContext&) override {
    if (inputs.empty()) throw invalid_argument("there are no inputs");
    const int rank = inputs[0].shape().rank();
    const int axis = static_cast<int>(axis_ < 0 ? axis_ + rank : axis_);
    for (const Output& input : inputs) {
      bool fits = input.shape().rank() == rank && axis >= 0 && axis < rank;
      for (int d = 0; fits && d < rank; ++d) {
        const std::int64_t a = inputs[0].shape()[d], b = input.shape()[d];
        fits = d == axis || a < 0 || b < 0 || a == b;
      }
      if (!fits) {
        throw invalid_argument("inputs of shapes ", shapes_text(inputs), " cannot be joined along axis ", axis_)
            .hint("All sizes but that of the axis must agree.");
      }
    }
    return {concat(inputs, axis)};
  }
  Outputs compute_mask(const Outputs& inputs, const Outputs&, const Outputs& masks) override {
    bool any = false;
    for (const Output& mask : masks) any = any || static_cast<bool>(mask);
    if (!any) return {};
    Outputs parts;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      Output mask = masks[i] ? masks[i] : Output();
      const Output all = not_equal(zeros_like(inputs[i]), 1.0F);
      while (mask && mask.shape().rank() < inputs[i].shape().rank()) mask = expand_dims(mask, -1);
      parts.push_back(mask ? logical_and(all, mask) : all);
    }
    return {reduce_all(concat(parts, static_cast<int>(axis_)), {.axis = -1})};
  }
  void fields(Fields& f) override { f("axis", axis_); }

 private:
  std::int64_t axis_;
};
CAUDAL_KERAS_LAYER(ConcatenateLayer, "Concatenate");

// Along one axis of each of two inputs; the other axes behind the batch remain.
class DotLayer final : public Layer {
 public:
  explicit DotLayer(std::vector<std::int64_t> axes = {-1}, bool normalize = false, const LayerOptions& o = {})
      : Layer("Dot", o.name, o.trainable), axes_(std::move(axes)), normalize_(normalize) {}

 protected:
  Outputs call(const Outputs& inputs, CallContext&) override {
    if (inputs.size() != 2) throw invalid_argument("two inputs are wanted, there are ", inputs.size());
    const std::vector<std::int64_t> axes = spread("axes", axes_, 2);
    Output a = last(inputs[0], axes[0]), b = last(inputs[1], axes[1]);
    const std::int64_t n = a.shape()[-1], m = b.shape()[-1];
    if (n >= 0 && m >= 0 && n != m) {
      throw invalid_argument("inputs of shapes ", shapes_text(inputs), ": ", n, " and ", m, " elements along the axes");
    }
    if (normalize_) {
      a = unit(a);
      b = unit(b);
    }
    const bool vector_a = a.shape().rank() == 2, vector_b = b.shape().rank() == 2;
    Output y = matmul(vector_a ? expand_dims(a, 1) : a, vector_b ? expand_dims(b, 1) : b, {.transpose_b = true});
    if (vector_a && vector_b) return {squeeze(y, {2})};
    if (vector_a) return {squeeze(y, {1})};
    return {vector_b ? squeeze(y, {2}) : y};
  }
  void fields(Fields& f) override {
    Config axes = axes_.size() == 1 ? Config(axes_[0]) : Config::integers(axes_);
    f.raw("axes", axes);
    if (f.reading() && axes.is_number()) axes_ = {axes.integer()};
    if (f.reading() && axes.is_list()) {
      axes_.clear();
      for (const Config& item : axes.list()) axes_.push_back(item.integer());
    }
    f("normalize", normalize_);
  }

 private:
  static Output last(const Output& x, std::int64_t axis) {
    const std::int64_t rank = x.shape().rank();
    if (axis < 0) axis += rank;
    if (rank > 3 || axis < 1 || axis >= rank) throw invalid_argument("axis ", axis, " of ", x.shape());
    if (axis == rank - 1) return x;
    return transpose(x, {0, 2, 1});
  }
  static Output unit(const Output& x) {
    return x * rsqrt(maximum(reduce_sum(square(x), {.axis = -1, .keepdims = true}), 1e-12F));
  }

  std::vector<std::int64_t> axes_;
  bool normalize_;
};
CAUDAL_KERAS_LAYER(DotLayer, "Dot");

}  // namespace

namespace layers {
LayerRef Add(const LayerOptions& o) { return make_layer<AddLayer>(o); }
LayerRef Subtract(const LayerOptions& o) { return make_layer<SubtractLayer>(o); }
LayerRef Multiply(const LayerOptions& o) { return make_layer<MultiplyLayer>(o); }
LayerRef Average(const LayerOptions& o) { return make_layer<AverageLayer>(o); }
LayerRef Maximum(const LayerOptions& o) { return make_layer<MaximumLayer>(o); }
LayerRef Minimum(const LayerOptions& o) { return make_layer<MinimumLayer>(o); }
LayerRef Concatenate(std::int64_t axis, const LayerOptions& o) { return make_layer<ConcatenateLayer>(axis, o); }
LayerRef Dot(std::vector<std::int64_t> axes, bool normalize, const LayerOptions& o) {
  return make_layer<DotLayer>(std::move(axes), normalize, o);
}
}  // namespace layers

}  // namespace caudal::inline v0::keras
