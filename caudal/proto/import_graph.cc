#include <algorithm>
#include <charconv>
#include <set>
#include <unordered_map>

#include "caudal/base/error.h"
#include "caudal/base/strings.h"
#include "caudal/graph/node_record.h"
#include "caudal/proto/attr_proto.h"
#include "caudal/proto/graph_def.h"

namespace caudal::inline v0 {
namespace {

// "node:2" or "^node" taken apart.
struct InputRef {
  std::string node;
  int index = 0;
  bool control = false;
};

InputRef parse_input(std::string_view text) {
  InputRef ref;
  if (text.starts_with('^')) {
    ref.control = true;
    ref.node = text.substr(1);
    return ref;
  }
  const auto colon = text.rfind(':');
  ref.node = text.substr(0, colon);
  if (colon == std::string_view::npos) return ref;
  const auto digits = text.substr(colon + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), ref.index);
  if (error != std::errc() || end != digits.data() + digits.size() || ref.index < 0 || digits.empty()) {
    throw invalid_argument("'", text, "' is no input").hint("Inputs are \"node\", \"node:1\" or \"^node\".");
  }
  return ref;
}

class Importer {
 public:
  Importer(const pb::GraphDef& def, const ImportSpec& spec, Graph& graph) : def_(def), spec_(spec), graph_(graph) {}

  void run() {
    check_versions();
    check_ops();
    index_nodes();
    const std::vector<int> order = sorted();
    check_names();
    add_functions();
    for (const int i : order) add(i);
    for (const auto& [node, input, source] : back_edges_) graph_.connect(*node, input, output(source));
  }

 private:
  struct BackEdge {
    Node* node;
    int input;
    InputRef source;
  };

  void check_versions() const {
    if (def_.versions().min_consumer() > kGraphDefVersion) {
      throw failed_precondition("the graph needs a reader of version ", def_.versions().min_consumer(),
                                " or newer; this is ", kGraphDefVersion);
    }
    for (const int bad : def_.versions().bad_consumers()) {
      if (bad == kGraphDefVersion) throw failed_precondition("the graph refuses readers of version ", bad);
    }
  }

  void check_ops() const {
    std::set<std::string> unknown;
    for (const auto& node : def_.node()) {
      if (graph_.find_op(node.op()) == nullptr) unknown.insert(node.op());
    }
    for (const auto& function : def_.library().function()) unknown.erase(function.signature().name());
    if (!unknown.empty()) throw unimplemented("the graph uses ops that are not registered: ", join(unknown, ", "));
  }

  void index_nodes() {
    refs_.resize(def_.node_size());
    for (int i = 0; i < def_.node_size(); ++i) {
      if (!index_.emplace(def_.node(i).name(), i).second) {
        throw invalid_argument("two nodes are called '", def_.node(i).name(), "'");
      }
    }
    for (int i = 0; i < def_.node_size(); ++i) {
      const auto& node = def_.node(i);
      for (const auto& text : node.input()) {
        try {
          refs_[i].push_back(parse_input(text));
          const InputRef& ref = refs_[i].back();
          if (!is_mapped(ref) && !index_.contains(ref.node)) {
            throw invalid_argument("its input '", text, "' is not in the graph");
          }
        } catch (const Error& error) {
          throw error.at_node(node.op(), node.name());
        }
      }
    }
  }

  std::string mapped_key(const InputRef& ref) const {
    return ref.control ? "^" + ref.node : ref.node + ":" + std::to_string(ref.index);
  }

  bool is_mapped(const InputRef& ref) const {
    return spec_.input_map.contains(mapped_key(ref)) ||
           (!ref.control && ref.index == 0 && spec_.input_map.contains(ref.node));
  }

  static bool is_merge(const pb::NodeDef& node) { return node.op() == "Merge" || node.op() == "RefMerge"; }
  static bool is_next_iteration(const pb::NodeDef& node) {
    return node.op() == "NextIteration" || node.op() == "RefNextIteration";
  }
  bool is_back_edge(int node, const InputRef& ref) const {
    return is_merge(def_.node(node)) && !ref.control && !is_mapped(ref) &&
           is_next_iteration(def_.node(index_.at(ref.node)));
  }

  // An order in which every node follows its inputs, back edges of loops left out; the file's order among free choices.
  std::vector<int> sorted() const {
    std::vector<std::vector<int>> needs(def_.node_size());
    for (int i = 0; i < def_.node_size(); ++i) {
      for (const InputRef& ref : refs_[i]) {
        if (!is_mapped(ref) && !is_back_edge(i, ref)) needs[i].push_back(index_.at(ref.node));
      }
    }
    std::vector<int> order = dependency_order(needs);
    if (order.size() != needs.size()) {
      const std::set<int> sorted_nodes(order.begin(), order.end());
      std::vector<std::string> names;
      for (int i = 0; i < def_.node_size() && names.size() < 5; ++i) {
        if (!sorted_nodes.contains(i)) names.push_back("'" + def_.node(i).name() + "'");
      }
      throw invalid_argument("the graph has a cycle that is no loop, through ", join(names, ", "));
    }
    return order;
  }

  std::string full_name(const std::string& name) const {
    return spec_.prefix.empty() ? name : spec_.prefix + "/" + name;
  }

  void check_names() const {
    for (const auto& node : def_.node()) {
      if (graph_.find(full_name(node.name())) != nullptr) {
        throw invalid_argument("a node '", full_name(node.name()), "' is in the graph already")
            .hint("Import under a prefix.");
      }
    }
  }

  Output output(const InputRef& ref) const {
    if (const auto mapped = spec_.input_map.find(mapped_key(ref)); mapped != spec_.input_map.end())
      return mapped->second;
    if (ref.index == 0) {
      if (const auto mapped = spec_.input_map.find(ref.node); mapped != spec_.input_map.end()) return mapped->second;
    }
    Node* node = nodes_.at(index_.at(ref.node));
    if (ref.index >= node->num_outputs()) {
      throw invalid_argument("its input '", ref.node, ":", ref.index, "' is not there: '", ref.node, "' has ",
                             node->num_outputs(), " outputs");
    }
    return {node, ref.index};
  }

  void add(int i) {
    const pb::NodeDef& proto = def_.node(i);
    try {
      NodeDraft draft;
      draft.op = proto.op();
      draft.name = full_name(proto.name());
      draft.device = proto.device();
      const OpDef& def = graph_.find_op(proto.op())->def;
      draft.attrs = from_proto(proto.attr());
      drop_unknown_attrs(def, draft.attrs);
      prefix_colocation(draft.attrs);
      std::vector<std::pair<int, InputRef>> back;
      const std::vector<Output> inputs = data_inputs(i, draft, back);
      draft.inputs = group_inputs(def, draft.attrs, inputs);
      Node& node = graph_.add(std::move(draft));
      nodes_[i] = &node;
      for (auto& [input, ref] : back) back_edges_.push_back({&node, input, ref});
    } catch (const Error& error) {
      throw error.at_node(proto.op(), proto.name());
    }
  }

  // Nodes that this one is to be placed with ("loc:@name") go by their new names.
  void prefix_colocation(AttrMap& attrs) const {
    const AttrValue* attr = find_attr(attrs, "_class");
    const auto* classes = attr == nullptr ? nullptr : attr->get_if<std::vector<std::string>>();
    if (spec_.prefix.empty() || classes == nullptr) return;
    constexpr std::string_view mark = "loc:@";
    std::vector<std::string> renamed = *classes;
    for (std::string& name : renamed) {
      if (name.starts_with(mark)) name = std::string(mark) + full_name(name.substr(mark.size()));
    }
    attrs["_class"] = std::move(renamed);
  }

  std::vector<Output> data_inputs(int i, NodeDraft& draft, std::vector<std::pair<int, InputRef>>& back) const {
    std::vector<Output> inputs;
    for (const InputRef& ref : refs_[i]) {
      if (ref.control) {
        const auto mapped = spec_.input_map.find("^" + ref.node);
        draft.control_inputs.push_back(mapped != spec_.input_map.end() ? mapped->second.node()
                                                                       : nodes_.at(index_.at(ref.node)));
      } else if (is_back_edge(i, ref)) {
        back.emplace_back(static_cast<int>(inputs.size()), ref);
        inputs.emplace_back();
      } else {
        inputs.push_back(output(ref));
      }
    }
    // Until the loop is closed, the entry stands for the back edge: their types agree.
    const auto entry = std::ranges::find_if(inputs, [](const Output& o) { return static_cast<bool>(o); });
    if (!back.empty() && entry == inputs.end()) throw invalid_argument("a Merge has back edges only");
    for (const auto& [input, ref] : back) inputs[input] = *entry;
    return inputs;
  }

  void add_functions() {
    for (const auto& proto : def_.library().function()) {
      graph_.functions().add(std::make_shared<const Function>(from_proto(proto)));
    }
    for (const auto& proto : def_.library().gradient()) {
      graph_.functions().set_gradient(proto.function_name(), proto.gradient_func());
    }
  }

  const pb::GraphDef& def_;
  const ImportSpec& spec_;
  Graph& graph_;
  std::unordered_map<std::string, int> index_;
  std::vector<std::vector<InputRef>> refs_;
  std::unordered_map<int, Node*> nodes_;
  std::vector<BackEdge> back_edges_;
};

}  // namespace

void import_graph_def(const pb::GraphDef& def, const ImportSpec& spec, Graph& graph) {
  // A trial in a graph of its own first: what is wrong shows there, and the user's graph stays as it was.
  if (spec.input_map.empty() && !spec.may_leave_parts) {
    Graph trial;
    Importer(def, {.prefix = spec.prefix}, trial).run();
  }
  Importer(def, spec, graph).run();
}

}  // namespace caudal::inline v0
