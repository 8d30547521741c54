// Blocks of images moved between space, batch and depth.
//
// All of them only rearrange elements (and pad with zeros, or crop); each is the gradient of another. Any plain element
// type. Errors: INVALID_ARGUMENT where a size cannot be cut into blocks. Thread safety: as building a graph.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0 {

// input [batch, spatial.., rest..]: dimensions 1..M, padded with zeros by paddings [M, 2], are cut into blocks of
// block_shape [M]; the places within a block become batch entries:
//   out[place * batch + b, s / block, rest] = padded[b, s, rest], place counted row-major within the block.
// INVALID_ARGUMENT unless block_shape divides the padded sizes.
CAUDAL_API Output space_to_batch(const Operand& input, const Operand& block_shape, const Operand& paddings,
                                 const OpOptions& options = {});
// The reverse; crops [M, 2] are cut off afterwards. INVALID_ARGUMENT unless the batch is a multiple of the block.
CAUDAL_API Output batch_to_space(const Operand& input, const Operand& block_shape, const Operand& crops,
                                 const OpOptions& options = {});

namespace nn {

struct BlockOptions {
  std::string name = {};
  std::string data_format = "NHWC";
  std::source_location where = std::source_location::current();
};
// [batch, rows, columns, channels] -> [batch, rows / block, columns / block, block * block * channels]; in a block,
// rows count first. NHWC on the CPU.
CAUDAL_API Output space_to_depth(const Operand& input, std::int64_t block_size, const BlockOptions& options = {});
// The reverse: [batch, rows, columns, channels] -> [batch, rows * block, columns * block, channels / (block * block)].
CAUDAL_API Output depth_to_space(const Operand& input, std::int64_t block_size, const BlockOptions& options = {});
// As tf.space_to_batch and batch_to_space, under the names of tf.nn.
CAUDAL_API Output space_to_batch(const Operand& input, const Operand& block_shape, const Operand& paddings,
                                 const OpOptions& options = {});
CAUDAL_API Output batch_to_space(const Operand& input, const Operand& block_shape, const Operand& crops,
                                 const OpOptions& options = {});

}  // namespace nn

namespace raw_ops {

// The forms for images [batch, rows, columns, channels] and square blocks; paddings and crops [2, 2].
CAUDAL_API Output space_to_batch(const Operand& input, const Operand& paddings, std::int64_t block_size,
                                 const OpOptions& options = {});
CAUDAL_API Output batch_to_space(const Operand& input, const Operand& crops, std::int64_t block_size,
                                 const OpOptions& options = {});

}  // namespace raw_ops
}  // namespace caudal::inline v0
