#include "caudal/graph/builder.h"

#include <algorithm>
#include <utility>

#include "caudal/base/error.h"
#include "caudal/core/op_registry.h"
#include "caudal/graph/container_scope.h"
#include "caudal/graph/scope.h"

namespace caudal::inline v0 {
namespace {

// Every number that may be written in a program fits one of both.
template <class To>
void convert_elements(const Tensor& from, Tensor& to) {
  To* out = to.data<To>();
  const auto store = [&](auto value) {
    using From = decltype(value);
    for (const From v : from.flat<From>()) {
      if constexpr (std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>) {
        *out++ = To(static_cast<float>(v));
      } else {
        *out++ = static_cast<To>(v);
      }
    }
  };
  switch (from.dtype()) {
    case DType::kFloat:
      return store(float{});
    case DType::kDouble:
      return store(double{});
    case DType::kInt32:
      return store(std::int32_t{});
    case DType::kInt64:
      return store(std::int64_t{});
    default:
      throw invalid_argument(from.describe(), " is no number that converts to ", to.dtype());
  }
}

}  // namespace

Tensor convert_number(const Tensor& value, DType dtype) {
  if (value.dtype() == dtype) return value;
  Tensor to(dtype, value.shape());
  switch (dtype) {
    case DType::kFloat:
      convert_elements<float>(value, to);
      break;
    case DType::kDouble:
      convert_elements<double>(value, to);
      break;
    case DType::kHalf:
      convert_elements<Half>(value, to);
      break;
    case DType::kBFloat16:
      convert_elements<BFloat16>(value, to);
      break;
    case DType::kInt8:
      convert_elements<std::int8_t>(value, to);
      break;
    case DType::kInt16:
      convert_elements<std::int16_t>(value, to);
      break;
    case DType::kInt32:
      convert_elements<std::int32_t>(value, to);
      break;
    case DType::kInt64:
      convert_elements<std::int64_t>(value, to);
      break;
    case DType::kUint8:
      convert_elements<std::uint8_t>(value, to);
      break;
    case DType::kUint16:
      convert_elements<std::uint16_t>(value, to);
      break;
    case DType::kUint32:
      convert_elements<std::uint32_t>(value, to);
      break;
    case DType::kUint64:
      convert_elements<std::uint64_t>(value, to);
      break;
    case DType::kComplex64:
      convert_elements<std::complex<float>>(value, to);
      break;
    case DType::kComplex128:
      convert_elements<std::complex<double>>(value, to);
      break;
    default:
      throw invalid_argument("a number cannot be a ", dtype);
  }
  return to;
}

DType Operand::fixed_dtype() const {
  if (output_) return output_.dtype();
  return is_number_ ? DType::kInvalid : value_.dtype();
}

Output Operand::to_output(DType wanted, std::string const_name) const {
  if (output_) return output_;
  Tensor value = value_;
  // An operand out of an empty list or a default-made Output is neither.
  if (!value.valid()) throw invalid_argument("an operand is missing").made_at(current_location(where_));
  if (is_number_) {
    if (wanted == DType::kInvalid) wanted = value.dtype() == DType::kDouble ? DType::kFloat : value.dtype();
    const bool loses_fraction = is_floating(value.dtype()) && !is_differentiable(wanted);
    if (loses_fraction) {
      throw invalid_argument("the number ", value, " is used where ", wanted, " is wanted")
          .made_at(current_location(where_));
    }
    value = convert_number(value, wanted);
  }
  return OpBuilder("Const", {.name = std::move(const_name), .where = where_})
      .attr("value", value)
      .attr("dtype", value.dtype())
      .build();
}

DType common_dtype(std::initializer_list<const Operand*> operands) {
  bool fraction = false;
  for (const Operand* operand : operands) {
    if (const DType fixed = operand->fixed_dtype(); fixed != DType::kInvalid) return fixed;
  }
  for (const Operand* operand : operands) fraction |= operand->has_fraction();
  return fraction ? DType::kFloat : DType::kInt32;
}

OpBuilder::OpBuilder(std::string_view op, const OpOptions& options)
    : name_(options.name.empty() ? std::string(op) : options.name), where_(options.where) {
  draft_.op = op;
}

OpBuilder& OpBuilder::input(const Operand& operand, DType wanted) {
  draft_.inputs.push_back({operand.to_output(wanted)});
  return *this;
}

OpBuilder& OpBuilder::inputs(std::vector<Output> outputs) {
  draft_.inputs.push_back(std::move(outputs));
  return *this;
}

OpBuilder& OpBuilder::attr(std::string_view name, AttrValue value) {
  draft_.attrs.insert_or_assign(std::string(name), std::move(value));
  return *this;
}

OpBuilder& OpBuilder::control_input(Operation operation) {
  draft_.control_inputs.push_back(operation.node());
  return *this;
}

OpBuilder& OpBuilder::device(std::string_view device) {
  draft_.device = device;
  return *this;
}

std::string scoped_unique_name(Graph& graph, std::string_view name) {
  if (name.ends_with('/')) return std::string(name.substr(0, name.size() - 1));
  return graph.unique_name(current_name_scope() + std::string(name));
}

namespace {

// The container of the scope, for nodes that make something and do not say where.
void put_into_container(NodeDraft& draft) {
  if (current_container().empty()) return;
  const Op* op = find_op(draft.op);
  if (op == nullptr || !op->def.stateful || op->def.find_attr("container") == nullptr) return;
  const AttrValue* asked = find_attr(draft.attrs, "container");
  if (asked != nullptr && asked->get_if<std::string>() != nullptr && !asked->get_if<std::string>()->empty()) return;
  draft.attrs.insert_or_assign("container", current_container());
}

}  // namespace

Graph& OpBuilder::choose_graph() {
  Graph& current = default_graph();
  if (current.capture()) {
    for (auto& group : draft_.inputs) {
      for (Output& output : group) {
        if (output && &output.graph() != &current) output = current.capture()(output);
      }
    }
    return current;
  }
  for (const auto& group : draft_.inputs) {
    for (const Output& output : group) {
      if (output) return output.graph();
    }
  }
  return current;
}

namespace {

// A value of a loop means nothing outside of it. Enter and Switch are how values are brought from one to another.
void check_outside_loops(const NodeDraft& draft) {
  const Op* op = find_op(draft.op);
  if (op == nullptr || op->spec->control == ControlFlow::kEnter || op->spec->control == ControlFlow::kSwitch) return;
  for (const auto& group : draft.inputs) {
    for (const Output& input : group) {
      ControlFlowContext* context = input ? output_context(*input.node()) : nullptr;
      if (context == nullptr || context->loop() == nullptr) continue;
      throw invalid_argument("its input '", input.name(), "' is made inside the loop '", context->loop()->name(),
                             "' and used outside of it")
          .hint("Return it from the body as a loop variable.")
          .at_node(draft.op, draft.name, draft.made_at);
    }
  }
}

}  // namespace

Node& OpBuilder::build_node() {
  Graph* graph = &choose_graph();
  draft_.made_at = current_location(where_);
  draft_.name = scoped_unique_name(*graph, name_);
  if (draft_.device.empty()) draft_.device = current_device();
  put_into_container(draft_);
  for (Node* before : current_control_inputs(draft_.inputs)) {
    if (&before->graph() == graph) draft_.control_inputs.push_back(before);
  }
  ControlFlowContext* context = current_control_flow_context(*graph);
  if (context != nullptr) {
    const NameScope scope(draft_.name + "/");
    context->adopt(draft_);
  } else {
    check_outside_loops(draft_);
  }
  Node& node = graph->add(std::move(draft_));
  if (context != nullptr) context->note_node(node);
  note_new_node(node);
  return node;
}

}  // namespace caudal::inline v0
