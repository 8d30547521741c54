// caudal eval: loss and metrics of a trained model on data.
#include <cstdio>

#include "caudal/base/error.h"
#include "caudal/cli/arguments.h"
#include "caudal/cli/command.h"
#include "caudal/cli/json.h"
#include "caudal/cli/model_data.h"
#include "caudal/cli/model_file.h"
#include "caudal/cli/text_table.h"

namespace caudal::inline v0::cli {
namespace {

int run_eval(const std::vector<std::string>& words) {
  std::vector<std::string> model_path, metrics;
  DataOptions data_options;
  std::string weights, loss;
  std::int64_t batch_size = 32;
  bool json = false;
  Arguments arguments("eval", "Measures a trained Keras model on data.");
  arguments.positional("model", &model_path, "directory that caudal train wrote, or JSON file");
  data_options.add_to(arguments);
  arguments.option("weights", &weights, "checkpoint or directory; default: the model directory's latest");
  arguments.option("loss", &loss, "by name; default: the file's, else by labels and outputs");
  arguments.option("metric", &metrics, "by name; may be repeated");
  arguments.option("batch-size", &batch_size, "rows at a time", 1, 10'000'000);
  arguments.flag("json", &json, "one line of JSON");
  int exit_code = kExitOk;
  if (!arguments.parse(words, &exit_code)) return exit_code;
  if (model_path.size() != 1) {
    std::fprintf(stderr, "caudal eval: one model is wanted. See caudal eval --help.\n");
    return kExitUsage;
  }
  keras::Model model = load_model_file(model_path[0]);
  const ModelData data = load_model_data(data_options);
  build_for(model, data.x);
  compile_for(model, data.y, "", 0, loss, metrics);
  const std::string checkpoint = find_weights(model_path[0], weights);
  if (checkpoint.empty()) {
    throw not_found("there are no weights for '", model_path[0], "'").hint("Give a checkpoint with --weights.");
  }
  load_weights_for(model, checkpoint);
  const keras::Logs logs = model.evaluate(data.x, data.y, {.batch_size = batch_size, .verbose = json ? 0 : 1});
  if (json) {
    std::printf("%s\n", JsonObject()
                            .add("rows", data.x[0].dim(0))
                            .add("weights", checkpoint)
                            .add_json("values", logs_json(logs))
                            .str()
                            .c_str());
    return kExitOk;
  }
  TextTable table(100);
  for (const auto& [name, value] : logs) {
    char text[40];
    std::snprintf(text, sizeof text, "%.6g", value);
    table.row({name, text});
  }
  std::printf("%s with %s:\n%s", data.description.c_str(), checkpoint.c_str(), table.str().c_str());
  return kExitOk;
}

}  // namespace

CAUDAL_COMMAND({.name = "eval", .summary = "loss and metrics of a trained Keras model", .run = run_eval});

}  // namespace caudal::inline v0::cli
