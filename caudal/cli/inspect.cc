// caudal inspect: what a Keras model and its weights are, and whether they belong together.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "caudal/base/error.h"
#include "caudal/cli/arguments.h"
#include "caudal/cli/command.h"
#include "caudal/cli/json.h"
#include "caudal/cli/model_file.h"
#include "caudal/cli/text_table.h"
#include "caudal/train/saver.h"

namespace caudal::inline v0::cli {
namespace {

struct Values {
  double least = 0, greatest = 0, mean = 0;
  std::int64_t bad = 0;  // NaN or infinite
};

Values values_of(const Tensor& tensor) {
  Values v;
  if (tensor.dtype() != float32 || tensor.num_elements() == 0) return v;
  v.least = INFINITY;
  v.greatest = -INFINITY;
  std::int64_t good = 0;
  for (const float x : tensor.flat<float>()) {
    if (!std::isfinite(x)) {
      ++v.bad;
      continue;
    }
    v.least = std::min(v.least, static_cast<double>(x));
    v.greatest = std::max(v.greatest, static_cast<double>(x));
    v.mean += x;
    ++good;
  }
  if (good > 0) v.mean /= static_cast<double>(good);
  return v;
}

std::string short_number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

// One weight of the model beside what the checkpoint has for it.
struct Line {
  std::string name, shape, state;
  Values values;
};

std::vector<Line> compared(const keras::Model& model, const std::string& checkpoint) {
  std::map<std::string, Shape> there;
  if (!checkpoint.empty()) {
    for (const train::CheckpointEntry& entry : train::list_variables(checkpoint)) there[entry.name] = entry.shape;
  }
  std::vector<Line> lines;
  for (const keras::WeightRef& weight : model->weights()) {
    Line line{weight->path(), weight->shape().to_string(), "", {}};
    const auto found = there.find(weight->path());
    if (checkpoint.empty()) {
      line.state = weight->trainable() ? "trainable" : "not trained";
    } else if (found == there.end()) {
      line.state = "missing in the checkpoint";
    } else if (found->second != weight->shape()) {
      line.state = "has the shape " + found->second.to_string() + " there";
    } else {
      line.state = "fits";
      line.values = values_of(train::load_variable(checkpoint, weight->path()));
      if (line.values.bad > 0) line.state = counted(line.values.bad, "value") + " NaN or infinite";
    }
    if (found != there.end()) there.erase(found);
    lines.push_back(std::move(line));
  }
  for (const auto& [name, shape] : there) lines.push_back({name, shape.to_string(), "only in the checkpoint", {}});
  return lines;
}

std::string line_json(const Line& line) {
  return JsonObject()
      .add("name", line.name)
      .add("shape", line.shape)
      .add("state", line.state)
      .add("min", line.values.least)
      .add("max", line.values.greatest)
      .add("mean", line.values.mean)
      .str();
}

int run_inspect(const std::vector<std::string>& words) {
  std::vector<std::string> path;
  std::string weights;
  std::int64_t limit = 100;
  bool json = false;
  Arguments arguments("inspect",
                      "Shows inputs, outputs and weights of a Keras model, and whether a checkpoint fits it.");
  arguments.positional("model", &path, "JSON file, or directory that caudal train wrote");
  arguments.option("weights", &weights, "checkpoint or directory; default: the model directory's latest");
  arguments.option("limit", &limit, "weights shown", 1, 1'000'000);
  arguments.flag("json", &json, "one line of JSON");
  int exit_code = kExitOk;
  if (!arguments.parse(words, &exit_code)) return exit_code;
  if (path.size() != 1) {
    std::fprintf(stderr, "caudal inspect: one model is wanted. See caudal inspect --help.\n");
    return kExitUsage;
  }
  const keras::Model model = load_model_file(path[0]);
  const std::string checkpoint = find_weights(path[0], weights);
  const std::vector<Line> lines = compared(model, checkpoint);
  const auto describe = [](const std::vector<keras::KerasTensor>& tensors) {
    std::vector<std::string> texts;
    for (const keras::KerasTensor& t : tensors) {
      texts.push_back(internal::concat(t.node()->layer->name(), " ", t.dtype(), t.shape()));
    }
    return texts;
  };
  const std::vector<std::string> inputs = describe(model.inputs()), outputs = describe(model.outputs());
  if (json) {
    std::vector<std::string> list;
    for (const Line& line : lines) list.push_back(line_json(line));
    std::printf("%s\n", JsonObject()
                            .add("name", model.name())
                            .add_json("inputs", json_strings(inputs))
                            .add_json("outputs", json_strings(outputs))
                            .add("compiled", model.compiled())
                            .add("parameters", model->count_params())
                            .add("checkpoint", checkpoint)
                            .add_json("weights", json_list(list))
                            .str()
                            .c_str());
    return kExitOk;
  }
  std::printf("%s '%s': %s, %s parameters, %s\n", model->class_name().c_str(), model.name().c_str(),
              counted(static_cast<std::int64_t>(model.layers().size()), "layer").c_str(),
              grouped_digits(model->count_params()).c_str(), model.compiled() ? "compiled" : "not compiled");
  TextTable places(limit);
  for (const std::string& text : inputs) places.row({"in", text});
  for (const std::string& text : outputs) places.row({"out", text});
  std::printf("%s", places.str().c_str());
  std::printf("Weights%s:\n", checkpoint.empty() ? "" : (" beside " + checkpoint).c_str());
  TextTable table(limit);
  for (const Line& line : lines) {
    const bool measured = line.state == "fits";
    table.row({line.name, line.shape, line.state,
               measured ? short_number(line.values.least) + " to " + short_number(line.values.greatest) : ""});
  }
  std::printf("%s", table.str().c_str());
  return kExitOk;
}

}  // namespace

CAUDAL_COMMAND({.name = "inspect", .summary = "inputs, outputs and weights of a Keras model", .run = run_inspect});

}  // namespace caudal::inline v0::cli
