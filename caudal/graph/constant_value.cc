#include "caudal/graph/constant_value.h"

#include <algorithm>
#include <optional>

namespace caudal::inline v0 {
namespace {

constexpr int kMaxDepth = 64;  // chains of Pack and Cast in files from outside may be long

PartialShape as_shape(const Output& output, int depth);

// A scalar integer as far as it is known, else -1.
std::int64_t scalar_size(const Output& output, int depth) {
  if (depth > kMaxDepth) return -1;
  const Node& node = *output.node();
  if (const Tensor* value = constant_value(output)) {
    return value->num_elements() == 1 ? value->to_int64s()[0] : -1;
  }
  if (node.type() == "Cast" || node.type() == "Identity") return scalar_size(node.input(0), depth + 1);
  if (node.type() == "StridedSlice" && node.attr<std::int64_t>("shrink_axis_mask") == 1) {
    const Tensor* begin = constant_value(node.input(1));
    if (begin == nullptr || begin->num_elements() != 1) return -1;
    const PartialShape whole = as_shape(node.input(0), depth + 1);
    std::int64_t i = begin->to_int64s()[0];
    if (!whole.has_rank()) return -1;
    if (i < 0) i += whole.rank();
    return i >= 0 && i < whole.rank() ? whole[static_cast<int>(i)] : -1;
  }
  return -1;
}

// A slice with one pair of bounds out of a vector of sizes.
PartialShape sliced(const Node& node, int depth) {
  const PartialShape whole = as_shape(node.input(0), depth + 1);
  const Tensor* begin = constant_value(node.input(1));
  const Tensor* end = constant_value(node.input(2));
  const Tensor* step = constant_value(node.input(3));
  if (!whole.has_rank() || begin == nullptr || end == nullptr || step == nullptr || begin->num_elements() != 1 ||
      step->to_int64s()[0] != 1 || node.attr<std::int64_t>("new_axis_mask") != 0 ||
      node.attr<std::int64_t>("ellipsis_mask") != 0 || node.attr<std::int64_t>("shrink_axis_mask") != 0) {
    return PartialShape::unknown();
  }
  const std::int64_t n = whole.rank();
  const auto clamp = [n](std::int64_t i) { return std::clamp<std::int64_t>(i < 0 ? i + n : i, 0, n); };
  const std::int64_t first = (node.attr<std::int64_t>("begin_mask") & 1) != 0 ? 0 : clamp(begin->to_int64s()[0]);
  const std::int64_t last = (node.attr<std::int64_t>("end_mask") & 1) != 0 ? n : clamp(end->to_int64s()[0]);
  std::vector<std::int64_t> dims;
  for (std::int64_t i = first; i < last; ++i) dims.push_back(whole[static_cast<int>(i)]);
  return PartialShape(std::move(dims));
}

PartialShape concatenated(const Node& node, int depth) {
  std::vector<std::int64_t> dims;
  for (const Output& part : node.inputs("values")) {
    const PartialShape shape = as_shape(part, depth + 1);
    if (!shape.has_rank()) return PartialShape::unknown();
    dims.insert(dims.end(), shape.dims().begin(), shape.dims().end());
  }
  return PartialShape(std::move(dims));
}

PartialShape as_shape(const Output& output, int depth) {
  if (depth > kMaxDepth || !is_integer(output.dtype())) return PartialShape::unknown();
  const Node& node = *output.node();
  if (const Tensor* value = constant_value(output)) {
    return value->rank() == 1 ? PartialShape(value->to_int64s()) : PartialShape::unknown();
  }
  const std::string& type = node.type();
  if (type == "Shape") return node.input(0).shape();
  if (type == "ShapeN") return node.input(output.index()).shape();
  if (type == "Cast" || type == "Identity") return as_shape(node.input(0), depth + 1);
  if (type == "StridedSlice") return sliced(node, depth);
  if (type == "ConcatV2") return concatenated(node, depth);
  if (type == "Pack" && output.shape().rank() == 1) {
    std::vector<std::int64_t> dims;
    for (const Output& part : node.inputs()) dims.push_back(scalar_size(part, depth + 1));
    return PartialShape(std::move(dims));
  }
  return PartialShape::unknown();
}

}  // namespace

const Tensor* constant_value(const Output& output) {
  const Node* node = output.node();
  for (int depth = 0; depth < kMaxDepth && node->type() == "Identity"; ++depth) node = node->input(0).node();
  return node->type() == "Const" ? &node->attr<Tensor>("value") : nullptr;
}

PartialShape constant_value_as_shape(const Output& output) { return as_shape(output, 0); }

}  // namespace caudal::inline v0
