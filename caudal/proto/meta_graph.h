// Meta graphs: a graph with its collections and how to save it, as "<checkpoint>.meta" files hold it; and the text file
// "checkpoint" that lists what is in a directory. Bytes in, bytes out: no message type is seen outside.
#pragma once

#include <cstdint>
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
  int max_to_keep = 5;
  float keep_checkpoint_every_n_hours = 10000;
};

// The serialized MetaGraphDef of `graph`: nodes, collections (variables as VariableDef; nodes and tensors by name;
// strings) and the saver, if there is one.
CAUDAL_API std::string meta_graph_to_bytes(const Graph& graph, const SaverNodes* saver = nullptr);

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
