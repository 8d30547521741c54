// Pooling layers of one and three dimensions (tf.compat.v1.layers); those of two are in layers.h.
//
// inputs: [batch, sizes, channels], or [batch, channels, sizes] with data_format "channels_first". Errors name the
// layer and its inputs. Thread safety: as building a graph.
#pragma once

#include <array>
#include <cstdint>
#include <source_location>
#include <string>

#include "caudal/base/export.h"
#include "caudal/nn/layers_conv.h"

namespace caudal::inline v0::layers {

struct PoolingOptions {
  std::string padding = "valid";              // or "same"
  std::string data_format = "channels_last";  // or "channels_first"
  std::string name = {};
  std::source_location where = std::source_location::current();
};

// Largest or mean value of each window.
CAUDAL_API Output max_pooling1d(const Operand& inputs, std::int64_t pool_size, std::int64_t strides,
                                const PoolingOptions& options = {});
CAUDAL_API Output average_pooling1d(const Operand& inputs, std::int64_t pool_size, std::int64_t strides,
                                    const PoolingOptions& options = {});
CAUDAL_API Output max_pooling3d(const Operand& inputs, Size3 pool_size, Size3 strides,
                                const PoolingOptions& options = {});
CAUDAL_API Output average_pooling3d(const Operand& inputs, Size3 pool_size, Size3 strides,
                                    const PoolingOptions& options = {});

}  // namespace caudal::inline v0::layers
