#include "caudal/plan/cost.h"

#include <algorithm>
#include <vector>

namespace caudal::inline v0 {
namespace {

using Shapes = std::span<const PartialShape>;

// Elements, or 0 where a size is not known.
std::int64_t elements(const PartialShape& shape) {
  const auto known = shape.to_shape();
  return known ? known->num_elements() : 0;
}

std::int64_t known_dim(const PartialShape& shape, int d) {
  return shape.has_rank() && shape.rank() >= 1 && d < shape.rank() && shape[d] > 0 ? shape[d] : 0;
}

bool flag(const NodeInfo& node, const char* name) {
  const AttrValue* attr = find_attr(node.attrs, name);
  const bool* value = attr == nullptr ? nullptr : attr->get_if<bool>();
  return value != nullptr && *value;
}

// Every element of a product is a sum over the inner dimension of its left operand.
std::int64_t product(const NodeInfo& node, Shapes in, Shapes out) {
  const bool flipped = flag(node, "transpose_a") || flag(node, "adj_x");
  const int rank = in[0].has_rank() ? in[0].rank() : 0;
  return rank < 2 ? 0 : elements(out[0]) * known_dim(in[0], flipped ? rank - 2 : rank - 1);
}

// A filter [spatial..., channels of a group, filters] is applied at every pixel of what the convolution makes.
std::int64_t at_pixels(const PartialShape& filter, const PartialShape& made) {
  const int rank = made.has_rank() ? made.rank() : 0;
  const std::int64_t channels = rank == 0 ? 0 : known_dim(made, rank - 1);
  return channels == 0 ? 0 : elements(filter) * (elements(made) / channels);
}

using Count = std::int64_t (*)(const NodeInfo& node, Shapes in, Shapes out);

struct Rule {
  const char* op;
  Count count;
};

constexpr Rule kRules[] = {
    {"MatMul", product},
    {"BatchMatMul", product},
    {"BatchMatMulV2", product},
    {"BatchMatMulV3", product},
    {"SparseMatMul", product},
    {"_FusedMatMul", product},
    {"_CaudalMatMulReluGrad", product},
    {"Conv2D", [](const NodeInfo&, Shapes in, Shapes out) { return at_pixels(in[1], out[0]); }},
    {"Conv3D", [](const NodeInfo&, Shapes in, Shapes out) { return at_pixels(in[1], out[0]); }},
    {"_FusedConv2D", [](const NodeInfo&, Shapes in, Shapes out) { return at_pixels(in[1], out[0]); }},
    // A depthwise filter is [rows, columns, channels, multiplier]: all of it, too, at each pixel.
    {"DepthwiseConv2dNative", [](const NodeInfo&, Shapes in, Shapes out) { return at_pixels(in[1], out[0]); }},
    {"Conv2DBackpropInput", [](const NodeInfo&, Shapes in, Shapes) { return at_pixels(in[1], in[2]); }},
    {"Conv2DBackpropFilter", [](const NodeInfo&, Shapes in, Shapes out) { return at_pixels(out[0], in[2]); }},
    {"Conv3DBackpropInputV2", [](const NodeInfo&, Shapes in, Shapes) { return at_pixels(in[1], in[2]); }},
    {"Conv3DBackpropFilterV2", [](const NodeInfo&, Shapes in, Shapes out) { return at_pixels(out[0], in[2]); }},
    {"DepthwiseConv2dNativeBackpropInput", [](const NodeInfo&, Shapes in, Shapes) { return at_pixels(in[1], in[2]); }},
    {"DepthwiseConv2dNativeBackpropFilter",
     [](const NodeInfo&, Shapes in, Shapes out) { return at_pixels(out[0], in[2]); }},
    {"_CaudalConv2DBackpropInputReluGrad", [](const NodeInfo&, Shapes in, Shapes) { return at_pixels(in[0], in[1]); }},
};

// With pooling behind it: the convolution makes a window of pixels for each pooled one, of which one is looked at on
// the way back.
std::int64_t pooled(const NodeInfo& node, Shapes in, Shapes out) {
  if (node.type() == "_CaudalConv2DMaxPool") {
    const auto& size = node.attr<std::vector<std::int64_t>>("pool_strides");
    return at_pixels(in[1], out[0]) * size[0] * size[1];
  }
  const bool by_filter = node.type() == "_CaudalConv2DMaxPoolBackpropFilter";
  return at_pixels(by_filter ? out[0] : in[0], in[1]);
}

std::int64_t bytes_of(const Slot& slot) {
  return is_plain(slot.dtype) ? elements(slot.shape) * static_cast<std::int64_t>(dtype_size(slot.dtype)) : 0;
}

void add_costs(const Program& program, std::map<std::string, NodeCost>& costs) {
  for (const Step& step : program.steps) {
    if (step.kind != StepKind::kKernel) continue;
    NodeCost cost;
    std::vector<PartialShape> inputs, outputs;
    for (const int s : step.inputs) {
      inputs.push_back(program.slots[s].shape);
      cost.bytes += bytes_of(program.slots[s]);
    }
    for (int o = 0; o < step.num_outputs; ++o) {
      const Slot& slot = program.slots[step.first_output + o];
      outputs.push_back(slot.shape);
      cost.output_bytes += bytes_of(slot);
    }
    cost.bytes += cost.output_bytes;
    cost.multiplications = multiplications_of(*step.info, inputs, outputs);
    costs[step.node->name()] += cost;
  }
  for (const Loop& loop : program.loops) add_costs(*loop.body, costs);
}

}  // namespace

std::int64_t multiplications_of(const NodeInfo& node, Shapes inputs, Shapes outputs) {
  if (node.type().starts_with("_CaudalConv2DMaxPool")) return pooled(node, inputs, outputs);
  const auto rule = std::ranges::find_if(kRules, [&](const Rule& r) { return node.type() == r.op; });
  return rule == std::end(kRules) ? 0 : rule->count(node, inputs, outputs);
}

std::map<std::string, NodeCost> costs_of(const Program& program) {
  std::map<std::string, NodeCost> costs;
  add_costs(program, costs);
  return costs;
}

}  // namespace caudal::inline v0
