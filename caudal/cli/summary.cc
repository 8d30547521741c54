// caudal summary: the table of a Keras model, as model.summary() prints it.
#include <cstdio>

#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "caudal/cli/arguments.h"
#include "caudal/cli/command.h"
#include "caudal/cli/json.h"
#include "caudal/cli/model_file.h"
#include "caudal/cli/text_table.h"
#include "caudal/keras/cost.h"

namespace caudal::inline v0::cli {
namespace {

std::string layer_json(const keras::LayerRef& layer) {
  std::vector<std::string> shapes;
  const auto nodes = layer->nodes();
  if (!nodes.empty()) {
    for (const Output& output : nodes.back()->outputs) shapes.push_back(output.shape().to_string());
  }
  return JsonObject()
      .add("name", layer->name())
      .add("class", layer->class_name())
      .add_json("output_shapes", json_strings(shapes))
      .add("parameters", layer->count_params())
      .add("trainable", layer->trainable())
      .str();
}

std::string cost_json(const keras::LayerCost& row) {
  return JsonObject()
      .add("name", row.name)
      .add("class", row.class_name)
      .add("output_shape", row.output_shape)
      .add("parameters", row.parameters)
      .add("multiplications", row.multiplications)
      .add("activation_bytes", row.activation_bytes)
      .add("training_bytes", row.training_bytes)
      .str();
}

int print_cost(const keras::Model& model, std::int64_t batch, bool json) {
  const keras::ModelCost cost = keras::model_cost(model, batch);
  if (json) {
    std::vector<std::string> layers;
    for (const keras::LayerCost& row : cost.layers) layers.push_back(cost_json(row));
    std::printf("%s\n", JsonObject()
                            .add("name", model.name())
                            .add("batch", cost.batch)
                            .add_json("layers", json_list(layers))
                            .add_json("total", cost_json(cost.total))
                            .add("training_multiplications", cost.training_multiplications)
                            .add("inference_arena", cost.inference_arena)
                            .add("training_arena", cost.training_arena)
                            .str()
                            .c_str());
    return kExitOk;
  }
  TextTable table(100'000);
  for (const std::size_t column : {2, 3, 4, 5}) table.right(column);
  table.row({"layer", "output", "parameters", "multiplications", "activations", "kept in training"});
  const auto add = [&](const keras::LayerCost& row, const std::string& name) {
    table.row({name, row.output_shape, grouped_digits(row.parameters), grouped_digits(row.multiplications),
               byte_text(row.activation_bytes), byte_text(row.training_bytes)});
  };
  for (const keras::LayerCost& row : cost.layers) add(row, row.name + " (" + row.class_name + ")");
  add(cost.total, "total");
  std::printf("Forward, a batch of %lld:\n%s\n", static_cast<long long>(batch), table.str().c_str());
  std::printf("With the way back: %s multiplications a step.\n", grouped_digits(cost.training_multiplications).c_str());
  std::printf("Planned memory of activations: %s for inference, %s for training.\n",
              byte_text(cost.inference_arena).c_str(), byte_text(cost.training_arena).c_str());
  return kExitOk;
}

int run_summary(const std::vector<std::string>& words) {
  std::vector<std::string> path;
  std::string dot;
  std::int64_t width = 0;
  keras::SummaryOptions options;
  bool json = false, cost = false;
  std::int64_t batch = 1;
  Arguments arguments("summary", "Prints the layers of a Keras model (a JSON file, as model.to_json() gives).");
  arguments.positional("model", &path, "JSON file, or directory that caudal train wrote");
  arguments.flag("expand-nested", &options.expand_nested, "the layers of models inside too");
  arguments.flag("show-trainable", &options.show_trainable, "which layers are trained");
  arguments.option("width", &width, "columns of the table; 0: as the terminal has", 0, 400);
  arguments.option("dot", &dot, "file for the graph of layers, for Graphviz");
  arguments.flag("cost", &cost, "what each layer costs: parameters, multiplications, bytes of activations");
  arguments.option("batch", &batch, "rows of the batch that --cost counts", 1, 1'000'000);
  arguments.flag("json", &json, "one line of JSON");
  int exit_code = kExitOk;
  if (!arguments.parse(words, &exit_code)) return exit_code;
  if (path.size() != 1) {
    std::fprintf(stderr, "caudal summary: one model file is wanted. See caudal summary --help.\n");
    return kExitUsage;
  }
  options.line_length = static_cast<int>(width);
  const keras::Model model = load_model_file(path[0]);
  if (!dot.empty()) write_file_atomically(default_env(), dot, model.to_dot());
  if (cost) return print_cost(model, batch, json);
  if (!json) {
    std::printf("%s", model.summary(options).c_str());
    return kExitOk;
  }
  std::vector<std::string> layers;
  for (const keras::LayerRef& layer : model.layers()) layers.push_back(layer_json(layer));
  std::int64_t trained = 0;
  for (const keras::WeightRef& weight : model->trainable_weights()) trained += weight->shape().num_elements();
  std::printf("%s\n", JsonObject()
                          .add("name", model.name())
                          .add("parameters", model->count_params())
                          .add("trainable_parameters", trained)
                          .add_json("layers", json_list(layers))
                          .str()
                          .c_str());
  return kExitOk;
}

}  // namespace

CAUDAL_COMMAND({.name = "summary", .summary = "layers and parameters of a Keras model (JSON)", .run = run_summary});

}  // namespace caudal::inline v0::cli
