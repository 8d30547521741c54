// Saver: variables to and from checkpoint files that TensorFlow reads and writes.
//
//   train::Saver saver;                                            // after the graph is built
//   saver.save(sess, "model/my_model.ckpt", {.global_step = 1000});  // my_model.ckpt-1000.{index,data-...,meta}
//   saver.restore(sess, train::latest_checkpoint("model"));
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
#include <utility>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/ops/variable.h"
#include "caudal/runtime/session.h"

namespace caudal::inline v0 {
class Env;
}

namespace caudal::inline v0::train {

// Bytes by name that travel with a checkpoint.
using StateMap = std::map<std::string, std::string>;

struct SaverOptions {
  // What to save, under which key; default: all global variables under their names. Must not be empty.
  std::vector<std::pair<std::string, Variable>> variables = {};
  int max_to_keep = 5;        // older checkpoints are removed; 0 keeps all
  std::string name = "save";  // scope of the nodes
  std::source_location where = std::source_location::current();
};

struct SaveOptions {
  std::optional<std::int64_t> global_step = {};  // appended to the path: "model.ckpt-1000"
  std::string latest_filename = "checkpoint";
  bool write_meta_graph = true;
  bool write_state = true;  // the list file and so the retention; false for a checkpoint on its own
  StateMap state = {};      // goes into the sidecar
};

class CAUDAL_API Saver {
 public:
  // Adds TensorFlow's nodes ("save/SaveV2", "save/restore_all", ...) to the default graph.
  // Throws INVALID_ARGUMENT if there is nothing to save, or two variables want one key.
  explicit Saver(const SaverOptions& options = {});

  // Returns the prefix written. Makes directories that are missing. Takes over the list of checkpoints that an earlier
  // run left in the directory, so that never more than max_to_keep remain. Throws FAILED_PRECONDITION naming variables
  // without a value; RESOURCE_EXHAUSTED, PERMISSION_DENIED and so on with the file's name.
  std::string save(Session& session, const std::string& path, const SaveOptions& options = {});

  // Returns what SaveOptions::state held. Either all variables are set or none.
  // Throws NOT_FOUND if there is no such checkpoint; INVALID_ARGUMENT listing all variables that are missing or have
  // another shape or type there (with the shapes of both sides and near names); DATA_LOSS for damaged files,
  // OUT_OF_RANGE for a data file that is cut off.
  StateMap restore(Session& session, const std::string& prefix);

 private:
  StateMap restore_all(Session& session, const std::string& prefix) const;
  void update_list(Env& env, const std::string& prefix, const SaveOptions& options) const;

  std::vector<std::pair<std::string, Variable>> variables_;
  SaverOptions options_;
  Output filename_;
  Output save_;
  Operation restore_all_;
};

// The newest checkpoint's prefix as the file "checkpoint" in `directory` tells; empty if there is none, or none whose
// files are there. Damaged list files count as none.
CAUDAL_API std::string latest_checkpoint(const std::string& directory,
                                         const std::string& latest_filename = "checkpoint");

// Names, types and shapes in a checkpoint.
struct CheckpointEntry {
  std::string name;
  DType dtype;
  Shape shape;
};
CAUDAL_API std::vector<CheckpointEntry> list_variables(const std::string& prefix);
CAUDAL_API Tensor load_variable(const std::string& prefix, const std::string& name);

}  // namespace caudal::inline v0::train
