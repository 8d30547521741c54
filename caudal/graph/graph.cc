#include "caudal/graph/graph.h"

#include <algorithm>
#include <cctype>
#include <regex>
#include <utility>

#include "caudal/base/error.h"
#include "caudal/base/strings.h"
#include "caudal/graph/constant_value.h"

namespace caudal::inline v0 {
namespace {

// Node names: letters, digits and ".", then also "_\/>-".
bool is_valid_name(std::string_view name) {
  const auto alnum = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.'; };
  if (name.empty() || !(alnum(name[0]) || name[0] == '_')) return false;
  return std::ranges::all_of(
      name, [&](char c) { return alnum(c) || std::string_view("_\\/>-").find(c) != std::string_view::npos; });
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

std::string describe_inputs(const std::vector<std::vector<Output>>& groups) {
  std::string text;
  for (const auto& group : groups) {
    for (const Output& output : group) text += (text.empty() ? "" : ", ") + output.describe();
  }
  return text;
}

// Sets a type or count attribute from the inputs of an argument, or checks the one that is there.
void bind_attr(AttrMap& attrs, const std::string& name, const AttrValue& value, const ArgDef& arg,
               const NodeDraft& draft) {
  const auto [found, inserted] = attrs.emplace(name, value);
  if (inserted || found->second == value || found->second.get_if<AttrPlaceholder>() != nullptr) return;
  // An empty list in a file is of no kind yet: complete_attrs() gives it one.
  const auto* types = value.get_if<std::vector<DType>>();
  const auto* none = found->second.get_if<std::vector<std::int64_t>>();
  if (types != nullptr && types->empty() && none != nullptr && none->empty()) return;
  if (name == arg.number_attr) {
    throw invalid_argument("'", arg.name, "' is a list of ", value, "; attribute ", name, " is ", found->second);
  }
  throw invalid_argument("'", arg.name, "' is ", value, "; its type ", name, " is ", found->second,
                         " by the other inputs or attributes (inputs: ", describe_inputs(draft.inputs), ")")
      .hint("Cast one side: inputs that share " + name + " must have one type.");
}

std::string item_name(const CollectionItem& item) {
  if (item.output) return item.output.node()->name();
  if (item.operation) return item.operation.name();
  return item.text;
}

}  // namespace

Graph::Graph() : Graph(std::make_shared<FunctionLibrary>()) {}
Graph::Graph(std::shared_ptr<FunctionLibrary> functions) : functions_(std::move(functions)) {}
Graph::~Graph() = default;

void Graph::resolve_types(const Op& op, const NodeDraft& draft, AttrMap& attrs) const {
  if (draft.inputs.size() != op.def.inputs.size()) {
    throw invalid_argument(draft.inputs.size(), " arguments given; ", op.def.inputs.size(), " are wanted");
  }
  for (std::size_t a = 0; a < op.def.inputs.size(); ++a) {
    const ArgDef& arg = op.def.inputs[a];
    const auto& group = draft.inputs[a];
    for (const Output& output : group) {
      if (!output) throw invalid_argument("'", arg.name, "' is missing");
      if (output.index() < 0 || output.index() >= output.node()->num_outputs()) {
        throw invalid_argument("'", arg.name, "': operation '", output.node()->name(), "' has no output ",
                               output.index());
      }
    }
    if (!arg.type_list_attr.empty()) {
      std::vector<DType> types;
      for (const Output& output : group) types.push_back(output.dtype());
      bind_attr(attrs, arg.type_list_attr, types, arg, draft);
      continue;
    }
    if (!arg.number_attr.empty()) {
      bind_attr(attrs, arg.number_attr, static_cast<std::int64_t>(group.size()), arg, draft);
    } else if (group.size() != 1) {
      throw invalid_argument("'", arg.name, "' takes one tensor, not ", group.size());
    }
    for (const Output& output : group) {
      if (!arg.type_attr.empty()) {
        bind_attr(attrs, arg.type_attr, output.dtype(), arg, draft);
      } else if (output.dtype() != arg.type) {
        throw invalid_argument("'", arg.name, "' must be ", arg.type, ", not ", output.describe());
      }
    }
  }
}

void Graph::check_inputs(const Node& node) const {
  for (int i = 0; i < node.num_inputs(); ++i) {
    const Output& input = node.input(i);
    if (&input.graph() != this) {
      throw invalid_argument("input '", input.name(), "' belongs to another graph");
    }
    if (node.info().input_refs[i] && !input.is_ref()) {
      throw invalid_argument("input ", i, " must be a variable, not ", input.describe());
    }
  }
}

InferredShapes infer_shapes(const NodeInfo& node, std::vector<ShapeContext::Input> inputs) {
  ShapeContext context(node, std::move(inputs));
  node.op->spec->shape(context);
  return {context.outputs(), context.output_handles()};
}

void Graph::infer_shapes(Node& node) {
  std::vector<ShapeContext::Input> inputs;
  for (const Output& source : node.inputs_) {
    inputs.push_back({source.shape(), source.node()->output_handle(source.index()),
                      [source] { return constant_value(source); },
                      [source] { return constant_value_as_shape(source); }});
  }
  auto inferred = caudal::infer_shapes(*node.info_, std::move(inputs));
  node.output_shapes_ = std::move(inferred.shapes);
  node.output_handles_ = std::move(inferred.handles);
}

Node& Graph::add(NodeDraft draft) {
  std::lock_guard lock(mutex_);
  try {
    if (finalized_) throw failed_precondition("the graph is finalised: no node can be added");
    if (!is_valid_name(draft.name)) throw invalid_argument("'", draft.name, "' is no valid node name");
    if (by_name_.contains(draft.name)) throw already_exists("a node of this name is in the graph already");
    const Op* call = find_op(draft.op);
    const Op& op = call != nullptr ? *call : lookup_op(draft.op);
    std::unique_ptr<Node> node(new Node);
    node->graph_ = this;
    node->id_ = static_cast<int>(nodes_.size());
    node->info_->op = &op;
    node->info_->name = std::move(draft.name);
    node->info_->device = std::move(draft.device);
    node->info_->made_at = draft.made_at;
    draft.name = node->info_->name;
    node->info_->attrs = std::move(draft.attrs);
    resolve_types(op, draft, node->info_->attrs);
    complete_attrs(op.def, node->info_->attrs);
    auto inputs = expand_args(op.def.inputs, node->info_->attrs);
    auto outputs = expand_args(op.def.outputs, node->info_->attrs);
    node->info_->input_types = std::move(inputs.types);
    node->info_->input_refs = std::move(inputs.refs);
    node->info_->output_types = std::move(outputs.types);
    node->info_->output_refs = std::move(outputs.refs);
    for (const auto& group : draft.inputs) node->inputs_.insert(node->inputs_.end(), group.begin(), group.end());
    check_inputs(*node);
    for (const Node* before : draft.control_inputs) {
      if (before == nullptr) throw invalid_argument("a control input is missing");
      if (&before->graph() != this) {
        throw invalid_argument("control input '", before->name(), "' belongs to another graph");
      }
    }
    try {
      infer_shapes(*node);
    } catch (const Error& error) {
      throw Error(error.code(), error.detail() + " (inputs: " + describe_inputs(draft.inputs) + ")")
          .hint(error.advice());
    }

    used_names_.insert(lower(node->name()));
    by_name_.emplace(node->name(), node.get());
    for (int i = 0; i < node->num_inputs(); ++i) node->inputs_[i].node()->consumers_.push_back({node.get(), i});
    nodes_.push_back(std::move(node));
    ++version_;
    Node& added = *nodes_.back();
    for (Node* before : draft.control_inputs) add_control_input(added, *before);
    return added;
  } catch (const Error& error) {
    throw error.at_node(draft.op, draft.name, draft.made_at);
  }
}

void Graph::connect(Node& node, int i, Output source) {
  std::lock_guard lock(mutex_);
  const auto check = [&](bool good, const auto&... what) {
    if (!good) throw invalid_argument(what...).at_node(node.type(), node.name(), node.info_->made_at);
  };
  check(i >= 0 && i < node.num_inputs(), "there is no input ", i, " of ", node.num_inputs());
  check(static_cast<bool>(source), "input ", i, " is missing");
  check(&source.graph() == this && node.graph_ == this, "input '", source.name(), "' belongs to another graph");
  check(source.dtype() == node.info_->input_types[i], "input ", i, " must be ", node.info_->input_types[i], ", not ",
        source.describe());
  check(source.is_ref() || !node.info_->input_refs[i], "input ", i, " must be a variable, not ", source.describe());
  auto& consumers = node.inputs_[i].node()->consumers_;
  std::erase_if(consumers, [&](const Node::Consumer& c) { return c.node == &node && c.input == i; });
  node.inputs_[i] = source;
  source.node()->consumers_.push_back({&node, i});
  ++version_;
}

void Graph::add_control_input(Node& node, Node& before) {
  std::lock_guard lock(mutex_);
  if (&node == &before || std::ranges::find(node.control_inputs_, &before) != node.control_inputs_.end()) return;
  node.control_inputs_.push_back(&before);
  before.control_consumers_.push_back(&node);
  ++version_;
}

void Graph::extend(Node& node, AttrMap attrs, const std::vector<Output>& more_inputs) {
  std::lock_guard lock(mutex_);
  try {
    if (finalized_) throw failed_precondition("the graph is finalised: no node can be changed");
    auto info = std::make_unique<NodeInfo>(*node.info_);
    for (auto& [name, value] : attrs) info->attrs.insert_or_assign(name, std::move(value));
    complete_attrs(info->op->def, info->attrs);
    auto inputs = expand_args(info->op->def.inputs, info->attrs);
    auto outputs = expand_args(info->op->def.outputs, info->attrs);
    std::vector<Output> sources(node.inputs_);
    sources.insert(sources.end(), more_inputs.begin(), more_inputs.end());
    const bool fits =
        std::ranges::equal(sources, inputs.types, {}, [](const Output& source) { return source.dtype(); }) &&
        outputs.types.size() >= node.info_->output_types.size() &&
        std::equal(node.info_->output_types.begin(), node.info_->output_types.end(), outputs.types.begin());
    if (!fits) throw invalid_argument("inputs (", describe_inputs({sources}), ") or outputs do not fit");
    info->input_types = std::move(inputs.types);
    info->input_refs = std::move(inputs.refs);
    info->output_types = std::move(outputs.types);
    info->output_refs = std::move(outputs.refs);
    for (std::size_t i = node.inputs_.size(); i < sources.size(); ++i) {
      sources[i].node()->consumers_.push_back({&node, static_cast<int>(i)});
    }
    node.inputs_ = std::move(sources);
    former_infos_.push_back(std::exchange(node.info_, std::move(info)));
    const std::vector<PartialShape> known = node.output_shapes_;
    infer_shapes(node);
    std::ranges::copy(known, node.output_shapes_.begin());
    ++version_;
  } catch (const Error& error) {
    throw error.at_node(node.type(), node.name(), node.info_->made_at);
  }
}

std::string Graph::unique_name(std::string_view name) {
  std::lock_guard lock(mutex_);
  std::string candidate(name);
  std::string key = lower(name);
  int& count = name_counts_[key];
  // Names are compared without case, so that they are safe as file names of summaries and checkpoints.
  while (used_names_.contains(lower(candidate))) candidate = internal::concat(name, '_', ++count);
  used_names_.insert(lower(candidate));
  return candidate;
}

const Op* Graph::find_op(std::string_view name) const {
  if (const Op* op = caudal::find_op(name)) return op;
  return functions_->call_op(name);
}

Node* Graph::find(std::string_view name) const {
  std::lock_guard lock(mutex_);
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

Operation Graph::operation(std::string_view name) const {
  if (Node* node = find(name)) return {node};
  std::vector<std::string> names;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [known, node] : by_name_) names.emplace_back(known);
  }
  throw not_found("the graph has no operation '", name, "'").hint(did_you_mean(name, names));
}

Output Graph::tensor(std::string_view name) const {
  std::string_view node_name = name;
  int index = 0;
  if (const auto colon = name.rfind(':'); colon != std::string_view::npos) {
    const std::string_view digits = name.substr(colon + 1);
    if (digits.empty() || digits.size() > 6 ||
        !std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; })) {
      throw invalid_argument("'", name, "' is no tensor name")
          .hint("A tensor is named \"operation:output\", e.g. \"X:0\".");
    }
    node_name = name.substr(0, colon);
    for (const char c : digits) index = index * 10 + (c - '0');
  }
  Node* node = operation(node_name).node();
  if (index >= node->num_outputs()) {
    throw not_found("operation '", node_name, "' has ", node->num_outputs(),
                    node->num_outputs() == 1 ? " output" : " outputs", "; there is no '", name, "'")
        .hint("Outputs count from 0.");
  }
  return {node, index};
}

int Graph::num_nodes() const {
  std::lock_guard lock(mutex_);
  return static_cast<int>(nodes_.size());
}

Node& Graph::node(int id) const {
  std::lock_guard lock(mutex_);
  return *nodes_[id];
}

std::vector<Node*> Graph::nodes() const {
  std::lock_guard lock(mutex_);
  std::vector<Node*> all;
  for (const auto& node : nodes_) all.push_back(node.get());
  return all;
}

std::int64_t Graph::version() const {
  std::lock_guard lock(mutex_);
  return version_;
}

void Graph::finalize() {
  std::lock_guard lock(mutex_);
  finalized_ = true;
}

bool Graph::is_finalized() const {
  std::lock_guard lock(mutex_);
  return finalized_;
}

void Graph::add_to_collection(std::string_view key, CollectionItem item) {
  std::lock_guard lock(mutex_);
  collections_[std::string(key)].push_back(std::move(item));
}

std::vector<CollectionItem> Graph::collection(std::string_view key, std::string_view scope) const {
  std::lock_guard lock(mutex_);
  const auto found = collections_.find(key);
  if (found == collections_.end()) return {};
  if (scope.empty()) return found->second;
  std::vector<CollectionItem> matching;
  try {
    const std::regex pattern{std::string(scope)};
    for (const CollectionItem& item : found->second) {
      const std::string name = item_name(item);
      if (!name.empty() && std::regex_search(name, pattern, std::regex_constants::match_continuous)) {
        matching.push_back(item);
      }
    }
  } catch (const std::regex_error&) {
    throw invalid_argument("collection scope '", scope, "' is no regular expression");
  }
  return matching;
}

std::vector<std::string> Graph::collection_keys() const {
  std::lock_guard lock(mutex_);
  std::vector<std::string> keys;
  for (const auto& [key, items] : collections_) keys.push_back(key);
  return keys;
}

void Graph::clear_collection(std::string_view key) {
  std::lock_guard lock(mutex_);
  collections_.erase(std::string(key));
}

std::optional<std::int64_t> Graph::seed() const {
  std::lock_guard lock(mutex_);
  return seed_;
}

void Graph::set_seed(std::optional<std::int64_t> seed) {
  std::lock_guard lock(mutex_);
  seed_ = seed;
}

std::int64_t Graph::next_op_seed() {
  std::lock_guard lock(mutex_);
  return op_seeds_drawn_++;
}

}  // namespace caudal::inline v0
