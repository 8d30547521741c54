#include "caudal/core/shape_context.h"

#include <algorithm>

#include "caudal/base/error.h"

namespace caudal::inline v0 {

ShapeContext::ShapeContext(const NodeInfo& node, std::vector<Input> inputs)
    : node_(node), inputs_(std::move(inputs)), outputs_(node.num_outputs()), output_handles_(node.num_outputs()) {}

const Tensor* ShapeContext::constant_input(int i) const {
  return inputs_[i].constant ? inputs_[i].constant() : nullptr;
}

PartialShape ShapeContext::input_as_shape(int i) const {
  if (const Tensor* value = constant_input(i)) {
    const std::vector<std::int64_t> dims = value->to_int64s();
    for (const std::int64_t dim : dims) {
      if (dim < PartialShape::kUnknown) throw invalid_argument(input_name(i), ' ', *value, " has the size ", dim);
    }
    return PartialShape(dims);
  }
  if (inputs_[i].as_shape) {
    if (const PartialShape shape = inputs_[i].as_shape(); shape.has_rank()) return shape;
  }
  const PartialShape& vector = input(i);
  if (vector.rank() == 1 && vector[0] >= 0 && vector[0] <= kMaxRank) {
    return PartialShape::unknown_of_rank(static_cast<int>(vector[0]));
  }
  return PartialShape::unknown();
}

std::string ShapeContext::input_name(int i) const {
  int begin = 0;
  for (const ArgDef& arg : node_.op->def.inputs) {
    const int size = arg_range(node_.op->def.inputs, node_.attrs, arg.name).size();
    if (i < begin + size) return size == 1 ? arg.name : internal::concat(arg.name, '[', i - begin, ']');
    begin += size;
  }
  return internal::concat("input ", i);
}

PartialShape ShapeContext::with_rank(int i, int rank) const {
  const auto merged = input(i).merge(PartialShape::unknown_of_rank(rank));
  if (!merged) {
    throw invalid_argument(input_name(i), " has shape ", input(i), "; ", rank,
                           rank == 1 ? " dimension is" : " dimensions are", " wanted");
  }
  return *merged;
}

PartialShape ShapeContext::with_rank_at_least(int i, int rank) const {
  if (input(i).has_rank() && input(i).rank() < rank) {
    throw invalid_argument(input_name(i), " has shape ", input(i), "; at least ", rank,
                           rank == 1 ? " dimension is" : " dimensions are", " wanted");
  }
  return input(i);
}

PartialShape ShapeContext::merged(int i, int j) const {
  const auto merged = input(i).merge(input(j));
  if (!merged) {
    throw invalid_argument("shapes differ: ", input_name(i), ' ', input(i), ", ", input_name(j), ' ', input(j));
  }
  return *merged;
}

std::int64_t ShapeContext::merge_dim(std::int64_t a, std::int64_t b, std::string_view what) {
  if (a >= 0 && b >= 0 && a != b) throw invalid_argument(what, " differ: ", a, " and ", b);
  return std::max(a, b);
}

void unchanged_shape(ShapeContext& context) { context.set_output(0, context.input(0)); }

void scalar_shape(ShapeContext& context) {
  for (int i = 0; i < context.num_outputs(); ++i) context.set_output(i, PartialShape::scalar());
}

void no_outputs_shape(ShapeContext&) {}

void unknown_shape(ShapeContext& context) {
  for (int i = 0; i < context.num_outputs(); ++i) context.set_output(i, PartialShape::unknown());
}

PartialShape broadcast(const PartialShape& a, const PartialShape& b) {
  if (!a.has_rank() || !b.has_rank()) return PartialShape::unknown();
  const int rank = std::max(a.rank(), b.rank());
  std::vector<std::int64_t> dims(rank);
  for (int i = 1; i <= rank; ++i) {
    const std::int64_t x = i <= a.rank() ? a[-i] : 1;
    const std::int64_t y = i <= b.rank() ? b[-i] : 1;
    std::int64_t& out = dims[rank - i];
    if (x == 1) {
      out = y;
    } else if (y == 1 || x == y) {
      out = x;
    } else if (x < 0 || y < 0) {
      out = std::max(x, y);  // an unknown size must be 1 or the known one, which is above 1
    } else {
      throw invalid_argument("shapes ", a, " and ", b, " cannot be broadcast together")
          .hint("Sizes must agree from the right, or be 1.");
    }
  }
  return PartialShape(std::move(dims));
}

void broadcast_shape(ShapeContext& context) { context.set_output(0, broadcast(context.input(0), context.input(1))); }

void merged_inputs_shape(ShapeContext& context) {
  PartialShape shape = context.input(0);
  for (int i = 1; i < context.num_inputs(); ++i) {
    const auto merged = shape.merge(context.input(i));
    if (!merged) {
      throw invalid_argument("shapes differ: ", context.input_name(0), ' ', shape, ", ", context.input_name(i), ' ',
                             context.input(i));
    }
    shape = *merged;
  }
  context.set_output(0, shape);
}

}  // namespace caudal::inline v0
