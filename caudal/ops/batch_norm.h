// Fused batch normalisation (Ioffe, Szegedy 2015).
//
// Thread safety: as building a graph.
#pragma once

#include <optional>
#include <source_location>
#include <string>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0::nn {

struct FusedBatchNorm {
  Output y;         // shape and type of x
  Output mean;      // float32 [channels]: of the batch, or the running mean moved towards it
  Output variance;  // likewise; of the batch divided by count - 1, as running variances want it
};
struct FusedBatchNormOptions {
  std::optional<Operand> mean = {};  // running statistics [channels]; needed unless training with factor 1
  std::optional<Operand> variance = {};
  float epsilon = 0.001F;
  std::string data_format = "NHWC";  // NCHW, for five dimensions NDHWC or NCDHW
  bool is_training = true;
  std::string name = {};
  float exponential_avg_factor = 1;  // weight of the batch in mean and variance
  std::source_location where = std::source_location::current();
};

// (x - mean) / sqrt(variance + epsilon) * scale + offset for each channel. In training mean and variance (divided by
// the count) are those of the batch and the gradient flows through them; else the given ones, constants.
// x: half, bfloat16 or float32; scale and offset: float32 [channels].
// Throws INVALID_ARGUMENT where mean and variance are missing or shapes do not fit.
CAUDAL_API FusedBatchNorm fused_batch_norm(const Operand& x, const Operand& scale, const Operand& offset,
                                           const FusedBatchNormOptions& options = {});

}  // namespace caudal::inline v0::nn
