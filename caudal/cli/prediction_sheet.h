// A picture of predictions: first some that are right, then the mistakes, each with its class and the chance given to
// it.
#pragma once

#include <string>
#include <vector>

#include "caudal/data/dataset.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0::cli {

// Names of Fashion-MNIST's ten classes.
std::vector<std::string> fashion_names();

// rows: uint8 features [n, height, width, 1 or 3] and int64 labels; probabilities: float32 [m, classes] of the first m
// rows. Names beyond those given are numbers. Result: uint8 [height, width, 3].
Tensor draw_prediction_sheet(const data::DataSet& rows, const Tensor& probabilities,
                             const std::vector<std::string>& names);

}  // namespace caudal::inline v0::cli
