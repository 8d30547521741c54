#include "tests/harness/call.h"

#include <algorithm>
#include <cstring>

#include "caudal/autodiff/gradient.h"
#include "caudal/core/kernel.h"
#include "caudal/graph/scope.h"

namespace caudal::inline v0 {
namespace {

void run_copy(RunContext& c) {
  const Tensor& x = c.input(0);
  if (!is_plain(x.dtype()) && x.dtype() != string) return c.set_output(0, x.keep());
  Tensor& y = c.allocate_output(0, x.shape());
  if (x.num_elements() == 0) return;
  if (x.dtype() == string) {
    std::copy(x.flat<std::string>().begin(), x.flat<std::string>().end(), y.data<std::string>());
  } else {
    std::memcpy(y.raw(), x.raw(), x.byte_size());
  }
}

void copy_gradient(GradientContext& c) { c.set_input_grad(0, c.grad(0)); }

CAUDAL_REGISTER_OP({
    .name = harness::kCopyOp,
    .inputs = "x: T",
    .outputs = "y: T",
    .attrs = "T: type",
    .shape = unchanged_shape,
    .gradient = copy_gradient,
    .cpu = kernel_of<run_copy>,
});

}  // namespace

namespace harness {
namespace {

constexpr std::int64_t kSmall = 16;

// Sizes, axes, paddings: what is a constant in a usual graph.
bool is_small_integer(const Tensor& value) {
  return (value.dtype() == int32 || value.dtype() == int64) && value.rank() <= 2 && value.num_elements() <= kSmall;
}

PartialShape what_is_known(const Shape& shape, Known known) {
  switch (known) {
    case Known::kAll:
      return shape;
    case Known::kAllButFirst:
      return shape.rank() == 0 ? PartialShape(shape) : PartialShape(shape).with_dim(0, PartialShape::kUnknown);
    case Known::kRank:
      return PartialShape::unknown_of_rank(shape.rank());
    default:
      return PartialShape::unknown();
  }
}

}  // namespace

Node& add_node(Graph& graph, const std::string& type, std::vector<std::vector<Output>> inputs, AttrMap attrs) {
  NodeDraft draft{.op = type, .name = graph.unique_name(type), .inputs = std::move(inputs), .attrs = std::move(attrs)};
  return graph.add(std::move(draft));
}

Call::Call(const std::string& op, const std::vector<SampleInput>& inputs, const AttrMap& attrs, const Mode& mode)
    : mode_(mode), graph_(std::make_unique<Graph>()) {
  const GraphScope scope(*graph_);
  std::vector<std::vector<Output>> groups;
  for (const SampleInput& input : inputs) {
    std::vector<Output>& group = groups.emplace_back();
    for (const SampleValue& value : input.values) group.push_back(add_value(value));
    inputs_.insert(inputs_.end(), group.begin(), group.end());
  }
  node_ = &add_node(*graph_, op, std::move(groups), attrs);
}

Output Call::add_value(const SampleValue& sample) {
  if (sample.kind != SampleValue::Kind::kTensor) return add_variable(sample);
  const Tensor value = mode_.offset_inputs ? offset_view(sample.value) : sample.value;
  const bool constant =
      mode_.feeding == Feeding::kConstant || (mode_.feeding == Feeding::kSmallInts && is_small_integer(value));
  Output output;
  if (constant) {
    output = {&add_node(*graph_, "Const", {}, {{"value", value}, {"dtype", value.dtype()}}), 0};
  } else {
    const PartialShape shape = what_is_known(value.shape(), mode_.known);
    output = {&add_node(*graph_, "Placeholder", {}, {{"dtype", value.dtype()}, {"shape", shape}}), 0};
    feeds_.emplace_back(output, value);
  }
  if (mode_.copies && !constant) output = {&add_node(*graph_, kCopyOp, {{output}}), 0};
  return output;
}

Output Call::add_variable(const SampleValue& sample) {
  const DType dtype = sample.value.dtype();
  const bool is_ref = sample.kind == SampleValue::Kind::kRefVariable;
  Node& variable = add_node(*graph_, is_ref ? "VariableV2" : "VarHandleOp", {},
                            {{"dtype", dtype}, {"shape", PartialShape(sample.value.shape())}});
  const Output handle = variable.output(0);
  has_uninitialized_ |= sample.uninitialized;
  if (sample.uninitialized) return handle;
  // A copy: a kernel that writes to the variable must not reach the sample.
  const Tensor value = sample.value.clone();
  const Output initial{&add_node(*graph_, "Const", {}, {{"value", value}, {"dtype", dtype}}), 0};
  initialisers_.push_back(&add_node(*graph_, is_ref ? "Assign" : "AssignVariableOp", {{handle}, {initial}}));
  variable_reads_.emplace_back(is_ref ? &add_node(*graph_, "Identity", {{handle}})
                                      : &add_node(*graph_, "ReadVariableOp", {{handle}}, {{"dtype", dtype}}),
                               0);
  return handle;
}

std::vector<Output> Call::outputs() {
  std::vector<Output> outputs;
  for (int i = 0; i < node_->num_outputs(); ++i) outputs.push_back(node_->output(i));
  return outputs;
}

std::unique_ptr<Session> Call::session() {
  SessionOptions options;
  options.intra_op_threads = mode_.threads;
  options.plan.fold_constants = mode_.fold;
  options.plan.in_place = mode_.in_place;
  options.plan.specialise = mode_.specialise;
  options.plan.specialise_after = 1;
  auto session = std::make_unique<Session>(*graph_, options);
  for (Node* initialiser : initialisers_) session->run(Operation(initialiser));
  return session;
}

std::vector<Tensor> Call::run() {
  const kernels::IsaCap cap(mode_.isa);
  return run(*session());
}

std::vector<Tensor> Call::run(Session& session) {
  const kernels::IsaCap cap(mode_.isa);
  Fetches fetches;
  for (const Output& output : outputs()) {
    // A reference is fetched like any output; its value is copied, as later updates may overwrite it.
    fetches.emplace_back(output);
  }
  if (fetches.empty()) fetches.emplace_back(Operation(node_));
  if (mode_.fetch_copies) {
    for (const Output& input : inputs_) {
      if (input.node()->type() == kCopyOp) fetches.emplace_back(input);
    }
  }
  std::vector<Tensor> values = session.run(fetches, feeds_);
  for (Tensor& value : values) value = value.valid() ? value.clone() : value;
  const std::size_t own = node_->num_outputs() == 0 ? 1 : static_cast<std::size_t>(node_->num_outputs());
  std::vector<Tensor> result;
  if (node_->num_outputs() > 0) result.assign(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(own));
  for (const Output& read : variable_reads_) result.push_back(session.run(read).clone());
  result.insert(result.end(), values.begin() + static_cast<std::ptrdiff_t>(own), values.end());
  return result;
}

}  // namespace harness
}  // namespace caudal::inline v0
