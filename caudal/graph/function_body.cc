#include "caudal/graph/function_body.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "caudal/base/error.h"
#include "caudal/base/strings.h"
#include "caudal/graph/node_record.h"

namespace caudal::inline v0 {
namespace {

// A copy of the value with the placeholders of the signature's attributes filled in, also inside function attributes.
AttrValue substituted(const AttrValue& value, const AttrMap& attrs);

FunctionAttr substituted(const FunctionAttr& function, const AttrMap& attrs) {
  AttrMap filled;
  for (const auto& [name, value] : *function.attrs) filled.emplace(name, substituted(value, attrs));
  return make_function_attr(function.name, std::move(filled));
}

AttrValue substituted(const AttrValue& value, const AttrMap& attrs) {
  if (const auto* placeholder = value.get_if<AttrPlaceholder>()) {
    const AttrValue* known = find_attr(attrs, placeholder->name);
    if (known == nullptr) throw invalid_argument("attribute '", placeholder->name, "' of the function is not given");
    return *known;
  }
  if (const auto* function = value.get_if<FunctionAttr>()) return substituted(*function, attrs);
  if (const auto* functions = value.get_if<std::vector<FunctionAttr>>()) {
    std::vector<FunctionAttr> filled;
    for (const FunctionAttr& function : *functions) filled.push_back(substituted(function, attrs));
    return filled;
  }
  return value;
}

// The attributes that the signature has, with defaults; what a call carries beyond them is its own affair.
AttrMap signature_attrs(const Function& function, const AttrMap& given) {
  AttrMap attrs;
  for (const AttrDef& attr : function.signature.attrs) {
    if (const AttrValue* value = find_attr(given, attr.name)) attrs.emplace(attr.name, *value);
  }
  complete_attrs(function.signature, attrs);
  return attrs;
}

bool has_effects(const Node& node) { return node.op().def.stateful && node.type() != "_Arg"; }

class Instantiator {
 public:
  Instantiator(const Function& function, const AttrMap& attrs, Graph& graph, std::string_view prefix)
      : function_(function), graph_(graph), prefix_(prefix), attrs_(signature_attrs(function, attrs)) {}

  // Makes the arguments.
  std::vector<Output> make_arguments() {
    std::set<std::string_view> taken;
    for (const NodeRecord& record : function_.nodes) taken.insert(record.name);
    std::vector<Output> arguments;
    for (std::size_t a = 0; a < function_.signature.inputs.size(); ++a) {
      const ArgDef& arg = function_.signature.inputs[a];
      const auto types = expand_args({arg}, attrs_).types;
      for (std::size_t i = 0; i < types.size(); ++i) {
        std::string name = types.size() == 1 ? arg.name : internal::concat(arg.name, '_', i);
        while (graph_.find(name) != nullptr || taken.contains(name)) name += '_';
        arguments.push_back(
            make_argument(static_cast<int>(a), std::move(name), types[i], static_cast<std::int64_t>(arguments.size())));
      }
    }
    return arguments;
  }

  void use_arguments(const std::vector<Output>& arguments) {
    std::size_t next = 0;
    for (const ArgDef& arg : function_.signature.inputs) {
      const auto types = expand_args({arg}, attrs_).types;
      std::vector<Output> group;
      for (const DType type : types) {
        if (next == arguments.size()) throw_argument_count(arguments.size());
        const Output& given = arguments[next++];
        if (given.dtype() != type) {
          throw invalid_argument("argument '", arg.name, "' is ", given.describe(), "; ", type, " is wanted");
        }
        group.push_back(given);
      }
      name_values(arg.name, group);
    }
    if (next != arguments.size()) throw_argument_count(arguments.size());
  }

  void make_nodes() {
    for (std::size_t i = 0; i < function_.nodes.size(); ++i) {
      if (!index_.emplace(function_.nodes[i].name, static_cast<int>(i)).second) {
        throw invalid_argument("two nodes are called '", function_.nodes[i].name, "'");
      }
    }
    nodes_.resize(function_.nodes.size());
    for (const int i : order()) {
      const NodeRecord& record = function_.nodes[i];
      try {
        make_node(i);
      } catch (const Error& error) {
        throw error.at_node(record.op, record.name);
      }
    }
    for (const auto& [node, input, source] : back_edges_) graph_.connect(*node, input, single(source));
  }

  std::vector<Output> results() const {
    std::vector<Output> results;
    for (const ArgDef& arg : function_.signature.outputs) {
      const auto source = std::ranges::find(function_.returns, arg.name, [](const auto& pair) { return pair.first; });
      if (source == function_.returns.end()) throw invalid_argument("result '", arg.name, "' is not defined");
      const std::vector<Output>& values = find_values(source->second);
      const auto types = expand_args({arg}, attrs_).types;
      const auto given = [](const Output& value) { return value.dtype(); };
      if (!std::ranges::equal(values, types, {}, given)) {
        std::string text;
        for (const Output& value : values) text += (text.empty() ? "" : ", ") + value.describe();
        throw invalid_argument("result '", arg.name, "' is ", text, "; the signature says ",
                               AttrValue(types).to_string());
      }
      results.insert(results.end(), values.begin(), values.end());
    }
    return results;
  }

  std::vector<Node*> targets() const {
    std::vector<Node*> targets;
    for (Node* node : nodes_) {
      if (has_effects(*node)) targets.push_back(node);
    }
    for (const auto& [name, node] : function_.control_returns) {
      const auto found = index_.find(node);
      if (found == index_.end()) throw invalid_argument("control output '", name, "': there is no node '", node, "'");
      Node* target = nodes_[found->second];
      if (std::ranges::find(targets, target) == targets.end()) targets.push_back(target);
    }
    return targets;
  }

 private:
  struct BackEdge {
    Node* node;
    int input;
    std::string source;
  };

  [[noreturn]] void throw_argument_count(std::size_t given) const {
    throw invalid_argument(given, " arguments for ", expand_args(function_.signature.inputs, attrs_).types.size());
  }

  Output make_argument(int arg, std::string name, DType dtype, std::int64_t index) {
    NodeDraft draft;
    draft.op = "_Arg";
    draft.name = std::move(name);
    if (const auto own = function_.arg_attrs.find(arg); own != function_.arg_attrs.end()) {
      for (const auto& [key, value] : own->second) {
        if (key.starts_with('_')) draft.attrs.emplace(key, value);
      }
    }
    draft.attrs.insert_or_assign("T", dtype);
    draft.attrs.insert_or_assign("index", index);
    return {&graph_.add(std::move(draft)), 0};
  }

  // "x" is all tensors of an argument, "x:0" the first one.
  void name_values(const std::string& name, std::vector<Output> values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      values_.insert_or_assign(internal::concat(name, ':', i), std::vector<Output>{values[i]});
    }
    values_.insert_or_assign(name, std::move(values));
  }

  const std::vector<Output>& find_values(const std::string& name) const {
    const auto found = values_.find(name);
    if (found == values_.end()) throw invalid_argument("'", name, "' is not in the function");
    return found->second;
  }

  Output single(const std::string& name) const {
    const auto& values = find_values(name);
    if (values.size() != 1) throw invalid_argument("'", name, "' is ", values.size(), " tensors; one is wanted");
    return values[0];
  }

  static std::string node_of(std::string_view input) {
    if (input.starts_with('^')) return std::string(input.substr(1));
    return std::string(input.substr(0, input.find(':')));
  }

  ControlFlow control_of(int i) const {
    const Op* op = graph_.find_op(function_.nodes[i].op);
    return op == nullptr ? ControlFlow::kNone : op->spec->control;
  }

  bool is_back_edge(int node, const std::string& input) const {
    if (input.starts_with('^') || control_of(node) != ControlFlow::kMerge) return false;
    const auto source = index_.find(node_of(input));
    return source != index_.end() && control_of(source->second) == ControlFlow::kNextIteration;
  }

  std::vector<int> order() const {
    std::vector<std::vector<int>> needs(function_.nodes.size());
    for (std::size_t i = 0; i < needs.size(); ++i) {
      for (const std::string& input : function_.nodes[i].inputs) {
        const auto source = index_.find(node_of(input));
        if (source == index_.end() || is_back_edge(static_cast<int>(i), input)) continue;
        needs[i].push_back(source->second);
      }
    }
    std::vector<int> sorted = dependency_order(needs);
    if (sorted.size() != needs.size()) {
      const std::set<int> done(sorted.begin(), sorted.end());
      std::vector<std::string> names;
      for (std::size_t i = 0; i < needs.size() && names.size() < 5; ++i) {
        if (!done.contains(static_cast<int>(i))) names.push_back("'" + function_.nodes[i].name + "'");
      }
      throw invalid_argument("there is a cycle that is no loop, through ", join(names, ", "));
    }
    return sorted;
  }

  void make_node(int i) {
    const NodeRecord& record = function_.nodes[i];
    const Op* op = graph_.find_op(record.op);
    if (op == nullptr) throw unimplemented("the op is not registered");
    NodeDraft draft;
    draft.op = record.op;
    draft.name = prefix_ + record.name;
    draft.device = record.device;
    for (const auto& [name, value] : record.attrs) draft.attrs.emplace(name, substituted(value, attrs_));
    drop_unknown_attrs(op->def, draft.attrs);
    std::vector<std::pair<int, std::string>> back;
    draft.inputs = group_inputs(op->def, draft.attrs, data_inputs(i, draft, back));
    Node& node = graph_.add(std::move(draft));
    nodes_[i] = &node;
    for (auto& [input, source] : back) back_edges_.push_back({&node, input, std::move(source)});
    name_outputs(record.name, node);
  }

  std::vector<Output> data_inputs(int i, NodeDraft& draft, std::vector<std::pair<int, std::string>>& back) const {
    std::vector<Output> inputs;
    for (const std::string& input : function_.nodes[i].inputs) {
      if (input.starts_with('^')) {
        const auto before = index_.find(node_of(input));
        if (before != index_.end()) {
          draft.control_inputs.push_back(nodes_[before->second]);
        } else if (!values_.contains(node_of(input))) {  // an argument is there from the start
          throw invalid_argument("'", input, "' is not in the function");
        }
      } else if (is_back_edge(i, input)) {
        back.emplace_back(static_cast<int>(inputs.size()), input);
        inputs.emplace_back();
      } else {
        const auto& values = find_values(input);
        inputs.insert(inputs.end(), values.begin(), values.end());
      }
    }
    // Until the loop is closed, the entry stands for the back edge: their types agree.
    const auto entry = std::ranges::find_if(inputs, [](const Output& output) { return static_cast<bool>(output); });
    if (!back.empty() && entry == inputs.end()) throw invalid_argument("a Merge has back edges only");
    for (const auto& [input, source] : back) inputs[input] = *entry;
    return inputs;
  }

  void name_outputs(const std::string& name, Node& node) {
    int next = 0;
    for (const ArgDef& arg : node.op().def.outputs) {
      std::vector<Output> group;
      const int size = arg_range({arg}, node.info().attrs, arg.name).size();
      for (int k = 0; k < size; ++k) group.push_back(node.output(next++));
      name_values(name + ":" + arg.name, std::move(group));
    }
  }

  const Function& function_;
  Graph& graph_;
  const std::string prefix_;
  const AttrMap attrs_;
  std::unordered_map<std::string, int> index_;
  std::vector<Node*> nodes_;
  std::unordered_map<std::string, std::vector<Output>> values_;
  std::vector<BackEdge> back_edges_;
};

}  // namespace

FunctionBody instantiate_function(const Function& function, const AttrMap& attrs,
                                  std::shared_ptr<FunctionLibrary> library) {
  FunctionBody body;
  body.name = function.signature.name;
  try {
    body.graph = std::make_unique<Graph>(std::move(library));
    Instantiator instantiator(function, attrs, *body.graph, "");
    body.arguments = instantiator.make_arguments();
    instantiator.use_arguments(body.arguments);
    instantiator.make_nodes();
    body.results = instantiator.results();
    body.targets = instantiator.targets();
  } catch (const Error& error) {
    throw error.in("function '" + function.signature.name + "'");
  }
  body.stateful = std::ranges::any_of(body.targets, [](const Node* node) { return has_effects(*node); });
  return body;
}

InlinedFunction inline_function(const Function& function, const AttrMap& attrs, Graph& graph, std::string_view prefix,
                                const std::vector<Output>& arguments) {
  try {
    Instantiator instantiator(function, attrs, graph, prefix);
    instantiator.use_arguments(arguments);
    instantiator.make_nodes();
    return {instantiator.results(), instantiator.targets()};
  } catch (const Error& error) {
    throw error.in("function '" + function.signature.name + "'");
  }
}

FunctionTypes function_types(const Function& function, const AttrMap& attrs) {
  const AttrMap complete = signature_attrs(function, attrs);
  return {expand_args(function.signature.inputs, complete).types,
          expand_args(function.signature.outputs, complete).types};
}

}  // namespace caudal::inline v0
