// Models of testdata/keras against what Keras 3 on TensorFlow 2.21 recorded (tests/python/record_keras.py).
#include <gtest/gtest.h>

#include <cmath>

#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "caudal/keras/config.h"
#include "caudal/keras/model.h"

namespace caudal::inline v0::keras {
namespace {

constexpr double kTolerance = 1e-5;

Tensor read_array(const Config& config) {
  std::vector<std::int64_t> dims;
  for (const Config& dim : config["shape"].list()) dims.push_back(dim.integer());
  const Config::List& values = config["values"].list();
  if (config["type"].text() == "int") {
    std::vector<std::int64_t> numbers;
    for (const Config& value : values) numbers.push_back(value.integer());
    return Tensor::from(Shape(dims), numbers);
  }
  std::vector<float> numbers;
  for (const Config& value : values) numbers.push_back(static_cast<float>(value.number()));
  return Tensor::from(Shape(dims), numbers);
}

std::vector<Tensor> read_arrays(const Config& config) {
  std::vector<Tensor> arrays;
  for (const Config& array : config.list()) arrays.push_back(read_array(array));
  return arrays;
}

// Relative to the greater of 1 and the value wanted.
void expect_logs(const Config& want, const Logs& got, const std::string& where) {
  std::vector<std::string> names;
  for (const auto& [name, value] : got) names.push_back(name);
  EXPECT_EQ(want.members().size(), got.size()) << where;
  for (const auto& [name, value] : want.members()) {
    const double* found = got.find(name);
    ASSERT_NE(found, nullptr) << where << ": no '" << name << "'";
    EXPECT_NEAR(*found, value.number(), kTolerance * std::max(1.0, std::fabs(value.number()))) << where << ": " << name;
  }
}

double greatest_difference(const Tensor& a, const Tensor& b) {
  double greatest = 0;
  for (std::int64_t i = 0; i < a.num_elements(); ++i) {
    const double want = a.data<float>()[i];
    const double difference = std::fabs(want - b.data<float>()[i]) / std::max(1.0, std::fabs(want));
    greatest = std::isnan(difference) ? INFINITY : std::max(greatest, difference);
  }
  return greatest;
}

void expect_arrays(const std::vector<Tensor>& want, const std::vector<Tensor>& got, const char* what) {
  ASSERT_EQ(want.size(), got.size()) << what;
  for (std::size_t i = 0; i < want.size(); ++i) {
    ASSERT_EQ(want[i].shape(), got[i].shape()) << what << " " << i;
    EXPECT_LT(greatest_difference(want[i], got[i]), kTolerance) << what << " " << i;
  }
}

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, TrainsAsKerasDoes) {
  clear_session();
  const std::string path = join_path(CAUDAL_SOURCE_DIR, "testdata/keras/" + GetParam() + ".json");
  const Config record = Config::parse(read_file(default_env(), path));
  Model model = model_from_json(record["model"].to_json());
  std::vector<std::string> paths, wanted_paths;
  for (const WeightRef& weight : model->weights()) paths.push_back(weight->path());
  for (const Config& name : record["paths"].list()) wanted_paths.push_back(name.text());
  EXPECT_EQ(paths, wanted_paths);
  model.set_weights(read_arrays(record["weights"]));
  const Arrays x = read_arrays(record["x"]), y = read_arrays(record["y"]);

  std::vector<Logs> batches;
  FitOptions options{.batch_size = 4, .epochs = 3, .verbose = 0, .shuffle = false};
  options.callbacks.push_back(callbacks::LambdaCallback(
      {.on_train_batch_end = [&](std::int64_t, const Logs& logs) { batches.push_back(logs); }}));
  options.sample_weight = read_arrays(record["sample_weight"]);
  for (const Config& pair : record["class_weight"].list()) {
    options.class_weight[pair.list()[0].integer()] = pair.list()[1].number();
  }
  const History history = model.fit(x, y, options);

  const Config::List& wanted_batches = record["batches"].list();
  ASSERT_EQ(batches.size(), wanted_batches.size());
  for (std::size_t i = 0; i < batches.size(); ++i) {
    expect_logs(wanted_batches[i], batches[i], "batch " + std::to_string(i));
  }
  for (std::size_t i = 0; i < 3; ++i) expect_logs(record["epochs"].list()[i], history.logs[i], "epoch");
  expect_logs(record["evaluate"], model.evaluate(x, y, {.batch_size = 5}), "evaluate");
  expect_arrays(read_arrays(record["predictions"]), model.predict(x, {.batch_size = 6}), "prediction");
  expect_arrays(read_arrays(record["last_weights"]), model.get_weights(), "weight");
  EXPECT_EQ(model.summary({.line_length = 100}), record["summary"].text());
  // Written and read again it is the same model.
  const std::string text = model.to_json();
  clear_session();
  EXPECT_EQ(model_from_json(text).to_json(), text);
}

INSTANTIATE_TEST_SUITE_P(Keras, Golden,
                         testing::Values("mlp", "momentum", "cnn", "separable", "conv1d", "lstm", "gru_masked",
                                         "sequence_labels", "two_branches", "weighted", "residual", "losses", "volumes",
                                         "encoder_decoder"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace caudal::inline v0::keras
