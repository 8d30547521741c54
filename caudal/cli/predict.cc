// caudal predict: what a trained model says about data.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "caudal/cli/arguments.h"
#include "caudal/cli/command.h"
#include "caudal/cli/json.h"
#include "caudal/cli/model_data.h"
#include "caudal/cli/model_file.h"
#include "caudal/cli/tensor_json.h"
#include "caudal/cli/text_table.h"
#include "caudal/formats/npy.h"

namespace caudal::inline v0::cli {
namespace {

constexpr std::size_t kClassesShown = 3;

// "7 (0.91), 9 (0.05), 4 (0.02)" of probabilities; the numbers themselves of anything else.
std::string row_text(const Tensor& values, std::int64_t row) {
  const std::int64_t width = values.num_elements() / values.dim(0);
  const float* numbers = values.data<float>() + row * width;
  const double sum = std::accumulate(numbers, numbers + width, 0.0);
  const bool probabilities = width > 1 && std::abs(sum - 1) < 1e-3 && *std::min_element(numbers, numbers + width) >= 0;
  std::vector<std::size_t> order(static_cast<std::size_t>(width));
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (probabilities) {
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return numbers[a] > numbers[b]; });
  }
  std::string text;
  for (std::size_t i = 0; i < order.size() && i < (probabilities ? kClassesShown : 8); ++i) {
    char part[60];
    if (probabilities) {
      std::snprintf(part, sizeof part, "%s%zu (%.3f)", i > 0 ? ", " : "", order[i],
                    static_cast<double>(numbers[order[i]]));
    } else {
      std::snprintf(part, sizeof part, "%s%.6g", i > 0 ? ", " : "", static_cast<double>(numbers[order[i]]));
    }
    text += part;
  }
  return text + (!probabilities && width > 8 ? ", ..." : "");
}

int run_predict(const std::vector<std::string>& words) {
  std::vector<std::string> model_path;
  DataOptions data_options;
  data_options.labels_wanted = false;
  std::string weights, out;
  std::int64_t batch_size = 32, limit = 10;
  bool json = false;
  Arguments arguments("predict", "Predicts with a trained Keras model.");
  arguments.positional("model", &model_path, "directory that caudal train wrote, or JSON file");
  data_options.add_to(arguments);
  arguments.option("weights", &weights, "checkpoint or directory; default: the model directory's latest");
  arguments.option("out", &out, "file.npy for all predictions (several outputs: file.npz)");
  arguments.option("limit", &limit, "rows shown", 0, 1'000'000);
  arguments.option("batch-size", &batch_size, "rows at a time", 1, 10'000'000);
  arguments.flag("json", &json, "one line of JSON");
  int exit_code = kExitOk;
  if (!arguments.parse(words, &exit_code)) return exit_code;
  if (model_path.size() != 1) {
    std::fprintf(stderr, "caudal predict: one model is wanted. See caudal predict --help.\n");
    return kExitUsage;
  }
  keras::Model model = load_model_file(model_path[0]);
  const ModelData data = load_model_data(data_options);
  build_for(model, data.x);
  const std::string checkpoint = find_weights(model_path[0], weights);
  if (checkpoint.empty()) {
    throw not_found("there are no weights for '", model_path[0], "'").hint("Give a checkpoint with --weights.");
  }
  load_weights_for(model, checkpoint);
  const std::vector<Tensor> outputs = model.predict(data.x, {.batch_size = batch_size, .verbose = json ? 0 : 1});
  const std::vector<std::string> names = model.output_names();
  if (!out.empty()) {
    if (outputs.size() == 1) {
      write_npy(default_env(), out, outputs[0]);
    } else {
      NamedTensors members;
      for (std::size_t i = 0; i < outputs.size(); ++i) members[names[i]] = outputs[i];
      write_npz(default_env(), out, members);
    }
  }
  const std::int64_t shown = std::min(limit, data.x[0].dim(0));
  if (json) {
    JsonObject values;
    for (std::size_t i = 0; i < outputs.size(); ++i) values.add_json(names[i], tensor_json(outputs[i].rows(0, shown)));
    std::printf("%s\n", JsonObject()
                            .add("rows", data.x[0].dim(0))
                            .add("weights", checkpoint)
                            .add("file", out)
                            .add_json("outputs", values.str())
                            .str()
                            .c_str());
    return kExitOk;
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    std::printf("%s %s\n", names[i].c_str(), outputs[i].describe().c_str());
    TextTable table(shown);
    for (std::int64_t row = 0; row < shown && outputs[i].dtype() == float32; ++row) {
      table.row({std::to_string(row), row_text(outputs[i], row)});
    }
    std::printf("%s", table.str().c_str());
  }
  if (!out.empty()) std::printf("All of them are in %s\n", out.c_str());
  return kExitOk;
}

}  // namespace

CAUDAL_COMMAND({.name = "predict", .summary = "predictions of a trained Keras model", .run = run_predict});

}  // namespace caudal::inline v0::cli
