#include "caudal/nn/layers_norm.h"

#include <cmath>

#include "caudal/nn/layer_scope.h"
#include "caudal/nn/normalization.h"
#include "caudal/ops/activation.h"
#include "caudal/ops/batch_norm.h"
#include "caudal/ops/cast.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/selection.h"
#include "caudal/ops/shape_ops.h"

namespace caudal::inline v0::layers {
namespace {

using internal::LayerScope;

bool is_16_bit(DType dtype) { return dtype == DType::kHalf || dtype == DType::kBFloat16; }

class BatchNorm {
 public:
  BatchNorm(const LayerScope& scope, const Output& x, const BatchNormalizationOptions& options)
      : o_(options), scope_(scope), x_(x) {
    const PartialShape& shape = x.shape();
    if (!shape.has_rank() || shape.rank() < 2) throw misfit("two dimensions or more are wanted, with a batch first");
    axis_ = options.axis < 0 ? options.axis + shape.rank() : options.axis;
    if (axis_ < 1 || axis_ >= shape.rank()) {
      throw misfit(caudal::internal::concat("there is no axis ", options.axis, " of features"));
    }
    features_ = shape[axis_];
    if (features_ < 0) throw misfit(caudal::internal::concat("dimension ", axis_, ", the features, must be known"));
    if (options.renorm && options.fused.value_or(false)) throw scope.error("renorm is not there in the fused form");
    make_variables();
  }

  Output build() {
    if (is_fused()) return fused();
    return plain();
  }

 private:
  Error misfit(const std::string& what) const { return scope_.error("inputs are " + x_.describe() + "; " + what); }

  bool is_fused() const {
    const int rank = x_.shape().rank();
    const bool fits = (rank == 4 && (axis_ == 1 || axis_ == 3)) || (rank == 5 && (axis_ == 1 || axis_ == 4));
    if (o_.fused.value_or(false) && !fits) {
      throw misfit("the fused form takes four or five dimensions with the features first or last");
    }
    const bool default_fused = rank == 4 && fits && !o_.renorm && x_.dtype() != DType::kDouble;
    return o_.fused.value_or(default_fused);
  }

  Variable variable(const char* name, const Initializer& initializer, const Regularizer& regularizer,
                    bool trainable) const {
    return internal::weight(name, {features_}, param_dtype(), initializer, regularizer, trainable);
  }
  DType param_dtype() const { return is_16_bit(x_.dtype()) ? float32 : x_.dtype(); }

  void make_variables() {
    if (o_.scale) gamma_ = variable("gamma", o_.gamma_initializer, o_.gamma_regularizer, o_.trainable);
    if (o_.center) beta_ = variable("beta", o_.beta_initializer, o_.beta_regularizer, o_.trainable);
    moving_mean_ = variable("moving_mean", o_.moving_mean_initializer, {}, false);
    moving_variance_ = variable("moving_variance", o_.moving_variance_initializer, {}, false);
    if (!o_.renorm) return;
    const Initializer& variance = o_.moving_variance_initializer;
    const Initializer stddev = [variance](const Shape& shape, DType dtype) {
      return sqrt(variance.value() ? variance.value()->to_output(dtype) : variance.function()(shape, dtype));
    };
    moving_stddev_ = variable("moving_stddev", stddev, {}, false);
    renorm_mean_ = variable("renorm_mean", o_.moving_mean_initializer, {}, false);
    renorm_stddev_ = variable("renorm_stddev", stddev, {}, false);
  }

  // 1 - momentum while training, else 0: the updates of running statistics then change nothing.
  Output decay(double momentum) const {
    const auto number = [&](double value) { return constant(value, {.dtype = param_dtype()}); };
    return internal::choose(
        o_.training, [&]() -> Outputs { return {number(1 - momentum)}; }, [&]() -> Outputs { return {number(0)}; })[0];
  }
  // variable -= (variable - value) * decay.
  static Output move(const Variable& variable, const Output& value, const Output& decay) {
    const NameScope scope("AssignMovingAvg");
    return variable.assign_sub((variable - value) * decay);
  }
  void add_update(const Output& update) const {
    x_.graph().add_to_collection(graph_keys::kUpdateOps, {.output = update});
  }
  bool trains() const { return o_.training.is_tensor() || o_.training.value(); }

  Output fused() const {
    const Output scale = o_.scale ? Output(gamma_) : fill({static_cast<int>(features_)}, Operand(1.0F));
    const Output offset = o_.center ? Output(beta_) : fill({static_cast<int>(features_)}, Operand(0.0F));
    const bool last = axis_ + 1 == x_.shape().rank();
    const std::string format = x_.shape().rank() == 4 ? (last ? "NHWC" : "NCHW") : (last ? "NDHWC" : "NCDHW");
    const auto normalized = [&](bool is_training) -> Outputs {
      nn::FusedBatchNormOptions fused{
          .epsilon = static_cast<float>(o_.epsilon), .data_format = format, .is_training = is_training};
      if (!is_training) {
        fused.mean = Operand(moving_mean_);
        fused.variance = Operand(moving_variance_);
      }
      const auto result = nn::fused_batch_norm(x_, scale, offset, fused);
      return {result.y, result.mean, result.variance};
    };
    const Outputs result = internal::choose(
        o_.training, [&] { return normalized(true); }, [&] { return normalized(false); });
    if (trains()) {
      const Output by = decay(o_.momentum);
      add_update(move(moving_mean_, result[1], by));
      add_update(move(moving_variance_, result[2], by));
    }
    result[0].set_shape(x_.shape());
    return result[0];
  }

  // A vector of the features so that it broadcasts.
  Output aligned(const Output& vector) const {
    if (axis_ + 1 == x_.shape().rank()) return vector;
    std::vector<std::int64_t> shape(static_cast<std::size_t>(x_.shape().rank()), 1);
    shape[static_cast<std::size_t>(axis_)] = features_;
    return reshape(vector, int32_vector(shape));
  }

  Output plain() {
    const Output x = cast(x_, param_dtype());
    std::optional<Operand> scale, offset;
    if (o_.scale) scale = aligned(gamma_);
    if (o_.center) offset = aligned(beta_);
    Output mean = moving_mean_, variance = moving_variance_;
    if (trains()) {
      std::vector<int> axes;
      for (int i = 0; i < x.shape().rank(); ++i) {
        if (i != axis_) axes.push_back(i);
      }
      const nn::Moments batch = nn::moments(x, axes);
      const Outputs used = internal::choose(
          o_.training,
          [&]() -> Outputs {
            return {identity(batch.mean), identity(batch.variance)};
          },
          [&]() -> Outputs {
            return {identity(moving_mean_), identity(moving_variance_)};
          });
      mean = used[0];
      variance = used[1];
      Output new_mean = mean, new_variance = variance;
      if (o_.renorm) renormalize(new_mean, new_variance, scale, offset);
      update_moving(new_mean, new_variance);
    }
    const Output y =
        nn::batch_normalization(x, aligned(mean), aligned(variance),
                                {.offset = offset, .scale = scale, .variance_epsilon = static_cast<float>(o_.epsilon)});
    const Output result = cast(y, x_.dtype());
    result.set_shape(x_.shape());
    return result;
  }

  void update_moving(const Output& mean, const Output& variance) const {
    const Output by = decay(o_.momentum);
    add_update(move(moving_mean_, mean, by));
    if (!o_.renorm) {
      add_update(move(moving_variance_, variance, by));
      return;
    }
    const Output stddev = move(moving_stddev_, sqrt(variance + o_.epsilon), by);
    const Output squared = nn::relu(stddev * stddev - o_.epsilon);
    const Output kept = o_.training.is_tensor() ? where(o_.training.tensor(), squared, moving_variance_) : squared;
    add_update(moving_variance_.assign(kept));
  }

  // Corrections r and d that make the batch's statistics the running ones, as part of scale and offset.
  void renormalize(Output& mean, Output& variance, std::optional<Operand>& scale, std::optional<Operand>& offset) {
    const RenormClipping& limits = o_.renorm_clipping;
    Output stddev = sqrt(variance + o_.epsilon);
    const Output running_stddev = maximum(renorm_stddev_, std::sqrt(o_.epsilon));
    Output r = stddev / running_stddev;
    Output d = (mean - renorm_mean_) / running_stddev;
    {
      // The corrections take the running statistics as they are before the update.
      const ControlDependencies after({r, d});
      mean = identity(mean);
      stddev = identity(stddev);
    }
    if (limits.rmin) r = maximum(r, *limits.rmin);
    if (limits.rmax) r = minimum(r, *limits.rmax);
    if (limits.dmax) d = minimum(maximum(d, -*limits.dmax), *limits.dmax);
    const Outputs used = internal::choose(
        o_.training,
        [&]() -> Outputs {
          return {identity(r), identity(d)};
        },
        [&]() -> Outputs {
          return {ones_like(r), zeros_like(d)};
        });
    const Output by = decay(o_.renorm_momentum);
    const Output new_mean = move(renorm_mean_, mean, by), new_stddev = move(renorm_stddev_, stddev, by);
    {
      const ControlDependencies after({new_mean, new_stddev});
      mean = identity(mean);
      variance = identity(variance);
    }
    const Output factor = aligned(stop_gradient(used[0], {.name = "renorm_r"}));
    const Output shift = aligned(stop_gradient(used[1], {.name = "renorm_d"}));
    offset = scale ? shift * *scale : Operand(shift);
    if (o_.center) offset = *offset + aligned(beta_);
    scale = scale ? factor * *scale : Operand(factor);
  }

  const BatchNormalizationOptions& o_;
  const LayerScope& scope_;
  Output x_;
  int axis_ = 0;
  std::int64_t features_ = 0;
  Variable gamma_, beta_, moving_mean_, moving_variance_, moving_stddev_, renorm_mean_, renorm_stddev_;
};

}  // namespace

Output batch_normalization(const Operand& inputs, const BatchNormalizationOptions& options) {
  const LayerScope scope("batch_normalization", options.name, options.reuse, options.where);
  return BatchNorm(scope, inputs.to_output(float32), options).build();
}

std::vector<Operation> update_ops(std::string_view scope) {
  std::vector<Operation> operations;
  for (const CollectionItem& item : default_graph().collection(graph_keys::kUpdateOps, scope)) {
    if (item.output) operations.emplace_back(item.output);
    if (item.operation) operations.push_back(item.operation);
  }
  return operations;
}

Output layer_norm(const Operand& inputs, const LayerNormOptions& options) {
  const LayerScope scope("LayerNorm", options.name, options.reuse, options.where);
  const Output x = inputs.to_output(float32);
  const int rank = x.shape().rank();
  const auto from_front = [&](int axis) { return axis < 0 ? axis + rank : axis; };
  const int begin = from_front(options.begin_norm_axis), params_begin = from_front(options.begin_params_axis);
  if (rank < 2 || begin < 0 || begin >= rank || params_begin < 0 || params_begin >= rank) {
    throw scope.error(caudal::internal::concat("inputs are ", x.describe(), "; axes ", options.begin_norm_axis, " and ",
                                               options.begin_params_axis, " must be among its dimensions"));
  }
  std::vector<std::int64_t> params(x.shape().dims().begin() + params_begin, x.shape().dims().end());
  for (const std::int64_t size : params) {
    if (size < 0) throw scope.error("inputs are " + x.describe() + "; the sizes of beta and gamma must be known");
  }
  const DType dtype = is_16_bit(x.dtype()) ? float32 : x.dtype();
  nn::BatchNormalizationOptions normal{.variance_epsilon = x.dtype() == DType::kHalf ? 1e-3F : 1e-12F};
  if (options.center) {
    normal.offset = Operand(internal::weight("beta", params, dtype, zeros_initializer(), {}, options.trainable));
  }
  if (options.scale) {
    normal.scale = Operand(internal::weight("gamma", params, dtype, ones_initializer(), {}, options.trainable));
  }
  std::vector<int> axes;
  for (int i = begin; i < rank; ++i) axes.push_back(i);
  const Output wide = cast(x, dtype);
  const nn::Moments within = nn::moments(wide, axes, {.keep_dims = true});
  const Output y = cast(nn::batch_normalization(wide, within.mean, within.variance, normal), x.dtype());
  y.set_shape(x.shape());
  return options.activation ? options.activation(y) : y;
}

}  // namespace caudal::inline v0::layers
