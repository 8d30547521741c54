#include "caudal/graph/node.h"

#include "caudal/base/error.h"
#include "caudal/graph/graph.h"

namespace caudal::inline v0 {

Graph& Output::graph() const { return node_->graph(); }
DType Output::dtype() const { return node_->info().output_types[index_]; }
bool Output::is_ref() const { return node_->info().output_refs[index_]; }
const PartialShape& Output::shape() const { return node_->output_shape(index_); }
std::string Output::name() const { return internal::concat(node_->name(), ':', index_); }

void Output::set_shape(const PartialShape& shape) const {
  const auto merged = this->shape().merge(shape);
  if (!merged) throw invalid_argument("'", name(), "' has shape ", this->shape(), ", which cannot be ", shape);
  node_->output_shapes_[index_] = *merged;
}

std::string Output::describe() const {
  if (node_ == nullptr) return "<none>";
  return internal::concat(dtype(), shape(), " '", name(), "'");
}

const std::string& Operation::name() const { return node_->name(); }
const std::string& Operation::type() const { return node_->type(); }
Output Operation::input(int i) const { return node_->input(i); }

std::span<const Output> Node::inputs(std::string_view argument) const {
  const ArgRange range = arg_range(info_->op->def.inputs, info_->attrs, argument);
  return std::span(inputs_).subspan(range.begin, range.size());
}

}  // namespace caudal::inline v0
