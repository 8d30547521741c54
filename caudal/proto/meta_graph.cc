#include "caudal/proto/meta_graph.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <set>

#include "caudal/base/error.h"
#include "caudal/proto/attr_proto.h"
#include "caudal/proto/graph_def.h"
#include "caudal/proto/message_io.h"
#include "caudal/proto/meta_collections.h"

namespace caudal::inline v0 {
namespace {

// The version of TensorFlow whose readers are told that they know everything in the file.
constexpr char kTensorFlowVersion[] = "2.21.0";

void clear_devices(pb::GraphDef& def) {
  for (auto& node : *def.mutable_node()) node.clear_device();
}

// Definitions of the ops used, so that an older reader can drop attributes that it does not know.
void add_op_list(const Graph& graph, pb::MetaGraphDef::MetaInfoDef& info) {
  std::set<std::string> used;
  for (const Node* node : graph.nodes()) used.insert(node->type());
  for (const auto& [name, function] : graph.functions().all()) {
    for (const NodeRecord& node : function->nodes) used.insert(node.op);
  }
  for (const std::string& name : used) {
    if (const Op* op = find_op(name)) *info.mutable_stripped_op_list()->add_op() = to_proto(op->def);
  }
}

pb::SaverDef saver_def(const SaverNodes& saver) {
  pb::SaverDef def;
  def.set_filename_tensor_name(saver.filename_tensor);
  def.set_save_tensor_name(saver.save_tensor);
  def.set_restore_op_name(saver.restore_op);
  def.set_max_to_keep(saver.max_to_keep);
  def.set_sharded(saver.sharded);
  def.set_keep_checkpoint_every_n_hours(saver.keep_checkpoint_every_n_hours);
  def.set_version(saver.version == 2 ? pb::SaverDef::V2 : pb::SaverDef::V1);
  return def;
}

pb::MetaGraphDef meta_graph_def(const Graph& graph, const SaverNodes* saver, const ExportMetaGraphOptions& options) {
  pb::MetaGraphDef meta;
  auto& info = *meta.mutable_meta_info_def();
  info.set_tensorflow_version(kTensorFlowVersion);
  info.set_stripped_default_attrs(options.strip_default_attrs);
  add_op_list(graph, info);
  *meta.mutable_graph_def() = export_graph_def(graph, options.strip_default_attrs);
  if (options.clear_devices) clear_devices(*meta.mutable_graph_def());
  export_collections(graph, options.collections, meta);
  if (saver != nullptr) *meta.mutable_saver_def() = saver_def(*saver);
  return meta;
}

SaverNodes saver_nodes(const pb::SaverDef& def, const std::string& scope) {
  const auto name = [&](const std::string& text) { return text.empty() ? text : in_scope(text, scope); };
  return {.filename_tensor = name(def.filename_tensor_name()),
          .save_tensor = name(def.save_tensor_name()),
          .restore_op = name(def.restore_op_name()),
          .max_to_keep = def.max_to_keep(),
          .keep_checkpoint_every_n_hours = def.keep_checkpoint_every_n_hours(),
          .sharded = def.sharded(),
          .version = def.version() == pb::SaverDef::V2 ? 2 : 1};
}

}  // namespace

std::string meta_graph_to_bytes(const Graph& graph, const SaverNodes* saver, const ExportMetaGraphOptions& options) {
  return deterministic_bytes(meta_graph_def(graph, saver, options));
}

std::string meta_graph_to_text(const Graph& graph, const SaverNodes* saver, const ExportMetaGraphOptions& options) {
  return message_text(meta_graph_def(graph, saver, options));
}

ImportedMetaGraph meta_graph_from_bytes(std::string_view bytes, Graph& graph, const ImportMetaGraphOptions& options) {
  pb::MetaGraphDef meta;
  parse_message(bytes, "MetaGraphDef", meta);
  check_collections(meta);
  if (options.clear_devices) clear_devices(*meta.mutable_graph_def());
  ImportedMetaGraph imported;
  if (!options.import_scope.empty()) imported.scope = graph.unique_name(options.import_scope);
  import_graph_def(meta.graph_def(), {.prefix = imported.scope, .input_map = options.input_map}, graph);
  import_collections(meta, imported.scope, graph);
  if (meta.has_saver_def()) imported.saver = saver_nodes(meta.saver_def(), imported.scope);
  imported.tensorflow_version = meta.meta_info_def().tensorflow_version();
  imported.tags.assign(meta.meta_info_def().tags().begin(), meta.meta_info_def().tags().end());
  return imported;
}

bool is_meta_graph(std::string_view bytes) { return parse_graph_file(bytes).is_meta_graph; }

std::string checkpoint_list_to_text(const CheckpointList& list) {
  pb::CheckpointState state;
  state.set_model_checkpoint_path(list.latest);
  for (const auto& path : list.all) state.add_all_model_checkpoint_paths(path);
  for (const double time : list.timestamps) state.add_all_model_checkpoint_timestamps(time);
  if (list.last_preserved_timestamp != 0) state.set_last_preserved_timestamp(list.last_preserved_timestamp);
  std::string text;
  google::protobuf::TextFormat::PrintToString(state, &text);
  return text;
}

CheckpointList checkpoint_list_from_text(std::string_view text) {
  pb::CheckpointState state;
  google::protobuf::TextFormat::Parser parser;
  class Silent final : public google::protobuf::io::ErrorCollector {
    void AddError(int, int, const std::string&) override {}
  } silent;
  parser.RecordErrorsTo(&silent);
  if (!parser.ParseFromString(std::string(text), &state)) throw data_loss("this is no list of checkpoints");
  CheckpointList list;
  list.latest = state.model_checkpoint_path();
  list.all.assign(state.all_model_checkpoint_paths().begin(), state.all_model_checkpoint_paths().end());
  list.timestamps.assign(state.all_model_checkpoint_timestamps().begin(),
                         state.all_model_checkpoint_timestamps().end());
  list.last_preserved_timestamp = state.last_preserved_timestamp();
  return list;
}

}  // namespace caudal::inline v0
