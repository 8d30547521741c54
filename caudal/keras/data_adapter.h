// Arrays cut into batches, and what is wrong with them. Internal.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "caudal/keras/model.h"
#include "caudal/keras/training.h"

namespace caudal::inline v0::keras {

// Rows of a model's inputs, outputs and weights, all of one length.
struct Rows {
  std::vector<Tensor> x, y, weights;
  std::int64_t count() const { return x.empty() ? 0 : x[0].dim(0); }
  // Rows [begin, end), sharing memory.
  Rows part(std::int64_t begin, std::int64_t end) const;
  // Row indices[0], ..., indices[count - 1].
  FitBatch gather(const std::int64_t* indices, std::int64_t count) const;
  FitBatch batch(std::int64_t begin, std::int64_t end) const;
};

// Throws INVALID_ARGUMENT for no data, lengths that differ, and weights that are not one for all outputs or one for
// each of `outputs`.
Rows make_rows(const Arrays& x, const Arrays& y, const Arrays& sample_weight, std::size_t outputs);

// Throws INVALID_ARGUMENT for NaN or infinity in the data, and class numbers that the output has no place for.
void check_values(const Rows& rows, ModelCore& core);

// Multiplies the weights by those of the classes that the labels name. Throws INVALID_ARGUMENT for a class that none
// of them does, and for a model with several outputs.
void apply_class_weight(Rows& rows, const std::map<std::int64_t, double>& class_weight);

}  // namespace caudal::inline v0::keras
