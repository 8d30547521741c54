#include "caudal/ops/block_ops.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "caudal/autodiff/gradient.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/strided_copy.h"

namespace caudal::inline v0 {
namespace {

using List = std::vector<std::int64_t>;

// --- Geometry ---

// How the first M spatial dimensions are cut; `edges` are [M, 2] row-major: paddings or crops.
struct Blocks {
  List sizes, edges;
  std::size_t count() const { return sizes.size(); }
};

// A product that may overflow: INVALID_ARGUMENT then.
std::int64_t checked_product(std::int64_t a, std::int64_t b) {
  const std::int64_t factors[] = {a, b};
  const auto product = checked_num_elements(factors);
  if (!product) throw invalid_argument(a, " times ", b, " is too large a size");
  return *product;
}

void check_block(const List& sizes) {
  for (const std::int64_t size : sizes) {
    if (size < 1) throw invalid_argument("block_shape holds ", size, "; blocks must be at least 1 large");
  }
}

void check_edges(const List& edges, std::size_t count, std::string_view what) {
  if (edges.size() != 2 * count) {
    throw invalid_argument(what, " must be [", count, ", 2], not ", edges.size(), " numbers");
  }
  for (const std::int64_t edge : edges) {
    if (edge < 0 || edge > INT32_MAX) throw invalid_argument(what, " holds ", edge, "; it must not be negative");
  }
}

std::int64_t space_to_batch_size(std::int64_t n, std::int64_t block, std::int64_t before, std::int64_t after) {
  if (n < 0) return PartialShape::kUnknown;
  const std::int64_t padded = n + before + after;
  if (padded % block != 0) {
    throw invalid_argument("the padded size ", padded, " is not divisible by the block size ", block)
        .hint("Pad more: paddings must make each size a multiple of its block.");
  }
  return padded / block;
}

std::int64_t batch_to_space_size(std::int64_t n, std::int64_t block, std::int64_t before, std::int64_t after) {
  if (n < 0) return PartialShape::kUnknown;
  const std::int64_t size = checked_product(n, block) - before - after;
  if (size < 0) {
    throw invalid_argument("crops of ", before, " and ", after, " are more than the size ", n * block);
  }
  return size;
}

// The shape after the move, as far as input, blocks and edges are known (null: not).
PartialShape moved_shape(const PartialShape& input, std::size_t count, const List* sizes, const List* edges,
                         bool to_batch) {
  List dims = input.dims();
  const std::int64_t batch = dims[0];
  dims[0] = count == 0 ? batch : PartialShape::kUnknown;
  if (sizes != nullptr) {
    check_block(*sizes);
    std::int64_t block = 1;
    for (const std::int64_t size : *sizes) block = checked_product(block, size);
    if (batch >= 0 && !to_batch && batch % block != 0) {
      throw invalid_argument("the batch of ", batch, " is not divisible by the product of the block shape, ", block);
    }
    if (batch >= 0) dims[0] = to_batch ? checked_product(batch, block) : batch / block;
  }
  if (edges != nullptr) check_edges(*edges, count, to_batch ? "paddings" : "crops");
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t& dim = dims[i + 1];
    if (sizes == nullptr || edges == nullptr) {
      dim = PartialShape::kUnknown;
    } else {
      const auto size_after = to_batch ? space_to_batch_size : batch_to_space_size;
      dim = size_after(dim, (*sizes)[i], (*edges)[2 * i], (*edges)[2 * i + 1]);
    }
  }
  return PartialShape(std::move(dims));
}

// Places within a block, one after the other: the sizes and strides of what belongs to each, in space and in batches.
class Places {
 public:
  // space: [batch, spatial.., rest] without padding; batched: [block * batch, spatial / block.., rest].
  Places(const Blocks& blocks, const Shape& space, const Shape& batched)
      : blocks_(blocks),
        space_(space),
        batched_(batched),
        space_strides_(space.strides()),
        batch_strides_(batched.strides()),
        place_(blocks.count(), 0) {}

  // Calls move(dims, offset in space, strides in space, offset in batches, strides in batches) for each place.
  template <class Move>
  void for_each(const Move& move) {
    const std::int64_t batch = space_[0];
    std::int64_t entry = 0;
    do {
      List dims = space_.to_vector(), strides = space_strides_;
      std::int64_t space_offset = 0, batch_offset = entry * batch * batch_strides_[0];
      for (std::size_t i = 0; i < blocks_.count(); ++i) {
        const int d = static_cast<int>(i) + 1;
        const std::int64_t block = blocks_.sizes[i], start = place_[i] - blocks_.edges[2 * i];
        const std::int64_t first = start >= 0 ? 0 : (-start + block - 1) / block;
        const std::int64_t last = std::min(batched_[d], (space_[d] - start + block - 1) / block);
        dims[static_cast<std::size_t>(d)] = std::max<std::int64_t>(0, last - first);
        space_offset += (start + first * block) * space_strides_[static_cast<std::size_t>(d)];
        batch_offset += first * batch_strides_[static_cast<std::size_t>(d)];
        strides[static_cast<std::size_t>(d)] *= block;
      }
      if (std::ranges::find(dims, 0) == dims.end()) {
        move(dims, space_offset, strides, batch_offset, batch_strides_);
      }
      ++entry;
    } while (next());
  }

 private:
  bool next() {
    for (std::size_t i = place_.size(); i-- > 0;) {
      if (++place_[i] < blocks_.sizes[i]) return true;
      place_[i] = 0;
    }
    return false;
  }

  const Blocks& blocks_;
  const Shape &space_, &batched_;
  const List space_strides_, batch_strides_;
  List place_;
};

// --- Shape functions ---

template <bool to_batch>
void blocks_nd_shape(ShapeContext& c) {
  const PartialShape block = c.with_rank(1, 1);
  const PartialShape edges = c.with_rank(2, 2);
  if (block.dim(0) < 0) return;
  const auto count = static_cast<std::size_t>(block.dim(0));
  ShapeContext::merge_dim(edges.dim(0), block.dim(0), to_batch ? "paddings" : "crops");
  ShapeContext::merge_dim(edges.dim(1), 2, to_batch ? "paddings" : "crops");
  const PartialShape input = c.with_rank_at_least(0, static_cast<int>(count) + 1);
  if (!input.has_rank()) return;
  const Tensor* block_value = c.constant_input(1);
  const Tensor* edges_value = c.constant_input(2);
  const List sizes = block_value != nullptr ? block_value->to_int64s() : List();
  const List amounts = edges_value != nullptr ? edges_value->to_int64s() : List();
  c.set_output(0, moved_shape(input, count, block_value != nullptr ? &sizes : nullptr,
                              edges_value != nullptr ? &amounts : nullptr, to_batch));
}

template <bool to_batch>
void blocks_shape(ShapeContext& c) {
  const PartialShape input = c.with_rank(0, 4);
  const PartialShape edges = c.with_rank(1, 2);
  ShapeContext::merge_dim(edges.dim(0), 2, to_batch ? "paddings" : "crops");
  ShapeContext::merge_dim(edges.dim(1), 2, to_batch ? "paddings" : "crops");
  const List sizes(2, c.attr<std::int64_t>("block_size"));
  const Tensor* value = c.constant_input(1);
  const List amounts = value != nullptr ? value->to_int64s() : List();
  c.set_output(0, moved_shape(input, 2, &sizes, value != nullptr ? &amounts : nullptr, to_batch));
}

template <bool to_depth>
void depth_shape(ShapeContext& c) {
  const auto& format = c.attr<std::string>("data_format");
  if (format == "NCHW_VECT_C") {
    c.with_rank(0, 5);
    return c.set_output(0, PartialShape::unknown_of_rank(5));
  }
  const PartialShape input = c.with_rank(0, 4);
  const std::int64_t block = c.attr<std::int64_t>("block_size"), square = checked_product(block, block);
  List dims = input.dims();
  const std::size_t channels = format == "NHWC" ? 3 : 1, rows = format == "NHWC" ? 1 : 2;
  for (std::size_t d : {rows, rows + 1, channels}) {
    if (dims[d] < 0) continue;
    const bool divide = (d == channels) != to_depth;
    const std::int64_t by = d == channels ? square : block;
    if (divide && dims[d] % by != 0) {
      throw invalid_argument(d == channels ? "the channels, " : "the image size ", dims[d], ", are not divisible by ",
                             by, to_depth ? " (the block size)" : " (the square of the block size)");
    }
    dims[d] = divide ? dims[d] / by : checked_product(dims[d], by);
  }
  c.set_output(0, PartialShape(std::move(dims)));
}

// --- Kernels ---

void clear(Tensor& tensor) {
  if (is_plain(tensor.dtype()) && tensor.byte_size() != 0) std::memset(tensor.raw(), 0, tensor.byte_size());
}

template <bool to_batch>
void run_blocks(RunContext& c, const Blocks& blocks) {
  const Tensor& in = c.input(0);
  if (in.rank() < static_cast<int>(blocks.count()) + 1) {
    throw invalid_argument("an input of ", blocks.count() + 1, " or more dimensions is wanted, not ", in.describe());
  }
  const Shape shape = *moved_shape(in.shape(), blocks.count(), &blocks.sizes, &blocks.edges, to_batch).to_shape();
  Tensor& out = c.allocate_output(0, shape);
  if (to_batch && std::ranges::any_of(blocks.edges, [](std::int64_t edge) { return edge != 0; })) clear(out);
  if (in.num_elements() == 0 || out.num_elements() == 0) return;
  Places places(blocks, to_batch ? in.shape() : shape, to_batch ? shape : in.shape());
  const auto size = static_cast<std::int64_t>(dtype_size(in.dtype()));
  places.for_each([&](const List& dims, std::int64_t space, const List& space_strides, std::int64_t batch,
                      const List& batch_strides) {
    if (to_batch) {
      strided_copy(c.pool(), in.dtype(), dims, in.raw() + space * size, space_strides, out.raw() + batch * size,
                   batch_strides);
    } else {
      strided_copy(c.pool(), in.dtype(), dims, in.raw() + batch * size, batch_strides, out.raw() + space * size,
                   space_strides);
    }
  });
}

template <bool to_batch>
void run_blocks_nd(RunContext& c) {
  if (c.input(1).rank() != 1) throw invalid_argument("block_shape must be a vector, not ", c.input(1).describe());
  if (c.input(2).rank() != 2 || c.input(2).dim(1) != 2 || c.input(2).dim(0) != c.input(1).dim(0)) {
    throw invalid_argument(to_batch ? "paddings" : "crops", " must be [", c.input(1).dim(0), ", 2], not ",
                           c.input(2).describe());
  }
  run_blocks<to_batch>(c, {c.input(1).to_int64s(), c.input(2).to_int64s()});
}

template <bool to_batch>
void run_square_blocks(RunContext& c) {
  if (c.input(0).rank() != 4) throw invalid_argument("images must have 4 dimensions, not ", c.input(0).describe());
  if (c.input(1).rank() != 2) throw invalid_argument("paddings and crops must be [2, 2], not ", c.input(1).describe());
  run_blocks<to_batch>(c, {List(2, c.node().attr<std::int64_t>("block_size")), c.input(1).to_int64s()});
}

// Both see an image as [batch, rows, row in block, columns, column in block, channels].
template <bool to_depth>
void run_depth(RunContext& c) {
  const Tensor& in = c.input(0);
  const std::int64_t block = c.node().attr<std::int64_t>("block_size");
  if (in.rank() != 4) throw invalid_argument("images must be [batch, rows, columns, channels], not ", in.describe());
  const std::int64_t square = checked_product(block, block);
  const bool fits = to_depth ? in.dim(1) % block == 0 && in.dim(2) % block == 0 : in.dim(3) % square == 0;
  if (!fits) {
    throw invalid_argument(to_depth ? "rows and columns of " : "the channels of ", in.describe(),
                           " cannot be cut into blocks of ", block, to_depth ? "" : " by itself");
  }
  const Shape shape = to_depth ? Shape{in.dim(0), in.dim(1) / block, in.dim(2) / block, in.dim(3) * square}
                               : Shape{in.dim(0), in.dim(1) * block, in.dim(2) * block, in.dim(3) / square};
  Tensor& out = c.allocate_output(0, shape);
  if (in.num_elements() == 0) return;
  const Shape& deep = to_depth ? shape : in.shape();
  const std::int64_t rows = deep[1], columns = deep[2], channels = deep[3] / square;
  const List dims = {in.dim(0), rows, block, columns, block, channels};
  const std::int64_t row = columns * block * channels;
  const List wide = {rows * block * row, block * row, row, block * channels, channels, 1};
  const List stacked = {rows * block * row, block * row, block * channels, square * channels, channels, 1};
  strided_copy(c.pool(), in.dtype(), dims, in.raw(), to_depth ? wide : stacked, out.raw(), to_depth ? stacked : wide);
}

template <bool to_depth>
std::unique_ptr<Kernel> prepare_depth(PrepareContext& c) {
  if (c.attr<std::string>("data_format") != "NHWC") {
    throw unimplemented("the CPU has no kernel for channels in front (", c.attr<std::string>("data_format"), ")")
        .hint("Use data_format NHWC, and transpose the input if need be.");
  }
  return kernel_of<run_depth<to_depth>>(c);
}

// --- Gradients ---

template <bool to_batch>
void blocks_nd_gradient(GradientContext& c) {
  c.set_input_grad(0, OpBuilder(to_batch ? "BatchToSpaceND" : "SpaceToBatchND", {})
                          .input(c.grad(0))
                          .input(c.input(1))
                          .input(c.input(2))
                          .build());
}

template <bool to_batch>
void blocks_gradient(GradientContext& c) {
  c.set_input_grad(0, OpBuilder(to_batch ? "BatchToSpace" : "SpaceToBatch", {})
                          .input(c.grad(0))
                          .input(c.input(1))
                          .attr("block_size", c.attr<std::int64_t>("block_size"))
                          .build());
}

template <bool to_depth>
void depth_gradient(GradientContext& c) {
  c.set_input_grad(0, OpBuilder(to_depth ? "DepthToSpace" : "SpaceToDepth", {})
                          .input(c.grad(0))
                          .attr("block_size", c.attr<std::int64_t>("block_size"))
                          .attr("data_format", c.attr<std::string>("data_format"))
                          .build());
}

}  // namespace

// --- Registrations ---

CAUDAL_REGISTER_OP({.name = "SpaceToBatchND",
                    .inputs = "input: T; block_shape: Tblock_shape; paddings: Tpaddings",
                    .outputs = "output: T",
                    .attrs = "T: type; Tblock_shape: {int32, int64} = DT_INT32; Tpaddings: {int32, int64} = DT_INT32",
                    .shape = blocks_nd_shape<true>,
                    .gradient = blocks_nd_gradient<true>,
                    .cpu = kernel_of<run_blocks_nd<true>>});
CAUDAL_REGISTER_OP({.name = "BatchToSpaceND",
                    .inputs = "input: T; block_shape: Tblock_shape; crops: Tcrops",
                    .outputs = "output: T",
                    .attrs = "T: type; Tblock_shape: {int32, int64} = DT_INT32; Tcrops: {int32, int64} = DT_INT32",
                    .shape = blocks_nd_shape<false>,
                    .gradient = blocks_nd_gradient<false>,
                    .cpu = kernel_of<run_blocks_nd<false>>});
CAUDAL_REGISTER_OP({.name = "SpaceToBatch",
                    .inputs = "input: T; paddings: Tpaddings",
                    .outputs = "output: T",
                    .attrs = "T: type; Tpaddings: {int32, int64} = DT_INT32; block_size: int >= 2",
                    .shape = blocks_shape<true>,
                    .gradient = blocks_gradient<true>,
                    .cpu = kernel_of<run_square_blocks<true>>});
CAUDAL_REGISTER_OP({.name = "BatchToSpace",
                    .inputs = "input: T; crops: Tidx",
                    .outputs = "output: T",
                    .attrs = "T: type; block_size: int >= 2; Tidx: {int32, int64} = DT_INT32",
                    .shape = blocks_shape<false>,
                    .gradient = blocks_gradient<false>,
                    .cpu = kernel_of<run_square_blocks<false>>});
CAUDAL_REGISTER_OP({.name = "SpaceToDepth",
                    .inputs = "input: T",
                    .outputs = "output: T",
                    .attrs = "T: type; block_size: int >= 2; data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'",
                    .shape = depth_shape<true>,
                    .gradient = depth_gradient<true>,
                    .cpu = prepare_depth<true>});
CAUDAL_REGISTER_OP({.name = "DepthToSpace",
                    .inputs = "input: T",
                    .outputs = "output: T",
                    .attrs = "T: type; block_size: int >= 2; data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'",
                    .shape = depth_shape<false>,
                    .gradient = depth_gradient<false>,
                    .cpu = prepare_depth<false>});

// --- Public functions ---

Output space_to_batch(const Operand& input, const Operand& block_shape, const Operand& paddings,
                      const OpOptions& options) {
  return OpBuilder("SpaceToBatchND", options)
      .input(input)
      .input(block_shape, DType::kInt32)
      .input(paddings, DType::kInt32)
      .build();
}

Output batch_to_space(const Operand& input, const Operand& block_shape, const Operand& crops,
                      const OpOptions& options) {
  return OpBuilder("BatchToSpaceND", options)
      .input(input)
      .input(block_shape, DType::kInt32)
      .input(crops, DType::kInt32)
      .build();
}

namespace nn {

Output space_to_depth(const Operand& input, std::int64_t block_size, const BlockOptions& options) {
  return OpBuilder("SpaceToDepth", {.name = options.name, .where = options.where})
      .input(input)
      .attr("block_size", block_size)
      .attr("data_format", options.data_format)
      .build();
}

Output depth_to_space(const Operand& input, std::int64_t block_size, const BlockOptions& options) {
  return OpBuilder("DepthToSpace", {.name = options.name, .where = options.where})
      .input(input)
      .attr("block_size", block_size)
      .attr("data_format", options.data_format)
      .build();
}

Output space_to_batch(const Operand& input, const Operand& block_shape, const Operand& paddings,
                      const OpOptions& options) {
  return v0::space_to_batch(input, block_shape, paddings, options);
}

Output batch_to_space(const Operand& input, const Operand& block_shape, const Operand& crops,
                      const OpOptions& options) {
  return v0::batch_to_space(input, block_shape, crops, options);
}

}  // namespace nn

namespace raw_ops {

Output space_to_batch(const Operand& input, const Operand& paddings, std::int64_t block_size,
                      const OpOptions& options) {
  return OpBuilder("SpaceToBatch", options)
      .input(input)
      .input(paddings, DType::kInt32)
      .attr("block_size", block_size)
      .build();
}

Output batch_to_space(const Operand& input, const Operand& crops, std::int64_t block_size, const OpOptions& options) {
  return OpBuilder("BatchToSpace", options)
      .input(input)
      .input(crops, DType::kInt32)
      .attr("block_size", block_size)
      .build();
}

}  // namespace raw_ops
}  // namespace caudal::inline v0
