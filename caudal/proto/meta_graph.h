// Meta graphs: a graph with its collections and how to save it, as "<checkpoint>.meta" files hold it; and the text file
// "checkpoint" that lists what is in a directory. Bytes in, bytes out: no message type is seen outside. What programs
// call is train::import_meta_graph and train::export_meta_graph (train/saver.h).
//
// Collections both ways: variables become Variable objects; nodes and tensors go by name; strings, integers, floats and
// messages of any kind keep their values. Contexts of loops and conditionals, savers and queue runners are strings that
// hold their messages.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/graph/graph.h"

namespace caudal::inline v0 {

// The nodes of a saver (SaverDef).
struct SaverNodes {
  std::string filename_tensor;  // "save/Const:0"
  std::string save_tensor;      // "save/control_dependency:0"
  std::string restore_op;       // "save/restore_all"
  int max_to_keep = 5;          // 0 keeps all
  float keep_checkpoint_every_n_hours = 10000;
  bool sharded = false;  // one data file per device
  int version = 2;       // of the format: SaverDef.V1 or V2
};

struct ExportMetaGraphOptions {
  bool clear_devices = false;
  bool strip_default_attrs = false;           // leaves out attributes that have their default
  std::vector<std::string> collections = {};  // those to write; default: all
};

// The MetaGraphDef of `graph`, serialized or as text: nodes, collections and the saver, if there is one. A collection
// whose members are of several kinds is left out with a warning, as TensorFlow does.
CAUDAL_API std::string meta_graph_to_bytes(const Graph& graph, const SaverNodes* saver = nullptr,
                                           const ExportMetaGraphOptions& options = {});
CAUDAL_API std::string meta_graph_to_text(const Graph& graph, const SaverNodes* saver = nullptr,
                                          const ExportMetaGraphOptions& options = {});

struct ImportMetaGraphOptions {
  bool clear_devices = false;                            // places nothing where the file says
  std::string import_scope;                              // put before all names; made unique
  std::map<std::string, Output, std::less<>> input_map;  // tensors of the file -> tensors of the graph
};

// What a meta graph says besides nodes and collections.
struct ImportedMetaGraph {
  std::optional<SaverNodes> saver;  // names as they are in the graph now
  std::string scope;                // where the nodes are: import_scope, made unique
  std::string tensorflow_version;   // that wrote it
  std::vector<std::string> tags;
};

// Adds nodes and collections to `graph`. Binary and text form. Nothing is added if anything is wrong (with an
// input_map, nodes before the faulty one stay). Throws what import_graph() does, and INVALID_ARGUMENT for a collection
// that names what is not in the graph.
CAUDAL_API ImportedMetaGraph meta_graph_from_bytes(std::string_view bytes, Graph& graph,
                                                   const ImportMetaGraphOptions& options = {});

// True for a MetaGraphDef, false for a GraphDef. Throws DATA_LOSS for neither.
CAUDAL_API bool is_meta_graph(std::string_view bytes);

// What the file "checkpoint" says (CheckpointState).
struct CheckpointList {
  std::string latest;
  std::vector<std::string> all;    // oldest first; the last one is the latest
  std::vector<double> timestamps;  // seconds since 1970, by position in `all`; may be empty
  double last_preserved_timestamp = 0;
};
CAUDAL_API std::string checkpoint_list_to_text(const CheckpointList& list);
// Throws DATA_LOSS if the text is none.
CAUDAL_API CheckpointList checkpoint_list_from_text(std::string_view text);

}  // namespace caudal::inline v0
