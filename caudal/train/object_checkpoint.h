// TensorFlow 2's checkpoints of objects (tf.train.Checkpoint): variables by the attributes that lead to them.
//
//   for (const train::ObjectVariable& v : train::list_object_variables("ckpt-1")) ...   // "net/layers/0/kernel", ...
//   train::Checkpoint checkpoint({{"net/kernel", kernel}, {"step", step},
//                                 {train::slot_path("net/kernel", "optimizer", "m"), m}});
//   checkpoint.restore(sess, "ckpt-1");
//   checkpoint.save(sess, "model/ckpt");           // model/ckpt-1, which tf.train.Checkpoint restores
//
// Ownership: a Checkpoint holds handles of its graph. Thread safety: one call at a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/ops/variable.h"
#include "caudal/runtime/session.h"

namespace caudal::inline v0::train {

// A tensor that an object of a checkpoint holds.
struct ObjectVariable {
  // Names of attributes from the root, "net/layers/0/kernel"; a slot is "net/kernel/.OPTIMIZER_SLOT/optimizer/m". The
  // shortest way if there are several.
  std::string path;
  std::string key;        // in the checkpoint
  std::string full_name;  // of the variable in its graph, "dense/kernel"; may be empty
  bool is_slot = false;
  DType dtype = DType::kInvalid;
  Shape shape;
};

// Whether there is a graph of objects in the checkpoint. Throws NOT_FOUND if there is no checkpoint.
CAUDAL_API bool is_object_checkpoint(const std::string& prefix);

// All of them, by path. Throws NOT_FOUND if there is no checkpoint, INVALID_ARGUMENT if it is one of another kind
// (list_variables() tells what is in it), DATA_LOSS if it is damaged.
CAUDAL_API std::vector<ObjectVariable> list_object_variables(const std::string& prefix);
// The value at the end of a path: any path that leads there, or the full name if only one variable has it (Keras keeps
// kernels under the optimizer's paths, but full names are as it shows them). Throws NOT_FOUND with near names.
CAUDAL_API Tensor load_object_variable(const std::string& prefix, const std::string& path);

// "w/.OPTIMIZER_SLOT/optimizer/m": where tf.train.Checkpoint keeps the slot of a variable.
CAUDAL_API std::string slot_path(const std::string& variable, const std::string& optimizer, const std::string& slot);

struct CheckpointOptions {
  int max_to_keep = 5;              // of save(); 0 keeps all
  std::string name = "checkpoint";  // scope of the nodes
  std::source_location where = std::source_location::current();
};

class CAUDAL_API Checkpoint {
 public:
  // Variables by path. Adds nodes that assign to them to the default graph. Throws INVALID_ARGUMENT if there are none,
  // for an empty name in a path, a part of a partitioned variable (which such checkpoints do not have), and for a slot
  // whose variable is not there.
  explicit Checkpoint(const std::map<std::string, Variable>& variables, const CheckpointOptions& options = {});

  // Writes `prefix`, without a counter and without touching the file "checkpoint".
  void write(Session& session, const std::string& prefix);
  // Writes "<prefix>-<n>" with the counter "save_counter", which is one more than that of the last save() or restore(),
  // and the file "checkpoint". Older ones of its list are removed. Returns the prefix written.
  std::string save(Session& session, const std::string& prefix);

  // Sets all variables or none; their paths are taken as load_object_variable() takes them. What else is in the
  // checkpoint is left alone. Throws NOT_FOUND if there is no such checkpoint; INVALID_ARGUMENT if it has no objects,
  // or listing all variables that are missing or have another shape or type there and what else the checkpoint holds;
  // DATA_LOSS and OUT_OF_RANGE for damaged files.
  void restore(Session& session, const std::string& prefix);

  // The number of the last save.
  std::int64_t save_counter() const { return save_counter_; }

 private:
  struct Entry {
    std::string path;
    Variable variable;
    Output value;  // placeholder
    Operation assign;
  };
  void write_with(Session& session, const std::string& prefix, std::optional<std::int64_t> counter);

  std::vector<Entry> entries_;
  int max_to_keep_;
  std::int64_t save_counter_ = 0;
};

}  // namespace caudal::inline v0::train
