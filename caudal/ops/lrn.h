// Local response normalisation ("ImageNet Classification with Deep Convolutional Neural Networks", Krizhevsky et al.
// 2012).
//
// Thread safety: as building a graph.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0 {

namespace nn {

struct LrnOptions {
  std::int64_t depth_radius = 5;
  float bias = 1;
  float alpha = 1;
  float beta = 0.5F;
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// output[.., d] = input[.., d] / (bias + alpha * sum of input[.., e]^2 for |e - d| <= depth_radius) ^ beta.
// input [batch, rows, columns, channels]: half, bfloat16, float32.
CAUDAL_API Output local_response_normalization(const Operand& input, const LrnOptions& options = {});
// The same, under its short name.
CAUDAL_API Output lrn(const Operand& input, const LrnOptions& options = {});

}  // namespace nn
}  // namespace caudal::inline v0
