// Flatten, Reshape, Permute, RepeatVector, padding, cropping, up-sampling.
#include "caudal/base/error.h"
#include "caudal/keras/layer_util.h"
#include "caudal/keras/layers.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/joining.h"
#include "caudal/ops/padding.h"
#include "caudal/ops/shape_ops.h"
#include "caudal/ops/slicing.h"
#include "caudal/ops/transpose_ops.h"

namespace caudal::inline v0::keras {
namespace {

using layers::LayerOptions;

class FlattenLayer final : public Layer {
 public:
  explicit FlattenLayer(const LayerOptions& o = {}) : Layer("Flatten", o.name) {}

 protected:
  Outputs call(const Outputs& inputs, CallContext&) override {
    const PartialShape& shape = inputs[0].shape();
    if (!shape.has_rank() || shape.rank() < 1) throw invalid_argument("the input has ", shape);
    if (shape.rank() == 1) return {expand_dims(inputs[0], -1)};
    std::int64_t width = 1;
    for (int i = 1; i < shape.rank(); ++i) width = shape[i] < 0 || width < 0 ? -1 : width * shape[i];
    if (width >= 0) return {reshape(inputs[0], {-1, static_cast<int>(width)})};
    return {reshape(inputs[0], concat({dim_of(inputs[0], 0), constant(Tensor(std::vector<int>{-1}))}, 0))};
  }
  void fields(Fields& f) override { channels_last_field(f); }
};
CAUDAL_KERAS_LAYER(FlattenLayer, "Flatten");

class ReshapeLayer final : public Layer {
 public:
  explicit ReshapeLayer(std::vector<std::int64_t> target = {}, const LayerOptions& o = {})
      : Layer("Reshape", o.name), target_(std::move(target)) {}

 protected:
  Outputs call(const Outputs& inputs, CallContext&) override {
    const PartialShape& from = inputs[0].shape();
    std::int64_t have = 1, want = 1, open = 0;
    for (int i = 1; i < from.rank(); ++i) have = from[i] < 0 || have < 0 ? -1 : have * from[i];
    for (const std::int64_t size : target_) size < 0 ? void(++open) : void(want *= size);
    if (open > 1) throw invalid_argument("target_shape has more than one size of -1");
    if (have >= 0 && (open == 0 ? want != have : want == 0 || have % want != 0)) {
      throw invalid_argument("rows of ", have, " elements cannot become ", Config::integers(target_).to_json());
    }
    std::vector<std::int64_t> to = target_;
    if (have >= 0 && open == 1) {
      for (std::int64_t& size : to) size = size < 0 ? have / want : size;
      open = 0;
    }
    if (open == 0) {
      to.insert(to.begin(), -1);
      return {reshape(inputs[0], Tensor(to))};
    }
    const std::vector<int> rest(to.begin(), to.end());
    return {reshape(inputs[0], concat({dim_of(inputs[0], 0), constant(Tensor(rest))}, 0))};
  }
  void fields(Fields& f) override { f("target_shape", target_); }

 private:
  std::vector<std::int64_t> target_;
};
CAUDAL_KERAS_LAYER(ReshapeLayer, "Reshape");

class PermuteLayer final : public Layer {
 public:
  explicit PermuteLayer(std::vector<std::int64_t> dims = {}, const LayerOptions& o = {})
      : Layer("Permute", o.name), dims_(std::move(dims)) {}

 protected:
  Outputs call(const Outputs& inputs, CallContext&) override {
    check_rank(inputs[0].shape(), static_cast<int>(dims_.size()) + 1, "what dims orders");
    std::vector<std::int64_t> order = {0};
    order.insert(order.end(), dims_.begin(), dims_.end());
    return {transpose(inputs[0], Tensor(order))};
  }
  void fields(Fields& f) override { f("dims", dims_); }

 private:
  std::vector<std::int64_t> dims_;
};
CAUDAL_KERAS_LAYER(PermuteLayer, "Permute");

class RepeatVectorLayer final : public Layer {
 public:
  explicit RepeatVectorLayer(std::int64_t n = 1, const LayerOptions& o = {}) : Layer("RepeatVector", o.name), n_(n) {}

 protected:
  Outputs call(const Outputs& inputs, CallContext&) override {
    check_rank(inputs[0].shape(), 2, "rows of features");
    return {tile(expand_dims(inputs[0], 1), {1, static_cast<int>(n_), 1})};
  }
  void fields(Fields& f) override { f("n", n_); }

 private:
  std::int64_t n_;
};
CAUDAL_KERAS_LAYER(RepeatVectorLayer, "RepeatVector");

// Amounts before and after each of `axes` dimensions; written as Keras does.
class Borders {
 public:
  Borders(std::vector<std::int64_t> given, std::size_t axes) : axes_(axes) { set(std::move(given)); }
  std::int64_t before(std::size_t axis) const { return amounts_[2 * axis]; }
  std::int64_t after(std::size_t axis) const { return amounts_[2 * axis + 1]; }

  void field(Fields& f, std::string_view key) {
    Config config;
    if (axes_ == 1) {
      config = Config::integers(amounts_);
    } else {
      Config::List pairs;
      for (std::size_t i = 0; i < axes_; ++i) pairs.push_back(Config::integers({before(i), after(i)}));
      config = std::move(pairs);
    }
    f.raw(key, config);
    if (f.reading()) read(config);
  }

 private:
  void set(std::vector<std::int64_t> given) {
    if (given.size() == 1) given.assign(2 * axes_, given[0]);
    if (given.size() == axes_ && axes_ > 1) {
      std::vector<std::int64_t> both;
      for (const std::int64_t n : given) both.insert(both.end(), {n, n});
      given = both;
    }
    if (given.size() != 2 * axes_) throw invalid_argument(given.size(), " amounts for ", axes_, " dimensions");
    for (const std::int64_t n : given) {
      if (n < 0) throw invalid_argument("an amount must not be negative, as ", n);
    }
    amounts_ = std::move(given);
  }
  void read(const Config& config) {
    std::vector<std::int64_t> given;
    const auto add = [&](const auto& self, const Config& c) -> void {
      if (!c.is_list()) return given.push_back(c.integer());
      for (const Config& item : c.list()) self(self, item);
    };
    add(add, config);
    set(std::move(given));
  }

  std::size_t axes_;
  std::vector<std::int64_t> amounts_;
};

class PaddingLayer : public Layer {
 public:
  PaddingLayer(const char* class_name, std::size_t axes, std::vector<std::int64_t> padding, const LayerOptions& o)
      : Layer(class_name, o.name), axes_(axes), borders_(std::move(padding), axes) {}

 protected:
  Outputs call(const Outputs& inputs, CallContext&) override {
    check_rank(inputs[0].shape(), static_cast<int>(axes_) + 2, axes_ == 1 ? "sequences" : "images");
    Tensor amounts = Tensor::zeros(int32, Shape({static_cast<std::int64_t>(axes_) + 2, 2}));
    for (std::size_t i = 0; i < axes_; ++i) {
      amounts.data<int>()[2 * (i + 1)] = static_cast<int>(borders_.before(i));
      amounts.data<int>()[2 * (i + 1) + 1] = static_cast<int>(borders_.after(i));
    }
    return {pad(inputs[0], amounts)};
  }
  void fields(Fields& f) override {
    borders_.field(f, "padding");
    channels_last_field(f);
  }

 private:
  std::size_t axes_;
  Borders borders_;
};
struct ZeroPadding1DLayer final : PaddingLayer {
  explicit ZeroPadding1DLayer(std::vector<std::int64_t> padding = {1}, const LayerOptions& o = {})
      : PaddingLayer("ZeroPadding1D", 1, std::move(padding), o) {}
};
struct ZeroPadding2DLayer final : PaddingLayer {
  explicit ZeroPadding2DLayer(std::vector<std::int64_t> padding = {1}, const LayerOptions& o = {})
      : PaddingLayer("ZeroPadding2D", 2, std::move(padding), o) {}
};
CAUDAL_KERAS_LAYER(ZeroPadding1DLayer, "ZeroPadding1D");
CAUDAL_KERAS_LAYER(ZeroPadding2DLayer, "ZeroPadding2D");

class CroppingLayer : public Layer {
 public:
  CroppingLayer(const char* class_name, std::size_t axes, std::vector<std::int64_t> cropping, const LayerOptions& o)
      : Layer(class_name, o.name), axes_(axes), borders_(std::move(cropping), axes) {}

 protected:
  Outputs call(const Outputs& inputs, CallContext&) override {
    check_rank(inputs[0].shape(), static_cast<int>(axes_) + 2, axes_ == 1 ? "sequences" : "images");
    std::vector<IndexItem> items = {kAll};
    for (std::size_t i = 0; i < axes_; ++i) {
      const std::int64_t size = inputs[0].shape()[static_cast<int>(i) + 1];
      if (size >= 0 && borders_.before(i) + borders_.after(i) >= size) {
        throw invalid_argument("cropping leaves nothing of dimension ", i + 1, " of ", inputs[0].shape());
      }
      items.push_back(borders_.after(i) == 0 ? Slice{borders_.before(i), {}}
                                             : Slice{borders_.before(i), -borders_.after(i)});
    }
    return {index(inputs[0], items)};
  }
  void fields(Fields& f) override {
    borders_.field(f, "cropping");
    if (axes_ > 1 || f.reading()) channels_last_field(f);
  }

 private:
  std::size_t axes_;
  Borders borders_;
};
struct Cropping1DLayer final : CroppingLayer {
  explicit Cropping1DLayer(std::vector<std::int64_t> cropping = {1}, const LayerOptions& o = {})
      : CroppingLayer("Cropping1D", 1, std::move(cropping), o) {}
};
struct Cropping2DLayer final : CroppingLayer {
  explicit Cropping2DLayer(std::vector<std::int64_t> cropping = {0}, const LayerOptions& o = {})
      : CroppingLayer("Cropping2D", 2, std::move(cropping), o) {}
};
CAUDAL_KERAS_LAYER(Cropping1DLayer, "Cropping1D");
CAUDAL_KERAS_LAYER(Cropping2DLayer, "Cropping2D");

// Each entry of dimension `axis` n times.
Output repeated(const Output& x, int axis, std::int64_t n) {
  if (n == 1) return x;
  const int rank = x.shape().rank();
  std::vector<std::int64_t> times(static_cast<std::size_t>(rank) + 1, 1);
  times[static_cast<std::size_t>(axis) + 1] = n;
  const Output copies = tile(expand_dims(x, axis + 1), Tensor(times));
  std::vector<Output> dims;
  for (int i = 0; i < rank; ++i) {
    dims.push_back(i == axis ? constant(Tensor(std::vector<int>{-1})) : dim_of(x, i));
  }
  const Output y = reshape(copies, concat(dims, 0));
  const std::int64_t size = x.shape()[axis];
  y.set_shape(x.shape().with_dim(axis, size < 0 ? -1 : size * n));
  return y;
}

class UpSampling1DLayer final : public Layer {
 public:
  explicit UpSampling1DLayer(std::int64_t size = 2, const LayerOptions& o = {})
      : Layer("UpSampling1D", o.name), size_(size) {}

 protected:
  Outputs call(const Outputs& inputs, CallContext&) override {
    check_rank(inputs[0].shape(), 3, "sequences");
    return {repeated(inputs[0], 1, size_)};
  }
  void fields(Fields& f) override { f("size", size_); }

 private:
  std::int64_t size_;
};
CAUDAL_KERAS_LAYER(UpSampling1DLayer, "UpSampling1D");

class UpSampling2DLayer final : public Layer {
 public:
  explicit UpSampling2DLayer(std::vector<std::int64_t> size = {2, 2}, const LayerOptions& o = {})
      : Layer("UpSampling2D", o.name), size_(spread("size", size, 2)) {}

 protected:
  Outputs call(const Outputs& inputs, CallContext&) override {
    check_rank(inputs[0].shape(), 4, "images [batch, rows, columns, channels]");
    return {repeated(repeated(inputs[0], 1, size_[0]), 2, size_[1])};
  }
  void fields(Fields& f) override {
    f.tuple("size", size_, 2);
    channels_last_field(f);
    std::string interpolation = "nearest";
    f("interpolation", interpolation);
    if (interpolation != "nearest") throw unimplemented("UpSampling2D: interpolation '", interpolation, "'");
  }

 private:
  std::vector<std::int64_t> size_;
};
CAUDAL_KERAS_LAYER(UpSampling2DLayer, "UpSampling2D");

}  // namespace

namespace layers {
LayerRef Flatten(const LayerOptions& o) { return make_layer<FlattenLayer>(o); }
LayerRef Reshape(std::vector<std::int64_t> target_shape, const LayerOptions& o) {
  return make_layer<ReshapeLayer>(std::move(target_shape), o);
}
LayerRef Permute(std::vector<std::int64_t> dims, const LayerOptions& o) {
  return make_layer<PermuteLayer>(std::move(dims), o);
}
LayerRef RepeatVector(std::int64_t n, const LayerOptions& o) { return make_layer<RepeatVectorLayer>(n, o); }
LayerRef ZeroPadding1D(std::vector<std::int64_t> padding, const LayerOptions& o) {
  return make_layer<ZeroPadding1DLayer>(std::move(padding), o);
}
LayerRef ZeroPadding2D(std::vector<std::int64_t> padding, const LayerOptions& o) {
  return make_layer<ZeroPadding2DLayer>(std::move(padding), o);
}
LayerRef Cropping1D(std::vector<std::int64_t> cropping, const LayerOptions& o) {
  return make_layer<Cropping1DLayer>(std::move(cropping), o);
}
LayerRef Cropping2D(std::vector<std::int64_t> cropping, const LayerOptions& o) {
  return make_layer<Cropping2DLayer>(std::move(cropping), o);
}
LayerRef UpSampling1D(std::int64_t size, const LayerOptions& o) { return make_layer<UpSampling1DLayer>(size, o); }
LayerRef UpSampling2D(std::vector<std::int64_t> size, const LayerOptions& o) {
  return make_layer<UpSampling2DLayer>(std::move(size), o);
}
}  // namespace layers

}  // namespace caudal::inline v0::keras
