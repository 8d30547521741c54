#include "caudal/proto/graph_summary.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "caudal/base/error.h"
#include "caudal/base/strings.h"
#include "caudal/core/op_registry.h"
#include "caudal/proto/control_flow.pb.h"
#include "caudal/proto/freeze_graph.h"
#include "caudal/proto/graph_def.h"
#include "caudal/proto/message_io.h"
#include "caudal/proto/tensor_proto.h"

namespace caudal::inline v0 {
namespace {

using TensorFacts = GraphSummary::TensorFacts;

std::vector<std::pair<std::string, int>> by_count(const std::map<std::string, int>& counts) {
  std::vector<std::pair<std::string, int>> sorted(counts.begin(), counts.end());
  std::ranges::stable_sort(sorted, std::greater<>(), [](const auto& entry) { return entry.second; });
  return sorted;
}

DType dtype_or_none(pb::DataType type) {
  try {
    return type == pb::DT_INVALID ? DType::kInvalid : from_proto(type);
  } catch (const Error&) {
    return DType::kInvalid;
  }
}

DType type_attr(const pb::NodeDef& node, const std::string& name) {
  const auto found = node.attr().find(name);
  return found == node.attr().end() ? DType::kInvalid : dtype_or_none(found->second.type());
}

PartialShape shape_or_unknown(const pb::TensorShapeProto& shape) {
  try {
    return from_proto(shape);
  } catch (const Error&) {
    return PartialShape::unknown();
  }
}

PartialShape shape_attr(const pb::NodeDef& node) {
  const auto found = node.attr().find("shape");
  return found == node.attr().end() ? PartialShape::unknown() : shape_or_unknown(found->second.shape());
}

// A part of the graph that serves training or files, not what the graph computes.
bool is_auxiliary(const std::string& name) {
  for (const std::string_view part : split(name, '/')) {
    if (part == "gradients" || part == "save" || part.starts_with("gradients_") || part.starts_with("save_"))
      return true;
  }
  return false;
}

bool is_placeholder(const std::string& op) {
  return op == "Placeholder" || op == "PlaceholderV2" || op == "PlaceholderWithDefault";
}

// Ops whose results matter to nobody by themselves.
bool is_plain_output(const std::string& op) {
  static const std::unordered_set<std::string> others = {"Const", "Assign", "AssignVariableOp",  "ReadVariableOp",
                                                         "NoOp",  "Shape",  "VarIsInitializedOp"};
  return !others.contains(op) && !is_placeholder(op) && !is_variable_op(op) && !op.starts_with("Apply") &&
         !op.starts_with("ResourceApply") && !op.starts_with("SparseApply");
}

class Summarizer {
 public:
  explicit Summarizer(const GraphFile& file) : meta_(file.meta), def_(file.meta.graph_def()) {
    summary_.is_meta_graph = file.is_meta_graph;
  }

  GraphSummary run() {
    const auto& info = meta_.meta_info_def();
    summary_.tensorflow_version = info.tensorflow_version();
    summary_.tags.assign(info.tags().begin(), info.tags().end());
    summary_.producer = def_.versions().producer();
    summary_.min_consumer = def_.versions().min_consumer();
    import();
    count_ops();
    find_users();
    for (const auto& node : def_.node()) add_node(node);
    for (const auto& function : def_.library().function()) {
      summary_.functions.emplace_back(function.signature().name(), function.node_def_size());
    }
    add_collections();
    if (meta_.has_saver_def()) add_saver();
    add_signatures();
    return std::move(summary_);
  }

 private:
  void import() {
    try {
      import_graph_def(def_, {}, graph_);
    } catch (const Error& error) {
      summary_.problem = error.what();
    }
  }

  bool is_known(const std::string& op) const {
    return find_op(op) != nullptr || std::ranges::any_of(def_.library().function(), [&](const auto& function) {
             return function.signature().name() == op;
           });
  }

  void count_ops() {
    std::map<std::string, int> used, missing;
    const auto count = [&](const pb::NodeDef& node) {
      ++used[node.op()];
      if (!is_known(node.op())) ++missing[node.op()];
    };
    for (const auto& node : def_.node()) count(node);
    for (const auto& function : def_.library().function()) {
      for (const auto& node : function.node_def()) count(node);
    }
    summary_.ops = by_count(used);
    summary_.missing = by_count(missing);
  }

  void find_users() {
    for (const auto& node : def_.node()) {
      for (const std::string& input : node.input()) {
        if (input.starts_with('^')) {
          awaited_.insert(std::string_view(input).substr(1));
        } else if (!is_auxiliary(node.name())) {
          taken_.insert(std::string_view(input).substr(0, input.rfind(':')));
        }
      }
    }
  }

  void add_node(const pb::NodeDef& node) {
    const Node* imported = graph_.find(node.name());
    GraphSummary::NodeFacts facts{
        node.name(), node.op(), node.device(), {node.input().begin(), node.input().end()}, {}};
    for (int i = 0; imported != nullptr && i < imported->num_outputs(); ++i) {
      facts.outputs.push_back(internal::concat(imported->info().output_types[i], imported->output_shape(i)));
    }
    summary_.nodes.push_back(std::move(facts));
    if (node.op() == "Const") summary_.constant_bytes += static_cast<std::int64_t>(node.ByteSizeLong());
    if (is_placeholder(node.op()) && !is_auxiliary(node.name())) {
      summary_.inputs.push_back({node.name(), node.op(), type_attr(node, "dtype"), shape_attr(node)});
    } else if (is_variable_op(node.op())) {
      variables_.emplace(node.name(), summary_.variables.size());
      summary_.variables.push_back(
          {node.name(), type_attr(node, "dtype"), shape_attr(node), node.op() == "VarHandleOp", std::nullopt});
    } else if (!is_auxiliary(node.name())) {
      add_output(node, imported);
    }
  }

  void add_output(const pb::NodeDef& node, const Node* imported) {
    const bool has_result = imported == nullptr ? node.op() != "NoOp" : imported->num_outputs() > 0;
    if (taken_.contains(node.name()) || reads_variable(node)) return;
    if (!has_result) {
      if (!awaited_.contains(node.name())) summary_.targets.push_back(node.name());
    } else if (!is_plain_output(node.op())) {
      return;
    } else if (imported != nullptr) {
      summary_.outputs.push_back({node.name(), node.op(), imported->info().output_types[0], imported->output_shape(0)});
    } else {
      summary_.outputs.push_back({node.name(), node.op(), type_attr(node, "T"), PartialShape::unknown()});
    }
  }

  bool reads_variable(const pb::NodeDef& node) const {
    return node.input_size() > 0 && (node.op() == "Identity" || node.op() == "ReadVariableOp") &&
           variables_.contains(node.input(0));
  }

  void add_collections() {
    std::map<std::string, const pb::CollectionDef*> sorted;
    for (const auto& [key, def] : meta_.collection_def()) sorted.emplace(key, &def);
    for (const auto& [key, def] : sorted) summary_.collections.push_back(collection(key, *def));
  }

  GraphSummary::CollectionFacts collection(const std::string& key, const pb::CollectionDef& def) {
    GraphSummary::CollectionFacts facts{key, "none", {}};
    for (const auto& name : def.node_list().value()) facts.members.push_back(name);
    for (const auto value : def.int64_list().value()) facts.members.push_back(std::to_string(value));
    for (const auto value : def.float_list().value()) facts.members.push_back(internal::concat(value));
    for (const auto& any : def.any_list().value()) facts.members.push_back(any.type_url());
    for (const auto& bytes : def.bytes_list().value()) facts.members.push_back(member(key, bytes, &facts.kind));
    if (def.has_node_list()) facts.kind = "nodes";
    if (def.has_int64_list()) facts.kind = "int64";
    if (def.has_float_list()) facts.kind = "float";
    if (def.has_any_list()) facts.kind = "any";
    return facts;
  }

  // The name of what a member in bytes stands for, or how large it is.
  std::string member(const std::string& key, const std::string& bytes, std::string* kind) {
    *kind = "messages";
    pb::QueueRunnerDef runner;
    if (key == "queue_runners" && runner.ParseFromString(bytes)) return runner.queue_name();
    pb::WhileContextDef context;  // a CondContextDef begins likewise
    if ((key == "while_context" || key == "cond_context") && context.ParseFromString(bytes))
      return context.context_name();
    pb::VariableDef variable;
    if (!looks_like_text(bytes) && variable.ParseFromString(bytes)) {
      const std::string name = variable.variable_name().substr(0, variable.variable_name().rfind(':'));
      if (const auto known = variables_.find(name); known != variables_.end()) {
        *kind = "variables";
        summary_.variables[known->second].trainable = variable.trainable();
        return name;
      }
    }
    *kind = "bytes";
    return looks_like_text(bytes) ? escaped(bytes, 40) : internal::concat(bytes.size(), " bytes");
  }

  void add_saver() {
    const auto& def = meta_.saver_def();
    summary_.saver = SaverNodes{.filename_tensor = def.filename_tensor_name(),
                                .save_tensor = def.save_tensor_name(),
                                .restore_op = def.restore_op_name(),
                                .max_to_keep = def.max_to_keep(),
                                .keep_checkpoint_every_n_hours = def.keep_checkpoint_every_n_hours(),
                                .sharded = def.sharded()};
  }

  static std::vector<TensorFacts> tensors(const google::protobuf::Map<std::string, pb::TensorInfo>& infos) {
    std::vector<TensorFacts> facts;
    for (const auto& [key, info] : infos) {
      facts.push_back({info.name(), key, dtype_or_none(info.dtype()), shape_or_unknown(info.tensor_shape())});
    }
    std::ranges::sort(facts, {}, &TensorFacts::op);
    return facts;
  }

  void add_signatures() {
    for (const auto& [name, def] : meta_.signature_def()) {
      summary_.signatures.push_back({name, def.method_name(), tensors(def.inputs()), tensors(def.outputs())});
    }
    std::ranges::sort(summary_.signatures, {}, &GraphSummary::SignatureFacts::name);
  }

  const pb::MetaGraphDef& meta_;
  const pb::GraphDef& def_;
  Graph graph_;
  std::unordered_set<std::string_view> taken_, awaited_;  // by nodes, as input or before
  std::unordered_map<std::string, std::size_t> variables_;
  GraphSummary summary_;
};

}  // namespace

GraphSummary summarize_graph(std::string_view bytes) {
  const GraphFile file = parse_graph_file(bytes);
  return Summarizer(file).run();
}

}  // namespace caudal::inline v0
