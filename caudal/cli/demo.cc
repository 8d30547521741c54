// caudal demo: the whole path on real pictures. Trains a convolutional network on Fashion-MNIST (or any set in its
// format), saves checkpoints and event files, tests it, and draws what it got right and wrong.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <numeric>

#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "caudal/base/interrupt.h"
#include "caudal/cli/arguments.h"
#include "caudal/cli/command.h"
#include "caudal/cli/json.h"
#include "caudal/cli/prediction_sheet.h"
#include "caudal/data/dataset.h"
#include "caudal/formats/png.h"
#include "caudal/graph/scope.h"
#include "caudal/io/file_writer.h"
#include "caudal/nn/layers.h"
#include "caudal/ops/activation.h"
#include "caudal/ops/cast.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/cross_entropy.h"
#include "caudal/ops/dropout.h"
#include "caudal/ops/random.h"
#include "caudal/ops/reduction.h"
#include "caudal/ops/softmax.h"
#include "caudal/ops/top_k.h"
#include "caudal/train/callbacks.h"
#include "caudal/train/optimizer.h"

namespace caudal::inline v0::cli {
namespace {

constexpr char kDebianData[] = "/usr/share/datasets/fashion-mnist";
constexpr std::int64_t kTestRowsDrawn = 10000;

struct Settings {
  std::string data;
  std::string sample;
  std::string out = "caudal-demo";
  std::int64_t epochs = 5;
  std::int64_t batch_size = 100;
  std::int64_t seed = 42;
  bool resume = false;
  bool json = false;
};

// The pictures to learn from, and whether they are only the few that come with the sources.
struct Source {
  std::string directory;
  bool is_sample = false;
};

Source find_data(const Settings& settings) {
  Env& env = default_env();
  if (!settings.data.empty()) return {settings.data, false};
  if (env.is_directory(kDebianData)) return {kDebianData, false};
  if (!settings.sample.empty() && env.is_directory(settings.sample)) return {settings.sample, true};
  throw not_found("there are no pictures in '", kDebianData, "'")
      .hint("Install them with `apt-get install dataset-fashion-mnist`, or give a directory with --data.");
}

// The network: two convolutions with pooling, one hidden layer with dropout.
struct Network {
  Output images, labels, training;
  Output logits, probabilities, loss, accuracy;
  Operation train_op;
};

Network build_network(const Tensor& example_images, std::int64_t classes) {
  namespace tf = caudal;
  const Shape& shape = example_images.shape();
  Network net;
  net.images = tf::placeholder(float32, {-1, shape[1], shape[2], shape[3]}, {.name = "images"});
  net.labels = tf::placeholder(int64, {-1}, {.name = "labels"});
  net.training = tf::placeholder_with_default(false, PartialShape::scalar(), {.name = "training"});

  auto x = tf::layers::conv2d(
      net.images, 16, {3, 3},
      {.padding = "same", .activation = tf::nn::relu, .kernel_initializer = he_normal(), .name = "conv1"});
  x = tf::layers::max_pooling2d(x, {2, 2}, {2, 2}, {.name = "pool1"});
  x = tf::layers::conv2d(
      x, 32, {3, 3},
      {.padding = "same", .activation = tf::nn::relu, .kernel_initializer = he_normal(), .name = "conv2"});
  x = tf::layers::max_pooling2d(x, {2, 2}, {2, 2}, {.name = "pool2"});
  x = tf::layers::flatten(x);
  x = tf::layers::dense(x, 128, {.activation = tf::nn::relu, .kernel_initializer = he_normal(), .name = "hidden"});
  x = tf::layers::dropout(x, {.rate = 0.3, .training = net.training, .name = "dropout"});
  net.logits = tf::layers::dense(x, classes, {.name = "logits"});

  net.probabilities = tf::nn::softmax(net.logits, {.name = "probabilities"});
  net.loss = tf::reduce_mean(
      tf::nn::sparse_softmax_cross_entropy_with_logits({.labels = net.labels, .logits = net.logits}), {.name = "loss"});
  const Output correct = tf::nn::in_top_k(net.logits, net.labels, 1);
  net.accuracy = tf::reduce_mean(tf::cast(correct, float32), {.name = "accuracy"});
  net.train_op = tf::train::AdamOptimizer({.learning_rate = 0.001}).minimize(net.loss);
  return net;
}

std::int64_t count_classes(const data::DataSets& sets) {
  std::int64_t largest = 0;
  for (const Tensor& labels : {sets.train.labels(), sets.validation.labels(), sets.test.labels()}) {
    for (const std::int64_t label : labels.flat<std::int64_t>()) largest = std::max(largest, label);
  }
  return largest + 1;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

class Demo {
 public:
  explicit Demo(const Settings& settings) : settings_(settings) {}

  int run() {
    load();
    set_random_seed(settings_.seed);
    net_ = build_network(sets_.train.features(), classes_);
    Session session;
    auto saver = std::make_shared<train::Saver>(train::SaverOptions{.max_to_keep = 3});
    session.run(global_variables_initializer());
    train::Trainer trainer(session, {.features = net_.images,
                                     .labels = net_.labels,
                                     .training = net_.training,
                                     .train_op = net_.train_op,
                                     .loss = net_.loss,
                                     .metrics = {{"accuracy", net_.accuracy}}});
    if (settings_.resume) resume(session, *saver, trainer);
    const bool complete = fit(trainer, saver);
    if (!complete) return kExitInterrupted;
    test(trainer);
    finish();
    return kExitOk;
  }

 private:
  void say(const std::string& text) const {
    std::FILE* out = settings_.json ? stderr : stdout;
    std::fprintf(out, "%s\n", text.c_str());
    std::fflush(out);  // in order with the progress on stderr
  }
  std::string path(const char* name) const { return join_path(settings_.out, name); }

  void load() {
    const Source source = find_data(settings_);
    sets_ = data::load_idx(source.directory, {.validation_size = 0});
    // 5,000 of Fashion-MNIST's 60,000.
    const std::int64_t rows = sets_.train.size();
    const std::int64_t cut = rows - rows / 12;
    sets_.validation = sets_.train.rows(cut, rows);
    sets_.train = sets_.train.rows(0, cut);
    classes_ = count_classes(sets_);
    fashion_ = settings_.data.empty();
    say(internal::concat("Pictures: ", sets_.train.size(), " to train, ", sets_.validation.size(), " to validate, ",
                         sets_.test.size(), " to test, ", classes_, " classes, from ", source.directory));
    if (source.is_sample) {
      say("These are only the few pictures that come with the sources: they show the path, not the accuracy.\n"
          "For all 70,000: apt-get install dataset-fashion-mnist");
    }
  }

  void resume(Session& session, train::Saver& saver, train::Trainer& trainer) {
    const std::string latest = train::latest_checkpoint(path("checkpoints"));
    if (latest.empty()) {
      throw not_found("there is no checkpoint in '", path("checkpoints"), "' to resume from")
          .hint("Run without --resume first.");
    }
    trainer.restore(saver.restore(session, latest));
    say("Resuming from " + latest);
  }

  bool fit(train::Trainer& trainer, const std::shared_ptr<train::Saver>& saver) {
    const InterruptScope interrupt;
    writer_ = std::make_shared<io::FileWriter>(path("events"), trainer.session().graph());
    auto checkpoints = std::make_shared<train::CheckpointCallback>(saver, path("checkpoints/model.ckpt"));
    const auto start = std::chrono::steady_clock::now();
    const train::History history = trainer.fit(
        sets_.train,
        {.epochs = settings_.epochs,
         .batch_size = settings_.batch_size,
         .validation = sets_.validation,
         .batches = {.seed = static_cast<std::uint64_t>(settings_.seed)},
         .callbacks = {std::make_shared<train::ProgressBar>(), std::make_shared<train::EventsCallback>(writer_),
                       std::make_shared<train::StopWhen>([&] { return interrupt.interrupted(); }), checkpoints}});
    train_seconds_ = seconds_since(start);
    checkpoint_ = checkpoints->latest().empty() ? train::latest_checkpoint(path("checkpoints")) : checkpoints->latest();
    if (!history.stopped) return true;
    say(internal::concat(
        "\nStopped after step ", trainer.step(), "; everything is in ", checkpoint_,
        ".\nGo on with the same command and --resume: the losses will be those of an uninterrupted run."));
    return false;
  }

  void test(train::Trainer& trainer) {
    accuracy_ = trainer.evaluate(sets_.test)[1].second;
    const Tensor probabilities =
        trainer.predict(net_.probabilities, sets_.test.rows(0, std::min(kTestRowsDrawn, sets_.test.size())));
    const Tensor sheet =
        draw_prediction_sheet(sets_.test, probabilities, fashion_ ? fashion_names() : std::vector<std::string>{});
    write_file_atomically(default_env(), path("predictions.png"), encode_png(sheet));
    writer_->add_image("predictions", sheet, trainer.step());
    writer_->add_scalar("test/accuracy", accuracy_, trainer.step());
    writer_->close();
  }

  void finish() const {
    char line[160];
    std::snprintf(line, sizeof line, "\nTest accuracy %.2f%% on %lld pictures; trained in %.1f s.", 100 * accuracy_,
                  static_cast<long long>(sets_.test.size()), train_seconds_);
    say(line);
    say("  " + path("predictions.png") + "   predictions and mistakes, one picture\n" + "  " + checkpoint_ +
        ".*   the trained model, as TensorFlow reads it\n" + "  " + writer_->path() +
        "   curves, graph and pictures\n\n" + "Next: tensorboard --logdir " + path("events") + "   |   " + "--epochs " +
        std::to_string(settings_.epochs + 5) + " --resume trains on   |   --data DIR takes your own pictures");
    if (!settings_.json) return;
    std::printf("%s\n", JsonObject()
                            .add("test_accuracy", accuracy_)
                            .add("train_seconds", train_seconds_)
                            .add("checkpoint", checkpoint_)
                            .add("events", writer_->path())
                            .str()
                            .c_str());
  }

  Settings settings_;
  data::DataSets sets_;
  std::int64_t classes_ = 0;
  bool fashion_ = false;
  Network net_;
  std::shared_ptr<io::FileWriter> writer_;
  std::string checkpoint_;
  double accuracy_ = 0, train_seconds_ = 0;
};

int run_demo(const std::vector<std::string>& words) {
  Settings settings;
  Arguments arguments("demo", "Trains a convolutional network on Fashion-MNIST and shows what it made.");
  arguments.option("data", &settings.data,
                   "directory with the four idx files of a set; default: Debian's Fashion-MNIST");
  arguments.option("sample-data", &settings.sample, "set to fall back to where Debian's is not installed");
  arguments.option("out", &settings.out, "directory for checkpoints, events and the picture");
  arguments.option("epochs", &settings.epochs, "passes over the pictures", 1, 1000);
  arguments.option("batch-size", &settings.batch_size, "pictures per update", 1, 10000);
  arguments.option("seed", &settings.seed, "of weights, order and dropout", 0, INT64_MAX);
  arguments.flag("resume", &settings.resume, "go on from the newest checkpoint in --out");
  arguments.flag("json", &settings.json, "end with one line of JSON; everything else goes to stderr");
  int exit_code = kExitOk;
  if (!arguments.parse(words, &exit_code)) return exit_code;
  Graph graph;
  const GraphScope scope(graph);
  return Demo(settings).run();
}

}  // namespace

CAUDAL_COMMAND({.name = "demo", .summary = "train on Fashion-MNIST, test, draw the predictions", .run = run_demo});

}  // namespace caudal::inline v0::cli
