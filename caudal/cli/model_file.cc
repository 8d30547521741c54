#include "caudal/cli/model_file.h"

#include <cstdio>

#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "caudal/base/strings.h"
#include "caudal/cli/json.h"
#include "caudal/train/saver.h"

namespace caudal::inline v0::cli {
namespace {

constexpr std::uint64_t kLargestModel = std::uint64_t{64} << 20;

std::string model_json_path(const std::string& path) {
  return default_env().is_directory(path) ? join_path(path, "model.json") : path;
}

std::string loss_for(const keras::Model& model, const Tensor& y) {
  const PartialShape& out = model.outputs()[0].shape();
  const std::int64_t width = out.has_rank() && out.rank() > 0 ? out[-1] : -1;
  const bool classes = is_integer(y.dtype()) && (y.rank() < out.rank() || y.shape()[-1] == 1);
  if (classes && width > 1) return "sparse_categorical_crossentropy";
  if (classes && width == 1) {
    bool binary = true;
    for (const std::int64_t label : y.to_int64s()) binary = binary && (label == 0 || label == 1);
    if (binary) return "binary_crossentropy";
  }
  return "mean_squared_error";
}

}  // namespace

keras::Model load_model_file(const std::string& path) {
  const std::string file = model_json_path(path);
  if (!default_env().exists(file)) {
    throw not_found("there is no '", file, "'").hint("A model is a JSON file, as Keras's model.to_json() gives.");
  }
  try {
    return keras::model_from_json(read_file(default_env(), file, kLargestModel));
  } catch (const Error& error) {
    throw error.in("'" + file + "'");
  }
}

std::string find_weights(const std::string& model_path, const std::string& given) {
  Env& env = default_env();
  if (given.empty()) return env.is_directory(model_path) ? train::latest_checkpoint(model_path) : "";
  if (env.is_directory(given)) {
    const std::string latest = train::latest_checkpoint(given);
    if (latest.empty()) throw not_found("there is no checkpoint in '", given, "'");
    return latest;
  }
  for (const char* end : {".index", ".data-00000-of-00001"}) {
    if (given.ends_with(end)) return given.substr(0, given.size() - std::string_view(end).size());
  }
  return given;
}

void load_weights_for(keras::Model& model, const std::string& prefix) {
  try {
    model.load_weights(prefix);
  } catch (const Error& error) {
    if (error.code() != Code::kInvalidArgument) throw;
    throw error.in("model '" + model.name() + "'");
  }
}

void build_for(keras::Model& model, const std::vector<Tensor>& x) {
  if (!model.outputs().empty()) return;
  keras::Shapes shapes;
  for (const Tensor& value : x) {
    std::vector<std::int64_t> dims = value.shape().to_vector();
    if (dims.empty()) throw invalid_argument("the data have no rows");
    dims[0] = -1;
    shapes.emplace_back(dims);
  }
  model.build(shapes);
}

std::string compile_for(keras::Model& model, const Tensor& y, const std::string& optimizer, double learning_rate,
                        const std::string& loss, const std::vector<std::string>& metrics) {
  const bool asked = !optimizer.empty() || !loss.empty() || !metrics.empty();
  std::string chosen;
  if (!model.compiled() || asked) {
    if (model.outputs().size() != 1) {
      throw invalid_argument("model '", model.name(), "' has ", model.outputs().size(),
                             " outputs and its file has no compile settings")
          .hint("Save it from Keras after compile(): to_json() then tells the loss of each output.");
    }
    if (!y.valid()) throw invalid_argument("there are no labels to choose a loss by").hint("Give --loss.");
    keras::CompileOptions options;
    options.optimizer = optimizer.empty() ? keras::OptimizerRef("adam") : keras::OptimizerRef(optimizer);
    const std::string by = loss.empty() ? loss_for(model, y) : loss;
    options.loss = by;
    for (const std::string& metric : metrics) options.metrics.emplace_back(metric);
    if (metrics.empty() && by.ends_with("crossentropy")) options.metrics.emplace_back("accuracy");
    model.compile(options);
    chosen = internal::concat("optimizer ", optimizer.empty() ? "adam" : optimizer, ", loss ", by);
  }
  if (learning_rate > 0) model.optimizer().set_learning_rate(learning_rate);
  return chosen;
}

std::string logs_json(const keras::Logs& logs) {
  JsonObject object;
  for (const auto& [name, value] : logs) object.add(name, value);
  return object.str();
}

std::string logs_text(const keras::Logs& logs) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : logs) {
    char text[160];
    std::snprintf(text, sizeof text, "%s %.4f", name.c_str(), value);
    parts.emplace_back(text);
  }
  return join(parts, ", ");
}

}  // namespace caudal::inline v0::cli
