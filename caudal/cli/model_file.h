// Keras models from JSON files, for `caudal train`, `eval`, `predict`, `summary` and `inspect`.
#pragma once

#include <string>
#include <vector>

#include "caudal/keras/model.h"

namespace caudal::inline v0::cli {

// The model of a JSON file, or of a directory that `caudal train` wrote (its model.json). Errors name the file.
keras::Model load_model_file(const std::string& path);

// The checkpoint to load: what the user gave (a prefix, one of its files, or a directory, whose latest it is), else the
// latest beside a model directory; empty if there is none.
std::string find_weights(const std::string& model_path, const std::string& given);

// Loads those weights; INVALID_ARGUMENT with both lists if they are not the model's.
void load_weights_for(keras::Model& model, const std::string& prefix);

// Makes a model without Input for data of those shapes.
void build_for(keras::Model& model, const std::vector<Tensor>& x);

// Compiles a model that its file does not compile: by `loss` or, if that is empty, by what labels and outputs are.
// Returns what was chosen, for the user to see; empty if nothing was.
std::string compile_for(keras::Model& model, const Tensor& y, const std::string& optimizer, double learning_rate,
                        const std::string& loss, const std::vector<std::string>& metrics);

// {"loss": 0.1, ...}.
std::string logs_json(const keras::Logs& logs);
// "loss 0.1234, accuracy 0.9876".
std::string logs_text(const keras::Logs& logs);

}  // namespace caudal::inline v0::cli
