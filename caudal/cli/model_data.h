// Rows for models from files: what --data of `caudal train`, `eval` and `predict` takes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "caudal/cli/arguments.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0::cli {

struct DataOptions {
  std::string path;                   // a directory with idx files, a .csv, .npy, .npz or .tfrecord file
  std::string labels;                 // .npy file of labels for a .npy file
  std::string label = "label";        // column or feature of the labels
  std::vector<std::string> features;  // columns or features; default: all others
  std::string part = "train";         // of a directory with idx files: "train" or "test"
  bool keep_bytes = false;            // uint8 stays 0 to 255 instead of 0 to 1
  bool labels_wanted = true;

  void add_to(Arguments& arguments);
};

struct ModelData {
  std::vector<Tensor> x;
  Tensor y;  // invalid where there are no labels
  std::string description;
};

// Throws NOT_FOUND, DATA_LOSS and INVALID_ARGUMENT with the file and the line or record.
ModelData load_model_data(const DataOptions& options);

}  // namespace caudal::inline v0::cli
