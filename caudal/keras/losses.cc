#include "caudal/keras/losses.h"

#include <map>

#include "caudal/base/error.h"
#include "caudal/base/strings.h"
#include "caudal/keras/class_names.h"
#include "caudal/ops/activation.h"
#include "caudal/ops/cast.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/cross_entropy.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/reduction.h"
#include "caudal/ops/selection.h"
#include "caudal/ops/shape_ops.h"
#include "caudal/ops/slicing.h"
#include "caudal/ops/softmax.h"

namespace caudal::inline v0::keras {
namespace {

using losses::CrossentropyOptions;
using losses::FocalOptions;
using losses::HuberOptions;
using losses::Options;
using losses::SparseCrossentropyOptions;

constexpr float kEpsilon = 1e-7F;

// The formulas below are those of keras/src/losses/losses.py.

Output mean_last(const Output& x) { return reduce_mean(x, {.axis = -1}); }
Output sum_last(const Output& x) { return reduce_sum(x, {.axis = -1}); }

using Pair = std::pair<Output, Output>;
Pair comparable(const Output& y_true, const Output& y_pred) {
  return to_same_rank(cast(y_true, y_pred.dtype()), y_pred);
}

Output squared(const Output& y_true, const Output& y_pred) {
  const auto [y, p] = comparable(y_true, y_pred);
  return mean_last(square(y - p));
}

Output absolute(const Output& y_true, const Output& y_pred) {
  const auto [y, p] = comparable(y_true, y_pred);
  return mean_last(abs(y - p));
}

Output percentage(const Output& y_true, const Output& y_pred) {
  const auto [y, p] = comparable(y_true, y_pred);
  return mean_last(abs((y - p) / maximum(abs(y), kEpsilon))) * 100.0F;
}

Output logarithmic(const Output& y_true, const Output& y_pred) {
  const auto [y, p] = comparable(y_true, y_pred);
  return mean_last(square(log(maximum(p, kEpsilon) + 1.0F) - log(maximum(y, kEpsilon) + 1.0F)));
}

Output huber(const Output& y_true, const Output& y_pred, double delta) {
  const auto [y, p] = comparable(y_true, y_pred);
  const Output error = p - y;
  const Output size = abs(error);
  return mean_last(where(less_equal(size, delta), square(error) * 0.5F, size * delta - 0.5 * delta * delta));
}

Output log_cosh(const Output& y_true, const Output& y_pred) {
  const auto [y, p] = comparable(y_true, y_pred);
  const Output x = p - y;
  return mean_last(x + nn::softplus(x * -2.0F) - 0.6931471805599453);
}

// Labels of 0 and 1 count as -1 and 1.
Output hinge_labels(const Output& y_true, const Output& y_pred) {
  const Output y = cast(y_true, y_pred.dtype());
  const Output binary = reduce_all(logical_or(equal(y, 0.0F), equal(y, 1.0F)));
  return where(binary, y * 2.0F - 1.0F, y);
}

Output hinge(const Output& y_true, const Output& y_pred) {
  return mean_last(maximum(1.0F - hinge_labels(y_true, y_pred) * y_pred, 0.0F));
}

Output squared_hinge(const Output& y_true, const Output& y_pred) {
  return mean_last(square(maximum(1.0F - hinge_labels(y_true, y_pred) * y_pred, 0.0F)));
}

Output categorical_hinge(const Output& y_true, const Output& y_pred) {
  const Output y = cast(y_true, y_pred.dtype());
  const Output right = sum_last(y * y_pred);
  const Output wrong = reduce_max((1.0F - y) * y_pred, {.axis = -1});
  return maximum(wrong - right + 1.0F, 0.0F);
}

Output kl_divergence(const Output& y_true, const Output& y_pred) {
  const Output y = clip_by_value(cast(y_true, y_pred.dtype()), kEpsilon, 1);
  const Output p = clip_by_value(y_pred, kEpsilon, 1);
  return sum_last(y * log(y / p));
}

Output poisson(const Output& y_true, const Output& y_pred) {
  return mean_last(y_pred - cast(y_true, y_pred.dtype()) * log(y_pred + kEpsilon));
}

// x / max(|x|, epsilon) along the last axis.
Output normalized(const Output& x) {
  const Output norm = sqrt(reduce_sum(square(x), {.axis = -1, .keepdims = true}));
  return x / maximum(norm, kEpsilon);
}

Output cosine(const Output& y_true, const Output& y_pred) {
  const auto [y, p] = comparable(y_true, y_pred);
  return -sum_last(normalized(y) * normalized(p));
}

// The input of the softmax or sigmoid that made `probabilities`, if one did.
Output logits_behind(const Output& probabilities, std::string_view op) {
  const Node* node = probabilities.node();
  return node->type() == op ? node->input(0) : Output();
}

Output clipped(const Output& p) { return clip_by_value(p, kEpsilon, 1.0F - kEpsilon); }

// Elementwise, of probabilities or logits.
Output binary_values(const Output& y, const Output& p, bool from_logits) {
  const Output logits = from_logits ? p : logits_behind(p, "Sigmoid");
  if (logits) return nn::sigmoid_cross_entropy_with_logits({.labels = y, .logits = logits});
  const Output q = clipped(p);
  return -(y * log(q) + (1.0F - y) * log(1.0F - q));
}

Output smoothed(const Output& y, double smoothing, double share) {
  return smoothing == 0 ? y : y * (1.0 - smoothing) + smoothing * share;
}

Output binary_crossentropy(const Output& y_true, const Output& y_pred, const CrossentropyOptions& o) {
  const auto [y, p] = comparable(y_true, y_pred);
  return reduce_mean(binary_values(smoothed(y, o.label_smoothing, 0.5), p, o.from_logits), {.axis = o.axis});
}

void check_classes(const Output& y, const Output& p) {
  if (y.shape().compatible(p.shape())) return;
  throw invalid_argument("labels ", y.shape(), " for predictions ", p.shape())
      .hint(
          "Labels of this loss have a number per class (one-hot). For class numbers use "
          "\"sparse_categorical_crossentropy\".");
}

Output classes_smoothed(const Output& y, const Output& p, double smoothing) {
  if (smoothing == 0) return y;
  return smoothed(y, smoothing, 1.0 / static_cast<double>(p.shape()[-1]));
}

Output categorical_crossentropy(const Output& y_true, const Output& y_pred, const CrossentropyOptions& o) {
  Output y = cast(y_true, y_pred.dtype());
  check_classes(y, y_pred);
  y = classes_smoothed(y, y_pred, o.label_smoothing);
  const Output logits = o.from_logits ? y_pred : logits_behind(y_pred, "Softmax");
  if (logits) return nn::softmax_cross_entropy_with_logits({.labels = y, .logits = logits, .axis = o.axis});
  const Output p = y_pred / reduce_sum(y_pred, {.axis = o.axis, .keepdims = true});
  return -reduce_sum(y * log(clipped(p)), {.axis = o.axis});
}

Output sparse_crossentropy(const Output& y_true, const Output& y_pred, const SparseCrossentropyOptions& o) {
  Output y = y_true;
  if (y.shape().has_rank() && y.shape().rank() == y_pred.shape().rank() && y.shape()[-1] == 1) {
    y = squeeze(y, {-1});
  }
  if (y.shape().has_rank() && y_pred.shape().has_rank() && y.shape().rank() != y_pred.shape().rank() - 1) {
    throw invalid_argument("labels ", y_true.shape(), " for predictions ", y_pred.shape())
        .hint("Labels of this loss are class numbers. For one-hot labels use \"categorical_crossentropy\".");
  }
  y = cast(y, int64);
  Output valid;
  if (o.ignore_class) {
    valid = not_equal(y, *o.ignore_class);
    y = where(valid, y, std::int64_t{0});
  }
  Output logits = o.from_logits ? y_pred : logits_behind(y_pred, "Softmax");
  if (!logits) logits = log(clipped(y_pred));
  const Output values = nn::sparse_softmax_cross_entropy_with_logits({.labels = y, .logits = logits});
  return valid ? where(valid, values, 0.0F) : values;
}

Output binary_focal(const Output& y_true, const Output& y_pred, const FocalOptions& o) {
  auto [y, p] = comparable(y_true, y_pred);
  y = smoothed(y, o.label_smoothing, 0.5);
  if (o.from_logits) p = sigmoid(p);
  const Output right = y * p + (1.0F - y) * (1.0F - p);
  // From the probabilities themselves, as Keras does here even where a sigmoid made them.
  const Output q = clipped(p);
  Output values = pow(1.0F - right, o.gamma) * -(y * log(q) + (1.0F - y) * log(1.0F - q));
  if (o.apply_class_balancing) values = (y * o.alpha + (1.0F - y) * (1.0 - o.alpha)) * values;
  return mean_last(values);
}

Output categorical_focal(const Output& y_true, const Output& y_pred, const FocalOptions& o) {
  Output y = cast(y_true, y_pred.dtype());
  check_classes(y, y_pred);
  y = classes_smoothed(y, y_pred, o.label_smoothing);
  Output p = o.from_logits ? nn::softmax(y_pred) : y_pred;
  p = clipped(p / reduce_sum(p, {.axis = -1, .keepdims = true}));
  return sum_last(pow(1.0F - p, o.gamma) * o.alpha * (-y * log(p)));
}

// --- Objects ---

void check_reduction(const std::string& reduction) {
  const std::vector<std::string> known = {"sum_over_batch_size", "sum", "mean", "mean_with_sample_weight", "none"};
  for (const std::string& name : known) {
    if (reduction == name) return;
  }
  throw_unknown("reduction", reduction, known);
}

Config base_config(const std::string& name, const std::string& reduction) {
  Config config;
  config.set("name", name).set("reduction", reduction == "none" ? Config() : Config(reduction));
  return config;
}

Loss plain(const char* class_name, const Options& o, Output (*function)(const Output&, const Output&)) {
  const std::string name = o.name.empty() ? snake_case(class_name) : o.name;
  return Loss(name, function, o.reduction, class_name, base_config(name, o.reduction));
}

template <class O, class F>
Loss with_options(const char* class_name, const O& o, Config extra, F function) {
  const std::string name = o.name.empty() ? snake_case(class_name) : o.name;
  Config config = base_config(name, o.reduction);
  for (const auto& [key, value] : extra.members()) config.set(key, value);
  return Loss(
      name, [o, function](const Output& y, const Output& p) { return function(y, p, o); }, o.reduction, class_name,
      std::move(config));
}

class Settings {
 public:
  explicit Settings(const Config& config) : config_(config) {}
  template <class T>
  void read(std::string_view key, T& value) const {
    const Config* found = config_.find(key);
    if (found == nullptr || found->is_null()) return;
    if constexpr (std::is_same_v<T, bool>)
      value = found->boolean();
    else if constexpr (std::is_same_v<T, std::string>)
      value = found->text();
    else if constexpr (std::is_same_v<T, int>)
      value = static_cast<int>(found->integer());
    else if constexpr (std::is_same_v<T, double>)
      value = found->number();
    else
      value = found->integer();
  }
  template <class O>
  O base() const {
    O o;
    read("name", o.name);
    read("reduction", o.reduction);
    if (const Config* r = config_.find("reduction"); r != nullptr && r->is_null()) o.reduction = "none";
    return o;
  }

 private:
  const Config& config_;
};

CrossentropyOptions crossentropy(const Settings& s) {
  auto o = s.base<CrossentropyOptions>();
  s.read("from_logits", o.from_logits);
  s.read("label_smoothing", o.label_smoothing);
  s.read("axis", o.axis);
  return o;
}

SparseCrossentropyOptions sparse(const Settings& s) {
  auto o = s.base<SparseCrossentropyOptions>();
  s.read("from_logits", o.from_logits);
  s.read("ignore_class", o.ignore_class);
  s.read("axis", o.axis);
  return o;
}

FocalOptions focal(const Settings& s) {
  auto o = s.base<FocalOptions>();
  s.read("alpha", o.alpha);
  s.read("gamma", o.gamma);
  s.read("apply_class_balancing", o.apply_class_balancing);
  s.read("from_logits", o.from_logits);
  s.read("label_smoothing", o.label_smoothing);
  return o;
}

HuberOptions huber_options(const Settings& s) {
  auto o = s.base<HuberOptions>();
  s.read("delta", o.delta);
  return o;
}

using Maker = Loss (*)(const Settings&);
template <Loss (*make)(const Options&)>
Loss plain_maker(const Settings& s) {
  return make(s.base<Options>());
}

const std::map<std::string, Maker, std::less<>>& table() {
  static const auto* const makers = [] {
    auto* const t = new std::map<std::string, Maker, std::less<>>{
        {"mean_squared_error", plain_maker<losses::MeanSquaredError>},
        {"mean_absolute_error", plain_maker<losses::MeanAbsoluteError>},
        {"mean_absolute_percentage_error", plain_maker<losses::MeanAbsolutePercentageError>},
        {"mean_squared_logarithmic_error", plain_maker<losses::MeanSquaredLogarithmicError>},
        {"log_cosh", plain_maker<losses::LogCosh>},
        {"hinge", plain_maker<losses::Hinge>},
        {"squared_hinge", plain_maker<losses::SquaredHinge>},
        {"categorical_hinge", plain_maker<losses::CategoricalHinge>},
        {"kl_divergence", plain_maker<losses::KLDivergence>},
        {"poisson", plain_maker<losses::Poisson>},
        {"cosine_similarity", plain_maker<losses::CosineSimilarity>},
        {"huber", [](const Settings& s) { return losses::Huber(huber_options(s)); }},
        {"binary_crossentropy", [](const Settings& s) { return losses::BinaryCrossentropy(crossentropy(s)); }},
        {"categorical_crossentropy",
         [](const Settings& s) { return losses::CategoricalCrossentropy(crossentropy(s)); }},
        {"sparse_categorical_crossentropy",
         [](const Settings& s) { return losses::SparseCategoricalCrossentropy(sparse(s)); }},
        {"binary_focal_crossentropy", [](const Settings& s) { return losses::BinaryFocalCrossentropy(focal(s)); }},
        {"categorical_focal_crossentropy",
         [](const Settings& s) { return losses::CategoricalFocalCrossentropy(focal(s)); }},
    };
    const std::pair<const char*, const char*> other_names[] = {
        {"mse", "mean_squared_error"},
        {"mae", "mean_absolute_error"},
        {"mape", "mean_absolute_percentage_error"},
        {"msle", "mean_squared_logarithmic_error"},
        {"logcosh", "log_cosh"},
        {"kld", "kl_divergence"},
        {"kullback_leibler_divergence", "kl_divergence"},
        {"huber_loss", "huber"},
        {"bce", "binary_crossentropy"},
    };
    for (const auto& [other, name] : other_names) t->emplace(other, t->at(name));
    return t;
  }();
  return *makers;
}

}  // namespace

std::pair<Output, Output> to_same_rank(const Output& a, const Output& b) {
  if (!a.shape().has_rank() || !b.shape().has_rank()) return {a, b};
  const int rank_a = a.shape().rank(), rank_b = b.shape().rank();
  if (rank_a == rank_b + 1 && a.shape()[-1] == 1) {
    if (rank_b == 1) return {a, expand_dims(b, -1)};
    return {squeeze(a, {-1}), b};
  }
  if (rank_b == rank_a + 1 && b.shape()[-1] == 1) {
    if (rank_a == 1) return {expand_dims(a, -1), b};
    return {a, squeeze(b, {-1})};
  }
  return {a, b};
}

Loss::Loss(const std::string& name) : Loss(from_config(name)) { name_ = name; }

Loss::Loss(std::string name, Function function, std::string reduction, std::string class_name, Config config)
    : name_(std::move(name)),
      class_name_(std::move(class_name)),
      reduction_(std::move(reduction)),
      config_(std::move(config)),
      function_(std::move(function)) {
  check_reduction(reduction_);
}

Output Loss::operator()(const Output& y_true, const Output& y_pred, const Output& sample_weight,
                        const Output& mask) const {
  Output values = function_(y_true, y_pred);
  const DType dtype = values.dtype();
  Output weights = sample_weight ? cast(sample_weight, dtype) : Output();
  if (mask) {
    Output share = cast(mask, dtype);
    if (reduction_ == "sum_over_batch_size" || reduction_ == "mean") {
      // Steps that are only padding do not count: the mean is over the others.
      share = share * div_no_nan(cast(size(mask), dtype), reduce_sum(share));
    }
    if (weights) {
      const auto [a, b] = to_same_rank(share, weights);
      weights = a * b;
    } else {
      weights = share;
    }
  }
  if (weights) {
    const auto [v, w] = to_same_rank(values, weights);
    values = v * w;
    weights = w;
  }
  if (reduction_ == "none" || (values.shape().has_rank() && values.shape().rank() == 0)) return values;
  const Output sum = reduce_sum(values);
  if (reduction_ == "sum") return sum;
  if (reduction_ == "mean_with_sample_weight" && weights) return div_no_nan(sum, reduce_sum(weights));
  return div_no_nan(sum, cast(size(values), dtype));
}

Config Loss::to_config() const {
  if (class_name_.empty()) {
    throw unimplemented("the loss '", name_, "' is a function of the program and has no name in files");
  }
  return object_config("keras.losses", class_name_, config_);
}

Loss Loss::from_config(const Config& config) {
  if (config.is_null()) return {};
  const std::string& name = config.is_string() ? config.text() : config["class_name"].text();
  const Config* settings = config.find("config");
  static const Config nothing = Config::map();
  const auto found = table().find(snake_case(name));
  if (found == table().end()) {
    std::vector<std::string> known;
    for (const auto& [key, maker] : table()) known.push_back(key);
    throw_unknown("loss", name, known);
  }
  return found->second(Settings(settings == nullptr || !settings->is_map() ? nothing : *settings));
}

namespace losses {

Loss MeanSquaredError(const Options& o) { return plain("MeanSquaredError", o, squared); }
Loss MeanAbsoluteError(const Options& o) { return plain("MeanAbsoluteError", o, absolute); }
Loss MeanAbsolutePercentageError(const Options& o) { return plain("MeanAbsolutePercentageError", o, percentage); }
Loss MeanSquaredLogarithmicError(const Options& o) { return plain("MeanSquaredLogarithmicError", o, logarithmic); }
Loss LogCosh(const Options& o) { return plain("LogCosh", o, log_cosh); }
Loss Hinge(const Options& o) { return plain("Hinge", o, hinge); }
Loss SquaredHinge(const Options& o) { return plain("SquaredHinge", o, squared_hinge); }
Loss CategoricalHinge(const Options& o) { return plain("CategoricalHinge", o, categorical_hinge); }
Loss KLDivergence(const Options& o) { return plain("KLDivergence", o, kl_divergence); }
Loss Poisson(const Options& o) { return plain("Poisson", o, poisson); }
Loss CosineSimilarity(const Options& o) { return plain("CosineSimilarity", o, cosine); }

Loss Huber(const HuberOptions& o) {
  Config extra;
  extra.set("delta", o.delta);
  return with_options("Huber", o, std::move(extra), [](const Output& y, const Output& p, const HuberOptions& options) {
    return huber(y, p, options.delta);
  });
}

namespace {
Config crossentropy_config(const CrossentropyOptions& o) {
  Config extra;
  extra.set("from_logits", o.from_logits).set("label_smoothing", o.label_smoothing).set("axis", o.axis);
  return extra;
}
Config focal_config(const FocalOptions& o) {
  Config extra;
  extra.set("from_logits", o.from_logits).set("label_smoothing", o.label_smoothing);
  extra.set("alpha", o.alpha).set("gamma", o.gamma);
  return extra;
}
}  // namespace

Loss BinaryCrossentropy(const CrossentropyOptions& o) {
  return with_options("BinaryCrossentropy", o, crossentropy_config(o), binary_crossentropy);
}

Loss CategoricalCrossentropy(const CrossentropyOptions& o) {
  return with_options("CategoricalCrossentropy", o, crossentropy_config(o), categorical_crossentropy);
}

Loss SparseCategoricalCrossentropy(const SparseCrossentropyOptions& o) {
  Config extra;
  extra.set("from_logits", o.from_logits).set("ignore_class", o.ignore_class ? Config(*o.ignore_class) : Config());
  extra.set("axis", o.axis);
  return with_options("SparseCategoricalCrossentropy", o, std::move(extra), sparse_crossentropy);
}

Loss BinaryFocalCrossentropy(const FocalOptions& o) {
  Config extra = focal_config(o);
  extra.set("apply_class_balancing", o.apply_class_balancing);
  return with_options("BinaryFocalCrossentropy", o, std::move(extra), binary_focal);
}

Loss CategoricalFocalCrossentropy(const FocalOptions& o) {
  return with_options("CategoricalFocalCrossentropy", o, focal_config(o), categorical_focal);
}

}  // namespace losses

}  // namespace caudal::inline v0::keras
