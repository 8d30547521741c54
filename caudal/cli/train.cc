// caudal train: trains a Keras model of a JSON file on data of a directory or file.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "caudal/base/interrupt.h"
#include "caudal/base/strings.h"
#include "caudal/cli/arguments.h"
#include "caudal/cli/command.h"
#include "caudal/cli/json.h"
#include "caudal/cli/model_data.h"
#include "caudal/cli/model_file.h"
#include "caudal/cli/profile_report.h"
#include "caudal/cli/text_table.h"

namespace caudal::inline v0::cli {
namespace {

struct Settings {
  std::vector<std::string> model;
  DataOptions data;
  std::string optimizer, loss, learning_rate, validation_split = "0.1", validation_data, weights, out = "caudal-model";
  std::vector<std::string> metrics, class_weight;
  std::int64_t epochs = 5, batch_size = 32, seed = 1, patience = 0, profile = 0;
  bool resume = false, no_shuffle = false, json = false;
};

double number_of(const std::string& text, const char* option) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0') throw invalid_argument(option, " '", text, "' is no number");
  return value;
}

std::map<std::int64_t, double> class_weights(const std::vector<std::string>& words) {
  std::map<std::int64_t, double> weights;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    std::int64_t label = 0;
    if (equals == std::string::npos || !parse_int64(word.substr(0, equals), &label)) {
      throw invalid_argument("--class-weight '", word, "'").hint("Say CLASS=WEIGHT, for instance 3=2.5.");
    }
    weights[label] = number_of(word.substr(equals + 1), "--class-weight");
  }
  return weights;
}

class TrainCommand {
 public:
  explicit TrainCommand(Settings settings) : s_(std::move(settings)) {}

  int run() {
    keras::set_random_seed(s_.seed);
    keras::Model model = load_model_file(s_.model[0]);
    const ModelData data = load_model_data(s_.data);
    build_for(model, data.x);
    const double rate = s_.learning_rate.empty() ? 0 : number_of(s_.learning_rate, "--learning-rate");
    const std::string chosen = compile_for(model, data.y, s_.optimizer, rate, s_.loss, s_.metrics);
    say(internal::concat("Model '", model.name(), "' with ", grouped_digits(model->count_params()), " parameters; ",
                         data.description, " from ", s_.data.path));
    if (!chosen.empty()) say("Its file does not say how to train it: " + chosen + ".");
    if (!s_.weights.empty()) load_weights_for(model, find_weights("", s_.weights));
    if (s_.profile > 0) return profile(model, data);
    const InterruptScope interrupt;
    const keras::History history = model.fit(data.x, data.y, fit_options(interrupt));
    default_env().mkdirs(s_.out);
    write_file_atomically(default_env(), path("model.json"), model.to_json() + "\n");
    const std::string checkpoint = model.save_weights(path("weights"));
    finish(history, checkpoint);
    return interrupt.interrupted() ? kExitInterrupted : kExitOk;
  }

 private:
  // Measures instead of training for good: nothing is written.
  int profile(keras::Model& model, const ModelData& data) const {
    const std::int64_t rows = std::min(s_.batch_size, data.x[0].dim(0));
    keras::Arrays x;
    for (const Tensor& array : data.x) x.push_back(array.rows(0, rows));
    const Profile profile = model.profile(x, data.y.rows(0, rows), s_.profile);
    const kernels::Roof roof = kernels::measure_roof(default_pool());
    say("");
    std::printf("%s", s_.json ? (profile_json(profile, roof) + "\n").c_str() : profile_text(profile, roof).c_str());
    return kExitOk;
  }

  void say(const std::string& text) const {
    std::fprintf(s_.json ? stderr : stdout, "%s\n", text.c_str());
    std::fflush(s_.json ? stderr : stdout);
  }
  std::string path(const char* name) const { return join_path(s_.out, name); }

  keras::FitOptions fit_options(const InterruptScope& interrupt) const {
    keras::FitOptions options;
    options.batch_size = s_.batch_size;
    options.epochs = s_.epochs;
    options.seed = s_.seed;
    options.shuffle = !s_.no_shuffle;
    options.class_weight = class_weights(s_.class_weight);
    options.stop_when = [&interrupt] { return interrupt.interrupted(); };
    if (!s_.validation_data.empty()) {
      DataOptions other = s_.data;
      other.path = s_.validation_data;
      const ModelData validation = load_model_data(other);
      options.validation_data = {.x = validation.x, .y = validation.y};
    } else {
      options.validation_split = number_of(s_.validation_split, "--validation-split");
    }
    const bool validates = !options.validation_data.x.empty() || options.validation_split > 0;
    if (s_.patience > 0) {
      options.callbacks.push_back(keras::callbacks::EarlyStopping(
          {.monitor = validates ? "val_loss" : "loss", .patience = s_.patience, .restore_best_weights = true}));
    }
    options.callbacks.push_back(keras::callbacks::CSVLogger(path("history.csv"), {.append = s_.resume}));
    options.callbacks.push_back(keras::callbacks::TensorBoard(path("events")));
    if (s_.resume) options.callbacks.push_back(keras::callbacks::BackupAndRestore(path("backup")));
    return options;
  }

  void finish(const keras::History& history, const std::string& checkpoint) const {
    const keras::Logs last = history.logs.empty() ? keras::Logs() : history.logs.back();
    if (!last.empty()) say("\nAfter epoch " + std::to_string(history.epoch.back() + 1) + ": " + logs_text(last));
    say("  " + checkpoint + ".*   the weights, as TensorFlow reads them\n  " + path("history.csv") +
        "   a line per epoch\n  " + path("events") + "   for tensorboard --logdir\n\nNext: caudal eval " + s_.out +
        " --data " + s_.data.path + (default_env().is_directory(s_.data.path) ? " --part test" : ""));
    if (!s_.json) return;
    std::vector<std::string> epochs;
    for (const keras::Logs& logs : history.logs) epochs.push_back(logs_json(logs));
    std::printf("%s\n", JsonObject()
                            .add("checkpoint", checkpoint)
                            .add("stopped", history.stopped)
                            .add_json("epochs", json_list(epochs))
                            .str()
                            .c_str());
  }

  Settings s_;
};

int run_train(const std::vector<std::string>& words) {
  Settings s;
  Arguments arguments("train", "Trains a Keras model (a JSON file, as model.to_json() gives) on files of data.");
  arguments.positional("model", &s.model, "JSON file of the model");
  s.data.add_to(arguments);
  arguments.option("epochs", &s.epochs, "passes over the data", 1, 1'000'000);
  arguments.option("batch-size", &s.batch_size, "rows per update", 1, 10'000'000);
  arguments.option("optimizer", &s.optimizer, "by name; default: the file's, else adam");
  arguments.option("learning-rate", &s.learning_rate, "default: the optimizer's");
  arguments.option("loss", &s.loss, "by name; default: the file's, else by labels and outputs");
  arguments.option("metric", &s.metrics, "by name; may be repeated");
  arguments.option("validation-split", &s.validation_split, "share of the rows, from the end, to validate on");
  arguments.option("validation-data", &s.validation_data, "directory or file to validate on instead");
  arguments.option("class-weight", &s.class_weight, "CLASS=WEIGHT; may be repeated");
  arguments.option("early-stopping", &s.patience, "stop after so many epochs without a better loss; 0: never", 0,
                   1'000'000);
  arguments.option("weights", &s.weights, "checkpoint to begin with");
  arguments.option("out", &s.out, "directory for weights, history and events");
  arguments.option("seed", &s.seed, "of weights, order and dropout", 0, INT64_MAX);
  arguments.option("profile", &s.profile, "measure so many steps instead: time by op, GFLOP/s and share of the roof", 0,
                   100'000);
  arguments.flag("no-shuffle", &s.no_shuffle, "take the rows in their order");
  arguments.flag("resume", &s.resume, "keep a backup after each epoch, and begin where the last run was cut off");
  arguments.flag("json", &s.json, "end with one line of JSON; everything else goes to stderr");
  int exit_code = kExitOk;
  if (!arguments.parse(words, &exit_code)) return exit_code;
  if (s.model.size() != 1) {
    std::fprintf(stderr, "caudal train: one model file is wanted. See caudal train --help.\n");
    return kExitUsage;
  }
  return TrainCommand(std::move(s)).run();
}

}  // namespace

CAUDAL_COMMAND({.name = "train", .summary = "train a Keras model (JSON) on files of data", .run = run_train});

}  // namespace caudal::inline v0::cli
