#include "caudal/keras/model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/keras/layers.h"
#include "caudal/ops/activation.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/train/saver.h"

namespace caudal::inline v0::keras {
namespace {

namespace L = layers;

// What `action` fails with; empty if it does not.
template <class F>
std::string failure(const F& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

void expect_in(const std::string& part, const std::string& whole) {
  EXPECT_NE(whole.find(part), std::string::npos) << "no '" << part << "' in:\n" << whole;
}

Tensor ramp(std::int64_t rows, std::int64_t columns) {
  Tensor x(float32, Shape({rows, columns}));
  for (std::int64_t i = 0; i < x.num_elements(); ++i) x.data<float>()[i] = std::sin(static_cast<float>(i) * 1.7F);
  return x;
}

Tensor labels(std::int64_t rows, std::int64_t classes) {
  std::vector<std::int64_t> y;
  for (std::int64_t i = 0; i < rows; ++i) y.push_back(i % classes);
  return Tensor(y);
}

Sequential classifier() {
  Sequential model({.shape = {4}}, {L::Dense(8, {.activation = "relu", .name = "hidden"}),
                                    L::Dense(3, {.activation = "softmax", .name = "kind"})});
  model.compile({.optimizer = "sgd", .loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}});
  return model;
}

class KerasModel : public testing::Test {
 protected:
  void SetUp() override {
    clear_session();
    set_random_seed(5);
  }
};

TEST_F(KerasModel, InitializersDrawWhatKerasDraws) {
  // keras.initializers.X(seed=7)((2, 3)) of Keras 3.15 with TensorFlow 2.21.
  const std::pair<Initializer, std::vector<float>> wanted[] = {
      {initializers::GlorotUniform({.seed = 7}),
       {0.5413225F, 0.3772279F, -0.9688565F, 0.3159553F, -0.9414068F, 0.3684088F}},
      {initializers::HeNormal({.seed = 7}),
       {-0.7664315F, -0.4077787F, -2.136797F, -1.674454F, -0.8244923F, 0.8644108F}},
      {initializers::RandomNormal(0, 0.05, {.seed = 7}),
       {-0.03370864F, -0.01793463F, -0.09397908F, -0.07364466F, -0.1003127F, -0.05667162F}},
      {initializers::RandomUniform(-0.05, 0.05, {.seed = 7}),
       {0.02470788F, 0.01721802F, -0.04422205F, 0.01442132F, -0.04296914F, 0.01681549F}},
      {initializers::TruncatedNormal(0, 0.05, {.seed = 7}),
       {-0.03370864F, -0.01793463F, -0.09397908F, -0.07364466F, -0.03626223F, 0.0380179F}},
      {initializers::Orthogonal(1, {.seed = 7}),
       {-0.2381717F, -0.6640185F, -0.7087691F, 0.2747638F, -0.7460243F, 0.606591F}},
  };
  for (const auto& [initializer, values] : wanted) {
    const Tensor drawn = initializer.function()(Shape({2, 3}), float32);
    for (std::size_t i = 0; i < values.size(); ++i) {
      EXPECT_NEAR(drawn.data<float>()[i], values[i], 1e-6) << initializer.class_name() << " " << i;
    }
  }
}

TEST_F(KerasModel, NamesCountUpAndWeightsHavePaths) {
  const auto x = Input({.shape = {4}});
  const auto h = L::Dense(3)(x);
  const auto y = L::Dense(2)(h);
  const Model model({x}, {y});
  std::vector<std::string> paths;
  for (const WeightRef& weight : model->weights()) paths.push_back(weight->path());
  EXPECT_EQ(paths, (std::vector<std::string>{"dense/kernel", "dense/bias", "dense_1/kernel", "dense_1/bias"}));
  EXPECT_EQ(model->count_params(), 4 * 3 + 3 + 3 * 2 + 2);
  EXPECT_EQ(model.get_layer("dense_1")->name(), "dense_1");
  expect_in("Did you mean 'dense", failure([&] { model.get_layer("dens"); }));
}

TEST_F(KerasModel, LossFallsAndTheSameSeedGivesTheSameRun) {
  std::vector<double> first;
  for (int run = 0; run < 2; ++run) {
    clear_session();
    set_random_seed(5);
    Sequential model = classifier();
    const History history = model.fit(ramp(60, 4), labels(60, 3), {.batch_size = 8, .epochs = 4, .verbose = 0});
    const std::vector<double> losses = history.of("loss");
    EXPECT_LT(losses.back(), losses.front());
    if (run == 0) first = losses;
    EXPECT_EQ(losses, first);
  }
}

// Layers inside a class of the program.
class Net final : public Layer {
 public:
  Net() : Layer("Net") {
    hidden_ = track(L::Dense(5, {.activation = "tanh"}));
    out_ = track(L::Dense(1));
  }

 protected:
  Outputs call(const Outputs& inputs, CallContext& context) override {
    return {out_(hidden_(inputs[0], context), context) + reduce_me(inputs[0])};
  }

 private:
  static Output reduce_me(const Output& x) { return x * 0.0F; }
  LayerRef hidden_, out_;
};

TEST_F(KerasModel, ClassesOfTheProgramAreModels) {
  Model model(make_layer<Net>());
  model.compile({.optimizer = optimizers::Adam({.learning_rate = 0.05}), .loss = "mse"});
  const Tensor x = ramp(32, 1), y = ramp(32, 1);
  const Logs before = model.evaluate(x, y);
  model.fit(x, y, {.epochs = 20, .verbose = 0});
  EXPECT_LT(*model.evaluate(x, y).find("loss"), *before.find("loss") / 2);
  EXPECT_EQ(model->weights().size(), 4U);
  EXPECT_EQ(model->weights()[0]->path(), "net/dense/kernel");
}

TEST_F(KerasModel, FrozenLayersStay) {
  Sequential model = classifier();
  model.get_layer("hidden")->set_trainable(false);
  const std::vector<Tensor> before = model.get_weights();
  model.fit(ramp(12, 4), labels(12, 3), {.verbose = 0});
  const std::vector<Tensor> after = model.get_weights();
  EXPECT_TRUE(identical(before[0], after[0]));
  EXPECT_FALSE(identical(before[2], after[2]));
  EXPECT_EQ(model->trainable_weights().size(), 2U);
}

TEST_F(KerasModel, WeightsComeBackFromACheckpoint) {
  const TempDir dir;
  Sequential model = classifier();
  const std::string prefix = model.save_weights(dir.file("weights"));
  EXPECT_EQ(train::load_variable(prefix, "sequential/hidden/kernel").shape(), Shape({4, 8}));
  const Tensor wanted = model.predict(ramp(5, 4))[0];
  model.fit(ramp(12, 4), labels(12, 3), {.verbose = 0});
  EXPECT_FALSE(identical(model.predict(ramp(5, 4))[0], wanted));
  model.load_weights(prefix);
  EXPECT_TRUE(identical(model.predict(ramp(5, 4))[0], wanted));

  Sequential other({.shape = {4}}, {L::Dense(9, {.name = "hidden"})}, {.name = "sequential"});
  const std::string message = failure([&] { other.load_weights(prefix); });
  expect_in("sequential/hidden/kernel", message);
  expect_in("[4,8]", message);
  expect_in("sequential/kind/bias", message);
  expect_in("UNIMPLEMENTED", failure([&] { model.save_weights(dir.file("weights.h5")); }));
}

TEST_F(KerasModel, ANotANumberStopsWithItsOpAndChangesNothing) {
  const auto x = Input({.shape = {4}, .name = "x"});
  const auto y = L::Lambda([](const Output& v) { return log(v); }, {.name = "shadow"})(L::Dense(3)(x));
  Model model({x}, {y});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const std::vector<Tensor> before = model.get_weights();
  const std::string message = failure([&] { model.fit(ramp(8, 4), ramp(8, 3), {.verbose = 0}); });
  expect_in("the loss is no number", message);
  expect_in("Log '", message);
  expect_in("shadow", message);
  const std::vector<Tensor> after = model.get_weights();
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_TRUE(identical(before[i], after[i]));
  // Asked to, it ends without an error.
  const History history =
      model.fit(ramp(8, 4), ramp(8, 3), {.epochs = 3, .verbose = 0, .callbacks = {callbacks::TerminateOnNaN()}});
  EXPECT_TRUE(history.stopped);
  EXPECT_EQ(history.epoch.size(), 1U);
}

TEST_F(KerasModel, EarlyStoppingBringsTheBestWeightsBack) {
  Sequential model({.shape = {1}}, {L::Dense(1, {.use_bias = false, .kernel_initializer = "ones", .name = "w"})});
  model.compile({.optimizer = optimizers::SGD({.learning_rate = 3.0}), .loss = "mse"});
  const Tensor x = Tensor::from<float>({2, 1}, {1, 1}), y = Tensor::from<float>({2, 1}, {0, 0});
  // The rate is too large: each epoch is worse than the one before.
  const History history = model.fit(
      x, y,
      {.epochs = 10,
       .verbose = 0,
       .callbacks = {callbacks::EarlyStopping({.monitor = "loss", .patience = 2, .restore_best_weights = true})}});
  EXPECT_EQ(history.epoch.size(), 3U);
  EXPECT_TRUE(history.stopped);
  EXPECT_FLOAT_EQ(model.get_weights()[0].item<float>(), -5.0F);  // after the first epoch
}

TEST_F(KerasModel, LearningRatesMove) {
  Sequential model = classifier();
  std::vector<double> rates;
  const History history = model.fit(
      ramp(12, 4), labels(12, 3),
      {.epochs = 3, .verbose = 0, .callbacks = {callbacks::LearningRateScheduler([](std::int64_t, double rate) {
                                    return rate * 0.5;
                                  })}});
  rates = history.of("learning_rate");
  EXPECT_NEAR(rates[0], 0.005, 1e-7);
  EXPECT_NEAR(rates[2], 0.00125, 1e-7);
  const History plateau = model.fit(ramp(12, 4), labels(12, 3),
                                    {.epochs = 3,
                                     .verbose = 0,
                                     .callbacks = {callbacks::ReduceLROnPlateau(
                                         {.monitor = "loss", .factor = 0.1, .patience = 1, .min_delta = 100})}});
  EXPECT_NEAR(model.optimizer().learning_rate(), 0.00125 * 0.01, 1e-9);
}

TEST_F(KerasModel, LogsGoToFiles) {
  const TempDir dir;
  Sequential model = classifier();
  model.fit(ramp(12, 4), labels(12, 3),
            {.epochs = 2,
             .verbose = 0,
             .callbacks = {callbacks::CSVLogger(dir.file("log.csv")), callbacks::TensorBoard(dir.file("events")),
                           callbacks::ModelCheckpoint(dir.file("w-{epoch:02d}"))},
             .validation_split = 0.25});
  const std::string csv = read_file(default_env(), dir.file("log.csv"));
  EXPECT_EQ(csv.substr(0, csv.find('\r')), "epoch,accuracy,loss,val_accuracy,val_loss");
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 3);
  EXPECT_TRUE(default_env().exists(dir.file("w-02.index")));
  EXPECT_FALSE(default_env().list(dir.file("events/validation")).empty());
}

TEST_F(KerasModel, ARunThatWasCutOffGoesOn) {
  const TempDir dir;
  const auto run = [&](std::int64_t epochs, const std::string& backup) {
    clear_session();
    set_random_seed(5);
    Sequential model({.shape = {4}},
                     {L::Dense(6, {.activation = "relu"}), L::Dropout(0.3), L::Dense(3, {.activation = "softmax"})});
    model.compile({.optimizer = "adam", .loss = "sparse_categorical_crossentropy"});
    FitOptions options{.batch_size = 4, .epochs = epochs, .verbose = 0};
    if (!backup.empty()) options.callbacks = {callbacks::BackupAndRestore(backup, {.delete_checkpoint = false})};
    return model.fit(ramp(24, 4), labels(24, 3), options).of("loss");
  };
  const std::vector<double> whole = run(4, dir.file("whole"));
  run(2, dir.file("backup"));
  {
    // An interruption leaves the backup, whatever becomes of one at a good end.
    clear_session();
    set_random_seed(5);
    Sequential model = classifier();
    FitOptions options{.verbose = 0, .stop_when = [] { return true; }};
    default_env().mkdirs(dir.file("kept"));
    options.callbacks = {callbacks::BackupAndRestore(dir.file("kept"))};
    EXPECT_TRUE(model.fit(ramp(24, 4), labels(24, 3), options).stopped);
    EXPECT_TRUE(default_env().exists(dir.file("kept")));
    options.stop_when = nullptr;
    model.fit(ramp(24, 4), labels(24, 3), options);
    EXPECT_FALSE(default_env().exists(dir.file("kept")));
  }
  const std::vector<double> rest = run(4, dir.file("backup"));
  EXPECT_EQ(rest, std::vector<double>(whole.begin() + 2, whole.end()));
}

TEST_F(KerasModel, BadInputIsNamed) {
  Sequential model = classifier();
  const Tensor x = ramp(6, 4), y = labels(6, 3);
  expect_in("there are no data", failure([&] { model.fit(ramp(0, 4), labels(0, 3)); }));
  expect_in("labels has 5 rows, the first input 6", failure([&] { model.fit(x, labels(5, 3)); }));
  const std::string label = failure([&] { model.fit(x, labels(6, 4)); });
  expect_in("label 3 in row 3, but output 'kind' has 3 classes", label);
  expect_in("takes [?,4], the data have [6,5]", failure([&] { model.fit(ramp(6, 5), y); }));
  const std::string weight = failure([&] { model.fit(x, y, {.class_weight = {{7, 2.0}}}); });
  expect_in("class_weight has a weight for class 7", weight);
  expect_in("0, 1, 2", weight);
  Tensor holes = ramp(6, 4);
  holes.data<float>()[9] = NAN;
  expect_in("holds nan in row 2", failure([&] { model.fit(holes, y); }));
  expect_in("labels are string",
            failure([&] { model.fit(x, Tensor(std::vector<std::string>(6, "a")), {.verbose = 0}); }));
  expect_in("is no class number", failure([&] { model.fit(x, ramp(6, 1), {.verbose = 0}); }));
  expect_in("one-hot", failure([&] { model.fit(x, Tensor::zeros(float32, Shape({6, 3})), {.verbose = 0}); }));
  Sequential fresh({.shape = {4}}, {L::Dense(2)});
  expect_in("is not compiled", failure([&] { fresh.fit(x, y); }));
  expect_in("Did you mean 'adam'", failure([] { OptimizerRef("adma"); }));
  expect_in("Did you mean 'relu'", failure([] { L::Dense(1, {.activation = "rellu"}); }));
  expect_in("Did you mean", failure([] { Loss("mean_sqared_error"); }));
}

TEST_F(KerasModel, ShapesThatDoNotMeetNameTheLayer) {
  const auto x = Input({.shape = {28, 28}});
  const std::string rank = failure([&] { L::Conv2D(3, {3, 3}, {.name = "conv"})(x); });
  expect_in("layer Conv2D 'conv' on [?,28,28]", rank);
  expect_in("Reshape", rank);
  const auto a = L::Dense(3)(Input({.shape = {4}})), b = L::Dense(4)(Input({.shape = {4}}));
  expect_in("layer Add 'add' on [?,3], [?,4]", failure([&] { L::Add()({a, b}); }));
  expect_in("cannot become", failure([&] { L::Reshape({5})(a); }));
  const auto small = Input({.shape = {2, 2, 1}});
  expect_in("larger than dimension", failure([&] { L::MaxPooling2D({3, 3})(small); }));
  const auto y = L::Dense(1)(a);
  expect_in("none of the model's", failure([&] { Model({x}, {y}); }));
}

TEST_F(KerasModel, ForeignFilesAreRefused) {
  expect_in("not JSON", failure([] { model_from_json("{"); }));
  expect_in("no Keras model", failure([] { model_from_json("[1, 2]"); }));
  expect_in("nested deeper", failure([] { model_from_json(std::string(5000, '[')); }));
  expect_in("unknown layer class 'Dens'", failure([] {
              model_from_json(R"({"class_name": "Sequential", "config": [{"class_name": "Dens", "config": {}}]})");
            }));
  expect_in(
      "unknown setting 'unit'", failure([] {
        model_from_json(R"({"class_name": "Sequential", "config": [{"class_name": "Dense", "config": {"unit": 3}}]})");
      }));
  expect_in("no tensor", failure([] {
              model_from_json(R"({"class_name": "Functional", "config": {"layers": [{"class_name": "InputLayer",
                "config": {"batch_shape": [null, 3], "name": "x"}, "name": "x", "inbound_nodes": []}],
                "input_layers": [["x", 0, 0]], "output_layers": [["y", 0, 0]]}})");
            }));
  expect_in("data_format", failure([] {
              model_from_json(R"({"class_name": "Sequential", "config": [{"class_name": "Conv2D",
                "config": {"filters": 3, "data_format": "channels_first"}}]})");
            }));
}

TEST_F(KerasModel, ReadsTheDialectOfKeras2) {
  const Model model = model_from_json(R"({"class_name": "Functional", "config": {"name": "old", "layers": [
    {"class_name": "InputLayer", "config": {"batch_input_shape": [null, 3], "dtype": "float32", "sparse": false,
     "ragged": false, "name": "x"}, "name": "x", "inbound_nodes": []},
    {"class_name": "Dense", "config": {"name": "d", "trainable": true, "dtype": "float32", "units": 2,
     "activation": "relu", "kernel_initializer": {"class_name": "GlorotUniform", "config": {"seed": null}}},
     "name": "d", "inbound_nodes": [[["x", 0, 0, {}]]]}],
    "input_layers": [["x", 0, 0]], "output_layers": [["d", 0, 0]]}, "keras_version": "2.15.0", "backend": "tensorflow"})");
  EXPECT_EQ(model.name(), "old");
  EXPECT_EQ(model->count_params(), 8);
  EXPECT_EQ(model.output_names(), std::vector<std::string>{"d"});
}

TEST_F(KerasModel, BytesAndDoublesAreDataToo) {
  Sequential model({.shape = {4}}, {L::Rescaling(1.0 / 255), L::Dense(3, {.activation = "softmax"})});
  model.compile({.optimizer = "sgd", .loss = "sparse_categorical_crossentropy"});
  Tensor bytes(DType::kUint8, Shape({6, 4})), doubles(float64, Shape({6, 4})), narrow(DType::kUint8, Shape({6}));
  for (int i = 0; i < 24; ++i)
    doubles.data<double>()[i] = bytes.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(i * 10);
  for (int i = 0; i < 6; ++i) narrow.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(i % 3);
  EXPECT_TRUE(identical(model.predict(bytes)[0], model.predict(doubles)[0]));
  EXPECT_EQ(*model.evaluate(bytes, narrow).find("loss"), *model.evaluate(doubles, labels(6, 3)).find("loss"));
  model.fit(bytes, narrow, {.verbose = 0});
}

TEST_F(KerasModel, PicturesAreMirroredWhileTraining) {
  const auto x = Input({.shape = {1, 3, 1}});
  const Model model({x}, {L::RandomFlip("horizontal", {.seed = 3})(x)});
  Tensor pictures(float32, Shape({64, 1, 3, 1}));
  for (std::int64_t i = 0; i < 192; ++i) pictures.data<float>()[i] = static_cast<float>(i % 3);
  const GraphScope graph(backend_graph());
  Forward forward{.training = true};
  const Output place = placeholder(float32, {-1, 1, 3, 1});
  const Output flipped = model->apply({place}, {Output()}, forward).outputs[0];
  const Tensor result = backend_session().run(flipped, {{place, pictures}});
  int mirrored = 0;
  for (std::int64_t i = 0; i < 64; ++i) {
    EXPECT_EQ(result.data<float>()[3 * i + 1], 1.0F);
    mirrored += result.data<float>()[3 * i] == 2.0F ? 1 : 0;
  }
  EXPECT_GT(mirrored, 16);
  EXPECT_LT(mirrored, 48);
}

TEST_F(KerasModel, BatchNormalisationLearnsItsAverages) {
  Sequential model({.shape = {2}}, {L::BatchNormalization({.momentum = 0.5, .name = "bn"}), L::Dense(1)});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const Tensor x = Tensor::from<float>({2, 2}, {1, 10, 3, 30}), y = Tensor::from<float>({2, 1}, {0, 0});
  model.train_on_batch(x, y);
  const std::vector<Tensor> weights = model.get_layer("bn")->get_weights();  // gamma, beta, mean, variance
  EXPECT_FLOAT_EQ(weights[2].at<float>(0), 1.0F);
  EXPECT_FLOAT_EQ(weights[2].at<float>(1), 10.0F);
  EXPECT_FLOAT_EQ(weights[3].at<float>(0), 1.0F);
  EXPECT_FLOAT_EQ(weights[3].at<float>(1), 50.5F);
  model.get_layer("bn")->set_trainable(false);
  model.train_on_batch(x, y);
  EXPECT_TRUE(identical(model.get_layer("bn")->get_weights()[2], weights[2]));
}

}  // namespace
}  // namespace caudal::inline v0::keras
