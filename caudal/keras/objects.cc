#include "caudal/keras/objects.h"

#include <map>
#include <vector>

#include "caudal/base/error.h"
#include "caudal/base/strings.h"
#include "caudal/keras/class_names.h"
#include "caudal/ops/activation.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/reduction.h"
#include "caudal/ops/selection.h"
#include "caudal/ops/softmax.h"

namespace caudal::inline v0::keras {
namespace {

constexpr double kEpsilon = 1e-7;  // keras.config.epsilon()

// --- Activations ---

using ActivationFunction = std::function<Output(const Output&)>;

template <class F>
ActivationFunction op(F function) {
  return [function](const Output& x) { return function(x, {}); };
}

// min(max((x + 3) / 6, 0), 1), as Keras 3; Keras 2 had 0.2 x + 0.5.
Output hard_sigmoid(const Output& x) { return nn::relu6(x + 3.0F) * (1.0F / 6.0F); }

const std::map<std::string, ActivationFunction, std::less<>>& activation_table() {
  static const auto* const table = new std::map<std::string, ActivationFunction, std::less<>>{
      {"linear", nullptr},
      {"relu", op([](const Output& x, const OpOptions& o) { return nn::relu(x, o); })},
      {"relu6", op([](const Output& x, const OpOptions& o) { return nn::relu6(x, o); })},
      {"elu", op([](const Output& x, const OpOptions& o) { return nn::elu(x, o); })},
      {"selu", op([](const Output& x, const OpOptions& o) { return nn::selu(x, o); })},
      {"softplus", op([](const Output& x, const OpOptions& o) { return nn::softplus(x, o); })},
      {"softsign", op([](const Output& x, const OpOptions& o) { return nn::softsign(x, o); })},
      {"tanh", op([](const Output& x, const OpOptions& o) { return tanh(x, o); })},
      {"sigmoid", op([](const Output& x, const OpOptions& o) { return sigmoid(x, o); })},
      {"exponential", op([](const Output& x, const OpOptions& o) { return exp(x, o); })},
      {"leaky_relu", [](const Output& x) { return nn::leaky_relu(x); }},
      {"softmax", [](const Output& x) { return nn::softmax(x); }},
      {"log_softmax", [](const Output& x) { return nn::log_softmax(x); }},
      {"silu", [](const Output& x) { return nn::silu(x); }},
      {"swish", [](const Output& x) { return nn::silu(x); }},
      {"gelu", [](const Output& x) { return nn::gelu(x); }},
      {"mish", [](const Output& x) { return x * tanh(nn::softplus(x)); }},
      {"hard_sigmoid", hard_sigmoid},
      {"hard_silu", [](const Output& x) { return x * hard_sigmoid(x); }},
      {"hard_swish", [](const Output& x) { return x * hard_sigmoid(x); }},
      {"hard_tanh", [](const Output& x) { return clip_by_value(x, -1, 1); }},
      {"log_sigmoid", [](const Output& x) { return -nn::softplus(-x); }},
      {"celu", [](const Output& x) { return maximum(x, 0.0F) + expm1(minimum(x, 0.0F)); }},
      {"tanh_shrink", [](const Output& x) { return x - tanh(x); }},
      {"squareplus", [](const Output& x) { return 0.5F * (x + sqrt(square(x) + 4.0F)); }},
  };
  return *table;
}

// --- Reading objects ---

template <class Value>
std::vector<std::string> keys_of(const std::map<std::string, Value, std::less<>>& table) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : table) keys.push_back(key);
  return keys;
}

// Class name and settings of what a file holds: a name, or {"class_name": ..., "config": {...}}.
struct Described {
  std::string class_name;
  Config config = Config::map();
};

Described described(const Config& config) {
  if (config.is_string()) return {config.text(), Config::map()};
  Described out{config["class_name"].text(), Config::map()};
  if (const Config* settings = config.find("config"); settings != nullptr && settings->is_map()) out.config = *settings;
  return out;
}

double number(const Config& config, std::string_view key, double otherwise) {
  const Config* found = config.find(key);
  return found == nullptr || found->is_null() ? otherwise : found->number();
}

std::vector<std::int64_t> axes(const Config& config, std::string_view key) {
  const Config* found = config.find(key);
  if (found == nullptr || found->is_null()) return {0};
  if (found->is_number()) return {found->integer()};
  std::vector<std::int64_t> out;
  for (const Config& item : found->list()) out.push_back(item.integer());
  return out;
}

Config axes_config(const std::vector<std::int64_t>& axis) {
  return axis.size() == 1 ? Config(axis[0]) : Config::integers(axis);
}

// --- Regularizers ---

Output penalty(const Output& w, double l1, double l2) {
  Output sum;
  if (l1 != 0) sum = reduce_sum(abs(w)) * l1;
  if (l2 != 0) sum = sum ? sum + reduce_sum(square(w)) * l2 : reduce_sum(square(w)) * l2;
  return sum ? sum : constant(0.0F);
}

Regularizer make_regularizer(std::string class_name, double l1, double l2, Config config) {
  if (!(l1 >= 0) || !(l2 >= 0)) throw invalid_argument(class_name, ": factors ", l1, ", ", l2, " must not be negative");
  return Regularizer(std::move(class_name), std::move(config),
                     [l1, l2](const Output& w) { return penalty(w, l1, l2); });
}

// By name alone Keras takes 0.01 for both; from a file what it says.
Regularizer l1_l2(const Config& c) {
  const double otherwise = c.members().empty() ? 0.01 : 0.0;
  return regularizers::L1L2(number(c, "l1", otherwise), number(c, "l2", otherwise));
}

using RegularizerMaker = Regularizer (*)(const Config&);
const std::map<std::string, RegularizerMaker, std::less<>>& regularizer_table() {
  static const auto* const table = new std::map<std::string, RegularizerMaker, std::less<>>{
      {"l1", [](const Config& c) { return regularizers::L1(number(c, "l1", 0.01)); }},
      {"l2", [](const Config& c) { return regularizers::L2(number(c, "l2", 0.01)); }},
      {"l1l2", l1_l2},
      {"l1_l2", l1_l2},
  };
  return *table;
}

// --- Constraints ---

Output norms(const Output& w, const std::vector<std::int64_t>& axis) {
  const std::vector<int> over(axis.begin(), axis.end());
  return sqrt(reduce_sum(square(w), {.axis = over, .keepdims = true}));
}

using ConstraintMaker = Constraint (*)(const Config&);
const std::map<std::string, ConstraintMaker, std::less<>>& constraint_table() {
  static const auto* const table = new std::map<std::string, ConstraintMaker, std::less<>>{
      {"max_norm", [](const Config& c) { return constraints::MaxNorm(number(c, "max_value", 2), axes(c, "axis")); }},
      {"non_neg", [](const Config&) { return constraints::NonNeg(); }},
      {"unit_norm", [](const Config& c) { return constraints::UnitNorm(axes(c, "axis")); }},
      {"min_max_norm",
       [](const Config& c) {
         return constraints::MinMaxNorm(number(c, "min_value", 0), number(c, "max_value", 1), number(c, "rate", 1),
                                        axes(c, "axis"));
       }},
  };
  return *table;
}

template <class Table>
auto make_by_name(std::string_view kind, const Table& table, const Config& config) {
  const Described what = described(config);
  const auto found = table.find(snake_case(what.class_name));
  if (found == table.end()) throw_unknown(kind, what.class_name, keys_of(table));
  return found->second(what.config);
}

template <class Object>
Config object_or_null(const Object& object, const char* module) {
  return object ? object_config(module, object.class_name(), object.config()) : Config();
}

}  // namespace

// --- Activations ---

Activation::Activation(const std::string& name) {
  const std::string key = snake_case(name);
  const auto& table = activation_table();
  const auto found = table.find(key);
  if (found == table.end()) throw_unknown("activation", name, keys_of(table));
  *this = Activation();
  if (found->second != nullptr) NamedFunction::operator=(NamedFunction(found->first, Config(), found->second));
}

Activation::Activation(OpFunction function)
    : NamedFunction("function", Config(), [function](const Output& x) { return function(x, {}); }) {
  // The op functions that Keras has a name for keep it, so that the layer can be written to a file.
  const std::pair<OpFunction, const char*> known[] = {
      {nn::relu, "relu"},         {nn::relu6, "relu6"},        {nn::elu, "elu"},   {nn::selu, "selu"},
      {nn::softplus, "softplus"}, {nn::softsign, "softsign"},  {nn::tanh, "tanh"}, {nn::sigmoid, "sigmoid"},
      {caudal::tanh, "tanh"},     {caudal::sigmoid, "sigmoid"}};
  for (const auto& [op, name] : known) {
    if (op == function) *this = Activation(name);
  }
}

Config Activation::to_config() const {
  if (!*this) return "linear";
  if (class_name() == "function") {
    throw unimplemented("an activation that is a function of the program has no name in files")
        .hint("Give the activation by name, such as \"relu\".");
  }
  return class_name();
}

Activation Activation::from_config(const Config& config) {
  return config.is_null() ? Activation() : Activation(described(config).class_name);
}

// --- Regularizers ---

Regularizer::Regularizer(const std::string& name) : Regularizer(from_config(name)) {}

Config Regularizer::to_config() const { return object_or_null(*this, "keras.regularizers"); }

Regularizer Regularizer::from_config(const Config& config) {
  return config.is_null() ? Regularizer() : make_by_name("regularizer", regularizer_table(), config);
}

Regularizer regularizers::L1(double l1) {
  Config config;
  config.set("l1", l1);
  return make_regularizer("L1", l1, 0, std::move(config));
}

Regularizer regularizers::L2(double l2) {
  Config config;
  config.set("l2", l2);
  return make_regularizer("L2", 0, l2, std::move(config));
}

Regularizer regularizers::L1L2(double l1, double l2) {
  Config config;
  config.set("l1", l1).set("l2", l2);
  return make_regularizer("L1L2", l1, l2, std::move(config));
}

// --- Constraints ---

Constraint::Constraint(const std::string& name) : Constraint(from_config(name)) {}

Config Constraint::to_config() const { return object_or_null(*this, "keras.constraints"); }

Constraint Constraint::from_config(const Config& config) {
  return config.is_null() ? Constraint() : make_by_name("constraint", constraint_table(), config);
}

Constraint constraints::MaxNorm(double max_value, std::vector<std::int64_t> axis) {
  Config config;
  config.set("max_value", max_value).set("axis", axes_config(axis));
  return Constraint("MaxNorm", std::move(config), [max_value, axis = std::move(axis)](const Output& w) {
    const Output size = norms(w, axis);
    return w * (clip_by_value(size, 0, max_value) / (size + kEpsilon));
  });
}

Constraint constraints::NonNeg() {
  return Constraint("NonNeg", Config::map(), [](const Output& w) { return maximum(w, 0.0F); });
}

Constraint constraints::UnitNorm(std::vector<std::int64_t> axis) {
  Config config;
  config.set("axis", axes_config(axis));
  return Constraint("UnitNorm", std::move(config),
                    [axis = std::move(axis)](const Output& w) { return w / (norms(w, axis) + kEpsilon); });
}

Constraint constraints::MinMaxNorm(double min_value, double max_value, double rate, std::vector<std::int64_t> axis) {
  Config config;
  config.set("min_value", min_value).set("max_value", max_value).set("rate", rate).set("axis", axes_config(axis));
  return Constraint("MinMaxNorm", std::move(config),
                    [min_value, max_value, rate, axis = std::move(axis)](const Output& w) {
                      const Output size = norms(w, axis);
                      const Output wanted = clip_by_value(size, min_value, max_value) * rate + size * (1 - rate);
                      return w * (wanted / (size + kEpsilon));
                    });
}

}  // namespace caudal::inline v0::keras
