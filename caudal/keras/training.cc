#include "caudal/keras/training.h"

#include <algorithm>
#include <cmath>

#include "caudal/base/error.h"
#include "caudal/base/strings.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/assert_ops.h"
#include "caudal/ops/cast.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/reduction.h"
#include "caudal/ops/shape_ops.h"
#include "caudal/ops/slicing.h"

namespace caudal::inline v0::keras {
namespace {

// The shape of a placeholder for arrays like `value`.
PartialShape batch_shape(const Tensor& value) {
  std::vector<std::int64_t> dims = value.shape().to_vector();
  dims[0] = -1;
  return PartialShape(dims);
}

std::string kind_of(const Tensor& value) {
  return value.valid() ? std::string(dtype_name(value.dtype())) + batch_shape(value).to_string() : "-";
}

// What labels are fed as: numbers keep their kind, so that class numbers stay exact.
DType label_type(DType dtype) {
  if (dtype == DType::kBool || is_floating(dtype)) return float32;
  return int64;
}

// `shape` with a last size of 1 added or taken away if `wanted` has one dimension more or less.
Tensor with_rank_of(const Tensor& value, const PartialShape& wanted) {
  if (!wanted.has_rank() || value.rank() == wanted.rank()) return value;
  if (value.rank() + 1 == wanted.rank() && wanted[-1] == 1) return value.reshape(value.shape().append(1));
  if (value.rank() == wanted.rank() + 1 && value.shape()[-1] == 1) {
    return value.reshape(value.shape().remove(value.rank() - 1));
  }
  return value;
}

bool fits_rows(const Tensor& value, const PartialShape& wanted) {
  if (!wanted.has_rank()) return true;
  if (value.rank() != wanted.rank()) return false;
  for (int i = 1; i < wanted.rank(); ++i) {
    if (wanted[i] >= 0 && wanted[i] != value.shape()[i]) return false;
  }
  return true;
}

}  // namespace

std::vector<Output> Training::Places::feeds() const {
  std::vector<Output> all = x;
  all.insert(all.end(), y.begin(), y.end());
  for (const Output& weight : weights) {
    if (weight) all.push_back(weight);
  }
  return all;
}

// --- Compiling ---

void Training::compile(const CompileOptions& options) {
  if (options.metrics.size() + options.weighted_metrics.size() > 0 && !options.output_metrics.empty()) {
    throw invalid_argument("compile(): give metrics or output_metrics, not both");
  }
  options_ = options;
  compiled_ = true;
  losses_.clear();
  places_.clear();
  steps_.clear();
  metrics_.clear();
  output_trackers_.clear();
  metrics_resolved_ = false;
  reset_ = {};
  loss_tracker_ = std::make_shared<MeanMetric>("loss", nullptr);
}

Config Training::compile_config() const {
  Config config;
  config.set("optimizer", options_.optimizer->to_config());
  if (options_.loss.size() == 1) {
    config.set("loss", options_.loss[0].to_config());
  } else {
    Config::List list;
    for (const Loss& loss : options_.loss) list.push_back(loss ? loss.to_config() : Config());
    config.set("loss", std::move(list));
  }
  const auto numbers = Config::List(options_.loss_weights.begin(), options_.loss_weights.end());
  config.set("loss_weights", numbers.empty() ? Config() : Config(numbers));
  Config::List metrics;
  for (const MetricRef& metric : options_.metrics) metrics.push_back(metric.to_config());
  for (const auto& list : options_.output_metrics) {
    Config::List inner;
    for (const MetricRef& metric : list) inner.push_back(metric.to_config());
    metrics.emplace_back(inner);
  }
  config.set("metrics", metrics.empty() ? Config() : Config(metrics));
  Config::List weighted;
  for (const MetricRef& metric : options_.weighted_metrics) weighted.push_back(metric.to_config());
  config.set("weighted_metrics", weighted.empty() ? Config() : Config(weighted));
  config.set("run_eagerly", false).set("steps_per_execution", 1).set("jit_compile", false);
  return config;
}

// --- Data ---

void Training::ensure_graph(const std::vector<Tensor>& x) {
  if (core_.has_graph()) return;
  Shapes shapes;
  std::vector<DType> dtypes;
  for (const Tensor& value : x) {
    if (value.rank() < 1) throw invalid_argument("data need a first dimension, of rows; this is ", value.describe());
    shapes.push_back(batch_shape(value));
    const bool counts = is_integer(value.dtype()) && dtype_size(value.dtype()) >= 4;
    dtypes.push_back(counts ? value.dtype() : float32);
  }
  core_.ensure_graph(shapes, dtypes);
}

std::vector<Tensor> Training::fitted_inputs(const std::vector<Tensor>& x) const {
  const std::vector<KerasTensor>& inputs = core_.inputs();
  if (x.size() != inputs.size()) {
    throw invalid_argument("model '", core_.name(), "' has ", inputs.size(), " inputs (",
                           join(core_.input_names(), ", "), "), ", x.size(), " arrays were given");
  }
  std::vector<Tensor> fitted;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const PartialShape& wanted = inputs[i].shape();
    const std::string name = inputs[i].node()->layer->name();
    if ((x[i].dtype() == string) != (inputs[i].dtype() == string)) {
      throw invalid_argument("input '", name, "' takes ", inputs[i].dtype(), ", the data are ", x[i].dtype());
    }
    const Tensor value = with_rank_of(x[i], wanted);
    if (!fits_rows(value, wanted)) {
      throw invalid_argument("input '", name, "' takes ", wanted, ", the data have ", x[i].shape())
          .hint("Reshape the data, or change the shape of the model's Input.");
    }
    fitted.push_back(converted(value, inputs[i].dtype()));
  }
  return fitted;
}

std::vector<Tensor> Training::feeds_of(const FitBatch& batch) const {
  std::vector<Tensor> feeds = fitted_inputs(batch.x);
  for (const Tensor& y : batch.y) feeds.push_back(converted(y, label_type(y.dtype())));
  for (const Tensor& weight : batch.weights) {
    if (weight.valid()) feeds.push_back(converted(weight, float32));
  }
  return feeds;
}

Training::Places& Training::places(const std::string& signature, const FitBatch& batch) {
  const auto found = places_.find(signature);
  if (found != places_.end()) return found->second;
  const std::size_t count = core_.outputs().size();
  if (batch.y.size() != count) {
    throw invalid_argument("model '", core_.name(), "' has ", count, " outputs (", join(core_.output_names(), ", "),
                           "), labels for ", batch.y.size(), " were given");
  }
  const GraphScope graph(backend().graph());
  const NameScope scope("data");
  Places made;
  for (const KerasTensor& input : core_.inputs()) made.x.push_back(placeholder(input.dtype(), input.shape()));
  for (const Tensor& y : batch.y) {
    if (y.dtype() == string || is_complex(y.dtype())) {
      throw invalid_argument("labels are ", y.dtype(), " where numbers are wanted")
          .hint("Turn names of classes into numbers 0, 1, 2, ... first.");
    }
    made.y.push_back(placeholder(label_type(y.dtype()), batch_shape(y)));
  }
  for (const Tensor& weight : batch.weights) {
    made.weights.push_back(weight.valid() ? placeholder(float32, batch_shape(weight)) : Output());
  }
  made.weights.resize(count);
  return places_[signature] = std::move(made);
}

// --- Steps ---

Training::Step& Training::step(Mode mode, const FitBatch& batch) {
  if (!compiled_) {
    throw failed_precondition("model '", core_.name(), "' is not compiled").hint("Call compile() first.");
  }
  ensure_graph(batch.x);
  // A layer that was frozen or freed meanwhile means other gradients.
  std::vector<bool> trainable;
  const std::vector<WeightRef> trained = core_.trainable_weights();
  for (const WeightRef& weight : core_.weights())
    trainable.push_back(std::ranges::find(trained, weight) != trained.end());
  if (trainable != trainable_then_) steps_.clear();
  trainable_then_ = trainable;

  std::string signature;
  for (const Tensor& y : batch.y) signature += kind_of(y) + ";";
  for (const Tensor& weight : batch.weights) signature += kind_of(weight) + ";";
  const std::string key = std::to_string(static_cast<int>(mode)) + signature;
  if (const auto found = steps_.find(key); found != steps_.end()) return found->second;
  return steps_[key] = make_step(mode, places(signature, batch));
}

Training::Computed Training::compute(const Places& places, bool training) {
  Computed computed;
  computed.forward.training = training;
  const CallResult result = core_.apply(places.x, Outputs(places.x.size()), computed.forward);
  computed.predictions = result.outputs;
  computed.masks = result.masks;
  const std::size_t count = computed.predictions.size();
  if (losses_.empty()) {
    losses_ = options_.loss;
    if (losses_.size() == 1) losses_.resize(count, options_.loss[0]);
    if (losses_.empty()) losses_.resize(count);
    if (losses_.size() != count) {
      throw invalid_argument("compile() was given ", losses_.size(), " losses for ", count, " outputs (",
                             join(core_.output_names(), ", "), ")");
    }
    if (!options_.loss_weights.empty() && options_.loss_weights.size() != count) {
      throw invalid_argument("compile() was given ", options_.loss_weights.size(), " loss_weights for ", count,
                             " outputs");
    }
  }
  std::vector<Output> terms;
  for (std::size_t i = 0; i < count; ++i) {
    Output loss;
    if (losses_[i]) {
      const NameScope scope("loss");
      try {
        loss = losses_[i](places.y[i], computed.predictions[i], places.weights[i], computed.masks[i]);
      } catch (const Error& error) {
        throw error.in("loss '" + losses_[i].name() + "' of output '" + core_.output_names()[i] + "'");
      }
      if (loss.shape().has_rank() && loss.shape().rank() > 0) loss = reduce_mean(loss);
      terms.push_back(options_.loss_weights.empty() ? loss : loss * options_.loss_weights[i]);
    }
    computed.output_loss.push_back(loss);
  }
  const NameScope scope("loss");
  for (const Output& loss : computed.forward.losses) terms.push_back(loss);
  for (const WeightRef& weight : core_.trainable_weights()) {
    if (weight->regularizer()) terms.push_back(weight->regularizer().function()(weight->variable()));
  }
  if (terms.empty()) {
    throw invalid_argument("model '", core_.name(), "' has no loss").hint("Give compile() a loss.");
  }
  computed.loss = terms[0];
  for (std::size_t i = 1; i < terms.size(); ++i) computed.loss = computed.loss + terms[i];
  return computed;
}

void Training::resolve_metrics(const Places& places, const Computed& computed) {
  if (metrics_resolved_) return;
  metrics_resolved_ = true;
  const std::size_t count = computed.predictions.size();
  const std::vector<std::string> outputs = core_.output_names();
  const auto add = [&](const MetricRef& ref, std::size_t output, bool weighted) {
    const auto metric = ref.resolve(places.y[output].shape(), computed.predictions[output].shape());
    const auto taken = [&](const std::string& name) {
      return std::ranges::any_of(metrics_, [&](const Tracked& t) { return t.name == name; });
    };
    const std::string scope = count == 1 ? "" : outputs[output] + "_";
    std::string base = scope + metric->name();
    if (weighted && taken(base)) base = scope + "weighted_" + metric->name();
    std::string name = base;
    for (int copy = 1; taken(name); ++copy) name = base + "_" + std::to_string(copy);
    metrics_.push_back({name, metric, output, weighted});
  };
  const auto add_list = [&](const std::vector<MetricRef>& list, bool weighted) {
    if (count > 1 && !list.empty() && list.size() != count) {
      throw invalid_argument("compile() was given ", list.size(), " metrics for ", count, " outputs (",
                             join(outputs, ", "), ")")
          .hint("Give one for each output, or lists in output_metrics.");
    }
    for (std::size_t i = 0; i < list.size(); ++i) add(list[i], count > 1 ? i : 0, weighted);
  };
  add_list(options_.metrics, false);
  if (!options_.output_metrics.empty() && options_.output_metrics.size() != count) {
    throw invalid_argument("compile() was given output_metrics for ", options_.output_metrics.size(),
                           " outputs, the model has ", count);
  }
  for (std::size_t i = 0; i < options_.output_metrics.size(); ++i) {
    for (const MetricRef& metric : options_.output_metrics[i]) add(metric, i, false);
  }
  add_list(options_.weighted_metrics, true);
  output_trackers_.resize(count);
  for (std::size_t i = 0; i < count && count > 1; ++i) {
    if (losses_[i]) output_trackers_[i] = std::make_shared<MeanMetric>(outputs[i] + "_loss", nullptr);
  }
}

// Adds the batch to all metrics.
std::vector<Operation> Training::track(const Places& places, const Computed& computed) {
  const NameScope scope("metrics");
  std::vector<Operation> updates;
  const auto add = [&](const std::vector<Operation>& more) { updates.insert(updates.end(), more.begin(), more.end()); };
  const Output rows = cast(index(shape(places.x[0]), {0}), float32);
  add(loss_tracker_->update_scalar(backend(), computed.loss, rows));
  for (std::size_t i = 0; i < output_trackers_.size(); ++i) {
    if (!output_trackers_[i]) continue;
    // Keras counts each batch once here, whatever its size.
    add(output_trackers_[i]->update_scalar(backend(), computed.output_loss[i], constant(1.0F)));
  }
  for (const Tracked& tracked : metrics_) {
    const std::size_t i = tracked.output;
    try {
      add(tracked.metric->update(backend(), places.y[i], computed.predictions[i],
                                 tracked.weighted ? places.weights[i] : Output(), computed.masks[i]));
    } catch (const Error& error) {
      throw error.in("metric '" + tracked.name + "' of output '" + core_.output_names()[i] + "'");
    }
  }
  return updates;
}

Training::Step Training::make_step(Mode mode, const Places& places) {
  const GraphScope graph(backend().graph());
  const bool training = mode != Mode::kTest;
  const NameScope scope(training ? "train" : "test");
  Computed computed = compute(places, training);
  resolve_metrics(places, computed);
  Step step;
  step.feeds = places.feeds();
  std::vector<Operation> guards;
  if (mode == Mode::kTrain) {
    const NameScope guard_scope("finite_loss");
    step.guard = guard_scope.prefix();
    const Operation guard = Assert(is_finite(computed.loss), {"the loss is no number", computed.loss});
    guards.push_back(guard);
  }
  step.watched.emplace_back(computed.loss);
  std::vector<Operation> done;
  if (training) {
    const std::vector<WeightRef> weights = core_.trainable_weights();
    std::vector<Output> handles;
    for (const WeightRef& weight : weights) handles.push_back(weight->variable().handle());
    std::vector<Gradient> gradients;
    if (!handles.empty()) gradients = caudal::gradients({computed.loss}, handles);
    for (const Gradient& gradient : gradients) {
      if (!gradient.is_none())
        step.watched.emplace_back(gradient.is_sparse() ? gradient.slices().values : gradient.dense());
    }
    options_.optimizer->build(backend(), weights);
    const ControlDependencies after(guards);
    if (!weights.empty()) done.push_back(options_.optimizer->apply(gradients, weights));
    for (const auto& update : computed.forward.updates) done.push_back(update());
  }
  std::vector<Operation> tracked;
  {
    const ControlDependencies after(guards);
    tracked = track(places, computed);
  }
  done.insert(done.end(), tracked.begin(), tracked.end());
  Fetches fetches = {group(done)};
  const ControlDependencies after(tracked);
  const NameScope results("results");
  std::map<std::string, Output> values;  // Keras shows them by name
  values["loss"] = loss_tracker_->result();
  for (const auto& tracker : output_trackers_) {
    if (tracker) values[tracker->name()] = tracker->result();
  }
  for (const Tracked& metric : metrics_) values[metric.name] = metric.metric->result();
  for (const auto& [name, value] : values) {
    step.names.push_back(name);
    fetches.emplace_back(value);
  }
  step.run = backend().session().make_callable(fetches, step.feeds);
  step.fetches = std::move(fetches);
  return step;
}

Logs Training::run(Step& step, const FitBatch& batch) {
  backend().flush();
  const std::vector<Tensor> values = step.run(feeds_of(batch));
  Logs logs;
  for (std::size_t i = 0; i < step.names.size(); ++i) logs.set(step.names[i], values[i + 1].to_double());
  return logs;
}

Logs Training::train(const FitBatch& batch, bool nan_is_error) {
  Step& chosen = step(nan_is_error ? Mode::kTrain : Mode::kTrainThroughNaN, batch);
  try {
    return run(chosen, batch);
  } catch (const Error& error) {
    if (chosen.guard.empty() || !error.node().starts_with(chosen.guard)) throw;
  }
  explain_nan(chosen, batch);
}

Profile Training::profile(const FitBatch& batch, std::int64_t steps) {
  const Step& chosen = step(Mode::kTrain, batch);
  backend().flush();
  Feeds feeds;
  const std::vector<Tensor> values = feeds_of(batch);
  for (std::size_t i = 0; i < values.size(); ++i) feeds.emplace_back(chosen.feeds[i], values[i]);
  return profile_steps(backend().session(), chosen.fetches, feeds, steps);
}

Logs Training::test(const FitBatch& batch) { return run(step(Mode::kTest, batch), batch); }

// The loss of this batch is no number, and nothing has been updated: looks for the first op that makes one.
void Training::explain_nan(Step& step, const FitBatch& batch) {
  Feeds feeds;
  const std::vector<Tensor> values = feeds_of(batch);
  for (std::size_t i = 0; i < values.size(); ++i) {
    feeds.emplace_back(step.feeds[i], values[i]);
    if (values[i].dtype() != float32) continue;
    const auto numbers = values[i].flat<float>();
    const auto bad = std::ranges::find_if(numbers, [](float v) { return !std::isfinite(v); });
    if (bad != numbers.end()) {
      throw invalid_argument(
          "the loss is no number: the data of this batch hold ", *bad, " in ",
          i < batch.x.size() ? "input '" + core_.input_names()[i] + "'" : std::string("labels or weights"))
          .hint("Remove or replace such values.");
    }
  }
  for (const WeightRef& weight : core_.weights()) {
    const Tensor value = weight->value();
    if (value.dtype() != float32) continue;
    if (std::ranges::any_of(value.flat<float>(), [](float v) { return !std::isfinite(v); })) {
      throw invalid_argument("the loss is no number: the weight '", weight->path(),
                             "' holds values that are none since an earlier update")
          .hint("Lower the learning rate, or clip gradients (clipnorm of the optimizer).");
    }
  }
  try {
    backend().session().run(step.watched, feeds, {.check_numerics = true});
  } catch (const Error& error) {
    throw Error(Code::kInvalidArgument, "the loss is no number: " + error.detail())
        .at_node(backend().graph().operation(error.node()).type(), error.node())
        .hint("The weights are those before this batch. Lower the learning rate, or clip gradients.");
  }
  throw invalid_argument("the loss is no number")
      .hint("The weights are those before this batch. Lower the learning rate, or clip gradients.");
}

void Training::reset_metrics() {
  if (!loss_tracker_ || !metrics_resolved_) return;
  if (!reset_) {
    const GraphScope graph(backend().graph());
    const NameScope scope("reset_metrics");
    std::vector<Operation> done = {loss_tracker_->reset()};
    for (const auto& tracker : output_trackers_) {
      if (tracker) done.push_back(tracker->reset());
    }
    for (const Tracked& metric : metrics_) done.push_back(metric.metric->reset());
    reset_ = group(done);
  }
  backend().flush();
  backend().session().run(reset_);
}

std::vector<Tensor> Training::predict(const std::vector<Tensor>& x) {
  ensure_graph(x);
  if (!predict_made_) {
    const GraphScope graph(backend().graph());
    const NameScope scope("predict");
    std::vector<Output> places;
    for (const KerasTensor& input : core_.inputs()) places.push_back(placeholder(input.dtype(), input.shape()));
    Forward forward;
    const CallResult result = core_.apply(places, Outputs(places.size()), forward);
    predict_ = backend().session().make_callable(Fetches(result.outputs.begin(), result.outputs.end()), places);
    predict_made_ = true;
  }
  backend().flush();
  return predict_(fitted_inputs(x));
}

}  // namespace caudal::inline v0::keras
