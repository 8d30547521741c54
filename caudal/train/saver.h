// Saver: variables to and from checkpoint files that TensorFlow reads and writes.
//
//   train::Saver saver;                                            // after the graph is built
//   saver.save(sess, "model/my_model.ckpt", {.global_step = 1000});  // my_model.ckpt-1000.{index,data-...,meta}
//   saver.restore(sess, train::latest_checkpoint("model"));
//
// A graph that was built elsewhere comes with its saver:
//
//   auto saver = train::import_meta_graph("model/my_model.ckpt-1000.meta");
//   saver->restore(sess, "model/my_model.ckpt-1000");
//
// Besides TensorFlow's files a checkpoint has a sidecar, "<prefix>.caudal-state": the states of random ops and whatever
// the caller adds, so that a resumed run continues exactly. A checkpoint without it restores all the same. Everything
// is written under temporary names and synced before it gets its own; the file "checkpoint" is replaced last: a crash
// at any moment leaves the newest complete checkpoint readable, and the next save removes the temporary files.
// Ownership: holds handles of its graph. Thread safety: one save at a time per directory.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/ops/variable.h"
#include "caudal/proto/meta_graph.h"
#include "caudal/runtime/session.h"

namespace caudal::inline v0 {
class Env;
}

namespace caudal::inline v0::train {

// Bytes by name that travel with a checkpoint.
using StateMap = std::map<std::string, std::string>;

// Variables under the keys that they have in checkpoints. From a list of variables: under their names, parts of a
// partitioned variable under the name of the whole.
struct CAUDAL_API VariablesByKey : std::vector<std::pair<std::string, Variable>> {
  using std::vector<std::pair<std::string, Variable>>::vector;
  VariablesByKey(const std::vector<Variable>& variables);            // NOLINT
  VariablesByKey(const std::map<std::string, Variable>& variables);  // NOLINT
};

struct SaverOptions {
  // What to save, under which key; default: all global variables under their names. Must not be empty.
  VariablesByKey variables = {};
  // Variables of each device go to a data file of their own. The devices are those that the graph asks for.
  bool sharded = false;
  int max_to_keep = 5;  // older checkpoints are removed; 0 keeps all
  // One checkpoint of every so many hours is not removed but leaves the list.
  float keep_checkpoint_every_n_hours = 10000;
  std::string name = "save";  // scope of the nodes
  // The format: 2, or 1 for TensorFlow's old one, a single file without ".index", for programs that ask for it. It has
  // no float16, uint64 and the like (UNIMPLEMENTED when saving) and no shards here (INVALID_ARGUMENT).
  int write_version = 2;
  std::source_location where = std::source_location::current();
};

struct SaveOptions {
  std::optional<std::int64_t> global_step = {};  // appended to the path: "model.ckpt-1000"
  std::string latest_filename = "checkpoint";
  bool write_meta_graph = true;
  bool write_state = true;  // the list file and so the retention; false for a checkpoint on its own
  StateMap state = {};      // goes into the sidecar
};

struct SavedVariable;  // internal: train/saved_variables.h

class CAUDAL_API Saver {
 public:
  // Adds TensorFlow's nodes ("save/SaveV2", "save/restore_all", ...) to the default graph.
  // Throws INVALID_ARGUMENT if there is nothing to save, or two variables want one key.
  explicit Saver(const SaverOptions& options = {});
  Saver(const Saver&);
  Saver(Saver&&) noexcept;
  Saver& operator=(const Saver&);
  Saver& operator=(Saver&&) noexcept;
  ~Saver();
  // With nodes that `graph` has already, as a meta graph names them. Throws NOT_FOUND if it has not.
  Saver(const Graph& graph, const SaverNodes& nodes);

  // Returns the prefix written. Makes directories that are missing. Takes over the list of checkpoints that an earlier
  // run left in the directory, so that never more than max_to_keep remain. Throws FAILED_PRECONDITION naming variables
  // without a value; RESOURCE_EXHAUSTED, PERMISSION_DENIED and so on with the file's name.
  std::string save(Session& session, const std::string& path, const SaveOptions& options = {});

  // Returns what SaveOptions::state held. Either all variables are set or none.
  // Throws NOT_FOUND if there is no such checkpoint; INVALID_ARGUMENT listing all variables that are missing or have
  // another shape or type there (with the shapes of both sides and near names) and what else the checkpoint holds;
  // DATA_LOSS for damaged files, OUT_OF_RANGE for a data file that is cut off.
  StateMap restore(Session& session, const std::string& prefix);

  // Prefixes in the list after the last save(), oldest first: those of earlier runs too, without those removed.
  const std::vector<std::string>& last_checkpoints() const { return last_checkpoints_; }
  // The nodes that it uses, as meta graphs carry them.
  const SaverNodes& nodes() const { return nodes_; }

 private:
  StateMap restore_all(Session& session, const std::string& prefix) const;
  void update_list(Env& env, const std::string& prefix, const SaveOptions& options);

  std::vector<SavedVariable> variables_;
  SaverNodes nodes_;
  std::vector<std::string> last_checkpoints_;
};

// Adds the nodes and collections of a ".meta" file (binary or text) to the default graph: variables are Variable
// objects again (global_variables(), trainable_variables(scope)), nodes are found by name (Graph::operation,
// Graph::tensor). Returns its saver; a new one for its variables if the file has none; nothing if there are no
// variables either. Errors: those of meta_graph_from_bytes (proto/meta_graph.h), with the file's name.
CAUDAL_API std::optional<Saver> import_meta_graph(const std::string& path, const ImportMetaGraphOptions& options = {});
CAUDAL_API std::optional<Saver> import_meta_graph_bytes(std::string_view bytes,
                                                        const ImportMetaGraphOptions& options = {});
// Writes the default graph with its collections and the saver, if one is given; as text if `path` ends with "txt".
CAUDAL_API void export_meta_graph(const std::string& path, const Saver* saver = nullptr,
                                  const ExportMetaGraphOptions& options = {});

// The newest checkpoint's prefix as the file "checkpoint" in `directory` tells; empty if there is none, or none whose
// files are there. Damaged list files count as none.
CAUDAL_API std::string latest_checkpoint(const std::string& directory,
                                         const std::string& latest_filename = "checkpoint");

// The list file of a directory with paths that can be opened; nothing if there is none or it is damaged.
CAUDAL_API std::optional<CheckpointList> get_checkpoint_state(const std::string& directory,
                                                              const std::string& latest_filename = "checkpoint");
// Writes it. `all`: default only the latest; paths below the directory are stored relative to it.
CAUDAL_API void update_checkpoint_state(const std::string& directory, const std::string& latest,
                                        const std::vector<std::string>& all = {},
                                        const std::string& latest_filename = "checkpoint");
// Whether there are a checkpoint's files, V2 or V1.
CAUDAL_API bool checkpoint_exists(const std::string& prefix);
// When they were written, in seconds since 1970. Checkpoints that do not exist are left out.
CAUDAL_API std::vector<double> get_checkpoint_mtimes(const std::vector<std::string>& prefixes);
// Removes the files of a checkpoint, V2 or V1, its meta graph and sidecar; those that do not exist are left out. The
// list file stays as it is.
CAUDAL_API void remove_checkpoint(const std::string& prefix);

// Names, types and shapes in a checkpoint.
struct CheckpointEntry {
  std::string name;
  DType dtype;
  Shape shape;
};
CAUDAL_API std::vector<CheckpointEntry> list_variables(const std::string& prefix);
CAUDAL_API Tensor load_variable(const std::string& prefix, const std::string& name);

}  // namespace caudal::inline v0::train
