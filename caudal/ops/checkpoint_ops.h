// Ops that write and read checkpoints in TensorFlow's V2 format (caudal/formats/bundle_writer.h). Programs use
// train::Saver, which is made of them.
//
// Files are reached through the session's Env. Thread safety: as building a graph.
#pragma once

#include <string>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0::raw_ops {

// Writes `tensors` under `tensor_names` to the checkpoint `prefix` (string scalar). `shape_and_slices` has an entry per
// tensor: "" for a whole tensor, else "10 4 0,5:-" for rows 0 to 4 of a tensor [10,4]. The checkpoint appears at once
// and complete, or not at all. Run time errors: INVALID_ARGUMENT for lists that do not fit each other; what the file
// system says.
CAUDAL_API Operation save_v2(const Operand& prefix, const std::vector<std::string>& tensor_names,
                             const std::vector<std::string>& shape_and_slices, const std::vector<Output>& tensors,
                             const OpOptions& options = {});
// Reads tensors of the given types. Run time errors: NOT_FOUND or INVALID_ARGUMENT, naming every tensor that is missing
// or of another type or shape; DATA_LOSS for damaged files.
CAUDAL_API std::vector<Output> restore_v2(const Operand& prefix, const std::vector<std::string>& tensor_names,
                                          const std::vector<std::string>& shape_and_slices,
                                          const std::vector<DType>& dtypes, const OpOptions& options = {});

struct MergeV2CheckpointsOptions {
  bool delete_old_dirs = true;  // removes the folders of the parts if they are empty then
  bool allow_missing_files = false;
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// Joins the checkpoints `checkpoint_prefixes` (string vector) into one under `destination_prefix`.
CAUDAL_API Operation merge_v2_checkpoints(const Operand& checkpoint_prefixes, const Operand& destination_prefix,
                                          const MergeV2CheckpointsOptions& options = {});

// "basename-00003-of-00010".
CAUDAL_API Output sharded_filename(const Operand& basename, const Operand& shard, const Operand& num_shards,
                                   const OpOptions& options = {});

}  // namespace caudal::inline v0::raw_ops
