#include "caudal/proto/meta_graph.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include "caudal/base/error.h"
#include "caudal/graph/collection.h"
#include "caudal/ops/variable.h"
#include "caudal/proto/graph_def.h"
#include "caudal/proto/meta_graph.pb.h"

namespace caudal::inline v0 {
namespace {

// Collections whose members are Variable objects.
bool holds_variables(std::string_view key) {
  return key == graph_keys::kGlobalVariables || key == graph_keys::kLocalVariables ||
         key == graph_keys::kTrainableVariables || key == graph_keys::kModelVariables ||
         key == graph_keys::kMovingAverageVariables || key == graph_keys::kGlobalStep;
}

std::string variable_def(const Variable& variable) {
  pb::VariableDef def;
  def.set_variable_name(variable.handle().name());
  def.set_initializer_name(variable.initializer().name());
  def.set_snapshot_name(variable.parts().snapshot.name());
  if (variable.initial_value()) def.set_initial_value_name(variable.initial_value().name());
  def.set_is_resource(variable.is_resource());
  def.set_trainable(variable.trainable());
  return def.SerializeAsString();
}

pb::CollectionDef collection_def(Graph& graph, const std::string& key) {
  pb::CollectionDef def;
  if (holds_variables(key)) {
    for (const Variable& variable : variables_in_collection(graph, key)) {
      def.mutable_bytes_list()->add_value(variable_def(variable));
    }
    return def;
  }
  for (const CollectionItem& item : graph.collection(key)) {
    if (item.output) {
      def.mutable_node_list()->add_value(item.output.name());
    } else if (item.operation) {
      def.mutable_node_list()->add_value(item.operation.name());
    } else if (item.object == nullptr) {
      def.mutable_bytes_list()->add_value(item.text);
    }
  }
  return def;
}

}  // namespace

std::string meta_graph_to_bytes(const Graph& graph, const SaverNodes* saver) {
  pb::MetaGraphDef meta;
  meta.mutable_meta_info_def()->set_tensorflow_version("2.21.0");
  *meta.mutable_graph_def() = export_graph_def(graph);
  auto& readable = const_cast<Graph&>(graph);  // a Variable is a handle that could change the graph; this one does not
  for (const std::string& key : graph.collection_keys()) {
    pb::CollectionDef def = collection_def(readable, key);
    if (def.kind_case() != pb::CollectionDef::KIND_NOT_SET) (*meta.mutable_collection_def())[key] = std::move(def);
  }
  if (saver != nullptr) {
    auto* def = meta.mutable_saver_def();
    def->set_filename_tensor_name(saver->filename_tensor);
    def->set_save_tensor_name(saver->save_tensor);
    def->set_restore_op_name(saver->restore_op);
    def->set_max_to_keep(saver->max_to_keep);
    def->set_keep_checkpoint_every_n_hours(saver->keep_checkpoint_every_n_hours);
    def->set_version(pb::SaverDef::V2);
  }
  return deterministic_bytes(meta);
}

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
