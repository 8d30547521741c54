// Functions made from graphs, and graphs made by tracing.
#include <algorithm>
#include <cctype>
#include <optional>
#include <set>

#include "caudal/base/error.h"
#include "caudal/graph/function_body.h"

namespace caudal::inline v0 {
namespace {

// Names in a signature: a small letter first, then small letters, digits and '_'.
std::string signature_name(std::string_view name) {
  std::string text;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (text.empty() && std::isalpha(byte) == 0) continue;
    text += std::isalnum(byte) != 0 ? static_cast<char>(std::tolower(byte)) : '_';
  }
  return text.empty() ? "unknown" : text;
}

// Names that are told apart by a number behind them.
class UniqueNames {
 public:
  void reserve(const std::string& name) { used_.insert(name); }
  std::string make(std::string_view wanted) {
    const std::string base = signature_name(wanted);
    std::string name = base;
    for (int i = 0; !used_.insert(name).second; ++i) name = internal::concat(base, '_', i);
    return name;
  }

 private:
  std::set<std::string> used_;
};

class FunctionWriter {
 public:
  FunctionWriter(std::string_view name, const Graph& graph) : graph_(graph) { function_.signature.name = name; }

  Function run(const std::vector<Output>& arguments, const std::vector<Output>& results) {
    for (const Node* node : graph_.nodes()) names_.reserve(node->name());
    for (const Output& argument : arguments) add_argument(argument);
    for (Node* node : graph_.nodes()) {
      if (node->type() != "_Arg") add_node(*node);
    }
    for (const Output& result : results) {
      const std::string name = names_.make(result.node()->name());
      function_.signature.outputs.push_back({.name = name, .type = result.dtype()});
      function_.returns.emplace_back(name, source(result));
    }
    return std::move(function_);
  }

 private:
  void add_argument(const Output& argument) {
    const Node& node = *argument.node();
    const int index = static_cast<int>(function_.signature.inputs.size());
    // The node itself is not written, so its name is free if it is a name for a signature.
    const std::string name = signature_name(node.name()) == node.name() ? node.name() : names_.make(node.name());
    function_.signature.inputs.push_back({.name = name, .type = argument.dtype()});
    argument_names_.emplace(argument, name);
    AttrMap& attrs = function_.arg_attrs[index];
    for (const auto& [key, value] : node.info().attrs) {
      if (key.starts_with('_')) attrs.emplace(key, value);
    }
    if (argument.shape().has_rank()) attrs.insert_or_assign("_output_shapes", std::vector{argument.shape()});
    if (attrs.empty()) function_.arg_attrs.erase(index);
  }

  void add_node(const Node& node) {
    NodeRecord record{node.name(), node.type(), node.info().device, {}, node.info().attrs};
    for (const Output& input : node.inputs()) record.inputs.push_back(source(input));
    for (const Node* before : node.control_inputs()) {
      if (before->type() != "_Arg") record.inputs.push_back("^" + before->name());
    }
    function_.nodes.push_back(std::move(record));
    if (!node.op().def.stateful) return;
    function_.signature.stateful = true;
    function_.control_returns.emplace_back(node.name(), node.name());
  }

  std::string source(const Output& output) const {
    if (const auto argument = argument_names_.find(output); argument != argument_names_.end()) return argument->second;
    const Node& node = *output.node();
    int first = 0;
    for (const ArgDef& arg : node.op().def.outputs) {
      const int size = arg_range({arg}, node.info().attrs, arg.name).size();
      if (output.index() < first + size) {
        return internal::concat(node.name(), ':', arg.name, ':', output.index() - first);
      }
      first += size;
    }
    throw internal_error("'", output.name(), "' is no output of its node's definition");
  }

  const Graph& graph_;
  Function function_;
  UniqueNames names_;
  std::map<Output, std::string> argument_names_;
};

// A small value that carries no gradient is worth more as a constant of the body: shapes are inferred from it.
constexpr std::size_t kMostCopiedBytes = 1024;

bool is_copied(const Output& output, bool also_differentiable) {
  const Node& node = *output.node();
  return node.type() == "Const" && (also_differentiable || !is_differentiable(output.dtype())) &&
         is_plain(output.dtype()) && node.attr<Tensor>("value").byte_size() <= kMostCopiedBytes;
}

}  // namespace

Function function_from_graph(std::string_view name, const Graph& graph, const std::vector<Output>& arguments,
                             const std::vector<Output>& results) {
  return FunctionWriter(name, graph).run(arguments, results);
}

FunctionArgument argument_like(const Output& output) {
  return {.dtype = output.dtype(),
          .shape = output.shape(),
          .handle = output.node()->output_handle(output.index()),
          .name = {}};
}

FunctionBuilder::FunctionBuilder(Graph& outer, std::string_view name)
    : outer_(outer),
      name_(outer.functions().unique_name(name)),
      graph_(std::make_unique<Graph>(outer.shared_functions())) {
  graph_->set_seed(outer.seed());
  graph_->set_capture([this](const Output& output) { return bring_in(output); });
}

FunctionBuilder::~FunctionBuilder() = default;

Output FunctionBuilder::new_argument(const FunctionArgument& argument, std::string_view default_name) {
  NodeDraft draft;
  draft.op = "_Arg";
  draft.name = graph_->unique_name(argument.name.empty() ? default_name : std::string_view(argument.name));
  draft.attrs["T"] = argument.dtype;
  draft.attrs["index"] = static_cast<std::int64_t>(arguments_.size() + captures_.size());
  if (argument.shape.has_rank()) draft.attrs["_output_shapes"] = std::vector{argument.shape};
  if (!argument.handle.empty()) {
    std::vector<DType> dtypes;
    std::vector<PartialShape> shapes;
    for (const auto& part : argument.handle) {
      dtypes.push_back(part.dtype);
      shapes.push_back(part.shape);
    }
    draft.attrs["_handle_dtypes"] = std::move(dtypes);
    draft.attrs["_handle_shapes"] = std::move(shapes);
  }
  return {&graph_->add(std::move(draft)), 0};
}

Output FunctionBuilder::add_argument(const FunctionArgument& argument) {
  arguments_.push_back(new_argument(argument, "args"));
  return arguments_.back();
}

Output FunctionBuilder::capture(const Output& outer) {
  if (!outer) throw invalid_argument("function '", name_, "': a captured tensor is missing");
  if (&outer.graph() == graph_.get()) return outer;
  Output source = outer;
  if (&outer.graph() != &outer_) {
    if (!outer_.capture()) {
      throw invalid_argument("function '", name_, "': '", outer.name(), "' belongs to an unrelated graph");
    }
    source = outer_.capture()(outer);
  }
  const auto known = std::ranges::find(captures_, source);
  if (known != captures_.end()) return captured_arguments_[known - captures_.begin()];
  FunctionArgument argument = argument_like(source);
  argument.name = signature_name(source.node()->name());
  captured_arguments_.push_back(new_argument(argument, "capture"));
  captures_.push_back(source);
  return captured_arguments_.back();
}

Output FunctionBuilder::bring_in(const Output& outer) {
  if (&outer.graph() == graph_.get() || !is_copied(outer, copies_all_constants_)) return capture(outer);
  if (const auto known = copied_constants_.find(outer); known != copied_constants_.end()) return known->second;
  NodeDraft draft;
  draft.op = "Const";
  draft.name = graph_->unique_name(outer.node()->name());
  draft.attrs = {{"dtype", outer.dtype()}, {"value", outer.node()->attr<Tensor>("value")}};
  return copied_constants_[outer] = {&graph_->add(std::move(draft)), 0};
}

const std::vector<Output>& FunctionBuilder::trace(const Trace& body) {
  std::vector<Output> results;
  {
    const BodyScope scope(*graph_);
    results = body(arguments_);
  }
  set_results(std::move(results));
  return results_;
}

void FunctionBuilder::set_results(std::vector<Output> results) {
  for (Output& result : results) {
    if (!result) throw invalid_argument("function '", name_, "': a result is missing");
    result = bring_in(result);
  }
  results_ = std::move(results);
}

TracedFunction FunctionBuilder::finish(const std::vector<Output>* order) {
  TracedFunction traced;
  std::vector<Output> arguments = arguments_;
  if (order != nullptr) {
    for (const Output& outer : *order) arguments.push_back(capture(outer));
    if (captures_.size() > order->size()) {
      throw internal_error("function '", name_, "' captures ", captures_.size(), " tensors; ", order->size(),
                           " are in the order given");
    }
    traced.captures = *order;
  } else {
    arguments.insert(arguments.end(), captured_arguments_.begin(), captured_arguments_.end());
    traced.captures = captures_;
  }
  for (const Output& result : results_) {
    traced.result_types.push_back(result.dtype());
    traced.result_shapes.push_back(result.shape());
    traced.result_handles.push_back(result.node()->output_handle(result.index()));
  }
  auto function = std::make_shared<const Function>(function_from_graph(name_, *graph_, arguments, results_));
  traced.stateful = function->signature.stateful;
  outer_.functions().add(function);
  traced.function = make_function_attr(name_);
  return traced;
}

}  // namespace caudal::inline v0
